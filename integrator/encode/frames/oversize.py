"""Rows whose messages would be above the maximum size: an error, dead letters, or skeletons (I4, I5).

What HVR advises: less bundling, a compacter format, TrimDatatype
(https://fivetran.com/docs/hvr6/requirements/source-and-target-requirements/apache-kafka-requirements/apache-kafka-as-target).
"""

from __future__ import annotations

import dataclasses
import zlib
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.fragments import DEAD, FRAGMENT, with_column
from integrator.contracts.outgoing import RECORD_OVERHEAD, lengths
from integrator.contracts.recipe import Recipe, Sought
from integrator.contracts.table_recipe import TableRecipe
from integrator.encode.frames.framing import Framing
from integrator.engine.arrays import Ints, Mask
from integrator.errors import DataError, Fault, Place
from integrator.names.numbers import counted
from integrator.transform.columns import key_text

TOO_LARGE = "message above HVR_KAFKA_MSG_MAX_BYTES"
TOO_LARGE_FOR_TOPIC = "message above max.message.bytes of its topic"
MIN_PART = 1024
NO_VALUE = "-1"
"""The size of a tombstone's value in the headers of its dead letter, as Kafka's protocol writes it."""
_LEAST_OVERHEAD = 72
"""The fewest bytes that a large record costs beside key and value, in a batch of its own."""
_NEAR = 1.05
"""How far the size of a compressed record may be from what librdkafka makes of it."""
_NAMES = 10 * 40
"""Bytes enough for the names and lengths of a dead letter's headers."""


def place_of(changes: ChangeBatch, order: int) -> int:
    """Return the place of the change row with this order; its position may be that of another row, too."""
    return int(np.flatnonzero(changes.order == order)[0])


def above(fragments: pa.RecordBatch, framing: Framing, channel: Recipe) -> tuple[Ints, Ints]:
    """Return the places of rows whose messages would be above the maximum size (I5), or their topic's, and the sizes.

    Where a row is sought, only that one is returned.
    """
    messages, none = channel.messages, np.empty(0, np.int64)
    if not fragments.num_rows:
        return none, none
    if messages.sought is not None:
        over = _of_message(fragments, framing, messages.sought)
        return over, framing.sizes(fragments)[over]
    least = min((limit for _, limit in messages.limits), default=messages.max_bytes)
    plain = fragments["headers"].null_count == fragments.num_rows
    longest = sum(pc.max(pc.binary_length(fragments[name])).as_py() or 0 for name in ("payload", "key"))
    pairs = pc.unique(pc.binary_join_element_wise(fragments["table"], fragments["shape"], "\0")).to_pylist()
    frame = max(framing.frame_bytes(*pair.split("\0")) for pair in pairs)
    if plain and framing.with_growth(longest + frame) <= least:
        return none, none
    sizes = framing.sizes(fragments)
    is_over = sizes > messages.max_bytes
    if messages.limits:
        is_over |= _above_topics(fragments, sizes, framing, channel)
    over = np.flatnonzero(is_over)
    return over, sizes[over]


def _above_topics(fragments: pa.RecordBatch, sizes: Ints, framing: Framing, channel: Recipe) -> Mask:
    """Return which rows brokers would refuse, because their topic takes smaller messages than the channel sends.

    Brokers compare batches as they are sent, compressed; they decide of what is near to the limit.
    """
    topics = fragments["topic"].dictionary_encode()
    of_topic = np.array([channel.messages.limit_of(topic) for topic in topics.dictionary.to_pylist()], np.int64)
    limits = of_topic[np.asarray(topics.indices)]
    is_over = np.asarray(sizes - (RECORD_OVERHEAD - _LEAST_OVERHEAD) > limits, np.bool_)
    codec = channel.send.compression
    if codec == "none":
        return is_over
    for at in np.flatnonzero(is_over).tolist():
        row = fragments.slice(at, 1)
        kinds = framing.kinds(row)
        value, key = framing.values(row, np.zeros(1, np.int64), kinds)[0], framing.keys(row, kinds)[0]
        record = b"".join(one.as_py() or b"" for one in (key, value))
        is_over[at] = len(pa.compress(record, codec, asbytes=True)) > limits[at] * _NEAR
    return is_over


def _of_message(fragments: pa.RecordBatch, framing: Framing, sought: Sought) -> Ints:
    """Return the place of the row whose message is sought, if it is one of these."""
    at = np.flatnonzero(np.asarray(pc.equal(fragments["topic"], sought.topic), bool))
    rows = fragments.take(pa.array(at))
    kinds = framing.kinds(rows)
    values, keys = framing.values(rows, np.arange(len(at)), kinds), framing.keys(rows, kinds)
    found = np.flatnonzero(np.asarray(lengths(values), np.int64) + np.asarray(lengths(keys), np.int64) == sought.bytes)
    return at[[place for place in found.tolist() if zlib.crc32(values[place].as_py() or b"") == sought.digest][:1]]


class Oversized(NamedTuple):
    """The bytes of a message that is above the limit, and the topic that it is for."""

    size: int
    topic: str


def oversized(fragments: pa.RecordBatch, over: Ints, sizes: Ints) -> list[Oversized]:
    """Return what the messages of rows at some places are."""
    topics = fragments["topic"].take(pa.array(over)).to_pylist()
    return [Oversized(size, topic) for size, topic in zip(sizes.tolist(), topics, strict=True)]


def refuse(changes: ChangeBatch, at: int, recipe: TableRecipe, message: Oversized, channel: Recipe) -> DataError:
    """Return the error for a row whose message is too large."""
    ours, (size, topic) = channel.messages.max_bytes, message
    limit = channel.messages.limit_of(topic)
    if size > ours or limit == ours:
        why = f"the message has {size:,} bytes, and HVR_KAFKA_MSG_MAX_BYTES is {ours}"
        where = "here, in the topic (max.message.bytes)"
    else:
        why = f"the message has {size:,} bytes, and the topic {topic} takes up to {limit} (max.message.bytes)"
        why, where = f"{why}, and HVR_KAFKA_MSG_MAX_BYTES is {ours}", "in the topic (max.message.bytes)"
    return DataError(
        Fault(
            Place(changes.file, int(changes.line[at])),
            f"table {changes.table_of(at)}, key {key_text(changes, at, recipe)}: {why}; the largest columns are "
            f"{_largest(changes, at)}; {REMEDIES}, or raise the limit {where} and at the broker (message.max.bytes)",
        )
    )


REMEDIES = (
    "shorten them (ColumnProperties TrimDatatype), leave one out (Absent: true), choose a compacter format, send such "
    "rows to a dead letter topic or as skeletons (Oversized_Rows)"
)


def found(changes: ChangeBatch, at: int, recipe: TableRecipe, sought: Sought) -> DataError:
    """Return the error for the row of a message that a broker refused: a text, which is not rejected (tolerance)."""
    row = f"table {changes.table_of(at)}, key {key_text(changes, at, recipe)}: {sought.why}"
    columns = f"; the largest columns are {_largest(changes, at)}: {REMEDIES}" if sought.size else ""
    return DataError(str(Fault(Place(changes.file, int(changes.line[at])), f"{row}{columns}")))


def _sizes(changes: ChangeBatch, at: int, without: tuple[str, ...] = ()) -> list[tuple[str, int]]:
    """Return the columns of text and bytes of a row with their bytes, the largest first."""
    sizes = {
        name: len(values[at].as_buffer())
        for name, values in changes.columns.items()
        if (pa.types.is_string(values.type) or pa.types.is_binary(values.type))
        and values[at].is_valid
        and name not in without
        and not (name in changes.one.left_out and changes.one.left_out[name][at])
    }
    return sorted(sizes.items(), key=lambda item: -item[1])


def _largest(changes: ChangeBatch, at: int) -> str:
    named = _sizes(changes, at)[:3]
    return ", ".join(f"{name} ({counted(size, 'byte')})" for name, size in named) or "none of text or bytes"


def skeletons(changes: ChangeBatch, over: dict[int, Oversized], recipe: TableRecipe, channel: Recipe) -> ChangeBatch:
    """Return the change rows in which those over the limit (by their order) leave their largest values out.

    Such a value is as a missing one in the message, but expressions still see it. Where the two images of an
    update share a row of the message, both leave it out. Raises DataError where nothing can be left out.
    """
    gone: dict[str, list[int]] = {}
    shared = (
        changes.is_before_image
        if channel.messages.layout.envelope or channel.messages.layout.before
        else np.zeros(len(changes), bool)
    )
    for order, message in over.items():
        at = place_of(changes, order)
        rows = [at - 1, at] if at and shared[at - 1] else [at, at + 1] if shared[at] else [at]
        excess, found = message.size - channel.messages.limit_of(message.topic), False
        sizes = (item for row in rows for item in _sizes(changes, row, recipe.key))
        for name, freed in sorted(sizes, key=lambda item: -item[1]):
            if excess <= 0 or not freed:
                break
            gone.setdefault(name, []).extend(rows)
            excess, found = excess - freed, True
        if not found:
            raise refuse(changes, at, recipe, message, channel)
    left_out = dict(changes.one.left_out)
    for name, places in gone.items():
        without = left_out.get(name, np.zeros(len(changes), bool)).copy()
        without[places] = True
        left_out[name] = without
    return dataclasses.replace(changes, segments=(dataclasses.replace(changes.one, left_out=left_out),))


def dead_letters(
    fragments: pa.RecordBatch, order: Ints, over: Ints, changes: ChangeBatch, framing: Framing, channel: Recipe
) -> tuple[pa.RecordBatch, Ints]:
    """Return fragments in which the rows at the places `over` are parts of dead letters; and the order."""
    topic = channel.messages.oversized.dead_letters
    limit = channel.messages.limit_of(topic)
    parts: list[dict[str, object]] = []
    of_part: list[int] = []
    keys = framing.keys(fragments, framing.kinds(fragments))
    for at in over.tolist():
        row = fragments.slice(at, 1)
        failed = row.to_pylist()[0]
        source = place_of(changes, int(order[at]))
        value = framing.values(row, np.zeros(1, np.int64), framing.kinds(row))[0].as_py()
        size, value = (NO_VALUE, b"") if value is None else (str(len(value)), value)
        key = keys[at].as_py() or b""
        reason = TOO_LARGE if framing.sizes(row)[0] > channel.messages.max_bytes else TOO_LARGE_FOR_TOPIC
        values = (
            reason, failed["topic"], failed["table"], key[:MIN_PART], str(failed["op"]), failed["integ_seq"],
            f"{changes.file}:{changes.line[source]}", size,
        )  # fmt: skip
        headers = [text if isinstance(text, bytes) else text.encode() for text in values]
        room = limit - RECORD_OVERHEAD - _NAMES - len(key) - sum(map(len, headers))
        if room < MIN_PART:
            raise DataError(
                Fault(
                    Place(changes.file, int(changes.line[source])),
                    f"table {changes.table_of(source)}: the key alone is too large",
                )
            )
        count = max(1, -(-len(value) // room))
        for number in range(count):
            numbered = [*headers, str(number + 1).encode(), str(count).encode()]
            body = value[number * room : (number + 1) * room]
            parts.append(
                failed
                | {
                    "topic": topic,
                    "partition": None,
                    "rank": number,
                    "more": False,
                    "shape": DEAD,
                    "headers": numbered,
                    "payload": body,
                }
            )
            of_part.append(at)
    more = np.asarray(fragments["more"], bool).copy()
    more[np.maximum(over - 1, 0)] = False  # the row after it is in another topic now
    more[over] = False
    fragments = with_column(fragments, "more", pa.array(more))
    stays = np.ones(fragments.num_rows, bool)
    stays[over] = False
    dead = pa.RecordBatch.from_pylist(parts, schema=FRAGMENT)
    together = pa.Table.from_batches([fragments.filter(pa.array(stays)), dead]).combine_chunks()
    places = np.concatenate([np.flatnonzero(stays), of_part])
    back = np.argsort(places, kind="stable")
    return together.take(pa.array(back)).to_batches()[0], order[places[back]]
