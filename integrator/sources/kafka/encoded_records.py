"""Values and keys of blocks, as encodings read them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from integrator.decode.encodings.encoded import EncodedLines, Encoding, Records
from integrator.engine.arrays import Ints, Octets, Places
from integrator.engine.gather import NULL_KEY
from integrator.errors import SchemasFound
from integrator.librdkafka.blocks import Block


def values_of(block: Block) -> Records:
    """Return the values of a block."""
    return Records(block.values, block.ends[:-1].astype(np.int64), block.ends[1:].astype(np.int64) - 1, block.nulls)


def keys_of(block: Block) -> Records:
    """Return the keys of a block."""
    ends = block.room.key_ends.astype(np.int64)
    return Records(block.room.keys, ends[:-1], ends[1:], (block.room.flags & NULL_KEY) != 0)


def taken(records: Records, at: Ints) -> Records:
    """Return the records at some places."""
    return Records(records.text, records.starts[at], records.ends[at], records.null[at])


def check_known(encoding: Encoding, ids: Ints, topic: str, part: str) -> None:
    """Raise SchemasFound for ids of schemas that are not known."""
    unknown = encoding.unknown(ids)
    if unknown:
        numbers = ", ".join(map(str, unknown))
        raise SchemasFound(f"{topic}: the {part}s of records have the schemas {numbers}", topic, unknown)


def array_of(lines: EncodedLines) -> pa.Array:
    """Return lines as bytes."""
    return pieces(lines.data, lines.ends)


def pieces(data: bytearray | Octets, bounds: Places) -> pa.Array:
    """Return what is between bounds in data."""
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(bounds) - 1, buffers)
