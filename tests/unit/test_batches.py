"""Messages that wait for more of their topic: none is lost, each topic is in order, and not too many wait."""

import random

import pyarrow as pa

from integrator.outgoing import Messages
from integrator.produce.batches import Batches


def messages(topic, *texts):
    values = pa.array([text.encode() for text in texts], pa.binary())
    return Messages.of(topic, pa.nulls(len(texts), pa.binary()), values)


def shown(ready):
    return [(part.topic, value.decode()) for parts in ready for part in parts for value in part.values.to_pylist()]


def test_messages_wait_until_their_topic_fills_a_batch():
    batches = Batches(full_bytes=204)
    assert shown(batches.add(messages("a", "a1"))) == []
    assert shown(batches.add(messages("b", "b1"))) == []
    assert shown(batches.add(messages("a", "a2"))) == [("a", "a1"), ("a", "a2")]
    assert shown(batches.rest()) == [("b", "b1")]
    assert shown(batches.rest()) == []


def test_a_topic_with_full_batches_does_not_wait():
    batches = Batches(full_bytes=204)
    assert shown(batches.add(messages("a", "a1", "a2"))) == [("a", "a1"), ("a", "a2")]


def test_those_that_waited_longest_go_first():
    batches = Batches(full_bytes=1000, most_behind=3 * 102)
    assert shown(batches.add(messages("a", "a1"))) == []
    assert shown(batches.add(messages("b", "b1"))) == []
    assert shown(batches.add(messages("a", "a2"))) == [("a", "a1"), ("a", "a2")]
    assert shown(batches.add(messages("a", "a3"))) == [("b", "b1")]
    assert shown(batches.add(messages("c", "c1"))) == []
    assert shown(batches.rest()) == [("a", "a3"), ("c", "c1")]


def test_a_message_does_not_wait_for_ever_behind_a_busy_topic():
    """It is a slice of what came with it, which stays in memory as long."""
    batches = Batches(full_bytes=2 * 102, most_behind=10 * 102)
    assert shown(batches.add(messages("quiet", "q1"))) == []
    sent = [topic for at in range(20) for topic, _ in shown(batches.add(messages("busy", f"{at:02}")))]
    assert sent[:10] == ["busy"] * 8 + ["quiet", "busy"]


def test_empty_messages_fill_batches_too():
    batches = Batches(full_bytes=1000)
    assert len(shown(batches.add(messages("a", *[""] * 10)))) == 10


def test_i3_i4_all_come_out_once_each_topic_in_order():
    chance = random.Random(5)
    batches, given, sent = Batches(full_bytes=1000, most_behind=5000), [], []
    for number in range(2000):
        topic = chance.choice("abcdefgh" if number % 3 else "a")
        texts = [f"{number}.{at}" for at in range(chance.randrange(1, 4))]
        given += [(topic, text) for text in texts]
        sent += shown(batches.add(messages(topic, *texts)))
    sent += shown(batches.rest())
    assert sorted(sent) == sorted(given)
    for topic in "abcdefgh":
        assert [one for one in sent if one[0] == topic] == [one for one in given if one[0] == topic]
