"""I3: once a message of a cycle has failed, none after it gets to a consumer before the cycle is sent again."""

import os
import signal
import time

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from integrator.deliver.kafka.producer import KafkaProducer
from tests.broker.test_fencing import put, values
from tests.parts import brokers

pytestmark = [pytest.mark.broker, pytest.mark.real_broker]


@pytest.fixture(scope="module")
def own_broker(tmp_path_factory):
    class_path = brokers.libraries()
    if class_path is None:
        pytest.skip("a broker of one's own needs mvn and Java 17")
    with brokers.KraftBroker(class_path, tmp_path_factory.mktemp("broker")) as kraft:
        yield kraft


def producer(broker, **properties):
    """One that sends each message in a request of its own."""
    return KafkaProducer(
        {
            "bootstrap.servers": broker.servers,
            "enable.idempotence": "true",
            "linger.ms": "0",
            "batch.num.messages": "1",
            **properties,
        }
    )


def create(broker, name, **config):
    admin = AdminClient({"bootstrap.servers": broker.servers})
    admin.create_topics([NewTopic(name, 1, 1, config=config)])[name].result()


def test_messages_whose_time_is_over_are_not_passed_by_later_ones(own_broker, name):
    create(own_broker, name)
    late = producer(own_broker, **{"message.timeout.ms": "2000"})
    put(late, name, "first")
    assert late.flush() == 0
    os.kill(own_broker.process.pid, signal.SIGSTOP)
    try:
        put(late, name, *(f"a{number}" for number in range(50)))
        time.sleep(1.7)
        put(late, name, *(f"b{number}" for number in range(50)))
        time.sleep(0.8)  # the time of the a's is over, and not that of the b's
        late.flush()
    finally:
        os.kill(own_broker.process.pid, signal.SIGCONT)
    assert late.latch.error == f"{name} [0]: Local: Message timed out (_MSG_TIMED_OUT)"
    late.abandon()
    there = values(own_broker, name, "read_uncommitted")
    assert there == ["first", *(f"a{number}" for number in range(50))][: len(there)]
    assert late.latch.accepted - late.latch.failed <= len(there) < 51


def test_messages_after_one_that_is_refused_are_not_sent(own_broker, name):
    create(own_broker, name, **{"max.message.bytes": "1000"})
    refused = producer(own_broker)
    put(refused, name, "first", "second")
    assert refused.flush() == 0
    put(refused, name, "third", "x" * 2000, *map(str, range(500)))
    refused.flush()
    assert "MSG_SIZE_TOO_LARGE" in refused.latch.refused.reason
    refused.abandon()
    assert values(own_broker, name, "read_uncommitted") == ["first", "second", "third"]
