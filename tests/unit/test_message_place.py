"""MessageTimestamp and MessagePartition: what a row's message has, and what librdkafka is given of it."""

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Consumer, TopicPartition

from integrator.contracts.outgoing import MessageHeaders, Messages
from integrator.deliver.kafka.embedded import EmbeddedCluster
from integrator.deliver.kafka.producer_client import ProducerClient
from integrator.deliver.kafka.records import records_of
from integrator.errors import ConfigurationError, DataError
from tests.parts import pure

COUNT = 50
DDL = "create table t(id int primary key, region int, v text, at timestamp(3));"
AT = 1_763_640_000_000
"""The commit of the records in milliseconds since 1970: 2025-11-20T12:00:00Z."""


NOON = {"at": "2025-11-20T12:00:00"}


def record(**columns):
    return {"hvr_cap_tstamp": "2025-11-20T12:00:00Z", "id": 7, "region": 2, "v": "a", **columns}


def messages(directory, integrate, *records, actions="", kafka="", partitions=()):
    """(partition, timestamp, key) of each message."""
    import dataclasses

    given = f"  - {{action: Integrate, MessageKey: '{{id}}', {integrate}}}\n" + actions
    recipe = pure.recipe(directory, DDL, given, kafka=kafka)
    recipe = dataclasses.replace(recipe, send=dataclasses.replace(recipe.send, partitions=partitions))
    fragments, _ = pure.fragments(recipe, pure.hvr(directory, *records))
    found = []
    for made in pure.bundled(recipe, fragments.combine_chunks()):
        size = len(made.values)
        times = [0] * size if made.timestamps is None else made.timestamps.tolist()
        found += zip(np.broadcast_to(made.partitions, size).tolist(), times, made.keys.to_pylist(), strict=True)
    return found


@pytest.mark.engine
@pytest.mark.engine_without_compiler
@pytest.mark.parametrize("with_headers", [False, True])
def test_messages_arrive_in_their_partitions_with_their_timestamps(with_headers):
    partitions = np.arange(COUNT) % 4 - (np.arange(COUNT) % 5 == 0) * 5
    partitions[partitions < 0] = -1
    timestamps = np.where(np.arange(COUNT) % 7 == 0, 0, AT + np.arange(COUNT))
    headers = MessageHeaders(np.arange(COUNT + 1), np.zeros(COUNT, np.int64), [b"h"], pa.array([b"v"] * COUNT))
    values = pa.array([b"%d" % place for place in range(COUNT)])
    made = Messages.of([("t", COUNT)], values, values, headers if with_headers else None, partitions, timestamps)
    failed = []
    with EmbeddedCluster() as cluster:
        cluster.create(["t"], 4)
        properties = {"bootstrap.servers": cluster.brokers, "log_level": "0"}
        client = ProducerClient(properties, lambda text, _: failed.append(text), lambda _, __: None)
        records = records_of(made)
        assert client.produce("t", records[:20]) == (20, "")
        assert client.produce_each(
            "t", records[20:], timestamps[20:], (made.headers or MessageHeaders.none(COUNT)).slice(20, COUNT - 20)
        ) == (COUNT - 20, "")
        assert client.flush(10) == 0
        client.close()
        consumer = Consumer({"bootstrap.servers": cluster.brokers, "group.id": "g"})
        consumer.assign([TopicPartition("t", number, 0) for number in range(4)])
        received = {}
        while len(received) < COUNT:
            message = consumer.poll(10)
            assert message is not None, len(received)
            received[int(message.value())] = message
        consumer.close()
    assert failed == []
    for place, message in received.items():
        if partitions[place] >= 0:
            assert message.partition() == partitions[place]
        if place >= 20 and timestamps[place]:
            assert message.timestamp() == (1, timestamps[place])
        assert message.headers() == ([("h", b"v")] if with_headers and place >= 20 else None)
    assert len({received[place].partition() for place in np.flatnonzero(partitions < 0).tolist()}) > 1


@pytest.mark.parametrize(
    ("integrate", "columns", "expected"),
    [
        ("MessageTimestamp: '{hvr_cap_tstamp}'", {}, AT),
        ("MessageTimestamp: '{at}'", {"at": "2025-11-20T12:00:00.001"}, AT + 1),
        ("MessageTimestamp: '{at}'", {"at": None}, AT),
        ("MessageTimestamp: \"sql: date_trunc('day', {at})\"", {"at": "2025-11-20T12:34:56"}, AT - 12 * 3_600_000),
    ],
)
def test_a_message_has_the_timestamp_of_its_expression(integrate, columns, expected, tmp_path):
    assert messages(tmp_path, integrate, record(**columns)) == [(-1, expected, b"7")]


@pytest.mark.parametrize(
    ("integrate", "columns", "expected"),
    [
        ("MessagePartition: '{region}'", {}, 2),
        ("MessagePartition: '{region}'", {"region": None}, -1),
        ("MessagePartition: 'sql: {id} % 4'", {}, 3),
        ("MessagePartition: '1'", {}, 1),
    ],
)
def test_a_message_goes_to_the_partition_of_its_expression(integrate, columns, expected, tmp_path):
    assert messages(tmp_path, integrate, record(**columns)) == [(expected, 0, b"7")]


@pytest.mark.parametrize(
    ("integrate", "columns", "expected"),
    [
        ("MessageTimestamp: '{at}'", {"at": "1969-12-31T23:59:59"}, "1969-12-31 23:59:59 is not after 1970-01-01"),
        ("MessageTimestamp: '{hvr_cap_tstamp}'", {"hvr_cap_tstamp": None}, "the record has no commit time"),
        (
            "MessagePartition: '{region}'",
            {"region": 12},
            "12 is no partition: the topic t has 0 to 11; take a remainder",
        ),
        ("MessagePartition: '{region}'", {"region": -1}, "-1 is no partition: the topic t has 0 to 11"),
    ],
)
def test_what_a_topic_cannot_take_is_an_error_of_the_row(integrate, columns, expected, tmp_path):
    with pytest.raises(DataError) as raised:
        messages(tmp_path, integrate, record(**NOON), record(**NOON | columns), partitions=(("t", 12),))
    assert expected in str(raised.value)
    assert ":2: table t, Message" in str(raised.value)


@pytest.mark.parametrize(
    ("integrate", "kafka", "expected"),
    [
        (
            "MessageTimestamp: '{v}'",
            "",
            "MessageTimestamp: table t: '{v}' is not accepted; a timestamp is: write {hvr_",
        ),
        ("MessageTimestamp: 'at {at}'", "", "'at {at}' is not accepted; a timestamp is"),
        ("MessageTimestamp: '{hvr_integ_tstamp}'", "", "{hvr_integ_tstamp} cannot stand in a MessageTimestamp"),
        ("MessagePartition: '{v}'", "", "MessagePartition: table t: '{v}' is not accepted; a whole number is"),
        ("MessagePartition: 'sql: {v}'", "", "'sql: {v}' is not accepted; a whole number is"),
        ("MessagePartition: '{nowhere}'", "", "{nowhere} is neither a substitution nor a column"),
        (
            "MessagePartition: '{region}'",
            ", Kafka_Message_Bundling: THRESHOLD",
            "a message of THRESHOLD holds rows of many partitions: leave it out, or use ROW or CHANGE",
        ),
    ],
)
def test_what_cannot_be_a_timestamp_or_a_partition_is_refused(integrate, kafka, expected, tmp_path):
    key = "" if "THRESHOLD" in kafka else "MessageKey: '{id}', "
    with pytest.raises(ConfigurationError) as raised:
        pure.recipe(tmp_path, DDL, f"  - {{action: Integrate, {key}{integrate}}}\n", kafka=kafka)
    assert expected in str(raised.value)


UPDATE = [
    record(hvr_op=3, hvr_tx_seq="1", id=7, region=1),
    record(hvr_op=2, hvr_tx_seq="1", id=8, region=2),
    record(hvr_op=0, hvr_tx_seq="2", id=8, region=2),
]


def test_tombstones_go_to_the_partition_of_the_row_whose_key_is_gone(tmp_path):
    found = messages(tmp_path, "MessagePartition: '{region}', OnDeleteSendTombstone: true", *UPDATE)
    assert [(partition, key) for partition, _, key in found] == [(1, b"7"), (2, b"8"), (2, b"8")]


def test_a_bundle_has_what_its_last_row_has(tmp_path):
    timekey = (
        "  - {action: ColumnProperties, Name: op_val, Extra: true, Datatype: integer, TimeKey: true, "
        "IntegrateExpression: '{hvr_op}'}\n"
    )
    update = [record(hvr_op=4, region=1, at="2025-11-20T12:00:00"), record(hvr_op=2, at="2025-11-20T12:00:00.009")]
    integrate = "MessagePartition: '{region}', MessageTimestamp: '{at}'"
    found = messages(tmp_path, integrate, *update, actions=timekey, kafka=", Kafka_Message_Bundling: CHANGE")
    assert found == [(2, AT + 9, b"7")]


def test_a_row_for_a_partition_that_is_not_there_is_a_dead_letter_where_such_are_tolerated(tmp_path):
    import dataclasses

    from integrator.contracts.recipe import Send, Tolerance

    recipe = pure.recipe(tmp_path, DDL, "  - {action: Integrate, MessagePartition: '{region}'}\n")
    tolerant = Tolerance(rejects=True, topic="dead")
    recipe = dataclasses.replace(recipe, tolerance=tolerant, send=Send(partitions=(("t", 3),)))
    given = [record(id=place, region=region) for place, region in enumerate([2, 3, 0])]
    fragments, [summary] = pure.fragments(recipe, pure.hvr(tmp_path, *given))
    found = fragments.select(["topic", "partition"]).to_pylist()
    assert [tuple(row.values()) for row in found] == [("t", 2), ("t", 0), ("dead", None)]
    assert (summary.rejected, summary.rejections[0]["line"]) == (1, 2)
