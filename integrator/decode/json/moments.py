"""Slices -> days and moments in ISO 8601, as databases print them; what is written otherwise is not read here.

A reader returns None where a value is something else: whoever asks reads the texts then, or says what is wrong.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa

from integrator.decode.json.slices import bits
from integrator.engine import timestamps
from integrator.engine.arrays import Octets
from integrator.engine.values import Slices
from integrator.schema import Timestamp, arrow_type

Zone = Literal["none", "own", "utc", "any"]
"""What is after a moment: nothing; a zone; a zone, or nothing for UTC; nothing, or a mark of UTC."""

_ZONES = {
    "none": timestamps.NO_ZONE,
    "own": timestamps.OWN_ZONE,
    "utc": timestamps.OWN_ZONE_OR_UTC,
    "any": timestamps.NO_ZONE_OR_UTC,
}
_DIGITS = {"ms": 3, "us": 6, "ns": 9}


def read_dates(text: Octets, at: Slices) -> pa.Array | None:
    """Return days, 2026-01-02, as date32; None where a value is none."""
    size = len(at.start)
    days, valid = np.empty(size, np.int32), np.empty(size, np.bool_)
    if not timestamps.parse_dates(text, at.start, at.end, days, valid):
        return None
    return pa.Array.from_buffers(pa.date32(), size, [bits(valid), pa.py_buffer(days)])


def read_moments(text: Octets, at: Slices, kind: Timestamp, zone: Zone) -> pa.Array | None:
    """Return moments, 2026-01-02 03:04:05.678+00, in their type; None where one is none, or finer than the type."""
    size = len(at.start)
    moments, valid = np.empty(size, np.int64), np.empty(size, np.bool_)
    if not timestamps.parse_timestamps(text, at.start, at.end, _DIGITS[kind.unit], _ZONES[zone], moments, valid):
        return None
    return pa.Array.from_buffers(arrow_type(kind), size, [bits(valid), pa.py_buffer(moments)])
