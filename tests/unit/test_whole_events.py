"""Events of Airbyte's sources in Airbyte's envelope: as they came, whatever the definitions of their tables have."""

import json

import pytest

from integrator.cli import as_json
from integrator.errors import DataError
from integrator.plan import build
from tests.parts import pure

pytestmark = pytest.mark.engine

AIRBYTE = "  - {action: FileFormat, Envelope: AIRBYTE}\n"
DDL = "create table shop.orders(id int primary key, note varchar(3)); create table shop.lines(id int);"
DATA = [
    '{"id":1,"qty":1.50,"big":12345678901234567890123,"exp":1E+2,"note":"longer than its column"}',
    '{"id":2,"nested":{"a":[1,{"b":null}],"ü":"\\u00e4 \\"x\\""},"list":[],"empty":{}}',
    '{"id":3,"_ab_cdc_lsn":99,"_ab_cdc_updated_at":"2024-09-12T14:30:00.000000Z","_ab_cdc_deleted_at":"2024-09-12T14:30:00Z"}',
    "{}",
]


def record(data, stream="orders", emitted=1735689600123, more=""):
    inner = f'"namespace":"shop","stream":"{stream}","data":{data},"emitted_at":{emitted}{more}'
    return f'{{"type":"RECORD","record":{{{inner}}}}}'


def sent(directory, lines, *, actions=AIRBYTE, ddl=DDL, kafka=""):
    """The values of messages as they are, and their keys."""
    made = pure.recipe(directory, ddl, actions, "airbyte", kafka=kafka)
    (directory / "f").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    found = pure.messages(made, directory / "f")
    return [message.value.decode() for message in found], [message.key for message in found]


def test_data_and_its_time_are_as_they_came(tmp_path):
    values, keys = sent(tmp_path, [record(data, emitted=place) for place, data in enumerate(DATA)])
    for place, (value, key, data) in enumerate(zip(values, keys, DATA, strict=True)):
        begin = f'{{"_airbyte_ab_id":"{key.decode()}","_airbyte_stream":"orders","_airbyte_emitted_at":{place},'
        assert value == f'{begin}"_airbyte_data":{data}}}'


def test_events_of_tables_with_other_columns_are_together(tmp_path):
    streams = ["orders", "lines", "orders", "lines"]
    lines = [record(data, stream) for data, stream in zip(DATA, streams, strict=True)]
    lines.insert(1, '{"type":"STATE","state":{"data":{"x":1}}}')
    values, _ = sent(tmp_path, lines * 300)
    found = [(json.loads(value)["_airbyte_stream"], value.partition('"_airbyte_data":')[2][:-1]) for value in values]
    assert sorted(found) == sorted([*zip(streams, DATA, strict=True)] * 300)


def test_what_a_key_asks_for_is_read_beside_the_event(tmp_path):
    key = "  - {action: Integrate, MessageKey: '{id}', MessageHeaders: 'n={hvr_tbl_name}'}\n"
    values, keys = sent(tmp_path, [record(data) for data in DATA[:3]], actions=AIRBYTE + key)
    assert keys == [b"1", b"2", b"3"]
    assert [value.partition('"_airbyte_data":')[2][:-1] for value in values] == DATA[:3]
    as_json = "  - {action: Integrate, MessageKeySerializer: JSON_ROW}\n"
    assert sent(tmp_path, [record(DATA[0])], actions=AIRBYTE + as_json)[1] == [b'{"id":1}']
    with pytest.raises(DataError, match="f:1: table orders, column id: 'x' is no integer"):
        sent(tmp_path, [record('{"id":"x"}')], actions=AIRBYTE + key)


def test_a_record_without_data_is_refused(tmp_path):
    with pytest.raises(DataError, match="f:1: table orders: the record has no row image"):
        sent(tmp_path, [record("null")])


COLUMNS = [
    ("", "  - {action: ColumnProperties, table: orders, Name: note, Absent: true}\n", {"id": 1}),
    (", Oversized_Rows: SKELETON", "", {"id": 1, "note": "x"}),
]


@pytest.mark.parametrize(("kafka", "action", "data"), COLUMNS)
def test_where_columns_are_changed_the_data_is_made_of_columns(kafka, action, data, tmp_path):
    [value], _ = sent(tmp_path, [record('{"id":1,"note":"x"}')], actions=AIRBYTE + action, kafka=kafka)
    found = json.loads(value)["_airbyte_data"]
    assert {name: found[name] for name in found if not name.startswith("_ab_cdc_")} == data


DECLARED = (
    "create table shop.orders(id int primary key, _ab_cdc_lsn bigint, _ab_cdc_updated_at varchar(40), "
    "_ab_cdc_deleted_at varchar(40));"
)


def test_declared_cdc_columns_are_columns_in_other_formats(tmp_path):
    cdc = json.loads(DATA[2])
    plain = f"  - {pure.PLAIN}\n  - {{action: ColumnProperties, Name: op, Extra: true, Datatype: integer, TimeKey: true, IntegrateExpression: '{{hvr_op}}'}}\n"
    [value], _ = sent(tmp_path, [record(DATA[2])], actions=plain, ddl=DECLARED)
    assert json.loads(value) == {**cdc, "op": 0}
    schema = "  - {action: FileFormat, Envelope: AIRBYTE, Json: true, JsonMode: SCHEMA_PAYLOAD}\n"
    [value], _ = sent(tmp_path, [record(DATA[2])], actions=schema, ddl=DECLARED)
    found = json.loads(value)["payload"]["_airbyte_data"]
    assert {name: found[name] for name in cdc} == cdc


def test_a_plan_without_the_dialect_remarks_that_events_are_made_of_columns(tmp_path):
    for dialect, noted in (("auto", True), ("airbyte", False), ("hvr", False)):
        pure.recipe(tmp_path, DDL, AIRBYTE, dialect)
        notes = build(str(tmp_path / "channel.yaml"), "UTC").notes
        assert any("write dialect: airbyte at the source" in note for note in notes) == noted


def test_the_plan_of_whole_events_remarks_no_key(tmp_path):
    pure.recipe(tmp_path, DDL, AIRBYTE, "airbyte")
    made = build(str(tmp_path / "channel.yaml"), "UTC")
    assert not any("primary key" in note for note in made.notes)
    assert [[field.source for field in table.fields] for table in made.recipe.tables] == [
        ["\0event", "\0event time"]
    ] * 2
    [shown] = json.loads(as_json.plan(made, ["orders"]))["tables"]
    assert [column["name"] for column in shown["columns"]] == ["event", "event time"]
