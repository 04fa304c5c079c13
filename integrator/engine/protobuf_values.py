"""Values of Protocol Buffers as JSON."""

from __future__ import annotations

import numpy as np

from integrator.engine.arrays import Ints, Octets, Places, Words
from integrator.engine.compiled import compiled, inlined
from integrator.engine.days import NO_DAY, days_of
from integrator.engine.json_writer import (
    Output,
    room_of_base64,
    write_base64,
    write_literal,
    write_unsigned,
    write_whole,
    write_word,
)
from integrator.engine.programs import FULL, NO_DATE, NO_TIME, OK, OTHER_SCALE, OUT_OF_RANGE, WIDTH
from integrator.engine.protobuf_fields import (
    BOOLEAN,
    COUNT,
    DATE,
    DECIMAL,
    MOMENT,
    SIGNED,
    SIGNED_32,
    STOP,
    UNSIGNED,
    UNSIGNED_32,
    VALUE,
    ZIGZAG,
)
from integrator.engine.varints import zigzag

_QUOTE = ord('"')
_TRUE, _FALSE = (np.frombuffer(word, np.uint8) for word in (b"true", b"false"))
_SECOND, _LEAST, _MOST = 1_000_000_000, -(1 << 63), (1 << 63) - 1
ROOM = 64
"""For the short things of one instruction."""


@inlined
def signed_32(bits: int) -> int:
    """Return the number of 32 bits, the highest of which is the sign."""
    low = bits & 0xFFFFFFFF
    return low - ((low & 0x80000000) << 1)


@compiled
def small(fields: Ints, field: int) -> int:
    """Return an int32 of a message; 0 where it is absent."""
    if not fields[field, COUNT]:
        return 0
    return signed_32(fields[field, VALUE])


@compiled
def _moment(seconds: int, nanos: int) -> tuple[int, bool]:
    """Return nanoseconds since 1970, and whether 64 bits hold them."""
    if nanos < 0 or nanos >= _SECOND or seconds < _LEAST // _SECOND or seconds > _MOST // _SECOND:
        return 0, False
    if seconds < 0:
        seconds += 1
        nanos -= _SECOND
    whole = seconds * _SECOND
    if nanos < _LEAST - whole if seconds <= 0 and nanos < 0 else nanos > _MOST - whole:
        return 0, False
    return whole + nanos, True


@inlined
def write_part(code: Places, literals: Words, place: int, out: Output, to: int) -> int:
    """Write the literal of an instruction; return the place after it, or FULL."""
    size = code[place + 2]
    if to + size >= len(out.octets) - ROOM:
        return FULL
    return write_literal(literals, code[place + 1], size, out, to)


@inlined
def write_number(what: int, bits: int, out: Output, to: int) -> int:
    """Write a number, or whether it is true, of which there are these bits."""
    if what == SIGNED:
        return write_whole(bits, out, to)
    if what == SIGNED_32:
        return write_whole(signed_32(bits), out, to)
    if what == BOOLEAN:
        return write_word(_TRUE, out, to) if bits else write_word(_FALSE, out, to)
    if what == UNSIGNED:
        return write_unsigned(np.uint64(bits), out, to)
    if what == ZIGZAG:
        return write_whole(zigzag(bits), out, to)
    low = bits & 0xFFFFFFFF
    return write_whole(low if what == UNSIGNED_32 else zigzag(low), out, to)


@compiled
def write_name(code: Places, literals: Words, pc: int, bits: int, out: Output, to: int) -> int:
    """Write the name of a number of an ENUM, or the number as text; return the place after it, or FULL."""
    number = signed_32(bits)
    first, many = pc + 2 * WIDTH, code[pc + 4]
    if 0 <= number < many and code[first + number * WIDTH + 3] == number:
        return write_part(code, literals, first + number * WIDTH, out, to)
    for row in range(first, first + many * WIDTH, WIDTH):
        if code[row + 3] == number:
            return write_part(code, literals, row, out, to)
    out.octets[to] = _QUOTE
    to = write_whole(number, out, to + 1)
    out.octets[to] = _QUOTE
    return to + 1


@compiled
def write_known(text: Octets, what: int, scale: int, fields: Ints, base: int, out: Output, to: int) -> tuple[int, int]:
    """Write a message of a well-known type as a value; return the place after it, and a fault."""
    if what == DECIMAL:
        if small(fields, base + 2) != scale:
            return to, OTHER_SCALE
        size = fields[base, STOP] - fields[base, VALUE] if fields[base, COUNT] else 0
        if to + room_of_base64(size) >= len(out.octets) - ROOM:
            return to, FULL
        return write_base64(text, fields[base, VALUE], size, out, to), OK
    if what == MOMENT:
        seconds = fields[base, VALUE] if fields[base, COUNT] else 0
        number, is_right = _moment(seconds, small(fields, base + 1))
        return (write_whole(number, out, to), OK) if is_right else (to, OUT_OF_RANGE)
    one, two, three = small(fields, base), small(fields, base + 1), small(fields, base + 2)
    if what == DATE:
        day = days_of(one, two, three)
        return (to, NO_DATE) if day == NO_DAY else (write_whole(day, out, to), OK)
    nanos = small(fields, base + 3)
    if not (0 <= one < 24 and 0 <= two < 60 and 0 <= three < 60 and 0 <= nanos < _SECOND):
        return to, NO_TIME
    return write_whole((one * 3600 + two * 60 + three) * _SECOND + nanos, out, to), OK
