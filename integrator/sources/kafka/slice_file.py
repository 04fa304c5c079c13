"""A range of a partition as dialects read it: each value is a line, whose number is its offset."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.sequence import hexadecimal
from integrator.decode.contract import File, Reading
from integrator.decode.lines.files import MOST_BYTES
from integrator.decode.lines.lines import Lines
from integrator.decode.lines.reading import LineReading, lines_of
from integrator.decode.lines.repeated import RepeatedMember
from integrator.engine.arrays import Ints, Places
from integrator.engine.grammar import NEWLINE
from integrator.engine.lines import count_bytes
from integrator.errors import EnvironmentFault
from integrator.librdkafka.blocks import Block
from integrator.librdkafka.cluster import cluster_of
from integrator.librdkafka.consumer import Consumer
from integrator.librdkafka.fetching import Range
from integrator.sources.kafka import faults
from integrator.sources.kafka.ranges import Stream

_FIRST = 100
"""Offsets that are looked at first for a record, to recognize its dialect."""
_STRING = re.compile(rb'"(?:[^"\\\n]|\\[^\n])*"')
_NO_BLANK = b"\x0b"
"""In the place of a line's end in a text of JSON, where none may be: it may be nowhere either."""
_BLANK = ord(" ")
"""All that are blanks in JSON are at most this."""


@dataclass(frozen=True)
class SliceFile(File):
    """A range of a partition. properties: librdkafka's. stream: the partition, with the topic's id.

    records: those of the range, where they were read already.
    """

    stream: Stream = field(default_factory=lambda: Stream("", "", 0))
    range: Range = field(default_factory=lambda: Range("", 0, 0, 0))
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)  # I7: may hold passwords
    records: tuple[Block, ...] | None = None

    @property
    def container(self) -> str:
        """Records are JSON."""
        return "json"

    def start(self, least: int) -> bytes:
        """Return the values of its first records, a line each; nothing where it has none."""
        first = replace(self.range, end=min(self.range.end, self.range.begin + _FIRST))
        for wanted in (first, self.range):
            with faults.explained(self._brokers):
                for block in _consumer(self.properties).read(wanted) if self.records is None else self.records:
                    data, ends = _one_line_each(block)
                    return bytes(data[: max(least, int(ends[1]))])
        return b""

    def lines(self, reading: Reading, repeated: tuple[str, str] | None = None) -> Iterator[Lines]:
        """Yield the values, in blocks, or all at once where that is asked for.

        Raises EnvironmentFault where records are not there, or the topic has become another one meanwhile.
        """
        shortening = None if repeated is None else RepeatedMember(*repeated)
        how = LineReading(reading.block_bytes, reading.tolerant, reading.masks, shortening)
        blocks: Iterator[tuple[tuple[bytearray, Places], Ints]]
        blocks = ((_one_line_each(one), one.offsets) for one in self._blocks(_consumer(self.properties), self.range))
        if reading.whole_files and (every := list(blocks)):
            if sum(len(data) for (data, _), _ in every) > MOST_BYTES:
                raise EnvironmentFault(
                    f"{self.path}: the records from offset {self.range.begin} to {self.range.end - 1} have over 2 GiB, "
                    "and the dialect reads them at once; choose a dialect that does not"
                )
            data, ends = _joined([one for one, _ in every])
            blocks = iter([((data, ends), np.concatenate([offsets for _, offsets in every]))])
        for (data, ends), offsets in blocks:
            yield lines_of(self.path, data, offsets, ends, how)

    def raw_lines(self, numbers: Ints) -> Iterator[bytes]:
        """Yield values as they came: those at these offsets, which ascend.

        They are read by a consumer of their own: another thread may read the next slice now.
        """
        first, last = int(numbers[0]), int(numbers[-1])
        with contextlib.ExitStack() as held:
            consumer = _consumer(self.properties)
            if self.records is None:
                consumer = held.enter_context(contextlib.closing(Consumer(self.properties)))
            for block in self._blocks(consumer, replace(self.range, begin=first, end=last + 1)):
                data, ends = block.values.tobytes(), block.ends.tolist()
                for at in np.flatnonzero(np.isin(block.offsets, numbers)).tolist():
                    yield data[ends[at] : ends[at + 1] - 1]

    def places_of(self, line: Ints) -> pa.Array:
        """Return the offsets, as positions of records whose source gives none, as 20 hex digits."""
        return pc.binary_join_element_wise("0000", hexadecimal(line.astype(np.uint64), 16), "")

    def segments_of(self, line: Ints) -> pa.Array:
        """Return the topic and the partition: such positions of several partitions are not the same."""
        return pa.repeat(self.segment, len(line))

    @property
    def segment(self) -> str:
        """The topic and the partition, as 16 hex digits."""
        topic = hashlib.blake2b(self.range.topic.encode(), digest_size=4).hexdigest().upper()
        return f"{topic}{self.range.partition:08X}"

    @property
    def line_before(self) -> int:
        """The offset before the first one."""
        return self.range.begin - 1

    @property
    def size(self) -> int:
        """How many bytes the records have that were read."""
        return sum(len(one.values) for one in self.records or ())

    def read(self, most: int) -> SliceFile | None:
        """Return the range with its records; None where they have more bytes than `most`. Raises EnvironmentFault.

        Whether the topic is the same is for `check_same`.
        """
        found, size = list[Block](), 0
        with faults.explained(self._brokers):
            for block in _consumer(self.properties).read(self.range):
                size += len(block.values)
                if size > most:
                    return None
                found.append(block.copy())
        return replace(self, records=tuple(found))

    def _blocks(self, consumer: Consumer, wanted: Range) -> Iterator[Block]:
        if self.records is not None:
            yield from self.records
        elif wanted.begin < wanted.end:
            with faults.explained(self._brokers):
                yield from consumer.read(wanted)
            check_same(self.properties, [self.stream])

    def _brokers(self) -> str:
        return self.properties["bootstrap.servers"]


def _one_line_each(block: Block) -> tuple[bytearray, Places]:
    """Return the values, and where each ends; those that are written over several lines in one.

    A value of blanks is no record, and no blank line of a file either, which is passed over: it is made an error.
    """
    text, data = block.values, bytearray(block.values)
    may_be_blank = bool((text[block.ends[:-1]] <= _BLANK).any())
    if int(count_bytes(text, NEWLINE)) == len(block) and not may_be_blank:
        return data, block.ends
    ends = block.ends.tolist()
    values = [_in_one_line(bytes(data[begin : end - 1])) for begin, end in itertools.pairwise(ends)]
    lengths = np.array([0, *(len(one) + 1 for one in values)], np.int64)
    return bytearray(b"".join(one + b"\n" for one in values)), np.cumsum(lengths).astype(np.int32)


def _in_one_line(value: bytes) -> bytes:
    """Return a value with blanks for the ends of lines, which are blanks in JSON; in a string they stay an error."""
    if not value.strip():
        return _NO_BLANK
    if b"\n" not in value:
        return value
    if b'"' in _STRING.sub(b"", value):
        return value.replace(b"\n", _NO_BLANK)
    pieces = _STRING.split(value)
    strings = [*_STRING.findall(value), b""]
    return b"".join(piece.replace(b"\n", b" ") + string for piece, string in zip(pieces, strings, strict=True))


def _joined(parts: list[tuple[bytearray, Places]]) -> tuple[bytearray, Places]:
    ends = [np.zeros(1, np.int32)]
    for _, one in parts:
        ends.append((one[1:] + ends[-1][-1]).astype(np.int32))
    return bytearray(b"".join(data for data, _ in parts)), np.concatenate(ends)


_CONSUMERS: dict[tuple[tuple[str, str], ...], Consumer] = {}


def _consumer(properties: Mapping[str, str]) -> Consumer:
    """Return this worker's consumer, connected already where it was used before."""
    key = tuple(sorted(properties.items()))
    if key not in _CONSUMERS:
        _CONSUMERS[key] = Consumer(properties)
    return _CONSUMERS[key]


def check_same(properties: Mapping[str, str], streams: Sequence[Stream]) -> None:
    """Raise EnvironmentFault where a topic has become another one: its offsets are those of other records."""
    with faults.explained(lambda: properties["bootstrap.servers"]):
        topics = cluster_of(properties).topics(dict.fromkeys(one.topic for one in streams))
    for one in streams:
        topic = topics[one.topic]
        if topic is None:
            raise faults.gone(one.topic)
        if topic.id != one.id:
            raise faults.made_anew(one.topic, one.id, topic.id)


def begin(properties: Mapping[str, str], ranges: Sequence[Range]) -> None:
    """Have this worker's consumer fetch ranges that are read next. Raises IntegratorError."""
    with faults.explained(lambda: properties["bootstrap.servers"]):
        _consumer(properties).begin(ranges)
