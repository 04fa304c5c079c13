"""JSON objects, one a line, taken apart without parsing them: the members of each, by name, as slices of text.

Lines are canonical here, as `json_grammar.checked` returns them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import Mask, Octets, first, mask, places_of_each
from integrator.arrow.compiled import compiled
from integrator.decode.json.lines import Lines, cut, pieces
from integrator.decode.json.scan import Values
from integrator.errors import DataError

Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]

_QUOTE, _BACKSLASH, _COLON, _COMMA = b'"\\:,'
_OPEN, _CLOSE, _LIST, _LIST_END = b"{}[]"


class Parts(NamedTuple):
    """The members of objects, or the elements of lists: the place of each one's object, and where its value is.

    name: where the member's name begins in its text, with the quote; the value begins after the colon.
    """

    object: Places
    name: Places
    start: Places
    end: Places


class Objects:
    """JSON objects, one a line. Raises DataError for the first line that is none."""

    def __init__(self, lines: Lines, expected: str) -> None:
        other = first(lines.text[lines.offsets[:-1]] != _OPEN)
        if other is not None:
            line = lines.array[other].as_py().rstrip("\n")
            where = f"{lines.file}:{lines.numbers[other]}"
            raise DataError(f"{where}: it is no object; expected {expected}; the line is {cut(line)}")
        self.lines = lines
        self._members = parts_of(lines)

    def __len__(self) -> int:
        return len(self.lines)

    @cached_property
    def by_name(self) -> dict[str, Ints]:
        """The places of the members of each name, in the order of lines."""
        members = self._members
        if not len(members.name):
            return {}
        encoded = pieces(self.lines.data, members.name + 1, members.start - 2).dictionary_encode()
        names = (_plain(name) for name in encoded.dictionary.to_pylist())
        return dict(zip(names, places_of_each(encoded), strict=True))

    @property
    def names(self) -> list[str]:
        """The names of all members, each once."""
        return list(self.by_name)

    def objects_of(self, name: str) -> Places:
        """Return which objects have a member of that name."""
        return self._members.object[self.by_name[name]]

    def values(self, name: str) -> pa.Array:
        """Return the JSON text of the members of that name, for the objects that have one."""
        at = self.by_name[name]
        return pieces(self.lines.data, self._members.start[at], self._members.end[at])

    def places(self, name: str) -> Values:
        """Return where the members of that name are, for each line; nowhere (0, 0) where it has none."""
        start, end = np.zeros(len(self), np.int32), np.zeros(len(self), np.int32)
        escaped = np.zeros(len(self), np.bool_)
        if name in self.by_name:
            at, line = self.by_name[name], self.objects_of(name)
            start[line], end[line] = self._members.start[at], self._members.end[at]
            text = mask(pc.starts_with(values := self.values(name), '"'))
            escaped[line] = text & mask(pc.match_substring(values, "\\"))
        return Values(start, end, escaped)

    def has(self, name: str) -> Mask:
        """Return which lines have a member of that name, null or not."""
        has = np.zeros(len(self), bool)
        if name in self.by_name:
            has[self.objects_of(name)] = True
        return has

    def raw(self, name: str) -> pa.Array:
        """Return the JSON text of each line's member of that name; null where it has none, or it is null."""
        if name not in self.by_name:
            return pa.nulls(len(self), pa.string())
        texts = self.values(name)
        if len(texts) < len(self):
            place = np.full(len(self), -1, np.int64)
            place[self.objects_of(name)] = np.arange(len(texts))
            texts = texts.take(pa.array(place, mask=place < 0))
        null = pc.equal(texts, "null")
        return pc.if_else(null, None, texts) if pc.any(null).as_py() else texts

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
    """Return the elements of JSON lists as JSON, and which list each is from; null is a list of none."""
    as_text = as_lines(pc.fill_null(texts, "[]"), lines, np.zeros(len(texts), np.int64))
    found = parts_of(as_text)
    return pieces(as_text.data, found.start, found.end), found.object.astype(np.int64)


def as_lines(texts: pa.Array, lines: Lines, at: Ints) -> Lines:
    """Return JSON texts as lines of their own; `at` says which of `lines` each comes from."""
    ended = pc.binary_join_element_wise(texts, "", "\n")
    _, offsets, data = ended.buffers()
    places = np.frombuffer(offsets, np.int32)[ended.offset : ended.offset + len(ended) + 1]
    body = data.to_pybytes()[places[0] : places[-1]] if len(ended) else b""
    return Lines(lines.file, body, lines.numbers[at], (places - places[0]).astype(np.int32))


def parts_of(lines: Lines) -> Parts:
    """Return the members of the objects that the lines are, or the elements of the lists."""
    size = int(_count(lines.text, lines.offsets))
    found = Parts(*(np.empty(size, np.int32) for _ in Parts._fields))
    _take_apart(lines.text, lines.offsets, found)
    return found


@compiled
def _count(text: Octets, offsets: Places) -> int:
    """Return how many members and elements there are: one more than commas, where there is anything."""
    count = depth = 0
    for line in range(len(offsets) - 1):
        at = offsets[line]
        count += text[at + 1] not in (_CLOSE, _LIST_END)
        while at < offsets[line + 1]:
            byte = text[at]
            if byte == _QUOTE:
                at = _text_end(text, at) - 1
            elif byte in (_OPEN, _LIST):
                depth += 1
            elif byte in (_CLOSE, _LIST_END):
                depth -= 1
            elif byte == _COMMA and depth == 1:
                count += 1
            at += 1
    return count


@compiled
def _take_apart(text: Octets, offsets: Places, found: Parts) -> None:
    object_of, names, starts, ends = found.object, found.name, found.start, found.end
    part = 0
    for line in range(len(offsets) - 1):
        at = offsets[line]
        is_object = text[at] == _OPEN
        at += 1
        more = text[at] not in (_CLOSE, _LIST_END)
        while more:
            object_of[part], names[part] = line, at
            if is_object:
                at = _text_end(text, at) + 1
            starts[part] = at
            at = _value_end(text, at)
            ends[part] = at
            part += 1
            more = text[at] == _COMMA
            at += 1


@compiled
def _text_end(text: Octets, at: int) -> int:
    """Return the place after the string that begins here."""
    at += 1
    while text[at] != _QUOTE:
        at += 1 + (text[at] == _BACKSLASH)
    return at + 1


@compiled
def _value_end(text: Octets, at: int) -> int:
    """Return the place after the value that begins here."""
    depth = 0
    while True:
        byte = text[at]
        if byte == _QUOTE:
            at = _text_end(text, at) - 1
        elif byte in (_OPEN, _LIST):
            depth += 1
        elif byte in (_CLOSE, _LIST_END):
            if depth == 0:
                return at
            depth -= 1
        elif byte == _COMMA and depth == 0:
            return at
        at += 1


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


def _plain(name: str) -> str:
    """Return the name that stands between quotes."""
    return json.loads(f'"{name}"') if "\\" in name else name
