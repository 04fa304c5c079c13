"""What is done to text messages at the end: line ends, encoding; and to any message as a whole: compression."""

from __future__ import annotations

import codecs
import gzip
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first_refused, flat
from integrator.contracts.message_format import Options
from integrator.formats.records import InvalidValue

_ENDS = {"UNIX": b"\n", "DOS": b"\r\n"}
_CONTINUATION, _ASTRAL = 0x80, 0xF0
_NO_COMPRESSION_TIME = 0
Finish = Callable[[pa.Array], pa.Array]


def text_bytes(values: pa.Array, options: Options) -> pa.Array:
    """Return UTF-8 text (null stays null) with the line ends and in the encoding of `options`, as bytes.

    Raises InvalidValue for a character that the encoding does not have.
    """
    data = values.view(pa.binary()) if pa.types.is_string(values.type) else values
    if options.newlines:
        data = pc.replace_substring(data, b"\r\n", b"\n")
        if options.newlines == "DOS":
            data = pc.replace_substring(data, b"\n", _ENDS["DOS"])
    return data if options.encoding == "UTF-8" else _encoded(data, codecs.lookup(options.encoding).name)


def _encoded(data: pa.Array, codec: str) -> pa.Array:
    """Encode all rows at once; where each begins then follows from the characters before it."""
    octets, offsets = flat(data)
    try:
        encoded = octets.tobytes().decode().encode(codec)
    except UnicodeDecodeError:
        raise InvalidValue(0, "bytes that are no UTF-8 cannot be written in another encoding") from None
    except UnicodeEncodeError as error:
        index = first_refused(len(data), lambda start, stop: _encodes(data.slice(start, stop - start), codec))
        character = error.object[error.start]
        refusal = f"{codec} has no character {character!r} (U+{ord(character):04X}); choose another Encoding"
        raise InvalidValue(index, refusal) from None
    units = (octets & 0xC0) != _CONTINUATION
    count = np.concatenate([[0], np.cumsum(units, dtype=np.int64)])
    if codec.startswith("utf-16"):
        count = 2 * (count + np.concatenate([[0], np.cumsum(octets >= _ASTRAL, dtype=np.int64)]))
    buffers = [None, pa.py_buffer(count[offsets].astype(np.int32)), pa.py_buffer(encoded)]
    made = pa.Array.from_buffers(pa.binary(), len(data), buffers)
    return pc.if_else(pc.is_valid(data), made, None) if data.null_count else made


def _encodes(data: pa.Array, codec: str) -> bool:
    try:
        flat(data)[0].tobytes().decode().encode(codec)
    except UnicodeEncodeError:
        return False
    return True


def compressor(options: Options) -> Finish | None:
    """Return what compresses each message as a whole, or None. The same message gives the same bytes (I2)."""
    if not options.compress:
        return None
    if options.compress == "GZIP":
        return lambda values: _each(values, lambda data: gzip.compress(data, mtime=_NO_COMPRESSION_TIME))
    codec = pa.Codec("lz4")
    return lambda values: _each(values, lambda data: codec.compress(data, asbytes=True))


def _each(values: pa.Array, compress: Callable[[bytes], bytes]) -> pa.Array:
    return pa.array([None if data is None else compress(data) for data in values.to_pylist()], pa.binary())
