"""Values of MySQL's and MariaDB's log -> the text that the server prints for them.

https://mariadb.com/kb/en/rows_event_v1v2-rows_compressed_event_v1/: moments and decimals have their most
significant byte first, other numbers their least significant one. Each function writes from `to` on, and returns where
the text ends.
"""

from __future__ import annotations

import numpy as np

from integrator.engine.arrays import Octets
from integrator.engine.compiled import compiled, inlined
from integrator.engine.days import civil_of

_ZERO, _MINUS, _POINT, _COLON, _BLANK = b"0-.: "
_BACKSLASH, _X = b"\\x"
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_DIGIT_BYTES = np.array([0, 1, 1, 2, 2, 3, 3, 4, 4, 4], np.int64)
"""Bytes of the digits of a decimal that are no group of nine."""
_GROUP, _GROUP_BYTES = 9, 4
_TIME_ZERO = 0x800000


@inlined
def low_first(data: Octets, at: int, size: int) -> int:
    """Return a number whose least significant byte is first."""
    found = np.int64(0)
    for place in range(size):
        found |= np.int64(data[at + place]) << 8 * place
    return int(found)


@inlined
def high_first(data: Octets, at: int, size: int) -> int:
    """Return a number whose most significant byte is first."""
    found = np.int64(0)
    for place in range(at, at + size):
        found = found << 8 | np.int64(data[place])
    return int(found)


@inlined
def fraction_bytes(digits: int) -> int:
    """Return how many bytes the digits of a second take."""
    return (digits + 1) >> 1


@inlined
def decimal_bytes(digits: int, scale: int) -> int:
    """Return how many bytes a decimal of so many digits takes."""
    whole = digits - scale
    own = whole // _GROUP * _GROUP_BYTES + _DIGIT_BYTES[whole % _GROUP]
    return int(own + scale // _GROUP * _GROUP_BYTES + _DIGIT_BYTES[scale % _GROUP])


@inlined
def put_padded(value: int, width: int, out: Octets, to: int) -> int:
    """Write a number with zeros before it."""
    for place in range(to + width - 1, to - 1, -1):
        out[place] = _ZERO + value % 10
        value //= 10
    return to + width


@compiled
def put_digits(value: np.uint64, out: Octets, to: int) -> int:
    """Write a number."""
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
    size = fraction_bytes(digits)
    return _fraction_of(high_first(data, at, size), digits, out, to)


@inlined
def _fraction_of(value: int, digits: int, out: Octets, to: int) -> int:
    """Write a point and digits; `value` is in an even number of digits."""
    if digits == 0:
        return to
    out[to] = _POINT
    return put_padded(value // 10 if digits & 1 else value, digits, out, to + 1)


@inlined
def put_date(year: int, month: int, day: int, out: Octets, to: int) -> int:
    """Write YYYY-MM-DD."""
    to = put_padded(year, 4, out, to)
    out[to] = _MINUS
    to = put_padded(month, 2, out, to + 1)
    out[to] = _MINUS
    return put_padded(day, 2, out, to + 1)


@inlined
def put_clock(hour: int, minute: int, second: int, out: Octets, to: int) -> int:
    """Write HH:MM:SS; hours may have three digits."""
    to = put_padded(hour, 3 if hour > 99 else 2, out, to)
    out[to] = _COLON
    to = put_padded(minute, 2, out, to + 1)
    out[to] = _COLON
    return put_padded(second, 2, out, to + 1)


@compiled
def put_time(data: Octets, at: int, digits: int, out: Octets, to: int) -> int:
    """Write a TIME of so many digits of a second."""
    size = fraction_bytes(digits)
    packed = high_first(data, at, 3 + size) - int(np.int64(_TIME_ZERO) << 8 * size)
    if packed < 0:
        packed = -packed
        out[to] = _MINUS
        to += 1
    whole = packed >> 8 * size
    to = put_clock(whole >> 12 & 0x3FF, whole >> 6 & 0x3F, whole & 0x3F, out, to)
    return _fraction_of(packed & int((np.int64(1) << 8 * size) - 1), digits, out, to)


@compiled
def put_datetime(data: Octets, at: int, digits: int, out: Octets, to: int) -> int:
    """Write a DATETIME of so many digits of a second."""
    packed = high_first(data, at, 5) & 0x7FFFFFFFFF
    days, clock = packed >> 17, packed & 0x1FFFF
    months = days >> 5
    to = put_date(months // 13, months % 13, days & 0x1F, out, to)
    out[to] = _BLANK
    to = put_clock(clock >> 12, clock >> 6 & 0x3F, clock & 0x3F, out, to + 1)
    return _fraction(data, at + 5, digits, out, to)


@compiled
def put_timestamp(data: Octets, at: int, digits: int, out: Octets, to: int) -> int:
    """Write a TIMESTAMP of so many digits of a second, with +00; zero as the server prints it."""
    seconds = high_first(data, at, 4)
    year = month = day = 0
    is_zero = not (seconds or high_first(data, at + 4, fraction_bytes(digits)))
    if not is_zero:
        year, month, day = civil_of(seconds // 86_400)
    to = put_date(year, month, day, out, to)
    out[to] = _BLANK
    clock = seconds % 86_400
    to = put_clock(clock // 3600, clock // 60 % 60, clock % 60, out, to + 1)
    to = _fraction(data, at + 4, digits, out, to)
    if is_zero:
        return to
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
def put_decimal(data: Octets, at: int, digits: int, scale: int, out: Octets, to: int) -> int:  # noqa: PLR0912 - one of groups
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
            to = put_digits(np.uint64(value), out, to)
        at += size
        is_first = False
    for _ in range(whole // _GROUP):
        value = _group(data, at, _GROUP_BYTES, flip)
        if is_first:
            value ^= 0x80000000
            is_first = False
        if to > begin:
            to = put_padded(value, _GROUP, out, to)
        elif value:
            to = put_digits(np.uint64(value), out, to)
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
        to = put_padded(value, _GROUP, out, to)
        at += _GROUP_BYTES
    last = scale % _GROUP
    if last:
        value = _group(data, at, _DIGIT_BYTES[last], flip)
        if is_first:
            value ^= int(np.int64(0x80) << 8 * (_DIGIT_BYTES[last] - 1))
        to = put_padded(value, last, out, to)
    return to


@compiled
def _hexadecimal(data: Octets, at: int, end: int, out: Octets, to: int) -> int:
    for place in range(at, end):
        out[to] = _HEX[data[place] >> 4]
        out[to + 1] = _HEX[data[place] & 15]
        to += 2
    return to


@compiled
def put_bytes(data: Octets, at: int, end: int, most: int, out: Octets, to: int) -> int:
    """Write bytes; BINARY columns are without the zeros that they end in."""
    out[to], out[to + 1] = _BACKSLASH, _X
    to = _hexadecimal(data, at, end, out, to + 2)
    for _ in range(end - at, most):
        out[to] = out[to + 1] = _ZERO
        to += 2
    return to


@compiled
def put_mapped(data: Octets, at: int, end: int, own: int, maps: Octets, out: Octets, to: int) -> int:
    """Write text of a character set by its map."""
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
def put_uuid(data: Octets, at: int, end: int, out: Octets, to: int) -> int:
    """Write a UUID."""
    for place in range(16):
        if place in (4, 6, 8, 10):
            out[to] = _MINUS
            to += 1
        value = _byte(data, at, end, place)
        out[to], out[to + 1] = _HEX[value >> 4], _HEX[value & 15]
        to += 2
    return to


@compiled
def put_inet6(data: Octets, at: int, end: int, out: Octets, to: int) -> int:
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
            return put_inet4(data, at + 12, end, out, to)
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
def put_inet4(data: Octets, at: int, end: int, out: Octets, to: int) -> int:
    """Write an IPv4 address."""
    for place in range(4):
        if place:
            out[to] = _POINT
            to += 1
        to = put_digits(np.uint64(_byte(data, at, end, place)), out, to)
    return to
