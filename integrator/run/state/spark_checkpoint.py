"""Spark's checkpoint of a channel's stream, read: which cycle ends after which file of the journal.

metadata     the stream's id
offsets/N    cycle N was begun: two lines of JSON after "v1", the second is the offset of its end, {"slices": 7}
commits/N    Spark is done with cycle N
.NAME.crc    beside each: Hadoop's checksums of NAME, a CRC-32 for each 512 bytes

Spark does not sync these files to disk, so that a power cut can leave them empty; and what it says of a damaged one is
a stack trace. So they are read, as far as Spark reads them, before a stream starts.
"""

from __future__ import annotations

import json
import struct
import uuid
import zlib
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from integrator import durable
from integrator.durable import Damaged

_VERSION = b"v1"
_CRC_MAGIC = b"crc\x00"


class SparkCheckpoint:
    """The checkpoint in a directory."""

    def __init__(self, directory: Path) -> None:
        self.path = directory

    def begun(self) -> list[int]:
        """Return the cycles that were begun, as far as they are kept, in order."""
        return _numbers(self.path / "offsets")

    def committed(self) -> list[int]:
        """Return the cycles that Spark is done with, as far as they are kept, in order."""
        return _numbers(self.path / "commits")

    def check_metadata(self) -> None:
        """Raise Damaged if the stream's id cannot be read."""
        path = self.path / "metadata"
        try:
            valid = isinstance(json.loads(path.read_bytes())["id"], str)
        except (OSError, ValueError, LookupError, TypeError):
            valid = False
        if not valid:
            raise Damaged(f'{path}: is gone or damaged: it is not {{"id": …}}')

    def renew_metadata(self) -> None:
        """Give the stream a new id, which nothing here depends on."""
        durable.replace(self.path / "metadata", json.dumps({"id": str(uuid.uuid4())}).encode())
        durable.remove([self.path / ".metadata.crc"])

    def remove_unfinished(self) -> None:
        """Remove what an ended process left of files that it had not finished: temporaries, and sums without a file.

        Spark takes a sum alone for another stream that writes that file, and refuses to begin cycle 0 where `offsets`
        or `commits` has any file (STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY).
        """
        for part in ("offsets", "commits"):
            hidden = list((self.path / part).glob(".*"))
            durable.remove(path for path in hidden if path.suffix == ".tmp")
            durable.remove(
                path for path in hidden if path.suffix == ".crc" and not path.with_name(path.name[1:-4]).exists()
            )

    def check_commit(self, cycle: int) -> None:
        """Raise Damaged if the commit of `cycle` cannot be read."""
        path = self.path / "commits" / str(cycle)
        lines = _lines(path)
        if len(lines) != 1 or not isinstance(_json(path, lines[0]), dict):
            raise Damaged(f"{path}: has not one line of JSON after {_VERSION.decode()}")

    def last_slice(self, cycle: int) -> int:
        """Return the number of the last file of `cycle` or of those before it. Raises Damaged."""
        return self._offset(cycle)[0]

    def moment(self, cycle: int) -> datetime:
        """Return when `cycle` was begun, which is the same when it is repeated. Raises Damaged."""
        began = self._offset(cycle)[1].get("batchTimestampMs")
        if type(began) is not int:
            raise Damaged(f"{self.path / 'offsets' / str(cycle)}: does not say when the cycle was begun")
        return datetime.fromtimestamp(began / 1000, timezone.utc)

    def _offset(self, cycle: int) -> tuple[int, dict[str, Any]]:
        """Return the last file of a cycle, and what else Spark recorded of it."""
        path = self.path / "offsets" / str(cycle)
        lines = _lines(path)
        if len(lines) != 2:
            raise Damaged(f"{path}: has not two lines of JSON after {_VERSION.decode()}")
        known, offset = (_json(path, line) for line in lines)
        slices = offset.get("slices") if isinstance(offset, dict) else None
        if not isinstance(known, dict) or type(slices) is not int or slices < 0:
            raise Damaged(f'{path}: its offset is {lines[1][:80]!r}, and no {{"slices": number}}')
        return slices, known


def _numbers(directory: Path) -> list[int]:
    """Return the numbers that are names of files in a directory."""
    return sorted(int(path.name) for path in directory.glob("[0-9]*") if path.name.isdecimal())


def _lines(path: Path) -> list[bytes]:
    version, *lines = _read(path).split(b"\n")
    if version != _VERSION:
        raise Damaged(f"{path}: begins with {version[:20]!r}, and not with {_VERSION.decode()}")
    return lines


def _json(path: Path, text: bytes) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise Damaged(f"{path}: {text[:80]!r} is no JSON: {error}") from error


def _read(path: Path) -> bytes:
    """Return what is in a file, whose checksums are right where there are any. Raises Damaged."""
    sums = path.with_name(f".{path.name}.crc")
    try:
        data = path.read_bytes()
        known = sums.read_bytes() if sums.exists() else None
    except OSError as error:
        raise Damaged(f"{path}: cannot be read: {error.strerror}") from error
    if known is not None and not _is_sum(known, data):
        raise Damaged(f"{path}: does not have the checksums that are in {sums.name}")
    return data


def _is_sum(known: bytes, data: bytes) -> bool:
    """Return whether Hadoop's file of checksums `known` is that of `data`."""
    if len(known) < 8 or not known.startswith(_CRC_MAGIC):
        return False
    [size] = struct.unpack(">I", known[4:8])
    sums = b"".join(struct.pack(">I", zlib.crc32(data[at : at + size])) for at in range(0, len(data), max(size, 1)))
    return known[8:] == sums
