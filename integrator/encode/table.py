"""Change rows of one table -> fragments: columns, keys, headers, encoded rows; encoders are compiled once a shape."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first, mask
from integrator.contracts.changes import Changes
from integrator.contracts.counters import CycleCounters
from integrator.contracts.fragments import FRAGMENT, Shape, shapes
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import TableRecipe
from integrator.encode import messages
from integrator.encode.frames import oversize
from integrator.encode.frames.framing import Framing
from integrator.encode.frames.tombstones import followed, tombstoned, tombstones
from integrator.encode.rows import RowMaker, Rows, refuse_missing
from integrator.engine.arrays import Ints, Mask
from integrator.errors import DataError, Fault, Place, PublicDataError
from integrator.formats.finish import text_bytes
from integrator.formats.records import PATH, Arrays, Encoder, InvalidValue, Missing, UnsupportedValue
from integrator.transform.capture_rules import captured
from integrator.transform.expression import RunClock
from integrator.transform.message_key import headers, key_maker

LEFT_OUT = "large values of rows above the maximum size"


class JointEncoder(Protocol):
    """Encodes rows of tables with the same shared recipe."""

    def encode(self, values: Arrays, missing: Missing) -> pa.Array:
        """Return the encoded rows, as `Encoder` does."""
        ...

    def shapes(self, values: Arrays) -> pa.Array:
        """Return the shape of each row, as text."""
        ...


class TableEncoder:
    """Change rows of one table -> fragments.

    joint: what encodes rows, or their images in envelopes, where it is not the format's encoder of the recipe.
    """

    def __init__(
        self, recipe: TableRecipe, channel: Recipe, framing: Framing, joint: JointEncoder | None = None
    ) -> None:
        self._recipe, self._channel = recipe, channel
        self._layout = channel.messages.layout
        self._format = messages.format_of(channel.messages.layout)
        old = (
            channel.messages.layout.before + field.name
            for field in messages.old_fields(recipe, channel.messages.layout)
        )
        self._places = {name: place for place, name in enumerate([*(field.name for field in recipe.fields), *old])}
        self._joint = None if self._layout.envelope else joint
        self._rows = RowMaker(recipe, channel, joint.encode if joint and self._layout.envelope else None)
        self._keys = key_maker(recipe, channel)
        self._encoders: dict[Shape, Encoder] = {} if self._joint is None else {Shape(): self._joint.encode}
        self._framing = framing

    def encode(self, changes: Changes, clock: RunClock, counters: CycleCounters) -> tuple[pa.RecordBatch, Ints]:
        """Return fragments, and the order of each among all rows of the batch; what is not sent is counted (I4)."""
        changes = self.captured(changes, clock, counters)
        limit, policy = self._channel.messages.max_bytes, self._channel.messages.oversized
        cut: set[int] = set()
        for _ in range(len(changes.columns) + 1):
            counted = CycleCounters()
            fragments, order = self.fragments(changes, clock, counted)
            over, sizes = self.above(fragments)
            if not len(over) or not policy.skeleton:
                break
            found = dict(zip(order[over].tolist(), sizes.tolist(), strict=True))
            changes = oversize.skeletons(changes, found, self._recipe, self._channel)
            cut.update(found)
        if len(over) and not policy.dead_letters:
            at = oversize.place_of(changes, int(order[over[0]]))
            raise oversize.refuse(changes, at, self._recipe, int(sizes[0]), limit)
        if len(over):
            fragments, order = oversize.dead_letters(fragments, order, over, changes, self._framing, self._channel)
        counters.add(counted)
        counters.coerced(LEFT_OUT, len(cut))
        return fragments, order

    def captured(self, changes: Changes, clock: RunClock, counters: CycleCounters) -> Changes:
        """Return the change rows as the channel captures them. Raises DataError."""
        return captured(changes, self._recipe, self._channel, clock, counters)

    def fragments(self, changes: Changes, clock: RunClock, counters: CycleCounters) -> tuple[pa.RecordBatch, Ints]:
        """Return fragments, however large they are, and their order. Raises DataError."""
        changes, columns, rows = self._rows.rows(changes, clock, counters)
        bare = tombstoned(rows.op) & self._recipe.bare_tombstones
        payload, shape = self._with_bare(changes, rows, bare) if bare.any() else self._payloads(changes, rows)
        keys = self._keys(changes, columns, clock)
        header_values = headers(changes, self._recipe, self._channel, clock)
        at, size = pa.array(rows.at), len(rows.at)
        more, key_at = np.zeros(size, bool), rows.key_at
        if self._layout.bundling.mode == "CHANGE":  # both rows of an update have the new one's key
            more = changes.is_before_image[rows.at] & ~bare
            key_at = key_at[np.arange(size) + more]
        whole = len(changes) == size and bool((rows.at == np.arange(size)).all())
        arrays = {
            "topic": pa.repeat(self._recipe.topic, size),
            "key": keys if whole and key_at is rows.at else keys.take(pa.array(key_at)),
            "table": pa.repeat(self._recipe.table.name, size),
            "op": rows.op,
            "integ_seq": changes.integ_seq if whole else changes.integ_seq.take(at),
            "rank": pa.repeat(pa.scalar(0, pa.int32()), size),
            "more": pa.array(more),
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
            return self._with_tombstones(fragments, order, rows, bare, keys, counters)
        return fragments, order

    def _with_tombstones(
        self, fragments: pa.RecordBatch, order: Ints, rows: Rows, bare: Mask, keys: pa.Array, counters: CycleCounters
    ) -> tuple[pa.RecordBatch, Ints]:
        """Return fragments with tombstones for the keys that are gone, and the order; one without a key is counted."""
        gone = rows.retired >= 0
        old_keys = keys.take(pa.array(rows.retired, mask=~gone))
        keyless = gone & mask(pc.is_null(old_keys))
        if keyless.any():
            counters.skipped("tombstones without a key", int(keyless.sum()))
        made, followed_rows = tombstones(fragments, np.flatnonzero(gone & ~keyless & ~bare), old_keys)
        stays = ~(bare & keyless)  # bare rows are tombstones themselves
        followed_rows = np.cumsum(stays)[followed_rows] - 1
        return followed(fragments.filter(pa.array(stays)), order[stays], made, followed_rows)

    def _with_bare(self, changes: Changes, rows: Rows, bare: Mask) -> tuple[pa.Array, pa.Array]:
        """Return payloads and shapes, of rows that are tombstones alone none."""
        keep = np.flatnonzero(~bare)
        kept = rows.take(keep)
        payload, shape = self._payloads(changes, kept)
        places = np.full(len(bare), -1, np.int64)
        places[keep] = np.arange(len(keep))
        back = pa.array(places, mask=bare)
        return payload.take(back), pc.fill_null(shape.take(back), "")

    def _payloads(self, changes: Changes, rows: Rows) -> tuple[pa.Array, pa.Array]:
        """Return the payload of each row, and its shape."""
        size = len(rows.at)
        if self._joint is not None:
            refuse_missing(rows.missing, changes)
            return self._encoded(changes, rows, Shape(), rows.values, {}, None), self._joint.shapes(rows.values)
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
                raise PublicDataError(
                    Fault(
                        Place(changes.file, int(line)),
                        f"table {changes.table}, column {column}: the record has no value, and "
                        f"{self._layout.format} cannot express that; record full rows (REPLICA IDENTITY FULL), send "
                        "missing values as null (Missing_Values: NULL; {hvr_missing} names them), or use a format in "
                        "JSON",
                    )
                )
        return {}

    def _encoded(
        self, changes: Changes, rows: Rows, shape: Shape, values: Arrays, missing: Missing, chosen: Ints | None
    ) -> pa.Array:
        if shape not in self._encoders:
            self._encoders[shape] = messages.value_encoder(self._rows.recipe, self._channel, shape)
        try:
            encoded = self._encoders[shape](values, missing)
            if self._format.text:
                return text_bytes(encoded, self._layout.options)
        except (UnsupportedValue, InvalidValue) as error:
            if self._joint is not None:  # of which row is found where each table is encoded alone
                raise DataError(Fault(Place(changes.file), f"{error}")) from None
            at = error.index if chosen is None else int(chosen[error.index])
            column = f", column {error.column}" if isinstance(error, UnsupportedValue) else ""
            place = Place(changes.file, int(changes.line[rows.at[at]]))
            raise DataError(Fault(place, f"table {changes.table}{column}: {error}")) from None
        return encoded

    def above(self, fragments: pa.RecordBatch) -> tuple[Ints, Ints]:
        """Return the places of rows whose messages would be above the maximum size, and the sizes (I5)."""
        limit, none = self._channel.messages.max_bytes, np.empty(0, np.int64)
        if not fragments.num_rows:
            return none, none
        plain = fragments["headers"].null_count == fragments.num_rows
        longest = sum(pc.max(pc.binary_length(fragments[name])).as_py() or 0 for name in ("payload", "key"))
        pairs = pc.unique(pc.binary_join_element_wise(fragments["table"], fragments["shape"], "\0")).to_pylist()
        frame = max(self._framing.frame_bytes(*pair.split("\0")) for pair in pairs)
        if plain and self._framing.with_growth(longest + frame) <= limit:
            return none, none
        sizes = self._framing.sizes(fragments)
        over = np.flatnonzero(sizes > limit)
        return over, sizes[over]
