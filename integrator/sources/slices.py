"""Slices: what a source is divided into. A slice is read in order by one task, and never divided.

What a process of Spark's finds slices with is here, too: it starts often, and imports no decoder and no channel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, Protocol

import pyarrow as pa

TASK_SLICES = pa.schema(
    [
        ("ordinal", pa.int64()),
        ("path", pa.string()),
        ("size", pa.int64()),
        ("mtime", pa.int64()),
        ("stream", pa.string()),
        ("read", pa.bool_()),
        ("group", pa.int64()),
    ]
)
TASK_SLICES_DDL = "ordinal bigint, path string, size bigint, mtime bigint, stream string, read boolean, group bigint"
"""The rows that Spark hands to the first pass: a `TaskSlice` each."""
SHUFFLING_CORES = 4
"""A cycle on fewer cores is read by one task, in order, and needs no shuffle. Measured on 2 cores, the shuffle costs 5
of 17 µs a row; one task whose two passes overlap is a third faster than two tasks (docs/contributing/speed.md)."""


@dataclass(frozen=True)
class Slice:
    """What a source has found: a file, or a range of what it reads.

    path: its name, which no other slice has, and by which it is opened. size: in bytes. mtime: its time of change in
    ns, 0 where that is not known. Size and time are those of when it was taken. Of a range: stream: what it is a range
    of; begin, end: its first number, and the one after its last. One without a number is where a stream begins, or goes
    on after what is lost.
    """

    path: str
    size: int
    mtime: int = 0
    stream: str = ""
    begin: int = -1
    end: int = -1

    @property
    def length(self) -> int:
        """How many numbers a range has; 0 of a file."""
        return self.end - self.begin


NOTHING_TAKEN: Mapping[str, int] = MappingProxyType({})


NOTHING_KNOWN: Mapping[str, Slice] = MappingProxyType({})


class Limit(NamedTuple):
    """How many ranges are listed. most: bytes, about; 0: all. until: where streams end, those alone; None: all.

    known: files by path, which need not be inspected again where they are still there.
    """

    most: int = 0
    until: Mapping[str, int] | None = None
    known: Mapping[str, Slice] = NOTHING_KNOWN


ALL = Limit()


class SliceListing(Protocol):
    """Finds slices. It is pickled for the process of Spark's in which it is asked."""

    def slices(self, ends: Mapping[str, int] = NOTHING_TAKEN, limit: Limit = ALL) -> list[Slice]:
        """Return the slices that are there now, in order; of ranges those after `ends`, and at most so many.

        ends: of what was taken, by stream; first the streams of which the last was taken longest ago, and so are the
        ranges. Raises EnvironmentFault or SourceAway where they cannot be listed.
        """

    def until(self) -> Mapping[str, int] | None:
        """Return where each stream ends now, for what is read up to there; None where all slices are listed at once.

        Raises as `slices`.
        """

    def modified(self) -> int | None:
        """Return when slices last came or went, in ns; None where that is not known: then they are listed each time."""

    def stream_of(self, path: str) -> str:
        """Return what a slice is a part of: a transaction continues in the next slice of the same stream."""

    def together(self, paths: Sequence[str]) -> int:
        """Return how many of consecutive slices, at least 1, may be in a cycle, which has one definition of a table."""

    @property
    def number_of(self) -> Callable[[str], int] | None:
        """Of slices whose paths number them without a gap, their numbers: none is taken before those below it."""


@dataclass(frozen=True)
class TaskSlice:
    """A slice of a cycle, as a task has it.

    ordinal: its number in the journal. read: whether it is to be read; else it is only asked where it ends, for it is
    before the task's first. group: of small slices that may be read as one, the ordinal of the first; None where there
    are no others.
    """

    ordinal: int
    path: str
    size: int
    mtime: int
    stream: str
    read: bool
    group: int | None = None


def rows_of(slices: Sequence[TaskSlice]) -> pa.RecordBatch:
    """Return task slices as Spark hands them on."""
    return pa.RecordBatch.from_pylist([vars(one) for one in slices], TASK_SLICES)
