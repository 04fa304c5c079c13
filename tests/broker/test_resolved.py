"""Resolved messages of captured databases: what they say is in the topics, is, and comes no more (I12)."""

import contextlib
import itertools
import json
import re
import threading
import time

import psycopg2
import pytest
from confluent_kafka import Producer

from integrator import resolved
from tests.parts import kafka_io, mariadb, mysql, postgres
from tests.parts import resolved as promised
from tests.parts.daemon import ROOT, Daemon
from tests.parts.waiting import until

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
        return psycopg2.connect(self.address)

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

    def now(self):
        file, offset, *_ = self.run("show master status").split()
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


def test_a_channel_whose_last_message_is_long_ago_is_found(real_broker, name):
    topic, point = f"{name}.resolved", resolved.Point("0/10", f"{16:020X}|{0:016X}|{0:07X}")
    real_broker.create([topic], partitions=1)
    producer = Producer({"bootstrap.servers": real_broker.servers})
    for channel in ("quiet", *["busy"] * 300):
        producer.produce(topic, key=channel, value=resolved.Resolved(channel, "e", point).to_json())
    assert producer.flush(30) == 0
    for channel in ("quiet", "busy"):
        with resolved.reader(real_broker.servers, topic, channel=channel) as messages:
            assert messages.wait_for("0/10", timeout_s=30).channel == channel
            with pytest.raises(ValueError, match=r"no position of this channel, whose are such as 0/10"):
                messages.wait_for("binlog.000001:4", timeout_s=1)
            with pytest.raises(TimeoutError):
                messages.wait_for("0/11", timeout_s=1)
    with resolved.reader(real_broker.servers, topic, channel="none") as messages, pytest.raises(TimeoutError):
        messages.wait_for("0/10", timeout_s=1)


def test_two_topics_are_read_at_one_point(real_broker, tmp_path, name):
    """The program of docs/howto, as it is: money that goes from one table to the other is in one of them at each point."""
    program = (ROOT / "docs" / "howto" / "two_topics.py").read_text(encoding="utf-8")
    text = (ROOT / "docs" / "howto" / "resolved.md").read_text(encoding="utf-8")
    [channel] = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    for written, here in {
        "localhost:9092": real_broker.servers,
        "shop.orders": f"{name}.orders",
        "shop.payments": f"{name}.payments",
        "shop.resolved": f"{name}.resolved",
        "shop.{": f"{name}.{{",
        "Replication_Factor: 3": "Replication_Factor: 1",
        "every: 1s": "every: 100ms",
    }.items():
        program, channel = program.replace(written, here), channel.replace(written, here)
    with postgres.cluster() as server:
        database = AtPostgres(server, "shop")
        database.run(
            "create table orders(id int primary key, v int); insert into orders select g, 100 from generate_series(1, 9) g"
        )
        database.run(
            "create table payments(id int primary key, v int); insert into payments select g, 0 from generate_series(1, 9) g"
        )
        path = tmp_path / "shop.yaml"
        path.write_text(
            channel.replace("postgresql://cdc@localhost/shop", database.address)
            + f"channel: shop\nstate: {tmp_path}/state\n"
        )
        daemon = Daemon(path)
        try:
            until(
                lambda: promised.messages(real_broker.servers, f"{name}.resolved"),
                lambda: "\n".join(daemon.lines[-20:]),
            )
            enough = threading.Event()

            def move():
                with contextlib.closing(database.connect()) as connection, connection.cursor() as cursor:
                    for number in itertools.takewhile(lambda _: not enough.is_set(), itertools.count()):
                        for table, sign in (("orders", "-"), ("payments", "+")):
                            cursor.execute(f"update {table} set v = v {sign} 1 where id = {number % 9 + 1}")
                        connection.commit()
                        time.sleep(0.01)

            threading.Thread(target=move, daemon=True).start()
            points = []

            def point(position, _counts):
                tables = variables["tables"]
                sums = {topic: sum(json.loads(row)["v"] for row in rows.values()) for topic, rows in tables.items()}
                points.append((position, *sums.values()))
                if len({payments for *_, payments in points}) > 4:
                    enough.set()
                    raise StopIteration

            variables = {"print": point}
            with pytest.raises(StopIteration):
                exec(compile(program, "two_topics.py", "exec"), variables)  # noqa: S102 - what users would run
        finally:
            daemon.kill(everything=True)
    assert {orders + payments for _, orders, payments in points} == {900}
