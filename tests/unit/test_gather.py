"""Records of librdkafka as arrays: read from its in-process cluster, so that no broker is needed."""

import itertools
import random

import numpy as np
import pytest
from confluent_kafka import Producer

from integrator.cli import quickstart
from integrator.deliver.kafka.embedded import EmbeddedCluster
from integrator.librdkafka.consumer import Consumer
from integrator.librdkafka.fetching import Range, ReadFault

pytestmark = [pytest.mark.engine, pytest.mark.engine_without_compiler]

COUNT = 300


def some(rng, most):
    return None if rng.random() < 0.1 else rng.randbytes(0 if rng.random() < 0.1 else rng.randrange(most))


@pytest.fixture(scope="module")
def odd():
    """A topic of odd records, and these: key, value, headers."""
    rng = random.Random(1)
    with EmbeddedCluster() as cluster:
        cluster.create(["odd"], 1)
        producer = Producer({"bootstrap.servers": cluster.brokers, "linger.ms": 5})
        records = []
        for _ in range(COUNT):
            headers = [
                (f"h{rng.randrange(5)}" * rng.randrange(1, 4), some(rng, 40)) for _ in range(rng.choice((0, 0, 1, 9)))
            ]
            records.append((some(rng, 20), some(rng, 300), headers))
            producer.produce("odd", records[-1][1], key=records[-1][0], headers=headers or None)
        assert producer.flush(10) == 0
        yield cluster.brokers, records


def rows_of(blocks):
    found = []
    for block in blocks:
        data, ends = block.values.tobytes(), block.ends.tolist()
        values = [data[begin : end - 1] for begin, end in itertools.pairwise(ends)]
        assert all(data[end - 1 : end] == b"\n" for end in ends[1:])
        assert all(values[at] == b"null" for at in np.flatnonzero(block.nulls))
        values = [None if null else value for value, null in zip(values, block.nulls, strict=True)]
        found += zip(block.offsets.tolist(), block.keys(), values, block.headers(), strict=True)
    return found


@pytest.mark.parametrize("block_bytes", [16 << 20, 1000])
def test_records_come_as_they_were_sent_however_ranges_are_cut(odd, block_bytes):
    brokers, records = odd
    rng, found, at = random.Random(2), [], 0
    consumer = Consumer({"bootstrap.servers": brokers}, block_bytes=block_bytes, timeout_s=10)
    while at < COUNT:
        end = min(COUNT, at + rng.choice((1, 3, 100)))
        found += rows_of(consumer.read(Range("odd", 0, at, end), headers=True))
        at = end
    assert found == [(at, *record) for at, record in enumerate(records)]
    assert rows_of(consumer.read(Range("odd", 0, 7, 9), headers=True)) == found[7:9]
    assert rows_of(consumer.read(Range("odd", 0, 5, 5), headers=True)) == []
    consumer.close()


def test_ranges_that_are_read_next_are_fetched_meanwhile_and_left_in_the_end(odd):
    brokers, records = odd
    consumer = Consumer({"bootstrap.servers": brokers}, timeout_s=10)
    ranges = [Range("odd", 0, at, at + 50) for at in range(0, COUNT, 50)]
    consumer.begin([Range("odd", 0, 0, 0), *ranges])
    found = []
    for wanted in ranges:
        assert list(consumer._open) == [("odd", 0)]
        found += rows_of(consumer.read(wanted, headers=True))
    assert [row[0] for row in found] == list(range(COUNT))
    assert not consumer._open
    consumer.close()


def test_headers_are_read_only_where_they_are_wanted(odd):
    brokers, records = odd
    consumer = Consumer({"bootstrap.servers": brokers}, timeout_s=10)
    found = rows_of(consumer.read(Range("odd", 0, 0, COUNT)))
    assert found == [(at, key, value, []) for at, (key, value, _) in enumerate(records)]
    consumer.close()


def test_what_the_partition_does_not_have_is_a_fault_with_its_offsets(odd):
    brokers, _ = odd
    consumer = Consumer({"bootstrap.servers": brokers}, timeout_s=0.5)
    wanted = Range("odd", 0, 0, COUNT + 1)
    with pytest.raises(ReadFault) as raised:
        rows_of(consumer.read(wanted, headers=True))
    assert raised.value == ReadFault("cut", wanted, COUNT, raised.value.text, 0, COUNT)
    consumer.close()


def test_preparing_reads_a_record_so_that_the_loop_is_compiled(odd, monkeypatch):
    monkeypatch.setenv(quickstart._BROKERS, odd[0])
    monkeypatch.setattr(quickstart, "_RECORD_S", 0.5)
    assert quickstart._read_topic("odd", 1) == 1
    assert quickstart._read_topic("none", 1) == 0
