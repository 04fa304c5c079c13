"""Avro's object container file, one for each message (https://avro.apache.org/docs/1.12.0/specification/#object-container-files).

The sync marker is a hash of the schema, not a random number: a message that is sent again is the same (I2).
"""

from __future__ import annotations

import hashlib
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.varints import join_parts, varint, zigzag
from integrator.contracts.message_format import Options, SchemaId
from integrator.engine.arrays import Ints
from integrator.formats import avro
from integrator.formats.avro_values import BY_COLUMN, sayable
from integrator.formats.contract import Format, Frame
from integrator.formats.record_names import name_refusal, record_refusal
from integrator.formats.records import Columns

MAGIC = b"Obj\x01"
_CODECS = {"NONE": b"null", "DEFLATE": b"deflate"}


def _long(value: int) -> bytes:
    return varint(zigzag(np.array([value], np.int64))).flat()[0].as_py()  # type: ignore[no-any-return]


def _bytes(data: bytes) -> bytes:
    return _long(len(data)) + data


def frame(name: str, columns: Columns, options: Options, _id: SchemaId | None) -> Frame:
    """Return the file's header; the rows of a message become one block."""
    text = avro.schema_text(name, columns, options).encode()
    sync = hashlib.md5(text, usedforsecurity=False).digest()
    meta = _bytes(b"avro.schema") + _bytes(text) + _bytes(b"avro.codec") + _bytes(_CODECS[options.block_compress])
    deflate = options.block_compress == "DEFLATE"

    def block(rows: pa.Array, count: Ints) -> pa.Array:
        data = pa.array([_deflated(part) for part in rows.to_pylist()], pa.binary()) if deflate else rows
        size = varint(zigzag(np.asarray(pc.binary_length(data)).astype(np.int64)))
        return join_parts([varint(zigzag(count)), size, data])

    return Frame(MAGIC + _long(2) + meta + _long(0) + sync, sync, assemble=block)


def _deflated(data: bytes) -> bytes:
    """Compress without zlib's header, as the deflate codec wants it."""
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()


FORMAT = Format(
    BY_COLUMN,
    frame,
    missing="refuse",
    schema_text=avro.schema_text,
    refusal=sayable,
    name_refusal=name_refusal,
    record_refusal=record_refusal,
    text=False,
    named=True,
    bundles=lambda _options: "table",
    compresses=lambda options: options.block_compress == "DEFLATE",
)
