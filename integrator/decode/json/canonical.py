"""JSON lines, checked as a whole and made canonical (RFC 8259).

What reads lines after this relies on it: each is one object or `null`; names are unique in each object and written
without needless escapes; there is no white space outside of strings; numbers, words and escapes are JSON's.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from integrator.arrow.arrays import Octets, words
from integrator.arrow.compiled import compiled
from integrator.decode.json import grammar
from integrator.decode.json.grammar import MAX_DEPTH
from integrator.decode.json.lines import Lines, cut, pieces
from integrator.errors import DataError, shown

Ints = npt.NDArray[np.int64]

_QUOTE, _BACKSLASH, _COLON = b'"\\:'
_SPACE, _TAB, _RETURN = b" \t\r"
_WORD = 8
_REASONS = {
    grammar.NO_VALUE: "here a value is expected: text in quotes, a number, true, false, null, an object or a list",
    grammar.NO_OBJECT: "it is no object",
    grammar.OPEN_STRING: "here a text is not closed, or has a control character that is not escaped",
    grammar.BAD_ESCAPE: "here a backslash begins no escape of JSON",
    grammar.LONE_SURROGATE: "here is half of a surrogate pair, which is no character",
    grammar.NO_NUMBER: "here is no number of JSON",
    grammar.NO_NAME: "here a member's name in double quotes is expected",
    grammar.NO_COLON: "here a colon is expected",
    grammar.NO_COMMA: "here a comma or a closing bracket is expected",
    grammar.TRAILING: "here the line continues after its record",
    grammar.TOO_DEEP: f"here more than {MAX_DEPTH} brackets stand inside each other",
}


class Finding(NamedTuple):
    """The first line that is not accepted, by its place (the number of lines if there is none), why, and where.

    spaces: bytes of white space outside of strings. escaped: names that are written with a backslash.
    """

    line: int
    code: int
    at: int
    spaces: int
    escaped: int


def checked(lines: Lines, expected: str) -> Lines:
    """Return the lines in canonical form; the same lines where they are in it already.

    Raises DataError with file, line, place and reason for the first line that is neither an object nor `null`.
    """
    found = _checked(lines, expected)
    if found.escaped:
        lines = _rewritten(lines, found.escaped)
        _checked(lines, expected)  # names that were written differently may be the same
    elif found.spaces:
        lines = _rewritten(lines, 0)
    return lines


def _checked(lines: Lines, expected: str) -> Finding:
    found, reason = first_wrong(lines)
    if reason:
        line = cut(lines.array[found.line].as_py().rstrip("\n"))
        where = f"{lines.file}:{lines.numbers[found.line]}"
        raise DataError(f"{where}: {reason}; expected {expected}; the line is {line}")
    return found


def first_wrong(lines: Lines) -> tuple[Finding, str]:
    """Return the first line that is neither an object nor `null` nor blank, and why; the reason is empty for none."""
    text = _padded(lines.text)
    longest = int(np.diff(lines.offsets).max(initial=0))
    hashes = np.empty(longest // 4 + 1, np.uint64)  # a member has at least four bytes: "":0
    stack = np.empty((MAX_DEPTH, 2), np.int64)
    spaces = escaped = begin = 0
    while True:
        found = Finding(*grammar.check((text, words(text)), lines.offsets, begin, stack, hashes))
        spaces, escaped, begin = spaces + found.spaces, escaped + found.escaped, found.line + 1
        reason = _reason(lines, found)
        if found.code == grammar.OK or reason:
            return found._replace(spaces=spaces, escaped=escaped), reason


def _reason(lines: Lines, found: Finding) -> str:
    """Return why a line is not accepted; nothing where it is, or only the hashes of two names are equal."""
    if found.code == grammar.OK:
        return ""
    line = lines.text[lines.offsets[found.line] : lines.offsets[found.line + 1]].tobytes().decode()
    if found.code == grammar.TWICE:
        try:
            name = _twice(line)
        except ValueError:  # the rest of the line is no JSON
            return "a member stands twice in one object"
        return "" if name is None else f"the member {shown(name)} stands twice in one object"
    if found.code == grammar.NO_OBJECT:
        return _REASONS[grammar.NO_OBJECT]
    before = lines.text[lines.offsets[found.line] : found.at].tobytes().decode(errors="ignore")
    return f"no JSON: character {len(before) + 1}: {_REASONS[found.code]}"


def _twice(line: str) -> str | None:
    """Return the first name that stands twice in an object of a line."""
    found: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        found.extend(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)

    json.loads(line, object_pairs_hook=note)
    return found[0] if found else None


def _padded(text: Octets) -> Octets:
    return text if len(text) >= _WORD else np.append(text, np.zeros(_WORD, np.uint8))


def _rewritten(lines: Lines, escaped: int) -> Lines:
    """Return valid lines without white space outside of strings, and their names without needless escapes."""
    start, end = np.zeros(escaped, np.int64), np.zeros(escaped, np.int64)
    _escaped_names(lines.text, start, end)
    names = pieces(lines.data, start, end).dictionary_encode()
    written = [json.dumps(json.loads(name), ensure_ascii=False).encode() for name in names.dictionary.to_pylist()]
    bounds = np.cumsum([0, *map(len, written)]).astype(np.int64)
    code = names.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    out, offsets = np.empty(len(lines.text), np.uint8), np.zeros(len(lines) + 1, np.int32)
    instead = np.frombuffer(b"".join(written), np.uint8)
    _rewrite((lines.text, lines.offsets), (start, end, code), (instead, bounds), out, offsets)
    return Lines(lines.file, out[: offsets[-1]].tobytes(), lines.numbers, offsets)


@compiled
def _escaped_names(text: Octets, start: Ints, end: Ints) -> None:
    """Record where the names are that have a backslash: strings with a colon after them."""
    found = at = 0
    while found < len(start):
        if text[at] == _QUOTE:
            begin, escaped = at, False
            at += 1
            while text[at] != _QUOTE:
                if text[at] == _BACKSLASH:
                    escaped = True
                    at += 1
                at += 1
            after = at + 1
            while text[after] in (_SPACE, _TAB, _RETURN):
                after += 1
            if escaped and text[after] == _COLON:
                start[found], end[found] = begin, at + 1
                found += 1
        at += 1


@compiled
def _rewrite(
    lines: tuple[Octets, npt.NDArray[np.int32]],
    names: tuple[Ints, Ints, Ints],
    instead: tuple[Octets, Ints],
    out: Octets,
    offsets: npt.NDArray[np.int32],
) -> None:
    """Copy lines without white space outside of strings, and with other text for some names."""
    text, bounds = lines
    start, end, code = names
    new, new_bounds = instead
    to = name = 0
    for line in range(len(bounds) - 1):
        at = bounds[line]
        while at < bounds[line + 1]:
            if name < len(start) and at == start[name]:
                for place in range(new_bounds[code[name]], new_bounds[code[name] + 1]):
                    out[to] = new[place]
                    to += 1
                at = end[name]
                name += 1
                continue
            byte = text[at]
            if byte == _QUOTE:
                out[to] = byte
                to, at = to + 1, at + 1
                while text[at] != _QUOTE:
                    if text[at] == _BACKSLASH:
                        out[to] = text[at]
                        to, at = to + 1, at + 1
                    out[to] = text[at]
                    to, at = to + 1, at + 1
            if byte not in (_SPACE, _TAB, _RETURN):
                out[to] = text[at]
                to += 1
            at += 1
        offsets[line + 1] = to
