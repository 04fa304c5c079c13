"""Numbers that are written with a unit, such as 10MB and 5m: how many bytes, seconds or milliseconds they are."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Literal

Unit = Literal["bytes", "seconds", "milliseconds"]

_SIZE = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 2**10, "mi": 2**20, "gi": 2**30}
_SECOND = Fraction(1)
_TIME = {
    "ms": _SECOND / 1000, "s": _SECOND, "sec": _SECOND, "second": _SECOND, "seconds": _SECOND,
    "m": _SECOND * 60, "min": _SECOND * 60, "minute": _SECOND * 60, "minutes": _SECOND * 60,
    "h": _SECOND * 3600, "hour": _SECOND * 3600, "hours": _SECOND * 3600, "d": _SECOND * 86400,
}  # fmt: skip
_WRITTEN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")


def in_unit(text: str, unit: Unit) -> int | float | None:
    """Return how many of a unit a number with another unit is; None for a text that is none."""
    found = _WRITTEN.fullmatch(text)
    if not found:
        return None
    given = found[2].lower()
    if unit == "bytes":
        factor = _SIZE.get(given.removesuffix("b").removesuffix("byte").removesuffix("bytes"))
        counted = None if factor is None else Fraction(found[1]) * factor
    else:
        second = _TIME.get(given)
        counted = None if second is None else Fraction(found[1]) * second * (1000 if unit == "milliseconds" else 1)
    if counted is None:
        return None
    return int(counted) if counted.denominator == 1 else float(counted)
