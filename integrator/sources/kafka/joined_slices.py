"""Small ranges of one or several partitions that are read as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.sequence import hexadecimal
from integrator.decode.contract import File, Reading
from integrator.decode.lines.joined import MOST_BYTES, Joint, together
from integrator.decode.lines.lines import Lines, RecordKeys
from integrator.engine.arrays import Ints
from integrator.errors import DataError, Fault, Place
from integrator.sources.kafka.slice_file import SliceFile, check_same


@dataclass(frozen=True)
class JoinedSlices(File):
    """Ranges with their records, which were read. Lines are numbered over all offsets of them, from 1 on."""

    slices: tuple[SliceFile, ...] = ()

    @staticmethod
    def of(slices: Sequence[SliceFile]) -> JoinedSlices:
        """Return ranges as one."""
        return JoinedSlices(slices[0].path, slices[0].number, slices=tuple(slices))

    @property
    def container(self) -> str:
        """That of all of them."""
        return self.slices[0].container

    @property
    def lost(self) -> int:
        """How many offsets of all of them had no records any more."""
        return sum(one.lost for one in self.slices)

    @property
    def parts(self) -> tuple[File, ...]:
        """The ranges."""
        return self.slices

    @cached_property
    def joint(self) -> Joint:
        """Which ranges the lines are of."""
        lengths = np.array([one.range.end - one.range.begin for one in self.slices])
        return Joint(np.cumsum(lengths) - lengths + 1, tuple(str(one.stream) for one in self.slices))

    def lines(
        self, reading: Reading, repeated: tuple[str, str] | None = None, keys: RecordKeys | None = None
    ) -> Iterator[Lines]:
        """Yield the values all at once.

        Raises DataError where one is not UTF-8, for the error has to name its range, and where each range is to be read
        at once.
        """
        if reading.whole_files:
            raise DataError(Fault(Place(self.path), "cannot be read together with the ranges after it"))
        found = [
            (lines, lines.numbers - one.range.begin + first)
            for one, first in zip(self.slices, self.joint.first_lines.tolist(), strict=True)
            for lines in one.lines(reading, repeated, keys)
        ]
        if found:
            yield together(self.path, *zip(*found, strict=True))

    def places_of(self, line: Ints) -> pa.Array:
        """Return the offsets, as `SliceFile` does."""
        at = self.joint.slice_of(line)
        begins = np.array([one.range.begin for one in self.slices])
        offsets = line - self.joint.first_lines[at] + begins[at]
        return pc.binary_join_element_wise("0000", hexadecimal(offsets.astype(np.uint64), 16), "")

    def segments_of(self, line: Ints) -> pa.Array:
        """Return the topics and the partitions, as `SliceFile` does."""
        return pa.array([one.segment for one in self.slices]).take(pa.array(self.joint.slice_of(line)))

    def halves(self) -> list[File]:
        """Return the ranges as two files."""
        half = len(self.slices) // 2
        parts = (self.slices[:half], self.slices[half:])
        return [part[0] if len(part) == 1 else JoinedSlices.of(part) for part in parts]


def read_together(slices: Sequence[SliceFile], *, headers: bool) -> JoinedSlices | None:
    """Return ranges as one, with their records; None where they are large. Raises EnvironmentFault.

    headers: whether they are read, too.
    """
    found, room = list[SliceFile](), MOST_BYTES
    for one in slices:
        read = one.read(room, headers=headers)
        if read is None:
            return None
        found.append(read)
        room -= read.size
    left = [one.stream for one in found if one.range.begin < one.range.end and not one.is_lost]
    check_same(found[0].properties, left)
    return JoinedSlices.of(found)
