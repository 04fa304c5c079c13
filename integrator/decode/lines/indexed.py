"""Records of an encoding that is not JSON, with the nodes that JSON of them would have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from integrator.decode.lines.lines import Lines
from integrator.engine.arrays import Ints, Octets, Places
from integrator.engine.grammar import OPEN, QUOTE
from integrator.engine.index import Nodes

_NAME = re.compile(rb'"(?:[^"\\]|\\.)*"')
_ODD = re.compile(rb'[\x00-\x1f"\\]')
_SHORT = {b"\b": b"\\b", b"\f": b"\\f", b"\n": b"\\n", b"\r": b"\\r", b"\t": b"\\t", b'"': b'\\"', b"\\": b"\\\\"}


@dataclass(frozen=True)
class IndexedLines(Lines):
    """Records like `Lines`. `nodes` has the positions of their values in `data`; the bytes between these are not JSON.

    Names are JSON. A text is in quotes and has no escapes: the bytes between its quotes are the text itself.
    `offsets` are the first nodes of the records.
    """

    nodes: Nodes = field(kw_only=True)

    @staticmethod
    def of(file: str, data: bytearray, numbers: Ints, nodes: Nodes) -> IndexedLines:
        """Return records, one for each number; nodes may have room for more."""
        many = len(numbers)
        first, count = nodes.first[: many + 1], int(nodes.first[many])
        own = Nodes(
            nodes.hash[:count],
            nodes.label[:count],
            nodes.start[:count],
            nodes.end[:count],
            nodes.after[:count],
            nodes.escaped[:count],
            first,
            nodes.record[:many],
        )
        return IndexedLines(file, data, numbers, first, nodes=own)

    @staticmethod
    def together(parts: Sequence[IndexedLines]) -> IndexedLines:
        """Return records, one after another, as those of the first one's file, numbered from 1."""
        of = [one.nodes for one in parts]
        text = np.cumsum([0, *(len(one.data) for one in parts)], dtype=np.int32)
        node = np.cumsum([0, *(len(one.hash) for one in of)], dtype=np.int32)

        def moved(arrays: Iterable[Places], by: Places) -> Places:
            return np.concatenate([one + more for one, more in zip(arrays, by, strict=False)])

        made = Nodes(
            np.concatenate([one.hash for one in of]),
            moved((one.label for one in of), text),
            moved((one.start for one in of), text),
            moved((one.end for one in of), text),
            moved((one.after for one in of), node),
            np.concatenate([one.escaped for one in of]),
            np.append(moved((one.first[:-1] for one in of), node), node[-1]),
            moved((one.record for one in of), text),
        )
        data = bytearray().join(one.data for one in parts)
        return IndexedLines.of(parts[0].file, data, np.arange(1, 1 + sum(map(len, parts))), made)

    def take(self, indices: Ints) -> IndexedLines:
        """Return the records at `indices`."""
        of, begin = self.nodes, self.nodes.first[:-1][indices]
        counts = of.first[1:][indices] - begin
        first = np.append(np.int32(0), np.cumsum(counts, dtype=np.int32))
        moved = np.repeat(begin - first[:-1], counts)
        at = np.arange(len(moved)) + moved
        record = of.record[indices]
        made = Nodes(
            of.hash[at], of.label[at], of.start[at], of.end[at], of.after[at] - moved, of.escaped[at], first, record
        )
        return replace(self, numbers=self.numbers[indices], offsets=first, rejected=(), nodes=made)

    def letters(self) -> Octets:
        """Return the first letter of each record's first member."""
        return self.text[self.nodes.start[self.nodes.first[:-1]] + 1]

    def written(self, at: int) -> bytes:
        """Return the record at a place as a line of JSON."""
        return self._object(int(self.nodes.first[at]), int(self.nodes.first[at + 1])) + b"\n"

    def whole(self, at: int, end: int | None = None) -> str:  # noqa: ARG002 - no place in it is wrong
        """Return the record at a place as a line of JSON."""
        return self.written(at).decode(errors="ignore")

    def _object(self, node: int, end: int) -> bytes:
        return b"{" + b",".join(self._members(node, end)) + b"}"

    def _members(self, node: int, end: int) -> Iterator[bytes]:
        nodes = self.nodes
        while node < end:
            name = _NAME.match(self.data, int(nodes.label[node]))
            value, after = bytes(self.data[nodes.start[node] : nodes.end[node]]), int(nodes.after[node])
            if value[0] == OPEN:
                value = self._object(node + 1, after)
            elif value[0] == QUOTE:
                value = b'"' + _ODD.sub(_escaped, value[1:-1]) + b'"'
            yield (name[0] if name else b"") + b":" + value
            node = after


def _escaped(found: re.Match[bytes]) -> bytes:
    return _SHORT.get(found[0]) or b"\\u%04x" % found[0][0]
