"""Ranges as tasks read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from integrator.decode.contract import File
from integrator.sources.kafka.block_lines import TopicEncoding
from integrator.sources.kafka.joined_slices import JoinedSlices, read_together
from integrator.sources.kafka.ranges import of_path
from integrator.sources.kafka.slice_file import SliceFile, begin
from integrator.sources.slices import TaskSlice


@dataclass(frozen=True)
class TopicReader:
    """Reads ranges. properties: librdkafka's. encoding: how records are encoded. accepts_loss: as of `SliceFile`."""

    properties: Mapping[str, str] = field(repr=False)  # I7: may hold passwords
    encoding: TopicEncoding = field(default_factory=TopicEncoding, repr=False)
    accepts_loss: bool = False

    def begin(self, slices: Sequence[TaskSlice]) -> None:
        """Start to fetch ranges. Raises EnvironmentFault."""
        ranges = [of_path(one.path)[1] for one in slices]
        begin(self.properties, [one for one in ranges if one.begin < one.end])

    def file(self, one: TaskSlice) -> File:
        """Return the range."""
        return self._file(one)

    def _file(self, one: TaskSlice) -> SliceFile:
        stream, found = of_path(one.path)
        return SliceFile(
            stream.place,
            one.ordinal,
            stream=stream,
            range=found,
            properties=self.properties,
            encoding=self.encoding,
            accepts_loss=self.accepts_loss,
        )

    def join(self, slices: Sequence[TaskSlice], *, records: bool) -> File | None:
        """Return small ranges as one, read; None where they are large after all. Raises EnvironmentFault."""
        joined = read_together([self._file(one) for one in slices], headers=records)
        if joined is None:
            self.begin(slices)  # those that were read are read again
        return joined

    def divide(self, slices: Sequence[TaskSlice], joined: File) -> list[tuple[Sequence[TaskSlice], File]]:
        """Return the two halves of ranges, which need not be read again."""
        if not isinstance(joined, JoinedSlices):
            raise TypeError(joined)
        half = len(slices) // 2
        return [*zip((slices[:half], slices[half:]), joined.halves(), strict=True)]

    def check_unchanged(self, one: TaskSlice) -> None:
        """Do nothing: records of a topic never change, and whether it is the same topic is asked when they are read."""
