"""Change rows of one table -> the rows of its messages: as they are, old and new as one, or in an envelope."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first, mask, same_values
from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.counters import CycleCounters
from integrator.contracts.operations import BEFORE_UPDATE, TOMBSTONED, TRUNCATE, UPDATE
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import TableRecipe
from integrator.encode import messages
from integrator.encode.envelopes import ENVELOPES
from integrator.encode.envelopes.contract import IMAGE, with_image
from integrator.engine.arrays import Ints, Mask
from integrator.errors import DataError, Fault, Place, PublicDataError
from integrator.formats.records import Arrays, Encoder, InvalidValue, Missing, UnsupportedValue
from integrator.transform.columns import Columns, to_columns
from integrator.transform.events import Events, events
from integrator.transform.expression import RunClock

_WHOLE_ROWS = (
    "have the database record whole rows (PostgreSQL: REPLICA IDENTITY FULL; MySQL, MariaDB: binlog_row_image = FULL)"
)


@dataclass(frozen=True)
class Rows:
    """Rows to encode: values and missing masks by message column; `at` is each row's place among the change rows.

    key_at: the change row that has its key. retired: the one whose key is gone with it, or -1.
    """

    values: Arrays
    missing: Missing
    truncate: Mask
    at: Ints
    op: pa.Array
    key_at: Ints
    retired: Ints

    def take(self, keep: Ints) -> Rows:
        """Return the rows at these places."""
        at = pa.array(keep)
        return Rows(
            values={name: column.take(at) for name, column in self.values.items()},
            missing={name: gone[keep] for name, gone in self.missing.items() if gone[keep].any()},
            truncate=self.truncate[keep],
            at=self.at[keep],
            op=self.op.take(at),
            key_at=self.key_at[keep],
            retired=self.retired[keep],
        )


def refused(changes: ChangeBatch, at: int, error: UnsupportedValue | InvalidValue) -> DataError:
    """Return the error for a value of the change row `at` that cannot be written."""
    column = f", column {error.column}" if isinstance(error, UnsupportedValue) else ""
    place = Place(changes.file, int(changes.line[at]))
    return DataError(Fault(place, f"table {changes.table_of(at)}{column}: {error}"))


class RowMaker:
    """Makes the rows of a table's messages.

    recipe: that of the rows that it makes, with the field of encoded images where there are such.
    """

    def __init__(self, recipe: TableRecipe, channel: Recipe, encode: Encoder | None = None) -> None:
        """Have `encode`, if it is given, encode the images before the envelopes around them are made."""
        self._recipe, self._channel, self._encode = recipe, channel, encode
        self._layout = channel.messages.layout
        self._format = messages.format_of(channel.messages.layout)
        self.recipe = with_image(recipe) if encode else recipe
        self._old = messages.old_fields(recipe, channel.messages.layout)

    def rows(self, changes: ChangeBatch, clock: RunClock, counters: CycleCounters) -> tuple[ChangeBatch, Columns, Rows]:
        """Return the change rows that rows are made of, their fields, and the rows; counts what is left out (I4)."""
        if not self._recipe.before_updates:
            changes = self._without(BEFORE_UPDATE, changes, counters)
        if not (self._layout.envelope or self._layout.before):
            changes = self._sent(changes, counters)
        found = None
        if self._layout.envelope:
            changes, found = self._in_events(changes, counters)
        columns = to_columns(changes, self._recipe, self._channel, clock, counters)
        if found is not None:
            return changes, columns, self._enveloped(changes, columns, found)
        if self._layout.before:
            return changes, columns, self._merged(changes, columns, counters)
        every = np.arange(len(changes))
        retired = np.where(mask(pc.is_in(changes.op, pa.array(TOMBSTONED, pa.int8()))), every, -1)
        single = self._layout.single_value
        missing = {name: gone for name, gone in columns.missing.items() if not single or name == single}
        made = Rows(columns.values, missing, columns.truncate, every, changes.op, every, retired)
        return changes, columns, made

    def _count(self, op: np.ndarray[tuple[int], np.dtype[np.int8]], counters: CycleCounters) -> None:
        how = f"envelope {self._layout.envelope}" if self._layout.envelope else f"style {self._recipe.style}"
        how = "an outbox" if self._recipe.outbox else how
        for code, count in zip(*np.unique(op, return_counts=True), strict=True):
            reason = f"op {code} in {how}"
            counters.skipped(reason, int(count))

    def _without(self, operation: int, changes: ChangeBatch, counters: CycleCounters) -> ChangeBatch:
        left_out = mask(pc.equal(changes.op, operation))
        if left_out.any():
            self._count(np.full(int(left_out.sum()), operation, np.int8), counters)
        return changes.filter(~left_out)

    def _sent(self, changes: ChangeBatch, counters: CycleCounters) -> ChangeBatch:
        """Return the changes that the replication style sends; the others are counted (I4)."""
        if self._recipe.outbox == "FATAL":
            self._refuse_updates(changes)
        operations = self._operations()
        sent = mask(pc.is_in(changes.op, pa.array(operations, pa.int8())))
        if not sent.all():
            self._count(changes.op.to_numpy(zero_copy_only=False)[~sent], counters)
        return changes.filter(sent)

    def _refuse_updates(self, changes: ChangeBatch) -> None:
        at = first(mask(pc.equal(changes.op, UPDATE)))
        if at is not None:
            text = "an update of an outbox, whose rows are events; leave it as it was inserted, or set Outbox: WARN"
            place = Place(changes.file, int(changes.line[at]))
            raise PublicDataError(Fault(place, f"table {changes.table_of(at)}: {text}"))

    def _operations(self) -> tuple[int, ...]:
        return (
            tuple({*self._recipe.operations, *TOMBSTONED}) if self._recipe.bare_tombstones else self._recipe.operations
        )

    def _events(
        self, changes: ChangeBatch, operations: tuple[int, ...], counters: CycleCounters, *, split: bool
    ) -> Events:
        found = events(changes.op.to_numpy(zero_copy_only=False), changes.is_before_image, split_key_updates=split)
        if found.unpaired:
            counters.skipped("before images of updates without their after images", found.unpaired)
        sent = np.isin(found.op, operations)
        if not sent.all():
            self._count(found.op[~sent], counters)
        return found.filter(sent)

    def _in_events(self, changes: ChangeBatch, counters: CycleCounters) -> tuple[ChangeBatch, Events]:
        """Return the change rows that envelopes are made of, and the events: every operation that the envelope has."""
        envelope = ENVELOPES[self._layout.envelope]
        operations = tuple(op for op in envelope.operations if op != TRUNCATE or self._recipe.truncates)
        found = self._events(changes, operations, counters, split=envelope.split_key_updates)
        used = np.zeros(len(changes), bool)
        for rows in (found.row, found.image, found.retired, *([found.before] if envelope.has_before else [])):
            used[rows[rows >= 0]] = True
        if used.all():
            return changes, found
        return changes.filter(used), found.renumbered(np.where(used, np.cumsum(used) - 1, -1))

    def _enveloped(self, changes: ChangeBatch, columns: Columns, found: Events) -> Rows:
        """Return envelopes of before and after images."""
        envelope = ENVELOPES[self._layout.envelope]
        columns = self._with_images(changes, columns, found)
        values = envelope.rows(found, changes, columns, self.recipe, self._channel)
        none = np.zeros(len(found), bool)
        return Rows(values, {}, none, found.row, pa.array(found.op), found.image, found.retired)

    def _with_images(self, changes: ChangeBatch, columns: Columns, found: Events) -> Columns:
        """Return the fields of images, and the encoded images. Raises DataError."""
        envelope = ENVELOPES[self._layout.envelope]
        values, missing = {**envelope.image_values(changes), **columns.values}, columns.missing
        if envelope.placeholder is not None:
            after = np.zeros(len(changes), bool)
            after[found.after[found.after >= 0]] = True
            values, missing = self._with_placeholders(changes, values, missing, after), {}
        elif self._format.missing != "omit":
            self.check_accepted(missing, changes, np.arange(len(changes)))
            missing = {}
        if self._encode is None:
            return replace(columns, values=values, missing={})
        try:
            images = self._encode(values, missing)
        except UnsupportedValue as error:
            raise refused(changes, error.index, error) from None
        return replace(columns, values={IMAGE: images, **values}, missing={})

    def _with_placeholders(self, changes: ChangeBatch, values: Arrays, missing: Missing, after: Mask) -> Arrays:
        """Return values with what the envelope has for those that are missing. Raises DataError."""
        envelope = ENVELOPES[self._layout.envelope]
        before = ~after & ~mask(pc.equal(changes.op, TRUNCATE))
        result = dict(values)
        for field in self._recipe.fields:
            gone = missing.get(field.name)
            if gone is None or envelope.placeholder is None:
                continue
            required = envelope.required and not field.nullable
            for is_after, which in ((True, gone & after), (False, gone & before & required)):
                if not which.any():
                    continue
                absent = envelope.absent(field.type, field.default)
                stands = envelope.placeholder(field.type) if is_after else absent
                if stands is None:
                    raise self._no_placeholder(changes, field.name, int(np.flatnonzero(which)[0]))
                result[field.name] = pc.if_else(pa.array(which), stands, result[field.name])
        return result

    def _no_placeholder(self, changes: ChangeBatch, column: str, at: int) -> PublicDataError:
        """Return the error for a missing value that the envelope has nothing for."""
        return PublicDataError(
            Fault(
                Place(changes.file, int(changes.line[at])),
                f"table {changes.table_of(at)}, column {column}: the record has no value, and "
                f"{self._layout.envelope} has placeholders for text, bytes, and lists of text and integers "
                f"only; {_WHOLE_ROWS}",
            )
        )

    def check_accepted(self, missing: Missing, changes: ChangeBatch, at: Ints) -> None:
        """Raise DataError for missing values that may not be sent as null either, in a format without such.

        at: of each row the change row.
        """
        for name, gone in missing.items():
            place = first(gone)
            if place is not None and not self._recipe.missing_as_null:
                row = int(at[place])
                raise PublicDataError(
                    Fault(
                        Place(changes.file, int(changes.line[row])),
                        f"table {changes.table_of(row)}, column {name}: the record has no value, and "
                        f"{self._layout.format} cannot express that; {_WHOLE_ROWS}, send missing values as null "
                        "(Missing_Values: NULL; {hvr_missing} names them), or use a format in JSON",
                    )
                )

    def _merged(self, changes: ChangeBatch, columns: Columns, counters: CycleCounters) -> Rows:
        """Return one row for each update, its old values beside the new ones: BeforeUpdateColumns."""
        found = self._events(changes, self._operations(), counters, split=False)
        none = (found.before < 0) | (found.after < 0)
        at, before = pa.array(found.row), pa.array(found.before, mask=none)
        values = {name: column.take(at) for name, column in columns.values.items()}
        missing = {name: gone[found.row] for name, gone in columns.missing.items() if gone[found.row].any()}
        omits = self._format.missing == "omit"
        for field in self._old:
            old = columns.values[field.name].take(before)
            gone = none if omits else np.zeros(len(found), bool)
            if field.name in columns.missing:
                gone = gone | (columns.missing[field.name][found.before] & ~none)
            if self._layout.before_changed:
                gone = gone | same_values(old, values[field.name])
            values[self._layout.before + field.name] = old
            if gone.any():
                missing[self._layout.before + field.name] = gone
        truncate = columns.truncate[found.row]
        return Rows(values, missing, truncate, found.row, pa.array(found.op), found.image, found.retired)
