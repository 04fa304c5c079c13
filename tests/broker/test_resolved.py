"""Resolved messages of captured databases: what they say is in the topics, is, and comes no more (I12)."""

import json
import time

import psycopg2
import pymysql
import pytest

from integrator import resolved
from tests.parts import kafka_io, mariadb, mysql, postgres
from tests.parts import resolved as promised

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.real_broker]

CHANNEL = """
channel: {name}
state: {state}
locations:
  src: {{class: {product}, address: "{address}"}}
  kaf: {{class: kafka, Kafka_Brokers: ["{brokers}"], Kafka_Default_Topic: "{name}.{{hvr_tbl_name}}",
    Create_Topics: {{Partitions: 2, Replication_Factor: 1}}}}
delivery: {delivery}
resolved: {{topic: {name}.resolved, every: {every}, per_partition: true}}
{more}
actions:
  - {{action: FileFormat, group: "*", Json: true, JsonMode: ROW_FRAGMENTS}}
  - {{action: ColumnProperties, Name: seq, Extra: true, TimeKey: true, Datatype: varchar, Length: 45,
     IntegrateExpression: "{{hvr_integ_seq}}"}}
"""


class AtPostgres:
    product = "postgres"

    def __init__(self, server, name):
        self.server, self.name = server, name
        server.psql(f"create database {name}")

    @property
    def address(self):
        return self.server.address(self.name)

    def connect(self):
        return psycopg2.connect(self.server.dsn.replace("dbname=postgres", f"dbname={self.name}"))

    def run(self, sql):
        return self.server.psql(sql, self.name)

    def now(self):
        return self.run("select pg_current_wal_insert_lsn()").strip()


class AtBinlog:
    def __init__(self, server, name):
        self.server, self.name, self.product = server, name, server.product
        server.sql(f"create database {name}")

    @property
    def address(self):
        return self.server.address(self.name)

    def run(self, sql):
        return self.server.sql(sql, self.name)

    def connect(self):
        own = self.server
        return pymysql.connect(host=own.host, port=own.port, user=own.user, password=own.password, database=self.name)

    def now(self):
        status = "binary log" if self.product == "mysql" else "master"
        file, offset, *_ = self.run(f"show {status} status").split()
        return f"{file}:{offset}"


@pytest.fixture(scope="module", params=["postgres", "mariadb", "mysql"])
def server(request):
    parts = {"postgres": postgres, "mariadb": mariadb, "mysql": mysql}[request.param]
    why = parts.missing(wal2json=False) if parts is postgres else parts.missing()
    if why:
        pytest.skip(why)
    with parts.cluster() as found:
        yield found


@pytest.fixture
def database(server, name):
    return (AtPostgres if isinstance(server, postgres.Postgres) else AtBinlog)(server, name)


@pytest.fixture(params=["at_least_once", "exactly_once"])
def delivery(request):
    return request.param


@pytest.fixture
def channel(database, real_broker, tmp_path, name):
    def write(delivery="at_least_once", every="100ms", more=""):
        path = tmp_path / "channel.yaml"
        path.write_text(
            CHANNEL.format(
                name=name,
                state=tmp_path / "state",
                product=database.product,
                address=database.address,
                brokers=real_broker.servers,
                delivery=delivery,
                every=every,
                more=more,
            )
        )
        return path

    return write


def test_a_run_ends_with_a_message_that_is_at_all_that_was_committed(
    database, real_broker, channel, integrate_once, name
):
    database.run("create table a(k int primary key, n int); insert into a values (1, 1), (2, 2)")
    database.run("create table b(k int primary key, n int)")
    path = channel()
    before = database.now()
    integrate_once(path)
    [*_, first] = promised.messages(real_broker.servers, f"{name}.resolved")
    assert resolved.is_at(first, before)
    assert {one: point.why for one, point in first.tables.items()} == {"a": "", "b": ""}
    database.run("update a set n = 3 where k = 1; insert into b values (7, 7)")
    changed = database.now()
    assert not resolved.is_at(first, changed)
    integrate_once(path)
    found = promised.messages(real_broker.servers, f"{name}.resolved")
    assert resolved.is_at(found[-1], changed)
    assert promised.goes_back(found) == []
    assert found[-1].committed is not None
    assert abs(found[-1].committed.timestamp() - time.time()) < 600
    topics = {f"{name}.a": "a", f"{name}.b": "b"}
    rows = kafka_io.read_all(real_broker.servers, [*topics])
    assert all(json.loads(one.value)["seq"] < found[-1].point.integ_seq for one in rows[-2:])
    assert promised.come_later(found, rows, topics) == []
    assert {topic: len(ends) for topic, ends in found[-1].offsets.items()} == dict.fromkeys(topics, 2)
