"""The values of rows of many tables, each converted with all others of its kind; those that are refused, by name."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import every_refused, first_refused, reason
from integrator.contracts.change_batch import BETWEEN_NAMES
from integrator.decode.json.document import Document
from integrator.decode.json.shapes import CodecIds, Layout
from integrator.decode.json.slices import raw_of
from integrator.decode.lines.lines import cut
from integrator.decode.refusal import report
from integrator.decode.rows.coding import Coding
from integrator.decode.rows.runs import Rows
from integrator.decode.rows.without_form import NullingCoding, OrNull, nulled
from integrator.decode.text.refused import ValueRefused
from integrator.engine.arrays import Ints
from integrator.engine.values import Slices
from integrator.errors import MASKED, DataError, Fault, shown
from integrator.schema import Column, Table, describe

KINDS = CodecIds()
"""The kinds of values that this process has met."""
_REFUSED = (ValueRefused, pa.ArrowInvalid, pa.ArrowNotImplementedError)


@dataclass(frozen=True)
class Conversion:
    """The conversion of the values of rows, which are in a document, by their layout."""

    rows: Rows
    document: Document
    coding: Coding
    layout: Layout
    without_form: dict[str, int] = field(default_factory=dict)
    """How many values became null, for their type does not have them, by what they are counted as."""
    _lacking: list[tuple[int, str, Ints]] = field(default_factory=list)
    """The columns of these values: their slots, their names, and the rows."""

    def arrays(self, values: Slices) -> list[pa.Array]:
        """Return the values of each kind. Raises DataError for the first that is refused."""
        arrays = []
        for kind, start, stop in zip(self.layout.kinds, self.layout.bounds[:-1], self.layout.bounds[1:], strict=True):
            own = values.part(int(start), int(stop))
            try:
                arrays.append(self._converted(own, KINDS.all[kind]))
            except ValueRefused as error:
                left = self._reported(values, (int(start), int(stop)), KINDS.all[kind], error)
                arrays.append(self._converted(left, KINDS.all[kind]))
            if isinstance(KINDS.all[kind], OrNull):
                self._count(np.flatnonzero(nulled(self.document.text, own, arrays[-1])) + start)
        return arrays

    def _count(self, values: Ints) -> None:
        """Count values that became null, by their places."""
        if not len(values):
            return
        sizes = np.repeat(np.diff(self.layout.rows), np.diff(self.layout.slots))
        slots = np.flatnonzero(sizes)
        slots = slots[np.argsort(self.layout.base[slots])]
        of_value = slots[np.searchsorted(self.layout.base[slots], values, side="right") - 1]
        for slot in np.unique(of_value).tolist():
            own = values[of_value == slot]
            _, place, row = self.layout.place_of(int(own[0]))
            table = self.rows.table_of(row)
            reason = f"null for values that the type lacks: {table.full_name}.{table.columns[place].name}"
            self.without_form[reason] = self.without_form.get(reason, 0) + len(own)
            self._lacking.append((slot, table.columns[place].name, own - own[0] + row))

    def lacking(self, size: int) -> pa.Array | None:
        """Return of each of all rows `ChangeBatch.without_form`, given their number; None where none has any."""
        if not self._lacking:
            return None
        found = sorted(self._lacking, key=lambda one: one[0])
        row = np.concatenate([rows for *_, rows in found])
        name = np.repeat([name for _, name, _ in found], [len(rows) for *_, rows in found])
        counts, names = np.bincount(row, minlength=size), pa.array(name[np.argsort(row, kind="stable")])
        lists = pa.ListArray.from_arrays(pa.array(np.append(0, np.cumsum(counts)), pa.int32()), names)
        return pc.if_else(pa.array(counts > 0), pc.binary_join(lists, BETWEEN_NAMES), None)

    def _reported(self, values: Slices, bounds: tuple[int, int], kind: Hashable, error: ValueRefused) -> Slices:
        """Report values of a kind, which are between bounds, of which the first is refused.

        Return them without those that are.
        """
        own = values.part(*bounds)
        refused: list[int] = []

        def others() -> list[Fault]:
            found = list(self._all_refused(own, kind, error))
            refused.extend(one.index for one in found)
            return [self._refused(values, bounds[0], one) for one in found]

        report(DataError(self._refused(values, bounds[0], error), others), self.document.lines.faults)
        left = Slices(own.start.copy(), own.end.copy(), own.escaped)
        left.start[refused] = left.end[refused] = 0
        return left

    def _all_refused(self, own: Slices, kind: Hashable, error: ValueRefused) -> Iterator[ValueRefused]:
        """Yield all values of a kind that are refused, given the first."""
        for index in error.every:
            yield error.at(index)
        left = np.delete(np.arange(len(own.start)), list(error.every))
        rest = own.take(left)
        if error.every and self._accepts(rest, kind):
            return
        for index in every_refused(len(left), lambda begin, stop: self._accepts(rest.part(begin, stop), kind)):
            yield self._alone(rest, index, kind).at(int(left[index]))

    def _accepts(self, at: Slices, kind: Hashable) -> bool:
        try:
            self.coding.convert(self.document.text, at, kind)
        except _REFUSED:
            return False
        return True

    def _converted(self, at: Slices, kind: Hashable) -> pa.Array:
        """Return values of a kind. Raises ValueRefused with the place of the first that is refused."""
        convert = self.coding.convert

        try:
            return convert(self.document.text, at, kind)
        except ValueRefused:
            raise
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            index = first_refused(len(at.start), lambda start, stop: self._accepts(at.part(start, stop), kind))
        raise self._alone(at, index, kind) from None

    def _alone(self, at: Slices, index: int, kind: Hashable) -> ValueRefused:
        """Return the error of a value that is refused, converted alone."""
        try:
            self.coding.convert(self.document.text, at.part(index, index + 1), kind)
        except ValueRefused as error:
            return error.at(index)
        except _REFUSED as error:
            return ValueRefused(index, reason(error))
        raise AssertionError("a value was refused in a batch and accepted alone")

    def _refused(self, values: Slices, start: int, error: ValueRefused) -> Fault:
        """Return the fault of a value that is refused."""
        part, slot, row = self.layout.place_of(start + error.index)
        table = self.rows.table_of(row)
        column = table.columns[slot]
        value = self._text(values, start + error.index)
        text = str(error)
        if column.masked:
            text = f"{MASKED}; it is no {describe(column.type)}"
        elif not error.is_whole:
            given = shown(json.loads(value)) if value.startswith('"') else cut(value)
            text = f"{given} is no {describe(column.type)}" + (f" ({text})" if text else "")
        if isinstance(self.coding, NullingCoding) and table.key:  # of a database nobody needs the position in the spool
            text += f", in the row with {self._key(values, part, row, table)}"
        reason = f"table {table.name}, column {column.name}: {text}; {self._remedy(table, column)}"
        return Fault(self.rows.where(row), reason)

    def _key(self, values: Slices, part: int, row: int, table: Table) -> str:
        """Return the key of a row, for people."""
        parts = []
        for place, column in enumerate(table.columns):
            if column.name in table.key:
                text = self._text(values, self.layout.value_at(part, place, row))
                parts.append(f"{column.name} = {MASKED if column.masked else cut(text) if text else 'no value'}")
        return ", ".join(parts)

    def _text(self, values: Slices, at: int) -> str:
        """Return a value as JSON; empty text where there is none."""
        return raw_of(self.document.text, values.part(at, at + 1))[0].as_py() or ""

    def _remedy(self, table: Table, column: Column) -> str:
        """Return what is to be done with a value that is refused: of a database, nobody mends the record."""
        if not isinstance(self.coding, NullingCoding):
            return "mend the record or the table definition"
        return (
            f"the type in messages does not have it: text_columns: [{table.full_name}.{column.name}] at the location "
            "(--text-columns of run) sends the column as the text that the database prints"
            + ("" if column.name in table.key else ", and values_without_form: null such values as null")
        )
