"""JSON of MySQL's log, which is binary -> the text that the server prints for it.

https://dev.mysql.com/doc/dev/mysql-server/latest/json__binary_8h.html: a value is a byte for its type, and its bytes.
Objects and arrays begin with the number of members and the bytes of all; then come where keys and values are, as
offsets from there, or a small value itself. A large one has numbers of four bytes for this, a small one of two.
"""

from __future__ import annotations

import numpy as np

from integrator.engine.arrays import Ints, Octets
from integrator.engine.binlog_values import decimal_bytes, low_first, put_date, put_decimal, put_digits, put_padded
from integrator.engine.compiled import compiled, inlined

DEPTH, FRAME = 100, 4
"""Levels of objects and arrays, which the server has at most, and the numbers that are kept of each."""
MOST_BYTES, ROOM = 6, 100
"""Of text for a byte: a control character is an escape of six. Beside that a value takes so many."""
DAMAGED = -1
_LARGE, _OBJECTS, _CONTAINERS = 1, 2, 4
"""Types below 4 are containers: below 2 objects, odd ones large."""
_LITERAL, _INT16, _UINT16, _INT32, _UINT32, _INT64, _UINT64, _DOUBLE, _STRING, _OPAQUE = (
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
    15,
)
_DECIMAL, _DATE, _TIME, _DATETIME, _TIMESTAMP = 246, 10, 11, 12, 7
"""Types of columns, of values that JSON has no form for."""
_MOST_DIGITS = 65
_NULL, _TRUE, _FALSE = 0, 1, 2
_LEAST_FIXED, _MOST_FIXED = -15, 14
"""Exponents of numbers that are written without one; greater ones where digits are after the point."""
_QUOTE, _BACKSLASH, _COLON, _COMMA, _BLANK, _MINUS, _POINT, _ZERO, _E = b'"\\:, -.0e'
_OPEN, _CLOSE = np.frombuffer(b"{[", np.uint8), np.frombuffer(b"}]", np.uint8)
_WORDS = np.frombuffer(b"null true false", np.uint8)
_BASE_64_OF = np.frombuffer(b"base64:type", np.uint8)
_BASE_64 = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)
_BASE_64_LINE = 76
"""Characters, after which the server writes a newline."""
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_ESCAPES = np.zeros(256, np.uint8)
"""Of characters that have an escape of their own, its letter; 1 of those that have a number; 0 of others."""
_ESCAPES[:32] = 1
for _char, _letter in zip(b'"\\\b\f\n\r\t', b'"\\bfnrt', strict=True):
    _ESCAPES[_char] = _letter


@inlined
def _put_string(data: Octets, at: int, end: int, out: Octets, to: int) -> int:
    out[to] = _QUOTE
    to += 1
    for place in range(at, end):
        byte = data[place]
        escape = _ESCAPES[byte]
        if escape:
            out[to] = _BACKSLASH
            to += 1
            if escape == 1:
                out[to] = ord("u")
                out[to + 1] = out[to + 2] = _ZERO
                out[to + 3], out[to + 4] = _HEX[byte >> 4], _HEX[byte & 15]
                to += 5
                continue
            byte = escape
        out[to] = byte
        to += 1
    out[to] = _QUOTE
    return to + 1


@inlined
def _put_word(word: int, out: Octets, to: int) -> int:
    begin, end = (0, 4) if word == _NULL else (5, 9) if word == _TRUE else (10, 15)
    for place in range(begin, end):
        out[to] = _WORDS[place]
        to += 1
    return to


@inlined
def _exponent_of(texts: Octets, begin: int, end: int) -> tuple[int, int]:
    """Return where a number's exponent begins, or the number ends, and the exponent."""
    for place in range(begin, end):
        if texts[place] == _E:
            exponent, sign = 0, 1
            for digit in range(place + 1, end):
                if texts[digit] == _MINUS:
                    sign = -1
                elif texts[digit] >= _ZERO:
                    exponent = 10 * exponent + int(texts[digit]) - _ZERO
            return place, sign * exponent
    return end, 0


@inlined
def _put_zeros(many: int, out: Octets, to: int) -> int:
    for _ in range(many):
        out[to] = _ZERO
        to += 1
    return to


@compiled
def _put_double(texts: Octets, begin: int, end: int, out: Octets, to: int) -> int:
    """Write a number as the server does, of its shortest text by Arrow: its exponent, and `.0` where there is none."""
    if texts[begin] == _MINUS:
        out[to] = _MINUS
        begin, to = begin + 1, to + 1
    mantissa, exponent = _exponent_of(texts, begin, end)
    point = mantissa
    first, last = -1, -1  # digits that are no zeros before or after all others
    for place in range(begin, mantissa):
        if texts[place] == _POINT:
            point = place
        elif texts[place] != _ZERO:
            first = place if first < 0 else first
            last = place
    exponent += point - first - (first < point)
    if first < 0:
        first, last, exponent = begin, begin, 0
    digits = last - first + (not first < point < last)
    is_fixed = exponent >= _LEAST_FIXED and (exponent <= _MOST_FIXED or digits > exponent + 1)
    before = exponent + 1 if is_fixed else 1  # digits before the point
    if before <= 0:
        out[to], out[to + 1] = _ZERO, _POINT
        to = _put_zeros(-before, out, to + 2)
    many = 0
    for place in range(first, last + 1):
        if texts[place] != _POINT:
            if many == before and many:
                out[to] = _POINT
                to += 1
            out[to] = texts[place]
            many, to = many + 1, to + 1
    if not is_fixed:
        out[to] = _E
        to += 1
        if exponent < 0:
            out[to] = _MINUS
            to += 1
        return put_digits(np.uint64(abs(exponent)), out, to)
    to = _put_zeros(before - many, out, to)
    if many <= before:
        out[to], out[to + 1] = _POINT, _ZERO
        to += 2
    return to


@compiled
def _put_moment(packed: int, kind: int, out: Octets, to: int) -> int:
    """Write a date, a time, or both, with six digits of a second."""
    out[to] = _QUOTE
    to += 1
    if packed < 0:
        packed = -packed
        out[to] = _MINUS
        to += 1
    fraction, whole = packed & 0xFFFFFF, packed >> 24
    days, seconds = whole >> 17, whole & 0x1FFFF
    if kind != _TIME:
        months = days >> 5
        to = put_date(months // 13, months % 13, days & 31, out, to)
    if kind not in (_DATE, _TIME):
        out[to] = _BLANK
        to += 1
    if kind != _DATE:
        hours = whole >> 12 & 0x3FF if kind == _TIME else seconds >> 12
        to = put_padded(hours, 3 if hours > 99 else 2, out, to)
        out[to] = _COLON
        to = put_padded(seconds >> 6 & 63, 2, out, to + 1)
        out[to] = _COLON
        to = put_padded(seconds & 63, 2, out, to + 1)
        out[to] = _POINT
        to = put_padded(fraction, 6, out, to + 1)
    out[to] = _QUOTE
    return to + 1


@compiled
def _put_base64(data: Octets, at: int, end: int, kind: int, out: Octets, to: int) -> int:
    out[to] = _QUOTE
    to += 1
    for place in range(len(_BASE_64_OF)):
        out[to] = _BASE_64_OF[place]
        to += 1
    to = put_digits(np.uint64(kind), out, to)
    out[to] = _COLON
    to += 1
    written = 0
    for place in range(at, end, 3):
        if written == _BASE_64_LINE:
            out[to], out[to + 1] = _BACKSLASH, ord("n")
            to += 2
            written = 0
        group = np.int64(0)
        for byte in range(place, place + 3):
            group = group << 8 | (np.int64(data[byte]) if byte < end else 0)
        for part in range(4):
            out[to] = _BASE_64[group >> (18 - 6 * part) & 63] if place + part <= end else ord("=")
            to += 1
        written += 4
    out[to] = _QUOTE
    return to + 1


@compiled
def _length(data: Octets, at: int, end: int) -> tuple[int, int]:
    """Return how many bytes follow, and where they begin: seven bits of each byte, of which the last has no eighth."""
    size = shift = 0
    while at < end and shift < 35:
        size |= (int(data[at]) & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return (size, at) if at + size <= end else (DAMAGED, at)
    return DAMAGED, at


@compiled
def _put_integer(data: Octets, at: int, kind: int, size: int, out: Octets, to: int) -> int:
    value = np.uint64(np.int64(low_first(data, at, size)))
    if kind in (_INT16, _INT32, _INT64) and data[at + size - 1] & 0x80:
        value = (~value + np.uint64(1)) & (~np.uint64(0) >> np.uint64(64 - 8 * size))
        out[to] = _MINUS
        to += 1
    return put_digits(value, out, to)


@compiled
def _put_opaque(data: Octets, at: int, size: int, kind: int, out: Octets, to: int) -> int:
    """Write a value of a type of columns; return where it ends, or DAMAGED."""
    if kind == _DECIMAL:
        if (
            size < 2
            or data[at + 1] > data[at]
            or data[at] > _MOST_DIGITS
            or size != 2 + decimal_bytes(int(data[at]), int(data[at + 1]))
        ):
            return DAMAGED
        return put_decimal(data, at + 2, int(data[at]), int(data[at + 1]), out, to)
    if kind in (_DATE, _TIME, _DATETIME, _TIMESTAMP):
        return _put_moment(low_first(data, at, 8), kind, out, to) if size == 8 else DAMAGED
    return _put_base64(data, at, at + size, kind, out, to)


@compiled
def _scalar(data: Octets, at: int, end: int, kind: int, out: Octets, to: int, most: int) -> int:
    """Write a value that has no members, and is no DOUBLE; return where it ends, or DAMAGED. most: where it must."""
    if at >= end:
        return DAMAGED
    if kind == _LITERAL:
        return _put_word(int(data[at]), out, to) if len(out) else to
    if kind in (_STRING, _OPAQUE):
        own = int(data[at])
        size, text = _length(data, at + (kind == _OPAQUE), end)
        if size < 0 or to + MOST_BYTES * size > most:
            return DAMAGED
        if len(out) == 0:
            return to
        return (
            _put_string(data, text, text + size, out, to)
            if kind == _STRING
            else _put_opaque(data, text, size, own, out, to)
        )
    size = 2 if kind <= _UINT16 else 4 if kind <= _UINT32 else 8
    if kind > _UINT64 or at + size > end:
        return DAMAGED
    return _put_integer(data, at, kind, size, out, to) if len(out) else to


@compiled
def walk_json(  # noqa: C901, PLR0912, PLR0915 - one loop of members
    data: Octets, at: int, end: int, frames: Ints, floats: Octets, found: Ints, texts: Octets, text_ends: Ints,
    out: Octets, to: int,
) -> int:  # fmt: skip
    """Write a value as text; return where it ends, or DAMAGED. Without an `out`, it is only scanned.

    found: its third number is how many numbers of DOUBLE were found, here and before. floats: takes them, eight bytes
    each, as far as there is room. texts, text_ends: those numbers as text, and where each begins. frames: has room for
    DEPTH times FRAME numbers. out: has room for MOST_BYTES for each byte of the value, and twice ROOM more.
    """
    writes, left = len(out) > 0, end - at
    most = to + MOST_BYTES * left + ROOM
    if left == 0:
        return _put_word(_NULL, out, to) if writes else to
    depth = 0
    kind, place = int(data[at]), at + 1
    while True:
        if kind < _CONTAINERS:
            wide = 4 if kind & _LARGE else 2
            if depth == DEPTH or place + 2 * wide > end:
                return DAMAGED
            frame = depth * FRAME
            frames[frame], frames[frame + 1], frames[frame + 3] = place, kind, 0
            frames[frame + 2] = low_first(data, place, wide)
            members = frames[frame + 2] * (2 * wide + 3 if kind < _OBJECTS else wide + 1)
            if place + 2 * wide + members > end:
                return DAMAGED
            depth += 1
            if writes:
                out[to] = _OPEN[kind >> 1]
                to += 1
        elif kind == _DOUBLE:
            if place + 8 > end:
                return DAMAGED
            number = found[2]
            if writes:
                to = _put_double(texts, text_ends[number], text_ends[number + 1], out, to)
            elif 8 * number + 8 <= len(floats):
                for byte in range(8):
                    floats[8 * number + byte] = data[place + byte]
            found[2] += 1
        else:
            to = _scalar(data, place, end, kind, out, to, most)
        while depth:
            frame = (depth - 1) * FRAME
            if frames[frame + 3] < frames[frame + 2]:
                break
            if writes:
                out[to] = _CLOSE[frames[frame + 1] >> 1]
                to += 1
            depth -= 1
        left -= 1  # each member takes bytes of its own
        if to < 0 or to > most or left < 0 or depth == 0:
            return to if depth == 0 and to <= most else DAMAGED
        start, own, index = frames[frame], frames[frame + 1], frames[frame + 3]
        frames[frame + 3] += 1
        wide = 4 if own & _LARGE else 2
        if writes and index:
            out[to], out[to + 1] = _COMMA, _BLANK
            to += 2
        entry = start + 2 * wide + index * (wide + 1)
        if own < _OBJECTS:
            key = start + 2 * wide + index * (wide + 2)
            text, size = start + low_first(data, key, wide), low_first(data, key + wide, 2)
            if text + size > end or to + MOST_BYTES * size > most:
                return DAMAGED
            entry += frames[frame + 2] * (wide + 2)
            if writes:
                to = _put_string(data, text, text + size, out, to)
                out[to], out[to + 1] = _COLON, _BLANK
                to += 2
        kind, place = int(data[entry]), entry + 1
        if not (kind in (_LITERAL, _INT16, _UINT16) or (wide == 4 and kind in (_INT32, _UINT32))):
            place = start + low_first(data, place, wide)
        if place >= end:
            return DAMAGED
