"""Both sides of a table merged: the row that a key's messages leave, and whether the table has the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from integrator.compare.digests import BUCKETS, RECORD, Records, Runs
from integrator.compare.messages import SET
from integrator.engine.arrays import Mask


@dataclass(frozen=True)
class Merged:
    """Both sides of a file.

    rows: of the table. equal: how many keys have the same row at both. different: records of the table, of the topic.
    missing: of the table alone. gone: of the table, and the messages after which the topic has no row of them. extra:
    of the topic alone. ambiguous: of how many keys messages are in several partitions, without an order. moved: of how
    many they are in several partitions, ordered by their positions. shared: how many keys several rows of the table
    have. repeated: messages whose changes an earlier message of their keys has.
    """

    rows: int
    equal: int
    different: tuple[Records, Records]
    missing: Records
    gone: tuple[Records, Records]
    extra: Records
    ambiguous: int = 0
    moved: int = 0
    shared: int = 0
    repeated: Records = field(default_factory=lambda: np.zeros(0, RECORD))


@dataclass(frozen=True)
class Clear:
    """The message before which all rows are gone. change: of several partitions; else it is known by the offset."""

    part: int = -1
    at: int = -1
    inside: int = -1
    change: bytes = b""


def merged(table: Runs, topic: Runs, clear: Clear) -> Iterator[Merged]:
    """Yield both sides of each file, merged."""
    table.write()
    topic.write()
    for number in range(BUCKETS):
        messages = topic.bucket(number)
        found = folded(messages, clear)
        made = merge(table.bucket(number), found.last, found.several)
        yield replace(made, moved=found.moved, repeated=repeated(messages))


def merged_topics(old: Runs, new: Runs) -> Iterator[Merged]:
    """Yield both sides of each file, where both are topics."""
    old.write()
    new.write()
    for number in range(BUCKETS):
        own, its = folded(old.bucket(number), Clear()), folded(new.bucket(number), Clear())
        there, many = own.last[own.last["effect"] == SET], {one.tobytes() for one in own.several["key"]}
        is_one = np.array([one.tobytes() not in many for one in its.last["key"]], np.bool_) if many else slice(None)
        yield merge(there, its.last[is_one], np.concatenate([own.several, its.several]))


@dataclass(frozen=True)
class Folded:
    """A record of each key, sorted by key. last: what it is now. several: of keys in several partitions without order.

    moved: how many keys of `last` are in several partitions.
    """

    last: Records
    several: Records
    moved: int = 0


def folded(records: Records, clear: Clear) -> Folded:
    """Return the last record of each key: that of its partition, or, of several, the one with the highest position."""
    if clear.change:
        change = _changes(records)
        is_foreign = (change == b"") & (records["effect"] == SET)  # and may be after it: ours have a position
        records = records[(change > clear.change) | is_foreign]
    elif clear.at >= 0:
        after = (records["at"] > clear.at) | ((records["at"] == clear.at) & (records["inside"] > clear.inside))
        records = records[after]
    if not len(records):
        return Folded(records, records)
    new = _begins(records)
    begin, last = np.flatnonzero(new), np.append(new[1:], True)
    parts = np.add.reduceat(_moved(records, new), begin) > 0
    if not parts.any():
        return Folded(records[last], records[:0])
    change, key = _changes(records), np.cumsum(new) - 1
    ordered = parts & np.logical_and.reduceat(change != b"", begin)
    by_position = np.lexsort((np.arange(len(records)), np.where(ordered[key], change, b""), key))
    found = records[by_position[last]]  # keys have as many records as before, so they end where they did
    return Folded(found[~parts | ordered], found[parts & ~ordered], int(ordered.sum()))


def _changes(records: Records) -> Records:
    """Return the positions of sorted records; of one without (a tombstone) that of its key's last one before it."""
    change, at = records["change"], np.arange(len(records))
    same = np.concatenate([[False], ~_begins(records)[1:] & (records["part"][1:] == records["part"][:-1])])
    known = np.maximum.accumulate(np.where((change != b"") | ~same, at, 0))
    found: Records = change[known]
    return found


def repeated(records: Records) -> Records:
    """Return the messages of sorted records whose changes an earlier message of their keys has."""
    known = records[records["change"] != b""]
    key = known["key"]
    order = np.lexsort((np.arange(len(known)), known["change"], key[:, 1], key[:, 0]))
    known = known[order]
    again = (known["key"][1:] == known["key"][:-1]).all(axis=1) & (known["change"][1:] == known["change"][:-1])
    found: Records = known[1:][again]
    return found


def _begins(records: Records) -> Mask:
    """Return which records have another key than the one before."""
    key = records["key"]
    return np.concatenate([[True], (key[1:] != key[:-1]).any(axis=1)])


def _moved(records: Records, new: Mask) -> npt.NDArray[np.int64]:
    """Return which records are in another partition than the one before, which has the same key."""
    found = np.concatenate([[False], records["part"][1:] != records["part"][:-1]]) & ~new
    return found.astype(np.int64)


def merge(table: Records, topic: Records, several: Records) -> Merged:
    """Return both sides, each sorted by key, with one record a key, as one. several: of keys in several partitions."""
    together = np.concatenate([table, topic, several])
    side = np.repeat([0, 1, 2], [len(table), len(topic), len(several)])
    order = np.lexsort((side, together["key"][:, 1], together["key"][:, 0]))
    together, side = together[order], side[order]
    if not len(together):
        return Merged(0, 0, (table, topic), table, (table, topic), topic)
    at = np.flatnonzero(_begins(together))
    size = np.diff(at, append=len(together))
    is_set = together["effect"] == SET
    pairs = at[(size == 2) & (side[at] == 0) & (side[np.minimum(at + 1, len(side) - 1)] == 1)]
    there, gone = pairs[is_set[pairs + 1]], pairs[~is_set[pairs + 1]]
    same = (together["row"][there] == together["row"][there + 1]).all(axis=1)
    alone, different = at[size == 1], there[~same]
    return Merged(
        rows=len(table),
        equal=int(same.sum()),
        different=(together[different], together[different + 1]),
        missing=together[alone[side[alone] == 0]],
        gone=(together[gone], together[gone + 1]),
        extra=together[alone[(side[alone] == 1) & is_set[alone]]],
        ambiguous=len(several),
        shared=int((np.add.reduceat(side == 0, at, dtype=np.int64) > 1).sum()),
    )
