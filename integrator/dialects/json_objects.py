"""Lines that are JSON objects, taken apart without parsing them: the members of each, by name, as slices of text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrays import Mask, Raw, mask, places_of_each
from integrator.dialects.json_text import CLOSE, COLON, COMMA, NEWLINE, OPEN, QUOTE, Octets, Structure, compact
from integrator.dialects.lines import Lines
from integrator.errors import DataError

Ints = npt.NDArray[np.int64]
AnyInts: TypeAlias = "npt.NDArray[np.int32] | npt.NDArray[np.int64]"

_IS_SPACE = np.zeros(256, bool)
_IS_SPACE[list(b" \t\r")] = True


class Objects:
    """JSON objects, one a line. Raises DataError for the first line that is none."""

    def __init__(self, lines: Lines, expected: str) -> None:
        found = Structure.of(lines.data)
        text = np.frombuffer(lines.data, np.uint8)
        inner = found.at[(found.byte != NEWLINE) & (found.depth == 1)]
        if (_IS_SPACE[text[inner + 1]] | _IS_SPACE[text[inner - 1]]).any():
            lines = _compacted(lines)
            found, text = Structure.of(lines.data), np.frombuffer(lines.data, np.uint8)
        self.lines = lines
        whole = found.depth[found.byte == NEWLINE]
        framed = (text[lines.offsets[:-1]] == ord("{")) & (text[lines.offsets[1:] - 2] == ord("}"))
        roots = found.at[(found.depth == 1) & np.isin(found.byte, OPEN)]
        if len(whole) != len(lines) or whole.any() or not framed.all() or not np.array_equal(roots, lines.offsets[:-1]):
            raise _no_object(lines, expected)
        self._members = self._members_of(found, text, expected)

    def __len__(self) -> int:
        return len(self.lines)

    def _members_of(self, found: Structure, text: Octets, expected: str) -> tuple[Ints, Ints, Ints, Ints]:
        """Return of each member: where its name begins and ends, quotes included, where its value ends; its line."""
        outer = (found.depth == 1) & (found.byte != NEWLINE)
        at, byte = found.at[outer], found.byte[outer]
        colons = np.flatnonzero(byte == COLON)
        around = np.isin(byte[colons - 1], (COMMA, OPEN[0])) & np.isin(byte[colons + 1], (COMMA, CLOSE[0]))
        if not around.all() or len(colons) != (byte == COMMA).sum() + len(self.lines) - self._empty(at, byte):
            raise _no_object(self.lines, expected)
        name = at[colons - 1] + 1
        named = (text[name] == QUOTE) & (text[at[colons] - 1] == QUOTE) & (at[colons] - name >= 2)
        if not named.all() or (at[colons + 1] - at[colons] < 2).any():
            raise _no_object(self.lines, expected)
        line = (np.cumsum(byte == OPEN[0]) - 1)[colons]  # one opening bracket of depth 1 a line
        return name, at[colons], at[colons + 1], line

    @staticmethod
    def _empty(at: Ints, byte: npt.NDArray[np.uint8]) -> int:
        """Count the objects without a member."""
        return int(((byte[:-1] == OPEN[0]) & (byte[1:] == CLOSE[0]) & (np.diff(at) == 1)).sum())

    @cached_property
    def _by_name(self) -> dict[str, Ints]:
        """The places of the members of each name, in the order of lines."""
        name, colon, _, _ = self._members
        if not len(name):
            return {}
        encoded = pieces(self.lines.data, name + 1, colon - 1).dictionary_encode()
        return dict(zip(encoded.dictionary.to_pylist(), places_of_each(encoded), strict=True))

    @property
    def names(self) -> list[str]:
        """The names of all members, each once."""
        return list(self._by_name)

    def _places(self, name: str) -> tuple[Ints, Ints, Mask]:
        """Return where each line's value of that name begins and ends, and which lines have one."""
        _, colon, end, line = self._members
        starts, ends, has = np.zeros(len(self), np.int64), np.zeros(len(self), np.int64), np.zeros(len(self), bool)
        at = self._by_name.get(name)
        if at is not None:
            starts[line[at]], ends[line[at]], has[line[at]] = colon[at] + 1, end[at], True
        return starts, ends, has

    def has(self, name: str) -> Mask:
        """Say which lines have a member of that name, null or not."""
        return self._places(name)[2] if name in self._by_name else np.zeros(len(self), bool)

    def raw(self, name: str) -> pa.Array:
        """Return the JSON text of each line's member of that name; null where it has none, or it is null."""
        members = self._by_name.get(name)
        if members is None:
            return pa.nulls(len(self), pa.string())
        _, colon, end, line = self._members
        if len(members) == len(self) and line[members[0]] == 0 and (np.diff(line[members]) == 1).all():
            texts = pieces(self.lines.data, colon[members] + 1, end[members])
            null = pc.equal(texts, "null")
            return pc.if_else(null, None, texts) if pc.any(null).as_py() else texts
        starts, ends, has = self._places(name)
        # the places of lines without one must not go back
        at = np.maximum.accumulate(np.where(has, ends, 0))
        texts = pieces(self.lines.data, np.where(has, starts, at), np.where(has, ends, at))
        return pc.if_else(pc.or_(pa.array(~has), pc.equal(texts, "null")), None, texts)

    def text(self, name: str) -> pa.Array:
        """Return each line's member of that name as text: a string's characters, else its JSON; null as `raw`."""
        return unquoted(self.raw(name))

    def first_text(self, names: Iterable[str]) -> pa.Array:
        """Return the text of the first of several members that a line has, and that is not null."""
        return pc.coalesce(*(self.text(name) for name in names))

    def inner(self, name: str, expected: str) -> Inner:
        """Return the objects that the members of that name are."""
        return Inner(self.raw(name), self.lines, expected)


class Inner:
    """Objects inside of objects: null where a line has none."""

    def __init__(self, texts: pa.Array, lines: Lines, expected: str) -> None:
        self.has = mask(pc.is_valid(texts))
        self._size, self._lines, self._expected = len(texts), lines, expected
        self.objects = None
        if self.has.any():
            self.objects = Objects(
                as_lines(texts.filter(pa.array(self.has)), lines, np.flatnonzero(self.has)), expected
            )

    def raw(self, name: str) -> pa.Array:
        """Return as `Objects.raw`."""
        if self.objects is None:
            return pa.nulls(self._size, pa.string())
        found = self.objects.raw(name)
        if self.has.all():
            return found
        place = np.cumsum(self.has) - 1
        return found.take(pa.array(place, mask=~self.has))

    def text(self, name: str) -> pa.Array:
        """Return as `Objects.text`."""
        return unquoted(self.raw(name))

    def inner(self, name: str) -> Inner:
        """Return as `Objects.inner`."""
        return Inner(self.raw(name), self._lines, self._expected)


def lines_text(lines: Lines) -> pa.Array:
    """Return each line without its end."""
    return pc.utf8_slice_codeunits(lines.array, 0, -1) if len(lines) else lines.array


def elements(texts: pa.Array, lines: Lines) -> tuple[pa.Array, Ints]:
    """Return the elements of JSON arrays as JSON, and which array each is from; null is an array of none."""
    texts = pc.fill_null(texts, "[]")
    as_text = as_lines(texts, lines, np.zeros(len(texts), np.int64))
    found = Structure.of(as_text.data)
    outer = (found.depth == 1) & (found.byte != NEWLINE)
    at, byte = found.at[outer], found.byte[outer]
    begins = np.flatnonzero((byte == COMMA) | (byte == OPEN[1]))
    starts, ends = at[begins] + 1, at[begins + 1]
    filled = ends > starts
    starts, ends = starts[filled], ends[filled]
    parent = np.searchsorted(as_text.offsets, starts, side="right") - 1
    return pieces(as_text.data, starts, ends), parent


def _compacted(lines: Lines) -> Lines:
    data = compact(lines.data)
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == NEWLINE)
    return Lines(lines.file, data, lines.numbers, np.concatenate([[0], ends + 1]).astype(np.int32))


def as_lines(texts: pa.Array, lines: Lines, at: Ints) -> Lines:
    """Return JSON texts as lines of their own; `at` says which of `lines` each comes from."""
    ended = pc.binary_join_element_wise(texts, "", "\n")
    _, offsets, data = ended.buffers()
    places = np.frombuffer(offsets, np.int32)[ended.offset : ended.offset + len(ended) + 1]
    body = data.to_pybytes()[places[0] : places[-1]] if len(ended) else b""
    return Lines(lines.file, body, lines.numbers[at], (places - places[0]).astype(np.int32))


def unquoted(values: pa.Array) -> pa.Array:
    """Return JSON texts with strings as their characters."""
    string = pc.starts_with(values, '"')
    if not pc.any(string).as_py():
        return values
    plain = pc.binary_slice(values.cast(pa.binary()), 1, -1).view(pa.string())
    if _has_backslash(plain):
        unescaped = pc.replace_substring(plain, '\\"', '"')
        odd = pc.and_(string, pc.match_substring(unescaped, "\\"))
        if pc.any(odd).as_py():  # rare: positions and names have no escapes but quotes
            read = [json.loads(text) for text in values.filter(odd).to_pylist()]
            unescaped = pc.replace_with_mask(unescaped, odd, pa.array(read, pa.string()))
        plain = unescaped
    return plain if pc.all(string).as_py() else pc.if_else(string, plain, values)


def _has_backslash(values: pa.Array) -> bool:
    return bool(pc.any(pc.match_substring(values, "\\")).as_py())


def pieces(data: Raw | Octets, starts: AnyInts, ends: AnyInts) -> pa.Array:
    """Return slices of `data` as Arrow strings, in any order: what is between them is never looked at."""
    bounds = np.empty(2 * len(starts) + 1, np.int32)
    bounds[:-1:2], bounds[1::2], bounds[-1] = starts, ends, len(data)
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(data)]
    every = pa.Array.from_buffers(pa.string(), 2 * len(starts), buffers)
    return every.take(pa.array(np.arange(0, 2 * len(starts), 2)))


def _no_object(lines: Lines, expected: str) -> DataError:
    """Return the error for the first line that is no object."""
    for number, text in zip(lines.numbers, lines.array.to_pylist(), strict=True):
        reason = "it is no object"
        try:
            if isinstance(json.loads(text), dict):
                continue
        except ValueError as error:
            reason = str(error)
        shown = text.rstrip("\n")[:200]
        return DataError(f"{lines.file}:{number}: no JSON object ({reason}); expected {expected}; the line is {shown}")
    return DataError(f"{lines.file}: lines that are no JSON objects; expected {expected}")
