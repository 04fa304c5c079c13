"""Databases that are legal, and odd: what cannot be captured is named, a loss is an error, and writes continue."""

# ruff: noqa: F811 - fixtures of another file

import contextlib
import json

import psycopg2
import pytest

from integrator.channel.databases import PostgresLocation
from integrator.errors import EnvironmentFault, SourceAway
from integrator.sources.postgres import publication
from integrator.sources.postgres.answers import silence_of
from integrator.sources.postgres.catalogue import found
from integrator.sources.postgres.server import Server
from integrator.sources.postgres.slot import Names
from integrator.sources.postgres.source import Postgres
from tests.broker.test_capture_alone import database, server, spooled  # noqa: F401 - fixtures
from tests.parts import postgres
from tests.parts.waiting import until

pytestmark = pytest.mark.skipif(bool(postgres.missing(wal2json=False)), reason=postgres.missing(wal2json=False))


def location(captured, **more):
    return PostgresLocation(**{"class": "postgres", "address": captured.address, **more})


def left_out(captured, **more):
    given = location(captured, **more)
    with Server(captured.address, "test").session() as session:
        return found(session, given).left_out


def keys(captured, table="a"):
    """The keys of rows of a table that were inserted, or were there."""
    lines = [line for _, line in captured.lines() if line.get("table") == table and line["action"] == "I"]
    return [line["new"]["k"] for line in lines]


PARTITIONED = "create table a(k int {key}, v text) partition by range (k); {kind} table a0 partition of a for values from (0) to (10)"
THREE_LEVELS = (
    "create table a(k int, v text) partition by range (k); "
    "create table a0 partition of a for values from (0) to (10) partition by range (k); "
    "create table a00 partition of a0 for values from (0) to (5); "
    "alter table a replica identity full; alter table a00 replica identity full"
)
LEFT_OUT = {
    "a primary key that is checked later": (
        "create table a(k int primary key deferrable)",
        "no primary key and no replica",
    ),
    "the index of the replica identity is dropped": (
        "create table a(k int not null); create unique index i on a(k); alter table a replica identity using index i; drop index i",
        "no primary key and no replica identity",
    ),
    "a generated column in the key": (
        "create table a(k int, g int generated always as (k + 1) stored, primary key (k, g))",
        "one with a generated or a deferrable column",
    ),
    "a partition without identity": (
        PARTITIONED.format(key="", kind="create") + "; alter table a replica identity full",
        "alter table public.a0 replica identity full",
    ),
    "an unlogged partition": (
        PARTITIONED.format(key="primary key", kind="create unlogged"),
        "has partitions that are unlogged, whose changes are in no log: public.a0",
    ),
    "a partition of another server": (
        "create foreign data wrapper w; create server s foreign data wrapper w; "
        + PARTITIONED.format(key="", kind="create foreign")
        + " server s; alter table a replica identity full",
        "has partitions that are foreign",
    ),
    "no columns": ("create table a(); alter table a replica identity full", "has no columns"),
}


@pytest.mark.parametrize("what", LEFT_OUT)
def test_a_table_that_cannot_be_captured_is_left_out_and_its_writes_continue(what, database, spooled):
    create, reason = LEFT_OUT[what]
    database(create + "; create table b(k int primary key)")
    assert reason in left_out(spooled)["public.a"]
    spooled.catch_up()
    if what not in {"no columns", "a partition of another server"}:
        database("insert into a values (1); update a set k = 2")
    database("insert into b values (1)")
    spooled.catch_up()
    assert (keys(spooled), keys(spooled, "b")) == ([], ["1"])


def test_partitions_that_have_no_rows_need_no_identity(database, spooled):
    database(THREE_LEVELS)
    assert not left_out(spooled)
    spooled.catch_up()
    database("insert into a values (1, 'x'); update a set v = 'y'")
    spooled.catch_up()
    assert keys(spooled) == ["1"]


def test_tables_that_inherit_are_not_published_with_their_parent(database, spooled):
    """They may have no key, and the database would refuse their updates."""
    database("create table a(k int primary key); create table heir() inherits (a); insert into heir values (1)")
    spooled.catch_up()
    database("update heir set k = 2; insert into a values (3)")
    spooled.catch_up()
    assert keys(spooled) == ["3"]
    assert "no primary key" in left_out(spooled)["public.heir"]


def test_a_schema_that_our_user_may_not_use_is_named(server, database, spooled, name):
    database(f"create role u_{name} login; create schema hidden; create table hidden.a(k int primary key)")
    database(f"grant select on hidden.a to u_{name}")
    spooled.address += f"?user=u_{name}"
    assert f'grant usage on schema "hidden" to "u_{name}"' in left_out(spooled)["hidden.a"]
    database(f"drop owned by u_{name}; drop role u_{name}")


IDENTITIES = {
    "the table's is full": ("replica identity full", "", "replica identity full"),
    "a partition's is full": ("replica identity default", "replica identity full", "replica identity default"),
    "a partition's is another index": ("replica identity default", "replica identity using index u", "using index"),
}


@pytest.mark.parametrize("case", IDENTITIES)
def test_a_partition_of_another_replica_identity_has_its_table_left_out(case, database, spooled):
    """The log has old rows by the partition's columns, and says that they are those of the table."""
    of_table, of_partition, remedy = IDENTITIES[case]
    database("create table r(id int primary key, v int not null) partition by range (id)")
    database("create table r1 partition of r for values from (0) to (9); create unique index u on r1 (v)")
    database(f"alter table r {of_table}")
    if of_partition:
        database(f"alter table r1 {of_partition}")
    assert remedy in left_out(spooled)["public.r"]
    database("alter table r replica identity full; alter table r1 replica identity full")
    assert "public.r" not in left_out(spooled)


def test_a_publication_has_any_name(database, spooled, name):
    spooled.names = Names("публ 'ü\"", f"s_{name}")
    database("create table a(k int primary key); insert into a values (1)")
    spooled.catch_up()
    database("insert into a values (2)")
    spooled.catch_up()
    assert keys(spooled) == ["1", "2"]


def test_a_table_that_loses_all_its_columns_stops_no_other(database, spooled):
    """Its rows have no values then; once it has columns again, all of them are read."""
    database("create table a(k int primary key); create table b(k int primary key)")
    database("alter table a replica identity full; insert into a values (1)")
    spooled.catch_up()
    database("alter table a drop column k; insert into a default values; insert into b values (1)")
    spooled.catch_up()
    assert keys(spooled, "b") == ["1"]
    database("alter table a add column k serial primary key; insert into b values (2)")
    spooled.catch_up()
    assert keys(spooled, "b") == ["1", "2"]
    spooled.catch_up()
    assert keys(spooled)[-2:] == ["1", "2"]


def test_the_server_may_say_nothing_for_as_long_as_we_may(server, database, spooled):
    database("alter system set wal_sender_timeout = '5min'; select pg_reload_conf()")
    try:
        until(lambda: _silence(spooled) == 300.0)
        database("alter system set wal_sender_timeout = 0; select pg_reload_conf()")
        until(lambda: _silence(spooled) == 3600.0)
    finally:
        database("alter system reset wal_sender_timeout; select pg_reload_conf()")
    until(lambda: _silence(spooled) == 60.0)


def _silence(spooled):
    with Server(spooled.address, "test").session() as session:
        return silence_of(session)


def test_settings_of_a_database_change_nothing(server, database, spooled, name):
    """Neither which tables are found nor whether a long snapshot ends."""
    database("create schema pgboss; create table pgboss.a(k int primary key); insert into pgboss.a values (1)")
    database(f"alter database {name} set standard_conforming_strings = off")
    if int(database("show server_version_num")) >= 170000:
        database(f"alter database {name} set transaction_timeout = '1ms'")

    def caught_up():
        with contextlib.suppress(SourceAway):  # on a slow machine the statement that lifts the limit takes longer
            spooled.catch_up()
            return True
        return False

    until(caught_up)
    assert keys(spooled) == ["1"]


def test_no_query_of_a_capture_is_compiled(database, spooled, name):
    """The shapes of 200 tables took 1.2 s with it, and 0.1 s without, every ten seconds."""
    database(f"alter database {name} set jit = on; alter database {name} set jit_above_cost = 0")
    with Server(spooled.address, "test").session() as session:
        assert session.rows("show jit") == [("off",)]


@pytest.mark.parametrize("what", ["a table", "all of it"])
def test_changes_that_were_not_published_are_said(what, database, spooled):
    """Their rows are in neither the log nor a snapshot."""
    database("create table a(k int primary key); create table b(k int primary key); insert into a values (1)")
    spooled.catch_up()
    changed = f"alter publication {spooled.names.publication} drop table a"
    database(changed if what == "a table" else f"drop publication {spooled.names.publication}")
    database("insert into a values (2)")
    with pytest.raises(
        EnvironmentFault, match=r"changes of public\.a.* since then are not sent by the server"
    ) as raised:
        spooled.catch_up()
    if what == "a table":
        remedy = str(raised.value).rpartition("run: ")[2]
        assert remedy == f'alter publication "{spooled.names.publication}" add table "public"."a"'
        database(f"{remedy}; insert into a values (3)")
        spooled.catch_up()
        assert keys(spooled) == ["1", "3"]


def test_generated_columns_that_are_published_are_refused(database, spooled):
    if int(database("show server_version_num")) < 180000:
        pytest.skip("PostgreSQL 18 publishes generated columns")
    database("create table a(k int primary key, g int generated always as (k + 1) stored)")
    name = spooled.names.publication
    database(
        f"create publication {name} for table a with (publish_generated_columns = stored, publish_via_partition_root)"
    )
    with pytest.raises(EnvironmentFault, match="publishes generated columns") as raised:
        spooled.catch_up()
    database(f"alter publication {name} set {str(raised.value).rpartition(' set ')[2]}")
    spooled.catch_up()


def test_a_new_table_that_is_locked_does_not_hold_up_the_others(database, spooled, server, name, monkeypatch):
    monkeypatch.setattr(publication, "_LOCKED_MS", 50)
    database("create table a(k int primary key)")
    spooled.catch_up()
    database("create table n(k int primary key); create table m(k int primary key); insert into n values (1)")
    with psycopg2.connect(server.address(name)) as connection, connection.cursor() as cursor:
        cursor.execute("lock table n in share mode")
        database("insert into a values (1); insert into m values (1)")
        spooled.catch_up()
        assert (keys(spooled), keys(spooled, "m"), keys(spooled, "n")) == (["1"], ["1"], [])
    spooled.catch_up()
    assert keys(spooled, "n") == ["1"]


def test_a_table_that_is_renamed_is_left_out_and_the_one_in_its_place_is_captured(database, spooled):
    """As its changes before are not; and it is read again when it has its name again."""
    database("create table a(k int primary key); insert into a values (1)")
    spooled.catch_up(tables=["public.a"])
    database("insert into a values (2); alter table a rename to former; insert into former values (3)")
    database("create table a(k int primary key); insert into a values (4)")
    spooled.catch_up(tables=["public.a"])
    database("insert into a values (5); insert into former values (6)")
    spooled.catch_up(tables=["public.a"])
    assert keys(spooled) == ["1", "2", "4", "5"]
    assert keys(spooled, "former") == []
    database("drop table a; alter table former rename to a; insert into a values (7)")
    spooled.catch_up(tables=["public.a"])
    database("insert into a values (8)")
    spooled.catch_up(tables=["public.a"])
    assert sorted(keys(spooled)[4:]) == ["1", "2", "3", "6", "7", "8"]


@pytest.mark.parametrize("how", ["exclude", "unlogged"])
def test_a_table_that_is_not_captured_for_a_time_is_read_again(how, database, spooled):
    if how == "unlogged":
        database(f"create publication {spooled.names.publication} for all tables with (publish_via_partition_root)")
    database("create table a(k int primary key); insert into a values (1); create table b(k int primary key)")
    spooled.catch_up()
    if how == "unlogged":  # which only a publication of all tables allows
        database("alter table a set unlogged")
    database("insert into a values (2); insert into b values (1)")
    spooled.catch_up(exclude=["a"] if how == "exclude" else [])
    assert (keys(spooled), keys(spooled, "b")) == (["1"], ["1"])
    if how == "unlogged":
        database("alter table a set logged")
    spooled.catch_up()
    assert keys(spooled) == ["1", "1", "2"]


def test_types_of_extensions_and_of_the_catalogue_are_text(database, spooled):
    database(
        "create extension cube; create type pair as (x int, y text); create table other(k int primary key, t text)"
    )
    database(
        "create domain wrapped as other; create table a(k int primary key, c cube, i information_schema.yes_or_no, w wrapped)"
    )
    source = Postgres(location=location(spooled, tables=["a"]), channel="test").defines()
    [table] = source.tables()
    assert {column.name: type(column.type).__name__ for column in table.columns} == {
        "k": "Integer",
        "c": "String",
        "i": "String",
        "w": "String",
    }
    database("insert into a values (1, '(1,2)', 'YES', '(1,x)')")
    spooled.catch_up(tables=["a"])
    [line] = [line for _, line in spooled.lines() if line["action"] == "I"]
    assert json.dumps(line["new"]) == '{"k": "1", "c": "(1, 2)", "i": "YES", "w": "(1,x)"}'
