"""The shapes of change records: each turns the files of a source into change rows.

A dialect is a module with two functions, `read` and `tail`:

read(file, before, reading): yields the file's `Batch`es in order; `before` is where the file before it ended.
tail(file, reading): where the file alone ends, `OpenTransaction.since_start` where its beginning lies before the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from integrator.changes import OpenTransaction
from integrator.dialects import hvr, wal2json
from integrator.dialects.reading import Batch, Before, Reading


@dataclass(frozen=True)
class Dialect:
    """How files of one shape are read."""

    read: Callable[[str, Before, Reading], Iterator[Batch]]
    tail: Callable[[str, Reading], OpenTransaction]


DIALECTS: dict[str, Dialect] = {
    "hvr": Dialect(hvr.read, hvr.tail),
    "wal2json": Dialect(wal2json.read, wal2json.tail),
}
