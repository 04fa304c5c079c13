"""Intervals: their parts, and their text in ISO 8601 with designators, all of them written: P1Y2M3DT4H5M6.789S.

So Debezium writes io.debezium.time.Interval. Months, days and seconds may have signs of their own.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.engine.arrays import Ints

_BYTES = 16
_NANOS = 1_000_000_000


def parts(values: pa.Array) -> tuple[Ints, Ints, Ints]:
    """Return months, days and nanoseconds of intervals; of null, whatever stands there."""
    data = values.buffers()[1]
    raw = np.frombuffer(data, np.uint8)[values.offset * _BYTES : (values.offset + len(values)) * _BYTES]
    small, large = raw.view(np.int32).reshape(-1, 4), raw.view(np.int64).reshape(-1, 2)
    return small[:, 0].astype(np.int64), small[:, 1].astype(np.int64), large[:, 1]


def from_parts(months: Ints, days: Ints, nanos: Ints, valid: pa.Array) -> pa.Array:
    """Return intervals; null where `valid` is not True."""
    raw = np.zeros((len(months), 2), np.int64)
    raw.view(np.int32).reshape(-1, 4)[:, 0] = months
    raw.view(np.int32).reshape(-1, 4)[:, 1] = days
    raw[:, 1] = nanos
    kind = pa.month_day_nano_interval()
    made = pa.Array.from_buffers(kind, len(months), [None, pa.py_buffer(raw)])
    return pc.if_else(valid, made, pa.scalar(None, kind))


def iso_text(values: pa.Array) -> pa.Array:
    """Return intervals as text; null stays null."""
    months, days, nanos = parts(values)
    sign = np.sign(nanos)
    seconds, fraction = np.divmod(np.abs(nanos), _NANOS)
    negative = pa.array((sign < 0) & (seconds % 60 == 0) & (fraction > 0))
    texts = [
        "P",
        _text(_quotient(months, 12)),
        "Y",
        _text(_remainder(months, 12)),
        "M",
        _text(days),
        "DT",
        _text(sign * (seconds // 3600)),
        "H",
        _text(sign * (seconds // 60 % 60)),
        "M",
        pc.if_else(negative, "-", ""),
        _text(sign * (seconds % 60)),
        _fraction(fraction),
        "S",
    ]
    joined = pc.binary_join_element_wise(*texts, "")
    return pc.if_else(pc.is_valid(values), joined, None) if values.null_count else joined


def _fraction(nanos: Ints) -> pa.Array:
    if not nanos.any():
        return pa.repeat("", len(nanos))
    digits = pc.utf8_rtrim(pc.utf8_lpad(_text(nanos), 9, "0"), "0")
    return pc.if_else(pa.array(nanos > 0), pc.binary_join_element_wise(".", digits, ""), "")


def _quotient(values: Ints, by: int) -> Ints:
    return np.asarray(np.sign(values) * (np.abs(values) // by), np.int64)


def _remainder(values: Ints, by: int) -> Ints:
    return np.asarray(np.sign(values) * (np.abs(values) % by), np.int64)


def _text(values: Ints) -> pa.Array:
    return pa.array(values.astype(np.int64)).cast(pa.string())
