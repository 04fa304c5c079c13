"""I3: a producer whose transactional id another one has taken over gets nothing more to a consumer, whenever it continues."""

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, TopicPartition

from integrator.contracts.outgoing import Messages
from integrator.contracts.recipe import Send
from integrator.deliver.kafka.topic_batcher import TopicBatcher
from integrator.deliver.kafka.transaction import TransactionalProducer
from integrator.errors import DeliveryError

pytestmark = pytest.mark.broker


def put(producer, topic, *texts):
    batcher = TopicBatcher()
    values = pa.array([text.encode() for text in texts], pa.binary())
    messages = Messages.of([(topic, len(texts))], pa.nulls(len(texts), pa.binary()), values)
    for batch in [*batcher.add(messages), *batcher.rest()]:
        producer.send(batch)


def values(broker, topic, level):
    """What a consumer has when nothing more comes: the marks of a commit are written a moment after it."""
    consumer = Consumer({"bootstrap.servers": broker.servers, "group.id": "x", "isolation.level": level})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = []
    while (message := consumer.poll(5)) is not None:
        found.append(message.value().decode())
    consumer.close()
    return found


@pytest.mark.parametrize(
    "sent_before", [True, False], ids=["in the middle of its transaction", "before its first message"]
)
def test_a_predecessor_that_continues_is_refused(sent_before, broker, name):
    broker.create([name], 1)
    send = Send(producer={"bootstrap.servers": broker.servers, "linger.ms": "0"})
    old = TransactionalProducer(send, f"{name}-0")
    old.begin()
    if sent_before:
        put(old, name, "old 1")
        assert old.flush() == 0
    new = TransactionalProducer(send, f"{name}-0")
    new.begin()
    put(new, name, "new 1", "new 2")
    assert new.flush() == 0
    new.commit(None, "")
    put(old, name, "old 2", "old 3")  # it was paused, and continues
    old.flush()
    assert old.latch.failed == 2
    with pytest.raises(DeliveryError, match="fenced"):
        old.commit(None, "")
    assert values(broker, name, "read_committed") == ["new 1", "new 2"]
    assert values(broker, name, "read_uncommitted") == ["old 1"] * sent_before + ["new 1", "new 2"]
    new.client.close()
    old.abandon()
