"""A table's topic: committed messages from one offset to another, as records of digests, or as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import xxhash

from integrator.compare.columns import Columns
from integrator.compare.digests import NO_ROW, Digester, Runs, change_of, packed
from integrator.compare.merging import Clear
from integrator.compare.messages import CLEARED, GONE, NOTHING, SET, Documents, Effects, Row, Texts
from integrator.compare.tables import Compared
from integrator.deliver.kafka.probe import compacted
from integrator.errors import DataError, EnvironmentFault
from integrator.librdkafka.blocks import Block
from integrator.librdkafka.cluster import ClusterFault, cluster_of
from integrator.librdkafka.consumer import Consumer
from integrator.librdkafka.fetching import Range, ReadFault
from integrator.names.numbers import counted

Offsets: TypeAlias = "dict[tuple[str, int], int]"
GREW = "the topic has other partitions than when it began to be read, and keys may be in others: compare again"
_AT_ONCE = 2_000
_PREFIX_BYTES = 5
"""Confluent's prefix of keys with a schema, whose id may be that of another version."""


@dataclass(frozen=True)
class Seen:
    """The effect of a message on a row.

    key: the digest of its key. where: partition, offset, and place in the message. change: see `digests.change_of`.
    """

    key: bytes
    effect: int
    row: Row
    where: tuple[int, int, int]
    change: bytes = b""


class NotComparable(Exception):
    """A table cannot be compared; the text is why."""


class Topics:
    """Reads topics with one consumer. Raises IntegratorError, where the brokers do not answer, or refuse."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Take librdkafka's properties."""
        self._properties = dict(properties)
        self._cluster = cluster_of(self._properties)
        self._consumer = Consumer(self._properties)

    def close(self) -> None:
        """End the consumer."""
        self._consumer.close()

    def compacted(self, topics: Sequence[str]) -> list[str]:
        """Return which topics are compacted."""
        return compacted(self._properties, topics)

    def partitions(self, topics: Sequence[str]) -> dict[str, int]:
        """Return how many partitions each topic has that is there."""
        found = self._asked(lambda: self._cluster.topics(topics))
        return {name: one.partitions for name, one in found.items() if one is not None}

    def first(self, topics: Mapping[str, int]) -> Offsets:
        """Return the first offset of each partition."""
        found: Offsets = self._asked(lambda: self._cluster.first(_all(topics)))
        return found

    def ends(self, topics: Mapping[str, int]) -> Offsets:
        """Return where each partition ends, up to which no transaction is open."""
        found: Offsets = self._asked(lambda: self._cluster.stable(_all(topics)))
        return found

    def blocks(self, ranges: Sequence[Range]) -> Iterator[tuple[Range, Block]]:
        """Yield the records of ranges."""
        try:
            self._consumer.begin(ranges)
            for one in ranges:
                for block in self._consumer.read(one):
                    yield one, block
        except ReadFault as fault:
            raise EnvironmentFault(
                f"{fault.of.topic}/{fault.of.partition}, offset {fault.offset}: cannot be read ({fault.reason}): "
                f"{fault.text}"
            ) from None

    def _asked(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except ClusterFault as fault:
            raise EnvironmentFault(f"{fault.of or 'the brokers'}: {fault.text}") from None


def _all(topics: Mapping[str, int]) -> list[tuple[str, int]]:
    return [(topic, one) for topic, many in topics.items() for one in range(many)]


def ranges_of(topic: str, begin: Offsets, end: Offsets) -> list[Range]:
    """Return the ranges of a topic's partitions between offsets."""
    parts = sorted(part for name, part in end if name == topic)
    return [Range(topic, part, begin.get((topic, part), 0), end[topic, part]) for part in parts]


class MessagesOf:
    """The effects of messages of a table."""

    def __init__(self, table: Compared, documents: Documents) -> None:
        """documents: what makes JSON of values."""
        self._table, self._documents = table, documents
        self._reader = Effects(table.envelope, table.op, table.codes, table.soft_delete, table.key).reader()
        self.digester = Digester(table.columns, table.key if table.identity == "row" else ())
        self.columns = Columns(table, documents, self._unprefixed)

    def effects(
        self, keys: Sequence[bytes | None], values: Sequence[bytes | None], at: tuple[int, Sequence[int]], place: str
    ) -> Iterator[Seen]:
        """Yield the effects of messages. at: their partition, and their offsets. place: for errors."""
        by_key, (part, offsets) = self._table.identity == "key", at
        reader, key_of = self._reader, self.digester.key
        for key, rows, offset in zip(keys, self._each(values, place), offsets, strict=True):
            if rows is None:
                if by_key and key is not None:
                    yield Seen(self._digest(key), GONE, {}, (part, offset, 0))
                continue
            for inside, row in enumerate(rows):
                change, where = self._change(row), (part, offset, inside)
                for effect, image in reader(row):
                    if effect == NOTHING:
                        continue
                    if effect == CLEARED:
                        yield Seen(b"", CLEARED, row, where, change)
                    elif not by_key:
                        try:
                            yield Seen(key_of(image), effect, image, where, change)
                        except KeyError:
                            raise NotComparable(
                                f"{place}: the message at offset {offset} lacks columns of the key"
                            ) from None
                    elif key is None:
                        raise NotComparable(f"{place}: the message at offset {offset} has no key")
                    else:
                        yield Seen(self._digest(key), effect, image, where, change)

    def _each(self, values: Sequence[bytes | None], place: str) -> Iterator[list[Any] | None]:
        """Yield the rows of each value: few of them are in memory at once."""
        for begin in range(0, len(values), _AT_ONCE):
            yield from self._documents.of(values[begin : begin + _AT_ONCE], place)

    def texts(self, values: Texts, place: str) -> Texts:
        """Return values as JSON. Raises NotComparable."""
        try:
            return self._documents.texts(values, place)
        except DataError as error:
            raise NotComparable(str(error)) from None

    def _digest(self, key: bytes) -> bytes:
        return key_digest(self._unprefixed(key))

    def _unprefixed(self, key: bytes) -> bytes:
        return key[_PREFIX_BYTES:] if self._table.framed_keys else key

    def _change(self, row: Row) -> bytes:
        """Return the position that a row of a message has, see `digests.change_of`; empty where it has none."""
        if self._table.envelope == "DEBEZIUM":  # ["{hvr_tx_seq}","{hvr_integ_seq}"]
            _, _, position = str((row.get("source") or {}).get("sequence") or "").rpartition(',"')
            return change_of(position.removesuffix('"]'))
        return change_of(str(row.get(self._table.position) or "")) if self._table.position else b""


def key_digest(key: bytes) -> bytes:
    """Return the digest of a message's key."""
    return xxhash.xxh3_128_digest(key)


def read_into(runs: Runs, topics: Topics, messages: MessagesOf, ranges: Sequence[Range]) -> Clear:
    """Write the effects of messages in ranges of a topic as records; return where all rows before are gone.

    Raises NotComparable, DataError, EnvironmentFault.
    """
    clear, several = Clear(), len(ranges) > 1
    digest, columns = messages.digester.row, messages.columns

    def cleared(one: Range, where: tuple[int, int, int], change: bytes) -> None:
        nonlocal clear
        if not several:
            clear = Clear(*where)
        elif not change:
            raise NotComparable(
                f"{one.topic}: has truncates, and {counted(len(ranges), 'partition')}: no column of "
                "messages has the position ({hvr_integ_seq}) that says which rows are before them"
            )
        elif change > clear.change:
            clear = Clear(*where, change)

    for one, block in topics.blocks(ranges):
        place, offsets = f"{one.topic}/{one.partition}", block.offsets
        found = None
        if columns.reads:
            found = columns.of(
                block.keys(), messages.texts(Texts(block.values.tobytes(), block.ends, block.nulls), place), place
            )
        if found is not None:
            for at, change in found.cleared:
                cleared(one, (one.partition, int(offsets[at]), 0), change)
            found.records["part"], found.records["at"] = one.partition, offsets[found.records["at"]]
            runs.extend(found.records)
            continue
        for seen in _seen(messages, one, block):
            if seen.effect == CLEARED:
                cleared(one, seen.where, seen.change)
                continue
            row = digest(seen.row) if seen.effect == SET else NO_ROW
            runs.add(packed(seen.key, row, seen.where, seen.effect, seen.change))
    return clear


def each(topics: Topics, messages: MessagesOf, ranges: Sequence[Range]) -> Iterator[tuple[Range, Seen]]:
    """Yield the effects of messages in ranges, in order within each partition. Raises DataError, EnvironmentFault."""
    for one, block in topics.blocks(ranges):
        for seen in _seen(messages, one, block):
            yield one, seen


def _seen(messages: MessagesOf, one: Range, block: Block) -> Iterator[Seen]:
    place = f"{one.topic}/{one.partition}"
    try:
        yield from messages.effects(block.keys(), values_of(block), (one.partition, block.offsets.tolist()), place)
    except DataError as error:
        raise NotComparable(str(error)) from None


def values_of(block: Block) -> list[bytes | None]:
    """Return the values of a block."""
    data, ends, nulls = block.values.tobytes(), block.ends.tolist(), block.nulls.tolist()
    return [None if null else data[ends[at] : ends[at + 1] - 1] for at, null in enumerate(nulls)]
