"""How many bytes an offset of a partition has, about: by some records, where there are more than a few."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from integrator.librdkafka.consumer import Consumer
from integrator.librdkafka.fetching import Range
from integrator.sources.kafka.ranges import Stream

FEW = 100
"""So few offsets are not inspected: brokers take records of a MiB at most by default, and a cycle may have as much."""
_ASSUMED_BYTES = 1_000
"""Of an offset, where there are so few."""
_KNOWN_FOR = 10_000
"""After so many offsets records may have become others."""
_OFFSETS, _BYTES = 1_000, 64 << 10
"""How much is inspected: until the one or the other has come."""
_SAMPLE_S = 10.0


class Untaken(NamedTuple):
    """What exists of a partition and was not taken: the offsets from `begin` to before `end`, at least one."""

    stream: Stream
    begin: int
    end: int


class _Seen(NamedTuple):
    begin: int
    mean: float


def means(properties: Mapping[str, str], left: Sequence[Untaken]) -> list[float]:
    """Return of each partition about how many bytes an offset has there. Raises ReadFault."""
    with _INSPECTING:
        _inspect(properties, [one for one in left if _is_unknown(one)])
    return [_MEANS[str(one.stream)].mean if str(one.stream) in _MEANS else _ASSUMED_BYTES for one in left]


def _inspect(properties: Mapping[str, str], unknown: Sequence[Untaken]) -> None:
    if unknown:
        key = tuple(sorted(properties.items()))
        if key not in _CONSUMERS:
            _CONSUMERS[key] = Consumer(properties, timeout_s=_SAMPLE_S, block_bytes=_BYTES, fetch_bytes=_BYTES)
        consumer = _CONSUMERS[key]
        wanted = [
            Range(one.stream.topic, one.stream.partition, one.begin, min(one.end, one.begin + _OFFSETS))
            for one in unknown
        ]
        consumer.begin(wanted)
        for one, of in zip(unknown, wanted, strict=True):
            _MEANS[str(one.stream)] = _Seen(one.begin, _mean(consumer, of))
        consumer.begin(())  # what is not needed is fetched no more


def _is_unknown(one: Untaken) -> bool:
    seen = _MEANS.get(str(one.stream))
    return one.end - one.begin > FEW and (seen is None or not seen.begin <= one.begin < seen.begin + _KNOWN_FOR)


def _mean(consumer: Consumer, wanted: Range) -> float:
    """Return the mean of the first block of a range, in which offsets that no record has count, too."""
    for block in consumer.read(wanted):
        end = int(block.offsets[-1]) + 1 if len(block.values) >= _BYTES else wanted.end
        return max(1.0, len(block.values) / (end - wanted.begin))
    return 1.0


_CONSUMERS: dict[tuple[tuple[str, str], ...], Consumer] = {}
_MEANS: dict[str, _Seen] = {}
"""Of streams that were inspected."""
_INSPECTING = threading.Lock()
"""A consumer is used by one thread at a time, and who asks for the lag has another than the channel."""
