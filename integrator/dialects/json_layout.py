"""Lines of JSON objects with the same names, in the same order, as one that was looked at: names are only compared.

Programs write the records of a table all alike. To compare a name costs a tenth of finding out which it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from integrator.arrays import Mask
from integrator.dialects.json_text import CLOSE, COLON, COMMA, OPEN, QUOTE, SPACE, Octets, escaped_quotes
from integrator.dialects.lines import Lines

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
_WORD = 8


def words_of(names: Iterable[str]) -> int:
    """Return in how many words of eight bytes the longest of names is, with the quote before it."""
    return -(-max(1 + len(name.encode()) for name in names) // _WORD)


@dataclass(frozen=True)
class Layout:
    """The names of an object, in their order.

    size: bytes of each, with the quote before it. words: these bytes, of each name a row, the last ones first, eight in
    a number (little-endian). masks: the bits of these that are the name's.
    """

    size: Ints
    words: Words
    masks: Words

    @staticmethod
    def of(names: Sequence[str], words: int) -> Layout | None:
        """Return the layout of names, in so many words each; None where one has more bytes, or none."""
        texts = [b'"' + name.encode() for name in names]
        width = words * _WORD
        size = np.array([len(text) for text in texts], np.int64)
        if not len(size) or size.max() > width:
            return None
        said = np.frombuffer(b"".join(text.rjust(width, b"\0") for text in texts), "<u8")
        mask = np.frombuffer(b"".join((b"\xff" * len(text)).rjust(width, b"\0") for text in texts), "<u8")
        return Layout(size, said.reshape(-1, words)[:, ::-1], mask.reshape(-1, words)[:, ::-1])

    @staticmethod
    def behind_each_other(layouts: Sequence[Layout]) -> Layout:
        """Return the names of several objects as one."""
        size, words, masks = zip(*((one.size, one.words, one.masks) for one in layouts), strict=True)
        return Layout(np.concatenate(size), np.concatenate(words), np.concatenate(masks))


@dataclass(frozen=True)
class Values:
    """The values of lines, one behind the other. line: of each. name: its place among the names of all layouts.

    start, end: where it stands; it is a string, or has no quotes, and may be nothing that JSON knows.
    """

    line: Ints
    name: Ints
    start: Ints
    end: Ints


def values(lines: Lines, layouts: Sequence[Layout], layout_of: Ints) -> Values | Mask:
    """Return the values of lines, of which each has the layout that `layout_of` says; or which lines have not.

    Each line is `{"name":value,"name":value}`, with one space, the same everywhere, or none behind colons and commas.
    A quote that is not escaped begins or ends a string (RFC 8259, section 7); so where there are two for each name and
    each string, there are no others, and where as many names end as there are, these are they.
    """
    text = np.frombuffer(lines.data, np.uint8)
    quote = text == QUOTE
    if lines.data.find(b"\\") >= 0:
        quote[escaped_quotes(text)] = False
    ends = np.flatnonzero(quote[:-1] & (text[1:] == COLON))  # of names
    begins, closes = lines.offsets[:-1].astype(np.int64), lines.offsets[1:].astype(np.int64) - 2
    sizes = np.array([len(layout.size) for layout in layouts])
    first = np.searchsorted(ends, begins)
    other = np.diff(first, append=len(ends)) != sizes[layout_of]
    if other.any():
        return np.asarray(other, np.bool_)
    line = np.repeat(np.arange(len(lines)), sizes[layout_of])
    name = np.arange(len(ends)) + ((np.cumsum(sizes) - sizes)[layout_of] - first)[line]
    every = Layout.behind_each_other(layouts)
    wrong = _others(text, ends, name, every)
    if not wrong.any():
        opens = ends - every.size[name]
        start, end, wrong = _between(text, opens, ends, first, closes)
        wrong[first] |= (opens[first] != begins + 1) | (text[begins] != OPEN[0])
        if not wrong.any():
            string = text[start] == QUOTE
            if np.count_nonzero(quote) == 2 * (len(string) + np.count_nonzero(string)):
                return Values(line, name, start, end)
            quotes = np.add.reduceat(quote, begins, dtype=np.int64)
            return np.asarray(quotes != 2 * np.bincount(line, 1 + string, len(lines)), np.bool_)
    return np.bincount(line[wrong], minlength=len(lines)) > 0


def _others(text: Octets, ends: Ints, name: Ints, layout: Layout) -> Mask:
    """Say before which of `ends` another name stands than the layout's."""
    width = layout.words.shape[1]
    padded = np.concatenate([np.zeros(width * _WORD, np.uint8), text])
    words = np.ndarray((len(padded) - _WORD + 1,), "<u8", padded, 0, (1,))  # at each byte one
    last = ends + (width - 1) * _WORD
    wrong = (words[last] & layout.masks[:, 0][name]) != layout.words[:, 0][name]
    for word in range(1, width):
        at = np.flatnonzero((layout.masks[:, word] != 0)[name])
        there = words[last[at] - word * _WORD] & layout.masks[:, word][name[at]]
        wrong[at] |= there != layout.words[:, word][name[at]]
    return np.asarray(wrong, np.bool_)


def _between(text: Octets, opens: Ints, ends: Ints, first: Ints, closes: Ints) -> tuple[Ints, Ints, Mask]:
    """Return where values begin and end, and which of them do not."""
    behind_colon = int(text[ends[0] + 2] == SPACE)
    behind_comma = int(len(opens) > 1 and text[opens[1] - 1] == SPACE)
    last = np.append(first[1:], len(ends)) - 1
    start, end = ends + 2 + behind_colon, np.empty(len(ends), np.int64)
    end[:-1] = opens[1:] - 1 - behind_comma
    end[last] = closes
    mark = text[end]
    wrong = (mark != COMMA) | (start >= end)
    wrong[last] = (text[closes] != CLOSE[0]) | (start[last] >= closes)
    if behind_colon:
        wrong |= text[ends + 2] != SPACE
    if behind_comma:
        spaced = text[end + 1] == SPACE
        spaced[last] = True
        wrong |= ~spaced
    start = np.minimum(start, len(text) - 1)
    string = text[start] == QUOTE
    wrong |= string & ((text[end - 1] != QUOTE) | (end - start < 2))
    return start, end, wrong
