"""librdkafka's C interface: what it is given of keys and values, and what it says of wrong properties."""

import ctypes
import weakref

import numpy as np
import pyarrow as pa
import pytest

from integrator.contracts.outgoing import MessageHeaders, Messages
from integrator.deliver.kafka.producer_client import ProducerClient
from integrator.deliver.kafka.records import BESIDE_HEADERS, arguments_of, records_of
from integrator.errors import EnvironmentFault
from integrator.librdkafka import rdkafka_h
from integrator.librdkafka.rdkafka_h import ARGUMENT, RECORD

BINARY = {
    "bytes": pa.array([b"one", b"", b"three"]),
    "null is no bytes": pa.array([b"one", None, b"", b"\0four"]),
    "a slice": pa.array([b"before", b"one", None, b"", b"behind"]).slice(1, 3),
    "all null": pa.nulls(3, pa.binary()),
    "all empty": pa.array([b"", b""]),
    "none": pa.array([], pa.binary()),
}


def pointed_at(records, address, size):
    """What C finds there."""
    pairs = records[[address, size]].tolist()
    return [None if not place else ctypes.string_at(place, length) for place, length in pairs]


@pytest.mark.parametrize("values", BINARY.values(), ids=BINARY.keys())
def test_keys_and_values_are_where_the_records_say(values):
    others = pa.array([b"%d" % at for at in range(len(values))], pa.binary())
    for keys_and_values in ((values, others), (others, values)):
        records = records_of(Messages.of([("t", len(values))], *keys_and_values))
        assert pointed_at(records, "key", "key_len") == keys_and_values[0].to_pylist()
        assert pointed_at(records, "payload", "len") == keys_and_values[1].to_pylist()


def test_a_record_is_as_c_lays_it_out():
    """rd_kafka_message_t on a machine with 64 bits."""
    assert RECORD.itemsize == 72
    assert {name: RECORD.fields[name][1] for name in ("payload", "len", "key", "key_len")} == {
        "payload": 24,
        "len": 32,
        "key": 40,
        "key_len": 48,
    }


HEADERS = MessageHeaders(
    np.array([0, 2, 2, 5]),
    np.array([0, 1, 1, 0, 2]),
    [b"a", "\u00e9".encode(), b""],
    pa.array([b"1", None, b"", b"4", b"5"]),
)


TIMES = np.array([1_700_000_000_000, 0, 1_700_000_000_002])


@pytest.mark.parametrize(("start", "size"), [(0, 3), (1, 2), (2, 1), (1, 1), (1, 0)])
def test_headers_are_where_the_arguments_say(start, size):
    messages = Messages.of([("t", 3)], pa.array([b"k", None, b"n"]), pa.array([b"1", b"2", None]))
    records = records_of(messages)
    own = HEADERS.slice(start, size)
    arguments, kept = arguments_of(7, records[start : start + size], TIMES[start : start + size], own)
    assert arguments.itemsize == ARGUMENT.itemsize == 72
    found, times, at = [], [], 0
    for count in np.diff(own.bounds).tolist():
        topic, partition, _, value, key, time = arguments[at : at + BESIDE_HEADERS]
        assert (topic["first"], partition["first"].astype(np.int32)) == (7, -1)
        times.append(time["first"])
        of_message = [pointed_at(arguments[at + place : at + place + 1], "first", "second")[0] for place in (4, 3)]
        headers = arguments[at + BESIDE_HEADERS : at + BESIDE_HEADERS + count]
        texts = [ctypes.string_at(place).decode() for place in headers["first"].tolist()]
        values = pointed_at(headers, "second", "third")
        found.append((*of_message, list(zip(texts, values, strict=True))))
        at += BESIDE_HEADERS + count
    bodies = [(b"k", b"1"), (None, b"2"), (b"n", None)][start : start + size]
    assert found == [(*body, row) for body, row in zip(bodies, own.to_lists(), strict=True)]
    assert times == TIMES[start : start + size].tolist()
    assert at == len(arguments)
    del kept, messages


@pytest.mark.parametrize("kind", [pa.large_binary(), pa.string(), pa.int64()])
def test_what_is_not_binary_is_refused_before_c_reads_it(kind):
    with pytest.raises(TypeError, match="keys, values and headers are binary"):
        records_of(Messages([("t", 1)], pa.nulls(1, pa.binary()), pa.nulls(1, kind), None, None))


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"no.such": "x"}, 'property no.such: No such configuration property: "no.such"'),
        ({"linger.ms": "soon"}, "property linger.ms"),
        ({"enable.idempotence": "true", "acks": "1"}, "the Kafka client does not start: .*acks"),
    ],
)
def test_wrong_properties_are_reported(properties, expected):
    with pytest.raises(EnvironmentFault, match=expected):
        ProducerClient(properties, lambda *_: None, lambda _, __: None)


def test_a_library_of_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(rdkafka_h, "_VERSION", 3)
    with pytest.raises(EnvironmentFault, match="has the version 2; 3 is needed"):
        rdkafka_h.library.__wrapped__()


def test_what_is_thrown_away_was_not_delivered():
    failed = []
    client = ProducerClient(
        {"bootstrap.servers": "127.0.0.1:1", "log_level": "0"},
        lambda text, *_: failed.append(text),
        lambda _, __: None,
    )
    messages = Messages.of([("t", 2)], pa.nulls(2, pa.binary()), pa.array([b"1", b"2"]), partitions=0)
    assert client.produce("t", records_of(messages)) == (2, "")
    assert len(client) >= 2
    client.purge()
    assert client.flush(5) == 0
    assert failed == ["t [0]: Local: Message timed out (_MSG_TIMED_OUT)"] * 2
    client.close()


def test_i1_what_a_call_back_raises_is_raised():
    """Else a message that was not delivered would be counted as one that was."""

    def interrupted(*_):
        raise KeyboardInterrupt

    client = ProducerClient({"bootstrap.servers": "127.0.0.1:1", "log_level": "0"}, interrupted, lambda _, __: None)
    messages = Messages.of([("t", 1)], pa.nulls(1, pa.binary()), pa.array([b"1"]))
    client.produce("t", records_of(messages))
    client.purge()
    with pytest.raises(KeyboardInterrupt):
        client.flush(5)
    client.close()


def test_values_that_are_held_live_until_nothing_is_on_its_way():
    """librdkafka refers to them: it would send what is in their memory meanwhile."""
    client = ProducerClient({"bootstrap.servers": "127.0.0.1:1", "log_level": "0"}, lambda *_: None, lambda _, __: None)
    messages = Messages.of([("t", 1)], pa.nulls(1, pa.binary()), pa.array([b"1"]))
    values = weakref.ref(messages.values)
    client.hold(messages.values, 1)
    assert client.produce("t", records_of(messages)) == (1, "")
    del messages
    client.hold(None, 2)
    assert values() is not None
    assert client.held_bytes == 3
    client.purge()
    assert client.flush(5) == 0
    client.hold(None, 4)
    assert values() is None
    assert client.held_bytes == 4
    client.close()


def test_messages_that_are_refused_are_counted_and_reported():
    properties = {"bootstrap.servers": "127.0.0.1:1", "log_level": "0", "queue.buffering.max.messages": "1"}
    client = ProducerClient(properties, lambda *_: None, lambda _, __: None)
    messages = Messages.of([("t", 2)], pa.nulls(2, pa.binary()), pa.array([b"1", b"2"]))
    records = records_of(messages)
    assert client.produce("t", records) == (1, "Local: Queue full (_QUEUE_FULL)")
    headers = MessageHeaders(np.array([0, 1]), np.array([0]), [b"h"], pa.array([b"v"]))
    refused = client.produce_each("t", records[1:], None, headers)
    assert refused == (0, "Failed to produce message: Local: Queue full")
    client.purge()
    client.close()
