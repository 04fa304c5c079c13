"""Actions as a whole cycle shows them: what reaches Kafka, and what the state and the log say beside it."""

import json
import time

import pytest
from structlog.testing import capture_logs

from tests.parts import kafka_io, pure

pytestmark = [pytest.mark.broker, pytest.mark.spark]

DDL = "create table t(k int primary key, name text, region varchar(9), n bigint);"


def channel(directory, broker, topic, *actions):
    (directory / "in").mkdir(exist_ok=True)
    kafka = f', Kafka_Default_Topic: "{topic}"'
    text = "".join(f"  - {action}\n" for action in (pure.PLAIN, *actions))
    pure.recipe(directory, DDL, text, kafka=kafka)
    path = directory / "channel.yaml"
    said = path.read_text().replace("Kafka_Brokers: [localhost]", f'Kafka_Brokers: ["{broker.servers}"]')
    path.write_text(said.replace("channel: pure", f"channel: pure\nstate: {directory}/state"))
    return path


def rows(broker, topic):
    return [json.loads(message.value) for message in kafka_io.read_all(broker.servers, [topic])]


def test_values_that_were_coerced_are_counted_in_the_log_and_written_beside_the_state(
    broker, tmp_path, name, integrate_once
):
    broker.create([name], 1)
    path = channel(
        tmp_path,
        broker,
        name,
        "{action: ColumnProperties, Name: n, Datatype: smallint}",
        "{action: ColumnProperties, Name: name, group: SOURCE, TrimDatatype: 3}",
        "{action: TableProperties, CoerceErrorPolicy: WARNING_FILE}",
    )
    for number in range(2):
        records = [{"k": 2 * number + k, "name": "abcd", "region": "EU", "n": 10**6 + k} for k in range(2)]
        pure.hvr(tmp_path / "in", *records, name=f"{number}.jsonl")
    with capture_logs() as logs:
        integrate_once(path)
    assert [(row["k"], row["name"], row["n"]) for row in rows(broker, name)] == [(k, "abc", 32767) for k in range(4)]
    [log] = [log for log in logs if log["event"] == "cycle synced"]
    assert log["warnings"] == {"TrimDatatype of t.name": 4, "NUMERIC_RANGE of t.n": 4}
    written = (tmp_path / "state" / "pure" / "coerced.jsonl").read_text().splitlines()
    said = [json.loads(line) for line in written]
    assert [(one["line"], one["key"], one["value"]) for one in said] == [
        (1, "k=0", "1000000"),
        (2, "k=1", "1000001"),
        (1, "k=2", "1000000"),
        (2, "k=3", "1000001"),
    ]
    assert {one["cycle"] for one in said} == {0}


def test_rows_that_are_not_meant_are_counted_in_the_log(broker, tmp_path, name, integrate_once):
    broker.create([name], 1)
    path = channel(
        tmp_path,
        broker,
        name,
        '{action: Restrict, CaptureCondition: "{region} = \'EU\'", AddressTo: "{name}"}',
    )
    region = ("EU", "US", "EU", "EU")
    addressed = ("kaf", "kaf", "other", "kaf")
    records = [{"k": k, "name": addressed[k], "region": region[k], "n": 0} for k in range(4)]
    pure.hvr(tmp_path / "in", *records)
    with capture_logs() as logs:
        integrate_once(path)
    assert [row["k"] for row in rows(broker, name)] == [0, 3]
    [log] = [log for log in logs if log["event"] == "cycle synced"]
    assert log["not_sent"] == {"rows for other locations": 1, "rows outside the CaptureCondition": 1}


def test_no_more_messages_a_second_than_the_rate_limit_says(broker, tmp_path, name, integrate_once):
    broker.create([name], 1)
    limit = "{action: Environment, Name: HVR_KAFKA_RATE_LIMIT, Value: '100'}"
    path = channel(tmp_path, broker, name, limit)
    pure.hvr(tmp_path / "in", *({"k": k, "name": "", "region": "", "n": k} for k in range(300)))
    began = time.monotonic()
    integrate_once(path)
    assert time.monotonic() - began >= 2.9
    assert [row["k"] for row in rows(broker, name)] == list(range(300))


def test_sql_and_captured_columns_through_a_cycle(broker, tmp_path, name, integrate_once):
    broker.create([name], 1)
    path = channel(
        tmp_path,
        broker,
        name,
        "{action: ColumnProperties, Name: name, CaptureExpression: \"sql: substr(name, 1, 1) || '***'\"}",
        "{action: ColumnProperties, Name: large, Extra: true, Datatype: boolean, IntegrateExpression: 'sql: n > 1'}",
    )
    pure.hvr(tmp_path / "in", *({"k": k, "name": "Zoë", "region": None, "n": k} for k in range(4)))
    integrate_once(path)
    assert [(row["name"], row["large"]) for row in rows(broker, name)] == [("Z***", k > 1) for k in range(4)]
