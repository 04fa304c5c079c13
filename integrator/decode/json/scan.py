"""Lines of JSON objects of known names, cut into values in one pass over their bytes (RFC 8259).

Where a value stands is written down by its name and its row, so that the values of a column lie one behind another, and
with them those of other columns of its type. What a value is, is not looked at here: a string has its quotes, and its
escapes; a number may be none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from integrator.arrow.arrays import Octets, Words, words
from integrator.arrow.compiled import compiled
from integrator.decode.json.grammar import MAX_DEPTH

Numbers = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

NOT_SO = -1
_WORD = 8
_MOST_NESTED = MAX_DEPTH - 1
_QUOTE, _BACKSLASH, _COLON, _COMMA, _NEWLINE = b'"\\:,\n'
_OPEN, _CLOSE, _LIST, _LIST_END = b"{}[]"
_SPACE, _TAB, _RETURN = b" \t\r"
_FIRST_PLAIN = 0x20
"""Below it are control characters, which no string has unescaped (RFC 8259, section 7)."""
_SPECIAL = np.array([byte in b'"\\' or byte < _FIRST_PLAIN for byte in range(256)]).astype(np.uint8)
"""What is not itself in a string: one look here is faster than three comparisons."""


class Names(NamedTuple):
    """Names of members, kind of objects behind kind of objects.

    words: their JSON, with quotes. bounds: where each begins there, and the end. first: the first name of each kind,
    and the number of all. follower: which name, of the same kind, came last behind each one; and then, for each kind,
    which came first.
    """

    words: Words
    bounds: Places
    first: Places
    follower: Places

    @classmethod
    def of(cls, kinds: Sequence[Sequence[str]]) -> Names:
        """Return the names of kinds of objects, which are expected in this order at first."""
        written = [json.dumps(name, ensure_ascii=False).encode() for kind in kinds for name in kind]
        bounds = np.cumsum([0, *map(len, written)]).astype(np.int32)
        first = np.cumsum([0, *map(len, kinds)]).astype(np.int32)
        follower = np.append(np.arange(1, len(written) + 1), first[:-1]).astype(np.int32)
        follower[first[1:] - 1] = first[:-1]  # of the last name of a kind, one of the same
        return cls(words(np.frombuffer(b"".join(written) + bytes(_WORD), np.uint8)), bounds, first, follower)


class Objects(NamedTuple):
    """Objects, one a line. offsets: of lines, and the end. kind: NOT_SO for one to pass over. row: in its kind."""

    offsets: Places
    kind: Places
    row: Places


class Room(NamedTuple):
    """Where the values go: base: of each name, that of row 0. size: of all. shared: names that are not counted."""

    base: Numbers
    size: int
    shared: int


class Values(NamedTuple):
    """Where values stand; nowhere (0, 0) where a row has none. escaped: whether a backslash is in it."""

    start: Places
    end: Places
    escaped: Flags


def scan(text: Octets, objects: Objects, names: Names, room: Room) -> tuple[Values, Numbers]:
    """Return where the values of objects are, and how many each kind has, without those of its `shared` first names.

    Of a kind, of which a line is no object, or has another name, or one twice, the number is NOT_SO, and nothing is
    known. Each line ends in a newline.
    """
    values = Values(np.zeros(room.size, np.int32), np.zeros(room.size, np.int32), np.zeros(room.size, np.bool_))
    count = np.zeros(len(names.first) - 1, np.int64)
    text = text if len(text) >= _WORD else np.append(text, np.zeros(_WORD, np.uint8))
    _scan((text, words(text)), objects, names, room, values, count)
    return values, count


@compiled
def _scan(
    octets: tuple[Octets, Words], objects: Objects, names: Names, room: Room, values: Values, count: Numbers
) -> None:
    # Arrays are taken out of their tuples: where Numba hands on a tuple, it counts the references of each array in it.
    text, text_words = octets
    bounds, first, follower, base = names.bounds, names.first, names.follower, room.base
    start, end, escaped = values.start, values.end, values.escaped
    for line in range(len(objects.kind)):
        kind, row, own = objects.kind[line], objects.row[line], 0
        if kind == NOT_SO or count[kind] == NOT_SO:
            continue
        name = len(bounds) - 1 + kind
        at = _behind_space(text, objects.offsets[line])
        right = text[at] == _OPEN
        at = _behind_space(text, at + right)
        more = right and text[at] != _CLOSE
        while more:
            more = right = False
            before = name
            name = _name(text_words, at, names.words, bounds, follower[before], (first[kind], first[kind + 1]))
            if name == NOT_SO:
                break
            follower[before] = name
            at = _behind_space(text, at + bounds[name + 1] - bounds[name])
            if text[at] != _COLON:
                break
            at = _behind_space(text, at + 1)
            behind = _behind_value(text, at)
            place = base[name] + row
            if abs(behind) <= at or end[place]:
                break
            start[place], end[place] = at, abs(behind)
            if behind < 0:
                escaped[place] = True
            own += name >= first[kind] + room.shared
            at = _behind_space(text, abs(behind))
            right = True
            more = text[at] == _COMMA
            at = _behind_space(text, at + more)
        if right and text[at] == _CLOSE and text[_behind_space(text, at + 1)] == _NEWLINE:
            count[kind] += own
        else:
            count[kind] = NOT_SO


def find(text: Octets, offsets: Places, name: str) -> tuple[Places, Places] | None:
    """Return where the members of a name are in the objects that lines are; nowhere (0, 0) where there is none.

    Only members of the object itself count, not those of objects in it. None: a name is written with a backslash, so
    that it may be this one. Lines that are no objects have no member.
    """
    start, end = np.zeros(len(offsets) - 1, np.int32), np.zeros(len(offsets) - 1, np.int32)
    return (start, end) if _find(text, offsets, np.frombuffer(f'"{name}"'.encode(), np.uint8), start, end) else None


@compiled
def are_same(text: Octets, start: Places, end: Places) -> bool:
    """Return whether there is text in each of these places, and the same as in the first."""
    for row in range(len(start)):
        if end[row] == 0 or end[row] - start[row] != end[0] - start[0]:
            return False
        for place in range(end[row] - start[row]):
            if text[start[row] + place] != text[start[0] + place]:
                return False
    return len(start) > 0


@compiled
def _find(text: Octets, offsets: Places, name: Octets, start: Places, end: Places) -> bool:
    for line in range(len(start)):
        at = _behind_space(text, offsets[line])
        more = text[at] == _OPEN
        while more:
            more = False
            at = _behind_space(text, at + 1)
            if text[at] != _QUOTE:
                break
            behind = _behind_string(text, at)
            if behind < 0:
                return False
            colon = _behind_space(text, behind) if behind else 0
            if not behind or text[colon] != _COLON:
                break
            here = behind - at == len(name)
            for place in range(len(name) if here else 0):
                here = here and text[at + place] == name[place]
            begin = _behind_space(text, colon + 1)
            at = abs(_behind_value(text, begin))
            if here and at > begin:
                start[line], end[line] = begin, at
                break
            at = _behind_space(text, at)
            more = at > begin and text[at] == _COMMA
    return True


@compiled
def _behind_space(text: Octets, at: int) -> int:
    while text[at] <= _SPACE and text[at] in (_SPACE, _TAB, _RETURN):
        at += 1
    return at


@compiled
def _name(text: Words, at: int, names: Words, bounds: Places, likely: int, kind: tuple[int, int]) -> int:
    """Return which name of a kind, given by its first one and the one behind its last, stands at a place, or NOT_SO."""
    first, behind = kind
    name = likely
    for _ in range(behind - first + 1):
        if _same(text, at, names, bounds[name], bounds[name + 1]):
            return name
        name = name + 1 if name + 1 < behind else first
    return NOT_SO


@compiled
def _same(text: Words, at: int, names: Words, begin: int, end: int) -> bool:
    """Say whether a text has what another has from `begin` to before `end`; of its last words it has but a part."""
    last = len(text) - 1
    for word in range(begin, end, _WORD):
        place = min(at, last)
        other = (text[place] >> np.uint64(8 * (at - place))) ^ names[word]
        if end - word < _WORD:
            other <<= np.uint64(8 * (_WORD - end + word))
        if other:
            return False
        at += _WORD
    return True


@compiled
def _behind_string(text: Octets, at: int) -> int:
    """Return the place behind a string that begins at a place; the negative one where it has a backslash; 0: no end."""
    at += 1
    escaped = 1
    while True:
        if _SPECIAL[text[at]]:
            if text[at] == _QUOTE:
                return (at + 1) * escaped
            if text[at] == _BACKSLASH:
                escaped = -1
                at += 1
            if text[at] < _FIRST_PLAIN:
                return 0
        at += 1


@compiled
def _behind_value(text: Octets, at: int) -> int:
    """Return the place behind the value that begins at a place, as `_behind_string` does; or the place itself."""
    if text[at] == _QUOTE:
        return _behind_string(text, at)
    if text[at] in (_OPEN, _LIST):
        return _behind_nested(text, at)
    while text[at] > _SPACE and text[at] not in (_COMMA, _CLOSE, _LIST_END, _QUOTE):
        at += 1
    return at


@compiled
def _behind_nested(text: Octets, at: int) -> int:
    """Return the place behind an object or array that begins at a place; 0: no end, or too many brackets."""
    depth = 0
    while text[at] != _NEWLINE:
        if text[at] == _QUOTE:
            at = abs(_behind_string(text, at)) - 1
            if at < 0:
                return 0
        elif text[at] in (_OPEN, _LIST):
            depth += 1
            if depth > _MOST_NESTED:  # the line itself is one more
                return 0
        elif text[at] in (_CLOSE, _LIST_END):
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return 0
