"""Records of a partition as arrays, and room for them that grows."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from integrator.engine.arrays import Ints, Mask, Octets, Places
from integrator.engine.gather import NO_TIME, NULL_KEY, NULL_VALUE, TIME_OF_STORE, Room

_ROWS, _KEY_BYTES, _HEADERS, _HEADER_BYTES = 16384, 1 << 18, 16384, 1 << 18
_SPARE = 4
"""A quarter more room than a block has bytes, for the last messages of it."""


@dataclass(frozen=True)
class Block:
    """Consecutive records of a partition, as `engine.gather.Room` has them. A newline is after each value."""

    room: Room

    @staticmethod
    def of(records: Sequence[tuple[int, bytes | None, bytes | None]]) -> Block:
        """Return records as a block: the offset, value and key of each. They have no time, and no headers."""
        values, keys = [(one or b"") + b"\n" for _, one, _ in records], [one or b"" for _, _, one in records]
        made = _room(len(records), sum(map(len, values)), sum(map(len, keys)), 0, 0)
        made.values[:], made.keys[:] = (np.frombuffer(b"".join(one), np.uint8) for one in (values, keys))
        made.value_ends[1:], made.key_ends[1:] = (np.cumsum([*map(len, one)]) for one in (values, keys))
        made.numbers[:], made.times[:], made.field_ends[:] = [one for one, _, _ in records], 0, 0
        made.flags[:] = [NO_TIME | (value is None) * NULL_VALUE | (key is None) * NULL_KEY for _, value, key in records]
        return Block(made)

    def __len__(self) -> int:
        return len(self.room.numbers)

    @property
    def offsets(self) -> Ints:
        """The offset of each record."""
        return self.room.numbers

    @property
    def values(self) -> Octets:
        """The values, each with a newline."""
        return self.room.values

    @property
    def ends(self) -> Places:
        """Where each value ends, after the first 0."""
        return self.room.value_ends

    @property
    def nulls(self) -> Mask:
        """Which values are null."""
        return (self.room.flags & NULL_VALUE).astype(np.bool_)

    def copy(self) -> Block:
        """Return the same in memory of its own: a block keeps all the room that there was for it."""
        copied: list[Any] = [one.copy() for one in self.room]
        return Block(Room(*copied))

    def record(self, at: int) -> Block:
        """Return one record as a block of its own, without its headers."""
        room, one = self.room, slice(at, at + 1)
        value, key = (slice(*ends[at : at + 2].tolist()) for ends in (room.value_ends, room.key_ends))
        made = _room(1, value.stop - value.start, key.stop - key.start, 0, 0)
        made.values[:], made.keys[:] = room.values[value], room.keys[key]
        made.value_ends[1], made.key_ends[1], made.field_ends[:] = len(made.values), len(made.keys), 0
        made.numbers[:], made.times[:], made.flags[:] = room.numbers[one], room.times[one], room.flags[one]
        return Block(made)

    def keys(self) -> list[bytes | None]:
        """Return the keys."""
        data, ends = self.room.keys.tobytes(), self.room.key_ends.tolist()
        null = (self.room.flags & NULL_KEY) != 0
        return [None if null[at] else data[ends[at] : ends[at + 1]] for at in range(len(self))]

    def timestamps(self) -> list[tuple[int, int]]:
        """Return of each record its timestamp's kind as Kafka's clients number them (0: none), and it, in ms."""
        flags = self.room.flags
        kinds = np.where(flags & NO_TIME, 0, np.where(flags & TIME_OF_STORE, 2, 1))
        return list(zip(kinds.tolist(), self.room.times.tolist(), strict=True))

    def headers(self) -> list[list[tuple[str, bytes | None]]]:
        """Return the headers of each record: names, and values; where these were read."""
        room, found = self.room, list[list[tuple[str, bytes | None]]]()
        data, names, ends = room.fields.tobytes(), room.name_ends.tolist(), room.item_ends.tolist()
        bounds, null = room.field_ends.tolist(), room.null_items.tolist()
        for begin, end in itertools.pairwise(bounds):
            of_record = []
            for at in range(begin, end):
                start = ends[at - 1] if at else 0
                value = None if null[at] else data[names[at] : ends[at]]
                of_record.append((data[start : names[at]].decode(errors="replace"), value))
            found.append(of_record)
        return found


def joined(blocks: Sequence[Block]) -> Block:
    """Return blocks as one."""
    parts: list[npt.NDArray[Any]] = []
    ends = {"value_ends", "key_ends", "field_ends", "name_ends", "item_ends"}
    base = {"name_ends": "fields", "item_ends": "fields", "field_ends": "null_items"}
    for name in Room._fields:
        arrays = [getattr(one.room, name) for one in blocks]
        if name in ends:
            sizes = [
                len(getattr(one.room, base[name])) if name in base else int(getattr(one.room, name)[-1])
                for one in blocks
            ]
            shifts = np.cumsum([0, *sizes[:-1]])
            skipped = 1 if name in ("value_ends", "key_ends", "field_ends") else 0
            arrays = [
                (one[skipped if at else 0 :] + shift).astype(np.int32)
                for at, (one, shift) in enumerate(zip(arrays, shifts, strict=True))
            ]
        parts.append(np.concatenate(arrays))
    return Block(Room(*parts))


class Builder:
    """Room for a block. count: records, bytes of values, of keys, headers, and their bytes."""

    def __init__(self, most: int, *, headers: bool, like: Builder | None = None) -> None:
        """Make room for `most` bytes of values; for as many records as there was room for in `like`."""
        self.count = np.zeros(5, np.int64)
        values = most + most // _SPARE
        if like is None:
            sizes = _ROWS, values, _KEY_BYTES, _HEADERS * headers, _HEADER_BYTES * headers
        else:
            room = like.room
            sizes = (
                len(room.numbers),
                max(values, len(room.values)),
                len(room.keys),
                len(room.null_items),
                len(room.fields),
            )
        self.room: Room = _room(*sizes)

    def need(self, size: Ints, *, more_headers: bool = False) -> None:
        """Have room for so many more records, bytes of values and of keys; and for more headers where asked for."""
        room = self.room
        there = [len(room.numbers), len(room.values), len(room.keys)]
        wanted = (self.count[:3] + size).tolist()
        if more_headers or any(one > has for one, has in zip(wanted, there, strict=True)):
            grown = [max(2 * has, one) if one > has else has for one, has in zip(wanted, there, strict=True)]
            factor = 2 if more_headers else 1
            made = _room(grown[0], grown[1], grown[2], len(room.null_items) * factor, len(room.fields) * factor)
            olds: tuple[npt.NDArray[Any], ...] = room
            news: tuple[npt.NDArray[Any], ...] = made
            for old, new in zip(olds, news, strict=True):
                new[: old.size] = old
            self.room = made

    def block(self) -> Block:
        """Return the records so far."""
        rows, values, keys, headers, header_bytes = self.count.tolist()
        room = self.room
        return Block(
            Room(
                room.values[:values],
                room.value_ends[: rows + 1],
                room.keys[:keys],
                room.key_ends[: rows + 1],
                room.numbers[:rows],
                room.times[:rows],
                room.flags[:rows],
                room.field_ends[: rows + 1],
                room.fields[:header_bytes],
                room.name_ends[:headers],
                room.item_ends[:headers],
                room.null_items[:headers],
            )
        )


def _room(rows: int, values: int, keys: int, headers: int, header_bytes: int) -> Room:
    room = Room(
        np.empty(values, np.uint8),
        np.empty(rows + 1, np.int32),
        np.empty(keys, np.uint8),
        np.empty(rows + 1, np.int32),
        np.empty(rows, np.int64),
        np.empty(rows, np.int64),
        np.empty(rows, np.uint8),
        np.empty(rows + 1, np.int32),
        np.empty(header_bytes, np.uint8),
        np.empty(headers, np.int32),
        np.empty(headers, np.int32),
        np.empty(headers, np.bool_),
    )
    room.value_ends[0] = room.key_ends[0] = room.field_ends[0] = 0
    return room
