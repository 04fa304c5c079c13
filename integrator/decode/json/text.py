"""Canonical JSON lines whose scalars are all strings, for values whose type differs from record to record."""

from __future__ import annotations

import numpy as np

from integrator.arrow.arrays import Octets, Raw
from integrator.arrow.compiled import compiled

_QUOTE, _BACKSLASH, _N = b'"\\n'
_PUNCTUATION = np.array([byte in b",:{}[]\n" for byte in range(256)]).astype(np.uint8)


def quote_scalars(data: Raw) -> bytes:
    """Return canonical lines with quotes around each number, true and false, so that Arrow reads it as its exact text.

    A JSON value whose type differs from record to record (as in wal2json) has no one Arrow type but text; null stays
    null.
    """
    text = np.frombuffer(data, np.uint8)
    out = np.empty(2 * len(text), np.uint8)  # a scalar and what is after it have two bytes, and get two
    return out[: _quote(text, out)].tobytes()


@compiled
def _quote(text: Octets, out: Octets) -> int:
    """Write the text with quotes around its scalars; return its new size."""
    at = to = 0
    while at < len(text):
        byte = text[at]
        if byte == _QUOTE:
            out[to] = byte
            at, to = at + 1, to + 1
            while text[at] != _QUOTE:
                if text[at] == _BACKSLASH:
                    out[to] = text[at]
                    at, to = at + 1, to + 1
                out[to] = text[at]
                at, to = at + 1, to + 1
        elif not _PUNCTUATION[byte] and byte != _N:
            out[to] = _QUOTE
            to += 1
            while not _PUNCTUATION[text[at]]:
                out[to] = text[at]
                at, to = at + 1, to + 1
            out[to] = _QUOTE
            to += 1
            continue
        elif byte == _N:
            while not _PUNCTUATION[text[at]]:
                out[to] = text[at]
                at, to = at + 1, to + 1
            continue
        out[to] = text[at]
        at, to = at + 1, to + 1
    return to
