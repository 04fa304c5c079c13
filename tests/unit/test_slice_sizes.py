"""How large offsets are is seen, where there are more than a few: a slice has about as many bytes as it is to have."""

import uuid

import pytest
from confluent_kafka import Producer

from integrator.deliver.kafka.embedded import EmbeddedCluster
from integrator.sources.kafka import sizes
from integrator.sources.kafka.ranges import Stream
from integrator.sources.kafka.sizes import FEW, Untaken, means


@pytest.fixture
def made():
    with EmbeddedCluster() as cluster:
        yield cluster
        while sizes._CONSUMERS:
            sizes._CONSUMERS.popitem()[1].close()


def of(topic, partition, begin, end):
    return Untaken(Stream(topic, topic, partition), begin, end)


def test_offsets_are_looked_at_where_there_are_many(made):
    topic, large, small = uuid.uuid4().hex, 20_000, 100
    made.create([topic], 4)
    properties = {"bootstrap.servers": made.brokers}
    producer = Producer(properties)
    for size, partition, count in ((large, 0, FEW + 20), (small, 1, FEW + 20), (large, 2, FEW)):
        for _ in range(count):
            producer.produce(topic, b"x" * size, partition=partition)
    for _ in range(FEW + 20):  # larger ones come
        producer.produce(topic, b"x" * large, partition=1)
    assert producer.flush(20) == 0
    there = [of(topic, 0, 0, FEW + 20), of(topic, 1, 0, 2 * FEW + 40), of(topic, 2, 0, FEW)]
    found = means(properties, there)
    assert found[0] == pytest.approx(large, rel=0.01)
    assert small <= found[1] < large
    assert found[2] == 1_000
    assert means(properties, [of(topic, 1, FEW + 20, 2 * FEW + 40)]) == [found[1]]


def test_offsets_are_looked_at_again_when_many_have_passed(made, monkeypatch):
    monkeypatch.setattr(sizes, "_KNOWN_FOR", 150)
    topic = uuid.uuid4().hex
    made.create([topic], 1)
    properties = {"bootstrap.servers": made.brokers}
    producer = Producer(properties)
    for number in range(300):
        producer.produce(topic, b"x" * (100 if number < 150 else 10_000), partition=0)
    assert producer.flush(20) == 0
    assert means(properties, [of(topic, 0, 0, 149)]) == [101]
    assert means(properties, [of(topic, 0, 149, 300)]) == [101]
    assert means(properties, [of(topic, 0, 150, 300)]) == [10_001]
