"""Images as lists of names and values, as objects whose members these are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from integrator.decode.json.document import Document, read_document, rewritten
from integrator.decode.json.objects import Objects, check_objects
from integrator.decode.lines.lines import json_text
from integrator.decode.refusal import refuse
from integrator.engine.arrays import Ints, Mask, Places
from integrator.engine.grammar import LIST, QUOTE
from integrator.engine.index import Nodes
from integrator.engine.members import Wanted, count_children, find_pairs, hash_names

_NULL = np.frombuffer(b"null\n", np.uint8)


class NamedLists:
    """Names and values of images.

    name, value: their nodes, image after image; -1 for a value that is not there.
    counts: how many each image has. has: which records have an image. line: of each record, its line in the document.
    """

    def __init__(self, name: Places, value: Places, counts: Ints, has: Mask, line: Ints) -> None:
        self.name, self.value, self.counts, self.has, self.line = name, value, counts, has, line


def lists_of_pairs(objects: Objects, member: str, name: str, value: str, expected: str) -> NamedLists:
    """Return the images that are lists of objects, each with a name and a value. Raises DataError for others."""
    node, has = objects.node(member), objects.slices(member)
    document = objects.document
    is_list = np.asarray((has.first_bytes(document.text) == LIST) & (has.end > 0), np.bool_)
    begin = np.where(is_list, node + 1, 0).astype(np.int32)
    stop = np.where(is_list, document.nodes.after[np.where(is_list, node, 0)], 0).astype(np.int32)
    counts = np.zeros(len(objects), np.int64)
    count_children(document.nodes.after, begin, stop, counts)
    found = np.full((2, int(counts.sum())), -1, np.int32)
    wanted = Wanted.of([json_text(name), json_text(value)])
    wrong = int(find_pairs(document.text, document.words, document.nodes, begin, stop, wanted, found))
    if wrong >= 0:
        check_objects(document, objects.line, np.arange(len(objects)) == wrong, expected)
    return NamedLists(found[0], found[1], counts, is_list, objects.line)


def plain_names(document: Document, nodes: Places, expected: str) -> Document | None:
    """Return the document with names, which are texts at some nodes, in canonical form; None where they are in it."""
    escaped = nodes[(nodes >= 0)]
    escaped = escaped[document.nodes.escaped[escaped]]
    if not len(escaped):
        return None
    order = np.argsort(document.nodes.start[escaped])
    start, end = (values[escaped[order]].astype(np.int64) for values in (document.nodes.start, document.nodes.end))
    lines = rewritten(document.lines, start, end)
    return None if bytes(lines.data) == bytes(document.lines.data) else read_document(lines, expected)


def as_objects(document: Document, images: Sequence[NamedLists]) -> list[Objects]:
    """Return images as objects of one document more. Raises DataError for a name that is no text."""
    name = np.concatenate([one.name for one in images])
    value = np.concatenate([one.value for one in images])
    nodes, text = document.nodes, document.text
    line = np.concatenate([np.repeat(one.line, one.counts) for one in images])
    is_text = name >= 0
    is_text[is_text] = text[nodes.start[name[is_text]]] == QUOTE
    if not is_text.all():
        numbers = document.lines.numbers[line]
        refuse(document.lines.file, numbers, ~is_text, lambda _: "a value stands in a list of columns without a name")
    start, end, escaped = (part[value] for part in (nodes.start, nodes.end, nodes.escaped))
    if (value < 0).any():
        start = np.where(value < 0, len(text), start).astype(np.int32)
        end = np.where(value < 0, len(text) + len(_NULL) - 1, end).astype(np.int32)
        text = np.append(text, _NULL)
    hashes, label = np.empty(len(name), np.uint64), nodes.start[name]
    hash_names(document.words, label, nodes.end[name], hashes)
    after = np.arange(1, len(name) + 1, dtype=np.int32)
    made = Nodes(hashes, label, start, end, after, escaped & (value >= 0), nodes.first, nodes.record)
    own = replace(document, text=text, nodes=made)
    result, at = [], 0
    for one in images:
        bounds = (at + np.concatenate([[0], np.cumsum(one.counts)])).astype(np.int32)
        result.append(Objects(own, one.line, bounds[:-1], bounds[1:], one.has))
        at = int(bounds[-1])
    return result
