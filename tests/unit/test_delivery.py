"""The producer, against librdkafka's in-process cluster, which can be told to fail."""

import ctypes
import dataclasses
import json

import pyarrow as pa
import pytest

from integrator.contracts.outgoing import Messages
from integrator.contracts.recipe import Send
from integrator.deliver.kafka import producer
from integrator.deliver.kafka.delivery import Delivery
from integrator.deliver.kafka.embedded import EmbeddedCluster
from integrator.deliver.kafka.read_back import read_back
from integrator.errors import DataError
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
    return dataclasses.replace(made, send=Send(0, timeout, settings))


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
