"""Change rows: the contract between dialects and everything after them.

A `Changes` holds rows of one table, a `MultiTableChanges` those of several (multi_table_changes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import mask
from integrator.contracts.operations import BEFORE_KEY_UPDATE, BEFORE_UPDATE, UPDATE
from integrator.engine.arrays import Ints, Mask
from integrator.errors import ColumnsFound
from integrator.schema import Table


@dataclass(frozen=True)
class RowTables:
    """The tables of rows. of_row: of each row, the place of its table in `tables`."""

    of_row: Ints
    tables: tuple[Table, ...]

    def where(self, mask: Mask) -> RowTables:
        """Return the tables of the rows for which `mask` is True."""
        return RowTables(self.of_row[mask], self.tables)

    def names(self, what: Literal["name", "base_name", "schema"]) -> pa.Array:
        """Return of each row the name, the name in the source, or the schema of its table."""
        return pa.array([getattr(table, what) for table in self.tables], pa.string()).take(pa.array(self.of_row))


@dataclass(frozen=True)
class Changes:
    """Change rows of one table, in source order. An update is two adjacent rows: before image, then after image.

    columns: typed values by the table's column names; null where the value is null or missing.
    missing: for columns that have any, True where the source record has no value (which is not null).
    op: int8, HVR's operation codes. integ_seq: 45 characters, text order = change order. tx_seq: 20 hex digits.
    countdown: int32, rows left in the transaction with this one; 0 where its end is not known.
    cap_tstamp: timestamp(us, UTC), the commit in the source; null where the source does not say.
    cap_user: string; null where the source does not say.
    line: int64, the line of the file that each row was read from. order: int64, its place among all rows of the batch.
    before_images: which rows are before images whose after image is the next row; None: found from op and order.
    left_out: as missing, for values that the source has and the message will not (Oversized_Rows: SKELETON).
    of_tables: the tables of rows that are encoded together as if of one.
    """

    table: str
    file: str
    columns: dict[str, pa.Array]
    missing: dict[str, Mask]
    op: pa.Array
    integ_seq: pa.Array
    tx_seq: pa.Array
    countdown: pa.Array
    cap_tstamp: pa.Array
    cap_user: pa.Array
    line: Ints
    order: Ints
    left_out: dict[str, Mask] = field(default_factory=dict)
    before_images: Mask | None = None
    of_tables: RowTables | None = None

    def __len__(self) -> int:
        return len(self.op)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that the rows are of: one."""
        return (self.table,)

    @property
    def own(self) -> tuple[()]:
        """No tables with columns of their own."""
        return ()

    def split_by_table(self) -> list[Changes]:
        """Return the rows of each table."""
        return [self]

    @property
    def gaps(self) -> dict[str, Mask]:
        """The values that messages will not have, missing in the source or left out, by column."""
        names = {**self.missing, **self.left_out}
        none = np.zeros(len(self), bool)
        return {name: self.missing.get(name, none) | self.left_out.get(name, none) for name in names}

    @property
    def is_before_image(self) -> Mask:
        """Return which rows are before images whose after image is the next row; computed before rows are skipped."""
        if self.before_images is not None:
            return self.before_images
        op = self.op.to_numpy(zero_copy_only=False)
        is_before_image = np.zeros(len(op), bool)
        is_before_image[:-1] = ((op == BEFORE_KEY_UPDATE) | (op == BEFORE_UPDATE))[:-1] & (op[1:] == UPDATE)
        is_before_image[:-1] &= np.diff(self.order) == 1
        return is_before_image

    def slice(self, table: str, start: int, size: int) -> Changes:
        """Return `size` rows from `start` on, which are of `table`."""
        end = start + size
        return Changes(
            table=table,
            file=self.file,
            columns={name: column.slice(start, size) for name, column in self.columns.items()},
            missing={name: gone[start:end] for name, gone in self.missing.items() if gone[start:end].any()},
            op=self.op.slice(start, size),
            integ_seq=self.integ_seq.slice(start, size),
            tx_seq=self.tx_seq.slice(start, size),
            countdown=self.countdown.slice(start, size),
            cap_tstamp=self.cap_tstamp.slice(start, size),
            cap_user=self.cap_user.slice(start, size),
            line=self.line[start:end],
            order=self.order[start:end],
            left_out={name: gone[start:end] for name, gone in self.left_out.items() if gone[start:end].any()},
            before_images=self.is_before_image[start:end],
        )

    def where(self, mask: Mask) -> Changes:
        """Return the rows for which `mask` is True; two rows that become neighbours by that are no update."""
        if mask.all():
            return self
        keep = pa.array(mask)
        whole = self.is_before_image & np.append(mask[1:], [False])
        return Changes(
            table=self.table,
            file=self.file,
            columns={name: column.filter(keep) for name, column in self.columns.items()},
            missing={name: gone[mask] for name, gone in self.missing.items()},
            op=self.op.filter(keep),
            integ_seq=self.integ_seq.filter(keep),
            tx_seq=self.tx_seq.filter(keep),
            countdown=self.countdown.filter(keep),
            cap_tstamp=self.cap_tstamp.filter(keep),
            cap_user=self.cap_user.filter(keep),
            line=self.line[mask],
            order=self.order[mask],
            left_out={name: gone[mask] for name, gone in self.left_out.items()},
            before_images=whole[mask],
            of_tables=None if self.of_tables is None else self.of_tables.where(mask),
        )

    def names(self, what: Literal["name", "base_name", "schema"], table: Table) -> pa.Array:
        """Return of each row the name, the name in the source, or the schema of its table; `table` if all are of it."""
        if self.of_tables is None:
            return pa.repeat(pa.scalar(getattr(table, what), pa.string()), len(self))
        return self.of_tables.names(what)


def together(parts: Sequence[Changes]) -> Changes:
    """Return the rows of parts of one file, with the same columns, one after another; all as the dialect made them."""

    def arrays(name: str) -> pa.Array:
        return pa.concat_arrays([getattr(part, name) for part in parts])

    def gone(name: str) -> Mask:
        return np.concatenate([part.missing.get(name, np.zeros(len(part), bool)) for part in parts])

    return Changes(
        table=parts[0].table,
        file=parts[0].file,
        columns={name: pa.concat_arrays([part.columns[name] for part in parts]) for name in parts[0].columns},
        missing={name: gone(name) for name in parts[0].columns if any(name in part.missing for part in parts)},
        op=arrays("op"),
        integ_seq=arrays("integ_seq"),
        tx_seq=arrays("tx_seq"),
        countdown=arrays("countdown"),
        cap_tstamp=arrays("cap_tstamp"),
        cap_user=arrays("cap_user"),
        line=np.concatenate([part.line for part in parts]),
        order=np.concatenate([part.order for part in parts]),
    )


def null_before(changes: Changes, added: Sequence[tuple[str, int, int]], ordinal: int) -> Changes:
    """Return changes of the file `ordinal` in which added columns are null, not missing, where there were none yet.

    added: columns, each with the number of the file and the line that has it first. Raises ColumnsFound where one comes
    earlier than that: tasks of a cycle read files in any order.
    """
    missing = dict(changes.missing)
    for name, file, line in added:
        before = np.full(len(changes), ordinal < file) | ((ordinal == file) & (changes.line < line))
        valued = before & mask(pc.is_valid(changes.columns[name]))
        if valued.any():
            first = int(changes.line[valued].min())
            text = f"{changes.file}:{first}: table {changes.table}: {name} is here before where it was found first"
            raise ColumnsFound(text, {changes.table: {name: ("", first)}}, ordinal)
        if name in missing:
            missing[name] = missing[name] & ~before
    return replace(changes, missing={name: gone for name, gone in missing.items() if gone.any()}) if added else changes
