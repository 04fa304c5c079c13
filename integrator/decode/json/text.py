"""JSON text as bytes: where its structure is, found for many lines at once, and scalars made text.

RFC 8259: outside strings, whatever is not punctuation or white space is a number or one of the three names.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from integrator.arrow.arrays import Raw

Octets = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NULL = "\ufdd0null"
"""What `all_text` makes of null, so that it stays apart from what is not there: U+FDD0 is no character, and is for use
inside of programs only (https://www.unicode.org/faq/private_use.html#nonchar1)."""

QUOTE, BACKSLASH, COLON, COMMA, NEWLINE, SPACE = b'"\\:,\n '
OPEN, CLOSE = tuple(b"{["), tuple(b"}]")
_NULL = ord("n")
_MARKS = bytes(byte in b'",:[]{}\n' for byte in range(256))
_DELTA = np.zeros(256, np.int8)
_DELTA[list(b"{[")], _DELTA[list(b"}]")] = 1, -1
_IS_SPACE = np.zeros(256, bool)
_IS_SPACE[list(b" \t\r")] = True


@dataclass(frozen=True)
class Structure:
    """The places of `{}[],:` and line ends outside strings, which bytes they are, and how deep each stands.

    A bracket is as deep as what it holds; the members of an object that is alone in its line have depth 1.
    """

    at: Ints
    byte: Octets
    depth: Ints

    @staticmethod
    def of(data: Raw) -> Structure:
        """Find the structure of `data`."""
        text = np.frombuffer(data, np.uint8)
        at = np.flatnonzero(np.frombuffer(data.translate(_MARKS), np.bool_))
        byte = text[at]
        quote = byte == QUOTE
        escaped = np.searchsorted(at, escaped_quotes(text) if b"\\" in data else [])
        quote[escaped], byte[escaped] = False, SPACE  # in a string: neither mark nor structure
        outside = (np.cumsum(quote, dtype=np.int32) & 1) == 0
        structure = outside & ~quote
        at, byte = at[structure], byte[structure]
        delta = _DELTA[byte]
        return Structure(at, byte, np.cumsum(delta, dtype=np.int64) + (delta < 0))

    def scalars(self, text: Octets) -> tuple[Ints, Ints]:
        """Return where numbers and names begin and end. Raises pa.ArrowInvalid for what is none of them."""
        starts, ends = self.at[:-1] + 1, self.at[1:].copy()
        if not len(starts):
            return starts, ends
        while (space := _IS_SPACE[text[starts]] & (starts < ends)).any():
            starts += space
        while (space := _IS_SPACE[text[ends - 1]] & (starts < ends)).any():
            ends -= space
        scalar = (starts < ends) & (text[starts] != QUOTE)
        starts, ends = starts[scalar], ends[scalar]
        _check_names(text, starts, ends)
        spaces = np.flatnonzero(text == SPACE)
        before = np.searchsorted(starts, spaces) - 1
        if len(starts) and (spaces < np.where(before < 0, 0, ends[before])).any():
            raise pa.ArrowInvalid("JSON parse error: Missing a comma or } after an object member")
        return starts, ends


def _check_names(text: Octets, starts: Ints, ends: Ints) -> None:
    """Raise pa.ArrowInvalid for a bare word that is none of null, true and false."""
    letters = text[starts]
    words = np.flatnonzero(letters > ord("9"))
    for name in (b"null", b"true", b"false"):
        these = words[(letters[words] == name[0]) & (ends[words] - starts[words] == len(name))]
        right = np.ones(len(these), bool)
        for place, byte in enumerate(name):
            right &= text[starts[these] + place] == byte
        words = np.setdiff1d(words, these[right], assume_unique=True)
    if len(words):
        raise pa.ArrowInvalid("JSON parse error: Invalid value")


def escaped_quotes(text: Octets) -> Ints:
    """Return the places of quotes that stand behind an odd number of backslashes."""
    at = np.flatnonzero(text[:-1] == BACKSLASH) + 1
    at = at[text[at] == QUOTE]
    odd = np.zeros(len(at), bool)
    going = np.ones(len(at), bool)
    back = 1
    while (going := going & (at >= back) & (text[at - back] == BACKSLASH)).any():
        odd ^= going
        back += 1
    return np.asarray(at[odd], np.int64)


def compact(data: Raw) -> bytes:
    """Return the text without white space around what stands outside strings."""
    text = np.frombuffer(data, np.uint8)
    found = Structure.of(data)
    drop = np.zeros(len(text), bool)
    for step in (1, -1):
        place = found.at + step
        while True:
            place = place[(place >= 0) & (place < len(text))]
            place = place[_IS_SPACE[text[place]] & ~drop[place]]
            if not len(place):
                break
            drop[place] = True
            place += step
    return text[~drop].tobytes()


def quote_scalars(data: Raw) -> bytes:
    """Put quotes around each number, true and false outside strings, so that Arrow reads it as its exact text.

    A JSON value whose type differs from record to record (as in wal2json) has no one Arrow type but text; null stays
    null.
    """
    text = np.frombuffer(data, np.uint8)
    starts, ends = Structure.of(data).scalars(text)
    named = text[starts] != _NULL
    places = np.column_stack([starts[named], ends[named]]).ravel()
    return np.insert(text, places, QUOTE).tobytes()


def all_text(data: Raw) -> bytes:
    """Make each member of the objects that the lines are a string: Arrow reads numbers, names and what is nested so.

    A number is its exact text; null is `NULL`; an object or array in an object is its JSON.
    """
    text = np.frombuffer(data, np.uint8)
    found = Structure.of(data)
    starts, ends = found.scalars(text)
    second = found.depth == 2
    opens, closes = found.at[second & np.isin(found.byte, OPEN)], found.at[second & np.isin(found.byte, CLOSE)] + 1
    escaped = np.empty(0, np.int64)
    if len(opens):
        edges = np.zeros(len(text) + 1, np.int8)
        edges[opens], edges[closes] = 1, -1
        in_nested = np.cumsum(edges[:-1], dtype=np.int8).view(bool)
        outside = ~in_nested[starts]
        starts, ends = starts[outside], ends[outside]
        escaped = np.flatnonzero(in_nested & ((text == QUOTE) | (text == BACKSLASH)))
    null = starts[text[starts] == _NULL]
    marker = np.frombuffer(NULL[:1].encode(), np.uint8)
    places = np.concatenate([starts, np.repeat(null, len(marker)), ends, opens, closes, escaped])
    added = np.full(len(places), QUOTE, np.uint8)
    added[len(starts) : len(starts) + len(null) * len(marker)] = np.tile(marker, len(null))
    added[len(places) - len(escaped) :] = BACKSLASH
    return np.insert(text, places, added).tobytes()
