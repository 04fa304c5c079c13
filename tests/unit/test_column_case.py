"""Oracle and Db2 write names that are not quoted in capitals: records have them so, scripts as their author wrote them.

Rows have the names of the definition. A quoted name is what it is.
"""

import json

import pytest

from integrator.errors import DataError
from integrator.plan import build
from tests.parts import pure

DDL = 'create table shop.rates (id integer not null primary key, rate decimal(13,9), "Note" varchar(9));\n'
SOURCE = {"connector": "db2", "schema": "SHOP", "table": "RATES", "change_lsn": "00000027:00000ac0:0002", "commit_lsn": "00000027:00000ac0:0002", "ts_ms": 1}  # fmt: skip
FIELDS = [
    {"field": "ID", "type": "int32"},
    {"field": "RATE", "type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "9"}},
    {"field": "Note", "type": "string"},
]
ROW = {"id": 101, "rate": 1.234, "Note": "x"}


def recipe(directory, dialect, source, sql_dialect, ddl=DDL):
    (directory / "tables.sql").write_text(ddl)
    (directory / "channel.yaml").write_text(
        f"channel: c\nlocations:\n  src: {{class: files, path: in, dialect: {dialect}{source}}}\n"
        "  kaf: {class: kafka, Kafka_Brokers: [localhost]}\n"
        f"tables: [{{file: tables.sql, sql_dialect: {sql_dialect}}}]\nactions:\n  - {pure.PLAIN}\n"
    )
    return build(str(directory / "channel.yaml"), "UTC").recipe


def event(after, fields=None):
    payload = {"op": "c", "before": None, "after": after, "source": SOURCE, "ts_ms": 2}
    if fields is None:
        return payload
    schema = {"type": "struct", "fields": [{"field": "after", "type": "struct", "fields": fields}]}
    return {"schema": schema, "payload": payload}


RECORDS = [
    # dialect, the file's name and text
    ("debezium", "1.jsonl", json.dumps(event({"ID": 101, "RATE": "SY1YgA==", "Note": "x"}))),
    ("debezium", "1.jsonl", json.dumps(event({"ID": 101, "RATE": "SY1YgA==", "Note": "x"}, FIELDS))),
    ("debezium", "1.jsonl", json.dumps(event({"id": 101, "rate": "SY1YgA==", "Note": "x"}))),
    ("goldengate", "1.jsonl", json.dumps({"table": "SHOP.RATES", "op_type": "I", "op_ts": "2026-01-01 00:00:00.000000", "current_ts": "2026-01-01T00:00:00.000000", "pos": "00000000000000000001", "after": {"ID": 101, "RATE": 1.234, "Note": "x"}})),
    ("hvr", "1.csv", "hvr_op,hvr_tx_seq,ID,RATE,Note\n1,1,101,1.234,x\n"),
    ("hvr", "1.jsonl", json.dumps({"hvr_op": 1, "hvr_tx_seq": "1", "ID": 101, "Rate": 1.234, "Note": "x"})),
    ("dms", "1.csv", "Op,ID,RATE,Note\nI,101,1.234,x\n"),
    ("dms", "1.csv", "ID,RATE,Note\n101,1.234,x\n"),
]  # fmt: skip


@pytest.mark.parametrize("unknown", ["", ", unknown_columns: ignore", ", unknown_columns: add"])
@pytest.mark.parametrize("sql_dialect", ["oracle", "db2"])
@pytest.mark.parametrize(("dialect", "name", "text"), RECORDS)
def test_a_name_that_is_not_quoted_is_found_in_any_case(dialect, name, text, sql_dialect, unknown, tmp_path):
    made = recipe(tmp_path, dialect, unknown, sql_dialect)
    (tmp_path / name).write_text(text)
    assert pure.read(made, tmp_path / name) == [ROW]


@pytest.mark.parametrize(("sql_dialect", "after"), [
    ("db2", {"ID": 1, "NOTE": "x"}),
    ("postgres", {"ID": 1, "Note": "x"}),
    ("mysql", {"Id": 1, "Note": "x"}),
])  # fmt: skip
def test_other_names_are_found_exactly(sql_dialect, after, tmp_path):
    ddl = DDL.replace('"', "`") if sql_dialect == "mysql" else DDL
    made = recipe(tmp_path, "debezium", "", sql_dialect, ddl)
    (tmp_path / "1.jsonl").write_text(json.dumps(event(after)))
    with pytest.raises(DataError, match="is not in its definition, which has id, rate, Note"):
        pure.read(made, tmp_path / "1.jsonl")


def debezium(after):
    return "1.jsonl", json.dumps({"before": None, "after": after, "op": "c", "ts_ms": 1, "source": {**SOURCE, "schema": "public", "table": "t"}})  # fmt: skip


def hvr(after):
    return "1.jsonl", json.dumps({"hvr_op": 1, "hvr_tx_seq": "1", **after})


def csv(after):
    return "1.csv", f"hvr_op,hvr_tx_seq,{','.join(after)}\n1,1,{','.join(map(str, after.values()))}\n"


def wal2json(after):
    pairs = {"columnnames": [*after], "columntypes": ["text"] * len(after), "columnvalues": [*after.values()]}
    change = {"kind": "insert", "schema": "public", "table": "t", **pairs}
    return "1.jsonl", json.dumps({"xid": 1, "nextlsn": "0/1", "timestamp": "2026-01-01 00:00:00+00", "change": [change]})  # fmt: skip


WRITTEN = {"debezium": debezium, "hvr": hvr, "hvr, CSV": csv, "wal2json": wal2json}
PLAIN_DDL = "create table t(id int primary key, note varchar(9));\n"


@pytest.mark.parametrize("unknown", ["ignore", "add"])
@pytest.mark.parametrize("written", WRITTEN)
def test_a_name_in_other_case_is_not_passed_over_where_its_column_has_no_value(written, unknown, tmp_path):
    """The column was sent as missing, and its values counted as those of another, or sent as those of a new one."""
    name, text = WRITTEN[written]({"id": 1, "Note": "x"})
    made = recipe(tmp_path, written.partition(",")[0], f", unknown_columns: {unknown}", "postgres", PLAIN_DDL)
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError) as raised:
        pure.read(made, tmp_path / name)
    line = 2 if name.endswith("csv") else 1
    assert str(raised.value) == (
        f"{tmp_path / name}:{line}: table t: the record has 'Note', which is not in its definition, and no value of "
        "'note'; they differ in case alone: write the column in the definition as records have it, or define both"
    )


@pytest.mark.parametrize("written", WRITTEN)
def test_it_is_passed_over_beside_its_column(written, tmp_path):
    """In PostgreSQL they are two columns, of which the channel may have one."""
    name, text = WRITTEN[written]({"id": 1, "Note": "x", "note": "y"})
    made = recipe(tmp_path, written.partition(",")[0], ", unknown_columns: ignore", "postgres", PLAIN_DDL)
    (tmp_path / name).write_text(text)
    assert pure.read(made, tmp_path / name) == [{"id": 1, "note": "y"}]
