"""Damage to text: bytes that are lost, added or flipped, lines cut short, two records in a line."""

from __future__ import annotations

import random

_BYTES = [
    b"\x00",
    b"\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b" ",
    b"\t",
    b"\r",
    b"0",
    b"-",
    b"n",
    b"\xef\xbb\xbf",
    b"\xc2\xa0",
    b"\x0b",
    b"\x7f",
]


def bytes_of(text: str) -> bytes:
    """Return text as UTF-8; halves of surrogate pairs as the bytes that are none."""
    return text.encode("utf-8", "surrogatepass")


def text(line: str, rng: random.Random) -> bytes:
    """Return the damaged line: one line still."""
    data = bytes_of(line)
    at = rng.randrange(len(data) + 1)
    match rng.randrange(10):
        case 0 | 1:
            data = data[:at] + data[at + 1 :]
        case 2 | 3:
            data = data[:at] + rng.choice(_BYTES) + data[at:]
        case 4:
            data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        case 5:
            data = data[:at]
        case 6:
            data = data + rng.choice((b"", b" ", b",")) + data
        case 7:
            data = data[:-1] + b"," + data[-1:] if rng.random() < 0.5 else data + b","
        case 8:
            data = rng.choice((b" ", b"\t", b"\r", b" " * 3000)) + data
        case _:
            data = data + rng.choice((b" ", b"\r", b"\t \r", b" " * 3000, b"x", b"null", b"}"))
    return data.replace(b"\n", b" ")
