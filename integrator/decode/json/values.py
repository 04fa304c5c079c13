"""Values in the text of JSON lines, given where each begins and ends, in their type: a call for those of all tables."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import Mask, Octets, Words, flat, mask, words
from integrator.arrow.compiled import compiled
from integrator.decode.json.canonical import checked
from integrator.decode.json.columns import exact, is_number_text, typed
from integrator.decode.json.lines import Lines, arrow_json, pieces
from integrator.decode.json.scan import Values
from integrator.schema import Type

Places: TypeAlias = npt.NDArray[np.int32]
_QUOTE, _MINUS, _PLUS, _POINT, _ZERO, _NINE, _E, _E_LARGE = b'"-+.09eE'
_N, _U, _L = b"nul"
_TRUE, _FALSE = np.frombuffer(b"true", np.uint8), np.frombuffer(b"false", np.uint8)
_WORD = 8
_MOST_DIGITS = 18
"""That any number of 64 bits may have."""


def values_of(text: Octets, at: Values, parsed: pa.DataType, wanted: Type | None) -> pa.Array:
    """Return JSON values in their type, null where there is none.

    Raises ValueRefused, and pa.ArrowInvalid, for what is not of it.
    """
    if not at.end.any():
        values = pa.nulls(len(at.end), parsed)
    elif wanted is not None and is_number_text(wanted):
        return _exact_numbers(text, at)
    elif pa.types.is_string(parsed):
        values = _strings(text, at)
    elif pa.types.is_integer(parsed):
        values = _integers(text, at, parsed)
    elif pa.types.is_floating(parsed):
        values = _floats(text, at, parsed)
    elif pa.types.is_boolean(parsed):
        values = _booleans(text, at)
    else:
        values = _others(text, at, parsed)
    return values if wanted is None else typed(values, wanted)


def _strings(text: Octets, at: Values) -> pa.Array:
    offsets, valid = np.empty(len(at.start) + 1, np.int32), np.empty(len(at.start), np.bool_)
    if not _measured(text, at.start, at.end, offsets, valid):
        raise pa.ArrowInvalid("no string")
    data = np.empty(offsets[-1] + _WORD, np.uint8)
    _copied(words(text), at.start, offsets, words(data))
    plain = pa.Array.from_buffers(pa.string(), len(valid), [_bits(valid), pa.py_buffer(offsets), pa.py_buffer(data)])
    if not at.escaped.any():
        return plain
    unescaped = _parsed(pieces(text, at.start[at.escaped], at.end[at.escaped]), pa.string())
    return pc.replace_with_mask(plain, at.escaped, unescaped)


def _exact_numbers(text: Octets, at: Values) -> pa.Array:
    """Return numbers as the text that they are written in, and strings as theirs."""
    quoted = (at.end > 0) & (text[at.start] == _QUOTE)
    if not _are_numbers(text, at.start, np.where(quoted, 0, at.end).astype(np.int32), np.empty(len(quoted), np.bool_)):
        raise pa.ArrowInvalid("no number of JSON")
    strings = _strings(text, Values(at.start, np.where(quoted, at.end, 0).astype(np.int32), at.escaped & quoted))
    numbers = pieces(text, at.start, at.end)
    is_number = ~quoted & (at.end > 0) & ~mask(pc.equal(numbers, "null"))
    return pc.if_else(pa.array(is_number), numbers, strings)


def _integers(text: Octets, at: Values, parsed: pa.DataType) -> pa.Array:
    """Return integers; what is written otherwise than they are most often, and yet may be one, is Arrow's to read."""
    numbers, valid = np.empty(len(at.start), np.int64), np.empty(len(at.start), np.bool_)
    if not _read_integers(text, at.start, at.end, numbers, valid):
        return _others(text, at, parsed)
    buffers = [_bits(valid), pa.py_buffer(numbers)]
    return pa.Array.from_buffers(pa.int64(), len(valid), buffers).cast(parsed)


def _floats(text: Octets, at: Values, parsed: pa.DataType) -> pa.Array:
    """Return floating-point numbers; a cast makes them of what JSON has as such, and also of +1, nan and 1e999."""
    valid = np.empty(len(at.start), np.bool_)
    if not _are_numbers(text, at.start, at.end, valid):
        raise pa.ArrowInvalid("no number of JSON")
    numbers = pc.if_else(valid, pieces(text, at.start, at.end), None).cast(parsed)
    if pc.any(pc.is_inf(numbers)).as_py():
        raise pa.ArrowInvalid(f"it is larger than a number of {parsed.bit_width} bits can be")
    return numbers


def _booleans(text: Octets, at: Values) -> pa.Array:
    true, valid = np.empty(len(at.start), np.bool_), np.empty(len(at.start), np.bool_)
    if not _read_booleans(text, at.start, at.end, true, valid):
        raise pa.ArrowInvalid("no boolean")
    return pa.array(true, mask=~valid)


def _others(text: Octets, at: Values, parsed: pa.DataType) -> pa.Array:
    """Return values as Arrow's parser reads them, of those that are there."""
    there = np.flatnonzero(at.end)
    found = _parsed(pieces(text, at.start[there], at.end[there]), parsed)
    if len(there) == len(at.end):
        return found
    places = np.full(len(at.end), -1)
    places[there] = np.arange(len(there))
    return found.take(pa.array(places, mask=places < 0))


def _bits(valid: Mask) -> pa.Buffer | None:
    """Return which values are not null, as Arrow has it; None where all are."""
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))


def _parsed(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Return JSON values as Arrow's parser reads them."""
    if not len(values):
        return pa.nulls(0, wanted)
    objects = pc.binary_join_element_wise('{"":', values, "}\n", "")
    octets, offsets = flat(objects)
    data = octets.tobytes()
    if pa.types.is_nested(wanted):  # of which nothing was looked at but its end
        data = bytes(checked(Lines("", data, np.arange(len(values)), offsets.astype(np.int32)), "a value").data)
    found = arrow_json(pa.schema([("", wanted)]), "error")(data)[""].combine_chunks()
    if len(found) != len(values):
        raise pa.ArrowInvalid("not one value each")
    if pa.types.is_list(wanted) and pa.types.is_floating(wanted.value_type) and pc.any(pc.is_inf(found.values)).as_py():
        raise pa.ArrowInvalid(f"it has a number that is larger than one of {wanted.value_type.bit_width} bits can be")
    return exact(found)


@compiled
def _is_null(text: Octets, start: int, end: int) -> bool:
    """Say whether there is no value, or null."""
    if end == 0:
        return True
    letters = end - start == 4 and text[start] == _N and text[start + 1] == _U
    return letters and text[start + 2] == _L and text[start + 3] == _L


@compiled
def _measured(text: Octets, start: Places, end: Places, offsets: Places, valid: Mask) -> bool:
    """Write down where the characters of each string go; say whether all are strings, or null."""
    size = 0
    for place in range(len(start)):
        offsets[place] = size
        valid[place] = text[start[place]] == _QUOTE and end[place] > 0
        if valid[place]:
            size += end[place] - start[place] - 2
        elif not _is_null(text, start[place], end[place]):
            return False
    offsets[len(start)] = size
    return True


@compiled
def _copied(text: Words, start: Places, offsets: Places, data: Words) -> None:
    """Write the characters of strings one behind another, by words: what is behind an end is written over by the next.

    The last words of the text may be behind its end: of these the bytes are moved to where they are looked for.
    """
    last = len(text) - 1
    for place in range(len(start)):
        to, source = offsets[place], start[place] + 1
        for word in range(0, offsets[place + 1] - to, _WORD):
            at = min(source + word, last)
            data[to + word] = text[at] >> np.uint64(8 * (source + word - at))


@compiled
def _read_integers(text: Octets, start: Places, end: Places, numbers: npt.NDArray[np.int64], valid: Mask) -> bool:
    """Read integers as RFC 8259 has them, section 6; say whether all are such, or null."""
    for place in range(len(start)):
        at, behind = start[place], end[place]
        number = 0
        valid[place] = not _is_null(text, at, behind)
        if valid[place]:
            negative = text[at] == _MINUS
            at += negative
            digits = behind - at
            if digits < 1 or digits > _MOST_DIGITS or (text[at] == _ZERO and digits > 1):
                return False
            for digit in range(at, behind):
                if text[digit] < _ZERO or text[digit] > _NINE:
                    return False
                number = number * 10 + int(text[digit]) - _ZERO
            number = -number if negative else number
        numbers[place] = number
    return True


@compiled
def _behind_digits(text: Octets, at: int) -> int:
    while _ZERO <= text[at] <= _NINE:
        at += 1
    return at


@compiled
def _are_numbers(text: Octets, start: Places, end: Places, valid: Mask) -> bool:
    """Say whether all are numbers as RFC 8259 has them, section 6, or null."""
    for place in range(len(start)):
        at = start[place]
        valid[place] = not _is_null(text, at, end[place])
        if valid[place]:
            at += text[at] == _MINUS
            whole = _behind_digits(text, at)
            if whole == at or (text[at] == _ZERO and whole > at + 1):
                return False
            at = whole
            if text[at] == _POINT:
                at = _behind_digits(text, at + 1)
                if at == whole + 1:
                    return False
            if text[at] in (_E, _E_LARGE):
                digits = at + 1 + (text[at + 1] in (_PLUS, _MINUS))
                at = _behind_digits(text, digits)
                if at == digits:
                    return False
            if at != end[place]:
                return False
    return True


@compiled
def _read_booleans(text: Octets, start: Places, end: Places, true: Mask, valid: Mask) -> bool:
    """Read booleans; say whether all are such, or null."""
    for place in range(len(start)):
        at, size = start[place], end[place] - start[place]
        valid[place] = not _is_null(text, at, end[place])
        true[place] = size == 4
        if valid[place]:
            if size not in (4, 5):
                return False
            for letter in range(size):
                if text[at + letter] != (_TRUE[letter] if size == 4 else _FALSE[letter]):
                    return False
    return True
