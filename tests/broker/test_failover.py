"""A replica that takes the place of the server that was captured: it is continued with, or what is missing is named.

A real MySQL and a real MariaDB, each with replicas; neither Kafka nor Spark. PostgreSQL's are in test_postgres_failover.
"""

import contextlib
import random
import shutil
import threading

import pymysql
import pytest

from integrator.channel.databases import BinlogLocation
from integrator.errors import EnvironmentFault
from integrator.sources.binlog import failover
from integrator.sources.binlog import stream as streams
from integrator.sources.binlog.server import Server
from integrator.sources.capture import record as records
from integrator.sources.capture import stream as shared
from integrator.sources.capture.frames import FRAMES, standing_in
from integrator.sources.spool import SPOOL, Spool
from tests.parts import replicas
from tests.parts.proxy import Proxy
from tests.parts.spooled import Crash, fragile, lines_in, rebuilt
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
        address = server.address("shop").replace(f"{server.host}:{server.port}", place or f"{server.host}:{server.port}")
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
    with contextlib.closing(
        pymysql.connect(host=server.host, port=server.port, user=server.user, password=server.password, database="shop")
    ) as connection, connection.cursor() as cursor:
        cursor.execute("select k, v from t")
        return {str(key): value for key, value in cursor.fetchall()}


def check(spooled, server, positions=None):
    """The changes make the table, each is there once, and positions ascend."""
    lines = spooled.lines
    found = [position for position, _ in lines]
    assert found == sorted(set(found))
    made = rebuilt(lines)["t"]
    assert {key: row["v"] for key, row in made.items()} == rows(server)


def test_the_capture_goes_on_at_a_replica_that_is_promoted(servers, spooled):
    primary, replica = servers
    primary.sql("create table t (k int primary key, v text); insert into t values (1, 'a')", "shop")
    spooled.catch_up(primary)
    for number in range(2, 20):
        primary.sql(f"insert into t values ({number}, 'b'); flush binary logs", "shop")
    spooled.catch_up(primary)
    primary.sql("insert into t values (20, 'not captured there'); create table other.u (k int)".replace("create table other.u (k int)", "update t set v = 'c' where k = 1"), "shop")
    replicas.caught_up(replica, primary)
    primary.crash()
    replicas.promote(replica)
    replica.sql("insert into t values (21, 'd'); alter table t add column w int default 5; insert into t values (22, 'e', 1)", "shop")
    spooled.catch_up(replica)
    assert spooled.keys() == list(range(1, 23))
    assert spooled.keys("U") == [1]
    check(spooled, replica)
    record = spooled.record
    assert record.files > 0
    assert record.database == "log2"
    replica.sql("insert into t values (23, 'f', 2)", "shop")  # from now on by file and offset
    spooled.catch_up(replica)
    assert spooled.keys() == list(range(1, 24))
    check(spooled, replica)
