"""Slices of the text of JSON lines: where values are, and their characters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.compiled import compiled
from integrator.arrow.eight_bytes import WORD
from integrator.decode.json.characters import copy_values, is_null
from integrator.decode.json.grammar import QUOTE
from integrator.decode.json.index import Nodes
from integrator.decode.json.names import hash_of, is_same, is_same_by_words
from integrator.engine.arrays import Ints, Mask, Octets, Places, Words, words


class Slices(NamedTuple):
    """Where values are; nowhere (0, 0) where there is none. escaped: whether a backslash is in a text."""

    start: Places
    end: Places
    escaped: Mask

    @classmethod
    def of_size(cls, size: int) -> Slices:
        """Return slices of which none is anywhere yet."""
        return cls(np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size, np.bool_))

    @classmethod
    def of_nodes(cls, nodes: Nodes, at: Places) -> Slices:
        """Return where the values of nodes are; -1 is no node."""
        found = cls.of_size(len(at))
        _slices(nodes, at, found)
        return found

    def part(self, start: int, stop: int) -> Slices:
        """Return the slices from `start` to before `stop`."""
        return Slices(self.start[start:stop], self.end[start:stop], self.escaped[start:stop])

    def take(self, at: Ints) -> Slices:
        """Return the slices at some places."""
        return Slices(self.start[at], self.end[at], self.escaped[at])

    def first_bytes(self, text: Octets) -> Octets:
        """Return the first byte of each value: a quote for a text; of no value any byte."""
        return text[self.start]

    def are_texts(self, text: Octets) -> Mask:
        """Return which values are texts."""
        return np.asarray((self.first_bytes(text) == QUOTE) & (self.end > 0), np.bool_)

    def nulls(self, text: Octets) -> Mask:
        """Return where there is no value, or null."""
        found = np.empty(len(self.start), np.bool_)
        _nulls(text, self.start, self.end, found)
        return found


class Labels(NamedTuple):
    """Texts of which many are the same. codes: of each its place in `texts`, -1 where there is none."""

    codes: Places
    texts: list[str]

    def has(self, *texts: str) -> bool:
        """Return whether one of some texts is among them."""
        return any(text in self.texts for text in texts)

    def are(self, *texts: str) -> Mask:
        """Return which are one of some texts."""
        wanted = np.array([*(text in texts for text in self.texts), False], np.bool_)
        return wanted[self.codes]

    def encoded(self, instead: str | None = None) -> pa.DictionaryArray:
        """Return the texts as an array that has each of them once; where there is none, `instead`."""
        none = self.codes < 0
        texts, codes = pa.array(self.texts, pa.string()), self.codes
        if instead is not None and none.any():
            texts = pa.array([*self.texts, instead], pa.string())
            codes, none = np.where(none, np.int32(len(self.texts)), codes), np.zeros_like(none)
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=none), texts)

    @classmethod
    def of(cls, texts: pa.Array) -> Labels:
        """Return the texts of an array."""
        encoded = texts.dictionary_encode()
        codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
        return cls(codes, encoded.dictionary.to_pylist())


def texts_of(text: Octets, at: Slices) -> pa.Array:
    """Return the characters of texts, and other values as they are in JSON; null where there is none, or null."""
    return _array(text, at, quoted=False)


def raw_of(text: Octets, at: Slices) -> pa.Array:
    """Return values as they are in JSON; null where there is none, or null."""
    return _array(text, at, quoted=True)


def _array(text: Octets, at: Slices, *, quoted: bool) -> pa.Array:
    size = len(at.start)
    offsets, valid = np.zeros(size + 1, np.int32), np.empty(size, np.bool_)
    room = int((at.end.astype(np.int64) - at.start).sum())
    data = np.empty(room + WORD, np.uint8)
    copy_values((text, words(text)), at, (data, words(data)), offsets, valid, quoted)
    buffers = [bits(valid), pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), size, buffers)


def labels_of(text: Octets, at: Slices) -> Labels:
    """Return the characters of values as `texts_of`, each of them once."""
    codes, firsts = np.empty(len(at.start), np.int32), np.empty(len(at.start), np.int32)
    table = np.full(1 << max(4, len(at.start).bit_length() + 1), -1, np.int32)
    count = _code((text, words(text)), at.start, at.end, codes, firsts, table)
    found = texts_of(text, at.take(firsts[:count].astype(np.int64))).to_pylist()
    different = list(dict.fromkeys(found))
    if len(different) < count:  # written in two ways
        codes = np.append(np.array([different.index(one) for one in found], np.int32), np.int32(-1))[codes]
    return Labels(codes, different)


def bits(valid: Mask) -> pa.Buffer | None:
    """Return which values are not null, as Arrow has it; None where all are."""
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))


@compiled
def _slices(nodes: Nodes, at: Places, found: Slices) -> None:
    starts, ends, with_backslash = nodes.start, nodes.end, nodes.escaped
    start, end, escaped = found.start, found.end, found.escaped
    for place in range(len(at)):
        node = at[place]
        if node >= 0:
            start[place], end[place], escaped[place] = starts[node], ends[node], with_backslash[node]


@compiled
def _nulls(text: Octets, start: Places, end: Places, found: Mask) -> None:
    for place in range(len(start)):
        found[place] = is_null(text, start[place], end[place])


@compiled
def _code(
    octets: tuple[Octets, Words], start: Places, end: Places, codes: Places, firsts: Places, table: Places
) -> int:
    """Give each value a code, the same to the same text; return how many there are. firsts: a place of each."""
    text, text_words = octets
    most = len(table) - 1
    count, before = 0, -1
    for place in range(len(start)):
        if is_null(text, start[place], end[place]):
            codes[place] = -1
            continue
        size = end[place] - start[place]
        if before >= 0 and size == end[before] - start[before] and _same(octets, start[place], start[before], size):
            codes[place] = codes[before]  # most often as the one before
            continue
        before = place
        slot = np.int64(hash_of(text_words, start[place], end[place]) >> np.uint64(33)) & most
        while True:
            code = table[slot]
            if code < 0:
                table[slot], firsts[count], codes[place] = count, place, count
                count += 1
                break
            other = firsts[code]
            if size == end[other] - start[other] and _same(octets, start[place], start[other], size):
                codes[place] = code
                break
            slot = (slot + 1) & most
    return count


@compiled
def _same(octets: tuple[Octets, Words], one: int, other: int, size: int) -> bool:
    if size < WORD:
        return is_same(octets[0], one, other, size)
    return is_same_by_words(octets[1], one, other, size)
