"""Encoded rows -> message values: what stands around rows, between them, and around messages; and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.fragments import ASIDE, Places, Shape
from integrator.contracts.outgoing import RECORD_OVERHEAD, MessageHeaders, header_size, lengths
from integrator.contracts.recipe import Recipe
from integrator.encode import messages
from integrator.encode.headers import KindHeaders, TableHeaders, headers_of_rows
from integrator.formats.contract import Frame
from integrator.formats.finish import compressor, text_bytes

ASSEMBLE_OVERHEAD = 64
"""Bytes that a format may put around the rows that it assembles, or that compression adds to any message."""
_GROWTH_SHIFT = 11
"""Compression adds one byte for 2048 at most to what it cannot compress: zlib's bound is 1/4096 and 1/16384
(deflateBound, https://zlib.net/manual.html), LZ4's frames have 4 bytes for each block of 64 KiB."""

PARTS = ("start", "end", "table_start", "table_end", "before", "after", "between_rows", "between_tables")

Texts: TypeAlias = "bytes | pa.Array"
"""Of each place a text, or one text for all."""
Ints = npt.NDArray[np.int64]
SomeInts = TypeVar("SomeInts", int, Ints)


@dataclass(frozen=True)
class RowKinds:
    """The kinds of rows (table and shape) in a batch: each row's number, and the kinds' frames.

    runs: each row's number of its table, so that a run of rows of one table is seen. dead: kinds that are dead letters,
    which are messages already. opening, closing: of each kind's frame, or the same of all. around_keys: of each table,
    or the same of all. headers: of each kind.
    """

    code: Ints
    frames: list[Frame]
    runs: Ints
    dead: npt.NDArray[np.bool_]
    opening: Texts
    closing: Texts
    around_keys: tuple[Texts, Texts]
    headers: Sequence[KindHeaders]

    def slice(self, start: int, end: int) -> RowKinds:
        """Return the kinds of the rows from `start` to before `end`."""
        return replace(self, code=self.code[start:end], runs=self.runs[start:end])

    def take(self, at: Places) -> RowKinds:
        """Return the kinds of the rows at these places."""
        return replace(self, code=self.code[at], runs=self.runs[at])


@lru_cache(maxsize=8)
def framing_of(recipe: Recipe) -> Framing:
    """Return the framing of a channel's rows, which a process keeps from cycle to cycle."""
    return Framing(recipe)


class Framing:
    """Adds to rows what their messages have around them."""

    def __init__(self, channel: Recipe) -> None:
        self._tables = {table.table.name: table for table in channel.tables}
        self._channel = channel
        self._frames: dict[tuple[str, str], Frame] = {}
        self._key_frames = {name: messages.key_frame(table, channel) for name, table in self._tables.items()}
        tail = messages.format_of(channel.messages.layout).header_tail
        self._headers = TableHeaders(self._tables, tail)
        self._key_frames[""] = Frame()  # rejected lines are of no table
        self._compress = compressor(channel.messages.layout.options)
        self._text = messages.format_of(channel.messages.layout).text
        self.compresses = bool(self._compress) or messages.format_of(channel.messages.layout).compresses(
            channel.messages.layout.options
        )

    def frame(self, table: str, shape: str) -> Frame:
        """Return the frame of rows of this shape."""
        known = self._frames.get((table, shape))
        if known is None:
            known = Frame() if shape in ASIDE else self._made(table, shape)
            self._frames[table, shape] = known
        return known

    def _made(self, table: str, shape: str) -> Frame:
        frame = messages.value_frame(self._tables[table], self._channel, Shape.of_text(shape))
        if self._text:
            frame = Frame(**{part: self._finished(getattr(frame, part)) for part in PARTS}, assemble=frame.assemble)
        return frame

    def _finished(self, data: bytes) -> bytes:
        """Return a part of a frame with the line ends and in the encoding of the channel."""
        return text_bytes(pa.array([data], pa.binary()), self._channel.messages.layout.options)[0].as_py()  # type: ignore[no-any-return]

    def frame_bytes(self, table: str, shape: str) -> int:
        """Return the bytes of a message of one row that are neither of the key's body nor of the payload."""
        value = self.frame(table, shape)
        fixed = len(value.opening) + len(value.closing) + self.record_bytes(table)
        return fixed + (ASSEMBLE_OVERHEAD if value.assemble or self._compress else 0)

    def record_bytes(self, table: str) -> int:
        """Return the bytes of a message that are neither of its value, of its key's body, nor of the rows' headers."""
        key = self._key_frames[table]
        return len(key.opening) + len(key.closing) + header_size(self._headers.fixed(table)) + RECORD_OVERHEAD

    def with_growth(self, size: SomeInts) -> SomeInts:
        """Return sizes with what compression may add to them."""
        return size + (size >> _GROWTH_SHIFT) if self.compresses else size

    def beside(self, rows: pa.RecordBatch, kinds: RowKinds) -> Ints:
        """Return the bytes that a message has beside its value, if it has the key and the headers of a row."""
        tables = rows["table"].dictionary_encode()
        fixed = pa.array([self.record_bytes(name) for name in tables.dictionary.to_pylist()], pa.int64())
        sizes = np.asarray(pc.add(lengths(rows["key"]), fixed.take(tables.indices)), np.int64)
        if rows["headers"].null_count == len(rows):
            return sizes
        found = headers_of_rows(rows["headers"], kinds.code, [replace(kind, fixed=()) for kind in kinds.headers])
        return sizes if found is None else sizes + found.sizes()

    def sizes(self, rows: pa.RecordBatch) -> Ints:
        """Return the bytes of a message of each row alone, keys, headers and overhead counted."""
        kinds = self.kinds(rows)
        more = ASSEMBLE_OVERHEAD if self._compress else 0
        around = [
            len(frame.opening) + len(frame.closing) + (ASSEMBLE_OVERHEAD if frame.assemble else more)
            for frame in kinds.frames
        ]
        payload = np.asarray(lengths(rows["payload"]), np.int64)
        return self.with_growth(payload + np.array([*around, 0], np.int64)[kinds.code]) + self.beside(rows, kinds)

    def kinds(self, rows: pa.RecordBatch) -> RowKinds:
        """Return the kinds of rows."""
        named = pc.binary_join_element_wise(rows["table"], rows["shape"], "\0").dictionary_encode()
        pairs = [name.split("\0") for name in named.dictionary.to_pylist()]
        tables = {table: place for place, table in enumerate(dict.fromkeys(table for table, _ in pairs))}
        of_kind = np.array([tables[table] for table, _ in pairs] or [0], np.int64)
        code = np.asarray(named.indices, np.int64)
        dead = np.array([shape in ASIDE for _, shape in pairs] or [False], bool)
        frames = [self.frame(table, shape) for table, shape in pairs]
        keys = [self._key_frames[table] for table in tables]
        return RowKinds(
            code,
            frames,
            of_kind[code],
            dead,
            _texts([frame.opening for frame in frames]),
            _texts([frame.closing for frame in frames]),
            (_texts([key.opening for key in keys]), _texts([key.closing for key in keys])),
            [self._headers.of_kind(table, shape) for table, shape in pairs],
        )

    def costs(self, frames: Sequence[Frame]) -> tuple[Ints, Ints, Ints, Ints]:
        """Return, kind by kind, the bytes that a message has beside those of its rows.

        They come with a first row, the next one of its table, the first one of the next table, and at the end.
        """
        more = ASSEMBLE_OVERHEAD if self._compress else 0
        costs = []
        for frame in frames:
            assembles = ASSEMBLE_OVERHEAD if frame.assemble else more
            if self._channel.messages.layout.bundling.concatenated:
                alone = len(frame.opening) + len(frame.closing) + (ASSEMBLE_OVERHEAD if frame.assemble else 0)
                costs.append((alone, alone, alone, more))
            else:
                row = len(frame.before) + len(frame.after)
                table = len(frame.table_end) + len(frame.between_tables) + len(frame.table_start) + row
                closing = len(frame.closing) - len(frame.after) + assembles
                costs.append((len(frame.opening + frame.after), row + len(frame.between_rows), table, closing))
        first, next_row, next_table, closes = np.array(costs, np.int64).reshape(-1, 4).T
        return first, next_row, next_table, closes

    def values(self, rows: pa.RecordBatch, starts: Places, kinds: RowKinds) -> pa.Array:
        """Return the values of messages, which begin at the rows `starts`; a lone row without payload is null."""
        payload = rows["payload"]
        values = self._bodies(payload, starts, kinds)
        if self._compress:
            values = self._compress(values)
        if payload.null_count:
            values = pc.if_else(pc.is_valid(payload.take(pa.array(starts))), values, None)
        if kinds.dead.any():
            first = pa.array(starts)
            values = pc.if_else(pa.array(kinds.dead[kinds.code[starts]]), payload.take(first), values)
        return values

    def _bodies(self, payload: pa.Array, starts: Places, kinds: RowKinds) -> pa.Array:
        size = len(payload)
        if self._channel.messages.layout.bundling.concatenated and len(starts) < size:
            return regrouped(self._bodies(payload, np.arange(size), kinds), starts)
        filled = pc.fill_null(payload, b"") if payload.null_count else payload
        assemble = next((frame.assemble for frame in kinds.frames if frame.assemble), None)
        if assemble is not None:
            body = assemble(regrouped(filled, starts), np.diff(starts, append=size))
            first = kinds.code[starts]
            return pc.binary_join_element_wise(
                _of_kind(kinds.opening, first), body, _of_kind(kinds.closing, first), b""
            )
        lead, rest = _around(kinds, starts, size)
        pieces = [piece for piece in (lead, filled, rest) if not isinstance(piece, bytes) or piece]
        joined = pc.binary_join_element_wise(*pieces, b"") if len(pieces) > 1 else filled
        return joined if len(starts) == size else regrouped(joined, starts)

    def keys(self, rows: pa.RecordBatch, kinds: RowKinds) -> pa.Array:
        """Return the key of a message for each row; null is none."""
        head, tail = (_of_kind(texts, kinds.runs) for texts in kinds.around_keys)
        return pc.binary_join_element_wise(head, rows["key"], tail, b"") if head or tail else rows["key"]

    def headers(self, rows: pa.RecordBatch, kinds: RowKinds) -> MessageHeaders | None:
        """Return the headers of a message for each row; None where no message has any."""
        return headers_of_rows(rows["headers"], kinds.code, kinds.headers)


def _around(kinds: RowKinds, starts: Places, rows: int) -> tuple[Texts, Texts]:
    """Return what stands before and after each row: the same for all, or of each row.

    The lead of a row depends on whether it is its message's first, a run's first, or neither, and on the rows before.
    """
    frames, code, size = kinds.frames, kinds.code, len(kinds.frames)
    if len(starts) == rows:
        return _of_kind(kinds.opening, code), _of_kind(kinds.closing, code)
    first = np.zeros(rows, bool)
    first[starts] = True
    last = np.append(first[1:], True)
    previous = np.concatenate([[0], code[:-1]])
    same_table = np.concatenate([[False], kinds.runs[1:] == kinds.runs[:-1]])
    place = np.where(first, 0, np.where(same_table, 1, 2))
    leads, which = np.unique((place * size + previous * (place > 0)) * size + code, return_inverse=True)
    texts = [
        _lead(int(lead) // size // size, frames[int(lead) // size % size], frames[int(lead) % size]) for lead in leads
    ]
    ends = [*(frame.after for frame in frames), *(frame.closing for frame in frames)]
    rest = code + size * last
    return _of_kind(_texts(texts), which), (b"" if not any(ends) else _of_kind(_texts(ends), rest))


def _lead(place: int, before: Frame, frame: Frame) -> bytes:
    if place == 0:
        return frame.opening
    if place == 1:
        return frame.between_rows + frame.before
    return before.table_end + frame.between_tables + frame.table_start + frame.before


def regrouped(values: pa.Array, starts: Places) -> pa.Array:
    """Return runs of values, of which each begins at a place in `starts`, as one value each; there are no nulls."""
    _, offset_buffer, data = values.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[values.offset : values.offset + len(values) + 1]
    bounds = np.append(offsets[starts], offsets[-1]).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(starts), [None, pa.py_buffer(bounds), data])


def _texts(texts: Sequence[bytes]) -> Texts:
    if len(set(texts)) <= 1:
        return texts[0] if texts else b""
    return pa.array(texts, pa.binary())


def _of_kind(texts: Texts, codes: npt.NDArray[np.int64]) -> Texts:
    return texts if isinstance(texts, bytes) else texts.take(pa.array(codes))
