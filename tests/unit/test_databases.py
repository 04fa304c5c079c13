"""Rows of two databases are never sent as one table: a record's database is part of what its table is in the source."""

import json
import re

import pytest

from integrator.contracts.fragments import Checkpoint
from integrator.errors import ConfigurationError, DataError
from integrator.run.state import sync
from tests.parts import pure

DDL = "create table t (id int primary key);"
TWO = DDL + "create table west_t (id int primary key);"
TOPICS = ', Kafka_Default_Topic: "{hvr_tbl_name}"'
SCHEMA = "  - {{action: TableProperties, group: SOURCE, table: {table}, BaseName: {name}, Schema: {schema}}}\n"


POSITIONS = {
    "postgresql": lambda at: {"lsn": at, "txId": at},
    "sqlserver": lambda at: {"change_lsn": f"0000002a:0000010{at}:0001", "commit_lsn": f"0000002a:0000010{at}:0002"},
    "oracle": lambda at: {"scn": f"{at}", "commit_scn": f"{at}", "txId": f"{at}"},
    "db2": lambda at: {"change_lsn": f"00000000:0000000{at}:0001", "commit_lsn": f"00000000:0000000{at}:0002"},
    "other": lambda at: {},
}


def of_debezium(connector):
    def record(database, at):
        place = {"connector": connector, "ts_ms": 1, "db": database, "schema": "S", "table": "T"}
        return {"op": "c", "before": None, "after": {"id": at}, "source": {**place, **POSITIONS[connector](at)}}

    return record


def flat(database, at):
    return {"id": at, "__op": "c", "__source_db": database, "__source_schema": "S", "__source_table": "T"}


def cloudevent(database, at):
    attributes = {
        "op": "c",
        "connector": "postgresql",
        "db": database,
        "schema": "S",
        "table": "T",
        "tsms": "1",
        "lsn": f"{at}",
        "txid": f"{at}",
    }
    named = {f"iodebezium{name}": value for name, value in attributes.items()}
    return {"specversion": "1.0", **named, "data": {"before": None, "after": {"id": at}}}


def goldengate(database, at):
    name = ".".join(filter(None, (database, "S.T")))
    return {"table": name, "op_type": "I", "op_ts": "2026-01-01 00:00:00", "pos": f"{at:020}", "after": {"id": at}}


def opencdc(database, at):
    name = ".".join(filter(None, (database, "S.T")))
    record = {"operation": "create", "metadata": {"opencdc.collection": name}, "key": None}
    return {**record, "payload": {"before": None, "after": {"id": at}}}


RECORDS = {
    "Debezium, SQL Server": ("debezium", of_debezium("sqlserver")),
    "Debezium, Db2": ("debezium", of_debezium("db2")),
    "Debezium, Oracle": ("debezium", of_debezium("oracle")),
    "Debezium, PostgreSQL": ("debezium", of_debezium("postgresql")),
    "Debezium, a connector that is not known": ("debezium", of_debezium("other")),
    "Debezium, flattened": ("debezium", flat),
    "CloudEvents": ("cloudevents", cloudevent),
    "GoldenGate": ("goldengate", goldengate),
    "OpenCDC": ("opencdc", opencdc),
}


def sent(directory, dialect, records, ddl=DDL, actions="", entry=""):
    made = pure.recipe(directory, ddl, f"  - {pure.PLAIN}\n{actions}", dialect, TOPICS)
    paths = []
    for number, record in enumerate(records):
        paths.append(directory / f"{number}.jsonl")
        paths[-1].write_text("".join(f"{json.dumps(one)}\n" for one in record))
    _, summaries = pure.fragments(made, *paths)
    sync._followed(summaries, Checkpoint())  # as the driver does
    return sorted((one.topic, json.loads(one.value)["id"]) for one in pure.messages(made, *paths))


@pytest.mark.parametrize("apart", [False, True], ids=["in one file", "in two files"])
@pytest.mark.parametrize("case", RECORDS)
def test_a_second_database_is_an_error(case, apart, tmp_path):
    dialect, record = RECORDS[case]
    lines = [record("east", 1), record("west", 2)]
    with pytest.raises(
        DataError, match=r"a change of table 'west\.S\.T', and changes of 'east\.S\.T' came before"
    ) as raised:
        sent(tmp_path, dialect, [[lines[0]], [lines[1]]] if apart else [lines])
    assert ("1.jsonl: " if apart else "0.jsonl:2: ") in str(raised.value)
    assert "Schema: west.S}" in str(raised.value)


@pytest.mark.parametrize("case", RECORDS)
def test_each_database_has_its_table_where_definitions_name_it(case, tmp_path):
    dialect, record = RECORDS[case]
    named = SCHEMA.format(table="t", name="T", schema="east.S") + SCHEMA.format(
        table="west_t", name="T", schema="west.S"
    )
    rows = sent(tmp_path, dialect, [[record("east", 1), record("west", 2), record("east", 3)]], TWO, named)
    assert rows == [("t", 1), ("t", 3), ("west_t", 2)]


@pytest.mark.parametrize(("case", "database"), [("GoldenGate", "PDB1"), ("OpenCDC", "d")])
def test_a_record_without_its_database_may_be_of_any(case, database, tmp_path):
    dialect, record = RECORDS[case]
    with pytest.raises(DataError, match="the source must write the database into all of its records, or into none"):
        sent(tmp_path, dialect, [[record("", 1), record(database, 2)]])


@pytest.mark.parametrize("first", ["T", "S.T"])
@pytest.mark.parametrize("ddl", [DDL, DDL.replace("t (", "S.T (")])
def test_a_record_without_its_schema_may_be_of_any(first, ddl, tmp_path):
    records = [
        {**goldengate("", at), "table": name} for at, name in enumerate((first, "T" if first == "S.T" else "S.T"), 1)
    ]
    with pytest.raises(DataError, match="came before: both would be sent as table t; define each with its schema"):
        sent(tmp_path, "goldengate", [records], ddl)


UNNAMED = ["publi..lists", ".lists", "lists.", "east..lists", "..lists", ".", "a.b.c.d"]


@pytest.mark.parametrize("name", UNNAMED)
@pytest.mark.parametrize(
    ("dialect", "record", "place"),
    [("opencdc", opencdc, ("metadata", "opencdc.collection")), ("goldengate", goldengate, ("table",))],
)
def test_a_name_with_an_empty_part_is_of_no_table(dialect, record, place, name, tmp_path):
    """`publi..lists` was read as `lists` in no schema, and `a.b.c.d` as of the database a.b."""
    wrong = record("", 1)
    inner = wrong["metadata"] if len(place) == 2 else wrong
    inner[place[-1]] = name
    with pytest.raises(DataError) as raised:
        sent(tmp_path, dialect, [[record("", 2), wrong]], DDL + "create table lists (id int primary key);")
    expected = (
        f"0.jsonl:2: {place[-1]} is {name!r}; expected table, schema.table or database.schema.table, no part empty"
    )
    assert expected in str(raised.value)


NAMELESS = {
    "debezium": {"op": "c", "after": {"id": 1}, "source": {"connector": "x", "ts_ms": 1, "db": "d", "table": ""}},
    "wal2json": {"xid": 1, "nextlsn": "0/1", "timestamp": "2026-01-01 00:00:00+00", "change": [{"kind": "insert", "schema": "public", "table": "", "columnnames": ["id"], "columntypes": ["integer"], "columnvalues": [1]}]},
    "maxwell": {"database": "d", "table": "", "type": "insert", "ts": 1, "xid": 1, "commit": True, "data": {"id": 1}},
    "canal": {"database": "d", "table": "", "type": "INSERT", "es": 1, "ts": 1, "id": 1, "data": [{"id": "1"}]},
    "airbyte": {"type": "RECORD", "record": {"stream": "", "data": {"id": 1}, "emitted_at": 1}},
    "hvr": {"hvr_op": 1, "hvr_tx_seq": "0A", "hvr_tbl_name": "", "id": 1},
    "dms": {"data": {"id": 1}, "metadata": {"operation": "insert", "record-type": "data", "schema-name": "s", "table-name": ""}},
}  # fmt: skip


@pytest.mark.parametrize("dialect", NAMELESS)
@pytest.mark.parametrize("unknown", ["error", "ignore"])
def test_a_record_whose_table_has_no_name_is_an_error(dialect, unknown, tmp_path):
    """Where unknown tables are ignored, it was counted as a record of one."""
    made = pure.recipe(
        tmp_path, TWO, f"  - {pure.PLAIN}\n", dialect, source=f", unknown_tables: {unknown}", kafka=TOPICS
    )
    (tmp_path / "a.jsonl").write_text(json.dumps(NAMELESS[dialect]) + "\n")
    with pytest.raises(DataError, match=r"a\.jsonl:1: the name of the record's table is empty text"):
        pure.fragments(made, tmp_path / "a.jsonl")


@pytest.mark.parametrize(("parameter", "name"), [
    ("Schema", "east..S"), ("Schema", ".S"), ("BaseName", "T."), ("BaseName", ".T"), ("Partitions", "t_1|S..t_2")
])  # fmt: skip
def test_a_channel_says_no_names_with_empty_parts(parameter, name, tmp_path):
    action = f"  - {{action: TableProperties, group: SOURCE, table: t, {parameter}: '{name}'}}\n"
    empty = name.rpartition("|")[2]
    with pytest.raises(ConfigurationError, match=re.escape(f"table t: {empty!r} has an empty part")):
        pure.recipe(tmp_path, DDL, action)
