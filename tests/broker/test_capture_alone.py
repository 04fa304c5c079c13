"""What a capture writes into its spool while it is interrupted anywhere: each change once, and all rows (I9).

A real PostgreSQL; neither Kafka nor Spark.
"""

import contextlib
import json
import random
import threading
import time
from collections import Counter
from dataclasses import replace

import psycopg2
import pytest
from structlog.testing import capture_logs

from integrator.channel.databases import PostgresLocation
from integrator.decode.encodings.pgoutput import records_of, relations_in
from integrator.decode.lines.reading import LineReading
from integrator.errors import DataError, EnvironmentFault, SourceAway
from integrator.sources.capture import record as records
from integrator.sources.capture import stream as shared
from integrator.sources.capture.frames import FRAMES, standing_in
from integrator.sources.postgres import answers, replication
from integrator.sources.postgres import snapshot as snapshots
from integrator.sources.postgres import stream as streams
from integrator.sources.postgres.catalogue import found
from integrator.sources.postgres.server import Server, lsn_of
from integrator.sources.postgres.slot import Names
from integrator.sources.postgres.source import Postgres
from integrator.sources.spool import Spool, Writer, sealed_in
from tests.parts import postgres
from tests.parts.disks import enlarge, small_disk
from tests.parts.spooled import Crash, fragile, json_of, lines_in, rebuilt, transactions
from tests.parts.waiting import until

pytestmark = pytest.mark.skipif(bool(postgres.missing(wal2json=False)), reason=postgres.missing(wal2json=False))


def crash(*_args):
    raise Crash


@pytest.fixture(scope="module", params=["of this machine", "of PyPI"])
def server(request):
    """Debian's, 15 or newer; and the package's, 18."""
    with contextlib.ExitStack() as stack:
        found = stack.enter_context(postgres.from_pypi()) if request.param == "of PyPI" else None
        yield stack.enter_context(postgres.cluster(found=found))


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch):
    """Blocks of frames end anywhere, and some messages are larger than one."""
    monkeypatch.setattr(replication, "ROOM_BYTES", 4_000)


class Spooled:
    """A capture into a directory, opened anew each time, as after a crash."""

    def __init__(self, server, directory, name):
        self.address, self.directory, self.names = server.address(name), directory, Names(f"p_{name}", f"s_{name}")
        self._server = server

    def capture(self, spool, **more):
        location = PostgresLocation(**{"class": "postgres", "address": self.address, **more})
        return streams.Captures(location, Server(self.address, "test"), self.names).capture(spool, "test")

    def catch_up(self, **more):
        active = f"select count(*) from pg_replication_slots where slot_name = '{self.names.slot}' and active"
        until(lambda: self._server.psql(active).strip() == "0")  # the server notices later that a connection is gone
        spool = Spool(self.directory, framing=FRAMES)
        try:
            self.capture(spool, **more).catch_up()
        finally:
            spool.close()

    def lines(self):
        yield from lines_in(self.directory)


@pytest.fixture
def database(server, name):
    server.psql(f"create database {name}")
    yield lambda sql: server.psql(sql, name)
    of_slot = f"from pg_replication_slots where slot_name = 's_{name}'"

    def dropped():  # the server may not have noticed yet that the capture is gone
        server.psql(f"select pg_drop_replication_slot(slot_name) {of_slot} and not active")
        return server.psql(f"select count(*) {of_slot}").strip() == "0"

    until(dropped)
    server.psql(f"drop database {name} with (force)")


@pytest.fixture
def spooled(server, database, tmp_path, name):
    return Spooled(server, tmp_path / "spool", name)


def rows(database, table):
    return {
        row["k"]: row
        for row in map(
            json.loads, database(f"select json_build_object('k', k::text, 'v', v::text) from {table}").splitlines()
        )
    }


@pytest.mark.parametrize("seed", range(3))
def test_i9_whatever_is_broken_off_each_change_is_in_the_spool_once(seed, database, spooled, monkeypatch):
    """A crash before or after a segment is written, sealed, or confirmed; in snapshots, too, whose rows may come again."""
    draw = random.Random(seed)
    monkeypatch.setattr(shared, "SEGMENT_BYTES", 2_000)
    monkeypatch.setattr(snapshots, "_FRAME_BYTES", 20_000)
    database("create table a(k int primary key, v text); create table b(k int primary key, v text)")
    for table in "ab":
        database(f"insert into {table} select g, repeat('x', g % 50) from generate_series(1, 8000) g")
    crashing = [True]

    for owner, name, chance in ((Writer, "write", 0.04), (Writer, "seal", 0.04), (streams.Stream, "_confirm", 0.1)):
        monkeypatch.setattr(owner, name, fragile(getattr(owner, name), chance, draw, crashing))
    crashes = 0

    def catch_up():
        nonlocal crashes
        for _ in range(300):
            try:
                spooled.catch_up()
            except Crash:  # in a snapshot, rows that are there already are deleted before it is read again
                crashes += 1
                database(f"delete from a where k < {crashes * 200}; update b set v = 'after {crashes}' where k < 50")
            except SourceAway:  # the server has not noticed yet that the connection of the one before is gone
                time.sleep(0.1)
            else:
                return
        raise AssertionError(f"{crashes} crashes, and no end")

    catch_up()
    for number in range(6):
        first = 50_000 + number * 1000
        database(
            f"begin; insert into a select g, 'new' from generate_series({first}, {first} + 500) g; "
            f"update b set v = 'v{number}' where k between {number * 100} and {number * 100 + 99}; commit; "
            f"delete from a where k = {first + 1}; update b set k = -k where k = {number + 1}; begin; delete from b; rollback"
        )
        if number == 3:
            database(
                "truncate a; create table c(k int primary key, v text); insert into c select g, 'c' from generate_series(1, 3000) g"
            )
        catch_up()
        if number == 3:
            database("delete from c where k < 10")
    crashing[0] = False
    spooled.catch_up()
    lines = list(spooled.lines())
    assert crashes > 3
    positions = [position for position, _ in lines]
    assert positions == sorted(set(positions)), "twice, or out of order"
    marks = transactions(spooled.directory)
    assert marks == sorted(set(marks)), "a transaction begins twice"
    made = rebuilt(lines)
    for table in "abc":
        assert made[table] == rows(database, table)


def test_a_transaction_of_many_segments_is_whole(database, spooled, monkeypatch):
    monkeypatch.setattr(shared, "SEGMENT_BYTES", 10_000)
    database("create table a(k int primary key, v text)")
    spooled.catch_up()
    database("insert into a select g, 'row ' || g from generate_series(1, 20000) g")
    spooled.catch_up()
    assert len(sealed_in(spooled.directory)) > 20
    assert [line["new"]["k"] for _, line in spooled.lines()] == [str(number) for number in range(1, 20001)]


def test_logical_messages_are_there_to_be_counted(database, spooled):
    database("create table a(k int primary key, v text)")
    spooled.catch_up()
    database("begin; select pg_logical_emit_message(true, 'app', 'hello'); insert into a values (1, 'x'); commit")
    spooled.catch_up()
    actions = [line["action"] for _, line in spooled.lines()]
    assert actions.count("I") == 1
    assert "M" in actions


def test_a_quiet_table_in_a_busy_database_keeps_no_log(database, spooled, server, name):
    """What has no changes of ours is confirmed: a channel that is there for months does not fill the database's disk."""
    database("create table a(k int primary key, v text); create table busy(k int primary key, v text)")
    spooled.catch_up(tables=["a"])

    def kept():
        database("checkpoint")
        return int(
            database(
                f"select pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn) from pg_replication_slots where slot_name = 's_{name}'"
            )
        )

    database("insert into busy select g, repeat('x', 1000) from generate_series(1, 20000) g")
    before = kept()
    spooled.catch_up(tables=["a"])
    assert before > 20_000_000
    assert kept() < before / 10


def test_the_log_that_the_slot_keeps_can_be_asked_for(database, spooled, server):
    database("create table a(k int primary key, v text)")
    source = Postgres(PostgresLocation(**{"class": "postgres", "address": spooled.address, "slot": spooled.names.slot}))
    assert source.server_log() is None
    spooled.catch_up()
    until(lambda: source.server_log().transactions == 0)  # the server ends sessions when it finds them closed
    before = source.server_log()
    with contextlib.closing(psycopg2.connect(spooled.address)) as connection, connection.cursor() as cursor:
        cursor.execute("insert into a select g, repeat('x', 100) from generate_series(1, 20000) g")
        open_one = source.server_log()
        connection.commit()
    until(lambda: source.server_log().behind_bytes > before.behind_bytes + 500_000)  # it is written soon, not at once
    kept = source.server_log()
    assert (before.transactions, open_one.transactions, kept.transactions) == (0, 1, 0)
    assert open_one.oldest_s > 0
    assert (before.behind_s, before.oldest_s) == (None, None)  # nothing is connected, and nothing is open
    assert kept.kept_bytes >= kept.behind_bytes
    assert (kept.status, kept.left_bytes) == ("reserved", None)
    spooled.catch_up()
    after = source.server_log()
    assert after.behind_bytes < 100_000
    assert lsn_of(after.position) > lsn_of(kept.position)


def test_a_snapshot_that_is_not_wanted(database, spooled):
    database("create table a(k int primary key, v text); insert into a values (1, 'there')")
    spooled.catch_up(snapshot="never")
    database("insert into a values (2, 'new')")
    spooled.catch_up(snapshot="never")
    assert [line["new"]["k"] for _, line in spooled.lines() if line["action"] == "I"] == ["2"]


def test_a_table_that_is_new_does_not_hold_up_the_others(server, database, name, tmp_path, monkeypatch):
    """A place for its rows is after all transactions that are open: the log continues meanwhile."""
    monkeypatch.setattr(snapshots, "_LATER_S", 0.3)
    monkeypatch.setattr(streams, "_TABLES_S", 0.5)
    database("create table a(k int primary key, v text)")
    spooled = Spooled(server, tmp_path / "spool", name)
    spool = Spool(spooled.directory, framing=FRAMES)
    capture = spooled.capture(spool)

    def inserted(table):
        return [line["new"]["k"] for _, line in spooled.lines() if line["action"] == "I" and line["table"] == table]

    with psycopg2.connect(server.address(name)) as connection, connection.cursor() as cursor, capture_logs() as logs:
        capture.start()
        until(lambda: any(one["event"] == "capture begins" for one in logs))
        cursor.execute("insert into a values (1, 'open')")
        database("create table b(k int primary key, v text); insert into b values (1, 'there')")
        until(lambda: any("the rows of tables wait" in one["event"] for one in logs))
        for key in range(2, 5):
            database(f"insert into a values ({key}, 'x'); update b set v = 'of {key}'")
            until(lambda key=key: str(key) in inserted("a"))
        assert inserted("b") == []
        connection.commit()
        until(lambda: inserted("b") == ["1"])
        database("insert into b values (2, 'after')")
        until(lambda: inserted("b") == ["1", "2"])
    capture.close()
    spool.close()
    assert sorted(inserted("a")) == ["1", "2", "3", "4"]
    assert rebuilt(list(spooled.lines()))["b"] == rows(database, "b")


def test_rows_alone(database, spooled, server):
    """No slot and no publication is made; tables that no log could be read of are read, too."""
    database("create table a(k int primary key, v text); insert into a values (1, 'there')")
    database("create unlogged table b(k int, v text); insert into b values (2, 'no log')")
    spooled.catch_up(snapshot="only")
    database("insert into a values (3, 'a change')")
    spooled.catch_up(snapshot="only")
    database("create table c(k int primary key, v text); insert into c values (4, 'came later')")
    spooled.catch_up(snapshot="only")
    assert [line["new"]["k"] for _, line in spooled.lines() if line["action"] == "I"] == ["1", "2", "4"]
    for of in ("pg_replication_slots where slot_name", "pg_publication where pubname"):
        assert server.psql(f"select count(*) from {of} like '%{spooled.names.slot[2:]}'").strip() == "0"
    spooled.catch_up()  # changes are wanted after all: all rows that are there now come before them
    database("delete from a where k = 1")
    spooled.catch_up()
    changes = [line for _, line in spooled.lines() if line["action"] in "ID"]
    found = [(line["action"], line.get("new", line.get("old"))["k"]) for line in changes]
    assert found[3:] == [("I", "1"), ("I", "3"), ("I", "4"), ("D", "1")]
    with pytest.raises(EnvironmentFault, match="would leave out all that follow"):
        spooled.catch_up(snapshot="only")


def test_rows_alone_that_are_broken_off_are_read_on(database, spooled, monkeypatch):
    monkeypatch.setattr(shared, "SEGMENT_BYTES", 100)
    monkeypatch.setattr(snapshots, "_FRAME_BYTES", 1000)
    for table in "abc":
        database(f"create table {table}(k int primary key, v text)")
        database(f"insert into {table} select g, 'row' from generate_series(1, 300) g")
    calls = []

    def breaking(_stream):
        calls.append(1)
        if len(calls) == 6:
            raise Crash

    monkeypatch.setattr(streams.TableRows, "_alive", breaking)
    with pytest.raises(Crash):
        spooled.catch_up(snapshot="only")
    spooled.catch_up(snapshot="only")
    lines = list(spooled.lines())
    positions = [position for position, _ in lines]
    assert positions == sorted(set(positions))
    counts = Counter(line["table"] for _, line in lines if line["action"] == "I")
    assert counts["a"] == 300  # whole before the end, and not read again
    assert 300 < counts["b"] <= 600  # broken off, and read again
    assert counts["c"] == 300


def test_a_table_that_is_new_is_read_though_a_transaction_is_always_open(server, database, name, tmp_path, monkeypatch):
    """Each try waits for those that are open then, of which others have begun meanwhile: it waits for longer each time."""
    monkeypatch.setattr(snapshots, "_LATER_S", 0.1)
    monkeypatch.setattr(snapshots, "_REST", 1)
    monkeypatch.setattr(streams, "_TABLES_S", 0.2)
    database("create table a(k serial primary key, v text)")
    spooled = Spooled(server, tmp_path / "spool", name)
    spool = Spool(spooled.directory, framing=FRAMES)
    capture, ending = spooled.capture(spool), threading.Event()

    def write(first_s):
        time.sleep(first_s)
        while not ending.is_set():
            database("begin; insert into a(v) values ('x'); select pg_sleep(1); commit")

    capture.start()
    writers = [threading.Thread(target=write, args=(first_s,)) for first_s in (0, 0.5)]
    for one in writers:
        one.start()
    try:
        until(lambda: any(line["table"] == "a" for _, line in spooled.lines()))
        database("create table b(k int primary key, v text); insert into b values (1, 'there')")
        until(lambda: any(line["table"] == "b" for _, line in spooled.lines()))
    finally:
        ending.set()
        for one in writers:
            one.join()
        capture.close()
        spool.close()


def test_without_a_free_slot_changes_continue_and_a_table_that_is_new_waits(
    server, database, name, tmp_path, monkeypatch
):
    monkeypatch.setattr(snapshots, "_LIMITED_S", 0.5)
    monkeypatch.setattr(streams, "_TABLES_S", 0.2)
    database("create table a(k int primary key); insert into a values (0)")
    spooled = Spooled(server, tmp_path / "spool", name)
    spool = Spool(spooled.directory, framing=FRAMES)
    capture = spooled.capture(spool)
    free = "(select current_setting('max_replication_slots')::int - count(*) from pg_replication_slots)"
    came = lambda table: [line["new"]["k"] for _, line in spooled.lines() if line["table"] == table]  # noqa: E731
    capture.start()
    try:
        until(lambda: came("a") == ["0"])
        until(lambda: "snapshot" not in database("select string_agg(slot_name, ' ') from pg_replication_slots"))
        database(f"select pg_create_physical_replication_slot('{name}_' || n) from generate_series(1, {free}) n")
        with capture_logs() as logs:
            database("create table b(k int primary key); insert into b values (1)")
            until(lambda: any("the rows of tables wait" in one["event"] for one in logs))
        assert "max_replication_slots" in next(one["reason"] for one in logs if "reason" in one)
        for number in range(1, 4):
            database(f"insert into a values ({number})")
            until(lambda: came("a")[-1] == str(number))  # noqa: B023 - called here
        assert not came("b")
        database(f"select pg_drop_replication_slot('{name}_1')")
        until(lambda: came("b") == ["1"])
    finally:
        capture.close()
        spool.close()
        database(
            f"select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name like '{name}\\_%'"
        )


@pytest.mark.parametrize("snapshot", ["initial", "never"])
@pytest.mark.parametrize("dropped", [False, True])
def test_changes_after_rows_alone_that_were_broken_off(snapshot, dropped, database, spooled, monkeypatch):
    """A transaction without an end would be one that does not come to its end, and changes would be gone."""
    with monkeypatch.context() as patched:
        patched.setattr(shared, "SEGMENT_BYTES", 100)
        patched.setattr(snapshots, "_FRAME_BYTES", 1000)
        patched.setattr(streams.TableRows, "_alive", crash)
        database("create table a(k int primary key, v text)")
        database("insert into a select g, 'row' from generate_series(1, 300) g")
        with pytest.raises(Crash):
            spooled.catch_up(snapshot="only")
    database("drop table a; create table a(k int primary key, v text)" if dropped else "select 1")
    spooled.catch_up(snapshot=snapshot)
    database("insert into a values (1000, 'new')")
    spooled.catch_up(snapshot=snapshot)
    lines = list(spooled.lines())
    positions = [position for position, _ in lines]
    assert positions == sorted(set(positions))
    assert lines[-1][1]["new"]["k"] == "1000"
    assert not standing_in(spooled.directory).is_open
    if snapshot == "initial":
        assert rebuilt(lines)["a"].keys() >= rows(database, "a").keys()


def test_rows_that_policies_hide_are_not_left_out_one_by_one(database, server, name, tmp_path):
    """A table that has policies for our user is left out, and a query of one is an error: it would lack rows."""
    database(f"create role u_{name} login; create table a(k int primary key); create table b(k int primary key)")
    database(f"grant select on a, b to u_{name}; insert into a select generate_series(1, 9); insert into b values (1)")
    database("alter table a enable row level security; create policy even on a using (k % 2 = 0)")
    spooled = Spooled(server, tmp_path / "spool", name)
    spooled.address += f"?user=u_{name}"
    location = PostgresLocation(**{"class": "postgres", "address": spooled.address})
    with Server(spooled.address, "test").session() as session:
        there = found(session, location)
        assert [one.name for one in there.tables] == ["public.b"]
        assert f'alter role "u_{name}" bypassrls' in there.left_out["public.a"]
        with pytest.raises(EnvironmentFault, match='row-level security policy for table "a"'):
            session.rows("select * from a")
    database(f"alter role u_{name} bypassrls")
    spooled.catch_up(snapshot="only")
    assert len([line for _, line in spooled.lines() if line.get("table") == "a"]) == 9
    database(f"drop owned by u_{name}; drop role u_{name}")


def test_the_timeline_is_recorded_at_each_start(database, spooled, monkeypatch):
    """A state that does not know it yet, or of before a promotion, learns it though nothing is captured."""
    database("create table a(k int primary key)")
    spooled.catch_up()
    before = records.read(spooled.directory)
    replace(before, timeline=0).write(spooled.directory)
    monkeypatch.setattr(streams.Stream, "_receive", crash)
    with pytest.raises(Crash):
        spooled.catch_up()
    assert records.read(spooled.directory).timeline == before.timeline > 0


def test_i9_a_log_that_is_not_flushed_as_far_as_was_noted_continues(database, spooled):
    """What may have been confirmed is a bound: nothing of ours is there, and a crash takes what was not flushed."""
    database("create table a(k int primary key); insert into a values (1)")
    spooled.catch_up()
    before = records.read(spooled.directory)
    replace(before, confirmed=before.confirmed + 1_000_000).write(spooled.directory)
    database("insert into a values (2)")
    spooled.catch_up()
    assert [line["new"]["k"] for _, line in spooled.lines()] == ["1", "2"]


def test_a_slot_that_is_there_is_not_ours_because_rows_alone_were_read(database, spooled, server):
    database("create table a(k int primary key, v text); insert into a values (1, 'there')")
    slot = spooled.names.slot
    server.psql(f"select pg_create_logical_replication_slot('{slot}', 'pgoutput')", spooled.address.rpartition("/")[2])
    before = server.psql(f"select restart_lsn from pg_replication_slots where slot_name = '{slot}'")
    spooled.catch_up(snapshot="only")
    with pytest.raises(EnvironmentFault, match="the channel's state knows nothing of it"):
        spooled.catch_up()
    assert server.psql(f"select restart_lsn from pg_replication_slots where slot_name = '{slot}'") == before


def test_a_database_in_another_encoding(server, tmp_path, name):
    server.psql(f"create database {name} encoding 'LATIN1' template template0 locale 'C'")
    spooled = Spooled(server, tmp_path / "spool", name)
    with psycopg2.connect(server.address(name)) as connection, connection.cursor() as cursor:
        connection.set_client_encoding("UTF8")
        cursor.execute("create table a(k int primary key, v text); insert into a values (1, 'Zürich')")
    spooled.catch_up()
    with psycopg2.connect(server.address(name)) as connection, connection.cursor() as cursor:
        connection.set_client_encoding("UTF8")
        cursor.execute("insert into a values (2, 'Köln ß')")
    spooled.catch_up()
    assert [line["new"]["v"] for _, line in spooled.lines() if line["action"] == "I"] == ["Zürich", "Köln ß"]
    server.psql(f"select pg_drop_replication_slot('s_{name}')")
    server.psql(f"drop database {name} with (force)")


def test_a_database_without_an_encoding(server, tmp_path, name):
    """Its text may be any bytes: what is not UTF-8 is named, or rejected; the rest is sent."""
    server.psql(f"create database {name} encoding 'SQL_ASCII' template template0 locale 'C'")
    spooled = Spooled(server, tmp_path / "spool", name)
    server.psql(r"create table a(k int primary key, v text); insert into a values (1, 'é'), (2, E'caf\351')", name)
    spooled.catch_up()
    server.psql(r"insert into a values (3, 'é'), (4, E'caf\351'), (5, 'e')", name)
    spooled.catch_up()
    sent, rejected = [], []
    for path in sealed_in(spooled.directory):
        data = path.read_bytes()
        for block in records_of(str(path), data, relations_in(data), LineReading(tolerant=True)):
            sent += json_of(block)
            rejected += block.rejected
        if b"caf" in data:
            with pytest.raises(
                DataError, match=r"\.frames:\d+: not UTF-8: byte \d+ of the line is b'\\xe9'; .*SQL_ASCII"
            ):
                list(records_of(str(path), data, relations_in(data), LineReading()))
    assert [line["new"]["k"] for line in sent if line["action"] == "I"] == ["1", "3", "5"]
    assert len(rejected) == 2
    server.psql(f"select pg_drop_replication_slot('s_{name}')")
    server.psql(f"drop database {name} with (force)")


@pytest.mark.parametrize("snapshot", ["initial", "never"])
def test_a_publication_of_all_tables_has_others_that_are_left_out(snapshot, database, spooled):
    """A table that comes later has all of its changes, however soon they come."""
    database("create table a(k int primary key, v text); create table other(k int); create table a_keyless(k int)")
    database(f"create publication {spooled.names.publication} for all tables")
    spooled.catch_up(tables=["a*"], snapshot=snapshot)
    database("insert into a values (1, 'x'); insert into other values (1); insert into a_keyless values (1)")
    database("create table a_late(k int primary key, v text); insert into a_late values (1, 'soon'); truncate other, a")
    spooled.catch_up(tables=["a*"], snapshot=snapshot)
    found = [(line["action"], line["table"]) for _, line in spooled.lines() if line["action"] in "IT"]
    assert sorted(found) == [("I", "a"), ("I", "a_late"), ("T", "a")]


def test_rows_that_are_deleted_before_a_broken_snapshot_is_read_again(database, spooled, monkeypatch):
    """They were in the spool already: their deletes must follow, though the next reading does not have them."""
    monkeypatch.setattr(shared, "SEGMENT_BYTES", 100)
    monkeypatch.setattr(snapshots, "_FRAME_BYTES", 1000)
    database("create table a(k int primary key, v text); insert into a select g, 'row' from generate_series(1, 1000) g")
    calls = []

    def breaking(_stream):
        calls.append(1)
        if len(calls) == 3:
            raise Crash

    monkeypatch.setattr(streams.Stream, "_alive", breaking)
    with pytest.raises(Crash):
        spooled.catch_up()
    assert 0 < len([line for _, line in spooled.lines() if line["action"] == "I"]) < 1000
    database("delete from a where k <= 5; update a set v = 'other' where k = 6; insert into a values (2000, 'new')")
    spooled.catch_up()
    lines = list(spooled.lines())
    positions = [position for position, _ in lines]
    assert positions == sorted(set(positions))
    assert rebuilt(lines)["a"] == rows(database, "a")


SETTINGS = {"timezone": "Asia/Tokyo", "IntervalStyle": "postgres_verbose", "bytea_output": "escape"}


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_pooler_that_does_not_hand_on_our_settings_is_refused(setting, server, database, name, monkeypatch):
    """As PgBouncer with `ignore_startup_parameters = options`: values would be written in the database's own styles."""
    database(f"alter database {name} set {setting} = '{SETTINGS[setting]}'")
    real = psycopg2.connect

    def pooled(**given):
        return real(**{word: value for word, value in given.items() if word != "options"})

    Server(server.address(name), "test").session().close()
    monkeypatch.setattr(psycopg2, "connect", pooled)
    with pytest.raises(
        EnvironmentFault, match=rf"(?i)have our settings \({setting}.*a connection pooler is in between"
    ):
        Server(server.address(name), "test").session()


def test_variables_of_libpq_are_named_where_they_are_in_the_way(server, name, monkeypatch):
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    Server(f"{server.dsn}?client_encoding=LATIN1", "test").session().close()
    monkeypatch.setenv("PGTZ", "Europe/Berlin")
    with pytest.raises(EnvironmentFault, match=r"\(TimeZone\), .* PGTZ in the environment may be why: unset it"):
        Server(server.dsn, "test").session()


PUBLICATIONS = [
    ("for table a with (publish = 'insert')", "does not publish all changes; .* set \\(publish = 'insert, update"),
    (
        "for table a (k) with (publish_via_partition_root = true)",
        'only some columns of public.a: .* drop table "public"."a"; .* add table',
    ),
    ("for table a where (k > 1) with (publish_via_partition_root = true)", "only some rows of public.a"),
    ("for table p with (publish_via_partition_root = false)", "set \\(publish_via_partition_root = true\\)"),
]


@pytest.mark.parametrize(("publication", "remedy"), PUBLICATIONS)
def test_a_publication_that_lacks_changes_is_refused(publication, remedy, server, name, tmp_path):
    """Else they would be missing, and nobody would know."""
    server.psql(f"create database {name}")
    spooled = Spooled(server, tmp_path / "spool", name)
    tables = "create table a(k int primary key); create table p(k int primary key) partition by range (k)"
    server.psql(f"{tables}; create publication {spooled.names.publication} {publication}", name)
    with pytest.raises(EnvironmentFault, match=remedy):
        spooled.catch_up()
    server.psql(f"drop database {name} with (force)")


def test_a_column_that_comes_while_a_snapshot_waits_for_its_place_has_its_values(database, spooled, monkeypatch):
    database("create table a(k int primary key); insert into a values (1)")
    real = snapshots.SlotPoints.first

    def later(self):
        database("alter table a add column v text default 'of all rows'")
        return real(self)

    monkeypatch.setattr(snapshots.SlotPoints, "first", later)
    spooled.catch_up()
    assert rebuilt(spooled.lines())["a"] == rows(database, "a")


@contextlib.contextmanager
def capturing(spooled, directory, **more):
    """A capture in its thread, its spool, and what it logs."""
    spool = Spool(directory, framing=FRAMES)
    with capture_logs() as logged:
        capture = spooled.capture(spool, **more)
        capture.start()
        try:
            yield spool, logged
        finally:
            capture.close()
            spool.close()


def each_once(spooled, database, table):
    lines = list(spooled.lines())
    positions = [position for position, _ in lines]
    assert positions == sorted(set(positions)), "twice, or out of order"
    return rebuilt(lines).get(table) == rows(database, table)


MANY = "insert into a select g, repeat('x', 100) from generate_series(1, 50000) g"


def test_a_full_spool_is_said_with_what_the_slot_keeps_and_the_connection_stays(database, spooled, monkeypatch, name):
    """The server would cut off a client that does not answer while it waits for room."""
    monkeypatch.setattr(shared, "SEGMENT_BYTES", 100_000)
    monkeypatch.setattr(answers, "_ALIVE_S", 0.2)
    database("create table a(k int primary key, v text)")
    spooled.catch_up()
    spooled.address += "?options=-c%20wal_sender_timeout%3D4s"

    def process():
        return database(f"select active_pid from pg_replication_slots where slot_name = 's_{name}'")

    with capturing(spooled, spooled.directory, spool_bytes=1024 * 1024) as (spool, logged):
        database(MANY)
        until(lambda: [one for one in logged if one["event"].startswith("the spool is full")])
        [full] = [one for one in logged if one["event"].startswith("the spool is full")]
        assert full["waiting_bytes"] < 1_500_000
        assert full["log_kept_bytes"] > 1_000_000
        assert full["wal_status"] == "reserved"
        before = process()
        time.sleep(6)
        assert process() == before
        assert spool.waiting_bytes < 1_500_000

        def is_whole():
            spool.synced([path.name for path in sealed_in(spooled.directory)])
            return each_once(spooled, database, "a")

        until(is_whole)
    assert not [one for one in logged if one["log_level"] == "error"]


def test_a_full_disk_of_the_spool_is_said_and_the_capture_continues_when_there_is_room(
    database, spooled, monkeypatch, tmp_path
):
    monkeypatch.setattr(shared, "SEGMENT_BYTES", 100_000)
    database("create table a(k int primary key, v text)")
    with small_disk(tmp_path / "disk", 2):
        spooled.directory = tmp_path / "disk" / "spool"
        spooled.catch_up()
        with capturing(spooled, spooled.directory) as (_, logged):
            database(MANY)
            until(lambda: [one for one in logged if "the spool cannot be written" in one["event"]])
            assert "No space left on device" in logged[-1]["reason"]
            enlarge(tmp_path / "disk", 64)
            until(lambda: each_once(spooled, database, "a"))


ADDRESSES = {"quiet": "", "asked by the server all the time": "?options=-c%20wal_sender_timeout%3D200ms"}


@pytest.mark.parametrize("words", ADDRESSES.values(), ids=ADDRESSES)
def test_a_server_that_is_restarted_is_the_same_one(words, server, database, spooled):
    """The client answers a server that stops, or that has not heard of it, and confirms what nobody asked it to.

    Such a position is past the last change here, and is not somebody else's.
    """
    database("create table a(k int primary key, v text)")
    spooled.address += words
    spooled.catch_up()
    with capturing(spooled, spooled.directory) as (_, logged):
        for number in range(3):
            database(f"insert into a values ({number}, 'x')")
            time.sleep(0.4)
            server.psql(
                f"create table other{number}_{spooled.names.slot}()"
            )  # the log continues without changes of ours
            time.sleep(0.4)
            server.restart()
            database(f"insert into a select g, 'after' from generate_series({number}000 + 10, {number}000 + 500) g")
            until(lambda: each_once(spooled, database, "a"))
    assert not [one for one in logged if one["log_level"] == "error"]


def test_what_nobody_foresaw_is_a_failure_of_the_channel(database, spooled, monkeypatch):
    """Else its thread would be gone, and the channel would continue as if nothing were committed any more."""
    database("create table a(k int primary key)")
    spooled.catch_up()

    def broken(*_given):
        raise ZeroDivisionError

    monkeypatch.setattr(streams.Stream, "_receive", broken)
    spool = Spool(spooled.directory, framing=FRAMES)
    capture = spooled.capture(spool)
    capture.start()
    until(lambda: capture.failure is not None)
    capture.close()
    spool.close()
    assert "ZeroDivisionError" in str(capture.failure)
