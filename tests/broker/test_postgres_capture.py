"""Changes captured from a PostgreSQL: rows that tables have, and all that is committed after, each once and in order."""

import json
from collections import defaultdict

import pytest

from tests.parts import kafka_io, postgres

pytestmark = [
    pytest.mark.broker,
    pytest.mark.spark,
    pytest.mark.skipif(bool(postgres.missing(wal2json=False)), reason=postgres.missing(wal2json=False)),
]


@pytest.fixture(scope="module")
def server():
    with postgres.cluster() as running:
        yield running


@pytest.fixture
def database(server, name):
    server.psql(f"create database {name}")
    yield Database(server, name)
    server.psql(
        f"select pg_drop_replication_slot(slot_name) from pg_replication_slots where database = '{name}' and not active"
    )
    server.psql(f"drop database {name} with (force)")


class Database:
    def __init__(self, server, name):
        self.server, self.name = server, name

    def run(self, sql):
        return self.server.psql(sql, self.name)

    @property
    def address(self):
        return self.server.address(self.name)


@pytest.fixture
def channel(database, broker, tmp_path, name):
    def write(location="", more="", actions=""):
        path = tmp_path / "channel.yaml"
        path.write_text(
            f"""
channel: {name}
state: {tmp_path}/state
locations:
  src: {{class: postgres, address: "{database.address}"{location}}}
  kaf: {{class: kafka, Kafka_Brokers: ["{broker.servers}"], Kafka_Default_Topic: "{name}.{{hvr_tbl_name}}", Create_Topics: {{Partitions: 1, Replication_Factor: 1}}{more}}}
actions:
  - {{action: FileFormat, group: "*", Json: true, JsonMode: ROW_FRAGMENTS}}
  - {{action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: "{{hvr_op}}"}}
  - {{action: ColumnProperties, Name: seq, Extra: true, TimeKey: true, Datatype: varchar, Length: 45, IntegrateExpression: "{{hvr_integ_seq}}"}}
{actions}"""
        )
        return path

    return write


def rows_of(broker, *topics):
    """The rows of topics by their topic, in order of partitions and offsets."""
    found = defaultdict(list)
    for message in kafka_io.read_all(broker.servers, list(topics)):
        found[message.topic].append(json.loads(message.value))
    return found


def test_rows_that_are_there_and_changes_that_follow(database, broker, channel, integrate_once, name):
    database.run(
        "create table t(k int primary key, v text); insert into t select g, 'row ' || g from generate_series(1, 1000) g"
    )
    path = channel()
    integrate_once(path)
    integrate_once(path)  # nothing is new
    database.run("insert into t values (1001, 'new'); update t set v = 'other' where k = 1; delete from t where k = 2")
    database.run(
        "begin; update t set k = 3000 where k = 3; rollback; begin; update t set k = 4000 where k = 4; truncate t; commit"
    )
    integrate_once(path)
    [(_, rows)] = rows_of(broker, f"{name}.t").items()
    assert sorted(row["k"] for row in rows[:1000]) == list(range(1, 1001))
    print(rows[1000:])
    assert len({row["seq"] for row in rows}) == len(rows)
