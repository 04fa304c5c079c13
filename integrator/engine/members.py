"""Members of objects, found by their nodes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from integrator.engine.arrays import Ints, Octets, Places, Words, words
from integrator.engine.compiled import compiled
from integrator.engine.grammar import BACKSLASH, OPEN, QUOTE
from integrator.engine.index import Nodes
from integrator.engine.words import WORD, begins_with, hash_of


class Wanted(NamedTuple):
    """Names that are searched for.

    hash: of each. text: their JSON, as words, see `words`. bounds: where each begins there, and the end.
    slot: names by the last bits of their hashes, the next free place where two have the same; -1 for none.
    """

    hash: Words
    text: Words
    bounds: Places
    slot: Places

    @classmethod
    def of(cls, written: Sequence[bytes]) -> Wanted:
        """Return names to search for, given as canonical JSON, which are expected in this order."""
        text = words(np.frombuffer(b"".join(written) + bytes(WORD), np.uint8))
        bounds = np.cumsum([0, *map(len, written)]).astype(np.int32)
        hashes = np.array([hash_of(text, start, end) for start, end in itertools.pairwise(bounds)], np.uint64)
        slot = np.full(1 << (2 * len(written)).bit_length(), -1, np.int32)
        for place, own in enumerate(hashes.tolist()):
            at = own & (len(slot) - 1)
            while slot[at] >= 0:
                at = (at + 1) & (len(slot) - 1)
            slot[at] = place
        return cls(hashes, text, bounds, slot)


@compiled
def find_nodes(text: Words, nodes: Nodes, begin: Places, stop: Places, wanted: Wanted, found: Places) -> None:
    """Write down the node of each wanted name in each record, whose nodes are from `begin` to before `stop`."""
    hashes, labels, afters = nodes.hash, nodes.label, nodes.after
    name_hash, name_text, bounds, slots = wanted.hash, wanted.text, wanted.bounds, wanted.slot
    most, size = len(slots) - 1, len(name_hash)
    for record in range(len(begin)):
        node, likely = begin[record], 0
        while node < stop[record]:
            own = hashes[node]
            name = likely if name_hash[likely] == own else -1
            if name < 0:
                at = np.int64(own & np.uint64(most))
                while slots[at] >= 0 and name_hash[slots[at]] != own:
                    at = (at + 1) & most
                name = slots[at]
            if name >= 0 and begins_with(text, labels[node], name_text, bounds[name], bounds[name + 1] - bounds[name]):
                found[name, record] = node
                likely = name + 1 if name + 1 < size else 0
            node = afters[node]


@compiled
def count_children(after: Places, begin: Places, stop: Places, counts: Ints) -> None:
    """Count the nodes directly in each object or list, given where its nodes begin and end."""
    for record in range(len(begin)):
        node, count = begin[record], 0
        while node < stop[record]:
            count += 1
            node = after[node]
        counts[record] = count


@compiled
def children(after: Places, begin: Places, stop: Places, found: Places) -> None:
    """Write down the nodes directly in objects."""
    to = 0
    for record in range(len(begin)):
        node = begin[record]
        while node < stop[record]:
            found[to] = node
            to += 1
            node = after[node]


@compiled
def ends_of_texts(text: Octets, start: Places, ends: Places) -> None:
    """Write down the place after each text."""
    for place in range(len(start)):
        at = start[place] + 1
        while text[at] != QUOTE:
            at += 1 + (text[at] == BACKSLASH)
        ends[place] = at + 1


@compiled
def find_pairs(
    text: Octets, text_words: Words, nodes: Nodes, begin: Places, stop: Places, wanted: Wanted, found: Places
) -> int:
    """Write down the nodes of names and of values; return the first record with an element that is no object, or -1."""
    hashes, labels, starts, afters = nodes.hash, nodes.label, nodes.start, nodes.after
    name_hash, name_text, bounds = wanted.hash, wanted.text, wanted.bounds
    to = 0
    for record in range(len(begin)):
        element = begin[record]
        while element < stop[record]:
            if text[starts[element]] != OPEN:
                return record
            node, end = element + 1, afters[element]
            while node < end:
                for which in range(2):
                    size = bounds[which + 1] - bounds[which]
                    if hashes[node] == name_hash[which] and begins_with(
                        text_words, labels[node], name_text, bounds[which], size
                    ):
                        found[which, to] = node
                node = afters[node]
            to += 1
            element = end
    return -1


@compiled
def hash_names(text: Words, start: Places, end: Places, hashes: Words) -> None:
    """Write down the hashes of names, which are texts at some places, with their quotes."""
    for place in range(len(start)):
        hashes[place] = hash_of(text, start[place], end[place])
