"""Slices -> numbers and booleans, as they are written most often; what is written otherwise is not read here.

Each reader returns None where a value is something else: whoever asks reads the texts then, or says what is wrong.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from integrator.decode.json.slices import bits
from integrator.engine.arrays import Ints, Mask, Octets
from integrator.engine.numbers import parse_booleans, parse_decimals, parse_whole
from integrator.engine.values import Slices
from integrator.schema import Decimal, Integer, arrow_type

_WORDS_OF_DECIMAL = {128: 2, 256: 4}


def read_whole(text: Octets, at: Slices, *, quoted: bool) -> pa.Array | None:
    """Return whole numbers as int64; `quoted` lets texts be such. None where a value is none, or has a leading zero."""
    size = len(at.start)
    numbers, valid = np.empty(size, np.int64), np.empty(size, np.bool_)
    if not parse_whole(text, at.start, at.end, quoted, numbers, valid):
        return None
    return pa.Array.from_buffers(pa.int64(), size, [bits(valid), pa.py_buffer(numbers)])


def read_integers(text: Octets, at: Slices, kind: Integer, *, quoted: bool) -> pa.Array | None:
    """Return integers of a type; None as `read_whole`, or where one is too large."""
    numbers = read_whole(text, at, quoted=quoted)
    try:
        return None if numbers is None else numbers.cast(arrow_type(kind))
    except pa.ArrowInvalid:
        return None


def read_truth(text: Octets, at: Slices, kind: Integer) -> pa.Array | None:
    """Return booleans of JSON as 1 and 0 of a type; None where a value is none."""
    found = read_booleans(text, at)
    return None if found is None else found.cast(arrow_type(kind))


def read_booleans(text: Octets, at: Slices) -> pa.Array | None:
    """Return booleans of JSON; None where a value is none."""
    size = len(at.start)
    true, valid = np.empty(size, np.bool_), np.empty(size, np.bool_)
    return pa.array(true, mask=~valid) if parse_booleans(text, at.start, at.end, true, valid) else None


def read_decimals(text: Octets, at: Slices, kind: Decimal) -> pa.Array | None:
    """Return decimals of a type, whether they are numbers or texts; None where one is too long, or has an exponent."""
    size = len(at.start)
    numbers, valid = np.empty(size, np.int64), np.empty(size, np.bool_)
    if not parse_decimals(text, at.start, at.end, kind.scale, kind.precision, numbers, valid):
        return None
    return decimals_of(numbers, valid, kind)


def decimals_of(numbers: Ints, valid: Mask, kind: Decimal) -> pa.Array:
    """Return unscaled numbers as decimals, null where they are not valid; each must fit the type."""
    wanted = arrow_type(kind)
    wide = np.empty((len(numbers), _WORDS_OF_DECIMAL[wanted.bit_width]), np.int64)
    wide[:, 0] = numbers
    wide[:, 1:] = (numbers >> 63)[:, np.newaxis]
    return pa.Array.from_buffers(wanted, len(numbers), [bits(valid), pa.py_buffer(wide)])
