"""Files of JSON lines, read in blocks of whole lines in UTF-8."""

from __future__ import annotations

import codecs
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.fs
import pyarrow.json

from integrator.arrow.arrays import Octets, Raw, Words, flat, words
from integrator.arrow.compiled import compiled
from integrator.contracts.rejected import Rejected
from integrator.errors import DataError, EnvironmentFault

BLOCK_BYTES = 16 * 1024 * 1024
FIRST_BYTES, _DOUBLED = 4 * 1024 * 1024, 10
"""Of a file's first block; the next ones are twice as large each. Most files of a daemon are smaller, and of a larger
one encoding begins the sooner."""
_SMALL_BYTES = 64 * 1024
"""What is read first: room for more is made only where there is more, for many files are small."""
_PIECE_BYTES = 512 * 1024
_LOOK = 64 * 1024
_FIRST_LINES = 100
_SHOWN = 200
_MARK = codecs.BOM_UTF8
"""Some programs write it before all text; RFC 8259, section 8.1: it may be ignored."""
_PACKED = (".gz", ".zst", ".bz2", ".lz4")
"""Names of files that Arrow unpacks. Of one without a byte it makes no bytes, and no error."""
_ANEW = "write it anew, whole, under another name first"
_UTF_8 = "write change files in UTF-8"
_GROUP = 16  # lines that are decoded together, where a line is looked for that is not UTF-8
_LONG_RUN = 8  # lines in a row, as mean, that are taken together faster than one by one
_SHORT = 4  # characters of a line too short to hold a record, its end included
_NEWLINE, _RETURN = 0x0A, 0x0D
_WORD = 8
_MOST_BYTES = (1 << 31) - 1
_ONES = np.uint64(0x0101010101010101)
_NEWLINES, _TOPS = _ONES * np.uint64(_NEWLINE), _ONES << np.uint64(7)
"""In each byte of a word: a newline, and the bit that no byte of ASCII has."""

Codes = npt.NDArray[np.int32]
AnyInts: TypeAlias = "npt.NDArray[np.int32] | npt.NDArray[np.int64]"


def open_file(path: str) -> pa.NativeFile:
    """Open a local path or a URI that Arrow knows (s3, gs, hdfs, file); .gz, .zst and .bz2 are unpacked."""
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


def container_of(file: str) -> str:
    """Return the file's container by its first bytes: json, csv, parquet, or empty."""
    with open_file(file) as stream:
        try:
            start = stream.read(_LOOK).removeprefix(_MARK).lstrip()
            while not start and (more := stream.read(_LOOK)):
                start = more.lstrip()
            if start and len(start) < _LOOK:
                start += stream.read(_LOOK)
        except (OSError, pa.ArrowInvalid) as error:
            raise cut_off(file, error) from error
    if not start:
        return "empty"
    if start.startswith(b"PAR1"):
        return "parquet"
    return "json" if re.match(rb"\{|null\s*(\n|$)", start) or _has_record(start) else "csv"


def _has_record(start: bytes) -> bool:
    """Return whether one of a file's first lines is a JSON object: then the first one is broken, and no header."""
    for line in start.split(b"\n")[:_FIRST_LINES]:
        if line.startswith(b"{"):
            try:
                return isinstance(json.loads(line), dict)
            except (ValueError, RecursionError):
                continue
    return False


def cut(line: str) -> str:
    """Return the beginning of a line, as messages show it."""
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "…"


class Shortening(Protocol):
    """What leaves out values that many lines have."""

    def what(self, codes: Codes) -> LeftOut:
        """Return what was left out of lines, given their codes."""
        ...

    @property
    def used(self) -> bool:
        """Whether anything was left out yet."""
        ...

    def begins(self, data: bytearray) -> bool:
        """Return whether the first of some lines may have such a value."""
        ...

    def left_out(self, data: bytearray, into: memoryview) -> tuple[int, Codes]:
        """Write whole lines without the values; return how many bytes, and of each line the code of its value, or -1.

        Bytes are appended to `data`, and as many may be written over after the lines.
        """
        ...


@dataclass(frozen=True)
class LeftOut:
    """What was left out of lines. codes: of each line the place of its value in `values`, or -1.

    at: the bytes of a line before the value. Instead of it one byte stands there.
    """

    values: list[bytes]
    codes: Codes
    at: int

    def take(self, at: npt.NDArray[np.int64]) -> LeftOut:
        """Return what was left out of the lines at some places."""
        return replace(self, codes=self.codes[at])


@dataclass(frozen=True)
class Lines:
    """Lines of a file: their bytes without blank lines, and the number of each line in the file.

    rejected: those among them that are not UTF-8, and left out. hidden: errors do not show lines. left_out: what the
    lines have in the file, and not here.
    """

    file: str
    data: Raw
    numbers: np.ndarray[tuple[int], np.dtype[np.int64]]
    offsets: np.ndarray[tuple[int], np.dtype[np.int32]]
    rejected: tuple[Rejected, ...] = ()
    hidden: bool = False
    left_out: LeftOut | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def array(self) -> pa.Array:
        """The lines as Arrow strings, sharing the bytes."""
        buffers = [None, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.string(), len(self), buffers)

    @cached_property
    def text(self) -> Octets:
        """The bytes, as numpy sees them."""
        text = np.frombuffer(self.data, np.uint8)
        text.flags.writeable = False  # whether they are a bytearray or not
        return text

    def take(self, indices: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Lines:
        """Return the lines at `indices`."""
        left_out = self.left_out and self.left_out.take(indices)
        breaks = np.flatnonzero(np.diff(indices) != 1) + 1
        if len(breaks) * _LONG_RUN >= len(indices):
            data, offsets = flat(self.array.take(pa.array(indices)))
            return self.like(data.tobytes(), self.numbers[indices], offsets.astype(np.int32), left_out)
        first, last = indices[np.append(0, breaks)], indices[np.append(breaks - 1, -1)]
        runs = zip(self.offsets[first].tolist(), self.offsets[last + 1].tolist(), strict=True)
        with memoryview(self.data) as view:
            joined = b"".join([view[start:end] for start, end in runs])
        ends = np.cumsum(np.diff(self.offsets)[indices], dtype=np.int32)
        return self.like(joined, self.numbers[indices], np.append(np.int32(0), ends), left_out)

    def like(
        self, data: Raw, numbers: npt.NDArray[np.int64], offsets: npt.NDArray[np.int32], left_out: LeftOut | None
    ) -> Lines:
        """Return other lines of the same file."""
        return Lines(self.file, data, numbers, offsets, hidden=self.hidden, left_out=left_out)

    def whole(self, at: int, end: int | None = None) -> str:
        """Return the line at a place as it is in the file, or its beginning up to a place in `data`."""
        line = bytes(memoryview(self.data)[self.offsets[at] : self.offsets[at + 1] if end is None else end])
        code = -1 if self.left_out is None else int(self.left_out.codes[at])
        if self.left_out is not None and code >= 0 and len(line) > self.left_out.at:
            begin = self.left_out.at
            line = line[:begin] + self.left_out.values[code] + line[begin + 1 :]
        return line.decode(errors="ignore")

    def shown(self, at: int) -> str:
        """Return what messages show of the line at a place: how it begins, if that may be shown."""
        if self.hidden:
            return "and the line is not shown: the channel masks columns"
        return f"the line is {cut(self.whole(at).rstrip())}"


@dataclass(frozen=True)
class LineReading:
    """How lines are read.

    block_bytes: how many bytes are yielded at once, about. tolerant: lines that are not UTF-8 are rejected. hidden:
    errors do not show lines. shortening: leaves out values that many lines have.
    """

    block_bytes: int = BLOCK_BYTES
    tolerant: bool = False
    hidden: bool = False
    shortening: Shortening | None = None


_AS_THEY_ARE = LineReading()


def read_lines(path: str, reading: LineReading = _AS_THEY_ARE) -> Iterator[Lines]:
    """Yield the lines of a file in blocks. Raises DataError for text that is not UTF-8, where that is not tolerated."""
    number, rest = 1, b""
    with open_file(path) as stream:
        for doubled in itertools.count():
            wanted = min(FIRST_BYTES << min(doubled, _DOUBLED), reading.block_bytes)
            before = len(rest)
            data, codes, rest = _next_block(path, stream, rest, wanted, reading.shortening)
            if not data and len(rest) == before:
                break
            if not doubled and data.startswith(_MARK):
                del data[: len(_MARK)]
            if data:
                lines, number = _lines(path, data, number, reading, codes)
                if len(lines) or lines.rejected:
                    yield lines
    if rest.strip():
        yield _lines(path, rest + b"\n", number, reading)[0]


def whole_lines(path: str, reading: LineReading = _AS_THEY_ARE) -> Iterator[Lines]:
    """Yield the lines of a file all at once, if it has any; the rest as in `read_lines`."""
    with open_file(path) as stream:
        try:
            data = bytearray(stream.read().removeprefix(_MARK))
        except (OSError, pa.ArrowInvalid) as error:
            raise cut_off(path, error) from error
    if data.strip():
        if not data.endswith(b"\n"):
            data += b"\n"
        yield _lines(path, data, 1, reading)[0]


def _next_block(
    path: str, stream: pa.NativeFile, rest: bytes, size: int, shortening: Shortening | None
) -> tuple[bytearray, Codes | None, bytes]:
    """Return about `size` bytes of whole lines, their codes, and the line that is begun after them.

    There are no bytes where nothing comes any more. Lines of which something is left out are read in pieces that stay
    in the cache.
    """
    block, filled, codes = bytearray(), 0, list[Codes]()
    while filled < size:
        is_shortened = bool(codes or (shortening is not None and shortening.used))
        data = _read_on(path, stream, rest, _PIECE_BYTES if is_shortened else size)
        if codes and len(data) == len(rest):
            break
        rest = _cut_off_rest(data, len(rest))
        if shortening is None or not (codes or shortening.begins(data)):
            return data, None, rest
        block.extend(bytes(max(0, filled + len(data) + 2 * _WORD - len(block))))
        with memoryview(block) as view:
            more, of_lines = shortening.left_out(data, view[filled:])
        filled += more
        codes.append(of_lines)
    del block[filled:]
    return block, np.concatenate(codes), rest


def _cut_off_rest(data: bytearray, known: int) -> bytes:
    """Cut off the line that is begun at the end of some bytes, and return it; the first `known` bytes have no end."""
    end = data.rfind(b"\n", known) + 1
    rest = bytes(data[end:])
    del data[end:]
    return rest


def _read_on(path: str, stream: pa.NativeFile, begun: bytes | bytearray, size: int) -> bytearray:
    """Return what is begun, and at most `size` bytes after it: read into their place, for a copy costs pages anew."""
    data, filled = bytearray(begun), len(begun)
    for room in (min(_SMALL_BYTES, size), size):
        larger = bytearray(len(begun) + room)
        larger[:filled] = data
        data = larger
        try:
            with memoryview(data) as view:
                filled += stream.readinto(view[filled:])
        except (OSError, pa.ArrowInvalid) as error:
            raise cut_off(path, error) from error
        if filled < len(data):
            break
    del data[filled:]
    return data


def _lines(path: str, data: Raw, number: int, reading: LineReading, codes: Codes | None = None) -> tuple[Lines, int]:
    """Return the lines in `data`, the first of which is line `number` of the file, and the number of the line after."""
    if len(data) > _MOST_BYTES:
        raise EnvironmentFault(f"{path}:{number}: a line, or a file read at once, of over 2 GiB; divide the file")
    offsets, is_ascii = _offsets(data)
    after = number + len(offsets) - 1
    numbers = np.arange(number, after)
    if (np.diff(offsets) <= _SHORT).any() or data[offsets[1] - 2] == _RETURN:
        kept = [(at, line.rstrip(b"\r")) for at, line in enumerate(bytes(data).split(b"\n")[:-1]) if line.strip()]
        data = b"".join(line + b"\n" for _, line in kept)
        places = np.array([at for at, _ in kept], np.int64)
        numbers, codes = numbers[places], None if codes is None else codes[places]
        offsets, is_ascii = _offsets(data)
    left_out = None if codes is None or reading.shortening is None else reading.shortening.what(codes)
    lines = Lines(path, data, numbers, offsets, hidden=reading.hidden, left_out=left_out)
    if is_ascii:
        return lines, after
    try:
        lines.array.validate(full=True)
    except pa.ArrowInvalid:
        rejected = tuple(_not_utf8(lines))
    else:
        return lines, after
    if not reading.tolerant:
        raise DataError(rejected[0].reason)
    left = lines.take(np.flatnonzero(~np.isin(numbers, [one.line for one in rejected])))
    return replace(left, rejected=rejected), after


def _not_utf8(lines: Lines) -> Iterator[Rejected]:
    """Yield the lines with bytes that are not UTF-8, looked for in groups of lines."""
    with memoryview(lines.data) as view:
        for begin in range(0, len(lines), _GROUP):
            places = lines.offsets[begin : begin + _GROUP + 1].tolist()
            if _undecodable(view[places[0] : places[-1]]) is None:
                continue
            for line, (start, end) in enumerate(itertools.pairwise(places), begin):
                at = _undecodable(view[start:end])
                if at is not None:
                    number, byte = int(lines.numbers[line]), bytes(view[start + at : start + at + 1])
                    text = f"{lines.file}:{number}: not UTF-8: byte {at + 1} of the line is {byte!r}; {_UTF_8}"
                    yield Rejected(number, "VALUE_CONVERTER", text)


def _undecodable(data: memoryview) -> int | None:
    """Return the place of the first byte that is not UTF-8; None if there is none."""
    try:
        str(data, "utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return None


def _offsets(data: Raw) -> tuple[npt.NDArray[np.int32], bool]:
    """Return where each line begins, and the end; and whether all bytes are ASCII."""
    text = np.frombuffer(data, np.uint8)
    offsets = np.empty(int(count_bytes(text, _NEWLINE)) + 1, np.int32)
    padded = text if len(text) >= _WORD else np.append(text, np.zeros(_WORD, np.uint8))
    return offsets, bool(_find_lines(text, words(padded), offsets))


@compiled
def count_bytes(text: Octets, wanted: int) -> int:
    """Return how often a byte is in a text."""
    count = 0
    for byte in text:
        count += byte == wanted
    return count


@compiled
def _find_lines(text: Octets, text_words: Words, offsets: npt.NDArray[np.int32]) -> bool:
    """Write down where each line begins, and the end; return whether all bytes are ASCII. Eight bytes at a time."""
    high = np.uint64(0)
    offsets[0] = 0
    line, at, size = 1, 0, len(text)
    while at < size:
        if at + _WORD <= size:
            word = text_words[at]
            high |= word
            other = word ^ _NEWLINES
            if not (other - _ONES) & ~other & _TOPS:
                at += _WORD
                continue
        for place in range(at, min(at + _WORD, size)):
            high |= np.uint64(text[place])
            if text[place] == _NEWLINE:
                offsets[line] = place + 1
                line += 1
        at += _WORD
    return not high & _TOPS


def pieces(data: Raw | Octets, starts: AnyInts, ends: AnyInts) -> pa.Array:
    """Return slices of `data` as Arrow strings, in any order: what is between them is never looked at."""
    bounds = np.empty(2 * len(starts) + 1, np.int32)
    bounds[:-1:2], bounds[1::2], bounds[-1] = starts, ends, len(data)
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(data)]
    every = pa.Array.from_buffers(pa.string(), 2 * len(starts), buffers)
    return every.take(pa.array(np.arange(0, 2 * len(starts), 2)))


def raw_lines(path: str, numbers: npt.NDArray[np.int64]) -> Iterator[bytes]:
    """Yield lines of a file as they came, without their ends: those of these numbers, which ascend."""
    number, rest, wanted = 1, b"", iter(numbers.tolist())
    line = next(wanted, None)
    with open_file(path) as stream:
        while line is not None:
            block = stream.read(BLOCK_BYTES)
            data = rest + block
            ends = np.flatnonzero(np.frombuffer(data, np.uint8) == _NEWLINE)
            if not block and rest:
                ends = np.append(ends, len(data))  # the last line may have no end
            while line is not None and line < number + len(ends):
                at = line - number
                begin = int(ends[at - 1]) + 1 if at else 0
                whole = data[begin : int(ends[at])]
                yield whole.removeprefix(_MARK) if line == 1 else whole
                line = next(wanted, None)
            if not block:
                return
            number += len(ends)
            rest = data[int(ends[-1]) + 1 :] if len(ends) else data
