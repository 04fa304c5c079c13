"""Small slices, joined: their lines are read as if they were those of one, so that all of them cost one batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from integrator.contracts.change_batch import RECORD
from integrator.contracts.streams import Source
from integrator.decode.lines.files import MARK, begins_with_record, cut_off, open_file
from integrator.decode.lines.lines import NO_TIME, LeftOut, Lines, Origin
from integrator.engine.arrays import Ints, Places
from integrator.errors import DataError, Fault, Place

MOST_BYTES = 16 * 1024 * 1024
"""Of slices that are joined; their sizes may have been those of packed files, or estimated."""


class Streams(NamedTuple):
    """Which streams consecutive records are of: where those of each begin, 0 at first, and its name."""

    begin: Ints
    names: tuple[str, ...]

    def among(self, at: Ints) -> Streams:
        """Return the same of the records at some places, which ascend."""
        begin = np.searchsorted(at, self.begin)
        used = np.append(begin[1:], len(at)) > begin
        return Streams(
            begin[used], tuple(name for name, is_used in zip(self.names, used.tolist(), strict=True) if is_used)
        )


ONE_STREAM = Streams(np.zeros(1, np.int64), ("",))
"""That of a slice that is read alone, which does not know its name."""


@dataclass(frozen=True)
class Joint:
    """Which slices joined lines are of.

    first_lines: the number of the first line of each. streams: of each the stream that it is a part of; those of a
    stream are in a row.
    """

    first_lines: Ints
    streams: tuple[str, ...]

    def check_one_stream(self, file: str) -> None:
        """Raise DataError where the slices are of several streams, for a record says something of those after it."""
        if len(set(self.streams)) > 1:
            raise DataError(Fault(Place(file), "cannot be read together with slices of other streams"))

    def slice_of(self, line: Ints) -> Ints:
        """Return of each line the place of its slice."""
        return np.searchsorted(self.first_lines, line, side="right") - 1

    def streams_of(self, line: Ints) -> Streams:
        """Return which streams lines are of, which ascend."""
        if not len(line):
            return Streams(np.zeros(1, np.int64), self.streams[:1])
        first = np.array([at for at, name in enumerate(self.streams) if not at or name != self.streams[at - 1]])
        of_line = np.searchsorted(self.first_lines[first], line, side="right") - 1
        begin = np.flatnonzero(np.diff(of_line, prepend=-1))
        return Streams(begin, tuple(self.streams[at] for at in first[of_line[begin]].tolist()))


@dataclass(frozen=True)
class JoinedLines:
    """The lines of several files, one after another.

    paths: the files that have lines, in order. numbers: those of their slices. data: their lines, where these are text.
    """

    paths: tuple[str, ...]
    numbers: Ints
    joint: Joint
    data: pa.Buffer | None = None


def together(file: str, parts: Sequence[Lines], numbers: Sequence[Ints]) -> Lines:
    """Return lines, one after another, as those of one file, with these numbers.

    Raises DataError for lines that are rejected, or left out among them: the error has to name their own file.
    """
    for part in parts:
        if part.rejected:
            raise DataError(part.rejected[0].fault)
    hidden, left_out, origin = parts[0].hidden, _left_out(parts), _origin(parts)
    sizes = [int(part.offsets[-1]) for part in parts]
    begins = np.cumsum([0, *sizes[:-1]])
    ends = [part.offsets[1:] + begin for part, begin in zip(parts, begins.tolist(), strict=True)]
    bounds = np.concatenate([np.zeros(1, np.int32), *ends]).astype(np.int32)
    data = b"".join(part.data for part in parts)
    return Lines(file, data, np.concatenate(numbers), bounds, (), hidden, left_out, None, origin)


def _left_out(parts: Sequence[Lines]) -> LeftOut | None:
    """Return what is left out of lines, each value once."""
    values, codes, at = dict[bytes, int](), list[Places](), 0
    for part in parts:
        places = [-1]
        if part.left_out is not None:
            places = [*(values.setdefault(value, len(values)) for value in part.left_out.values), -1]
            at = part.left_out.at
        of_part = np.full(len(part), -1) if part.left_out is None else part.left_out.codes
        codes.append(np.array(places, np.int32)[of_part])
    return LeftOut([*values], np.concatenate(codes), at) if values else None


def _origin(parts: Sequence[Lines]) -> Origin | None:
    """Return what the source knows of lines."""
    if all(part.origin is None for part in parts):
        return None
    tables, codes, times, records = dict[Source, int](), list[Places](), list[Ints](), list[pa.Array]()
    any_record = False
    for part in parts:
        size = len(part)
        of = part.origin or Origin((), np.full(size, -1, np.int32), np.full(size, NO_TIME))
        places = [*(tables.setdefault(table, len(tables)) for table in of.tables), -1]
        codes.append(np.array(places, np.int32)[of.codes])
        times.append(of.times)
        records.append(pa.nulls(size, RECORD) if of.record is None else of.record)
        any_record |= of.record is not None
    record = pa.concat_arrays(records) if any_record else None
    return Origin((*tables,), np.concatenate(codes), np.concatenate(times), record)


class Named(NamedTuple):
    """A file that is joined: its path, the number of its slice, and the stream that it is a part of."""

    path: str
    number: int
    stream: str


def join_lines(files: Sequence[Named]) -> JoinedLines | None:
    """Return the lines of files, of which some may have none.

    None where one begins with something else than a record, all are empty, or they are large when unpacked. Raises
    EnvironmentFault for a file that cannot be read.
    """
    found, texts, first_lines, line, size = list[Named](), list[bytes](), list[int](), 1, 0
    for file in files:
        with open_file(file.path) as stream:
            try:
                text = stream.read().removeprefix(MARK)
            except (OSError, pa.ArrowInvalid) as error:
                raise cut_off(file.path, error) from error
        size += len(text)
        if not text.strip():
            continue
        if not begins_with_record(text) or size > MOST_BYTES:
            return None
        if not text.endswith(b"\n"):
            text += b"\n"
        found.append(file)
        texts.append(text)
        first_lines.append(line)
        line += text.count(b"\n")
    if not found:
        return None
    paths, numbers, streams = zip(*found, strict=True)
    return JoinedLines(paths, np.array(numbers), Joint(np.array(first_lines), streams), pa.py_buffer(b"".join(texts)))
