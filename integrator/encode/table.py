"""Change rows of one table -> fragments: columns, keys, headers, encoded rows; encoders are compiled once a shape."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import mask
from integrator.contracts.change_batch import BETWEEN_NAMES, ChangeBatch
from integrator.contracts.counters import CycleCounters
from integrator.contracts.fragments import FRAGMENT, PresentFields, shapes
from integrator.contracts.operations import UPDATE
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import TableRecipe
from integrator.encode import messages
from integrator.encode.envelopes import ENVELOPES
from integrator.encode.frames import oversize
from integrator.encode.frames.framing import Framing
from integrator.encode.frames.headers import with_columns
from integrator.encode.frames.tombstones import followed, tombstoned, tombstones
from integrator.encode.row_writer import RowWriter
from integrator.encode.rows import RowMaker, Rows, refused
from integrator.engine.arrays import Ints, Mask
from integrator.formats.finish import text_bytes
from integrator.formats.records import Arrays, Encoder, InvalidValue, Missing, UnsupportedValue
from integrator.transform.capture_rules import captured
from integrator.transform.expression import RunClock
from integrator.transform.message_key import headers, key_maker
from integrator.transform.message_place import MessagePlaces
from integrator.transform.without_form import in_messages, together

LEFT_OUT = "large values of rows above the maximum size"


Encoded: TypeAlias = "tuple[pa.RecordBatch, Ints]"
"""Fragments, and the order of each among all rows of the batch."""


class TableEncoder:
    """Change rows of one segment -> fragments.

    recipe: of their table, or of all their tables, without a name. writer: what writes rows, or their images in
    envelopes, where the recipe has not all of their columns.
    """

    def __init__(self, recipe: TableRecipe, channel: Recipe, framing: Framing, writer: RowWriter | None = None) -> None:
        self._recipe, self._channel = recipe, channel
        self._tables = {table.table.name: table for table in channel.tables}
        self._layout = channel.messages.layout
        self._format = messages.format_of(channel.messages.layout)
        old = (
            channel.messages.layout.before + field.name
            for field in messages.old_fields(recipe, channel.messages.layout)
        )
        self._places = {name: place for place, name in enumerate([*(field.name for field in recipe.fields), *old])}
        self._writer = None if self._layout.envelope else writer
        images = messages.image_format(recipe, channel) if writer is None else None
        encode = None if images is None else images.encoder
        self._rows = RowMaker(recipe, channel, writer.encode if writer and self._layout.envelope else encode)
        self._keys = key_maker(recipe, channel)
        self._encoders: dict[PresentFields, Encoder] = (
            {} if self._writer is None else {PresentFields(): self._writer.encode}
        )
        self._framing = framing

    def encode(self, changes: ChangeBatch, clock: RunClock, counters: CycleCounters) -> Encoded:
        """Return fragments, and the order of each among all rows of the batch; what is not sent is counted (I4)."""
        changes = self.captured(changes, clock, counters)
        policy, sought = self._channel.messages.oversized, self._channel.messages.sought
        cut: set[int] = set()
        for _ in range(len(changes.columns) + 1):
            counted = CycleCounters()
            fragments, order = self.fragments(changes, clock, counted)
            over, sizes = self.above(fragments)
            if len(over) and sought is not None:
                raise oversize.found(changes, oversize.place_of(changes, int(order[over[0]])), self._recipe, sought)
            if not len(over) or not policy.skeleton:
                break
            found = dict(zip(order[over].tolist(), oversize.oversized(fragments, over, sizes), strict=True))
            changes = oversize.skeletons(changes, found, self._recipe, self._channel)
            cut.update(found)
        if len(over) and not policy.dead_letters:
            at = oversize.place_of(changes, int(order[over[0]]))
            [first] = oversize.oversized(fragments, over[:1], sizes[:1])
            raise oversize.refuse(changes, at, self._recipe, first, self._channel)
        if len(over):
            fragments, order = oversize.dead_letters(fragments, order, over, changes, self._framing, self._channel)
        counters.add(counted)
        counters.coerced(LEFT_OUT, len(cut))
        return fragments, order

    def captured(self, changes: ChangeBatch, clock: RunClock, counters: CycleCounters) -> ChangeBatch:
        """Return the change rows as the channel captures them. Raises DataError."""
        return captured(changes, self._recipe, self._channel, clock, counters)

    def fragments(self, changes: ChangeBatch, clock: RunClock, counters: CycleCounters) -> Encoded:
        """Return fragments, however large they are, and their order. Raises DataError."""
        changes, columns, rows = self._rows.rows(changes, clock, counters)
        bare = tombstoned(rows.op) & self._recipe.bare_tombstones
        payload, shape = self._with_bare(changes, rows, bare) if bare.any() else self._payloads(changes, rows)
        keys = self._keys(changes, columns, clock)
        header_values = headers(changes, self._recipe, self._channel, clock)
        nulls = self._without_form(changes, rows)
        at, size = pa.array(rows.at), len(rows.at)
        more, key_at = np.zeros(size, bool), rows.key_at
        if self._layout.bundling.mode == "CHANGE":  # both rows of an update have the new one's key
            more = changes.is_before_image[rows.at] & ~bare
            key_at = key_at[np.arange(size) + more]
        whole = len(changes) == size and bool((rows.at == np.arange(size)).all())
        places = MessagePlaces(changes, self._recipe, self._channel, clock)
        topics = places.topics(key_at)
        header_values = header_values if whole else header_values.take(at)
        arrays = {
            "topic": topics,
            "key": keys if whole and key_at is rows.at else keys.take(pa.array(key_at)),
            "table": _tables(changes, rows),
            "op": rows.op,
            "integ_seq": changes.integ_seq if whole else changes.integ_seq.take(at),
            "rank": pa.repeat(pa.scalar(0, pa.int32()), size),
            "more": pa.array(more),
            "cap_tstamp": changes.cap_tstamp.cast(pa.int64())
            if whole
            else changes.cap_tstamp.cast(pa.int64()).take(at),
            "partition": places.partitions(key_at, topics),
            "timestamp": places.timestamps(rows.at),
            "shape": shape,
            "headers": header_values if nulls is None else with_columns(header_values, nulls),
            "payload": payload,
        }
        fragments = pa.RecordBatch.from_arrays([arrays[field.name] for field in FRAGMENT], schema=FRAGMENT)
        order = changes.order if whole else changes.order[rows.at]
        if self._recipe.tombstones:
            old_topics = places.topics(rows.retired)
            old = (keys, old_topics, places.partitions(rows.retired, old_topics))
            return self._with_tombstones(fragments, order, rows, bare, old, counters)
        return fragments, order

    def _without_form(self, changes: ChangeBatch, rows: Rows) -> pa.Array | None:
        """Return of each row what WITHOUT_FORM has, of both images where its message has both; None for no row."""
        if changes.without_form.null_count == len(changes):
            return None
        columns, at, layout = in_messages(changes, self._tables), rows.at, self._layout
        found = columns.take(pa.array(at))
        has_both = ENVELOPES[layout.envelope].has_before if layout.envelope else layout.bundling.mode == "CHANGE"
        if has_both or layout.before:
            paired = np.append(False, changes.is_before_image)[at] & mask(pc.equal(rows.op, UPDATE))
            found = together(columns.take(pa.array(at - 1, mask=~paired)), found)
        return pc.replace_substring(found, BETWEEN_NAMES, ",")

    def _with_tombstones(
        self,
        fragments: pa.RecordBatch,
        order: Ints,
        rows: Rows,
        bare: Mask,
        of_retired: tuple[pa.Array, pa.Array, pa.Array],
        counters: CycleCounters,
    ) -> tuple[pa.RecordBatch, Ints]:
        """Return fragments with tombstones for the keys that are gone, and the order; one without a key is counted.

        of_retired: the keys of change rows, and the topics and partitions of the retired ones.
        """
        gone, (keys, *old) = rows.retired >= 0, of_retired
        old_keys = keys.take(pa.array(rows.retired, mask=~gone))
        keyless = gone & mask(pc.is_null(old_keys))
        if keyless.any():
            counters.skipped("tombstones without a key", int(keyless.sum()))
        made, followed_rows = tombstones(fragments, np.flatnonzero(gone & ~keyless & ~bare), (old_keys, *old))
        stays = ~(bare & keyless)  # bare rows are tombstones themselves
        followed_rows = np.cumsum(stays)[followed_rows] - 1
        return followed(fragments.filter(pa.array(stays)), order[stays], made, followed_rows)

    def _with_bare(self, changes: ChangeBatch, rows: Rows, bare: Mask) -> tuple[pa.Array, pa.Array]:
        """Return payloads and shapes, of rows that are tombstones alone none."""
        keep = np.flatnonzero(~bare)
        kept = rows.take(keep)
        payload, shape = self._payloads(changes, kept)
        places = np.full(len(bare), -1, np.int64)
        places[keep] = np.arange(len(keep))
        back = pa.array(places, mask=bare)
        return payload.take(back), pc.fill_null(shape.take(back), "")

    def _payloads(self, changes: ChangeBatch, rows: Rows) -> tuple[pa.Array, pa.Array]:
        """Return the payload of each row, and its shape."""
        size = len(rows.at)
        if self._writer is not None:
            return self._encoded(changes, rows, PresentFields(), rows.values, {}, None), self._writer.shapes(
                rows.values
            )
        if self._format.missing != "shape" or self._layout.envelope:
            missing = rows.missing
            if self._format.missing != "omit":
                self._rows.check_accepted(missing, changes, rows.at)
                missing = {}
            return self._encoded(changes, rows, PresentFields(), rows.values, missing, None), pa.repeat("", size)
        by_place = {self._places[name]: gone for name, gone in rows.missing.items() if name in self._places}
        found = shapes(by_place, rows.truncate)
        if len(found) == 1 and found[0][1] is None:
            return self._encoded(changes, rows, PresentFields(), rows.values, {}, None), pa.repeat("", size)
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

    def _encoded(
        self,
        changes: ChangeBatch,
        rows: Rows,
        shape: PresentFields,
        values: Arrays,
        missing: Missing,
        chosen: Ints | None,
    ) -> pa.Array:
        if shape not in self._encoders:
            self._encoders[shape] = messages.value_encoder(self._rows.recipe, self._channel, shape)
        try:
            encoded = self._encoders[shape](values, missing)
            if self._format.text:
                return text_bytes(encoded, self._layout.options)
        except (UnsupportedValue, InvalidValue) as error:
            at = error.index if chosen is None else int(chosen[error.index])
            raise refused(changes, int(rows.at[at]), error) from None
        return encoded

    def above(self, fragments: pa.RecordBatch) -> tuple[Ints, Ints]:
        """Return the places of rows whose messages would be above their maximum size, or are sought, and the sizes."""
        return oversize.above(fragments, self._framing, self._channel)


def _tables(changes: ChangeBatch, rows: Rows) -> pa.Array:
    """Return the table of each row."""
    names = changes.tables
    if len(names) == 1:
        return pa.repeat(names[0], len(rows.at))
    return pa.array(names).take(pa.array(changes.run_of_row[rows.at]))
