"""Tables compared with their topics, by the command, on real servers: planted differences are found, and none else."""

import json

import pytest
from confluent_kafka import Producer

from tests.parts import kafka_io, mariadb, mysql, postgres
from tests.parts.in_process import command

pytestmark = [pytest.mark.broker, pytest.mark.spark]

PARTS = {"postgres": postgres, "mariadb": mariadb, "mysql": mysql}
CHANNEL = """
channel: {name}
state: {state}
locations:
  src: {{class: {product}, address: "{address}"}}
  kaf: {{class: kafka, Kafka_Brokers: ["{servers}"], Kafka_Default_Topic: "{name}.{{hvr_tbl_name}}", Create_Topics: {{Partitions: 3, Replication_Factor: 1}}}}
delivery: exactly_once
actions:
  - {{action: Integrate, MessageKeySerializer: CONNECT_SCHEMA}}
  - {{action: ColumnProperties, Name: op, Extra: true, Datatype: integer, IntegrateExpression: "{{hvr_op}}"}}
  - {{action: ColumnProperties, Name: seq, Extra: true, TimeKey: true, Datatype: varchar, Length: 45, IntegrateExpression: "{{hvr_integ_seq}}"}}
"""


@pytest.fixture(params=PARTS)
def database(request, name):
    parts = PARTS[request.param]
    if reason := parts.missing(wal2json=False) if parts is postgres else parts.missing():
        pytest.skip(reason)
    with parts.cluster() if parts is postgres else parts.cluster("binlog_row_metadata = FULL\n") as server:
        run = server.psql if parts is postgres else server.sql
        run(f"create database {name}")
        yield request.param, server, lambda sql: run(sql, name)


@pytest.fixture
def channel(database, broker, tmp_path, name):
    path = tmp_path / "channel.yaml"
    product, server, _ = database
    path.write_text(
        CHANNEL.format(
            name=name, state=tmp_path / "state", product=product, address=server.address(name), servers=broker.servers
        )
    )
    return path


@pytest.fixture
def compare(channel, capfd):
    """The command; what it came to, by table."""

    def run(*words, code=0):
        capfd.readouterr()
        assert command("compare", "--channel", channel, "--json", *words) == code, capfd.readouterr()
        found = json.loads(capfd.readouterr().out)
        return {one["table"]: one for one in found["tables"]}

    return run


def unlogged(product, run, sql):
    """Change rows without a change in the log."""
    run(f"set sql_log_bin = 0; {sql}" if product != "postgres" else sql)


def produce(broker, topic, *messages):
    producer = Producer({"bootstrap.servers": broker.servers})
    for message in messages:
        producer.produce(topic, value=message[1], key=message[0], partition=message[2])
    assert producer.flush(30) == 0


def refused(capfd, channel):
    """What a comparison says that cannot be made."""
    capfd.readouterr()
    assert command("compare", "--channel", channel) == 5
    return capfd.readouterr().err


def test_planted_differences_are_found_and_repaired(database, broker, channel, integrate_once, compare, name, capfd):
    product, _, run = database
    run(
        "create table t (id int primary key, v varchar(20), d decimal(12,2)); create table u (a int, b varchar(9), primary key (a, b))"
    )
    numbers = ", ".join(f"({n}, 'v{n}', {n}.50)" for n in range(1, 501))
    run(f"insert into t values {numbers}; insert into u values (1, 'x'), (1, 'y'), (2, 'x')")
    integrate_once(channel)
    run(
        "update t set v = 'new' where id <= 20; delete from t where id between 21 and 30; update u set b = 'z' where a = 2"
    )
    integrate_once(channel)
    found = compare()
    assert (found["t"]["rows"], found["t"]["equal"], found["u"]["equal"]) == (490, 490, 3), found
    assert found["t"]["left_out"] == ["seq"]

    topic = f"{name}.t"
    by_id = {}
    for message in kafka_io.read_all(broker.servers, [topic]):
        by_id[json.loads(message.value)["payload"]["id"]] = message

    def as_message(of, **values):
        document = json.loads(by_id[of].value)
        document["payload"] |= values
        key = json.loads(by_id[of].key)
        key["payload"]["id"] = document["payload"]["id"]
        compact = [json.dumps(one, separators=(",", ":")).encode() for one in (key, document)]
        return (*compact, by_id[of].partition)

    produce(
        broker,
        topic,
        (by_id[100].key, by_id[100].value, by_id[100].partition),  # doubled: no difference
        as_message(101, v="other"),
        as_message(102, id=9001),
        as_message(103, op=0),
    )
    found = compare("--table", "t", code=4)["t"]
    assert (found["equal"], found["different"], found["extra"], found["missing"]) == (488, 1, 1, 1), found
    differences = {one["kind"]: one for one in found["differences"]}
    assert differences["different"]["key"] == {"id": 101}
    assert differences["different"]["columns"] == {"v": ["v101", "other"]}
    assert differences["extra"]["key"] == {"id": 9001}
    assert differences["missing"]["key"] == {"id": 103}

    unlogged(product, run, "update u set b = 'unlogged' where a = 2") if product != "postgres" else None
    assert found["differences"] == compare("--table", "t", "--repair", code=4)["t"]["differences"], "a dry run"
    both = compare("--repair", "--yes", code=4)
    assert (both["u"]["extra"], both["u"]["missing"]) == ((0, 0) if product == "postgres" else (1, 1)), both
    assert "refreshes of" in refused(capfd, channel)
    integrate_once(channel)
    found = compare()
    assert (found["t"]["rows"], found["t"]["equal"], found["u"]["equal"]) == (490, 490, 3), found
