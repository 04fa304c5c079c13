"""Lines of JSON objects as most writers write them: cut into members by their quotes alone.

Each line is `{"name":value,"name":value}`, with one space, the same everywhere, or none behind colons and commas; a
value is a string, or has no quotes. RFC 8259: a quote that is not escaped begins or ends a string.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from integrator.dialects.json_text import CLOSE, COLON, COMMA, OPEN, QUOTE, SPACE, Octets, escaped_quotes
from integrator.dialects.lines import Lines

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Members:
    """Members of objects, in their order.

    line: of each. name, name_end: where its name begins and ends, without quotes; start, end: its value.
    """

    line: Ints
    name: Ints
    name_end: Ints
    start: Ints
    end: Ints


def members(lines: Lines) -> Members | None:
    """Return the members of all lines; None where a line is written otherwise.

    A value that is no string has no quotes, and ends where the next name begins or the line does: whether it is a value
    is for the caller to see, and whether what stands in strings may stand there.
    """
    text = np.frombuffer(lines.data, np.uint8)
    quotes = np.flatnonzero(text == QUOTE)
    if lines.data.find(b"\\") >= 0:
        quotes = np.delete(quotes, np.searchsorted(quotes, escaped_quotes(text)))
    if len(quotes) % 2 or not len(quotes):
        return None
    opens, closes = quotes[::2], quotes[1::2]
    which = np.flatnonzero(text[closes + 1] == COLON)
    name, name_end = opens[which], closes[which]
    begins, ends = lines.offsets[:-1].astype(np.int64), lines.offsets[1:].astype(np.int64) - 2
    first = np.searchsorted(name, begins)
    if first[-1] == len(name) or (name[first] != begins + 1).any() or (text[begins] != OPEN[0]).any():
        return None
    size = np.diff(first, append=len(name))
    if (size < 1).any() or (text[ends] != CLOSE[0]).any():
        return None
    behind_colon = int(text[name_end[0] + 2] == SPACE)
    behind_comma = int(size[0] > 1 and text[name[1] - 1] == SPACE)
    start, end = name_end + 2 + behind_colon, np.empty(len(name), np.int64)
    end[:-1] = name[1:] - 1 - behind_comma
    end[first[1:] - 1], end[-1] = ends[:-1], ends[-1]
    if not _separated(text, name_end + 2, end, behind_colon, behind_comma, first) or (start >= end).any():
        return None
    pairs = np.diff(which, append=len(opens))  # a name, and a string behind it, or none
    strings = pairs == 2
    at = which[strings] + 1
    if (pairs > 2).any() or (opens[at] != start[strings]).any() or (closes[at] + 1 != end[strings]).any():
        return None
    return Members(np.repeat(np.arange(len(lines)), size), name + 1, name_end, start, end)


def _separated(text: Octets, behind_colons: Ints, ends: Ints, colon: int, comma: int, first: Ints) -> bool:
    """Say whether all values but those before the `first` of another line end in a comma, and spaces are as told."""
    commas = np.delete(ends, [*(first[1:] - 1), len(ends) - 1])
    spaced = (not colon or (text[behind_colons] == SPACE).all()) and (not comma or (text[commas + 1] == SPACE).all())
    return bool(spaced and (text[commas] == COMMA).all())
