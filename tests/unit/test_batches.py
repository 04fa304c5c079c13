"""Messages that wait for more of their topic: none is lost, each topic is in order, and not too many wait."""

import random

import pyarrow as pa

from integrator.contracts.outgoing import Messages
from integrator.deliver.kafka.topic_batcher import TopicBatcher


def messages(topic, *texts):
    values = pa.array([text.encode() for text in texts], pa.binary())
    return Messages.of([(topic, len(texts))], pa.nulls(len(texts), pa.binary()), values)


def values(batch):
    return [value.decode() for part in batch.parts for value in part.messages.values[part.begin : part.end].to_pylist()]


def shown(ready):
    return [(batch.topic, value) for batch in ready for value in values(batch)]


def test_messages_wait_until_their_topic_fills_a_batch():
    batches = TopicBatcher(full_bytes=204)
    assert shown(batches.add(messages("a", "a1"))) == []
    assert shown(batches.add(messages("b", "b1"))) == []
    assert shown(batches.add(messages("a", "a2"))) == [("a", "a1"), ("a", "a2")]
    assert shown(batches.rest()) == [("b", "b1")]
    assert shown(batches.rest()) == []


def test_a_topic_with_full_batches_does_not_wait():
    batches = TopicBatcher(full_bytes=204)
    assert shown(batches.add(messages("a", "a1", "a2"))) == [("a", "a1"), ("a", "a2")]


def test_those_that_waited_longest_go_first():
    batches = TopicBatcher(full_bytes=1000, most_after=3 * 102)
    assert shown(batches.add(messages("a", "a1"))) == []
    assert shown(batches.add(messages("b", "b1"))) == []
    assert shown(batches.add(messages("a", "a2"))) == [("a", "a1"), ("a", "a2")]
    assert shown(batches.add(messages("a", "a3"))) == [("b", "b1")]
    assert shown(batches.add(messages("c", "c1"))) == []
    assert shown(batches.rest()) == [("a", "a3"), ("c", "c1")]


def test_a_message_does_not_wait_for_ever_behind_a_busy_topic():
    """It is a slice of what came with it, which stays in memory as long."""
    batches = TopicBatcher(full_bytes=2 * 102, most_after=10 * 102)
    assert shown(batches.add(messages("quiet", "q1"))) == []
    sent = [topic for at in range(20) for topic, _ in shown(batches.add(messages("busy", f"{at:02}")))]
    assert sent[:10] == ["busy"] * 8 + ["quiet", "busy"]


def test_empty_messages_fill_batches_too():
    batches = TopicBatcher(full_bytes=1000)
    assert len(shown(batches.add(messages("a", *[""] * 10)))) == 10


def test_i3_i4_all_come_out_once_each_topic_in_order():
    chance = random.Random(5)
    batches, given, sent = TopicBatcher(full_bytes=1000, most_after=5000), [], []
    for number in range(2000):
        topic = chance.choice("abcdefgh" if number % 3 else "a")
        texts = [f"{number}.{at}" for at in range(chance.randrange(1, 4))]
        given += [(topic, text) for text in texts]
        sent += shown(batches.add(messages(topic, *texts)))
    sent += shown(batches.rest())
    assert sorted(sent) == sorted(given)
    for topic in "abcdefgh":
        assert [one for one in sent if one[0] == topic] == [one for one in given if one[0] == topic]


def test_messages_of_several_topics_are_divided():
    several = Messages.of(
        [("a", 2), ("b", 1), ("c", 3)], pa.nulls(6, pa.binary()), pa.array([b"%d" % at for at in range(6)])
    )
    batches = TopicBatcher(full_bytes=3 * 101)
    assert shown(batches.add(several)) == [("c", "3"), ("c", "4"), ("c", "5")]
    assert shown(batches.add(messages("a", "6"))) == [("a", "0"), ("a", "1"), ("a", "6")]
    assert shown(batches.rest()) == [("b", "2")]


def test_no_messages_are_none():
    none = Messages.of([], pa.array([], pa.binary()), pa.array([], pa.binary()))
    assert shown(TopicBatcher().add(none)) == []


def test_a_batch_is_sliced_over_its_parts():
    batches = TopicBatcher()
    for texts in (["0", "1", "2"], ["3"], ["4", "5"]):
        assert not list(batches.add(messages("a", *texts)))
    [batch] = batches.rest()
    assert len(batch) == 6
    for start in range(6):
        for size in range(1, 7 - start):
            part = batch.slice(start, size)
            assert values(part) == [str(at) for at in range(start, start + size)]
            assert len(part) == size
            assert part.size == 101 * size
