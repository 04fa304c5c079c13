"""Partitions of PostgreSQL: their rows are rows of the table that is partitioned, or each is a table of the channel."""

import json

import pytest

from integrator import plan, tables
from integrator.errors import ConfigurationError, DataError
from integrator.refresh.tables import _select
from tests.parts import pure

DUMP = """
CREATE TABLE public.m (id integer NOT NULL, at date NOT NULL) PARTITION BY RANGE (at);
CREATE TABLE public.m_2024 (id integer NOT NULL, at date NOT NULL);
CREATE TABLE public.m_2025 (at date NOT NULL, id integer NOT NULL) PARTITION BY LIST (id);
CREATE TABLE archive."M_2025_a" (id integer NOT NULL, at date NOT NULL);
ALTER TABLE ONLY public.m ATTACH PARTITION public.m_2024 FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
ALTER TABLE ONLY public.m ATTACH PARTITION public.m_2025 FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
ALTER TABLE ONLY public.m_2025 ATTACH PARTITION archive."M_2025_a" DEFAULT;
ALTER TABLE ONLY public.m ADD CONSTRAINT m_pkey PRIMARY KEY (id, at);
CREATE TABLE public.other (id integer PRIMARY KEY);
"""
"""As pg_dump writes partitions."""
WRITTEN = """
create table m (id int, at date, primary key (id, at)) partition by range (at);
create table m_2024 partition of m for values from ('2024-01-01') to ('2025-01-01');
"""
ROW = {"id": 1, "at": "2024-05-06"}


def debezium(schema, table, op="c"):
    source = {"connector": "postgresql", "db": "d", "schema": schema, "table": table, "lsn": 1, "txId": 1, "ts_ms": 1}
    return {"op": op, "before": None, "after": {"id": 1, "at": 19849} if op == "c" else None, "source": source}


def wal2json(schema, table, op="I"):
    columns = [{"name": name, "type": "?", "value": value} for name, value in ROW.items()]
    return {"action": op, "schema": schema, "table": table, **({"columns": columns} if op == "I" else {})}


def opencdc(schema, table):
    record = {"operation": "create", "metadata": {"opencdc.collection": f"{schema}.{table}"}, "key": None}
    return {**record, "payload": {"before": None, "after": ROW}}


def dms(schema, table):
    metadata = {"record-type": "data", "operation": "insert", "schema-name": schema, "table-name": table}
    return {"data": ROW, "metadata": {**metadata, "timestamp": "2026-01-01T00:00:00Z"}}


def hvr(_, table, op=1):
    return {"hvr_tbl_name": table, "hvr_op": op, "hvr_tx_seq": "1", **ROW}


def goldengate(schema, table):
    return {
        "table": f"{schema}.{table}",
        "op_type": "I",
        "op_ts": "2026-01-01 00:00:00",
        "pos": f"{1:020}",
        "after": ROW,
    }


RECORDS = {
    "debezium": debezium,
    "opencdc": opencdc,
    "dms": dms,
    "hvr": hvr,
    "goldengate": goldengate,
    "wal2json": wal2json,
}
BEGIN, COMMIT = {"action": "B", "xid": 1, "nextlsn": "0/1"}, {"action": "C"}


def made(directory, dialect, ddl=DUMP, actions="", partitions="", lines=()):
    (directory / "f.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    kafka = ', Kafka_Default_Topic: "{hvr_tbl_name}"'
    pure.recipe(directory, "create table t (a int primary key);", f"  - {pure.PLAIN}\n", dialect, kafka)
    path = directory / "channel.yaml"
    (directory / "tables.sql").write_text(ddl)
    named = f"{{file: {directory}/tables.sql{partitions}}}"
    text = path.read_text().replace(f"tables: [{directory}/tables.sql]", f"tables: [{named}]")
    path.write_text(text + actions)
    return plan.build(str(path), "UTC").recipe


def sent(directory, dialect, *lines, **more):
    if dialect == "wal2json":
        lines = (BEGIN, *lines, COMMIT)
    recipe = made(directory, dialect, lines=lines, **more)
    return [one.topic for one in pure.messages(recipe, directory / "f.jsonl")]


@pytest.mark.parametrize("dialect", RECORDS)
@pytest.mark.parametrize(("schema", "name"), [("public", "m"), ("public", "m_2024"), ("archive", "M_2025_a")])
def test_rows_of_partitions_are_rows_of_their_root(dialect, schema, name, tmp_path):
    assert sent(tmp_path, dialect, RECORDS[dialect](schema, name)) == ["m"]


def test_all_partitions_of_a_table_and_itself_are_one_table_of_the_source(tmp_path):
    lines = [wal2json("public", name) for name in ("m_2024", "m", "m_2024")]
    assert sent(tmp_path, "wal2json", *lines, ddl=WRITTEN.replace("table m", "table public.m")) == ["m", "m", "m"]


def test_each_partition_is_a_table_where_the_channel_has_them_so(tmp_path):
    recipe = made(tmp_path, "wal2json", partitions=", partitions: leaf")
    assert [table.table.name for table in recipe.tables] == ["m_2024", "m_2025_a", "other"]
    assert sent(tmp_path, "wal2json", wal2json("archive", "M_2025_a"), partitions=", partitions: leaf") == ["m_2025_a"]
    with pytest.raises(DataError, match=r"a change of table 'public\.m', which the channel does not have"):
        sent(tmp_path, "wal2json", wal2json("public", "m"), partitions=", partitions: leaf")


AT_SOURCE = "  - {{action: TableProperties, group: SOURCE, table: {}, Partitions: '{}'}}\n"


@pytest.mark.parametrize("pattern", ["m_20*", "public.m_2026|public.m_2027", "q*|public.m_*"])
def test_partitions_that_come_later_are_known_by_a_pattern(pattern, tmp_path):
    lines = [wal2json("public", "m_2026"), wal2json("public", "m_2024")]
    assert sent(tmp_path, "wal2json", *lines, actions=AT_SOURCE.format("m", pattern)) == ["m", "m"]
    with pytest.raises(DataError, match=r"a change of table 'public\.m_2026', which the channel does not have"):
        sent(tmp_path, "wal2json", *lines)


def test_a_table_of_the_channel_is_not_taken_for_a_partition(tmp_path):
    everything = AT_SOURCE.format("m", "*")
    line = {**wal2json("public", "other"), "columns": [{"name": "id", "type": "?", "value": 1}]}
    assert sent(tmp_path, "wal2json", line, actions=everything) == ["other"]


def test_of_tables_without_a_schema_partitions_have_none(tmp_path):
    assert sent(tmp_path, "hvr", hvr("", "m_2024"), ddl=WRITTEN) == ["m"]
    assert sent(tmp_path, "wal2json", wal2json("any", "m_2024"), ddl=WRITTEN) == ["m"]


TIMEKEY = "  - {action: ColumnProperties, Name: op, Datatype: integer, Extra: true, TimeKey: true, IntegrateExpression: '{hvr_op}'}\n"
TRUNCATES = [
    # dialect, records, root or leaf, topics of messages, what is counted
    ("wal2json", [wal2json("public", "m_2024", "T")], "root", [], {"truncates of partitions": 1}),
    ("wal2json", [wal2json("public", name, "T") for name in ("m", "m_2024")], "root", ["m"], {"truncates of partitions": 1}),
    ("wal2json", [wal2json("public", name, "T") for name in ("m", "m_2024")], "leaf", ["m_2024"], {"truncates of partitioned tables": 1}),
    ("debezium", [debezium("public", "m_2024", "t")], "root", [], {"truncates of partitions": 1}),
    ("debezium", [debezium("public", "m_2025", "t")], "leaf", [], {"truncates of partitioned tables": 1}),
    ("hvr", [{"hvr_tbl_name": "m_2024", "hvr_op": 5, "hvr_tx_seq": "1"}], "root", [], {"truncates of partitions": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "lines", "partitions", "topics", "counted"), TRUNCATES)
def test_a_truncate_of_a_partition_is_none_of_the_table(dialect, lines, partitions, topics, counted, tmp_path):
    every = [BEGIN, *lines, COMMIT] if dialect == "wal2json" else lines
    recipe = made(tmp_path, dialect, actions=TIMEKEY, partitions=f", partitions: {partitions}", lines=every)
    assert [one.topic for one in pure.messages(recipe, tmp_path / "f.jsonl")] == topics
    _, [summary] = pure.fragments(recipe, tmp_path / "f.jsonl")
    assert {name: count for name, count in summary.not_sent.items() if "truncates" in name} == counted


def test_a_refresh_takes_rows_of_heirs_once(tmp_path):
    ddl = tmp_path / "t.sql"
    ddl.write_text(
        "create table base (a int primary key); create table heir (b int) inherits (base); create table late (a int);"
        "create table of_late (a int); alter table of_late inherit late;" + WRITTEN
    )
    queries = {table.name: _select(table, "postgresql", "", {}) for table in tables.read(str(ddl), "postgres").tables}
    assert queries["base"].endswith(' from only "base"')
    assert queries["late"].endswith(' from only "late"')
    assert queries["heir"].endswith(' from "heir"')
    assert queries["m"].endswith(' from "m"')  # its rows are all in its partitions


def test_what_is_no_word_for_partitions_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r"partitions: .*leaf"):
        made(tmp_path, "hvr", partitions=", partitions: leaves")
