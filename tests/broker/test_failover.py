"""A replica that takes the place of the server that was captured: it is continued with, or what is missing is named.

A real MySQL and a real MariaDB, each with replicas; neither Kafka nor Spark. PostgreSQL's are in test_postgres_failover.
"""

import contextlib
import time

import pymysql
import pytest

from integrator.channel.databases import BinlogLocation
from integrator.errors import EnvironmentFault
from integrator.sources.binlog import failover, snapshot
from integrator.sources.binlog import stream as streams
from integrator.sources.binlog.packets import Packets
from integrator.sources.binlog.server import Server
from integrator.sources.capture import pace
from integrator.sources.capture import record as records
from integrator.sources.capture import stream as shared
from integrator.sources.capture.frames import FRAMES, standing_in
from integrator.sources.spool import SPOOL, Spool
from tests.parts import replicas
from tests.parts.spooled import Crash, lines_in, rebuilt
from tests.parts.waiting import until


@pytest.fixture(scope="module", params=replicas.PARTS)
def product(request):
    if lacks := replicas.PARTS[request.param].missing():
        pytest.skip(lacks)
    return request.param


@pytest.fixture
def servers(product):
    """A server, and a replica of it."""
    with contextlib.ExitStack() as stack:
        primary, replica = (stack.enter_context(replicas.server(product, number)) for number in (1, 2))
        replicas.follow(replica, primary)
        primary.sql("create database shop")
        yield primary, replica


class Spooled:
    """A capture of the database `shop` into a directory."""

    def __init__(self, state):
        self.state, self.directory = state, state / SPOOL

    def capture(self, server, spool, place=None, **more):
        address = server.address("shop").replace(
            f"{server.host}:{server.port}", place or f"{server.host}:{server.port}"
        )
        location = BinlogLocation(**{"class": server.product, "address": address, **more})
        return streams.Captures(location, Server(address)).capture(spool, "test")

    def catch_up(self, server, **more):
        spool = Spool(self.directory, framing=FRAMES)
        try:
            self.capture(server, spool, **more).catch_up()
        finally:
            spool.close()

    @property
    def lines(self):
        return list(lines_in(self.directory))

    def keys(self, action="I"):
        return [int(line["new"]["k"]) for _, line in self.lines if line["action"] == action]

    @property
    def record(self):
        return records.read(self.directory)


@pytest.fixture
def spooled(tmp_path):
    return Spooled(tmp_path)


@pytest.fixture
def impatient(monkeypatch):
    """What is not there is not waited for."""
    monkeypatch.setattr(failover, "APPLIES_S", 0.0)


def rows(server):
    with (
        contextlib.closing(
            pymysql.connect(
                host=server.host, port=server.port, user=server.user, password=server.password, database="shop"
            )
        ) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute("select k, v from t")
        return {str(key): value for key, value in cursor.fetchall()}


def check(spooled, server):
    """The changes make the table, each is there once, and positions ascend."""
    lines = spooled.lines
    found = [position for position, _ in lines]
    assert found == sorted(set(found))
    made = rebuilt(lines)["t"]
    assert {key: row["v"] for key, row in made.items()} == rows(server)


def test_the_capture_continues_at_a_replica_that_is_promoted(servers, spooled):
    primary, replica = servers
    primary.sql("create table t (k int primary key, v text); insert into t values (1, 'a')", "shop")
    spooled.catch_up(primary)
    for number in range(2, 20):
        primary.sql(f"insert into t values ({number}, 'b'); flush binary logs", "shop")
    spooled.catch_up(primary)
    primary.sql("insert into t values (20, 'not captured there'); update t set v = 'c' where k = 1", "shop")
    replicas.caught_up(replica, primary)
    primary.crash()
    replicas.promote(replica)
    replica.sql("insert into t values (21, 'd'); alter table t add column w int default 5", "shop")
    replica.sql("insert into t values (22, 'e', 1)", "shop")
    spooled.catch_up(replica)
    assert spooled.keys() == list(range(1, 23))
    assert spooled.keys("U") == [1]
    check(spooled, replica)
    assert spooled.record.files > 0
    assert spooled.record.database == "log2"
    replica.sql("insert into t values (23, 'f', 2)", "shop")  # from now on by file and offset
    spooled.catch_up(replica)
    assert spooled.keys() == list(range(1, 24))
    check(spooled, replica)
    replica.sql("reset master")
    with pytest.raises(EnvironmentFault, match=r"the log was reset, .* It lacks .*integrator forget"):
        spooled.catch_up(replica)


def test_i9_a_transaction_of_which_some_changes_are_durable_continues_at_a_replica(servers, tmp_path, monkeypatch):
    """A crash comes after each event; tables that are not captured are changed, too."""
    primary, replica = servers
    primary.sql("create table t (k int primary key, v text); create table x (k int)", "shop")
    monkeypatch.setattr(shared, "SEGMENT_BYTES", 1)
    monkeypatch.setattr(streams, "_CONFIRM_S", 0.0)
    monkeypatch.setattr(Packets, "read", packet_by_packet)
    each = [Spooled(tmp_path / str(number)) for number in range(1, 40)]
    for spooled in each:
        spooled.catch_up(primary, tables=["t"])
    primary.sql(
        "insert into x values (0); insert into t values (1, 'a'); begin; insert into x values (1); "
        "insert into t values (2, 'b'), (3, 'c'); update t set v = 'd'; insert into x values (2), (3); "
        "insert into t values (4, 'e'); delete from t where k = 2; commit; insert into t values (5, 'f')",
        "shop",
    )
    replicas.caught_up(replica, primary)
    for number, spooled in enumerate(each, 1):
        CRASH_AFTER[0] = number
        with contextlib.suppress(Crash):
            spooled.catch_up(primary, tables=["t"])
    CRASH_AFTER[0] = -1
    primary.crash()
    replicas.promote(replica)
    replica.sql("insert into t values (6, 'g')", "shop")
    assert len({standing_in(one.directory).changes for one in each if standing_in(one.directory).is_open}) > 3
    for spooled in each:
        for _ in range(2):
            spooled.catch_up(replica, tables=["t"])
        assert [(line["action"], line.get("new", line.get("old"))["k"]) for _, line in spooled.lines] == [
            *(("I", key) for key in "123"), *(("U", key) for key in "123"), ("I", "4"), ("D", "2"), ("I", "5"), ("I", "6"),
        ]  # fmt: skip
        check(spooled, replica)


def test_a_table_whose_rows_are_being_read_continues_at_a_replica(servers, spooled, monkeypatch):
    """Rows are read at several places, of which the last ones are in another log."""
    primary, replica = servers
    primary.sql("create table t (k int primary key, v text)", "shop")
    primary.sql(f"insert into t select seq, repeat('x', 20000) from {primary.numbers(1, 400)}", "shop")
    monkeypatch.setattr(snapshot, "_FRAME_BYTES", 200)
    for name in ("POSITION_S", "_SHORT_S", "_TIMES_THE_POSITION"):
        monkeypatch.setattr(pace, name, 0)
    real, left = snapshot.SnapshotPoints.later, [3]

    def later(self):
        left[0] -= 1
        if left[0] == 0:
            raise Crash
        return real(self)

    monkeypatch.setattr(snapshot.SnapshotPoints, "later", later)
    with pytest.raises(Crash):
        spooled.catch_up(primary)
    assert spooled.record.reading["shop.t"].last
    primary.sql("update t set v = 'second' where k % 3 = 0; delete from t where k % 50 = 0", "shop")
    replicas.caught_up(replica, primary)
    primary.crash()
    replicas.promote(replica)
    replica.sql("update t set v = 'third' where k % 7 = 0; insert into t values (1000, 'fourth')", "shop")
    spooled.catch_up(replica)
    assert not spooled.record.reading
    check(spooled, replica)


CRASH_AFTER, READ = [-1], Packets.read


def packet_by_packet(self, wait_s):
    """Do as Packets.read, and crash after so many packets."""
    if CRASH_AFTER[0] == 0:
        CRASH_AFTER[0] = -1
        raise Crash
    queue = self.__dict__.setdefault("queue", [])
    if not queue:
        queue += READ(self, wait_s)
    CRASH_AFTER[0] -= 1
    return [queue.pop(0)] if queue else []


def test_a_replica_that_lacks_what_was_captured_is_refused_until_it_has_it(servers, tmp_path, impatient):
    primary, replica = servers
    spooled = Spooled(tmp_path / "first")
    primary.sql("create table t (k int primary key, v text); insert into t values (1, 'a')", "shop")
    spooled.catch_up(primary)
    replicas.caught_up(replica, primary)
    replicas.stop(replica)
    primary.sql("insert into t values (2, 'b'); insert into t values (3, 'c')", "shop")
    spooled.catch_up(primary)
    lacking = last_gtids(primary, 2)
    with pytest.raises(
        EnvironmentFault, match=rf"lacks transactions that were captured: {lacking}\..*Promote a server"
    ):
        spooled.catch_up(replica)
    anew = Spooled(tmp_path / "anew")  # the remedy
    anew.catch_up(replica)
    assert anew.keys() == [1]
    replicas.start(replica)
    replicas.caught_up(replica, primary)
    primary.crash()
    replicas.promote(replica)
    replica.sql("insert into t values (4, 'd')", "shop")
    spooled.catch_up(replica)
    assert spooled.keys() == [1, 2, 3, 4]
    check(spooled, replica)


def last_gtids(server, many):
    """The last transactions of a server, as messages name them."""
    if server.product == "mysql":
        source, _, numbers = server.sql("select @@global.gtid_executed").strip().rpartition(":")
        last = int(numbers.rpartition("-")[2])
        return f"{source}:{last - many + 1}-{last}"
    source, _, last = server.sql("select @@global.gtid_binlog_pos").strip().rpartition("-")
    return f"{source}-{int(last) - many + 1} to {source}-{last}"


def has_purged(server):
    """Return whether all files of a log but its last are removed: one may still be needed for the server's recovery."""
    server.sql("flush binary logs")
    last = server.sql("show binary logs").splitlines()[-1].split()[0]
    server.sql(f"purge binary logs to '{last}'")
    return len(server.sql("show binary logs").splitlines()) == 1


def test_transactions_that_a_replica_has_removed_from_its_log_are_named(servers, spooled):
    primary, replica = servers
    primary.sql("create table t (k int primary key, v text); insert into t values (1, 'a')", "shop")
    spooled.catch_up(primary)
    primary.sql("insert into t values (2, 'b'); insert into t values (3, 'c')", "shop")
    removed = last_gtids(primary, 2)
    replicas.caught_up(replica, primary)
    until(lambda: has_purged(replica))
    primary.crash()
    replicas.promote(replica)
    with pytest.raises(EnvironmentFault, match=rf"in the server's log no more \({removed}\): changes are gone"):
        spooled.catch_up(replica)


def test_a_transaction_that_took_long_is_the_same_at_a_replica(servers, spooled):
    """A replica of MariaDB logs the time of its last rows, and not that of its commit."""
    primary, replica = servers
    primary.sql("create table t (k int primary key, v text)", "shop")
    spooled.catch_up(primary)
    primary.sql("begin; insert into t values (1, 'a'); do sleep(2.1); commit", "shop")
    spooled.catch_up(primary)
    replicas.caught_up(replica, primary)
    replicas.promote(replica)
    replica.sql("insert into t values (2, 'b')", "shop")
    spooled.catch_up(replica)
    assert spooled.keys() == [1, 2]
    check(spooled, replica)


def test_servers_that_were_made_from_a_backup_continue_one_another(product, spooled, impatient):
    """They have transactions that neither of their logs has, or had."""
    with contextlib.ExitStack() as stack:
        own, other = (stack.enter_context(replicas.server(product, number)) for number in (1, 2))
        made = (
            "create database shop; create table shop.t (k int primary key, v text); insert into shop.t values (1, 'a')"
        )
        for server in (own, other):
            if product == "mysql":
                server.sql(f"set sql_log_bin = 0; {made}; set sql_log_bin = 1; reset master")
                server.sql("set global gtid_purged = '11111111-2222-3333-4444-555555555555:1-1000'")
        if product == "mariadb":
            own.sql(f"reset master; {made}; set gtid_domain_id = 1; insert into shop.t values (2, 'b')")
            restored = own.sql("select @@global.gtid_current_pos").split()[-1]
            other.sql(f"set sql_log_bin = 0; {made}; insert into shop.t values (2, 'b')")
            other.sql(f"reset master; set global gtid_slave_pos = '{restored}'")
        spooled.catch_up(own)
        own.sql("insert into shop.t values (3, 'c')")
        spooled.catch_up(own)
        follow = replicas._FOLLOW[product].format(
            host=own.host, port=own.port, user=replicas.USER, password=replicas.PASSWORD
        )
        other.sql(follow)
        replicas.caught_up(other, own)
        replicas.promote(other)
        other.sql("insert into shop.t values (4, 'd')")
        spooled.catch_up(other)
        assert spooled.keys() == ([1, 3, 4] if product == "mysql" else [1, 2, 3, 4])
        check(spooled, other)


def test_a_server_with_another_history_is_refused(product, spooled, impatient):
    """Servers of MariaDB that have nothing to do with one another have the same GTIDs."""
    with contextlib.ExitStack() as stack:
        own, other = (stack.enter_context(replicas.server(product, number)) for number in (1, 2))
        for server in (own, other):
            server.sql("reset master" if product == "mysql" else "reset master; set global gtid_slave_pos = ''")
            time.sleep(1.1)
            as_first = "set session server_id = 1; " if product == "mariadb" else ""
            server.sql(f"{as_first}create database shop; create table shop.t (k int primary key, v text)")
            server.sql(f"{as_first}insert into shop.t values (1, 'a'); insert into shop.t values (2, 'b')")
        spooled.catch_up(own)
        why = "lacks transactions that were captured" if product == "mysql" else "is another transaction there"
        with pytest.raises(EnvironmentFault, match=why):
            spooled.catch_up(other)
        if product == "mariadb":
            other.sql("reset master")
            other.sql("insert into shop.t values (3, 'c')")
            with pytest.raises(EnvironmentFault, match=r"lacks transactions|it is not in the log"):
                spooled.catch_up(other)
