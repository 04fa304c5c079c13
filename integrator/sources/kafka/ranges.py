"""The paths of ranges: TOPIC#ID/PARTITION/BEGIN-END. What is before the offsets is the stream.

The topic's id is part of it: one that is deleted and made anew has other records at the same offsets.
"""

from __future__ import annotations

from dataclasses import dataclass

from integrator.librdkafka.fetching import Range
from integrator.sources.slices import Slice


@dataclass(frozen=True, order=True)
class Stream:
    """A partition of a topic with an id."""

    topic: str
    id: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}#{self.id}/{self.partition}"

    @property
    def place(self) -> str:
        """What people call it."""
        return f"{self.topic}/{self.partition}"

    def slice(self, begin: int, end: int, size: int) -> Slice:
        """Return a range of the partition as a slice of about so many bytes."""
        return Slice(f"{self}/{begin}-{end}", size, 0, str(self), begin, end)


def stream_of(text: str) -> Stream:
    """Return the stream that `str` wrote."""
    topic, _, rest = text.partition("#")
    of, _, partition = rest.rpartition("/")
    return Stream(topic, of, int(partition))


def of_path(path: str) -> tuple[Stream, Range]:
    """Return the stream and the range of a slice's path."""
    text, _, offsets = path.rpartition("/")
    stream, (begin, end) = stream_of(text), map(int, offsets.split("-"))
    return stream, Range(stream.topic, stream.partition, begin, end)
