"""Lines read from files, in blocks of whole lines in UTF-8."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa

from integrator.arrow.arrays import Raw
from integrator.contracts.rejected import Rejected
from integrator.decode.lines.files import BLOCK_BYTES, MARK, MOST_BYTES, cut_off, open_file, too_long
from integrator.decode.lines.lines import LeftOut, Lines
from integrator.engine.arrays import Ints, Places, words
from integrator.engine.grammar import NEWLINE
from integrator.engine.lines import count_bytes, find_lines
from integrator.engine.words import WORD
from integrator.errors import DataError, Fault, Place

FIRST_BYTES, _DOUBLED = 4 * 1024 * 1024, 10
"""Of a file's first block; the next ones are twice as large each. Most files of a daemon are smaller, and of a larger
one encoding begins the sooner."""
_SMALL_BYTES = 64 * 1024
"""What is read first: room for more is made only where there is more, for many files are small."""
_PIECE_BYTES = 512 * 1024
_GROUP = 16  # lines that are decoded together, where a line is searched for that is not UTF-8
_SHORT = 4  # characters of a line too short to hold a record, its end included
_RETURN = 0x0D


class Shortening(Protocol):
    """What leaves out values that many lines have."""

    def what(self, codes: Places) -> LeftOut:
        """Return what was left out of lines, given their codes."""
        ...

    @property
    def used(self) -> bool:
        """Whether anything was left out yet."""
        ...

    def begins(self, data: bytearray) -> bool:
        """Return whether the first of some lines may have such a value."""
        ...

    def left_out(self, data: bytearray, into: memoryview) -> tuple[int, Places]:
        """Write whole lines without the values; return how many bytes, and of each line the code of its value, or -1.

        Bytes are appended to `data`, and as many may be written over after the lines.
        """
        ...


@dataclass(frozen=True)
class LineReading:
    """How lines are read.

    block_bytes: how many bytes are yielded at once, about. tolerant: lines that are not UTF-8 are rejected. hidden:
    errors do not show lines. shortening: leaves out values that many lines have. remedy: what helps where text is not
    UTF-8.
    """

    block_bytes: int = BLOCK_BYTES
    tolerant: bool = False
    hidden: bool = False
    shortening: Shortening | None = None
    remedy: str = "write change files in UTF-8"


_AS_THEY_ARE = LineReading()


def read_lines(path: str, reading: LineReading = _AS_THEY_ARE, data: pa.Buffer | None = None) -> Iterator[Lines]:
    """Yield the lines of a file in blocks, or those in `data` as if they were its.

    Raises DataError for text that is not UTF-8, where that is not tolerated.
    """
    number, rest = 1, bytearray()
    with open_file(path) if data is None else pa.BufferReader(data) as stream:
        for doubled in itertools.count():
            wanted = min(FIRST_BYTES << min(doubled, _DOUBLED), reading.block_bytes)
            before = len(rest)
            data, codes, rest = _next_block(path, stream, rest, wanted, reading.shortening)
            if not data and len(rest) == before:
                break
            if not doubled and data.startswith(MARK):
                del data[: len(MARK)]
            if data:
                lines, number = _lines(path, data, number, reading, codes)
                if len(lines) or lines.rejected:
                    yield lines
            if len(rest) > MOST_BYTES:
                raise too_long(path, number)
    if rest.strip():
        yield _lines(path, rest + b"\n", number, reading)[0]


def whole_lines(path: str, reading: LineReading = _AS_THEY_ARE) -> Iterator[Lines]:
    """Yield the lines of a file all at once, if it has any; the rest as in `read_lines`."""
    with open_file(path) as stream:
        try:
            data = bytearray(stream.read().removeprefix(MARK))
        except (OSError, pa.ArrowInvalid) as error:
            raise cut_off(path, error) from error
    if data.strip():
        if not data.endswith(b"\n"):
            data += b"\n"
        yield _lines(path, data, 1, reading)[0]


def lines_of(path: str, data: bytearray, numbers: Ints, offsets: Places, reading: LineReading) -> Lines:
    """Return lines with these numbers, of which none is left out for being blank. A newline is after each.

    offsets: where each begins, and the end. Raises DataError for text that is not UTF-8, where that is not tolerated.
    """
    shortening, left_out = reading.shortening, None
    if shortening is not None and (shortening.used or shortening.begins(data)):
        block = bytearray(len(data) + 2 * WORD)
        with memoryview(block) as view:
            size, codes = shortening.left_out(data, view)
        del block[size:]
        data, left_out = block, shortening.what(codes)
        offsets, _ = _offsets(data, len(numbers))
    lines = Lines(path, data, numbers, offsets, hidden=reading.hidden, left_out=left_out)
    return in_utf_8(lines, reading, is_ascii=data.isascii())


def _next_block(
    path: str, stream: pa.NativeFile, rest: bytearray, size: int, shortening: Shortening | None
) -> tuple[bytearray, Places | None, bytearray]:
    """Return about `size` bytes of whole lines, their codes, and the line that is begun after them.

    There are no bytes where nothing comes any more, or a line has no end yet. Lines of which something is left out are
    read in pieces that stay in the cache. Of a long line as much is read again as is there: it is copied so few times
    that all copies together have twice its bytes.
    """
    block, filled, codes = bytearray(), 0, list[Places]()
    while filled < size:
        is_shortened = bool(codes or (shortening is not None and shortening.used))
        data = _read_on(path, stream, rest, max(len(rest), _PIECE_BYTES if is_shortened else size))
        if codes and len(data) == len(rest):
            break
        data, rest = _divided(data, len(rest))
        if shortening is None or not (codes or shortening.begins(data)):
            return data, None, rest
        block.extend(bytes(max(0, filled + len(data) + 2 * WORD - len(block))))
        with memoryview(block) as view:
            more, of_lines = shortening.left_out(data, view[filled:])
        filled += more
        codes.append(of_lines)
    del block[filled:]
    return block, np.concatenate(codes), rest


def _divided(data: bytearray, known: int) -> tuple[bytearray, bytearray]:
    """Return whole lines, and the line that is begun after them; the first `known` bytes of these have no end."""
    end = data.rfind(b"\n", known) + 1
    if not end:
        return bytearray(), data
    rest = data[end:]
    del data[end:]
    return data, rest


def _read_on(path: str, stream: pa.NativeFile, begun: bytearray, size: int) -> bytearray:
    """Return what is begun, and at most `size` bytes after it: read into their place, for a copy costs pages anew."""
    data, filled = begun, len(begun)
    for room in (size,) if filled > _SMALL_BYTES else (min(_SMALL_BYTES, size), size):
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


def _lines(path: str, data: Raw, number: int, reading: LineReading, codes: Places | None = None) -> tuple[Lines, int]:
    """Return the lines in `data`, the first of which is line `number` of the file, and the number of the line after."""
    if len(data) > MOST_BYTES:
        raise too_long(path, number)
    offsets, is_ascii = _offsets(data, None if codes is None else len(codes))
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
    return in_utf_8(lines, reading, is_ascii=is_ascii), after


def in_utf_8(lines: Lines, reading: LineReading, *, is_ascii: bool) -> Lines:
    """Return the lines that are UTF-8. Raises DataError for another one, where that is not tolerated."""
    if is_ascii:
        return lines
    try:
        lines.array.validate(full=True)
    except pa.ArrowInvalid:
        rejected = tuple(_not_utf8(lines, reading.remedy))
    else:
        return lines
    if not reading.tolerant:
        raise DataError(rejected[0].fault)
    left = lines.take(np.flatnonzero(~np.isin(lines.numbers, [one.line for one in rejected])))
    return replace(left, rejected=rejected)


def _not_utf8(lines: Lines, remedy: str) -> Iterator[Rejected]:
    """Yield the lines with bytes that are not UTF-8, searched for in groups of lines."""
    with memoryview(lines.data) as view:
        for begin in range(0, len(lines), _GROUP):
            places = lines.offsets[begin : begin + _GROUP + 1].tolist()
            if _undecodable(view[places[0] : places[-1]]) is None:
                continue
            for line, (start, end) in enumerate(itertools.pairwise(places), begin):
                if wrong := without_utf_8(view[start:end]):
                    place = Place(lines.file, int(lines.numbers[line]))
                    yield Rejected(Fault(place, f"not UTF-8: {wrong}; {remedy}"), "VALUE_CONVERTER")


def without_utf_8(line: bytes | memoryview) -> str:
    """Return which byte of a line is not UTF-8; nothing where all are."""
    at = _undecodable(line)
    return "" if at is None else f"byte {at + 1} of the line is {bytes(line[at : at + 1])!r}"


def _undecodable(data: bytes | memoryview) -> int | None:
    """Return the place of the first byte that is not UTF-8; None if there is none."""
    try:
        str(data, "utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return None


def _offsets(data: Raw, count: int | None = None) -> tuple[Places, bool]:
    """Return where each line begins, and the end; and whether all bytes are ASCII. count: of lines, if known."""
    text = np.frombuffer(data, np.uint8)
    offsets = np.empty(int(count_bytes(text, NEWLINE) if count is None else count) + 1, np.int32)
    padded = text if len(text) >= WORD else np.append(text, np.zeros(WORD, np.uint8))
    return offsets, bool(find_lines(text, words(padded), offsets))
