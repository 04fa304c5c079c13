"""Topic, MessageTimestamp, MessagePartition and Outbox: where a row's message goes, and what librdkafka is given of it."""

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import Consumer, TopicPartition

from integrator import plan
from integrator.contracts.outgoing import MessageHeaders, Messages
from integrator.deliver.kafka.embedded import EmbeddedCluster
from integrator.deliver.kafka.producer_client import ProducerClient
from integrator.deliver.kafka.records import records_of
from integrator.errors import ConfigurationError, DataError, TopicsFound
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
        client = ProducerClient(properties, lambda text, *_: failed.append(text), lambda _, __: None)
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


def routed(directory, topic, *records, known=None, more="", actions=""):
    """(topic, key) of each message, where the topics that are `known` are there."""
    import dataclasses

    recipe = pure.recipe(
        directory, DDL, f"  - {{action: Integrate, MessageKey: '{{id}}', Topic: {topic}{more}}}\n" + actions
    )
    recipe = dataclasses.replace(recipe, send=dataclasses.replace(recipe.send, topics=known))
    fragments, summaries = pure.fragments(recipe, pure.hvr(directory, *records))
    found = [tuple(row.values()) for row in fragments.select(["topic", "key"]).to_pylist()]
    return found, summaries[0].not_sent


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("'event.{v}'", "event.a"),
        ("'{hvr_tbl_name}.{v}.{region}'", "t.a.2"),
        ("\"sql: 'event.' || upper({v})\"", "event.A"),
        ("'{at %Y-%m}'", "2025-11"),
    ],
)
def test_rows_name_their_topics(topic, expected, tmp_path):
    found, _ = routed(tmp_path, topic, record(**NOON))
    assert found == [(expected, b"7")]


@pytest.mark.parametrize(
    ("topic", "columns", "expected"),
    [
        ("'event.{v}'", {"v": None}, "{v} is null, which names no topic"),
        ("'event.{v}'", {"v": "a b"}, "Kafka accepts no topic 'event.a b'; accepted are 1 to 249 of"),
        ("'{v}'", {"v": ".."}, "Kafka accepts no topic '..'"),
        ("'{v}'", {"v": ""}, "Kafka accepts no topic ''"),
    ],
)
def test_what_names_no_topic_is_an_error_of_the_row(topic, columns, expected, tmp_path):
    with pytest.raises(DataError) as raised:
        routed(tmp_path, topic, record(), record(**columns))
    assert expected in str(raised.value)
    assert ":2: table t, Topic: " in str(raised.value)


def test_topics_that_are_not_known_are_asked_for(tmp_path):
    with pytest.raises(TopicsFound) as raised:
        routed(tmp_path, "'event.{v}'", record(v="c"), record(v="a"), record(v="b"), known=("event.b",))
    assert raised.value.topics == ("event.a", "event.c")


@pytest.mark.parametrize(
    ("topic", "more", "kafka", "expected"),
    [
        ("'event {v}'", "", "", "Kafka accepts no topic with 'event '; accepted are"),
        ("'{nowhere}'", "", "", "{nowhere} is neither a substitution nor a column"),
        ("'{hvr_op}.{v}'", "", "", "{hvr_op} cannot stand in a topic"),
        ("'{v}'", "", ", Kafka_Message_Bundling: TRANSACTION", "a message of TRANSACTION holds rows of many topics"),
        (
            "'{v}'",
            "",
            ', Kafka_Schema_Registry: "http://localhost:1"',
            "rows name their topics, by which subjects would be called: write ValueSubjectStrategy: RecordNameStrategy",
        ),
        ("'t'", ", Outbox: WARN, OnDeleteSendTombstone: true", "", "deletes of an outbox are no events"),
    ],
)
def test_what_does_not_go_with_topics_of_rows_is_refused(topic, more, kafka, expected, tmp_path):
    with pytest.raises(ConfigurationError) as raised:
        pure.recipe(tmp_path, DDL, f"  - {{action: Integrate, Topic: {topic}{more}}}\n", kafka=kafka)
    assert expected in str(raised.value)


TIMEKEY = "  - {action: ColumnProperties, Name: op_val, Extra: true, Datatype: integer, TimeKey: true, "
TIMEKEY += "IntegrateExpression: '{hvr_op}'}\n"


def test_truncates_have_no_row_that_names_a_topic(tmp_path):
    topic = "  - {action: Integrate, Topic: 'event.{v}'}\n"
    with pytest.raises(ConfigurationError, match=r"{action: Capture, table: t, NoTruncate: true}"):
        pure.recipe(tmp_path, DDL, topic + TIMEKEY)
    pure.recipe(tmp_path, DDL, topic + TIMEKEY + "  - {action: Capture, NoTruncate: true}\n")


def test_a_tombstone_goes_to_the_topic_of_the_row_that_is_gone(tmp_path):
    rows = [{**row, "v": f"v{row['region']}"} for row in UPDATE]
    found, _ = routed(tmp_path, "'{v}'", *rows, more=", OnDeleteSendTombstone: true")
    assert found == [("v1", b"7"), ("v2", b"8"), ("v2", b"8")]


CHANGES = [
    record(hvr_op=1, hvr_tx_seq="1"),
    record(hvr_op=4, hvr_tx_seq="2"),
    record(hvr_op=2, hvr_tx_seq="2", v="b"),
    record(hvr_op=0, hvr_tx_seq="3"),
]


def test_only_inserts_of_an_outbox_are_events(tmp_path):
    found, not_sent = routed(tmp_path, "'event.{v}'", *CHANGES, more=", Outbox: WARN")
    assert found == [("event.a", b"7")]
    assert not_sent == {"op 0 in an outbox": 1, "op 2 in an outbox": 1, "op 4 in an outbox": 1}


def test_an_update_of_an_outbox_is_an_error_where_the_channel_says_so(tmp_path):
    with pytest.raises(DataError, match=r":3: table t: an update of an outbox, whose rows are events; leave it as"):
        routed(tmp_path, "'event.{v}'", *CHANGES, more=", Outbox: FATAL")


def test_a_cycle_needs_a_topic_that_is_known_to_be_recorded_at(tmp_path):
    channel = tmp_path / "channel.yaml"
    pure.recipe(tmp_path, DDL, "  - {action: Integrate, Topic: '{v}'}\n")
    channel.write_text(channel.read_text() + "delivery: exactly_once\n")
    with pytest.raises(ConfigurationError, match=r"\$.delivery: a cycle is recorded at a topic, and rows name all"):
        plan.build(str(channel), "UTC")
    channel.write_text(channel.read_text() + "errors: {tolerance: all, deadletterqueue.topic.name: dead}\n")
    assert plan.build(str(channel), "UTC").topics == ("dead",)
