"""Members of objects, found by their nodes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from integrator.arrow.compiled import compiled
from integrator.arrow.eight_bytes import WORD
from integrator.decode.json.grammar import BACKSLASH, QUOTE
from integrator.decode.json.index import Nodes
from integrator.decode.json.names import begins_with, hash_of, json_text
from integrator.engine.arrays import Ints, Octets, Places, Words, words


class Wanted(NamedTuple):
    """Names that are looked for.

    hash: of each. text: their JSON, as words, see `words`. bounds: where each begins there, and the end.
    slot: names by the last bits of their hashes, the next free place where two have the same; -1 for none.
    """

    hash: Words
    text: Words
    bounds: Places
    slot: Places

    @classmethod
    def of(cls, names: Sequence[str]) -> Wanted:
        """Return names to look for, which are expected in this order."""
        written = [json_text(name) for name in names]
        text = words(np.frombuffer(b"".join(written) + bytes(WORD), np.uint8))
        bounds = np.cumsum([0, *map(len, written)]).astype(np.int32)
        hashes = np.array([hash_of(text, start, end) for start, end in itertools.pairwise(bounds)], np.uint64)
        slot = np.full(1 << (2 * len(names)).bit_length(), -1, np.int32)
        for place, own in enumerate(hashes.tolist()):
            at = own & (len(slot) - 1)
            while slot[at] >= 0:
                at = (at + 1) & (len(slot) - 1)
            slot[at] = place
        return cls(hashes, text, bounds, slot)


@compiled
def find_nodes(document: tuple[Words, Nodes], begin: Places, stop: Places, wanted: Wanted, found: Places) -> None:
    """Write down the node of each wanted name in each record, whose nodes are from `begin` to before `stop`."""
    text, nodes = document
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
