r"""Rows of MariaDB's log, and of its results -> messages of pgoutput's shape, for one table at a time.

https://mariadb.com/kb/en/rows_event_v1v2-rows_compressed_event_v1/ has rows of the log. Values are of the types that
the table map before them has (https://mariadb.com/kb/en/table_map_event/); they become the text that the server prints
for them, bytes `\x` and hexadecimal digits, moments of TIMESTAMP columns end in +00.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from integrator.engine.arrays import Ints, Octets
from integrator.engine.compiled import compiled, inlined
from integrator.engine.days import civil_of

(
    INTEGER, UNSIGNED, FLOAT, DOUBLE, DECIMAL, DATE, TIME, DATETIME, TIMESTAMP, YEAR, BIT, ENUM, SET, TEXT, MAPPED,
    BYTES, UUID, INET6, INET4,
) = range(19)  # fmt: skip
"""Kinds of columns. MAPPED: text of a character set that has a byte for each character."""
INSERT, UPDATE, DELETE = b"IUD"
DAMAGED = -1
_NEW, _OLD, _NULL, _TEXT, _MISSING = b"NOntu"
_ZERO, _MINUS, _POINT, _COLON, _BLANK, _COMMA = b"0-.: ,"
_BACKSLASH, _X, _TAB, _NEWLINE, _RETURN, _N, _T, _R, _CAPITAL_N = b"\\x\t\n\rntrN"
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_DIGIT_BYTES = np.array([0, 1, 1, 2, 2, 3, 3, 4, 4, 4], np.int64)
"""Bytes of the digits of a decimal that are no group of nine."""
_GROUP, _GROUP_BYTES = 9, 4
_TIME_ZERO = 0x800000
_POWERS = np.array([1, 10, 100, 1000, 10_000, 100_000, 1_000_000], np.int64)
_VALUE_ROOM = 100
"""Bytes that a value takes beside its text, and that numbers and moments take, at most."""
_MOST_MAPPED, _MOST_HEX = 3, 2
_TERMINAL_NULL, _TWO_BYTES, _THREE_BYTES, _EIGHT_BYTES = 0xFB, 0xFC, 0xFD, 0xFE


class Program(NamedTuple):
    """How rows of a table are read, a row for each column.

    kind: of its values. size: bytes of a value, of the length before one, or a decimal's digits. more: digits after the
    point; of an enum or a set its first label; the length to which bytes are filled up, or 0; the map of a MAPPED one.
    labels, bounds: labels as text, and where each begins and ends. maps: of each map and byte a length, and UTF-8.
    """

    kind: Ints
    size: Ints
    more: Ints
    labels: Octets
    bounds: Ints
    maps: Octets


@inlined
def _low_first(data: Octets, at: int, size: int) -> int:
    found = np.int64(0)
    for place in range(size):
        found |= np.int64(data[at + place]) << 8 * place
    return int(found)


@inlined
def _high_first(data: Octets, at: int, size: int) -> int:
    found = np.int64(0)
    for place in range(at, at + size):
        found = found << 8 | np.int64(data[place])
    return int(found)


@inlined
def _has(bits: Octets, at: int, column: int) -> bool:
    return bool(bits[at + (column >> 3)] >> (column & 7) & 1)


@inlined
def _fraction_bytes(digits: int) -> int:
    return (digits + 1) >> 1


@inlined
def _decimal_bytes(digits: int, scale: int) -> int:
    whole = digits - scale
    own = whole // _GROUP * _GROUP_BYTES + _DIGIT_BYTES[whole % _GROUP]
    return int(own + scale // _GROUP * _GROUP_BYTES + _DIGIT_BYTES[scale % _GROUP])


@compiled
def _end_of(data: Octets, at: int, end: int, kind: int, size: int, more: int) -> int:
    """Return where a value ends; DAMAGED where it is not whole."""
    if kind in (TEXT, MAPPED, BYTES, UUID, INET6, INET4):
        if at + size > end:
            return DAMAGED
        after = at + size + _low_first(data, at, size)
    elif kind == DECIMAL:
        after = at + _decimal_bytes(size, more)
    elif kind == DATE:
        after = at + 3
    elif kind == TIME:
        after = at + 3 + _fraction_bytes(more)
    elif kind == DATETIME:
        after = at + 5 + _fraction_bytes(more)
    elif kind == TIMESTAMP:
        after = at + 4 + _fraction_bytes(more)
    elif kind == BIT:
        after = at + ((size + 7) >> 3)
    elif kind == YEAR:
        after = at + 1
    else:
        after = at + size
    return after if at <= after <= end else DAMAGED


@compiled
def _room_of_labels(kind: int, value: int, label: int, program: Program) -> int:
    """Return how many bytes the label of an enum's number takes, or those of a set's bits."""
    if kind == ENUM:
        return int(program.bounds[label + value - 1, 1] - program.bounds[label + value - 1, 0]) if value else 0
    room, left = 0, np.uint64(value)
    while left:
        if left & np.uint64(1):
            room += program.bounds[label, 1] - program.bounds[label, 0] + 1
        left >>= np.uint64(1)
        label += 1
    return room


@compiled
def _scan_image(data: Octets, at: int, end: int, present: int, program: Program, floats: Octets, found: Ints) -> int:
    """Add what an image has; return where it ends, or DAMAGED."""
    kinds = program.kind
    many = 0
    for column in range(len(kinds)):
        many += _has(data, present, column)
    null = at
    at += (many + 7) >> 3
    if at > end:
        return DAMAGED
    place = 0
    for column in range(len(kinds)):
        found[1] += _VALUE_ROOM
        if not _has(data, present, column):
            continue
        is_null = _has(data, null, place)
        place += 1
        if is_null:
            continue
        kind, more = kinds[column], program.more[column]
        begin = at
        at = _end_of(data, at, end, kind, program.size[column], more)
        if at < 0:
            return DAMAGED
        if kind in (FLOAT, DOUBLE):
            to = found[2] * 8
            if to + 8 <= len(floats):
                for byte in range(8):  # the low half of a FLOAT is none of a number
                    floats[to + byte] = data[begin + byte] if byte < at - begin else 0xFF
            found[2] += 1
        elif kind in (ENUM, SET):
            found[1] += _room_of_labels(kind, _low_first(data, begin, at - begin), more, program)
        else:
            found[1] += _MOST_MAPPED * (at - begin) + (_MOST_HEX * more if kind == BYTES else 0)
    return at


@compiled
def scan(data: Octets, at: int, action: int, program: Program, floats: Octets, found: Ints) -> int:
    """Find what rows need; return where they end, or DAMAGED. at: where the bits of the columns that are there begin.

    floats: takes the numbers of FLOAT and DOUBLE columns, eight bytes each, of which a FLOAT's last four are 0xFF, as
    far as there is room. found: takes the
    number of rows, the bytes of their messages at most, and how many such numbers there are.
    """
    bits = (len(program.kind) + 7) >> 3
    before = at
    after = before + bits if action == UPDATE else before
    at, end = after + bits, len(data)
    if at > end:
        return DAMAGED
    found[:3] = 0
    while at < end:
        begin = at
        at = _scan_image(data, at, end, before, program, floats, found)
        if at >= 0 and action == UPDATE:
            at = _scan_image(data, at, end, after, program, floats, found)
        if at <= begin:
            return DAMAGED
        found[0] += 1
        found[1] += _VALUE_ROOM
    return at


@inlined
def _padded(value: int, width: int, out: Octets, to: int) -> int:
    for place in range(to + width - 1, to - 1, -1):
        out[place] = _ZERO + value % 10
        value //= 10
    return to + width


@compiled
def _digits(value: np.uint64, out: Octets, to: int) -> int:
    many, left = 1, value // np.uint64(10)
    while left:
        many += 1
        left //= np.uint64(10)
    for place in range(to + many - 1, to - 1, -1):
        out[place] = np.uint8(_ZERO) + np.uint8(value % np.uint64(10))
        value //= np.uint64(10)
    return to + many


@inlined
def _fraction(data: Octets, at: int, digits: int, out: Octets, to: int) -> int:
    size = _fraction_bytes(digits)
    return _fraction_of(_high_first(data, at, size), digits, out, to)


@inlined
def _fraction_of(value: int, digits: int, out: Octets, to: int) -> int:
    """Write a point and digits; `value` is in an even number of digits."""
    if digits == 0:
        return to
    out[to] = _POINT
    return _padded(value // 10 if digits & 1 else value, digits, out, to + 1)


@inlined
def _date(year: int, month: int, day: int, out: Octets, to: int) -> int:
    to = _padded(year, 4, out, to)
    out[to] = _MINUS
    to = _padded(month, 2, out, to + 1)
    out[to] = _MINUS
    return _padded(day, 2, out, to + 1)


@inlined
def _clock(hour: int, minute: int, second: int, out: Octets, to: int) -> int:
    to = _padded(hour, 3 if hour > 99 else 2, out, to)
    out[to] = _COLON
    to = _padded(minute, 2, out, to + 1)
    out[to] = _COLON
    return _padded(second, 2, out, to + 1)


@compiled
def _time(data: Octets, at: int, digits: int, out: Octets, to: int) -> int:
    size = _fraction_bytes(digits)
    packed = _high_first(data, at, 3 + size) - int(np.int64(_TIME_ZERO) << 8 * size)
    if packed < 0:
        packed = -packed
        out[to] = _MINUS
        to += 1
    whole = packed >> 8 * size
    to = _clock(whole >> 12 & 0x3FF, whole >> 6 & 0x3F, whole & 0x3F, out, to)
    return _fraction_of(packed & int((np.int64(1) << 8 * size) - 1), digits, out, to)


@compiled
def _datetime(data: Octets, at: int, digits: int, out: Octets, to: int) -> int:
    packed = _high_first(data, at, 5) & 0x7FFFFFFFFF
    days, clock = packed >> 17, packed & 0x1FFFF
    months = days >> 5
    to = _date(months // 13, months % 13, days & 0x1F, out, to)
    out[to] = _BLANK
    to = _clock(clock >> 12, clock >> 6 & 0x3F, clock & 0x3F, out, to + 1)
    return _fraction(data, at + 5, digits, out, to)


@compiled
def _timestamp(data: Octets, at: int, digits: int, out: Octets, to: int) -> int:
    seconds = _high_first(data, at, 4)
    year = month = day = 0
    if seconds or _high_first(data, at + 4, _fraction_bytes(digits)):
        year, month, day = civil_of(seconds // 86_400)
    to = _date(year, month, day, out, to)
    out[to] = _BLANK
    clock = seconds % 86_400
    to = _clock(clock // 3600, clock // 60 % 60, clock % 60, out, to + 1)
    to = _fraction(data, at + 4, digits, out, to)
    out[to] = ord("+")
    out[to + 1] = out[to + 2] = _ZERO
    return to + 3


@inlined
def _group(data: Octets, at: int, size: int, flip: int) -> int:
    found = np.int64(0)
    for place in range(at, at + size):
        found = found << 8 | np.int64(data[place] ^ flip)
    return int(found)


@compiled
def _decimal(data: Octets, at: int, digits: int, scale: int, out: Octets, to: int) -> int:  # noqa: PLR0912 - one of groups
    """Write a decimal (https://dev.mysql.com/doc/refman/8.4/en/precision-math-decimal-characteristics.html).

    The highest bit is set for a positive number; all bits of a negative one are inverted.
    """
    flip = 0 if data[at] & 0x80 else 0xFF
    if flip:
        out[to] = _MINUS
        to += 1
    whole, begin = digits - scale, to
    first = whole % _GROUP
    size = _DIGIT_BYTES[first]
    is_first = True
    if size:
        value = _group(data, at, size, flip)
        value ^= int(np.int64(0x80) << 8 * (size - 1))
        if value:
            to = _digits(np.uint64(value), out, to)
        at += size
        is_first = False
    for _ in range(whole // _GROUP):
        value = _group(data, at, _GROUP_BYTES, flip)
        if is_first:
            value ^= 0x80000000
            is_first = False
        if to > begin:
            to = _padded(value, _GROUP, out, to)
        elif value:
            to = _digits(np.uint64(value), out, to)
        at += _GROUP_BYTES
    if to == begin:
        out[to] = _ZERO
        to += 1
    if scale == 0:
        return to
    out[to] = _POINT
    to += 1
    for _ in range(scale // _GROUP):
        value = _group(data, at, _GROUP_BYTES, flip)
        if is_first:
            value ^= 0x80000000
            is_first = False
        to = _padded(value, _GROUP, out, to)
        at += _GROUP_BYTES
    last = scale % _GROUP
    if last:
        value = _group(data, at, _DIGIT_BYTES[last], flip)
        if is_first:
            value ^= int(np.int64(0x80) << 8 * (_DIGIT_BYTES[last] - 1))
        to = _padded(value, last, out, to)
    return to


@compiled
def _hexadecimal(data: Octets, at: int, end: int, out: Octets, to: int) -> int:
    for place in range(at, end):
        out[to] = _HEX[data[place] >> 4]
        out[to + 1] = _HEX[data[place] & 15]
        to += 2
    return to


@compiled
def _bytes(data: Octets, at: int, end: int, most: int, out: Octets, to: int) -> int:
    """Write bytes; BINARY columns are without the zeros that they end in."""
    out[to], out[to + 1] = _BACKSLASH, _X
    to = _hexadecimal(data, at, end, out, to + 2)
    for _ in range(end - at, most):
        out[to] = out[to + 1] = _ZERO
        to += 2
    return to


@compiled
def _mapped(data: Octets, at: int, end: int, own: int, maps: Octets, out: Octets, to: int) -> int:
    for place in range(at, end):
        entry = (own * 256 + np.int64(data[place])) * 4
        for byte in range(np.int64(maps[entry])):
            out[to] = maps[entry + 1 + byte]
            to += 1
    return to


@inlined
def _byte(data: Octets, at: int, end: int, place: int) -> int:
    """Return a byte of a value that is without the zeros that it ends in."""
    return int(data[at + place]) if at + place < end else 0


@compiled
def _uuid(data: Octets, at: int, end: int, out: Octets, to: int) -> int:
    for place in range(16):
        if place in (4, 6, 8, 10):
            out[to] = _MINUS
            to += 1
        value = _byte(data, at, end, place)
        out[to], out[to + 1] = _HEX[value >> 4], _HEX[value & 15]
        to += 2
    return to


@compiled
def _inet6(data: Octets, at: int, end: int, out: Octets, to: int) -> int:
    """Write an address as inet_ntop does (RFC 5952): the longest run of zeros becomes `::`."""
    best, most, run = -1, 1, 0
    for part in range(8):
        is_zero = _byte(data, at, end, 2 * part) == 0 and _byte(data, at, end, 2 * part + 1) == 0
        run = run + 1 if is_zero else 0
        if run > most:
            best, most = part - run + 1, run
    is_old = best == 0 and (most == 6 or (most == 5 and _is_mapped(data, at, end)))
    part = 0
    while part < 8:
        if part == best:
            out[to], out[to + 1] = _COLON, _COLON
            to += 2
            part += most
            continue
        if part and part != best + most:
            out[to] = _COLON
            to += 1
        if is_old and part == 6:
            return _inet4(data, at + 12, end, out, to)
        value = _byte(data, at, end, 2 * part) << 8 | _byte(data, at, end, 2 * part + 1)
        is_begun = False
        for shift in (12, 8, 4, 0):
            digit = value >> shift & 15
            if digit or is_begun or shift == 0:
                out[to] = _HEX[digit]
                to += 1
                is_begun = True
        part += 1
    return to


@inlined
def _is_mapped(data: Octets, at: int, end: int) -> bool:
    return _byte(data, at, end, 10) == 0xFF and _byte(data, at, end, 11) == 0xFF


@compiled
def _inet4(data: Octets, at: int, end: int, out: Octets, to: int) -> int:
    for place in range(4):
        if place:
            out[to] = _POINT
            to += 1
        to = _digits(np.uint64(_byte(data, at, end, place)), out, to)
    return to


@compiled
def _label(label: int, program: Program, out: Octets, to: int) -> int:
    for place in range(program.bounds[label, 0], program.bounds[label, 1]):
        out[to] = program.labels[place]
        to += 1
    return to


@compiled
def _labels(chosen: int, label: int, program: Program, out: Octets, to: int) -> int:
    begin, left = to, np.uint64(chosen)
    while left:
        if left & np.uint64(1):
            if to > begin:
                out[to] = _COMMA
                to += 1
            to = _label(label, program, out, to)
        left >>= np.uint64(1)
        label += 1
    return to


@compiled
def _value(data: Octets, at: int, end: int, column: int, program: Program, out: Octets, to: int) -> int:  # noqa: C901, PLR0912 - a case a kind
    kind, size, more = program.kind[column], program.size[column], program.more[column]
    if kind == INTEGER:
        value = _low_first(data, at, size)
        shift = 64 - 8 * size
        value = np.int64(value << shift) >> shift
        if value < 0:
            out[to] = _MINUS
            return _digits(~np.uint64(value) + np.uint64(1), out, to + 1)
        return _digits(np.uint64(value), out, to)
    if kind == UNSIGNED:
        return _digits(np.uint64(_low_first(data, at, size)), out, to)
    if kind == TEXT:
        for place in range(at + size, end):
            out[to] = data[place]
            to += 1
        return to
    if kind == DECIMAL:
        return _decimal(data, at, size, more, out, to)
    if kind == DATETIME:
        return _datetime(data, at, more, out, to)
    if kind == TIMESTAMP:
        return _timestamp(data, at, more, out, to)
    if kind == DATE:
        packed = _low_first(data, at, 3)
        return _date(packed >> 9, packed >> 5 & 15, packed & 31, out, to)
    if kind == TIME:
        return _time(data, at, more, out, to)
    if kind == ENUM:
        label = _low_first(data, at, size)
        return _label(more + label - 1, program, out, to) if label else to
    if kind == SET:
        return _labels(_low_first(data, at, size), more, program, out, to)
    if kind == BYTES:
        return _bytes(data, at + size, end, more, out, to)
    if kind == MAPPED:
        return _mapped(data, at + size, end, more, program.maps, out, to)
    if kind == YEAR:
        return _padded(1900 + int(data[at]) if data[at] else 0, 4, out, to)
    if kind == BIT:
        for bit in range(size - 1, -1, -1):
            out[to] = _ZERO + (data[end - 1 - (bit >> 3)] >> (bit & 7) & 1)
            to += 1
        return to
    if kind == UUID:
        return _uuid(data, at + size, end, out, to)
    if kind == INET6:
        return _inet6(data, at + size, end, out, to)
    return _inet4(data, at + size, end, out, to)


@compiled
def _write_image(
    data: Octets, at: int, present: int, program: Program, texts: Octets, text_ends: Ints, number: int,
    out: Octets, to: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Write an image as a tuple; return where it ends, the place after the tuple, and the number of the next float."""
    kinds = program.kind
    columns = len(kinds)
    many = 0
    for column in range(columns):
        many += _has(data, present, column)
    null = at
    at += (many + 7) >> 3
    out[to], out[to + 1] = columns >> 8, columns & 0xFF
    to += 2
    place = 0
    for column in range(columns):
        if not _has(data, present, column):
            out[to] = _MISSING
            to += 1
            continue
        is_null = _has(data, null, place)
        place += 1
        if is_null:
            out[to] = _NULL
            to += 1
            continue
        kind = kinds[column]
        begin, at = at, _end_of(data, at, len(data), kind, program.size[column], program.more[column])
        out[to] = _TEXT
        first = to + 5
        if kind in (FLOAT, DOUBLE):
            to = first
            for piece in range(text_ends[number], text_ends[number + 1]):
                out[to] = texts[piece]
                to += 1
            number += 1
        else:
            to = _value(data, begin, at, column, program, out, first)
        size = to - first
        for byte in range(4):
            out[first - 1 - byte] = size >> 8 * byte & 0xFF
    return at, to, number


@compiled
def write(
    data: Octets, at: int, action: int, oid: int, program: Program, texts: Octets, text_ends: Ints, out: Octets,
    ends: Ints,
) -> int:  # fmt: skip
    """Write rows that were scanned as messages; return how many. ends: takes where each ends.

    oid: of the table. texts, text_ends: the numbers of FLOAT and DOUBLE columns as text, and where each begins.
    """
    bits = (len(program.kind) + 7) >> 3
    before = at
    after = before + bits if action == UPDATE else before
    at = after + bits
    row = number = to = 0
    while at < len(data):
        out[to] = action
        for byte in range(4):
            out[to + 4 - byte] = oid >> 8 * byte & 0xFF
        out[to + 5] = _NEW if action == INSERT else _OLD
        at, to, number = _write_image(data, at, before, program, texts, text_ends, number, out, to + 6)
        if action == UPDATE:
            out[to] = _NEW
            at, to, number = _write_image(data, at, after, program, texts, text_ends, number, out, to + 1)
        ends[row] = to
        row += 1
    return row


@compiled
def copied_rows(data: Octets, ends: Ints, columns: int, out: Octets) -> int:
    """Write rows of a result, in text, as COPY writes them; return how many bytes, or DAMAGED.

    ends: where the packet of each row ends (https://mariadb.com/kb/en/result-set-packets/). out: has room for twice as
    many bytes, and three for each value.
    """
    at = to = 0
    for end in ends:
        for column in range(columns):
            if at >= end:
                return DAMAGED
            first = int(data[at])
            at += 1
            if first == _TERMINAL_NULL:
                out[to], out[to + 1] = _BACKSLASH, _CAPITAL_N
                to += 2
            else:
                wide = 0
                if first >= _TWO_BYTES:
                    wide = 2 if first == _TWO_BYTES else 3 if first == _THREE_BYTES else 8
                    if at + wide > end:
                        return DAMAGED
                    first = _low_first(data, at, wide)
                    at += wide
                if first < 0 or at + first > end:
                    return DAMAGED
                for place in range(at, at + first):
                    byte = data[place]
                    if byte in (_BACKSLASH, _TAB, _NEWLINE, _RETURN):
                        out[to] = _BACKSLASH
                        to += 1
                        byte = np.uint8(
                            _T if byte == _TAB else _N if byte == _NEWLINE else _R if byte == _RETURN else byte
                        )
                    out[to] = byte
                    to += 1
                at += first
            out[to] = _NEWLINE if column == columns - 1 else _TAB
            to += 1
        if at != end:
            return DAMAGED
    return to
