"""Slices of the text of JSON lines: where values are, and their characters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.engine.arrays import Mask, Octets, Places, words
from integrator.engine.values import Slices, code_values, copy_values
from integrator.engine.words import WORD


class DictionaryTexts(NamedTuple):
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
    def of(cls, texts: pa.Array) -> DictionaryTexts:
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
    copy_values(text, words(text), at, data, words(data), offsets, valid, quoted)
    buffers = [bits(valid), pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), size, buffers)


def labels_of(text: Octets, at: Slices) -> DictionaryTexts:
    """Return the characters of values as `texts_of`, each of them once."""
    codes, firsts = np.empty(len(at.start), np.int32), np.empty(len(at.start), np.int32)
    table = np.full(1 << max(4, len(at.start).bit_length() + 1), -1, np.int32)
    count = code_values(text, words(text), at.start, at.end, codes, firsts, table)
    found = texts_of(text, at.take(firsts[:count].astype(np.int64))).to_pylist()
    different = list(dict.fromkeys(found))
    if len(different) < count:  # written in two ways
        codes = np.append(np.array([different.index(one) for one in found], np.int32), np.int32(-1))[codes]
    return DictionaryTexts(codes, different)


def bits(valid: Mask) -> pa.Buffer | None:
    """Return which values are not null, as Arrow has it; None where all are."""
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
