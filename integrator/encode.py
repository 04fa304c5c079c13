"""Change rows of one table -> fragments: columns, keys, headers, encoded rows; encoders are compiled once a shape."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import messages
from integrator.arrays import Mask, first, mask
from integrator.bundle import RowFraming
from integrator.changes import Changes
from integrator.envelopes import ENVELOPES
from integrator.envelopes.contract import taken
from integrator.errors import DataError
from integrator.formats.contract import Arrays, Encoder, Missing, RefusedValue, Unsayable
from integrator.formats.finish import text_bytes
from integrator.fragments import FRAGMENT, Places, Shape, shapes
from integrator.properties.columns import Columns, to_columns
from integrator.properties.events import Events, events
from integrator.properties.message_key import headers, key_maker
from integrator.recipe import DELETE, TRUNCATE, Recipe, TableRecipe

NotSent = dict[str, int]


@dataclass(frozen=True)
class Rows:
    """Rows to encode: values and missing masks by message column; `at` is each row's place among the change rows."""

    values: Arrays
    missing: Missing
    truncate: Mask
    at: Places
    op: pa.Array
    key_at: Places


class TableEncoder:
    """Change rows of one table -> fragments."""

    def __init__(self, recipe: TableRecipe, channel: Recipe, now: datetime) -> None:
        self._recipe, self._channel, self._now = recipe, channel, now
        self._layout = channel.layout
        self._format = messages.format_of(channel.layout)
        self._places = {field.name: place for place, field in enumerate(recipe.fields)}
        self._old = messages.old_fields(recipe, channel.layout)
        self._keys = key_maker(recipe, channel)
        self._encoders: dict[Shape, Encoder] = {}
        self._framing = RowFraming((recipe,), channel)

    def encode(self, changes: Changes, not_sent: NotSent) -> tuple[pa.RecordBatch, Places]:
        """Return fragments, and the order of each among all rows of the batch; adds to `not_sent` (I4)."""
        if self._layout.envelope:
            rows = self._enveloped(changes, not_sent)
        elif self._layout.before:
            rows = self._merged(changes, not_sent)
        else:
            changes = self._sent(changes, not_sent)
            rows = self._plain(changes)
        bare = mask(pc.equal(rows.op, DELETE)) if self._recipe.bare_tombstones else np.zeros(len(rows.at), bool)
        payload, shape = self._with_bare(changes, rows, bare) if bare.any() else self._payloads(changes, rows)
        keys, header_values = self._keys(changes, self._now), headers(changes, self._recipe, self._channel, self._now)
        at, size = pa.array(rows.at), len(rows.at)
        whole = len(changes) == size and bool((rows.at == np.arange(size)).all())
        arrays = {
            "topic": pa.repeat(self._recipe.topic, size),
            "key": keys if whole and rows.key_at is rows.at else keys.take(pa.array(rows.key_at)),
            "table": pa.repeat(self._recipe.table.name, size),
            "op": rows.op,
            "integ_seq": changes.integ_seq if whole else changes.integ_seq.take(at),
            "rank": pa.repeat(pa.scalar(0, pa.int8()), size),
            "cap_tstamp": changes.cap_tstamp.cast(pa.int64())
            if whole
            else changes.cap_tstamp.cast(pa.int64()).take(at),
            "shape": shape,
            "headers": header_values if whole else header_values.take(at),
            "payload": payload,
        }
        fragments = pa.RecordBatch.from_arrays([arrays[field.name] for field in FRAGMENT], schema=FRAGMENT)
        order = changes.order if whole else changes.order[rows.at]
        if self._recipe.tombstones and not self._recipe.bare_tombstones:
            fragments, order = _with_tombstones(fragments, order)
        self._check_size(changes, fragments)
        return fragments, order

    def _count(self, op: np.ndarray[tuple[int], np.dtype[np.int8]], not_sent: NotSent) -> None:
        how = f"envelope {self._layout.envelope}" if self._layout.envelope else f"style {self._recipe.style}"
        for code, count in zip(*np.unique(op, return_counts=True), strict=True):
            reason = f"op {code} in {how}"
            not_sent[reason] = not_sent.get(reason, 0) + int(count)

    def _sent(self, changes: Changes, not_sent: NotSent) -> Changes:
        """Return the changes that the replication style sends; the others are counted (I4)."""
        operations = self._operations()
        sent = mask(pc.is_in(changes.op, pa.array(operations, pa.int8())))
        if not sent.all():
            self._count(changes.op.to_numpy(zero_copy_only=False)[~sent], not_sent)
        return changes.where(sent)

    def _operations(self) -> tuple[int, ...]:
        return (*self._recipe.operations, DELETE) if self._recipe.bare_tombstones else self._recipe.operations

    def _columns(self, changes: Changes) -> Columns:
        return to_columns(changes, self._recipe, self._channel, self._now)

    def _plain(self, changes: Changes) -> Rows:
        found = self._columns(changes)
        every = np.arange(len(changes))
        return Rows(found.values, found.missing, found.truncate, every, changes.op, every)

    def _events(self, changes: Changes, operations: tuple[int, ...], not_sent: NotSent, *, split: bool) -> Events:
        found = events(changes.op.to_numpy(zero_copy_only=False), split_key_updates=split)
        sent = np.isin(found.op, operations)
        if not sent.all():
            self._count(found.op[~sent], not_sent)
        return found.where(sent)

    def _enveloped(self, changes: Changes, not_sent: NotSent) -> Rows:
        """Return envelopes of old and new images. They say every operation they can, whatever the style."""
        envelope = ENVELOPES[self._layout.envelope]
        said = tuple(op for op in envelope.operations if op != TRUNCATE or self._recipe.truncates)
        found = self._events(changes, said, not_sent, split=envelope.split_key_updates)
        values, missing = envelope.rows(found, changes, self._columns(changes), self._recipe, self._channel)
        return Rows(values, missing, np.zeros(len(found), bool), found.row, pa.array(found.op), found.image)

    def _merged(self, changes: Changes, not_sent: NotSent) -> Rows:
        """Return one row for each update, its old values beside the new ones: BeforeUpdateColumns."""
        found = self._events(changes, self._operations(), not_sent, split=False)
        columns = self._columns(changes)
        at, before = pa.array(found.row), pa.array(found.before, mask=(found.before < 0) | (found.after < 0))
        values = {name: column.take(at) for name, column in columns.values.items()}
        missing = {name: gone[found.row] for name, gone in columns.missing.items() if gone[found.row].any()}
        none = (found.before < 0) | (found.after < 0)
        omits = self._format.missing == "omit"
        for field in self._old:
            old = columns.values[field.name].take(before)
            gone = none if omits else np.zeros(len(found), bool)
            if field.name in columns.missing:
                gone = gone | taken(columns.missing[field.name], found.before)
            if self._layout.before_changed:
                gone = gone | _same(old, values[field.name])
            values[self._layout.before + field.name] = old
            if gone.any():
                missing[self._layout.before + field.name] = gone
        return Rows(values, missing, columns.truncate[found.row], found.row, pa.array(found.op), found.image)

    def _with_bare(self, changes: Changes, rows: Rows, bare: Mask) -> tuple[pa.Array, pa.Array]:
        """Return payloads and shapes, of rows that are tombstones alone none."""
        keep = np.flatnonzero(~bare)
        at = pa.array(keep)
        values = {name: column.take(at) for name, column in rows.values.items()}
        missing = {name: gone[keep] for name, gone in rows.missing.items() if gone[keep].any()}
        kept = Rows(values, missing, rows.truncate[keep], rows.at[keep], rows.op.take(at), rows.key_at[keep])
        payload, shape = self._payloads(changes, kept)
        places = np.full(len(bare), -1, np.int64)
        places[keep] = np.arange(len(keep))
        back = pa.array(places, mask=bare)
        return payload.take(back), pc.fill_null(shape.take(back), "")

    def _payloads(self, changes: Changes, rows: Rows) -> tuple[pa.Array, pa.Array]:
        """Return the payload of each row, and its shape."""
        size = len(rows.at)
        if self._format.missing != "shape" or self._layout.envelope:
            missing = rows.missing if self._format.missing == "omit" else self._accepted(changes, rows)
            return self._encoded(changes, rows, Shape(), rows.values, missing, None), pa.repeat("", size)
        by_place = {self._places[name]: gone for name, gone in rows.missing.items() if name in self._places}
        found = shapes(by_place, rows.truncate)
        if len(found) == 1 and found[0][1] is None:
            return self._encoded(changes, rows, Shape(), rows.values, {}, None), pa.repeat("", size)
        payloads, texts, order = [], [], []
        for shape, places in found:
            chosen = np.arange(size) if places is None else places
            at = pa.array(chosen)
            values = {name: values.take(at) for name, values in rows.values.items()}
            payloads.append(self._encoded(changes, rows, shape, values, {}, chosen))
            texts.append(pa.repeat(shape.to_text(), len(chosen)))
            order.append(chosen)
        back = pa.array(np.argsort(np.concatenate(order)))
        return pa.concat_arrays(payloads).take(back), pa.concat_arrays(texts).take(back)

    def _accepted(self, changes: Changes, rows: Rows) -> Missing:
        """Return no missing values: the format has none. Raises DataError where they may not be sent as null either."""
        for name, gone in rows.missing.items():
            at = first(gone)
            if at is not None and not self._recipe.missing_as_null and name in self._places:
                line = changes.line[rows.at[at]]
                raise DataError(
                    f"{changes.file}:{line}: table {changes.table}, column {name}: the record has no value, and "
                    f"{self._layout.format} has no word for that; record full rows (REPLICA IDENTITY FULL), send "
                    "missing values as null (Missing_Values: NULL; {hvr_missing} names them), or use a format in JSON"
                )
        return {}

    def _encoded(
        self, changes: Changes, rows: Rows, shape: Shape, values: Arrays, missing: Missing, chosen: Places | None
    ) -> pa.Array:
        if shape not in self._encoders:
            self._encoders[shape] = messages.value_encoder(self._recipe, self._channel, shape)
        try:
            encoded = self._encoders[shape](values, missing)
            if self._format.text:
                return text_bytes(encoded, self._layout.options)
        except (Unsayable, RefusedValue) as error:
            at = error.index if chosen is None else int(chosen[error.index])
            column = f", column {error.column}" if isinstance(error, Unsayable) else ""
            where = f"{changes.file}:{changes.line[rows.at[at]]}: table {changes.table}{column}"
            raise DataError(f"{where}: {error}") from None
        return encoded

    def _check_size(self, changes: Changes, fragments: pa.RecordBatch) -> None:
        """I5: no message above the maximum size leaves the process; here nothing of its cycle does."""
        if not fragments.num_rows:
            return
        limit = self._channel.max_bytes
        plain = fragments["headers"].null_count == fragments.num_rows
        longest = sum(pc.max(pc.binary_length(fragments[name])).as_py() or 0 for name in ("payload", "key"))
        shapes_of = pc.unique(fragments["shape"]).to_pylist()
        frame = max(self._framing.frame_bytes(self._recipe.table.name, text) for text in shapes_of)
        if plain and longest + frame <= limit:
            return
        sizes = self._framing.sizes(fragments)
        over = np.flatnonzero(sizes > limit)
        if len(over):
            place = int(np.flatnonzero(fragments["integ_seq"][int(over[0])].as_py() == _texts(changes.integ_seq))[0])
            raise DataError(
                f"{changes.file}:{changes.line[place]}: table {changes.table}, key {self._key_text(changes, place)}: "
                f"the message has {sizes[over[0]]} bytes, and HVR_KAFKA_MSG_MAX_BYTES is {limit}; the largest "
                f"columns are {_largest(changes, place)}; leave one out (Absent: true), or raise the limit here, in "
                "the topic (max.message.bytes) and at the broker"
            )

    def _key_text(self, changes: Changes, at: int) -> str:
        return ", ".join(f"{name}={changes.columns[name][at].as_py()!r}" for name in self._recipe.key)


def _same(old: pa.Array, new: pa.Array) -> Mask:
    """Say where two values are the same, null among them; what Arrow cannot compare counts as changed."""
    try:
        equal = mask(pc.equal(old, new))
    except pa.ArrowNotImplementedError:
        return np.zeros(len(old), bool)
    return equal | mask(pc.and_(pc.is_null(old), pc.is_null(new)))


def _texts(values: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    return np.asarray(values.to_numpy(zero_copy_only=False))


def _with_tombstones(fragments: pa.RecordBatch, order: Places) -> tuple[pa.RecordBatch, Places]:
    """Return fragments with a message without value behind each delete."""
    deletes = np.flatnonzero(mask(pc.and_(pc.equal(fragments["op"], DELETE), pc.is_valid(fragments["key"]))))
    if not len(deletes):
        return fragments, order
    stones = fragments.take(pa.array(deletes))
    stones = stones.set_column(FRAGMENT.get_field_index("rank"), FRAGMENT.field("rank"), _ones(len(deletes)))
    nothing = pa.nulls(len(deletes), pa.binary())
    stones = stones.set_column(FRAGMENT.get_field_index("payload"), FRAGMENT.field("payload"), nothing)
    together = pa.Table.from_batches([fragments, stones]).combine_chunks()
    places = np.concatenate([np.arange(fragments.num_rows) * 2, deletes * 2 + 1])
    back = np.argsort(places)
    [batch] = together.take(pa.array(back)).to_batches()
    return batch, np.concatenate([order, order[deletes]])[back]


def _ones(size: int) -> pa.Array:
    return pa.repeat(pa.scalar(1, pa.int8()), size)


def _largest(changes: Changes, at: int) -> str:
    """Name the three largest columns of a row, with their bytes."""
    sizes = {
        name: len(values[at].as_buffer()) if values[at].is_valid else 0
        for name, values in changes.columns.items()
        if pa.types.is_string(values.type) or pa.types.is_binary(values.type)
    }
    named = sorted(sizes.items(), key=lambda item: -item[1])[:3]
    return ", ".join(f"{name} ({size} bytes)" for name, size in named) or "none of text or bytes"
