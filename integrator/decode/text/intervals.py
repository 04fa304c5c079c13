"""Intervals as databases print them -> Arrow: PostgreSQL's verbose style, ISO 8601, and SQL's 1-2 and 3 04:05:06.7.

https://www.postgresql.org/docs/15/datatype-datetime.html#DATATYPE-INTERVAL-OUTPUT; Oracle prints SQL's, +01-02 and
+03 04:05:06.789.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first, mask
from integrator.arrow.durations import from_parts
from integrator.engine.arrays import Ints

_CLOCK = r"(?:\s*(?P<sign>[+-])?(?P<h>\d+):(?P<m>\d\d)(?::(?P<s>\d\d)(?:\.(?P<f>\d{1,9}))?)?)?"
_ISO_CLOCK = r"(?:T(?:(?P<sh>[+-]?\d+)H)?(?:(?P<sm>[+-]?\d+)M)?(?:(?P<ss>[+-]?\d+)(?:\.(?P<f>\d{1,9}))?S)?)?$"
_STYLES = (
    r"^(?:(?P<Y>[+-]?\d+) years?\s*)?(?:(?P<M>[+-]?\d+) mons?\s*)?(?:(?P<D>[+-]?\d+) days?)?" + _CLOCK + "$",
    r"^P(?:(?P<Y>[+-]?\d+)Y)?(?:(?P<M>[+-]?\d+)M)?(?:(?P<W>[+-]?\d+)W)?(?:(?P<D>[+-]?\d+)D)?" + _ISO_CLOCK,
    r"^(?P<ym>[+-]?)(?P<Y>\d+)-(?P<M>\d+)$",
    r"^(?P<D>[+-]?\d+)\s+(?P<h>\d+):(?P<m>\d\d)(?::(?P<s>\d\d)(?:\.(?P<f>\d{1,9}))?)?$",
)
_INT32, _MOST_SECONDS = 2**31 - 1, 9_223_372_035
_SECOND, _MINUTE, _HOUR, _YEAR, _WEEK = 1_000_000_000, 60, 3600, 12, 7


def intervals(values: pa.Array) -> pa.Array:
    """Return intervals; null stays null. Raises ValueError for text that is none."""
    size = len(values)
    months, days, nanos = (np.zeros(size, np.int64) for _ in range(3))
    open_ = mask(pc.is_valid(values)) & mask(pc.greater(pc.binary_length(values), 0))
    if (mask(pc.is_valid(values)) & ~open_).any():
        raise ValueError("empty text is no interval")
    for style in _STYLES:
        at = np.flatnonzero(open_)
        if not len(at):
            break
        found = pc.extract_regex(values.take(pa.array(at)), style)
        hit = mask(pc.is_valid(found))
        parts = _Parts(found.filter(pa.array(hit)))
        rows = at[hit]
        months[rows], days[rows], nanos[rows] = parts.months(), parts.days(), parts.nanos()
        open_[rows] = False
    if (np.abs(months) > _INT32).any() or (np.abs(days) > _INT32).any():
        raise ValueError("an interval has at most 2147483647 months and as many days")
    wrong = first(open_)
    if wrong is not None:
        raise ValueError("expected an interval such as 1 year 2 mons 3 days 04:05:06.789, or P1Y2M3DT4H5M6.789S")
    return from_parts(months, days, nanos, pc.is_valid(values))


class _Parts:
    """The named groups of matches."""

    def __init__(self, found: pa.StructArray) -> None:
        self._names = {found.type.field(place).name for place in range(found.type.num_fields)}
        self._found, self._size = found, len(found)

    def _text(self, name: str) -> pa.Array:
        if name not in self._names:
            return pa.repeat("", self._size)
        return pc.struct_field(self._found, name)

    def _number(self, name: str) -> Ints:
        text = pc.replace_substring(self._text(name), "+", "")
        number = np.asarray(pc.if_else(pc.equal(text, ""), "0", text).cast(pa.int64()))
        if (np.abs(number) > _MOST_SECONDS).any():
            raise ValueError("an interval's parts are not as large")
        return number

    def _minus(self, name: str) -> Ints:
        return np.where(mask(pc.starts_with(self._text(name), "-")), -1, 1)

    def months(self) -> Ints:
        """Years and months."""
        return self._minus("ym") * (self._number("Y") * _YEAR + self._number("M"))

    def days(self) -> Ints:
        """Weeks and days."""
        return self._number("W") * _WEEK + self._number("D")

    def nanos(self) -> Ints:
        """Hours to nanoseconds: their sign is their own, or the day's in SQL's style; each has its own in ISO 8601."""
        fraction = np.asarray(pc.utf8_rpad(self._text("f"), 9, "0").cast(pa.int64()))
        clock = self._number("h") * _HOUR + self._number("m") * _MINUTE + self._number("s")
        iso = self._number("sh") * _HOUR + self._number("sm") * _MINUTE + self._number("ss")
        if (np.abs(clock) > _MOST_SECONDS).any() or (np.abs(iso) > _MOST_SECONDS).any():
            raise ValueError("the clock of an interval has at most 292 years; declare the column as text")
        sign = self._minus("sign") * (1 if "sign" in self._names else self._minus("D"))
        iso_sign = self._minus("ss")
        if "ss" in self._names:
            return np.asarray(iso * _SECOND + iso_sign * fraction, np.int64)
        return np.asarray(sign * (clock * _SECOND + fraction), np.int64)
