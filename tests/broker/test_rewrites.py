"""Rows that become others without a change in the log are read again: the topic, rebuilt, equals the table (I1).

A real PostgreSQL; neither Kafka nor Spark.
"""

# ruff: noqa: F811 - fixtures of another file

import contextlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from integrator.channel.databases import PostgresLocation
from integrator.errors import EnvironmentFault
from integrator.sources.capture import position_rows
from integrator.sources.capture import record as records
from integrator.sources.postgres.replication import Replication
from integrator.sources.postgres.server import MissingFault, Server
from integrator.sources.postgres.slot import options_of
from integrator.sources.postgres.source import Postgres
from integrator.sources.postgres.source import Postgres as PostgresSource
from integrator.tables.sql import postgres_catalogue
from tests.broker.test_capture_alone import Spooled, database, server  # noqa: F401 - fixtures
from tests.parts import postgres
from tests.parts.spooled import rebuilt

pytestmark = pytest.mark.skipif(bool(postgres.missing(wal2json=False)), reason=postgres.missing(wal2json=False))
T = "create table t (k int primary key, v text); insert into t values (1, 'a'), (2, 'b')"
PARTS = (
    "create table t (k int, v text, primary key (k)) partition by range (k); "
    "create table t0 partition of t for values from (0) to (10); "
    "create table t1 partition of t for values from (10) to (20); "
    "insert into t values (1, 'a'), (2, 'b'), (11, 'c')"
)
OWN = "create table t2 (k int not null, v text, primary key (k))"
ATTACH = "alter table t attach partition t2 for values from (20) to (30)"
CASES = {
    # the table t, and steps, after each of which it is captured and compared
    "a column with a default": (T, ["alter table t add c int default 7", "insert into t values (3, 'c', 1)"]),
    "a column with a default that is made": (T, ["alter table t add c float default random()"]),
    "a default, and its files written anew": (T, ["alter table t add c int default 7; vacuum full t"]),
    "numbers": (T, ["alter table t add c serial"]),
    "another type": (T, ["alter table t alter v type int using 5"]),
    "other values of the type": (T, ["alter table t alter v type text using v || '!'"]),
    "another name": (T, ["alter table t rename v to w", "update t set w = 'x' where k = 1"]),
    "labels": (
        "create type m as enum ('a', 'b'); create table t (k int primary key, v m); insert into t values (1, 'a')",
        ["alter type m add value 'c'; insert into t values (2, 'b')", "alter type m rename value 'a' to 'z'"],
    ),
    "labels in arrays": (
        "create type m as enum ('a', 'b'); create table t (k int primary key, v m[]); insert into t values (1, '{a}')",
        ["alter type m rename value 'a' to 'z'"],
    ),
    "labels in ranges": (
        "create type m as enum ('a', 'b'); create type r as range (subtype = m); "
        "create table t (k int primary key, v r); insert into t values (1, '[a,b]')",
        ["alter type m rename value 'a' to 'z'"],
    ),
    "attributes": (
        "create type m as (x int, y int); create table t (k int primary key, v m); insert into t values (1, '(1,2)')",
        ["alter type m add attribute z int", "alter type m drop attribute x"],
    ),
    "made again": (T, ["drop table t; create table t (k int primary key, o int); insert into t values (7, 1)"]),
    "renamed away for two looks": (
        T,
        ["alter table t rename to away", "delete from away where k = 1; alter table away rename to t"],
    ),
    "renamed away and back": (
        T,
        [
            "alter table t rename to away; insert into away values (3, 'x'); delete from away where k = 1; "
            "alter table away rename to t"
        ],
    ),
    "another schema and back": (
        T,
        ["create schema o; alter table t set schema o; delete from o.t where k = 1; alter table o.t set schema public"],
    ),
    "swapped": (
        f"{T}; create table u (k int primary key, v text); insert into u values (2, 'u'), (5, 'u')",
        ["alter table t rename to x; alter table u rename to t; alter table x rename to u; delete from t where k = 2"],
    ),
    "attached with rows": (f"{PARTS}; {OWN}; insert into t2 values (21, 'was')", [ATTACH, "insert into t values (22)"]),
    "attached with rows of a tree": (
        f"{PARTS}; create table s (k int not null, v text, primary key (k)) partition by range (k); create table s0 "
        "partition of s for values from (20) to (25); insert into s values (21, 'was')",
        ["alter table t attach partition s for values from (20) to (30); insert into t values (24, 'new')"],
    ),
    "attached in the transaction that made it": (
        PARTS,
        [f"begin; {OWN}; insert into t2 values (21, 'was'); {ATTACH}; commit"],
    ),
    "truncated": (PARTS, ["truncate t0; insert into t values (3, 'new')"]),
    "detached": (PARTS, ["alter table t detach partition t0", "insert into t values (12, 'new')"]),
    "dropped": (PARTS, ["drop table t0"]),
    "detached and attached": (
        PARTS,
        [
            "alter table t detach partition t0; delete from t0 where k = 1; "
            "alter table t attach partition t0 for values from (0) to (10)"
        ],
    ),
    "a column that is renamed before it is seen": (
        T,
        ["alter table t add c text; update t set c = 'x'; alter table t rename c to d"],
    ),
    "a column that comes twice before it is seen": (
        T,
        ["alter table t add c text; update t set c = 'x'; alter table t drop c; alter table t add c text"],
    ),
    "a partition that comes and goes": (
        PARTS,
        ["create table t2 partition of t for values from (20) to (30); insert into t values (21, 'x'); drop table t2"],
    ),
    "a partition that comes and is detached": (
        PARTS,
        [
            "create table t2 partition of t for values from (20) to (30); insert into t values (21, 'x'); "
            "alter table t detach partition t2"
        ],
    ),
    "a partition that comes and is truncated": (
        PARTS,
        ["create table t2 partition of t for values from (20) to (30); insert into t values (21, 'x'); truncate t2"],
    ),
    "out of the publication and in again": (
        T,
        ["alter publication {p} drop table t; delete from t where k = 1; alter publication {p} add table t"],
    ),
    "out of the publication": (T, ["alter publication {p} drop table t; delete from t where k = 1"]),
    "inserts alone for a while": (
        T,
        ["alter publication {p} set (publish = insert); delete from t where k = 1; "
         "alter publication {p} set (publish = 'insert, update, delete, truncate')"],
    ),
    "no publication for a while": (
        T,
        ["drop publication {p}; delete from t where k = 1; create publication {p} for table t"],
    ),
    "no publication": (T, ["drop publication {p}; delete from t where k = 1", "update t set v = 'x'"]),
}  # fmt: skip
NOT_READ_AGAIN = {
    "a column": (T, "alter table t add c int; alter table t add d int default null"),
    "a column that goes": (T, "alter table t drop v"),
    "a column that comes and goes": (T, "alter table t add c int; alter table t drop c"),
    "columns that come one after another": (
        T,
        "alter table t add c int; update t set c = 1; alter table t add d int; update t set d = 2",
    ),
    "files written anew": (T, "vacuum full t; cluster t using t_pkey"),
    "a truncate": (T, "truncate t; insert into t values (3, 'c')"),
    "a longer text": (
        "create table t (k int primary key, v varchar(5)); insert into t values (1, 'a')",
        "alter table t alter v type varchar(9); alter table t alter v set not null; analyze t",
    ),
    "a label more": (
        "create type m as enum ('a'); create table t (k int primary key, v m); insert into t values (1, 'a')",
        "alter type m add value 'c'; alter type m rename to n",
    ),
    "a partition that is made": (
        PARTS,
        "create table t2 partition of t for values from (20) to (30); insert into t values (21, 'new')",
    ),
    "a partition that is attached without rows": (PARTS, f"{OWN}; {ATTACH}; insert into t values (21, 'new')"),
    "another table": (T, "create table u (k int primary key)"),
}


class ReadingAgain(Spooled):
    """What `run` has."""

    def catch_up(self, **more):
        super().catch_up(**{"on_rewrite": "read_again", **more})


@pytest.fixture
def spooled(server, database, tmp_path, name):
    return ReadingAgain(server, tmp_path / "spool", name)


def table_of(database, name="t"):
    of = f"from information_schema.columns where table_schema = 'public' and table_name = '{name}'"
    columns = database(f"select column_name {of} order by ordinal_position").split()
    each = ", ".join(f"'{column}', {column}::text" for column in columns)
    found = map(json.loads, database(f"select json_build_object({each}) from {name}").splitlines())
    return {row["k"]: {key: value for key, value in row.items() if value is not None} for row in found}


def captured(spooled, name="t"):
    rows = rebuilt(spooled.lines()).get(name, {})
    return {key: {name: value for name, value in row.items() if value is not None} for key, row in rows.items()}


def truncates(spooled):
    return sum(line["action"] == "T" for _, line in spooled.lines())


@pytest.mark.parametrize("case", CASES)
def test_rows_that_became_others_without_a_change_in_the_log_are_read_again(case, database, spooled):
    made, steps = CASES[case]
    database(made)
    spooled.catch_up()
    assert captured(spooled) == table_of(database)
    for step in steps:
        database(step.replace("{p}", spooled.names.publication))
        if "drop publication" in step and int(database("show server_version_num")) < 180_000:
            with pytest.raises(EnvironmentFault, match=r"was not there when changes were made.*begin anew"):
                spooled.catch_up()
            return
        spooled.catch_up()
        if "rename to away" not in step or "rename to t" in step:
            assert captured(spooled) == table_of(database)
    assert truncates(spooled)
    before = truncates(spooled)
    database("insert into t(k) values (19)")
    spooled.catch_up()
    assert truncates(spooled) == before
    assert captured(spooled) == table_of(database)


@pytest.mark.parametrize(
    "steps",
    [
        ["alter table t drop v", "alter table t add v text"],
        ["alter table t drop v; alter table t add v int"],
        ["alter table t drop v, add c int", "alter table t drop c", "alter table t add c text, add v int"],
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


def test_a_column_that_is_generated_no_more_has_values_of_rows_that_are_there(database, spooled):
    database(
        "create table t (k int primary key, g int generated always as (k * 2) stored); insert into t values (1), (2)"
    )
    spooled.catch_up()
    database("alter table t alter g drop expression")
    spooled.catch_up()
    assert captured(spooled) == table_of(database)
    assert truncates(spooled) == 1


def test_tables_whose_names_are_the_same_with_their_schemas_are_left_out(database, spooled):
    database(f'{T}; create schema "a.b"; create schema a; create table "a.b".c (k int primary key)')
    database('create table a."b.c" (k int primary key); insert into "a.b".c values (1); insert into a."b.c" values (2)')
    spooled.catch_up()
    assert {line["table"] for _, line in spooled.lines()} == {"t"}
    source = Postgres(PostgresLocation(**{"class": "postgres", "address": spooled.address}), channel="test")
    assert "a dot" in source.defines().left_out["a.b.c"]


def test_what_is_sent_after_the_stream_has_ended_is_answered_with_why_it_has(database, spooled):
    """libpq knows no reason any more; the server's own was read before."""
    if (version := int(database("show server_version_num"))) >= 180_000:
        pytest.skip("PostgreSQL 18 passes over a publication that is missing")
    database(T)
    spooled.catch_up()
    database(f"drop publication {spooled.names.publication}")
    database("update t set v = 'x'")
    options = options_of(version, spooled.names.publication)
    replication = Replication(Server(spooled.address, "test"), spooled.names.slot, 0, options)

    def read_all():
        while True:
            replication.wait(1)
            replication.read()

    with contextlib.closing(replication):
        with pytest.raises(MissingFault, match="publication"):
            read_all()
        with pytest.raises(MissingFault, match="publication"):
            replication.report(1)


@pytest.mark.parametrize("case", NOT_READ_AGAIN)
def test_rows_are_not_read_again_where_they_are_as_before(case, database, spooled):
    made, step = NOT_READ_AGAIN[case]
    database(made)
    spooled.catch_up()
    copied = sum(line["action"] == "I" for _, line in spooled.lines())
    database(step)
    spooled.catch_up()
    assert truncates(spooled) == (case == "a truncate")
    assert sum(line["action"] == "I" for _, line in spooled.lines()) - copied <= 1


def test_a_table_that_was_excluded_and_is_not_any_more_is_read_after_a_truncate(database, spooled):
    database(T)
    spooled.catch_up()
    spooled.catch_up(exclude=["t"])
    database("delete from t where k = 1")
    spooled.catch_up(exclude=["t"])
    spooled.catch_up()
    assert captured(spooled) == table_of(database)
    assert truncates(spooled) == 1


def test_a_channel_warns_or_stops_where_its_location_says_so_and_reads_again_once_that_does_not(database, spooled):
    database(T)
    spooled.catch_up()
    database("alter table t add c int default 7; insert into t values (3, 'c', 1)")
    with capture_logs() as logs:
        spooled.catch_up(on_rewrite="warn")
    [warned] = [one for one in logs if one["log_level"] == "warning"]
    assert (warned["table"], warned["why"]) == ("public.t", "column c is added with a default")
    assert captured(spooled)["1"] == {"k": "1", "v": "a"}
    assert captured(spooled)["3"] == {"k": "3", "v": "c", "c": "1"}
    with pytest.raises(EnvironmentFault, match=r"public\.t: column c is added with a default.*on_rewrite: read_again"):
        spooled.catch_up(on_rewrite="stop")
    spooled.catch_up()
    assert captured(spooled) == table_of(database)


def test_the_changes_of_before_are_sent_before_the_rows_are_read_again(database, spooled):
    """I11: also those that wait in the log."""
    database(T)
    spooled.catch_up()
    database("update t set v = 'last' where k = 1; alter table t add c int default 7; update t set c = 8 where k = 2")
    spooled.catch_up()
    changes = [line for _, line in spooled.lines() if line["action"] in "UT"]
    assert [line["action"] for line in changes] == ["U", "U", "T"]
    assert changes[0]["new"] == {"k": "1", "v": "last"}


def test_a_disk_that_was_put_back_is_found_though_the_log_went_on_beyond_what_was_captured(server, database, spooled):
    """I9: a position is no identity."""
    database(T)
    spooled.catch_up()
    data = Path(server.psql("show data_directory").strip())
    server.control("-m", "fast", "stop")
    subprocess.run(["cp", "-a", data, data.with_name("copy")], check=True)
    server.start()
    database("delete from t where k = 1; insert into t values (50, 'before')")
    spooled.catch_up()
    server.control("-m", "fast", "stop")
    shutil.rmtree(data)
    data.with_name("copy").rename(data)
    server.start()
    database("insert into t select 100 + n, 'after' from generate_series(1, 5000) n; checkpoint")
    with pytest.raises(EnvironmentFault, match="was put back to an earlier state; to begin anew"):
        spooled.catch_up()


def test_a_user_who_may_read_the_whole_table_alone_captures_its_partitions(server, database, spooled, name):
    """A partition that cannot be looked into when it is attached is taken for one with rows."""
    user = f"u{name}"
    database(f"{PARTS}; {OWN}; insert into t2 values (21, 'was'); create role {user} login replication")
    database(
        f"alter table t owner to {user}; alter table t0 owner to {user}; alter table t1 owner to {user}; grant create on database {name} to {user}"
    )
    try:
        spooled.address = spooled.address.replace(f"{server.user}@", f"{user}@")
        database(f"grant execute on function pg_control_system() to {user}")
        spooled.catch_up()
        database(ATTACH)
        spooled.catch_up()
        assert captured(spooled) == table_of(database)
    finally:
        database(
            f"drop publication {spooled.names.publication}; reassign owned by {user} to {server.user}; drop owned by {user}; drop role {user}"
        )


def test_a_table_whose_rows_cannot_be_read_is_read_once_they_can(server, database, spooled, monkeypatch):
    monkeypatch.setattr(position_rows, "_AGAIN_S", 0.0)
    database(f"{T}; create table u (k int primary key, v text); insert into u values (1, 'x'); checkpoint")
    file = Path(server.psql("show data_directory").strip(), database("select pg_relation_filepath('t')").strip())
    file.rename(file.with_name("away"))
    spooled.catch_up()
    assert captured(spooled, "u") == table_of(database, "u"), "it stops no other"
    unread = records.read(spooled.directory).refused
    assert list(unread) == ["public.t"]
    assert "could not open file" in unread["public.t"].why
    file.with_name("away").rename(file)
    database("insert into u values (2, 'y'); insert into t values (3, 'c')")
    spooled.catch_up()
    assert captured(spooled, "u") == table_of(database, "u")
    assert captured(spooled) == table_of(database)
    assert not records.read(spooled.directory).refused


@pytest.mark.parametrize("change", ["drop table t", "alter table t rename v to w"])
def test_i11_a_change_between_two_queries_of_the_catalogue_defines_no_table_as_another(
    change, server, database, monkeypatch, name
):
    database(T)
    asked = postgres_catalogue.definitions

    def changed(*given):
        database(change)
        return asked(*given)

    monkeypatch.setattr(postgres_catalogue, "definitions", changed)
    location = PostgresLocation(**{"class": "postgres", "address": server.address(name)})
    known = PostgresSource(location=location, channel="test").defines().known
    assert [[column.name for column in one.columns] for one in known.tables()] == [["k", "v"]]
    assert list(known.versions) == list(known.current.values())
