"""A call of librdkafka that never returns, for the broker that it asks was restarted (librdkafka#5456, #5511)."""

import time

import pyarrow as pa
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from integrator.contracts.outgoing import Messages
from integrator.deliver.kafka import producer_client
from integrator.deliver.kafka.producer_client import ProducerClient
from integrator.deliver.kafka.records import records_of
from tests.parts import brokers

pytestmark = pytest.mark.skipif(brokers.libraries() is None, reason="Apache Kafka from Maven Central")


def transactional(broker):
    properties = {"bootstrap.servers": broker.servers, "transactional.id": "t", "log_level": "0"}
    client = ProducerClient(properties, lambda *_: None, lambda *_: None)
    assert client.init_transactions(60) == ""
    return client


def send(client):
    assert client.begin_transaction() == ""
    client.produce("t", records_of(Messages.of([("t", 1)], pa.array([b"k"]), pa.array([b"v"]))))
    assert client.flush(60) == 0


@pytest.mark.real_broker
def test_a_commit_whose_broker_was_restarted_ends_and_the_next_producer_continues(tmp_path, monkeypatch):
    """Whether librdkafka waits for ever or not: the call returns, the client is given up, and its id can be used."""
    monkeypatch.setattr(producer_client, "_GRACE_S", 2.0)
    with brokers.KraftBroker(brokers.libraries(), tmp_path) as broker:
        admin = AdminClient({"bootstrap.servers": broker.servers})
        admin.create_topics([NewTopic("t", 1, 1)])["t"].result(60)
        client = transactional(broker)
        send(client)
        assert client.send_offset("t", "t", 1, "first", 60) == ""  # which finds the group's coordinator
        assert client.commit_transaction(60) == ""
        send(client)
        broker.stop()
        broker.start()
        began = time.monotonic()
        reason = client.send_offset("t", "t", 2, "second", 5)
        assert time.monotonic() - began < 60
        if reason:
            assert client.commit_transaction(5), "a client that is stuck does nothing more"
        client.close()
        after = transactional(broker)
        send(after)
        assert after.send_offset("t", "t", 3, "third", 60) == ""
        assert after.commit_transaction(60) == ""
        after.close()
