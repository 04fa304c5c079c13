"""The producer, against librdkafka's in-process cluster, which can be told to fail."""

import ctypes
import dataclasses
import json
import zlib

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError

from integrator.contracts.outgoing import Messages
from integrator.contracts.recipe import Send
from integrator.contracts.report import Report
from integrator.deliver.kafka import producer, topic_limits
from integrator.deliver.kafka.delivery import Delivery
from integrator.deliver.kafka.embedded import EmbeddedCluster
from integrator.deliver.kafka.read_back import read_back
from integrator.errors import DataError, DeliveryError, EnvironmentFault
from tests.parts import pure

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def cluster():
    with EmbeddedCluster() as started:
        yield started


@pytest.fixture(autouse=True)
def no_producer_outlives_its_test():
    yield
    for properties in list(producer._PRODUCERS):
        producer.discard(dict(properties))


def recipe(tmp_path, servers, timeout=20, **properties):
    made = pure.recipe(tmp_path, "create table t(a int primary key);")
    settings = {
        **made.send.producer,
        "bootstrap.servers": servers,
        "message.timeout.ms": str(timeout * 1000),
        **properties,
    }
    return dataclasses.replace(made, send=Send(0, settings))


def messages(topic, count, size=10):
    values = pa.array([json.dumps(i).encode().ljust(size) for i in range(count)], pa.binary())
    return Messages.of([(topic, count)], pa.array([b"k"] * count, pa.binary()), values)


def test_every_message_is_acknowledged_and_in_order(cluster, tmp_path, name):
    cluster.create([name], 2)
    delivery = Delivery(recipe(tmp_path, cluster.brokers))
    for _ in range(3):
        delivery.send(messages(name, 5000))
    report = delivery.report([], {}, None)
    assert (report.messages, report.acknowledged, report.error) == (15000, 15000, None)
    received = read_back(cluster.brokers, [name])
    assert [int(message.value) for message in received] == [*range(5000)] * 3


def test_i3_i4_a_small_queue_neither_loses_nor_reorders(cluster, tmp_path, name):
    cluster.create([name], 1)
    small = {"queue.buffering.max.messages": "100", "linger.ms": "0"}
    delivery = Delivery(recipe(tmp_path, cluster.brokers, **small))
    delivery.send(messages(name, 20_000))
    report = delivery.report([], {}, None)
    assert (report.messages, report.acknowledged, report.error) == (20_000, 20_000, None)
    assert [int(message.value) for message in read_back(cluster.brokers, [name])] == [*range(20_000)]


def test_a_broker_that_goes_away_fails_the_task_and_the_next_begins_clean(tmp_path, name):
    with EmbeddedCluster() as cluster:
        cluster.create([name], 1)
        made = recipe(tmp_path, cluster.brokers, timeout=2)
        mock = ctypes.c_void_p(cluster._cluster)
        cluster._library.rd_kafka_mock_broker_set_down(mock, 1)
        delivery = Delivery(made)
        delivery.send(messages(name, 10))
        report = delivery.report([], {}, None)
        assert report.acknowledged < report.messages == 10
        assert "timed out" in report.error
        assert name in report.error
        cluster._library.rd_kafka_mock_broker_set_up(mock, 1)
        delivery = Delivery(made)
        delivery.send(messages(name, 10))
        report = delivery.report([], {}, None)
        assert (report.messages, report.acknowledged, report.error) == (10, 10, None)


def test_a_topic_that_is_not_there_is_an_error_of_the_report(real_broker, tmp_path, name):
    delivery = Delivery(recipe(tmp_path, real_broker.servers, timeout=3))
    delivery.send(messages(name, 2))
    report = delivery.report([], {}, None)
    assert report.acknowledged == 0
    assert name in report.error


def test_i5_no_message_above_the_maximum_is_handed_over(cluster, tmp_path, name):
    with pytest.raises(DataError, match="above HVR_KAFKA_MSG_MAX_BYTES"):
        Delivery(recipe(tmp_path, cluster.brokers)).send(messages(name, 1, size=1_000_000))


REFUSED = {
    # Kafka's error, the kind of error that it becomes, and what is reported of it
    KafkaError.MSG_SIZE_TOO_LARGE: (DeliveryError, "is refused, or the batch that it is in"),
    KafkaError.RECORD_LIST_TOO_LARGE: (EnvironmentFault, "raise segment.bytes of the topic"),
    KafkaError.INVALID_RECORD: (DataError, "one that is compacted (cleanup.policy) takes none without a key"),
    KafkaError.INVALID_TIMESTAMP: (DataError, "message.timestamp.after.max.ms of the topic"),
    KafkaError.TOPIC_AUTHORIZATION_FAILED: (EnvironmentFault, "the operator of the brokers must allow our user"),
    KafkaError.POLICY_VIOLATION: (EnvironmentFault, "a policy of the brokers refuses it"),
    KafkaError.UNSUPPORTED_COMPRESSION_TYPE: (EnvironmentFault, "Kafka_Message_Compress"),
}


def push(cluster, *errors):
    """Have the cluster answer produce requests with errors."""
    array = (ctypes.c_int * len(errors))(*errors)
    cluster._library.rd_kafka_mock_push_request_errors_array(ctypes.c_void_p(cluster._cluster), 0, len(errors), array)


@pytest.mark.parametrize("error", REFUSED, ids=lambda error: KafkaError(error).name())
def test_what_brokers_refuse_for_good_is_no_failure_that_is_retried(error, tmp_path, name):
    with EmbeddedCluster() as cluster:  # what is not asked for stays
        cluster.create([name], 1)
        made = recipe(tmp_path, cluster.brokers)
        push(cluster, error)
        delivery = Delivery(made)
        delivery.send(messages(name, 2))
        report = Report.of_json(delivery.report([], {}, None).to_json())
        found = report.refused
        assert (found.code, found.topic, found.bytes, found.key) == (error, name, 11, "k")
        assert found.digest == zlib.crc32(b"0         ")
        kind, text = REFUSED[error]
        raised = topic_limits.refused(made, found, "cycle 3")
        assert isinstance(raised, kind), raised
        assert str(raised).startswith(f"cycle 3: {name}: the message of 11 bytes with the key 'k' is refused")
        assert text in str(raised)
        if error == KafkaError.MSG_SIZE_TOO_LARGE:
            alone = topic_limits.refused(topic_limits.one_by_one(made), found, "cycle 3")
            assert isinstance(alone, DataError)
            assert "alone in its batch: max.message.bytes of the topic cannot be seen" in str(alone)
            assert "HVR_KAFKA_MSG_MAX_BYTES is 1000000" in str(alone)


@pytest.mark.parametrize("error", [KafkaError.NOT_ENOUGH_REPLICAS, KafkaError.NOT_LEADER_FOR_PARTITION])
def test_what_passes_is_sent_again(error, cluster, tmp_path, name):
    cluster.create([name], 1)
    push(cluster, error)
    delivery = Delivery(recipe(tmp_path, cluster.brokers))
    delivery.send(messages(name, 2))
    report = delivery.report([], {}, None)
    assert (report.messages, report.acknowledged, report.error, report.refused) == (2, 2, None, None)
