"""What topics have of records beside their values (`RECORD`), as columns."""

from __future__ import annotations

from base64 import b64encode

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.base64 import base64
from integrator.contracts.change_batch import RECORD
from integrator.decode.encodings import encoded
from integrator.decode.encodings.encoded import Encoding, Records, Shape
from integrator.decode.lines.lines import NO_TIME
from integrator.engine import transcode
from integrator.engine.arrays import Ints, Mask
from integrator.engine.gather import NO_TIME as HAS_NO_TIME
from integrator.librdkafka.blocks import Block
from integrator.sources.kafka.encoded_records import array_of, check_known, keys_of, pieces


def times_of(block: Block) -> Ints:
    """Return when records were written, in ms since 1970, or NO_TIME."""
    return np.where(block.room.flags & HAS_NO_TIME, NO_TIME, block.room.times)


def record_columns(block: Block, partition: int, topic: str, keys: Encoding) -> tuple[pa.Array, Ints]:
    """Return what the topic has of the records of a block, and which have a key that is no text.

    keys: how they are encoded. Raises SchemasFound.
    """
    size, times = len(block), times_of(block)
    texts, odd = _key_texts(keys_of(block), keys, topic)
    columns = {
        "topic": pa.repeat(topic, size),
        "partition": pa.repeat(pa.scalar(partition, pa.int32()), size),
        "offset": pa.array(block.offsets),
        "key": texts,
        "headers": _headers(block),
        "timestamp": pa.array(times, pa.timestamp("ms", "UTC"), mask=times == NO_TIME).cast(pa.timestamp("us", "UTC")),
    }
    return pa.StructArray.from_arrays(list(columns.values()), fields=list(RECORD)), odd


def _headers(block: Block) -> pa.Array:
    """Return the headers of each record, as texts by their names."""
    room, bounds = block.room, np.zeros(2 * len(block.room.name_ends) + 1, np.int32)
    bounds[1::2], bounds[2::2] = room.name_ends, room.item_ends
    every, at = pieces(room.fields, bounds), np.arange(0, len(bounds) - 1, 2)
    names = _texts(every.take(pa.array(at)), np.zeros(len(at), np.bool_))
    return pa.MapArray.from_arrays(
        pa.array(room.field_ends), names, _texts(every.take(pa.array(at + 1)), room.null_items)
    )


def _texts(values: pa.Array, null: Mask) -> pa.Array:
    """Return bytes as text, those that are no UTF-8 as base64."""
    try:
        texts = values.cast(pa.string())
    except pa.ArrowInvalid:
        texts = pa.array([_text(one) for one in values.to_pylist()], pa.string())
    return pc.if_else(pa.array(null), None, texts)


def _text(value: bytes) -> str:
    return value.decode() if _is_text(value) else b64encode(value).decode()


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _key_texts(keys: Records, encoding: Encoding, topic: str) -> tuple[pa.Array, Ints]:
    """Return keys as text, and the places of those that are none: two keys have one text never.

    Those with a schema are JSON, and where all are bytes they are in base64. Raises SchemasFound.
    """
    ids = encoding.ids_of(keys)
    check_known(encoding, ids, topic, "key")
    offsets = np.append(keys.starts, keys.ends[-1:] if len(keys.ends) else 0).astype(np.int32)
    values, none = pieces(keys.text, offsets), np.zeros(0, np.int64)
    if encoding.unframed == "bytes":
        return pc.if_else(pa.array(keys.null), None, base64(values)), none
    try:
        values.cast(pa.string())
    except pa.ArrowInvalid:
        is_text = np.array([_is_text(one) for one in values.to_pylist()], np.bool_)
        none = np.flatnonzero(~is_text & ~keys.null & (ids < 0))
    texts = _texts(values, keys.null)
    if not (ids >= 0).any():
        return texts, none
    framed = Records(keys.text, keys.starts, keys.ends, ids < 0)
    made = encoded.lines_of(framed, encoding, Shape(), np.where(ids < 0, transcode.NULL, ids))
    lines = pc.utf8_rtrim(array_of(made).cast(pa.string()), "\n")
    return pc.if_else(pa.array(ids >= 0), lines, texts), none
