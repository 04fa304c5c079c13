"""Objects in a document, one for each record: their members by name, at any depth."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.decode.json.document import Document, read_document
from integrator.decode.json.slices import DictionaryTexts, labels_of, raw_of, texts_of
from integrator.decode.lines.lines import Lines, json_text
from integrator.decode.refusal import refuse
from integrator.engine.arrays import Ints, Mask, Places
from integrator.engine.grammar import LIST, OPEN
from integrator.engine.members import Wanted, children, count_children, ends_of_texts, find_nodes
from integrator.engine.values import Slices


class Objects:
    """One object for each record, or none.

    line: of each record, the place of its line in the document. begin, stop: the nodes of the object's members, and of
    what is in these. has: which records have an object.
    """

    def __init__(self, document: Document, line: Ints, begin: Places, stop: Places, has: Mask) -> None:
        self.document, self.line = document, line
        self.begin, self.stop, self.has_object = begin, stop, has
        self._found: dict[str, Places] = {}
        self._slices: dict[str, Slices] = {}

    @staticmethod
    def of_lines(document: Document) -> Objects:
        """Return what the lines are: an object each, or `null`."""
        nodes, line = document.nodes, np.arange(len(document.lines))
        return Objects(document, line, nodes.first[:-1], nodes.first[1:], document.text[nodes.record] == OPEN)

    @staticmethod
    def of_nodes(document: Document, line: Ints, node: Places, expected: str) -> Objects:
        """Return the objects that nodes are; -1, or null, is none. Raises DataError for what is no object."""
        none = node < 0
        kind = document.text[document.nodes.start[np.where(none, 0, node)]] if len(node) > none.sum() else None
        has = np.zeros(len(node), np.bool_) if kind is None else ~none & (kind == OPEN)
        if kind is not None and not (has | none).all():
            null = Slices.of_nodes(document.nodes, node).nulls(document.text)
            check_objects(document, line, ~(has | null), expected)
        begin = np.where(has, node + 1, 0).astype(np.int32)
        stop = np.where(has, document.nodes.after[np.where(has, node, 0)], 0).astype(np.int32) if has.any() else begin
        return Objects(document, line, begin, stop, has)

    @staticmethod
    def of_texts(texts: pa.Array, lines: Lines, at: Ints, expected: str) -> Objects:
        """Return the objects that texts in JSON are; null is none. at: the place of each one's line in `lines`."""
        has = np.asarray(texts.is_valid())
        document = read_document(as_lines(pc.fill_null(texts, "{}"), lines, at), expected)
        found = Objects.of_lines(document)
        return Objects(document, found.line, found.begin, found.stop, has)

    def __len__(self) -> int:
        return len(self.begin)

    @property
    def lines(self) -> Lines:
        """The lines of the document."""
        return self.document.lines

    @property
    def numbers(self) -> Ints:
        """The number of each record's line in the file."""
        return self.document.lines.numbers[self.line]

    def required(self, expected: str) -> Objects:
        """Return the same. Raises DataError for the first record that has no object."""
        check_objects(self.document, self.line, ~self.has_object, expected)
        return self

    def take(self, at: Ints) -> Objects:
        """Return the objects of the records at some places."""
        found = Objects(self.document, self.line[at], self.begin[at], self.stop[at], self.has_object[at])
        found._found = {name: node[at] for name, node in self._found.items()}
        return found

    def either(self, which: Mask, other: Objects) -> Objects:
        """Return these objects where `which` is True, and those of `other` elsewhere."""
        return Objects(
            self.document,
            self.line,
            np.where(which, self.begin, other.begin),
            np.where(which, self.stop, other.stop),
            np.where(which, self.has_object, other.has_object),
        )

    def where(self, which: Mask) -> Objects:
        """Return the objects of the records of `which`, and none of the others."""
        none = np.zeros_like(self.begin)
        return Objects(
            self.document,
            self.line,
            np.where(which, self.begin, none),
            np.where(which, self.stop, none),
            self.has_object & which,
        )

    @property
    def filled(self) -> Mask:
        """Which records have an object with a member, or more."""
        return np.asarray(self.has_object & (self.begin < self.stop), np.bool_)

    def find(self, *names: str) -> Objects:
        """Look up the members of several names in one pass, and keep them; return these objects."""
        new = [name for name in names if name not in self._found]
        if new:
            self._found |= dict(zip(new, self._nodes_of(new), strict=True))
        return self

    def node(self, name: str) -> Places:
        """Return the node of each record's member of that name; -1 where it has none."""
        self.find(name)
        return self._found[name]

    def has(self, name: str) -> Mask:
        """Return which records have a member of that name, null or not."""
        return self.node(name) >= 0

    def slices(self, name: str) -> Slices:
        """Return where the members of that name are."""
        if name not in self._slices:
            self._slices[name] = Slices.of_nodes(self.document.nodes, self.node(name))
        return self._slices[name]

    def raw(self, name: str) -> pa.Array:
        """Return the JSON text of each record's member of that name; null where it has none, or it is null."""
        return raw_of(self.document.text, self.slices(name))

    def text(self, name: str) -> pa.Array:
        """Return each record's member of that name as text: a text's characters, else its JSON; null as `raw`."""
        return texts_of(self.document.text, self.slices(name))

    def labels(self, name: str) -> DictionaryTexts:
        """Return the texts of members of which many are the same."""
        return labels_of(self.document.text, self.slices(name))

    def labels_with_left_out(self, name: str) -> DictionaryTexts:
        """Return as `labels`, of the member whose values may be left out of lines."""
        at, left_out = self.slices(name), self.lines.left_out
        if left_out is None:
            return labels_of(self.document.text, at)
        codes = left_out.codes[self.line]
        here = codes < 0
        own = labels_of(self.document.text, Slices(at.start * here, at.end * here, at.escaped))
        texts = list(dict.fromkeys([*own.texts, *(value.decode() for value in left_out.values)]))
        place = {text: code for code, text in enumerate(texts)}
        of_values = np.array([*(place[value.decode()] for value in left_out.values), -1], np.int32)
        return DictionaryTexts(np.where(here, own.codes, of_values[codes]), texts)

    def first_text(self, names: Iterable[str]) -> pa.Array:
        """Return the text of the first of several members that a record has, and that is not null."""
        return pc.coalesce(*(self.text(name) for name in names))

    def inner(self, name: str, expected: str, which: Mask | None = None) -> Objects:
        """Return the objects that the members of that name are, of all records or of `which`.

        Raises DataError for what is no object.
        """
        node = self.node(name)
        if which is not None and not which.all():
            node = np.where(which, node, np.int32(-1))
        return Objects.of_nodes(self.document, self.line, node, expected)

    def counts(self) -> Ints:
        """Return how many members each record's object has."""
        found = np.zeros(len(self), np.int64)
        count_children(self.document.nodes.after, self.begin, self.stop, found)
        return found

    def members(self) -> tuple[Places, Ints]:
        """Return the nodes of all members of all objects, or elements of lists, and the record of each."""
        counts = self.counts()
        found = np.empty(int(counts.sum()), np.int32)
        children(self.document.nodes.after, self.begin, self.stop, found)
        return found, np.repeat(np.arange(len(self)), counts)

    def elements(self, name: str) -> tuple[Places, Ints]:
        """Return the nodes of the elements of lists, and the record of each; what is no list has none."""
        node, nodes = self.node(name), self.document.nodes
        has = node >= 0
        has[has] = self.document.text[nodes.start[node[has]]] == LIST
        begin = np.where(has, node + 1, 0).astype(np.int32)
        stop = begin.copy()
        stop[has] = nodes.after[node[has]]
        return Objects(self.document, self.line, begin, stop, has).members()

    def _nodes_of(self, names: Sequence[str]) -> Places:
        """Return the node of each record's member, name by name."""
        found = np.full((len(names), len(self)), -1, np.int32)
        wanted = Wanted.of([json_text(name) for name in names])
        find_nodes(self.document.words, self.document.nodes, self.begin, self.stop, wanted, found)
        return found


def names_of(document: Document, nodes: Places) -> DictionaryTexts:
    """Return the names of members, each of them once."""
    labels = document.nodes.label[nodes]
    ends = np.empty(len(nodes), np.int32)
    ends_of_texts(document.text, labels, ends)
    return labels_of(document.text, Slices(labels, ends, np.ones(len(nodes), np.bool_)))


_TEXT_OR_BREAK = re.compile(r'"(?:[^"\\]|\\.)*"|[\r\n]', re.DOTALL)


def _without_break(found: re.Match[str]) -> str:
    """Return a text of JSON as it is, and a space for a line break between values."""
    return " " if found[0] in "\r\n" else found[0]


def as_lines(texts: pa.Array, lines: Lines, at: Ints) -> Lines:
    """Return JSON texts as lines of their own; `at` says which of `lines` each comes from."""
    broken = pc.match_substring_regex(texts, r"[\r\n]")
    if pc.any(broken).as_py():  # few are written over several lines
        whole = [_TEXT_OR_BREAK.sub(_without_break, text) for text in texts.filter(broken).to_pylist()]
        texts = pc.replace_with_mask(texts, broken, pa.array(whole, pa.string()))
    ended = pc.binary_join_element_wise(texts, "", "\n")
    _, offsets, data = ended.buffers()
    places = np.frombuffer(offsets, np.int32)[ended.offset : ended.offset + len(ended) + 1]
    body = data.to_pybytes()[places[0] : places[-1]] if len(ended) else b""
    return lines.like(body, lines.numbers[at], (places - places[0]).astype(np.int32), None)


def check_objects(document: Document, line: Ints, wrong: Mask, expected: str) -> None:
    """Raise DataError for records, which are in these lines of a document, that are no objects where one must be."""
    lines = document.lines

    def text(at: int) -> str:
        return f"it is no object; expected {expected}; {lines.shown(line[at])}"

    if wrong.any():
        refuse(lines.file, lines.numbers[line], wrong, text)
