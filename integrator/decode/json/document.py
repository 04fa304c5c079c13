"""JSON lines, checked as a whole and indexed (RFC 8259).

What reads records after this relies on it: each line is one object or `null`; names are unique in each object and
written without needless escapes; numbers, words and escapes are JSON's.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from integrator.decode.lines.indexed import IndexedLines
from integrator.decode.lines.lines import Lines, pieces
from integrator.decode.refusal import report
from integrator.engine import grammar
from integrator.engine.arrays import Ints, Octets, Words, words
from integrator.engine.grammar import MAX_DEPTH, NEWLINE
from integrator.engine.index import LineFault, Nodes, index_lines, resume_index
from integrator.engine.lines import find_escaped_names, rewrite
from integrator.engine.words import WORD
from integrator.errors import DataError, Fault, Place, shown

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
    grammar.TOO_DEEP: f"here more than {MAX_DEPTH} brackets are nested",
}


@dataclass(frozen=True)
class Document:
    """Checked lines, and their nodes. text: the bytes that these are in, of a word at least; others may be between."""

    lines: Lines
    text: Octets
    nodes: Nodes

    @property
    def words(self) -> Words:
        """The text as words: see `words`."""
        return words(self.text)

    def take(self, good: Ints) -> Document:
        """Return the lines at some places, in order; the others have no nodes. The text stays as it is."""
        nodes = self.nodes
        first = np.append(nodes.first[good], nodes.first[-1])
        left = nodes._replace(first=first, record=nodes.record[good])
        return Document(self.lines.take(good), self.text, left)


def read_document(lines: Lines, expected: str, *, collected: bool = False) -> Document:
    """Return the lines, checked, and their nodes.

    Raises DataError with file, line, place and reason for the first line that is neither an object nor `null`.
    collected: where errors are collected, reading continues without such lines, which are lines of a file. Records of
    another encoding have their nodes.
    """
    if isinstance(lines, IndexedLines):
        return Document(lines, lines.text, lines.nodes)
    found, document = _indexed(lines, expected, collected=collected)
    blank = document.text[document.nodes.record] == NEWLINE
    if blank.any():
        document = document.take(np.flatnonzero(~blank))
    if found.escaped:  # names written differently may be the same
        start, end = np.zeros(found.escaped, np.int64), np.zeros(found.escaped, np.int64)
        find_escaped_names(document.lines.text, start, end)
        _, document = _indexed(rewritten(document.lines, start, end), expected)
    return document


def _indexed(lines: Lines, expected: str, *, collected: bool = False) -> tuple[LineFault, Document]:
    found, document, reason = _first_wrong(lines)
    if not reason:
        return found, document
    wrong, escaped = resume_index(document.text, lines.offsets, document.nodes, found)
    good = np.delete(np.arange(len(lines)), [one.line for one in wrong])

    def fault(one: LineFault) -> Fault:
        reason = f"{_reason(lines, one)}; expected {expected}; {lines.shown(one.line)}"
        return Fault(Place(lines.file, int(lines.numbers[one.line])), reason)

    error = DataError(fault(found), lambda: [fault(one) for one in wrong])
    if not collected or escaped or not len(good):
        raise error
    report(error, lines.faults)
    return found._replace(escaped=0), document.take(good)


def first_wrong(lines: Lines) -> tuple[LineFault, str]:
    """Return the first line that is neither an object nor `null` nor blank, and why; the reason is empty for none."""
    found, _, reason = _first_wrong(lines)
    return found, reason


def _first_wrong(lines: Lines) -> tuple[LineFault, Document, str]:
    text = _padded(lines.text)
    found, nodes = index_lines(text, words(text), lines.offsets)
    return found, Document(lines, text, nodes), _reason(lines, found)


def _reason(lines: Lines, found: LineFault) -> str:
    """Return why a line is not accepted; nothing where it is."""
    if found.code == grammar.OK:
        return ""
    line = lines.whole(found.line)
    if found.code == grammar.TWICE:
        try:
            return f"the member {shown(_twice(line))} stands twice in one object"
        except (ValueError, LookupError):  # the rest of the line is no JSON
            return "a member stands twice in one object"
    if found.code == grammar.NO_OBJECT:
        return _REASONS[grammar.NO_OBJECT]
    before = len(lines.whole(found.line, found.at))
    return f"no JSON: character {before + 1}: {_REASONS[found.code]}"


def _twice(line: str) -> str:
    """Return the first name that stands twice in an object of a line."""
    found: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        found.extend(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)

    json.loads(line, object_pairs_hook=note)
    return found[0]


def _padded(text: Octets) -> Octets:
    return text if len(text) >= WORD else np.append(text, np.zeros(WORD, np.uint8))


def rewritten(lines: Lines, start: Ints, end: Ints) -> Lines:
    """Return valid lines without white space outside of texts, and the texts at some places without needless escapes.

    start, end: where these texts are, in their order, with their quotes.
    """
    names = pieces(lines.data, start, end).dictionary_encode()
    written = [json.dumps(json.loads(name), ensure_ascii=False).encode() for name in names.dictionary.to_pylist()]
    bounds = np.cumsum([0, *map(len, written)]).astype(np.int64)
    code = names.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    out, offsets = np.empty(len(lines.text), np.uint8), np.zeros(len(lines) + 1, np.int32)
    instead = np.frombuffer(b"".join(written), np.uint8)
    rewrite(lines.text, lines.offsets, start, end, code, instead, bounds, out, offsets)
    return lines.like(out[: offsets[-1]].tobytes(), lines.numbers, offsets, lines.left_out, lines.origin)
