"""Rows that become others without events are read again: the topic, rebuilt, equals the table (I1).

A real MariaDB and a real MySQL; neither Kafka nor Spark.
"""

# ruff: noqa: F811 - fixtures of another file

import json

import pytest
from structlog.testing import capture_logs

from integrator.errors import EnvironmentFault
from integrator.sources.binlog.source import BinlogSource
from integrator.sources.capture import position_rows
from integrator.sources.capture import record as records
from integrator.tables.sql import mysql_catalogue
from tests.broker.test_binlog_alone import Spooled, database, location_of, server  # noqa: F401 - fixtures
from tests.parts.spooled import rebuilt

T = "create table t (k int primary key, v varchar(20)); insert into t values (1, 'a'), (2, 'b')"
PARTS = (
    "create table t (k int primary key, v varchar(20)) partition by range (k) (partition p0 values less than (10), "
    "partition p1 values less than (20)); insert into t values (1, 'a'), (2, 'b'), (11, 'c')"
)
CASES = {
    # the table t, and steps, after each of which it is captured and compared
    "a column with a default": (T, ["alter table t add c int default 7", "insert into t values (3, 'c', 1)"]),
    "a column that is not null": (T, ["alter table t add (c int not null, d int)"]),
    "a primary key of nulls": (
        "create table t (k int, v int); insert into t values (null, 1)",
        ["set sql_mode=''; alter table t add primary key (k)"],
    ),
    "another type": (T, ["alter table t modify v varchar(30)", "update t set v = 'x' where k = 1"]),
    "another name": (T, ["alter table t change v w varchar(20)", "alter table t rename column w to x"]),
    "labels": (
        "create table t (k int primary key, v enum('a', 'b')); insert into t values (1, 'a')",
        ["alter table t modify v enum('z', 'a', 'b')"],
    ),
    "made again": (T, ["drop table t; create table t (k int primary key, o int); insert into t values (7, 1)"]),
    "replaced": (T, ["create or replace table t (k int primary key, o int); insert into t values (7, 1)"]),
    "the database made again": (
        T,
        ["drop database {d}; create database {d}; use {d}; create table t (k int primary key); insert into t values (9)"],
    ),
    "renamed away and back": (
        T,
        ["rename table t to away; insert into away values (3, 'x'); delete from away where k = 1; rename table away to t"],
    ),
    "swapped": (
        f"{T}; create table u (k int primary key, v varchar(20)); insert into u values (2, 'u'), (5, 'u')",
        ["rename table t to x, u to t, x to u; delete from t where k = 2; insert into t values (6, 'x')"],
    ),
    "truncated": (PARTS, ["alter table t truncate partition p0; insert into t values (3, 'new')"]),
    "dropped": (PARTS, ["alter table t drop partition p0"]),
    "exchanged": (
        f"{PARTS}; create table u (k int primary key, v varchar(20)); insert into u values (5, 'u')",
        ["alter table t exchange partition p0 with table u; insert into t values (6, 'x')"],
    ),
    "taken back": (
        T,
        ["begin; insert into t values (3, 'c'); create temporary table x (k int); insert into t values (4, 'd'); rollback"],
    ),
    "taken back to a savepoint": (
        T,
        [
            "begin; insert into t values (3, 'c'); savepoint s; create temporary table x (k int); update t set v = 'x'; "
            "rollback to s; commit"
        ],
    ),
    "with a history for a while": (
        T,
        [
            "alter table t add system versioning; update t set v = 'x'; alter table t drop system versioning; "
            "insert into t values (4, 'd')"
        ],
    ),
    "compressed for a while": (
        T,
        ["alter table t modify v text compressed; update t set v = 'x'; alter table t modify v varchar(20)"],
    ),
    "in another character set for a while": (
        T,
        [
            "alter table t modify v varchar(20) character set big5; update t set v = 'x' where k = 1; "
            "alter table t modify v varchar(20) character set utf8mb4"
        ],
    ),
}  # fmt: skip
OF_MARIADB = {
    "replaced", "taken back", "taken back to a savepoint", "with a history for a while", "compressed for a while"
}  # fmt: skip
"""Cases of what MySQL does not have, or does not have in its log."""
NOT_READ_AGAIN = {
    "a column": (T, "alter table t add c int; alter table t add d int default null"),
    "a column that goes": (T, "alter table t drop v"),
    "files written anew": (T, "alter table t engine=innodb; optimize table t"),
    "an index": (T, "alter table t add index v (v); create index w on t (v)"),
    "a partition that is made": (
        PARTS,
        "alter table t add partition (partition p2 values less than (30)); insert into t values (21, 'new')",
    ),
    "another table": (T, "create table u (k int primary key)"),
}


class ReadingAgain(Spooled):
    """What `run` has."""

    def catch_up(self, **more):
        super().catch_up(**{"on_rewrite": "read_again", **more})


@pytest.fixture
def spooled(server, database, tmp_path, name):
    return ReadingAgain(server, tmp_path, name)


def table_of(database, name="t"):
    columns = database(f"select column_name from information_schema.columns where table_name = '{name}' "
                       "and table_schema = database()").split()  # fmt: skip
    each = ", ".join(f"'{column}', concat({column})" for column in columns)
    found = map(json.loads, database(f"select json_object({each}) from {name}").splitlines())
    return {row["k"]: {key: value for key, value in row.items() if value is not None} for row in found}


def captured(spooled, name="t"):
    rows = rebuilt(spooled.lines()).get(name, {})
    return {key: {name: value for name, value in row.items() if value is not None} for key, row in rows.items()}


def truncates(spooled):
    return sum(line["action"] == "T" for _, line in spooled.lines())


@pytest.mark.parametrize("case", CASES)
def test_rows_that_became_others_without_events_are_read_again(case, server, database, spooled, name):
    made, steps = CASES[case]
    if case in OF_MARIADB and server.product == "mysql":
        pytest.skip(f"MySQL has no table that is {case}")
    database(made)
    spooled.catch_up()
    assert captured(spooled) == table_of(database)
    for step in steps:
        before = truncates(spooled)
        database(step.replace("{d}", name))
        spooled.catch_up()
        assert captured(spooled) == table_of(database)
        assert (truncates(spooled) > before) == (not step.startswith(("insert", "update")))


@pytest.mark.parametrize(
    "steps",
    [
        ["alter table t drop v", "alter table t add v varchar(30)"],
        ["alter table t drop v, add v int"],
        ["alter table t drop v; alter table t add v int"],
        ["alter table t drop v, add c int", "alter table t drop c", "alter table t add (c int, v int)"],
    ],
)
def test_a_column_that_is_added_again_has_none_of_its_former_values(steps, database, spooled):
    database(T)
    spooled.catch_up()
    for step in steps:
        assert not truncates(spooled)
        database(step)
        spooled.catch_up()
    assert captured(spooled) == table_of(database)
    assert truncates(spooled) == 1
    database("alter table t add w int; insert into t (k) values (19)")
    spooled.catch_up()
    assert captured(spooled) == table_of(database)
    assert truncates(spooled) == 1


@pytest.mark.parametrize(
    "text", ["truncate table t", "rename table t to x, u to t", "alter table t add c int default 7"]
)
def test_definitions_with_settings_of_their_own_are_followed(text, server, database, spooled):
    if server.product == "mysql":
        pytest.skip("MySQL has no SET STATEMENT")
    database(f"{T}; create table u (k int primary key, v varchar(20)); insert into u values (9, 'u')")
    spooled.catch_up()
    database(f"set statement lock_wait_timeout = 5 for {text}")
    spooled.catch_up()
    assert captured(spooled) == table_of(database)


def test_all_rows_and_tables_come_whatever_limits_a_server_sets(server, database, spooled):
    database(
        "".join(f"create table {one} (k int primary key); insert into {one} values (1), (2), (3);" for one in "abct")
    )
    limits = {"sql_select_limit": 2, "max_join_size": 1}
    before = {limit: server.sql(f"select @@global.{limit}").strip() for limit in limits}
    try:
        server.sql("; ".join(f"set global {limit} = {value}" for limit, value in limits.items()))
        spooled.catch_up()
    finally:
        server.sql("; ".join(f"set global {limit} = {value}" for limit, value in before.items()))
    assert {one: len(captured(spooled, one)) for one in "abct"} == dict.fromkeys("abct", 3)


@pytest.mark.parametrize("case", NOT_READ_AGAIN)
def test_rows_are_not_read_again_where_they_are_as_before(case, database, spooled):
    made, step = NOT_READ_AGAIN[case]
    database(made)
    spooled.catch_up()
    copied = sum(line["action"] == "I" for _, line in spooled.lines())
    database(step)
    spooled.catch_up()
    spooled.catch_up()
    assert not truncates(spooled)
    assert sum(line["action"] == "I" for _, line in spooled.lines()) - copied <= 1


def test_a_channel_warns_or_stops_where_its_location_says_so(database, spooled):
    database(T)
    spooled.catch_up()
    database("alter table t add c int default 7; insert into t values (3, 'c', 1)")
    with pytest.raises(EnvironmentFault, match=r"\.t: alter table t add c int default 7; .*on_rewrite: read_again"):
        spooled.catch_up(on_rewrite="stop")
    with capture_logs() as logs:
        spooled.catch_up(on_rewrite="warn")
    [warned] = [one for one in logs if one["log_level"] == "warning"]
    assert warned["why"] == "alter table t add c int default 7"
    with capture_logs() as again:
        spooled.catch_up(on_rewrite="warn")
    assert [one["why"] for one in again if one["log_level"] == "warning"] == [warned["why"]]
    assert captured(spooled)["1"] == {"k": "1", "v": "a"}
    assert captured(spooled)["3"] == {"k": "3", "v": "c", "c": "1"}
    spooled.catch_up()
    assert captured(spooled) == table_of(database)


def test_a_table_that_cannot_be_captured_for_a_while_does_not_stop_the_others(database, spooled):
    """Its log has changes of an engine without transactions; once it is of InnoDB again, its rows are read again."""
    database(f"{T}; create table u (k int primary key)")
    spooled.catch_up()
    database("alter table t engine = MyISAM; insert into t values (3, 'c'); insert into u values (1)")
    with capture_logs() as logs:
        spooled.catch_up()
    assert any("t was captured, and cannot be any more: it is of the engine MyISAM" in one["event"] for one in logs)
    assert captured(spooled, "u") == table_of(database, "u")
    database("alter table t engine = InnoDB; insert into t values (4, 'd'); delete from t where k = 1")
    spooled.catch_up()
    assert captured(spooled) == table_of(database)
    assert captured(spooled, "u") == table_of(database, "u")


@pytest.mark.parametrize("kind", ["text compressed", "varchar(9) character set big5"])
def test_a_table_that_was_left_out_is_captured_once_it_can_be(kind, server, database, spooled):
    """Also where the log has changes of before that are not read."""
    if "compressed" in kind and server.product == "mysql":
        pytest.skip("MySQL has no compressed columns")
    database(f"{T}; create table c (k int primary key, v {kind}); insert into c values (1, 'a')")
    spooled.catch_up()
    assert captured(spooled, "c") == {}
    database("insert into c values (2, 'b'); alter table c modify v varchar(9); insert into c values (3, 'c')")
    spooled.catch_up()
    database("insert into t values (4, 'd')")
    spooled.catch_up()
    assert captured(spooled, "c") == table_of(database, "c")
    assert captured(spooled) == table_of(database)


def test_what_clients_write_elsewhere_stops_nothing(server, database, spooled, name, tmp_path):
    """Of uncaptured databases, and of excluded tables where rows are in the log."""
    file = tmp_path / "rows.txt"
    file.write_text("1\n2\n")
    local = "" if server.product == "mysql" else "local "
    database(f'{T}; create table j (k int primary key, v json); insert into j values (1, \'{{"a": 1, "b": 2}}\')')
    database(f"create database {name}_2; create table {name}_2.l (k int)")
    spooled.catch_up(exclude=["j"])
    try:
        if server.product == "mysql":
            database("set session binlog_row_value_options = 'PARTIAL_JSON'; update j set v = json_set(v, '$.a', 3)")
        database(
            f"use {name}_2; set session binlog_format = 'STATEMENT'; "
            f"load data {local}infile '{file}' into table l; insert into l values (9)"
        )
        database("insert into t values (3, 'c')")
        spooled.catch_up(exclude=["j"])
        assert captured(spooled) == table_of(database)
        database(f"set session binlog_format = 'STATEMENT'; load data {local}infile '{file}' ignore into table t (k)")
        with pytest.raises(EnvironmentFault, match=r"as a statement \(load data\), and not as rows"):
            spooled.catch_up(exclude=["j"])
    finally:
        database(f"drop database {name}_2")


def test_a_table_without_its_tablespace_stops_no_other(database, spooled):
    database(f"{T}; create table u (k int primary key, v varchar(20))")
    spooled.catch_up()
    database("alter table t discard tablespace; insert into u values (1, 'x')")
    spooled.catch_up()
    assert captured(spooled, "u") == table_of(database, "u")
    assert set(captured(spooled)) == {"1", "2"}, "its rows are read once it is imported"


def test_a_table_whose_rows_cannot_be_read_is_read_once_they_can(server, database, spooled, monkeypatch):
    monkeypatch.setattr(position_rows, "_AGAIN_S", 0.0)
    database(f"{T}; create table u (k int primary key, v varchar(20)); insert into u values (1, 'x')")
    database("create table n like t")
    database("alter table t discard tablespace")
    spooled.catch_up()
    assert captured(spooled, "u") == table_of(database, "u"), "it stops no other"
    database("insert into u values (2, 'y')")
    spooled.catch_up()
    assert captured(spooled, "u") == table_of(database, "u")
    unread = records.read(spooled.directory).refused
    assert list(unread) == [f"{database('select database()').strip()}.t"]
    assert "ablespace" in next(iter(unread.values())).why
    database("drop table t; rename table n to t; insert into t values (5, 'e')")
    spooled.catch_up()
    assert captured(spooled) == table_of(database)
    assert not records.read(spooled.directory).refused


@pytest.mark.parametrize("change", ["alter table t rename column v to w", "alter table t modify v int"])
def test_i11_a_change_between_two_queries_of_the_catalogue_defines_no_table_as_another(
    change, server, database, monkeypatch, name
):
    database("create table t (k int primary key, v varchar(20))")
    asked = mysql_catalogue.definitions

    def changed(*given, **more):
        database(change)
        return asked(*given, **more)

    monkeypatch.setattr(mysql_catalogue, "definitions", changed)
    source = BinlogSource(location=location_of(server.address(name)), channel="test").defines()
    assert not source.known.versions
    monkeypatch.setattr(mysql_catalogue, "definitions", asked)
    assert source.defines().known.versions
