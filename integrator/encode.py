"""Change rows of one table -> fragments: columns, keys, headers, encoded rows; encoders are compiled once a shape."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import messages
from integrator.arrays import Mask, first, mask
from integrator.bundle import RowFraming
from integrator.changes import Changes
from integrator.errors import DataError
from integrator.formats.contract import PATH, Arrays, Encoder, Missing, RefusedValue, Unsayable
from integrator.formats.finish import text_bytes
from integrator.fragments import FRAGMENT, Places, Shape, shapes
from integrator.properties.message_key import headers, key_maker
from integrator.recipe import TOMBSTONED, Recipe, TableRecipe
from integrator.rows import NotSent, RowMaker, Rows


class TableEncoder:
    """Change rows of one table -> fragments."""

    def __init__(self, recipe: TableRecipe, channel: Recipe, now: datetime) -> None:
        self._recipe, self._channel, self._now = recipe, channel, now
        self._layout = channel.layout
        self._format = messages.format_of(channel.layout)
        old = (channel.layout.before + field.name for field in messages.old_fields(recipe, channel.layout))
        self._places = {name: place for place, name in enumerate([*(field.name for field in recipe.fields), *old])}
        self._rows = RowMaker(recipe, channel, now)
        self._keys = key_maker(recipe, channel)
        self._encoders: dict[Shape, Encoder] = {}
        self._framing = RowFraming((recipe,), channel)

    def encode(self, changes: Changes, not_sent: NotSent) -> tuple[pa.RecordBatch, Places]:
        """Return fragments, and the order of each among all rows of the batch; adds to `not_sent` (I4)."""
        changes, columns, rows = self._rows.rows(changes, not_sent)
        bare = _tombstoned(rows.op) if self._recipe.bare_tombstones else np.zeros(len(rows.at), bool)
        payload, shape = self._with_bare(changes, rows, bare) if bare.any() else self._payloads(changes, rows)
        keys = self._keys(changes, columns, self._now)
        header_values = headers(changes, self._recipe, self._channel, self._now)
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
        if self._recipe.tombstones:
            fragments, order = self._with_tombstones(fragments, order, not_sent)
        self._check_size(changes, fragments)
        return fragments, order

    def _with_tombstones(
        self, fragments: pa.RecordBatch, order: Places, not_sent: NotSent
    ) -> tuple[pa.RecordBatch, Places]:
        """Return fragments with a tombstone behind each delete, or as it; one without a key is counted, not sent."""
        gone, keyless = _tombstoned(fragments["op"]), mask(pc.is_null(fragments["key"]))
        if (gone & keyless).any():
            reason = "tombstones without a key"
            not_sent[reason] = not_sent.get(reason, 0) + int((gone & keyless).sum())
        if self._recipe.bare_tombstones:
            keep = ~(gone & keyless)
            return fragments.filter(pa.array(keep)), order[keep]
        deletes = np.flatnonzero(gone & ~keyless)
        if not len(deletes):
            return fragments, order
        together = pa.Table.from_batches([fragments, _tombstones(fragments, deletes)]).combine_chunks()
        places = np.concatenate([np.arange(fragments.num_rows) * 2, deletes * 2 + 1])
        back = np.argsort(places)
        [batch] = together.take(pa.array(back)).to_batches()
        return batch, np.concatenate([order, order[deletes]])[back]

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
            if at is not None and not self._recipe.missing_as_null:
                line, column = changes.line[rows.at[at]], name.replace(PATH, ".")
                raise DataError(
                    f"{changes.file}:{line}: table {changes.table}, column {column}: the record has no value, and "
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


def _texts(values: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    return np.asarray(values.to_numpy(zero_copy_only=False))


def _tombstoned(op: pa.Array) -> Mask:
    return mask(pc.is_in(op, pa.array(TOMBSTONED, pa.int8())))


def _tombstones(fragments: pa.RecordBatch, deletes: Places) -> pa.RecordBatch:
    """Return the messages without value that stand behind the deletes at these places."""
    stones = fragments.take(pa.array(deletes))
    stones = stones.set_column(FRAGMENT.get_field_index("rank"), FRAGMENT.field("rank"), _ones(len(deletes)))
    nothing = pa.nulls(len(deletes), pa.binary())
    return stones.set_column(FRAGMENT.get_field_index("payload"), FRAGMENT.field("payload"), nothing)


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
