"""Slices -> numbers and booleans, as they are written most often; what is written otherwise is not read here.

Each reader returns None where a value is something else: whoever asks reads the texts then, or says what is wrong.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from integrator.arrow.compiled import compiled
from integrator.decode.json.characters import is_null
from integrator.decode.json.grammar import QUOTE
from integrator.decode.json.slices import Slices, bits
from integrator.engine.arrays import Ints, Mask, Octets, Places
from integrator.schema import Decimal, Integer, arrow_type

_MINUS, _POINT, _ZERO, _NINE = b"-.09"
_PAD = ord("=")
_SIXTY_FOUR = np.full(256, -1, np.int64)
_SIXTY_FOUR[list(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")] = np.arange(62)
_SIXTY_FOUR[list(b"+/-_")] = [62, 63, 62, 63]
_MOST_BYTES = 8
_TRUE, _FALSE = np.frombuffer(b"true", np.uint8), np.frombuffer(b"false", np.uint8)
MOST_DIGITS = 18
"""That any number of 64 bits may have."""
_WORDS_OF_DECIMAL = {128: 2, 256: 4}


def read_whole(text: Octets, at: Slices, *, quoted: bool) -> pa.Array | None:
    """Return whole numbers as int64; `quoted` lets texts be such. None where a value is none, or has a leading zero."""
    size = len(at.start)
    numbers, valid = np.empty(size, np.int64), np.empty(size, np.bool_)
    if not _whole(text, at.start, at.end, quoted, numbers, valid):
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
    return pa.array(true, mask=~valid) if _booleans(text, at.start, at.end, true, valid) else None


def read_decimals(text: Octets, at: Slices, kind: Decimal) -> pa.Array | None:
    """Return decimals of a type, whether they are numbers or texts; None where one is too long, or has an exponent."""
    size = len(at.start)
    numbers, valid = np.empty(size, np.int64), np.empty(size, np.bool_)
    if not _decimals(text, at.start, at.end, (kind.scale, kind.precision), numbers, valid):
        return None
    return decimals_of(numbers, valid, kind)


def read_unscaled(text: Octets, at: Slices, kind: Decimal) -> pa.Array | None:
    """Return decimals of a type, whose unscaled numbers are in base64; None where one is long, or is no base64."""
    size = len(at.start)
    numbers, valid = np.empty(size, np.int64), np.empty(size, np.bool_)
    most = 10 ** min(kind.precision, MOST_DIGITS) - 1
    if not _unscaled(text, at.start, at.end, most, numbers, valid):
        return None
    return decimals_of(numbers, valid, kind)


def decimals_of(numbers: Ints, valid: Mask, kind: Decimal) -> pa.Array:
    """Return unscaled numbers as decimals, null where they are not valid; each must fit the type."""
    wanted = arrow_type(kind)
    wide = np.empty((len(numbers), _WORDS_OF_DECIMAL[wanted.bit_width]), np.int64)
    wide[:, 0] = numbers
    wide[:, 1:] = (numbers >> 63)[:, np.newaxis]
    return pa.Array.from_buffers(wanted, len(numbers), [bits(valid), pa.py_buffer(wide)])


@compiled
def _whole(text: Octets, start: Places, end: Places, quoted: bool, numbers: Ints, valid: Mask) -> bool:
    for place in range(len(start)):
        at, after = start[place], end[place]
        number = 0
        valid[place] = not is_null(text, at, after)
        if valid[place]:
            if quoted and text[at] == QUOTE:
                at, after = at + 1, after - 1
            negative = at < after and text[at] == _MINUS
            at += negative
            digits = after - at
            if digits < 1 or digits > MOST_DIGITS or (text[at] == _ZERO and (digits > 1 or negative)):
                return False
            for digit in range(at, after):
                if text[digit] < _ZERO or text[digit] > _NINE:
                    return False
                number = number * 10 + int(text[digit]) - _ZERO
            number = -number if negative else number
        numbers[place] = number
    return True


@compiled
def _booleans(text: Octets, start: Places, end: Places, true: Mask, valid: Mask) -> bool:
    for place in range(len(start)):
        at, size = start[place], end[place] - start[place]
        valid[place] = not is_null(text, at, end[place])
        true[place] = size == len(_TRUE)
        if valid[place]:
            if size not in (len(_TRUE), len(_FALSE)):
                return False
            for letter in range(size):
                if text[at + letter] != (_TRUE[letter] if size == len(_TRUE) else _FALSE[letter]):
                    return False
    return True


@compiled
def _decimals(text: Octets, start: Places, end: Places, kind: tuple[int, int], numbers: Ints, valid: Mask) -> bool:
    scale, precision = kind
    for place in range(len(start)):
        at, after = start[place], end[place]
        number = 0
        valid[place] = not is_null(text, at, after)
        if valid[place]:
            if text[at] == QUOTE:
                at, after = at + 1, after - 1
            negative = at < after and text[at] == _MINUS
            at += negative
            if at >= after or after - at > MOST_DIGITS or not _ZERO <= text[at] <= _NINE:
                return False
            digits, fraction = 0, -1
            for byte in range(at, after):
                if text[byte] == _POINT:
                    if fraction >= 0 or byte + 1 == after:
                        return False
                    fraction = 0
                elif _ZERO <= text[byte] <= _NINE:
                    number = number * 10 + int(text[byte]) - _ZERO
                    digits += number > 0
                    fraction += fraction >= 0
                else:
                    return False
            more = scale - max(fraction, 0)
            if more < 0 or digits + more > min(precision, MOST_DIGITS):
                return False
            for _ in range(more):
                number *= 10
            number = -number if negative else number
        numbers[place] = number
    return True


@compiled
def _unscaled(text: Octets, start: Places, end: Places, most: int, numbers: Ints, valid: Mask) -> bool:
    for place in range(len(start)):
        at, after = start[place] + 1, end[place] - 1
        number = np.int64(0)
        valid[place] = not is_null(text, start[place], end[place])
        if valid[place]:
            if text[at - 1] != QUOTE or after <= at or (after - at) % 4:
                return False
            size = (after - at) // 4 * 3
            size -= (text[after - 1] == _PAD) + (text[after - 1] == _PAD and text[after - 2] == _PAD)
            if size > _MOST_BYTES:
                return False
            bits = np.uint64(0)
            for byte in range(at, at + (size * 8 + 5) // 6):
                six = _SIXTY_FOUR[text[byte]]
                if six < 0:
                    return False
                left = size * 8 - 6 * (byte - at)  # bits that are still to come
                if left >= 6:
                    bits = (bits << np.uint64(6)) | np.uint64(six)
                else:
                    bits = (bits << np.uint64(left)) | np.uint64(six >> (6 - left))
            shift = np.uint64(64 - 8 * size)
            number = np.int64(bits << shift) >> np.int64(shift)
            if number > most or number < -most:  # abs(-2^63) is negative
                return False
        numbers[place] = number
    return True
