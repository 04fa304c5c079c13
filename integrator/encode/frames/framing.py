"""Encoded rows -> message values: what stands around rows, between them, and around messages; and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import regrouped
from integrator.contracts.fragments import ASIDE, PresentFields
from integrator.contracts.outgoing import RECORD_OVERHEAD, MessageHeaders, header_size, lengths
from integrator.contracts.recipe import Recipe
from integrator.encode import messages
from integrator.encode.frames.headers import TableHeaders, headers_of_rows
from integrator.encode.frames.row_frames import RowFrames, frame_texts, of_kind, texts_of
from integrator.engine.arrays import Ints
from integrator.formats.contract import Frame
from integrator.formats.finish import compressor, text_bytes

ASSEMBLE_OVERHEAD = 64
"""Bytes that a format may put around the rows that it assembles, or that compression adds to any message."""
_GROWTH_SHIFT = 11
"""Compression adds one byte for 2048 at most to what it cannot compress: zlib's bound is 1/4096 and 1/16384
(deflateBound, https://zlib.net/manual.html), LZ4's frames have 4 bytes for each block of 64 KiB."""

PARTS = ("start", "end", "table_start", "table_end", "before", "after", "between_rows", "between_tables")

SomeInts = TypeVar("SomeInts", int, Ints)


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
        frame = messages.value_frame(self._tables[table], self._channel, PresentFields.of_text(shape))
        if self._text:
            parts: dict[str, Any] = {part: self._finished(getattr(frame, part)) for part in PARTS}
            frame = replace(frame, **parts)
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

    def beside(self, rows: pa.RecordBatch, kinds: RowFrames) -> Ints:
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

    def kinds(self, rows: pa.RecordBatch) -> RowFrames:
        """Return the kinds of rows."""
        named = pc.binary_join_element_wise(rows["table"], rows["shape"], "\0").dictionary_encode()
        pairs = [name.split("\0") for name in named.dictionary.to_pylist()]
        tables = {table: place for place, table in enumerate(dict.fromkeys(table for table, _ in pairs))}
        of_kind = np.array([tables[table] for table, _ in pairs] or [0], np.int64)
        code = np.asarray(named.indices, np.int64)
        dead = np.array([shape in ASIDE for _, shape in pairs] or [False], bool)
        frames = [self.frame(table, shape) for table, shape in pairs]
        keys = [self._key_frames[table] for table in tables]
        return RowFrames(
            code,
            frames,
            of_kind[code],
            dead,
            texts_of([frame.opening for frame in frames]),
            texts_of([frame.closing for frame in frames]),
            (texts_of([key.opening for key in keys]), texts_of([key.closing for key in keys])),
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

    def values(self, rows: pa.RecordBatch, starts: Ints, kinds: RowFrames) -> pa.Array:
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

    def _bodies(self, payload: pa.Array, starts: Ints, kinds: RowFrames) -> pa.Array:
        size = len(payload)
        if self._channel.messages.layout.bundling.concatenated and len(starts) < size:
            return regrouped(self._bodies(payload, np.arange(size), kinds), starts)
        filled = pc.fill_null(payload, b"") if payload.null_count else payload
        frame = next((frame for frame in kinds.frames if frame.assemble), None)
        if frame is not None and frame.assemble is not None:
            return self._assembled(filled, starts, frame, kinds)
        lead, rest = frame_texts(kinds, starts, size)
        pieces = [piece for piece in (lead, filled, rest) if not isinstance(piece, bytes) or piece]
        joined = pc.binary_join_element_wise(*pieces, b"") if len(pieces) > 1 else filled
        return joined if len(starts) == size else regrouped(joined, starts)

    def _assembled(self, rows: pa.Array, starts: Ints, frame: Frame, kinds: RowFrames) -> pa.Array:
        count, first = np.diff(starts, append=len(rows)), kinds.code[starts]
        if frame.numbered is not None:
            places = np.arange(len(rows)) - np.repeat(starts, count)
            rows = pc.binary_join_element_wise(frame.numbered(places), rows, b"")
        body = frame.assemble(regrouped(rows, starts), count) if frame.assemble is not None else rows
        whole = pc.binary_join_element_wise(of_kind(kinds.opening, first), body, of_kind(kinds.closing, first), b"")
        return whole if frame.finish is None else frame.finish(whole)

    def keys(self, rows: pa.RecordBatch, kinds: RowFrames) -> pa.Array:
        """Return the key of a message for each row; null is none."""
        head, tail = (of_kind(texts, kinds.runs) for texts in kinds.around_keys)
        return pc.binary_join_element_wise(head, rows["key"], tail, b"") if head or tail else rows["key"]

    def headers(self, rows: pa.RecordBatch, kinds: RowFrames) -> MessageHeaders | None:
        """Return the headers of a message for each row; None where no message has any."""
        return headers_of_rows(rows["headers"], kinds.code, kinds.headers)
