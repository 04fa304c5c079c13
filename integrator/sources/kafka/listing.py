"""Which ranges of topics there are to read, up to each partition's last stable offset.

A stream begins with a range without offsets, which is in the journal like all others: `start` is asked once. Partitions
of its topic that come later begin at offset 0, and topics that come later at the first record that is there. Where no
topic exists yet, an empty range without a topic records that `start` was asked.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import Any

import structlog

from integrator.errors import IntegratorError
from integrator.librdkafka.cluster import Cluster, Partition, Topic, cluster_of
from integrator.librdkafka.consumer import AHEAD
from integrator.sources.kafka import faults
from integrator.sources.kafka.ranges import Stream, stream_of
from integrator.sources.kafka.sizes import Untaken, means
from integrator.sources.slices import ALL, NOTHING_TAKEN, Limit, Slice

SLICE_BYTES = 16 * 1024 * 1024
"""About how many bytes of values a slice has: a task reads whole slices."""
TOPICS_S = 5.0
"""How often topics and partitions are searched for."""


@dataclass(frozen=True)
class Start:
    """Where a channel without progress begins: a word of `start`, or a time in ms; and whose offsets `group` means."""

    word: str = "earliest"
    time_ms: int | None = None
    group: str = ""


@dataclass(frozen=True)
class TopicListing:
    """Finds ranges.

    delay_s: younger records are not there yet. accepts_loss: of records that were deleted.
    slice_bytes: about how many a slice has.
    """

    names: tuple[str, ...]
    patterns: tuple[str, ...]
    properties: Mapping[str, str] = field(repr=False)  # I7: may hold passwords
    start: Start = Start()
    delay_s: int = 0
    accepts_loss: bool = False
    slice_bytes: int = SLICE_BYTES

    def slices(self, ends: Mapping[str, int] = NOTHING_TAKEN, limit: Limit = ALL) -> list[Slice]:
        """Return ranges after `ends`. Raises SourceAway, or EnvironmentFault for what was lost or is not allowed.

        Partitions take turns, the one of which a range was taken longest ago first. What is not listed now is listed
        when that was taken.
        """
        with faults.explained(lambda: self.properties["bootstrap.servers"]):
            return list(self._slices(ends, limit))

    def until(self) -> Mapping[str, int]:
        """Return where partitions end now. Raises as `slices`."""
        with faults.explained(lambda: self.properties["bootstrap.servers"]):
            followed = self._followed({}, self.found())
            cluster = cluster_of(self.properties)
            high = self._high(cluster, cluster.stable([(one.topic, one.partition) for one in followed]))
            return {str(one): high[one.topic, one.partition] for one in followed}

    def modified(self) -> int | None:
        """Return that it is not known when records came."""
        return None

    def stream_of(self, path: str) -> str:
        """Return the partition that a range is of."""
        return path.rpartition("/")[0]

    def together(self, paths: Sequence[str]) -> int:
        """Return all of them."""
        return len(paths)

    @property
    def number_of(self) -> Callable[[str], int] | None:
        """Nothing: ranges are numbered as they arrive."""
        return None

    def found(self, names: tuple[str, ...] = ()) -> dict[str, Topic | None]:
        """Return the topics that are to be read, and those of `names`; None for one that is not there. ClusterFault."""
        kept, now = _KEPT.get(self._key), time.monotonic()
        if kept is None or now > kept[0] or not set(names) <= set(kept[1]):
            cluster = cluster_of(self.properties)
            matching = filter(self._matches, cluster.names() if self.patterns else ())
            wanted = dict.fromkeys([*self.names, *matching, *names])
            kept = _KEPT[self._key] = now + TOPICS_S, cluster.topics(wanted)
        return kept[1]

    def _matches(self, topic: str) -> bool:
        return topic != "" and not topic.startswith("__") and any(re.fullmatch(one, topic) for one in self.patterns)

    @property
    def _key(self) -> tuple[Any, ...]:
        return self.names, self.patterns, tuple(sorted(self.properties.items()))

    def _slices(self, ends: Mapping[str, int], limit: Limit) -> Iterator[Slice]:
        taken = {stream_of(text): end for text, end in ends.items()}
        known = {one: end for one, end in taken.items() if one.topic in self.names or self._matches(one.topic)}
        topics = self.found(tuple(sorted({one.topic for one in known})))
        missing = [one for one in self.names if topics[one] is None]
        if missing and not {one.topic for one in known}.issuperset(missing):
            raise faults.missing(missing, self.properties["bootstrap.servers"])
        followed = self._followed(known, topics)
        if limit.until is not None:
            followed = {one: end for one, end in followed.items() if str(one) in limit.until}
        partitions = [(one.topic, one.partition) for one in followed]
        cluster = cluster_of(self.properties)
        low, stable = cluster.first(partitions), cluster.stable(partitions)
        high = self._high(cluster, stable)
        if not taken and not followed and self.start != Start():
            yield Stream("", "", 0).slice(0, 0, 0)
        new = [(one.topic, one.partition) for one, end in followed.items() if end is None]
        begins = self._begins(cluster, new, low, high) if not taken else dict.fromkeys(new, 0)
        begins |= {one: low[one] for one in new if taken and one[0] not in {stream.topic for stream in taken}}
        left: list[Untaken] = []
        for stream, end in followed.items():
            place = stream.topic, stream.partition
            begin = begins[place] if end is None else end
            if begin < low[place]:
                if not self.accepts_loss:
                    raise faults.overtaken(stream.place, begin, low[place])
                structlog.get_logger().warning("records lost", partition=stream.place, begin=begin, end=low[place])
            elif stable[place] < begin:
                _KEPT.pop(self._key, None)
                self._followed(known, self.found(tuple({one.topic for one in known})))  # or it is another topic since
                raise faults.cut(stream.place, begin, begin, stable[place])
            position = max(begin, low[place])
            if end is None or position > begin:
                yield stream.slice(position, position, 0)
            stop = high[place] if limit.until is None else min(high[place], limit.until[str(stream)])
            if position < stop:
                left.append(Untaken(stream, position, stop))
        turns = {str(one): turn for turn, one in enumerate(ends)}
        left.sort(key=lambda one: turns.get(str(one.stream), -1))
        yield from self._cut(left, limit.most)

    def _followed(self, known: Mapping[Stream, int], topics: Mapping[str, Topic | None]) -> dict[Stream, int | None]:
        """Return the streams to be read, and where each ended; None for one that is new. Raises EnvironmentFault."""
        newest = {stream.topic: stream.id for stream in known}  # which was accepted in the place of others
        for stream in known:
            topic = topics[stream.topic]
            if stream.id != newest[stream.topic] or (topic is not None and topic.id == stream.id):
                continue
            if not self.accepts_loss:
                raise (
                    faults.gone(stream.topic) if topic is None else faults.made_anew(stream.topic, stream.id, topic.id)
                )
            if str(stream) not in _LOST:
                _LOST.add(str(stream))
                structlog.get_logger().warning("topic lost", partition=str(stream), begin=known[stream])
        return {
            (stream := Stream(name, topic.id, partition)): known.get(stream)
            for name, topic in sorted(topics.items())
            if topic is not None
            for partition in range(topic.partitions)
        }

    def _high(self, cluster: Cluster, stable: dict[Partition, int]) -> dict[Partition, int]:
        """Return where each partition ends without records that are too young; `stable`: its last stable offset."""
        if not self.delay_s:
            return stable
        late = cluster.at(list(stable), round((time.time() - self.delay_s) * 1000))
        return {one: min(end, late[one]) if late[one] >= 0 else end for one, end in stable.items()}

    def _begins(
        self,
        cluster: Cluster,
        new: list[Partition],
        low: Mapping[Partition, int],
        high: Mapping[Partition, int],
    ) -> dict[Partition, int]:
        """Return where partitions begin in a channel that has no progress."""
        if self.start.time_ms is not None:
            found = cluster.at(new, self.start.time_ms)
            return {one: found[one] if found[one] >= 0 else high[one] for one in new}
        if self.start.word == "latest":
            return {one: high[one] for one in new}
        if self.start.word == "group":
            found = cluster.committed(self.start.group, new)
            return {one: offset if (offset := found.get(one, -1)) >= 0 else low[one] for one in new}
        return {one: low[one] for one in new}

    def _cut(self, left: Sequence[Untaken], most: int) -> Iterator[Slice]:
        """Yield slices of about `slice_bytes`, in turns, until they have about `most` bytes (0: all of them)."""
        started: list[Iterator[Slice]] = []
        size = 0
        for some in (left[at : at + AHEAD] for at in range(0, len(left), AHEAD)):
            for one, mean in zip(some, means(self.properties, some), strict=True):
                slices = self._of_one(one, mean)
                first = next(slices)
                yield first
                started.append(slices)
                size += first.size
                if most and size >= most:
                    return
        for later in filter(None, chain.from_iterable(zip_longest(*started))):
            yield later
            size += later.size
            if most and size >= most:
                return

    def _of_one(self, left: Untaken, mean: float) -> Iterator[Slice]:
        step = max(1, round(self.slice_bytes / mean))
        for begin in range(left.begin, left.end, step):
            end = min(begin + step, left.end)
            yield left.stream.slice(begin, end, max(1, round((end - begin) * mean)))


_KEPT: dict[tuple[Any, ...], tuple[float, dict[str, Topic | None]]] = {}
"""Of each listing the topics that were found last, and until when that is good."""
_LOST: set[str] = set()
"""Streams of topics that are gone, and were logged."""


def check_reachable(listing: TopicListing) -> str:
    """Return why the topics cannot be read; nothing where they can."""
    try:
        listing.slices()
    except IntegratorError as error:
        return str(error)
    return ""
