r"""Rows of MySQL's and MariaDB's log, and of their results -> messages of pgoutput's shape, for one table at a time.

https://mariadb.com/kb/en/rows_event_v1v2-rows_compressed_event_v1/ has rows of the log. Values are of the types that
the table map before them has (https://mariadb.com/kb/en/table_map_event/); they become the text that the server prints
for them, bytes `\x` and hexadecimal digits, moments of TIMESTAMP columns end in +00.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from integrator.engine.arrays import Ints, Octets
from integrator.engine.binlog_json import DAMAGED, MOST_BYTES, ROOM, walk_json
from integrator.engine.binlog_values import (
    decimal_bytes,
    fraction_bytes,
    low_first,
    put_bytes,
    put_date,
    put_datetime,
    put_decimal,
    put_digits,
    put_inet4,
    put_inet6,
    put_mapped,
    put_padded,
    put_time,
    put_timestamp,
    put_uuid,
)
from integrator.engine.compiled import compiled, inlined

(
    INTEGER, UNSIGNED, FLOAT, DOUBLE, DECIMAL, DATE, TIME, DATETIME, TIMESTAMP, YEAR, BIT, ENUM, SET, TEXT, MAPPED,
    BYTES, UUID, INET6, INET4, JSON, HIDDEN,
) = range(21)  # fmt: skip
"""Kinds of columns. MAPPED: text of a character set that has a byte for each character. HIDDEN: the server's own."""
INSERT, UPDATE, DELETE = b"IUD"
_NEW, _OLD, _NULL, _TEXT, _MISSING = b"NOntu"
_ZERO, _MINUS, _COMMA = b"0-,"
_BACKSLASH, _TAB, _NEWLINE, _RETURN, _N, _T, _R, _CAPITAL_N = b"\\\t\n\rntrN"
_VALUE_ROOM = 100
"""Bytes that a value takes beside its text, and that numbers and moments take, at most."""
_MOST_MAPPED, _MOST_HEX = 3, 2
_TERMINAL_NULL, _TWO_BYTES, _THREE_BYTES, _EIGHT_BYTES = 0xFB, 0xFC, 0xFD, 0xFE


class Program(NamedTuple):
    """How rows of a table are read, a row for each column.

    kind: of its values. size: bytes of a value, of the length before one, or a decimal's digits. more: digits after the
    point; of an enum or a set its first label; the length to which bytes are filled up, or 0; the map of a MAPPED one.
    labels, bounds: labels as text, and where each begins and ends. maps: of each map and byte a length, and UTF-8.
    frames: see `walk_json`.
    """

    kind: Ints
    size: Ints
    more: Ints
    labels: Octets
    bounds: Ints
    maps: Octets
    frames: Ints


@inlined
def _has(bits: Octets, at: int, column: int) -> bool:
    return bool(bits[at + (column >> 3)] >> (column & 7) & 1)


@compiled
def _end_of(data: Octets, at: int, end: int, kind: int, size: int, more: int) -> int:
    """Return where a value ends; DAMAGED where it is not whole."""
    if kind in (TEXT, MAPPED, BYTES, UUID, INET6, INET4, JSON):
        if at + size > end:
            return DAMAGED
        after = at + size + low_first(data, at, size)
    elif kind == DECIMAL:
        after = at + decimal_bytes(size, more)
    elif kind == DATE:
        after = at + 3
    elif kind == TIME:
        after = at + 3 + fraction_bytes(more)
    elif kind == DATETIME:
        after = at + 5 + fraction_bytes(more)
    elif kind == TIMESTAMP:
        after = at + 4 + fraction_bytes(more)
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
def _scan_image(  # noqa: PLR0912 - a case a kind
    data: Octets, at: int, end: int, present: int, program: Program, floats: Octets, found: Ints
) -> int:
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
        elif kind == JSON:
            found[1] += MOST_BYTES * (at - begin) + 2 * ROOM
            first = begin + program.size[column]
            if walk_json(data, first, at, program.frames, floats, found, floats, found, floats[:0], 0) < 0:
                return DAMAGED
        elif kind in (ENUM, SET):
            found[1] += _room_of_labels(kind, low_first(data, begin, at - begin), more, program)
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
        value = low_first(data, at, size)
        shift = 64 - 8 * size
        value = np.int64(value << shift) >> shift
        if value < 0:
            out[to] = _MINUS
            return put_digits(~np.uint64(value) + np.uint64(1), out, to + 1)
        return put_digits(np.uint64(value), out, to)
    if kind == UNSIGNED:
        return put_digits(np.uint64(low_first(data, at, size)), out, to)
    if kind == TEXT:
        for place in range(at + size, end):
            out[to] = data[place]
            to += 1
        return to
    if kind == DECIMAL:
        return put_decimal(data, at, size, more, out, to)
    if kind == DATETIME:
        return put_datetime(data, at, more, out, to)
    if kind == TIMESTAMP:
        return put_timestamp(data, at, more, out, to)
    if kind == DATE:
        packed = low_first(data, at, 3)
        return put_date(packed >> 9, packed >> 5 & 15, packed & 31, out, to)
    if kind == TIME:
        return put_time(data, at, more, out, to)
    if kind == ENUM:
        label = low_first(data, at, size)
        return _label(more + label - 1, program, out, to) if label else to
    if kind == SET:
        return _labels(low_first(data, at, size), more, program, out, to)
    if kind == BYTES:
        return put_bytes(data, at + size, end, more, out, to)
    if kind == MAPPED:
        return put_mapped(data, at + size, end, more, program.maps, out, to)
    if kind == YEAR:
        return put_padded(1900 + int(data[at]) if data[at] else 0, 4, out, to)
    if kind == BIT:
        for bit in range(size - 1, -1, -1):
            out[to] = _ZERO + (data[end - 1 - (bit >> 3)] >> (bit & 7) & 1)
            to += 1
        return to
    if kind == UUID:
        return put_uuid(data, at + size, end, out, to)
    if kind == INET6:
        return put_inet6(data, at + size, end, out, to)
    return put_inet4(data, at + size, end, out, to)


@compiled
def _write_image(
    data: Octets, at: int, present: int, program: Program, texts: Octets, text_ends: Ints, found: Ints,
    out: Octets, to: int,
) -> tuple[int, int]:  # fmt: skip
    """Write an image as a tuple; return where it ends, and the place after the tuple. found: as of `write`."""
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
        if kind == HIDDEN:
            out[to] = _MISSING
            to += 1
            continue
        out[to] = _TEXT
        first = to + 5
        if kind in (FLOAT, DOUBLE):
            to = first
            for piece in range(text_ends[found[2]], text_ends[found[2] + 1]):
                out[to] = texts[piece]
                to += 1
            found[2] += 1
        elif kind == JSON:
            value = begin + program.size[column]
            to = walk_json(data, value, at, program.frames, out, found, texts, text_ends, out, first)
        else:
            to = _value(data, begin, at, column, program, out, first)
        size = to - first
        for byte in range(4):
            out[first - 1 - byte] = size >> 8 * byte & 0xFF
    return at, to


@compiled
def write(
    data: Octets, at: int, action: int, oid: int, program: Program, texts: Octets, text_ends: Ints, out: Octets,
    ends: Ints, found: Ints,
) -> int:  # fmt: skip
    """Write rows that were scanned as messages; return how many. ends: takes where each ends.

    oid: of the table. texts, text_ends: numbers of FLOAT and DOUBLE as text, and where each begins. found: its third
    number counts those that are written.
    """
    bits = (len(program.kind) + 7) >> 3
    before = at
    after = before + bits if action == UPDATE else before
    at = after + bits
    row = to = 0
    found[2] = 0
    while at < len(data):
        out[to] = action
        for byte in range(4):
            out[to + 4 - byte] = oid >> 8 * byte & 0xFF
        out[to + 5] = _NEW if action == INSERT else _OLD
        at, to = _write_image(data, at, before, program, texts, text_ends, found, out, to + 6)
        if action == UPDATE:
            out[to] = _NEW
            at, to = _write_image(data, at, after, program, texts, text_ends, found, out, to + 1)
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
                    first = low_first(data, at, wide)
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
