"""Change files as they are opened: packed or not, of this machine or of a store; what is in them, and raw lines."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.fs

from integrator.engine.arrays import Ints
from integrator.errors import EnvironmentFault

BLOCK_BYTES = 16 * 1024 * 1024
MARK = codecs.BOM_UTF8
"""Some programs write it before all text; RFC 8259, section 8.1: it may be ignored."""
MOST_BYTES = (1 << 31) - 1
"""Of a line, or of a file that is read at once: Arrow's text has 32-bit offsets."""
_STARTS_IN = 64 * 1024
_FIRST_LINES = 100
_PACKED = (".gz", ".zst", ".bz2", ".lz4")
"""Names of files that Arrow unpacks. Of one without a byte it makes no bytes, and no error."""
_ANEW = "write it anew, whole, under another name first"
_NEWLINE = 0x0A


def open_file(path: str) -> pa.NativeFile:
    """Open a local path or a URI that Arrow knows (s3, gs, hdfs, file); .gz, .zst, .bz2 and .lz4 are unpacked."""
    try:
        filesystem, inside = (
            pyarrow.fs.FileSystem.from_uri(path) if "://" in path else (pyarrow.fs.LocalFileSystem(), path)
        )
        if inside.endswith(_PACKED) and filesystem.get_file_info(inside).size == 0:
            raise EnvironmentFault(f"{path}: 0 bytes, which no compressed file has (RFC 1952: its header); {_ANEW}")
        return filesystem.open_input_stream(inside, compression="detect")
    except (OSError, pa.ArrowInvalid) as error:
        raise EnvironmentFault(f"{path}: the change file cannot be read: {error}") from error


def cut_off(path: str, error: Exception) -> EnvironmentFault:
    """Return the error for a file of which only the beginning could be read."""
    return EnvironmentFault(f"{path}: the change file cannot be read on: {error}; {_ANEW}")


def too_long(path: str, number: int) -> EnvironmentFault:
    """Return the error for a line, or for a file that is read at once, that is too long to be read."""
    return EnvironmentFault(f"{path}:{number}: a line, or a file read at once, of over 2 GiB; divide the file")


def first_lines(path: str, least: int) -> bytes:
    """Return the first `least` bytes of a file, and what is after them to the end of the first line.

    Raises EnvironmentFault where that is too long.
    """
    with open_file(path) as stream:
        try:
            start = more = stream.read(least)
            pieces, size = [start], len(start)
            while more and b"\n" not in more:
                if size > MOST_BYTES:
                    raise too_long(path, 1)
                more = stream.read(least)
                pieces.append(more)
                size += len(more)
        except (OSError, pa.ArrowInvalid) as error:
            raise cut_off(path, error) from error
    return b"".join(pieces)


def container_of(file: str) -> str:
    """Return the file's container by its first bytes: json, csv, parquet, or empty."""
    with open_file(file) as stream:
        try:
            start = stream.read(_STARTS_IN).removeprefix(MARK).lstrip()
            while not start and (more := stream.read(_STARTS_IN)):
                start = more.lstrip()
            if start and len(start) < _STARTS_IN:
                start += stream.read(_STARTS_IN)
        except (OSError, pa.ArrowInvalid) as error:
            raise cut_off(file, error) from error
    if not start:
        return "empty"
    if start.startswith(b"PAR1"):
        return "parquet"
    return "json" if begins_with_record(start) or _has_record(start) else "csv"


def begins_with_record(text: bytes) -> bool:
    """Return whether the first line of a file is a record in JSON, or null: a tombstone, as Debezium writes it."""
    return re.match(rb"\{|null\s*(\n|$)", text) is not None


def _has_record(start: bytes) -> bool:
    """Return whether one of a file's first lines is a JSON object: then the first one is broken, and no header."""
    for line in start.split(b"\n")[:_FIRST_LINES]:
        if line.startswith(b"{"):
            try:
                return isinstance(json.loads(line), dict)
            except (ValueError, RecursionError):
                continue
    return False


def raw_lines(path: str, numbers: Ints) -> Iterator[bytes]:
    """Yield lines of a file as they came, without their ends: those of these numbers, which ascend."""
    number, rest, wanted = 1, bytearray(), iter(numbers.tolist())
    line = next(wanted, None)
    with open_file(path) as stream:
        while line is not None:
            block = stream.read(BLOCK_BYTES)
            rest += block
            if block and b"\n" not in block:  # of a long line: what was read is not inspected, nor copied, again
                continue
            data = bytes(rest)
            ends = np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE)
            if not block and rest:
                ends = np.append(ends, len(data))  # the last line may have no end
            while line is not None and line < number + len(ends):
                at = line - number
                begin = int(ends[at - 1]) + 1 if at else 0
                whole = data[begin : int(ends[at])]
                yield whole.removeprefix(MARK) if line == 1 else whole
                line = next(wanted, None)
            if not block:
                return
            number += len(ends)
            rest = bytearray(data[int(ends[-1]) + 1 :])
