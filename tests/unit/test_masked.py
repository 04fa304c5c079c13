"""Values of columns that a channel masks are in no error, no log and no dead letter's headers; others are cut."""

import datetime
import json

import pyarrow as pa
import pyarrow.parquet
import pytest

from integrator.contracts.sequence import OpenTransaction
from integrator.decode.contract import reading_of
from integrator.decode.dialects import DIALECTS
from integrator.errors import DataError, Defect, from_wire
from integrator.refresh.rows import BEGINNING, Rows, fragments
from integrator.sources.sockets.line_gate import line_gate_of
from tests.parts import pure

SECRET = "S3CR3T-4711"
DDL = "create table t(id int primary key, ssn text, pin int, v text); create table u(id int primary key);"
HASHED = '{action: ColumnProperties, table: t, Name: ssn, IntegrateExpression: "sql: md5({ssn})"}'
ABSENT = "{action: ColumnProperties, table: t, Name: ssn, Absent: true}"
NO_PIN = "{action: ColumnProperties, table: t, Name: pin, Absent: true}"
NO_KEY = "{action: ColumnProperties, table: t, Name: ssn, Key: true}"
LIMIT = '{action: Environment, Name: HVR_KAFKA_MSG_MAX_BYTES, Value: "5000"}'


def extra(expression, datatype="varchar, Length: 3"):
    return (
        f"{{action: ColumnProperties, table: t, Name: x, Extra: true, Datatype: {datatype}, "
        f'IntegrateExpression: "{expression}"}}'
    )


def record(**members):
    row = {"hvr_tbl_name": "t", "hvr_op": 1, "hvr_tx_seq": "1", "id": 1, "ssn": SECRET, "pin": 1, "v": ""}
    return json.dumps({**row, **members})


CAPTURED = """{action: ColumnProperties, table: t, Name: ssn, CaptureExpression: "sql: md5(ssn)"}"""
CASES = [
    ("a value that a CaptureExpression replaces", [CAPTURED], record(ssn=[SECRET]), "column ssn"),
    ("a value of another type", [NO_PIN, ABSENT], record(pin=SECRET), "column pin"),
    ("a list instead of text", [ABSENT], record(ssn=[SECRET]), "column ssn"),
    ("no JSON", [ABSENT], record()[:-1], "no JSON"),
    ("no UTF-8", [ABSENT], record(v="\udcff"), "not UTF-8"),
    ("no object", [ABSENT], f"{record()}\n{json.dumps([SECRET])}", "expected a record"),
    ("a file without records", [ABSENT], json.dumps([SECRET]), "no CSV header"),
    ("no table", [ABSENT], record(hvr_tbl_name=None), "no hvr_tbl_name"),
    ("an unknown table", [ABSENT], record(hvr_tbl_name="x"), "'x'"),
    ("an unknown column", [ABSENT], record(other=SECRET), "column 'other'"),
    ("an unknown operation", [HASHED], record(hvr_op=9), "hvr_op is 9"),
    ("a text that is too long", [ABSENT, extra("{ssn}")], record(), "column x"),
    ("a text among others that is too long", [HASHED, extra("a{ssn}b")], record(), "column x"),
    ("SQL that fails", [ABSENT, extra("sql: cast({ssn} as int)", "integer")], record(), "column x"),
    ("a CaptureExpression", [ABSENT, "{action: ColumnProperties, table: t, Name: v, group: SOURCE, "
     'CaptureExpression: "sql: cast(cast({ssn} as int) as varchar)"}'], record(), "column v: CaptureExpression"),
    ("a CaptureCondition", [ABSENT, '{action: Restrict, table: t, CaptureCondition: "cast({ssn} as int) = 1"}'],
     record(), "CaptureCondition"),
    ("an IgnoreCondition", [ABSENT, '{action: Capture, table: t, IgnoreCondition: "cast({ssn} as int) = 1"}'],
     record(), "IgnoreCondition"),
    ("a MessageKey", [ABSENT, '{action: Integrate, table: t, MessageKey: "sql: cast(cast({ssn} as int) as varchar)"}'],
     record(), "MessageKey"),
    ("a row that is too large", [HASHED, NO_KEY, LIMIT], record(v="x" * 6000), "(masked)"),
]  # fmt: skip


def recipe(directory, actions, errors="{}"):
    pure.recipe(directory, DDL, "".join(f"  - {one}\n" for one in (pure.PLAIN,)))
    path = directory / "channel.yaml"
    text = path.read_text() + "".join(f"  - {one}\n" for one in actions)
    path.write_text(f"{text}errors: {errors}\n")
    return pure.build(str(path), "UTC").recipe


def written(directory, *lines):
    path = directory / "a.jsonl"
    path.write_bytes(b"".join(line.encode(errors="surrogateescape") + b"\n" for line in lines))
    return path


@pytest.mark.parametrize(("what", "actions", "line", "text"), CASES, ids=[case[0] for case in CASES])
def test_masked_values_are_in_no_error(what, actions, line, text, tmp_path):
    line = line.replace('"\\udcff"', '"\udcff"')
    path = written(tmp_path, line)
    with pytest.raises(DataError) as raised:
        pure.fragments(recipe(tmp_path, actions), path)
    assert text in str(raised.value)
    assert SECRET not in str(raised.value)

    made = recipe(tmp_path, actions, "{tolerance: all, deadletterqueue.topic.name: dead, log.enable: true}")
    if what == "a file without records":
        return  # no line of it can be rejected
    fragments, [summary] = pure.fragments(made, path)
    assert summary.rejected >= 1
    headers = [b"".join(each or ()) for each in fragments["headers"].to_pylist()]
    assert any(text.encode() in one for one in headers)
    assert SECRET.encode() not in b"".join(headers)
    assert SECRET not in summary.to_json()


SHOWN = ("a value of another type", "a text that is too long", "SQL that fails")


@pytest.mark.parametrize(("what", "actions", "line", "text"), [case for case in CASES if case[0] in SHOWN])
def test_they_are_shown_where_the_channel_includes_messages(what, actions, line, text, tmp_path):
    errors = "{tolerance: all, deadletterqueue.topic.name: dead, log.enable: true, log.include.messages: true}"
    _, [summary] = pure.fragments(recipe(tmp_path, actions, errors), written(tmp_path, line))
    assert SECRET in summary.to_json(), what


@pytest.mark.parametrize("container", ["csv", "parquet"])
def test_masked_values_of_tables_are_in_no_error(container, tmp_path):
    path = tmp_path / f"a.{container}"
    if container == "csv":
        path.write_text(f"hvr_tbl_name,hvr_op,hvr_tx_seq,id,ssn,pin,v\nt,1,1,1,x,{SECRET},\n")
    else:
        row = {"hvr_tbl_name": "t", "hvr_op": 1, "hvr_tx_seq": "1", "id": 1, "ssn": "", "pin": SECRET, "v": ""}
        pyarrow.parquet.write_table(pa.Table.from_pylist([row]), path)
    with pytest.raises(DataError) as raised:
        pure.fragments(recipe(tmp_path, [NO_PIN]), path)
    assert "column pin" in str(raised.value)
    assert SECRET not in str(raised.value)


def test_masked_keys_are_not_written_beside_coerced_values(tmp_path):
    actions = [
        HASHED,
        NO_KEY,
        "{action: ColumnProperties, table: t, Name: v, Datatype: smallint}",
        "{action: TableProperties, CoerceErrorPolicy: WARNING_FILE}",
    ]
    _, [summary] = pure.fragments(recipe(tmp_path, actions), written(tmp_path, record(v="100000")))
    assert [one["key"] for one in summary.details] == ["id=1, ssn=(masked)"]
    assert SECRET not in summary.to_json()


def test_a_socket_neither_answers_nor_writes_them_down(tmp_path):
    made = recipe(tmp_path, [ABSENT])
    door = line_gate_of(DIALECTS["hvr"], reading_of(made))
    assert door.hidden
    for line in (record(hvr_tbl_name=None), record(hvr_op="x"), record()[:-1], "null"):
        found = door.first_refused(f"{line}\n".encode())
        assert found is not None
        assert SECRET not in found[1]


def test_a_defect_shows_no_text_of_its_error(tmp_path, monkeypatch):
    def fail(*_):
        raise ValueError(SECRET)

    made = recipe(tmp_path, [ABSENT])
    monkeypatch.setitem(DIALECTS, "hvr", DIALECTS["hvr"].__class__(fail, lambda *_: OpenTransaction()))
    with pytest.raises(Defect) as raised:
        pure.fragments(made, written(tmp_path, record()))
    assert SECRET not in str(raised.value)
    assert "ValueError" in str(raised.value)


@pytest.mark.parametrize("line", [record(id="9" * 100_000), record(v=["x" * 100_000]), "[" + "1" * 100_000])
def test_values_of_other_columns_are_cut(line, tmp_path):
    with pytest.raises(DataError) as raised:
        pure.fragments(recipe(tmp_path, []), written(tmp_path, record(), line))
    assert len(str(raised.value)) < pure.LONGEST_ERROR


@pytest.mark.parametrize("values", [[SECRET], [None, SECRET]])
def test_a_refresh_does_not_show_them_either(values, tmp_path):
    recipe = pure.tables(tmp_path, DDL, [ABSENT, NO_PIN])
    moment = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    rows = Rows(recipe, "t", 1, BEGINNING, moment, str(tmp_path))
    size = len(values)
    batch = pa.table({"id": [*range(size)], "ssn": ["x"] * size, "pin": values, "v": [""] * size}).to_batches()
    with pytest.raises(RuntimeError) as raised:
        list(fragments(rows, iter(batch)))
    error = from_wire(str(raised.value))
    assert isinstance(error, DataError)
    assert SECRET not in str(raised.value)
    assert f"row {size}: column pin: its value is refused, and is not shown" in str(error)
