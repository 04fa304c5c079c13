"""The images of records as objects of JSON: the values of the columns of all tables of a batch."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from integrator.arrow.arrays import same_values
from integrator.arrow.column_slices import ColumnSlices, ColumnStore
from integrator.contracts.segment import Segment
from integrator.contracts.whole_event import EVENT
from integrator.decode.column_names import in_other_case, is_meant
from integrator.decode.contract import Reading
from integrator.decode.json.objects import Objects, names_of
from integrator.decode.json.shapes import NO_COLUMN, ColumnIndex, Layout
from integrator.decode.json.slices import raw_of
from integrator.decode.refusal import refuse
from integrator.decode.rows import key_only
from integrator.decode.rows.coding import Coding
from integrator.decode.rows.conversion import KINDS, Conversion
from integrator.decode.rows.runs import DecodedColumns, Fill, Rows, TableRun
from integrator.decode.unknown_columns import Finds, Others, types_found
from integrator.engine.arrays import Ints, Mask, Places, words
from integrator.engine.grid import Found, Grid, Spans, count_present, find_values, rows_with_values
from integrator.engine.pairs import KnownValues, clear_known, differing_pairs, fill_pairs, values_in_both
from integrator.engine.values import Slices
from integrator.errors import Fault, Place, PublicDataError, shown
from integrator.schema import Table

COLUMNS = "an object of columns"
"""What an image is."""
_NO_PLACEHOLDERS = KnownValues.of([])
_NO_PLACES = np.empty((3, 0), np.int64)
_LEARNED = 20_000
"""Names of records that are no columns, or mean one, for a table at most."""


Declared = Callable[[str, int], str]
Retyped = Callable[[Table, int], Mapping[str, tuple[str, str, bool]]]
IsMetadata = Callable[[str, int], bool]
"""Whether a name is no column though it is among them, by the variant of its record."""


def nothing_declared(_name: str, _variant: int) -> str:
    """Return that no datatype is declared."""
    return ""


def nothing_retyped(_table: Table, _variant: int) -> Mapping[str, tuple[str, str, bool]]:
    """Return that tables have the types of all records."""
    return {}


def no_metadata(_name: str, _variant: int) -> bool:
    """Return that every name is a column's."""
    return False


@dataclass(frozen=True)
class JsonImages:
    """The after and the before image of each record.

    is_metadata: whether a name is no column though it is among them. fold: names of columns may be in other case than
    the table's. unavailable: values that stand for one that is not there. key_only: whether before images have nothing
    but the key: all, none, or those that are so, for all beside the key is null, or a placeholder of `empty`. variant:
    of each record, by what its values are read. declared: the datatype that the schema of a variant's records has of a
    name; nothing where it has none. retyped: columns that have another type in the schema of a variant's records: that,
    the table's, and whether it may be null. infers: whether a column that is added has the type of its values in JSON,
    and not text. whole: whether a value that an image does not have is null. hidden: nodes of members that are missing
    values.
    """

    after: Objects
    before: Objects
    coding: Coding
    is_metadata: IsMetadata = no_metadata
    fold: bool = False
    unavailable: KnownValues = _NO_PLACEHOLDERS
    key_only: str = "FULL"
    empty: KnownValues = _NO_PLACEHOLDERS
    variant: Ints | None = None
    declared: Declared = nothing_declared
    retyped: Retyped = nothing_retyped
    infers: bool = False
    whole: bool = False
    hidden: Places | None = None
    joint: ClassVar[bool] = True

    def variants(self) -> Ints | None:
        """Return of each record a number by which its values are read; None where it is the same for all."""
        return self.variant

    def columns(self, rows: Rows, reading: Reading, fill: Fill) -> DecodedColumns:
        """Return the columns of rows. Raises DataError, ColumnsFound."""
        return _Batch(self, rows, reading).valued(fill)


class _Batch:
    """The rows of a batch whose values are to be found."""

    def __init__(self, images: JsonImages, rows: Rows, reading: Reading) -> None:
        self.images, self.rows, self.reading = images, rows, reading
        self.document = images.after.document
        self.text = self.document.text
        bounds = rows.bounds
        self.part = np.repeat(np.arange(len(rows.parts), dtype=np.int32), np.diff(bounds))

        def nodes(name: str) -> Places:
            before, after = getattr(images.before, name)[rows.record], getattr(images.after, name)[rows.record]
            return np.asarray(np.where(rows.is_before, before, after), np.int32)

        self.spans = Spans(nodes("begin"), nodes("stop"), self.part)

    def valued(self, fill: Fill) -> DecodedColumns:
        """Return the columns of the rows."""
        layout, found = self._find()
        grid = Grid(layout.base, layout.slots, layout.rows, self.part)
        unknown = self._unknown(found, layout)
        self._check_twice(found)
        values = found.values
        if len(self.images.unavailable.bounds) > 1:
            clear_known(self.text, values, self.images.unavailable)
        if self.images.hidden is not None and len(self.images.hidden):
            self._hide(values, self.document.nodes.start[self.images.hidden])
        if self.images.key_only != "FULL":
            key_only.clear(self.text, self.rows, (layout, grid), values, (self.images.key_only, self.images.empty))
        after = self.rows.after
        if fill.needs_values:
            self._check_values(grid, values, but=after - 1 if fill.before else after[:0])
        if len(after) and (fill.after or fill.before) and not self.images.whole:
            fill_pairs(grid, after, values, fill.after, fill.before)
        conversion = Conversion(self.rows, self.document, self.images.coding, layout)
        arrays = conversion.arrays(values)
        changed = self._changed_keys(layout, grid, values, arrays)
        segments, counts = self._parts(layout, values, arrays), unknown | conversion.without_form
        return DecodedColumns(segments, changed, counts, conversion.lacking(len(self.part)))

    def _hide(self, values: Slices, starts: Places) -> None:
        """Take away the values that begin at some places of the text."""
        at = np.flatnonzero((values.end > 0) & np.isin(values.start, starts))
        values.start[at], values.end[at] = 0, 0

    def _find(self) -> tuple[Layout, Found]:
        """Find the values; names that are no columns, and are to be passed over, are learned, and not met again."""
        nodes = self.document.nodes
        while True:
            shapes, finds = list[ColumnIndex](), Finds()
            for shares in self.rows.parts:
                with finds.noted():
                    shapes.append(self.shape(shares[0]))
            finds.report()
            sizes = np.diff(self.rows.bounds).tolist()
            layout = Layout.of(shapes, sizes)
            found = find_values(
                words(self.text), nodes, self.spans, layout.names, layout.base, layout.rows, int(layout.bounds[-1])
            )
            if not (len(found.unknown_row) and self._learn(found)):
                return layout, found

    def shape(self, share: TableRun) -> ColumnIndex:
        """Return the columns of a table as its records have them."""
        key = self._key(share)
        if key not in self.reading.shapes:
            self.reading.shapes[key] = self._shape(share, self.reading.learned.get(key, {}))
        return self.reading.shapes[key]

    def _key(self, share: TableRun) -> tuple[Hashable, ...]:
        coding = self.images.coding
        return (share.table.name, coding.key, coding.variant_key(share.variant))

    def _shape(self, share: TableRun, learned: Mapping[str, str]) -> ColumnIndex:
        table, coding = share.table, self.images.coding
        if self.reading.follows_schemas and (retyped := self.images.retyped(table, share.variant)):
            raise types_found(self.rows.file, table.name, retyped)
        columns = [(column.name, KINDS.number(coding.kind(table, column, share.variant))) for column in table.columns]
        place = {column.name: at for at, column in enumerate(table.columns)}
        others = [(name, place.get(meant, NO_COLUMN)) for name, meant in learned.items() if name not in place]
        required = [column.name for column in table.columns if not column.nullable]
        return ColumnIndex(columns, table.key, required, others)

    def _learn(self, found: Found) -> bool:
        """Learn the names of members that are no columns or mean one; return whether there were any."""
        names, part = names_of(self.document, found.unknown_node), self.part[found.unknown_row]
        new = False
        for own, code in {(int(part[at]), int(names.codes[at])) for at in _firsts(part, names.codes)}:
            for share in self.rows.parts[own]:
                new |= self._learned(share, names.texts[code])
        return new

    def _learned(self, share: TableRun, name: str) -> bool:
        key = self._key(share)
        meaning, known = _meaning(share, name, self.images), self.reading.learned.setdefault(key, {})
        if meaning is None or name in known:
            return False
        if len(known) >= _LEARNED:
            raise PublicDataError(
                Fault(
                    Place(self.rows.file),
                    f"table {share.table.name}: its records have more than {_LEARNED} names that are no columns of it",
                )
            )
        known[name] = meaning
        self.reading.shapes.pop(key, None)
        return True

    def _unknown(self, found: Found, layout: Layout) -> dict[str, int]:
        """Return how many values there are of columns that tables do not have. Raises DataError, ColumnsFound."""
        row, node = found.unknown_row, found.unknown_node
        if not len(row):
            return {}
        names, at = names_of(self.document, node), Slices.of_nodes(self.document.nodes, node)
        lines, bounds = self.rows.line[self.rows.record[row]], np.cumsum([share.size for share in self.rows.shares])
        owner = np.searchsorted(bounds, row, side="right")
        others = Others(self.rows.file, self.reading.unknown_columns, self.document.lines.faults)
        pairs = owner.astype(np.int64) << 32 | names.codes
        for pair in np.unique(pairs).tolist():
            which = np.flatnonzero(pairs == pair)
            values, rows = raw_of(self.text, at.take(which)), row[which]
            table, name, part = self.rows.shares[pair >> 32].table, names.texts[pair & 0xFFFFFFFF], self.part[rows[0]]
            for column in in_other_case(table, name):
                has = layout.have(column, int(part), rows, found.values.end)
                others.take_for(table, name, column, lines[which[~has]])
            declared = self.images.declared(name, self.rows.shares[pair >> 32].variant)
            others.add(table, name, lines[which], values, infers=self.images.infers, declared=declared)
        return others.counts()

    def _check_twice(self, found: Found) -> None:
        if found.twice < 0:
            return
        row, table = found.twice, self.rows.table_of(found.twice)
        image = self.images.before if self.rows.is_before[row] else self.images.after
        labels = names_of(self.document, image.take(self.rows.record[row : row + 1]).members()[0])
        known = self.reading.learned.get(self._key(self.rows.parts[int(self.part[row])][0]), {})
        columns = [known.get(labels.texts[code], labels.texts[code]) for code in labels.codes.tolist()]
        twice = next(name for place, name in enumerate(columns) if name in columns[:place])
        raise PublicDataError(
            Fault(self.rows.where(row), f"table {table.name}: column {shown(twice)} stands twice in one image")
        )

    def _changed_keys(self, layout: Layout, grid: Grid, values: Slices, arrays: Sequence[pa.Array]) -> Mask:
        """Return of which updates a key column has another value than before: 1.50 is 1.5."""
        after, is_key = self.rows.after, layout.flags("is_key")
        found = np.zeros(len(after), np.bool_)
        if len(after):
            differing_pairs(self.text, grid, after, values, is_key, found)
        at = np.flatnonzero(found)
        if not len(at):
            return found
        places = np.empty((3, values_in_both(grid, after[at], values.end, is_key, _NO_PLACES)), np.int64)
        values_in_both(grid, after[at], values.end, is_key, places)
        update, slot, new = places
        differ = np.zeros(len(at), bool)
        for place, array in enumerate(arrays):  # what is written differently may be the same
            own = layout.kind_at[slot] == place
            if own.any():
                of_kind = new[own] - layout.bounds[place]
                same = same_values(array.take(pa.array(of_kind)), array.take(pa.array(of_kind - 1)))
                differ[update[own][~same]] = True
        found[at] = differ
        return found

    def _check_values(self, grid: Grid, values: Slices, but: Ints) -> None:
        """Raise DataError for the first record that has no value of its row, as one whose image is missing.

        but: rows that need none.
        """
        has = np.empty(len(self.part), np.bool_)
        rows_with_values(grid, values.end, has)
        has[but] = True
        wrong = np.flatnonzero(~(has | self.rows.bare))
        if len(wrong):
            line = self.rows.line[self.rows.record[wrong]]
            order = np.argsort(line, kind="stable")

            def text(at: int) -> str:
                table = self.rows.table_of(int(wrong[order[at]])).name
                return f"table {table}: the record has no row image; configure its producer to write it"

            refuse(self.rows.file, line[order], np.ones(len(wrong), np.bool_), text)

    def _parts(self, layout: Layout, values: Slices, arrays: Sequence[pa.Array]) -> list[Segment]:
        """Return the columns of each part, with masks of the values that are missing."""
        start_of = layout.base - layout.bounds[layout.kind_at]
        size = np.repeat(np.diff(layout.rows), np.diff(layout.slots))
        present = np.empty(len(layout.base), np.int64)
        count_present(layout.base, size, values.end, present)
        whole = ColumnStore(arrays, layout.kind_at, start_of)
        full = self.images.whole | np.logical_and.reduceat(present == size, layout.slots[:-1])
        result = []
        for place, shape in enumerate(layout.shapes):
            first_slot, rows = int(layout.slots[place]), int(layout.rows[place + 1] - layout.rows[place])
            spans = ColumnSlices(whole, shape.by_name, first_slot, rows)
            missing = {}
            for slot, name in enumerate(() if full[place] else shape.by_name, first_slot):
                if present[slot] < rows:
                    missing[name] = values.end[layout.base[slot] : layout.base[slot] + rows] == 0
            result.append(self.rows.segment(place, spans, missing))
        return result


def _meaning(share: TableRun, name: str, images: JsonImages) -> str | None:
    """Return the column that a name means in other case, nothing for one that is no column, or None."""
    columns = share.table.columns
    same = [one.name for one in columns if is_meant(one, name) or (images.fold and one.name.lower() == name.lower())]
    if same:
        return same[0] if len(same) == 1 else None
    return "" if images.is_metadata(name, share.variant) or share.table.column(EVENT.name) is not None else None


def _firsts(part: Places, codes: Places) -> Ints:
    """Return a place of each pair of a part and a name."""
    pairs = part.astype(np.int64) << 32 | codes
    return np.asarray(np.unique(pairs, return_index=True)[1], np.int64)
