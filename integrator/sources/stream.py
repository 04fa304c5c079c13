"""The slices of a source as a Spark stream: one row a slice, cut into consecutive parts, never a slice in two.

Spark's own file source orders by time only, and cuts and reorders files inside a batch; order is what this is about.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow

from integrator import durable
from integrator.errors import to_wire_error
from integrator.sources.journal.journal import Journal
from integrator.sources.slices import (
    ALL,
    SHUFFLING_CORES,
    TASK_SLICES_DDL,
    Limit,
    Slice,
    SliceListing,
    TaskSlice,
    rows_of,
)
from integrator.sources.watch import Watch

NAME = "slices"
CORES = "cores"
"""The file in the state directory that says how many cores Spark has."""
ONE_TASK_BYTES = 4 * 1024 * 1024
"""A cycle of fewer bytes is read by one task, as one on few cores is."""

SMALL_BYTES, GROUP_BYTES = 1024 * 1024, 4 * 1024 * 1024
"""Consecutive slices of at most so many bytes each, and together, may be read as one (decode/lines/joined.py): a batch
costs 5 ms of CPU however few rows it has, which is what a thousand rows cost."""

Row = tuple[int, str, int, int, str, bool, "int | None"]
"""The values of a `TaskSlice`."""


def stream(spark: SparkSession, listing: SliceListing, journal: Path, cycle_bytes: int) -> DataFrame:
    """Return the stream of the slices that `listing` finds, one row each."""
    note_cores(journal.parent, spark.sparkContext.defaultParallelism)
    source = _source_of(journal, listing)
    spark.dataSource.register(source)
    options = {
        "journal": str(journal),
        "bytes": str(cycle_bytes),
        "one_task_bytes": str(ONE_TASK_BYTES),
        "shuffling_cores": str(SHUFFLING_CORES),
    }
    return spark.readStream.format(source.name()).options(**options).load()


def note_cores(state: Path, cores: int) -> None:
    """Have the next cycles divided for so many cores: the source's process cannot ask Spark how many there are now."""
    path = state / CORES
    if not path.exists() or path.read_text() != str(cores):
        durable.replace(path, str(cores).encode())


class SliceStream(DataSource):
    """The slices of a channel's source as a data source, whose name and listing `_source_of` gives.

    listing: pickled. Three processes of Spark have this class, and one of them lists: the others need not import what
    it lists with, 0.6 s of CPU each.
    """

    listing: ClassVar[bytes]

    def schema(self) -> str:
        """Return the columns of a slice."""
        return TASK_SLICES_DDL

    def streamReader(self, schema: Any) -> _Reader:  # noqa: N802, ARG002 - Spark's
        """Return the reader of a stream."""
        return _Reader(self.listing, dict(self.options))


def _source_of(journal: Path, found_by: SliceListing) -> type[SliceStream]:
    """Return the data source of the channel with this journal, under a name that no other channel of the process has.

    Streams of one name share its PythonFunction. Spark's PythonStreamingSourceRunner puts entries into that function's
    map of environment variables when a stream starts, while tasks of other streams are serialised with the same map:
    these then fail with java.io.OptionalDataException.
    """
    name = f"{NAME}_{hashlib.sha256(str(journal).encode()).hexdigest()[:16]}"

    class OfChannel(SliceStream):
        listing = cloudpickle.dumps(found_by)  # type: ignore[no-untyped-call] # by value, where it is a program's own

        @classmethod
        def name(cls) -> str:
            return name

    return OfChannel


@contextmanager
def _across_processes() -> Iterator[None]:
    """Raise an error as text, which the driver makes the same error of; one that nobody foresaw is a defect."""
    try:
        yield
    except Exception as error:  # noqa: BLE001
        raise to_wire_error(error, "listing the slices") from None


class _Part(InputPartition):
    """Consecutive slices for one task, and those before them in the cycle."""

    def __init__(self, rows: list[Row]) -> None:
        super().__init__(rows)
        self.rows = rows


class _Reader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets are numbers of slices in the journal: `{"slices": 7}` is after the seventh."""

    def __init__(self, listing: bytes, options: dict[str, str]) -> None:
        self._pickled = listing
        self._journal_path = Path(options["journal"])
        self._bytes = int(options["bytes"])
        self._one_task_bytes = int(options["one_task_bytes"])
        self._shuffling_cores = int(options["shuffling_cores"])
        self._opened: Journal | None = None
        self._frozen = False
        self._until: Mapping[str, int] | None = None

    @cached_property
    def _listing(self) -> SliceListing:
        found: SliceListing = pickle.loads(self._pickled)  # noqa: S301 - this process's own
        return found

    @cached_property
    def _watch(self) -> Watch:
        return Watch(self._listing)

    @property
    def _journal(self) -> Journal:
        # opened where it is used: the reader itself also goes to executors, which must not touch the journal
        if self._opened is None:
            self._opened = Journal(self._journal_path)
        self._opened.follow()  # what sub-cycles have added, between two calls
        return self._opened

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's
        """Return the offset before the first slice."""
        return {"slices": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's
        """Return how much a cycle may read."""
        return ReadMaxBytes(self._bytes) if self._bytes else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's
        """Take what exists now, and nothing after it: files now, ranges up to these ends as they are read."""
        with _across_processes():
            self._until = self._listing.until()
        if self._until is None:
            self._take_new(ALL)
            self._frozen = True

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802 - Spark's
        """Return the end of the next cycle."""
        max_bytes = 0 if isinstance(limit, ReadAllAvailable) else self._bytes
        with _across_processes():
            waiting = self._journal.waiting(start["slices"]) if max_bytes and self._journal.ends else 0
        if not self._frozen and (not max_bytes or waiting < max_bytes):
            self._take_new(Limit(max_bytes and max_bytes - waiting, self._until))
        with _across_processes():
            begin, end = start["slices"], self._journal.limit(start["slices"], max_bytes)
            paths = [one.path for _, one in self._journal.between(begin, end)]
            return {"slices": begin + self._listing.together(paths)}

    def _take_new(self, limit: Limit) -> None:
        with _across_processes():
            found = self._watch.slices(self._journal.ends, limit)
            if found is not None:
                self._journal.take(found, self._listing.number_of)

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[_Part]:
        """Cut the cycle's slices into consecutive parts of about equal size."""
        with _across_processes():
            entries = _by_stream(self._journal.between(start["slices"], end["slices"]))
        total = sum(entry.size for _, entry in entries)
        cores = int((self._journal_path.parent / CORES).read_text())
        few = total <= self._one_task_bytes or cores < self._shuffling_cores
        stream_of = self._listing.stream_of
        groups = [*_groups(entries, stream_of)]
        tasks = 1 if few else min(cores, len(groups))
        parts: list[list[Row]] = [[] for _ in range(tasks)]
        done = 0
        for group in groups:
            size = sum(entry.size for _, entry in group)
            part = parts[min(tasks - 1, (done + size // 2) * tasks // max(total, 1))]
            part += _rows(group, stream_of)
            done += size
        result = []
        before: list[Row] = []
        for part in filter(None, parts):
            result.append(_Part(before + part))
            before += [(*row[:5], False, None) for row in part]
        return result

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Yield a part's slices."""
        if isinstance(partition, _Part):
            yield from partition.rows


def own_rows(entries: list[tuple[int, Slice]], stream_of: Callable[[str], str]) -> pa.RecordBatch:
    """Return consecutive slices as rows of TASK_SLICES, for one task that reads all of them."""
    groups = _groups(_by_stream(entries), stream_of)
    return rows_of([TaskSlice(*row) for group in groups for row in _rows(group, stream_of)])


def _rows(group: list[tuple[int, Slice]], stream_of: Callable[[str], str]) -> list[Row]:
    first = group[0][0] if len(group) > 1 else None
    return [(number, one.path, one.size, one.mtime, stream_of(one.path), True, first) for number, one in group]


def _by_stream(entries: list[tuple[int, Slice]]) -> list[tuple[int, Slice]]:
    """Return ranges with those of each stream together: few tasks then read on in a stream that another one has begun.

    The order of files is that of their numbers.
    """
    first: dict[str, int] = {}
    return sorted(entries, key=lambda entry: first.setdefault(entry[1].stream, entry[0]) if entry[1].stream else 0)


def _groups(entries: Iterable[tuple[int, Slice]], stream_of: Callable[[str], str]) -> Iterator[list[tuple[int, Slice]]]:
    """Yield slices in groups: small ones in a row that may be read as one; each other one alone.

    In a group those of a stream are in a row, too. The groups of a cycle depend on its slices alone, so that a cycle
    which is sent again has the same ones (I2).
    """
    group: list[tuple[int, Slice]] = []
    size, stream, ended = 0, "", set[str]()
    for number, entry in entries:
        before, stream = stream, stream_of(entry.path)
        size += entry.size
        if group and stream != before:
            ended.add(before)
        if group and (size > GROUP_BYTES or max(entry.size, group[-1][1].size) > SMALL_BYTES or stream in ended):
            yield group
            group, size, ended = [], entry.size, set()
        group.append((number, entry))
    if group:
        yield group
