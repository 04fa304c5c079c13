"""Bad input and rare types, from the change file to the message: refused with file and line, or sent as documented."""

import json

import pytest

from integrator.errors import DataError
from tests.parts import pure

DDL = "create table t(id int primary key, n decimal(4,2), f double precision, v varchar(5) not null, tags text[], i interval);"
ROW = {"id": 1, "n": "1.50", "f": 1.5, "v": "x", "tags": ["a", None], "i": "1 day 02:00:00"}

REFUSED = [
    ({"n": "123.45"}, "", r"a.jsonl:2: table t, column n: '123.45' is no decimal"),
    ({"n": "1.555"}, "", r"a.jsonl:2: "),
    ({"v": None}, "", r"a.jsonl:2: table t, column v: null, where the definition says not null"),
    ({"i": "soon"}, "", r"a.jsonl:2: table t, column i: 'soon' is no interval"),
    ({"tags": "a"}, "", r"a.jsonl:2: "),
    ({"i": "3000000:00:00"}, "", r"a.jsonl:2: table t, column i: .*at most 292 years"),
    ({"i": "2147483648 days"}, "", r"a.jsonl:2: table t, column i: .*at most 2147483647 months"),
]


@pytest.mark.parametrize(("wrong", "actions", "text"), REFUSED)
def test_what_is_not_of_its_type_is_refused_with_its_line(wrong, actions, text, tmp_path):
    recipe = pure.recipe(tmp_path, DDL, actions)
    with pytest.raises(DataError, match=text):
        pure.fragments(recipe, pure.hvr(tmp_path, ROW, {**ROW, **wrong}))


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_does_not_have_are_refused_and_may_be_text(literal, tmp_path):
    ddl = "create table t(id int primary key, f double precision);"
    path = tmp_path / "a.csv"
    path.write_text(f"hvr_op,hvr_tx_seq,id,f\n1,1,7,{literal}\n")
    with pytest.raises(DataError, match=r"a.csv:2: table t, column f: .* is no JSON number; send the column as text"):
        pure.fragments(pure.recipe(tmp_path, ddl), path)
    as_text = "  - {action: ColumnProperties, Name: f, Datatype: varchar, Length: 20}"
    [payload] = pure.payloads(pure.recipe(tmp_path, ddl, as_text), path)
    assert float(payload["f"]) == pytest.approx(float(literal), nan_ok=True)


def test_a_lone_surrogate_is_no_text(tmp_path):
    recipe = pure.recipe(tmp_path, DDL)
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"hvr_op": 1, "hvr_tx_seq": "1", **ROW}).replace('"x"', '"\\ud800"') + "\n")
    with pytest.raises(DataError, match=r"a.jsonl:1"):
        pure.fragments(recipe, path)


def test_arrays_structs_and_intervals_become_text_where_the_channel_says_so(tmp_path):
    actions = "".join(f"  - {{action: ColumnProperties, Name: {name}, Datatype: text}}\n" for name in ("tags", "i"))
    [payload] = pure.payloads(pure.recipe(tmp_path, DDL, actions), pure.hvr(tmp_path, ROW))
    assert (payload["tags"], payload["i"]) == ('["a",null]', "P0Y0M1DT2H0M0S")


YAML = """
tables:
  - name: t
    key: [id]
    columns:
      - {name: id, datatype: integer}
      - {name: at, datatype: struct, fields: [{name: day, datatype: date}, {name: id, datatype: tinyint}]}
      - {name: spans, datatype: "interval[]"}
"""


def test_structs_are_read_and_sent(tmp_path):
    (tmp_path / "t.yaml").write_text(YAML)
    pure.recipe(tmp_path, "create table t(id int primary key);")
    channel = tmp_path / "channel.yaml"
    channel.write_text(channel.read_text().replace("tables.sql", "t.yaml"))
    from integrator.plan import build

    recipe = build(str(channel), "UTC").recipe
    records = [
        {"id": 1, "at": {"day": "2026-11-20", "id": 7}, "spans": ["1 mon", None]},
        {"id": 2, "at": None, "spans": None},
        {"id": 3, "at": {"id": None}},
    ]
    first, second, third = pure.payloads(recipe, pure.hvr(tmp_path, *records))
    assert first == {"id": 1, "at": {"day": 20777, "id": 7}, "spans": ["P0Y1M0DT0H0M0S", None]}
    assert second == {"id": 2, "at": None, "spans": None}
    assert third == {"id": 3, "at": {"day": None, "id": None}}  # spans is left out, and so is not in the message


def test_a_column_named_like_a_field_of_a_struct_is_missing_where_it_is_missing(tmp_path):
    (tmp_path / "t.yaml").write_text(YAML.replace('spans, datatype: "interval[]"', "day, datatype: date"))
    pure.recipe(tmp_path, "create table t(id int primary key);")
    channel = tmp_path / "channel.yaml"
    channel.write_text(channel.read_text().replace("tables.sql", "t.yaml"))
    from integrator.plan import build

    recipe = build(str(channel), "UTC").recipe
    [payload] = pure.payloads(recipe, pure.hvr(tmp_path, {"id": 1, "at": {"day": "2026-11-20", "id": 7}}))
    assert "day" not in payload


def test_capture_no_truncate_sends_none_and_keeps_not_null(tmp_path):
    from integrator.encode import messages

    kafka = ', Kafka_Schema_Registry: "http://localhost:1"'
    timekey = '  - {action: ColumnProperties, Name: k, Datatype: varchar, Length: 45, Extra: true, TimeKey: true, IntegrateExpression: "{hvr_integ_seq}"}\n'
    nullable = messages.value_schema(
        *_first(pure.recipe(tmp_path, "create table t(id int primary key);", timekey, kafka=kafka))
    )
    assert '"name":"id","type":["null","int"]' in nullable
    capture = timekey + "  - {action: Capture, group: SOURCE, NoTruncate: true}"
    recipe = pure.recipe(tmp_path, "create table t(id int primary key);", capture, kafka=kafka)
    assert '"name":"id","type":"int"' in messages.value_schema(*_first(recipe))
    fragments, notes = pure.fragments(recipe, pure.hvr(tmp_path, {"hvr_op": 5}))
    assert (fragments.num_rows, notes[0].not_sent) == (0, {"op 5 in style TimeKey": 1})


def _first(recipe):
    return recipe.tables[0], recipe
