"""Messages as librdkafka's C interface takes them: structures with the addresses of Arrow's bytes, made by numpy."""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from integrator.contracts.outgoing import MessageHeaders, Messages
from integrator.engine.arrays import Ints
from integrator.librdkafka.rdkafka_h import ARGUMENT, RECORD, Records

OWN_PARTITION = 8
"""Each record has its partition (RD_KAFKA_MSG_F_PARTITION). Without another flag librdkafka copies keys and headers,
and refers to values until the message is reported or its success counted."""
_RKT, _PARTITION, _VALUE, _KEY, _FLAGS, _TIMESTAMP, _HEADER = 2, 3, 4, 5, 7, 8, 9
"""Kinds of arguments of rd_kafka_produceva (rd_kafka_vtype_t)."""
BESIDE_HEADERS = 6
"""Arguments of a message beside its headers: topic, partition, flags, value, key and timestamp."""
_EMPTY = ctypes.create_string_buffer(1)
"""An address for values without bytes, which are not null."""


def records_of(messages: Messages) -> Records:
    """Return messages as librdkafka is given them: they are good as long as `messages` is there."""
    records = np.zeros(len(messages.values), RECORD)
    records["partition"] = messages.partitions
    for address, size, values in (("key", "key_len", messages.keys), ("payload", "len", messages.values)):
        records[address], records[size] = _places(values)
    return records


def _places(values: pa.BinaryArray) -> tuple[Ints, Ints]:
    """Return the address of each value, and its size; both are 0 for null."""
    if not pa.types.is_binary(values.type):
        raise TypeError(f"keys, values and headers are binary, not {values.type}")
    if not len(values):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    _, offsets, data = values.buffers()
    ends = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    start = data.address if data is not None and data.size else ctypes.addressof(_EMPTY)
    there = np.asarray(values.is_valid())
    return (ends[:-1] + start) * there, np.diff(ends) * there


def arguments_of(
    topic: int, records: Records, timestamps: Ints | None, headers: MessageHeaders
) -> tuple[npt.NDArray[np.void], object]:
    """Return the arguments of rd_kafka_produceva for each message, one after another, and what keeps them good.

    topic: its rd_kafka_topic_t. They are BESIDE_HEADERS, and one for each header.
    """
    begin, end = int(headers.bounds[0]), int(headers.bounds[-1])
    first = headers.bounds[:-1] - begin + BESIDE_HEADERS * np.arange(len(headers))
    arguments = np.zeros(end - begin + BESIDE_HEADERS * len(headers), ARGUMENT)
    is_header = np.ones(len(arguments), np.bool_)
    given = (_RKT, topic, 0), (_PARTITION, records["partition"], 0), (_FLAGS, 0, 0)
    of_record = (_VALUE, records["payload"], records["len"]), (_KEY, records["key"], records["key_len"])
    sent_at = (_TIMESTAMP, 0 if timestamps is None else timestamps, 0)
    for place, (kind, one, other) in enumerate((*given, *of_record, sent_at)):
        at = first + place
        arguments["kind"][at], arguments["first"][at], arguments["second"][at] = kind, one, other
        is_header[at] = False
    texts = np.frombuffer(b"".join(text + b"\0" for text in headers.texts), np.uint8)
    starts = np.cumsum([0, *(len(text) + 1 for text in headers.texts)])
    values = headers.values.slice(begin, end - begin)
    arguments["kind"][is_header] = _HEADER
    arguments["first"][is_header] = texts.ctypes.data + starts[headers.names[begin:end]]
    arguments["second"][is_header], arguments["third"][is_header] = _places(values)
    return arguments, (texts, values)
