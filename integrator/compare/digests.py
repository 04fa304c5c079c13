"""Rows as digests of their keys and values, in files by digests of keys.

A record is 74 bytes: the digest of the key, that of the compared values (both of 128 bits, XXH3), where the row is,
the effect of its message, and the change's position. The records of a key are in one of 256 files, in the order in
which they were written, so that the last one of a key is what it is now. One file of each side is in memory at a time.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from integrator.compare.messages import Row
from integrator.contracts.sequence import SEQUENCE_WIDTHS

RECORD = np.dtype(
    [
        ("key", "<u8", 2),
        ("row", "<u8", 2),
        ("part", "<i4"),
        ("at", "<i8"),
        ("inside", "<i4"),
        ("effect", "<i4"),
        ("change", "S22"),
    ]
)
"""part: of a message its partition, of a row of the table the number of its range. at: the message's offset, or where
the row's key is in the file of keys. inside: the row's number in its message. change: see `change_of`."""
Records = npt.NDArray[Any]
BUCKETS = 256
_SHIFT = np.uint64(56)
_WAITING = 1 << 17
"""Records that are written at once."""


class Digester:
    """Makes digests of rows: of the values of some columns."""

    def __init__(self, columns: Sequence[str], key: Sequence[str]) -> None:
        """columns: those that are compared. key: those that distinguish rows, where the message's key does not."""
        self._columns, self._key = tuple(columns), tuple(key)
        self._values, self._identity = _values_of(self._columns), _values_of(self._key)

    def key(self, row: Row) -> bytes:
        """Return the digest of a row's key. Raises KeyError where it lacks a column of it."""
        return xxhash.xxh3_128_digest(repr(self._identity(row)).encode())

    def row(self, row: Row) -> bytes:
        """Return the digest of a row's values; a column that is not there is null, as one that came later is."""
        try:
            values = self._values(row)
        except KeyError:
            values = self._values({name: row.get(name) for name in self._columns})
        return xxhash.xxh3_128_digest(repr(values).encode())


def _values_of(names: tuple[str, ...]) -> Any:
    return itemgetter(*names) if names else lambda _row: None


class Runs:
    """The records of one side of a table, in files."""

    def __init__(self, directory: Path) -> None:
        """Take a directory, which is made."""
        self._directory = directory
        directory.mkdir(parents=True)
        self._waiting: list[bytes] = []
        self.count = 0

    def add(self, record: bytes) -> None:
        """Add a record as bytes: see `packed`."""
        self._waiting.append(record)
        if len(self._waiting) >= _WAITING:
            self.write()

    def write(self) -> None:
        """Write what waits."""
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            self.extend(np.frombuffer(b"".join(waiting), RECORD))

    def extend(self, records: Records) -> None:
        """Write records, after those that wait."""
        self.write()
        self.count += len(records)
        buckets = (records["key"][:, 0] >> _SHIFT).astype(np.int64)
        order = np.argsort(buckets, kind="stable")
        records, bounds = records[order], np.searchsorted(buckets[order], np.arange(BUCKETS + 1))
        for bucket in np.flatnonzero(np.diff(bounds)).tolist():
            with (self._directory / f"{bucket:03d}").open("ab") as file:
                file.write(records[bounds[bucket] : bounds[bucket + 1]].tobytes())

    def bucket(self, number: int) -> Records:
        """Return the records of a file, sorted by key, those of a key in the order in which they were written."""
        path = self._directory / f"{number:03d}"
        records = np.frombuffer(path.read_bytes(), RECORD) if path.exists() else np.zeros(0, RECORD)
        return records[np.lexsort((np.arange(len(records)), records["key"][:, 1], records["key"][:, 0]))]


_PACKED = struct.Struct("<16s16siqii22s")
NO_ROW = bytes(16)


def packed(key: bytes, row: bytes, where: tuple[int, int, int], effect: int, change: bytes = b"") -> bytes:
    """Return a record. where: part, at, inside. change: see `change_of`."""
    return _PACKED.pack(key, row, *where, effect, change)


def change_of(position: str) -> bytes:
    """Return 22 bytes in the order of positions ({hvr_integ_seq}: 43 hexadecimal digits); none of other texts."""
    digits = position.replace("|", "")
    try:
        return bytes.fromhex(f"{digits}0") if len(digits) == sum(SEQUENCE_WIDTHS) else b""
    except ValueError:
        return b""


def digest_of(record: Records) -> bytes:
    """Return the digest of the key of one record."""
    found: bytes = record["key"].tobytes()
    return found
