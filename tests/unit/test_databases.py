"""Rows of two databases are never sent as one table: a record's database is part of what its table is in the source."""

import json

import pytest

from integrator.contracts.fragments import Checkpoint
from integrator.errors import DataError
from integrator.run.state import sync
from tests.parts import pure

DDL = "create table t (id int primary key);"
TWO = DDL + "create table west_t (id int primary key);"
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
    kafka = ', Kafka_Default_Topic: "{hvr_tbl_name}"'
    made = pure.recipe(directory, ddl, f"  - {pure.PLAIN}\n{actions}", dialect, kafka)
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
