"""Mutations of a line of CSV."""

from __future__ import annotations

import csv
import json
import random

from tests.fuzz.mutate import damage, pools

_WORDS = [word.strip('"') for word in pools.WORDS]
_POSITIONS = [text.strip('"') for text in pools.POSITIONS]
_TABLES = [text.strip('"') for text in pools.TABLES if "\\" not in text]


def _field(rng: random.Random) -> str:
    pool = rng.choice(
        (pools.NUMBERS, pools.NO_NUMBERS, pools.TEXTS, pools.TEXTS, pools.LONG_NUMBERS, _WORDS, _POSITIONS, _TABLES)
    )
    return rng.choice(pool)


def _written(text: str, rng: random.Random, *, quoted: bool) -> str:
    if quoted or any(mark in text for mark in '",\n\r') or rng.random() < 0.1:
        return '"' + text.replace('"', '""') + '"'
    return text


def mutated(line: str, rng: random.Random) -> bytes:
    """Return a line that is nearly the one given."""
    [fields] = csv.reader([line])
    written = [_written(text, random.Random(0), quoted=False) for text in fields]
    for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 3))):
        at = rng.randrange(len(written))
        match rng.randrange(10):
            case 0:
                del written[at]
            case 1:
                written.insert(at, _written(_field(rng), rng, quoted=False))
            case 2:
                written[at] = rng.choice(("", '""', "NULL", '"NULL"', " ", '" "', json.dumps(fields[at % len(fields)])))
            case _:
                text = _field(rng).replace("\n", " ").replace("\r", " ")
                written[at] = _written(text, rng, quoted=rng.random() < 0.2)
        if not written:
            return b""
    text = ",".join(written)
    return damage.text(text, rng) if rng.random() < 0.05 else damage.bytes_of(text)
