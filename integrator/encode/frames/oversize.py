"""Rows whose messages would be above the maximum size: an error, dead letters, or skeletons (I4, I5).

What HVR advises: less bundling, a compacter format, TrimDatatype
(https://fivetran.com/docs/hvr6/requirements/source-and-target-requirements/apache-kafka-requirements/apache-kafka-as-target).
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa

from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.fragments import DEAD, FRAGMENT, with_column
from integrator.contracts.outgoing import RECORD_OVERHEAD
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import TableRecipe
from integrator.encode.frames.framing import Framing
from integrator.engine.arrays import Ints
from integrator.errors import DataError, Fault, Place
from integrator.names.numbers import counted
from integrator.transform.columns import key_text

TOO_LARGE = "message above HVR_KAFKA_MSG_MAX_BYTES"
MIN_PART = 1024
NO_VALUE = "-1"
"""The size of a tombstone's value in the headers of its dead letter, as Kafka's protocol writes it."""
_NAMES = 10 * 40
"""Bytes enough for the names and lengths of a dead letter's headers."""


def place_of(changes: ChangeBatch, order: int) -> int:
    """Return the place of the change row with this order; its position may be that of another row, too."""
    return int(np.flatnonzero(changes.order == order)[0])


def refuse(changes: ChangeBatch, at: int, recipe: TableRecipe, size: int, limit: int) -> DataError:
    """Return the error for a row whose message has `size` bytes."""
    return DataError(
        Fault(
            Place(changes.file, int(changes.line[at])),
            f"table {changes.table_of(at)}, key {key_text(changes, at, recipe)}: the "
            f"message has {size:,} bytes, and HVR_KAFKA_MSG_MAX_BYTES is {limit}; the largest columns are "
            f"{_largest(changes, at)}; shorten them (ColumnProperties TrimDatatype), leave one out (Absent: true), "
            "choose a compacter format, send such rows to a dead letter topic or as skeletons (Oversized_Rows), or "
            "raise the limit here, in the topic (max.message.bytes) and at the broker (message.max.bytes)",
        )
    )


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


def skeletons(changes: ChangeBatch, over: dict[int, int], recipe: TableRecipe, channel: Recipe) -> ChangeBatch:
    """Return the change rows in which those over the limit (sizes by order) leave their largest values out.

    Such a value is as a missing one in the message, but expressions still see it. Where the two images of an
    update share a row of the message, both leave it out. Raises DataError where nothing can be left out.
    """
    gone: dict[str, list[int]] = {}
    shared = (
        changes.is_before_image
        if channel.messages.layout.envelope or channel.messages.layout.before
        else np.zeros(len(changes), bool)
    )
    for order, size in over.items():
        at = place_of(changes, order)
        rows = [at - 1, at] if at and shared[at - 1] else [at, at + 1] if shared[at] else [at]
        excess, found = size - channel.messages.max_bytes, False
        sizes = (item for row in rows for item in _sizes(changes, row, recipe.key))
        for name, freed in sorted(sizes, key=lambda item: -item[1]):
            if excess <= 0 or not freed:
                break
            gone.setdefault(name, []).extend(rows)
            excess, found = excess - freed, True
        if not found:
            raise refuse(changes, at, recipe, size, channel.messages.max_bytes)
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
    topic, limit = channel.messages.oversized.dead_letters, channel.messages.max_bytes
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
        values = (
            TOO_LARGE, failed["topic"], failed["table"], key[:MIN_PART], str(failed["op"]), failed["integ_seq"],
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
