"""Where the fields of Protocol Buffers' messages are, and the items of those that are repeated."""

from __future__ import annotations

import numpy as np

from integrator.engine.arrays import Ints, Octets, Places
from integrator.engine.compiled import compiled, inlined
from integrator.engine.programs import CUT, IN_PIECES, NO_FIELD, NO_GROUP, NO_WIRE_TYPE, OK, WIDTH
from integrator.engine.varints import varint

VARINT, BITS_64, LENGTH, _GROUP, _GROUP_END, BITS_32 = range(6)
"""Wire types."""
END, LITERAL, RETURN, HEAD, FIELD, ARRAY, MAP, NEXT, MOMENT, DATE, TIME_OF_DAY, DECIMAL, REQUIRED, ALWAYS = range(14)
"""HEAD: what begins a message; one: how many fields. After it, a FIELD for each, ordered by its number: number, wire
type, and flags. ARRAY, MAP: one: the field; two: the wire type of an
item; three: where it continues after that. NEXT: one: its ARRAY or MAP; that of a MAP is followed by the head of
its entries. REQUIRED, ALWAYS: instead of the literal of an absent value: there must be one; an empty message."""
MESSAGE, SIGNED, SIGNED_32, UNSIGNED, UNSIGNED_32, ZIGZAG, ZIGZAG_32, BOOLEAN, ENUM, DOUBLE, FLOAT, STRING, BYTES = (
    range(14, 27)
)
"""Values; one: the field. The next instruction has what is written where it is absent; those after it, as many as two
says, the numbers and names of an ENUM. MESSAGE: three: its head."""
PACKABLE, MANY, FIRST_GROUP = 1, 2, 4
"""Flags of a field: its items may be in one piece; it is repeated or a message; FIRST_GROUP times the number of its
oneof, from 1 on."""
_MOST_NUMBER = (1 << 29) - 1
FIELD_NUMBERS, FRAME_NUMBERS = 5, 9
COUNT, VALUE, STOP, FIRST, PIECE = range(FIELD_NUMBERS)
"""Of a field: how often it is there; the last value, or where that begins; where it ends; where the first one begins,
and the piece of the message that it is in."""
CONTINUE, BASE, TOP, NUMBER, AT, LIMIT, PACKED, PACKED_STOP, ITEMS = range(FRAME_NUMBERS)
"""Of what is open: where it returns to; the fields of the message around it, and those after them. Of an ARRAY or MAP:
its number; where the next item and the end of the last one are, and the same in a piece of many items; how many items
were written."""


@inlined
def _value(text: Octets, at: int, end: int, wire: int) -> tuple[int, int]:
    """Return a value's bits, or where its bytes begin, and the place after; or a place, and the negative of a fault."""
    if wire == VARINT:
        return varint(text, at, end)
    if wire == LENGTH:
        size, after = varint(text, at, end)
        if after < 0:
            return size, after
        if size < 0 or size > end - after:
            return at, -CUT
        return after, after + size
    if wire in (BITS_64, BITS_32):
        size = 8 if wire == BITS_64 else 4
        if size > end - at:
            return at, -CUT
        bits = np.int64(0)
        for place in range(size):
            bits |= np.int64(text[at + place]) << (8 * place)
        return int(bits), at + size
    return at, -NO_GROUP if wire in (_GROUP, _GROUP_END) else -NO_WIRE_TYPE


@inlined
def _place(code: Places, head: int, number: int, guess: int) -> int:
    """Return the place among a message's fields of one, or -1. guess: where it is likely to be, or just before it."""
    many, first = code[head + 3], head + WIDTH + 3
    if guess < many and code[first + guess * WIDTH] == number:
        return guess
    if guess + 1 < many and code[first + (guess + 1) * WIDTH] == number:
        return guess + 1
    return _search(code, many, first, number)


@compiled
def _search(code: Places, many: int, first: int, number: int) -> int:
    """Return as `_place`, for a place that is anywhere. first: where the number of the first field is."""
    low, high = 0, many
    while low < high:
        middle = (low + high) >> 1
        if code[first + middle * WIDTH] < number:
            low = middle + 1
        else:
            high = middle
    return low if low < many and code[first + low * WIDTH] == number else -1


@compiled
def _find_fields(text: Octets, at: int, end: int, code: Places, head: int, fields: Ints, base: int) -> tuple[int, int]:
    """Note where the fields of a message are, or those of a piece of it; return a place, and a fault."""
    piece, guess = at, 0
    while at < end:
        begin = at
        tag, at = varint(text, begin, end)
        if at < 0:
            return tag, -at
        number, wire = tag >> 3, tag & 7
        if number < 1 or number > _MOST_NUMBER:
            return begin, NO_FIELD
        value, after = _value(text, at, end, wire)
        if after < 0:
            return value, -after
        at = after
        found = _place(code, head, number, guess)
        if found < 0:
            continue
        guess = found + 1
        row, field = head + (1 + found) * WIDTH, base + found
        flags = code[row + 5]
        if wire != code[row + 4] and not (wire == LENGTH and flags & PACKABLE):
            return begin, NO_WIRE_TYPE
        if not fields[field, COUNT]:
            fields[field, FIRST], fields[field, PIECE] = begin, piece
            if flags >= FIRST_GROUP:  # of a oneof the last one is there
                for other in range(code[head + 3]):
                    if code[head + (1 + other) * WIDTH + 5] // FIRST_GROUP == flags // FIRST_GROUP:
                        fields[base + other, COUNT] = 0
        elif flags & MANY and fields[field, PIECE] != piece:
            return begin, IN_PIECES
        fields[field, COUNT] += 1
        fields[field, VALUE], fields[field, STOP] = value, after
    return at, OK


@compiled
def open_message(text: Octets, code: Places, head: int, fields: Ints, field: int, base: int) -> tuple[int, int]:
    """Note where the fields of a message are that is a field itself; return a place, and a fault."""
    for place in range(code[head + 3]):
        fields[base + place, COUNT] = 0
    if fields[field, COUNT] == 0:
        return 0, OK
    if fields[field, COUNT] == 1:
        return _find_fields(text, fields[field, VALUE], fields[field, STOP], code, head, fields, base)
    at, end = fields[field, FIRST], fields[field, STOP]
    sought, _ = varint(text, at, end)
    while at < end:  # it is in pieces, which are one message together
        tag, after = varint(text, at, end)
        begin, at = _value(text, after, end, tag & 7)
        if tag == sought:
            place, fault = _find_fields(text, begin, at, code, head, fields, base)
            if fault != OK:
                return place, fault
    return at, OK


@compiled
def open_list(text: Octets, frame: Ints, fields: Ints, field: int) -> None:
    """Have the first item of a repeated field be the next one."""
    tag, _ = varint(text, fields[field, FIRST], fields[field, STOP])
    frame[NUMBER], frame[AT], frame[LIMIT] = tag >> 3, fields[field, FIRST], fields[field, STOP]
    frame[PACKED], frame[PACKED_STOP], frame[ITEMS] = 0, 0, 0


@compiled
def next_item(text: Octets, frame: Ints, wire: int, fields: Ints, field: int) -> tuple[int, int]:
    """Make the next item of a repeated field its value; return whether there is one, or a place and a fault."""
    while True:
        if frame[PACKED] < frame[PACKED_STOP]:
            value, after = _value(text, frame[PACKED], frame[PACKED_STOP], wire)
            if after < 0:
                return value, -after
            frame[PACKED] = after
            break
        if frame[AT] >= frame[LIMIT]:
            return 0, OK
        tag, at = varint(text, frame[AT], frame[LIMIT])
        value, after = _value(text, at, frame[LIMIT], tag & 7)
        frame[AT] = after
        if tag >> 3 == frame[NUMBER]:
            if tag & 7 == wire:
                break
            frame[PACKED], frame[PACKED_STOP] = value, after
    frame[ITEMS] += 1
    fields[field, COUNT], fields[field, VALUE], fields[field, STOP] = 1, value, after
    return 1, OK
