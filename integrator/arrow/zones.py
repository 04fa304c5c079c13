"""Time zones as IANA names them, whose rules continue after 2037, where Arrow's tables end.

Up to 2036 Arrow is asked. After that, offsets are those of `zoneinfo`, which follow a zone's rule: a table of 464
years is made, of which the last 400 come again and again, as the calendar does with its days of the week.
"""

from __future__ import annotations

import datetime as dt
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first, unfit
from integrator.engine.arrays import Ints

_DAY = 86_400
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


def _start_of(year: int) -> int:
    return (dt.date(year, 1, 1) - _EPOCH.date()).days * _DAY


_BEGIN, _LATE = _start_of(2036), _start_of(2037)
_REPEATED, _END = _start_of(2100), _start_of(2500)
"""The years that come again; before them, some zones have offsets that follow no rule (Morocco's, in Ramadan)."""
_STEP = 5 * _DAY
"""No two changes of an offset are so close to each other."""
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


@lru_cache(maxsize=64)
def _changes(zone: str) -> tuple[Ints, Ints]:
    """Return when the offset of a zone changes, from 2036 to 2499, in seconds of UTC, and what it is from then on."""
    rule = ZoneInfo(zone)

    def offset(second: int) -> int:
        moment = (_EPOCH + dt.timedelta(seconds=second)).astimezone(rule)
        found = moment.utcoffset()
        return 0 if found is None else round(found.total_seconds())

    starts, offsets = [_BEGIN], [offset(_BEGIN)]
    for before in range(_BEGIN, _END, _STEP):
        low, high = before, min(before + _STEP, _END)
        after = offset(high)
        if after != offsets[-1]:
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(middle) == offsets[-1] else (low, middle)
            starts.append(high)
            offsets.append(after)
    return np.array(starts, np.int64), np.array(offsets, np.int64)


def _offsets(zone: str, seconds: Ints) -> Ints:
    """Return the offset from UTC at moments from 2036 on, in seconds."""
    starts, offsets = _changes(zone)
    repeated = (seconds - _REPEATED) % (_END - _REPEATED) + _REPEATED
    at = np.where(seconds < _END, seconds, repeated)
    return offsets[np.searchsorted(starts, at, side="right") - 1]


def _seconds(moments: pa.Array) -> Ints:
    """Return moments in whole seconds since 1970; of null, 0."""
    counts = pc.fill_null(moments.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return np.asarray(counts // _PER_SECOND[moments.type.unit], np.int64)


def _shifted(moments: pa.Array, by: Ints, kind: pa.DataType) -> pa.Array:
    shift = pa.array(by * _PER_SECOND[moments.type.unit])
    return pc.add_checked(moments.cast(pa.int64()), shift).cast(kind)


def instants(local: pa.Array, zone: str) -> pa.Array:
    """Return what clocks in a zone show as moments of UTC.

    Raises pa.ArrowInvalid for what they never show, or twice, when clocks are changed.
    """
    kind = pa.timestamp(local.type.unit, "UTC")
    if zone == "UTC":
        return local.cast(kind)
    shown = _seconds(local)
    late = shown >= _LATE
    if not late.any():
        return _assumed(local, zone, kind)
    before, after = (_offsets(zone, shown[late] + by) for by in (-_DAY, _DAY))
    by_before, by_after = (_offsets(zone, shown[late] - offset) == offset for offset in (before, after))
    wrong = first((before != after) & (by_before == by_after))
    if wrong is not None:
        text = local.filter(pa.array(late))[wrong]
        how = "is ambiguous" if by_before[wrong] else "doesn't exist"
        raise unfit(f"Timestamp {how} in timezone {zone!r}: {text}")
    offset = np.zeros(len(local), np.int64)
    offset[late] = np.where(by_before, before, after)
    early = _assumed(pc.if_else(pa.array(late), None, local), zone, kind)
    return pc.if_else(pa.array(late), _shifted(local, -offset, kind), early)


def _assumed(local: pa.Array, zone: str, kind: pa.DataType) -> pa.Array:
    try:
        return pc.assume_timezone(local, zone).cast(kind)
    except pa.ArrowInvalid as error:
        raise unfit(str(error)) from None


def clock(moments: pa.Array, zone: str) -> pa.Array:
    """Return what clocks in a zone show at moments of UTC, as timestamps without a zone."""
    kind = pa.timestamp(moments.type.unit)
    if zone == "UTC":
        return moments.cast(kind)
    seconds = _seconds(moments)
    late = seconds >= _LATE
    offset = np.zeros(len(moments), np.int64)
    offset[late] = _offsets(zone, seconds[late])
    early = pc.local_timestamp(pc.if_else(pa.array(late), None, moments).cast(pa.timestamp(moments.type.unit, zone)))
    return pc.if_else(pa.array(late), _shifted(moments, offset, kind), early) if late.any() else early
