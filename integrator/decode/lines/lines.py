"""Lines of JSON: their bytes, their numbers in the file, and what was left out of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from integrator.arrow.arrays import Raw, flat
from integrator.contracts.rejected import Rejected
from integrator.contracts.streams import Source
from integrator.decode.refusal import Faults
from integrator.engine.arrays import Ints, Mask, Octets, Places

_SHOWN = 200
_LONG_RUN = 8  # lines in a row, as mean, that are taken together faster than one by one

AnyInts: TypeAlias = "Places | Ints"


def json_text(value: str) -> bytes:
    """Return the canonical JSON of a text, as that of names is in a document."""
    return json.dumps(value, ensure_ascii=False).encode()


def cut(line: str) -> str:
    """Return the beginning of a line, as messages show it."""
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "…"


@dataclass(frozen=True)
class LeftOut:
    """What was left out of lines. codes: of each line the place of its value in `values`, or -1.

    at: the bytes of a line before the value. Instead of it one byte stands there.
    """

    values: list[bytes]
    codes: Places
    at: int

    def take(self, at: Ints) -> LeftOut:
        """Return what was left out of the lines at some places."""
        return replace(self, codes=self.codes[at])


NO_TIME = -1
"""Of a record that has no timestamp; times before 1970 are none."""


@dataclass(frozen=True)
class Origin:
    """What a source knows of records beside their lines.

    codes: of each line its place in `tables`: the table that its topic has the records of. times: when each was
    written, in ms since 1970, or NO_TIME. record: what its topic has of each beside, where that is asked for.
    """

    tables: tuple[Source, ...]
    codes: Places
    times: Ints
    record: pa.Array | None = None

    def take(self, at: Ints) -> Origin:
        """Return the origin of the lines at some places."""
        record = None if self.record is None else self.record.take(pa.array(at))
        return Origin(self.tables, self.codes[at], self.times[at], record)


@dataclass(frozen=True)
class Lines:
    """Lines of a file: their bytes without blank lines, and the number of each line in the file.

    rejected: those among them that are not UTF-8, and left out. hidden: errors do not show lines. left_out: what the
    lines have in the file, and not here. faults: takes the faults of lines after which reading can continue; None where
    the first one is an error. origin: what the source knows of them; None of files.
    """

    file: str
    data: Raw
    numbers: Ints
    offsets: Places
    rejected: tuple[Rejected, ...] = ()
    hidden: bool = False
    left_out: LeftOut | None = None
    faults: Faults | None = None
    origin: Origin | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def array(self) -> pa.Array:
        """The lines as Arrow strings, sharing the bytes."""
        buffers = [None, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.string(), len(self), buffers)

    @cached_property
    def text(self) -> Octets:
        """The bytes, as numpy sees them."""
        text = np.frombuffer(self.data, np.uint8)
        text.flags.writeable = False  # whether they are a bytearray or not
        return text

    def take(self, indices: Ints) -> Lines:
        """Return the lines at `indices`."""
        left_out, origin = self.left_out and self.left_out.take(indices), self.origin and self.origin.take(indices)
        breaks = np.flatnonzero(np.diff(indices) != 1) + 1
        if len(breaks) * _LONG_RUN >= len(indices):
            data, offsets = flat(self.array.take(pa.array(indices)))
            return self.like(data.tobytes(), self.numbers[indices], offsets.astype(np.int32), left_out, origin)
        first, last = indices[np.append(0, breaks)], indices[np.append(breaks - 1, -1)]
        runs = zip(self.offsets[first].tolist(), self.offsets[last + 1].tolist(), strict=True)
        with memoryview(self.data) as view:
            joined = b"".join([view[start:end] for start, end in runs])
        ends = np.cumsum(np.diff(self.offsets)[indices], dtype=np.int32)
        return self.like(joined, self.numbers[indices], np.append(np.int32(0), ends), left_out, origin)

    def like(
        self, data: Raw, numbers: Ints, offsets: Places, left_out: LeftOut | None, origin: Origin | None = None
    ) -> Lines:
        """Return other lines of the same file."""
        hidden, faults = self.hidden, self.faults
        return Lines(self.file, data, numbers, offsets, (), hidden, left_out, faults, origin)

    def whole(self, at: int, end: int | None = None) -> str:
        """Return the line at a place as it is in the file, or its beginning up to a place in `data`."""
        line = bytes(memoryview(self.data)[self.offsets[at] : self.offsets[at + 1] if end is None else end])
        code = -1 if self.left_out is None else int(self.left_out.codes[at])
        if self.left_out is not None and code >= 0 and len(line) > self.left_out.at:
            begin = self.left_out.at
            line = line[:begin] + self.left_out.values[code] + line[begin + 1 :]
        return line.decode(errors="ignore")

    def shown(self, at: int) -> str:
        """Return what messages show of the line at a place: how it begins, if that may be shown."""
        if self.hidden:
            return "and the line is not shown: the channel masks columns"
        return f"the line is {cut(self.whole(at).rstrip())}"


def pieces(data: Raw | Octets, starts: AnyInts, ends: AnyInts) -> pa.Array:
    """Return slices of `data` as Arrow strings, in any order: what is between them is never inspected."""
    bounds = np.empty(2 * len(starts) + 1, np.int32)
    bounds[:-1:2], bounds[1::2], bounds[-1] = starts, ends, len(data)
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(data)]
    every = pa.Array.from_buffers(pa.string(), 2 * len(starts), buffers)
    return every.take(pa.array(np.arange(0, 2 * len(starts), 2)))


@dataclass(frozen=True)
class RecordKeys:
    """Which records without a value stand as a line with their key, `{"schema":…,MEMBER:…}`; others are `null`.

    deletes: which lines are deletes. A record without a value right after a delete of the same key repeats it. None
    where no line is a delete: each stands with its key.
    """

    member: str
    deletes: Callable[[Lines], Mask] | None = None
