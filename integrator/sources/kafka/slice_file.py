"""A range of a partition as dialects read it: each value is a line, whose number is its offset."""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.sequence import hexadecimal
from integrator.decode.contract import File, Reading
from integrator.decode.encodings.encoded import Shape
from integrator.decode.lines.files import MOST_BYTES
from integrator.decode.lines.lines import Lines, RecordKeys
from integrator.decode.lines.reading import LineReading
from integrator.decode.lines.repeated import RepeatedMember
from integrator.engine.arrays import Ints
from integrator.errors import EnvironmentFault, SourceAway
from integrator.librdkafka.blocks import Block, joined
from integrator.librdkafka.cluster import cluster_of
from integrator.librdkafka.consumer import Consumer
from integrator.librdkafka.fetching import Range, ReadFault
from integrator.prefetch import prefetch
from integrator.sources.kafka import faults
from integrator.sources.kafka.block_lines import TopicEncoding, Wanted, begin_of, block_lines
from integrator.sources.kafka.deleted_keys import line_with_key
from integrator.sources.kafka.listing import TOPICS_S
from integrator.sources.kafka.ranges import Stream

_FIRST = 100
"""Offsets that are inspected first for a record, to recognize its dialect."""
_IDS: dict[tuple[str, str], tuple[float, str | None]] = {}
"""Of topics: until when it is known, and the topic's id."""
_MISSING: dict[tuple[str, str], float] = {}
"""Since when topics are not there: a broker that has just started may not know one."""
_BEFORE = 8
"""Offsets in which the record before a range is searched for: marks of transactions have offsets, too."""


@dataclass(frozen=True)
class SliceFile(File):
    """A range of a partition. properties: librdkafka's. stream: the partition, with the topic's id.

    encoding: how its records are encoded. records: those of the range, where they were read already. accepts_loss:
    whether records may have been deleted since the range was taken. lost_from: how many of these there are, by the
    first of their offsets.
    """

    stream: Stream = field(default_factory=lambda: Stream("", "", 0))
    range: Range = field(default_factory=lambda: Range("", 0, 0, 0))
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)  # I7: may hold passwords
    encoding: TopicEncoding = field(default_factory=TopicEncoding, repr=False)
    records: tuple[Block, ...] | None = None
    accepts_loss: bool = False
    lost_from: dict[int, int] = field(default_factory=dict)

    @property
    def lost(self) -> int:
        """How many offsets had no records any more."""
        return sum(self.lost_from.values())

    @property
    def container(self) -> str:
        """Records are lines of JSON, whatever they are encoded in."""
        return "json"

    def start(self, least: int) -> bytes:
        """Return its first records as lines; nothing where it has none. Raises SchemasFound."""
        first = replace(self.range, end=min(self.range.end, self.range.begin + _FIRST))
        for wanted in (first, self.range):
            with faults.explained(self._brokers):
                for block in self._read(wanted):
                    found = begin_of(block, self.encoding, self.range.topic)
                    return found[: max(least, found.index(b"\n") + 1 if b"\n" in found else 0)]
        return b""

    def lines(
        self, reading: Reading, repeated: tuple[str, str] | None = None, keys: RecordKeys | None = None
    ) -> Iterator[Lines]:
        """Yield the records, in blocks, or all at once where that is asked for.

        Raises EnvironmentFault where records are not there, or the topic has become another one meanwhile.
        """
        shortening = None if repeated is None else RepeatedMember(*repeated)
        how = LineReading(reading.block_bytes, reading.tolerant, reading.masks, shortening)
        wanted = Wanted(Shape() if repeated is None else Shape(*repeated), keys, reading.records)
        blocks = self._blocks(self.range, headers=reading.records)
        if reading.whole_files and (every := list(blocks)):
            if sum(len(one.values) for one in every) > MOST_BYTES:
                raise EnvironmentFault(
                    f"{self.path}: the records from offset {self.range.begin} to {self.range.end - 1} have over 2 GiB, "
                    "and the dialect reads them at once; choose a dialect that does not"
                )
            blocks = iter([joined(every)])
        lines = self._lines(blocks, wanted, how)
        made_of_others = self.records is None and bool(self.encoding.values.schemas)
        yield from prefetch(lines) if made_of_others else lines  # lines that came as such cost less than a thread

    def _lines(self, blocks: Iterator[Block], wanted: Wanted, how: LineReading) -> Iterator[Lines]:
        place, keys = (self.path, self.range.topic, self.range.partition), wanted.keys
        before: Block | None = None
        for block in blocks:
            if before is None and keys is not None and keys.deletes is not None and block.nulls[0]:
                before = self._before()
            yield block_lines(block, place, replace(wanted, before=before), self.encoding, how)
            before = block.record(len(block) - 1)

    def raw_lines(self, numbers: Ints) -> Iterator[bytes]:
        """Yield values as they came: those at these offsets, which ascend; where there is none, the key."""
        for block in self._blocks(replace(self.range, begin=int(numbers[0]), end=int(numbers[-1]) + 1)):
            data, ends, nulls = block.values.tobytes(), block.ends.tolist(), block.nulls
            for at in np.flatnonzero(np.isin(block.offsets, numbers)).tolist():
                is_null = bool(nulls[at])
                yield line_with_key(block, at, self.encoding.keys) if is_null else data[ends[at] : ends[at + 1] - 1]

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

    def read(self, most: int, *, headers: bool) -> SliceFile | None:
        """Return the range with its records; None where they have more bytes than `most`. Raises EnvironmentFault.

        headers: whether they are read, too. Whether the topic is the same is for `check_same`.
        """
        found, size = list[Block](), 0
        with faults.explained(self._brokers):
            for block in self._read(self.range, headers=headers):
                size += len(block.values)
                if size > most:
                    return None
                found.append(block.copy())
        return replace(self, records=tuple(found))

    def _blocks(self, wanted: Range, *, headers: bool = False) -> Iterator[Block]:
        with faults.explained(self._brokers):
            yield from self._read(wanted, headers=headers)
        if self.records is None and wanted.begin < wanted.end and not self.is_lost:
            check_same(self.properties, [self.stream])

    def _read(self, wanted: Range, *, headers: bool = False) -> Iterator[Block]:
        """Yield the records of `wanted`; all that the range has, where they were read already. Raises ReadFault."""
        if self.records is not None:
            yield from self.records
            return
        while wanted.begin < wanted.end and not self.is_lost:
            try:
                with _consumer(self.properties) as consumer:
                    yield from consumer.read(wanted, headers=headers)
                break
            except ReadFault as fault:
                if fault.reason != "overtaken" or not self.accepts_loss:
                    raise
                wanted = replace(wanted, begin=min(fault.low, wanted.end))
                self.lost_from[fault.offset] = wanted.begin - fault.offset

    @cached_property
    def is_lost(self) -> bool:
        """Whether the topic is gone, or another one, and that is accepted: known for as long as a listing knows it."""
        if not self.accepts_loss:
            return False
        key, now = (self._brokers(), self.stream.topic), time.monotonic()
        if key not in _IDS or now > _IDS[key][0]:
            with faults.explained(self._brokers):
                topic = cluster_of(self.properties).topics([self.stream.topic])[self.stream.topic]
            if topic is not None:
                _MISSING.pop(key, None)
            elif now < _MISSING.setdefault(key, now) + TOPICS_S:
                raise SourceAway(f"{self.stream.topic}: a broker does not know the topic; it is asked for again")
            _IDS[key] = now + TOPICS_S, None if topic is None else topic.id
        is_lost = _IDS[key][1] != self.stream.id
        if is_lost:
            self.lost_from[self.range.begin] = self.range.end - self.range.begin
        return is_lost

    def _before(self) -> Block | None:
        """Return the record before the range, which only shows what its first record repeats; None where it is gone."""
        wanted = replace(self.range, begin=max(self.range.begin - _BEFORE, 0), end=self.range.begin)
        found = list[Block]()
        with faults.explained(self._brokers), _consumer(self.properties) as consumer:
            try:
                found += consumer.read(wanted)
            except ReadFault as fault:
                if fault.reason != "overtaken":
                    raise
                found += consumer.read(replace(wanted, begin=fault.low))
        return found[-1].record(len(found[-1]) - 1) if found else None

    def _brokers(self) -> str:
        return self.properties["bootstrap.servers"]


_CONSUMERS: dict[tuple[tuple[str, str], ...], tuple[Consumer, threading.Lock]] = {}


@contextlib.contextmanager
def _consumer(properties: Mapping[str, str]) -> Iterator[Consumer]:
    """Lend this worker's consumer, connected already where it was used before; another where it is lent to a thread."""
    key = tuple(sorted(properties.items()))
    if key not in _CONSUMERS:
        _CONSUMERS[key] = Consumer(properties), threading.Lock()
    consumer, lent = _CONSUMERS[key]
    if lent.acquire(blocking=False):
        try:
            yield consumer
        finally:
            lent.release()
    else:
        with contextlib.closing(Consumer(properties)) as other:
            yield other


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
    with faults.explained(lambda: properties["bootstrap.servers"]), _consumer(properties) as consumer:
        consumer.begin(ranges)
