"""JSON of MySQL's log, which is binary -> the text that the server prints for it.

https://dev.mysql.com/doc/dev/mysql-server/latest/json__binary_8h.html: a value is a byte for its type, and its bytes; in
objects and arrays stand first the number of members and the bytes of all, then where keys and values are, as offsets from
there, or a small value itself. A large one has numbers of four bytes for this, a small one of two.
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
_NULL, _TRUE, _FALSE = 0, 1, 2
_LEAST_FIXED, _MOST_FIXED = -15, 14
"""Exponents of numbers that are written without one."""
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


@compiled
def _put_double(texts: Octets, begin: int, end: int, out: Octets, to: int) -> int:
    """Write a number as the server does, of its shortest text by Arrow: its exponent, and `.0` where there is none."""
    if texts[begin] == _MINUS:
        out[to] = _MINUS
        begin, to = begin + 1, to + 1
    mantissa = end
    exponent = 0
    for place in range(begin, end):
        if texts[place] == _E:
            mantissa = place
            sign = 1
            for digit in range(place + 1, end):
                if texts[digit] == _MINUS:
                    sign = -1
                elif texts[digit] >= _ZERO:
                    exponent = 10 * exponent + int(texts[digit]) - _ZERO
            exponent *= sign
    whole = mantissa - begin  # digits before the point
    first, last = -1, -1
    for place in range(begin, mantissa):
        if texts[place] == _POINT:
            whole = place - begin
        elif texts[place] != _ZERO:
            first = place if first < 0 else first
            last = place
    if first < 0:
        out[to], out[to + 1], out[to + 2] = _ZERO, _POINT, _ZERO
        return to + 3
    exponent += whole - 1 - (first - begin) + (1 if first > begin + whole else 0)
    is_fixed = _LEAST_FIXED <= exponent <= _MOST_FIXED
    before = exponent + 1 if is_fixed else 1  # digits before the point
    if before <= 0:
        out[to], out[to + 1] = _ZERO, _POINT
        to += 2
        for _ in range(-before):
            out[to] = _ZERO
            to += 1
    many = 0
    for place in range(first, last + 1):
        if texts[place] != _POINT:
            if many == before and many:
                out[to] = _POINT
                to += 1
            out[to] = texts[place]
            many, to = many + 1, to + 1
    if is_fixed:
        is_whole = many <= before
        for _ in range(many, before):
            out[to] = _ZERO
            to += 1
        if is_whole:
            out[to], out[to + 1] = _POINT, _ZERO
            to += 2
        return to
    out[to] = _E
    to += 1
    if exponent < 0:
        out[to] = _MINUS
        to += 1
    return put_digits(np.uint64(abs(exponent)), out, to)


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


@inlined
def _size_of(kind: int) -> int:
    return 2 if kind <= _UINT16 else 4 if kind <= _UINT32 else 8


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
def walk_json(  # noqa: C901, PLR0912 - a case a type
    data: Octets, at: int, end: int, frames: Ints, floats: Octets, found: Ints, texts: Octets, text_ends: Ints, out: Octets,
    to: int,
) -> int:  # fmt: skip
    """Write a value as text; return where it ends, or DAMAGED. Without an `out`, it is only looked through.

    found: its third number is how many numbers of DOUBLE were found, here and before. floats: takes them, eight bytes
    each, as far as there is room. texts, text_ends: those numbers as text, and where each begins. frames: has room for
    DEPTH times FRAME numbers. out: has room for MOST_BYTES for each byte of the value, and twice ROOM more.
    """
    writes = len(out) > 0
    left = end - at
    most = to + MOST_BYTES * (end - at) + ROOM
    if at == end:
        return _put_word(_NULL, out, to) if writes else to
    depth = 0
    kind, place = int(data[at]), at + 1
    while True:
        size, text = 0, place
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
        elif kind == _LITERAL:
            if writes:
                to = _put_word(int(data[place]), out, to)
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
        elif kind in (_STRING, _OPAQUE):
            is_opaque = kind == _OPAQUE
            size, text = _length(data, place + is_opaque, end)
            if size < 0 or to + MOST_BYTES * size > most:
                return DAMAGED
            own = int(data[place])
            if not writes:
                pass
            elif not is_opaque:
                to = _put_string(data, text, text + size, out, to)
            elif own == _DECIMAL:
                if size < 2 or size != 2 + decimal_bytes(int(data[text]), int(data[text + 1])):
                    return DAMAGED
                to = put_decimal(data, text + 2, int(data[text]), int(data[text + 1]), out, to)
            elif own in (_DATE, _TIME, _DATETIME, _TIMESTAMP):
                if size != 8:
                    return DAMAGED
                to = _put_moment(low_first(data, text, 8), own, out, to)
            else:
                to = _put_base64(data, text, text + size, own, out, to)
        elif kind <= _UINT64:
            size = _size_of(kind)
            if place + size > end:
                return DAMAGED
            if writes:
                value = np.uint64(np.int64(low_first(data, place, size)))
                is_signed = kind in (_INT16, _INT32, _INT64)
                if is_signed and data[place + size - 1] & 0x80:
                    value = (~value + np.uint64(1)) & (~np.uint64(0) >> np.uint64(64 - 8 * size))
                    out[to] = _MINUS
                    to += 1
                to = put_digits(value, out, to)
        else:
            return DAMAGED
        while depth:
            frame = (depth - 1) * FRAME
            start, own, count, index = frames[frame], frames[frame + 1], frames[frame + 2], frames[frame + 3]
            if index < count:
                break
            if writes:
                out[to] = _CLOSE[own >> 1]
                to += 1
            depth -= 1
        if depth == 0:
            return to if to <= most else DAMAGED
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
            entry += count * (wide + 2)
            if writes:
                to = _put_string(data, text, text + size, out, to)
                out[to], out[to + 1] = _COLON, _BLANK
                to += 2
        kind, place = int(data[entry]), entry + 1
        is_own = kind in (_LITERAL, _INT16, _UINT16)
        if not (is_own or (wide == 4 and kind in (_INT32, _UINT32))):
            place = start + low_first(data, place, wide)
        left -= 1  # each member takes bytes of its own
        if place >= end or to > most or left < 0:
            return DAMAGED
