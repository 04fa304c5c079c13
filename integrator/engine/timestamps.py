"""Days and timestamps in ISO 8601, as databases print them."""

from __future__ import annotations

import numpy as np

from integrator.engine.arrays import Ints, Mask, Octets, Places
from integrator.engine.compiled import compiled
from integrator.engine.days import NO_DAY, days_of
from integrator.engine.grammar import QUOTE
from integrator.engine.values import is_null

_MINUS, _PLUS, _COLON, _POINT, _ZERO, _NINE, _SPACE, _T, _Z = b"-+:.09 TZ"
NO_ZONE, OWN_ZONE, OWN_ZONE_OR_UTC, NO_ZONE_OR_UTC = range(4)
_DAY = len("2026-01-02")
_SECOND = len("2026-01-02 03:04:05")
_NS_YEARS = (1678, 2261)
"""Of which 64 bits hold every nanosecond."""
_SECONDS = (-62_135_596_800, 253_402_300_799)
"""The first and the last of the years 1 to 9999, out of which an offset may move a timestamp."""


@compiled
def parse_dates(text: Octets, start: Places, end: Places, days: Places, valid: Mask) -> bool:
    """Read days since 1970; return False at one that is written otherwise."""
    for place in range(len(start)):
        valid[place] = not is_null(text, start[place], end[place])
        day = 0
        if valid[place]:
            if text[start[place]] != QUOTE or end[place] - start[place] != _DAY + 2:
                return False
            day = _days(text, start[place] + 1)
            if day == NO_DAY:
                return False
        days[place] = day
    return True


@compiled
def parse_timestamps(
    text: Octets, start: Places, end: Places, digits: int, zone: int, timestamps: Ints, valid: Mask
) -> bool:
    """Read timestamps since 1970 in units of so many digits of a second; return False at one that is none."""
    for place in range(len(start)):
        valid[place] = not is_null(text, start[place], end[place])
        timestamp = 0
        if valid[place]:
            timestamp = _timestamp(text, start[place], end[place], digits, zone)
            if timestamp == NO_DAY:
                return False
        timestamps[place] = timestamp
    return True


@compiled
def _two(text: Octets, at: int) -> int:
    """Return a number of two digits, -1 where there is none."""
    if not (_ZERO <= text[at] <= _NINE and _ZERO <= text[at + 1] <= _NINE):
        return -1
    return (int(text[at]) - _ZERO) * 10 + int(text[at + 1]) - _ZERO


@compiled
def _days(text: Octets, at: int) -> int:
    """Return the days since 1970-01-01 of a day of the years 1 to 9999 that is written here; NO_DAY where none is."""
    century, year, month, day = _two(text, at), _two(text, at + 2), _two(text, at + 5), _two(text, at + 8)
    if min(century, year, month, day) < 0 or text[at + 4] != _MINUS or text[at + 7] != _MINUS:
        return NO_DAY
    year += century * 100
    return days_of(year, month, day)


@compiled
def _offset(text: Octets, at: int, size: int) -> int:
    """Return an offset in seconds, of hours, minutes and seconds, with colons or without; -1 for what is none."""
    hours, minutes, seconds = _two(text, at) if size >= 2 else -1, 0, 0
    if size in (4, 6):
        minutes = _two(text, at + 2)
        seconds = _two(text, at + 4) if size == 6 else 0
    elif size in (5, 8) and text[at + 2] == _COLON and text[at + size - 3] == _COLON:
        minutes = _two(text, at + 3)
        seconds = _two(text, at + 6) if size == 8 else 0
    elif size != 2:
        return -1
    if not (0 <= hours < 24 and 0 <= minutes < 60 and 0 <= seconds < 60):
        return -1
    return hours * 3_600 + minutes * 60 + seconds


@compiled
def _timestamp(text: Octets, at: int, end: int, digits: int, zone: int) -> int:  # noqa: C901, PLR0912
    """Return a timestamp in units of so many digits of a second; NO_DAY for what is none."""
    at, end = at + 1, end - 1
    if text[at - 1] != QUOTE or end - at < _SECOND:
        return NO_DAY
    day = _days(text, at)
    hour, minute, second = _two(text, at + 11), _two(text, at + 14), _two(text, at + 17)
    if day == NO_DAY or text[at + 10] not in (_SPACE, _T) or text[at + 13] != _COLON or text[at + 16] != _COLON:
        return NO_DAY
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60):
        return NO_DAY
    if digits == 9 and not _NS_YEARS[0] < _two(text, at) * 100 + _two(text, at + 2) < _NS_YEARS[1]:
        return NO_DAY
    at += _SECOND
    fraction = np.int64(0)
    count = 0
    if at < end and text[at] == _POINT:
        at += 1
        while at < end and _ZERO <= text[at] <= _NINE:
            if count < digits:
                fraction = fraction * 10 + int(text[at]) - _ZERO
            elif text[at] != _ZERO or count == 9:
                return NO_DAY
            count += 1
            at += 1
        if count == 0:
            return NO_DAY
    for _ in range(digits - min(count, digits)):
        fraction *= 10
    offset = 0
    has_zone = at < end
    if has_zone:
        sign, left = text[at], end - at
        at += 1
        if sign == _Z:
            if left != 1:
                return NO_DAY
        else:
            offset = _offset(text, at, left - 1)
            if sign not in (_PLUS, _MINUS) or offset < 0:
                return NO_DAY
            offset = -offset if sign == _MINUS else offset
            if zone == NO_ZONE_OR_UTC and (sign != _PLUS or offset or left == 3):
                return NO_DAY
    if (zone == NO_ZONE and has_zone) or (zone == OWN_ZONE and not has_zone):
        return NO_DAY
    unit = np.int64(1)
    for _ in range(digits):
        unit *= 10
    seconds = day * 86_400 + hour * 3_600 + minute * 60 + second - offset
    if not _SECONDS[0] <= seconds <= _SECONDS[1]:
        return NO_DAY
    return int(seconds * unit + fraction)
