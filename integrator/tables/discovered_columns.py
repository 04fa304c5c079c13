"""Columns that were added to tables while the channel ran (HVR's AdaptDDL), or that have another type since.

They are kept in the channel's state directory.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import NamedTuple

from integrator import schema
from integrator.errors import ColumnsFound, EnvironmentFault
from integrator.schema import Column, Table

_DEFINED = -1
"""Instead of a file: the table's definition has the column."""


class DiscoveredColumn(NamedTuple):
    """A column: its datatype, and the number of the file and the line that has it first.

    before: the datatypes that it had. A column that has one again is text: one cycle may have records of both.
    nullable: whether it may be null.
    """

    datatype: str
    file: int
    line: int
    before: tuple[str, ...] = ()
    nullable: bool = True

    @property
    def is_added(self) -> bool:
        """Whether the table's definition has not the column."""
        return self.file != _DEFINED

    def retyped(self, datatype: str, *, nullable: bool) -> DiscoveredColumn:
        """Return it with the datatype that records were found to have."""
        known = (*self.before, self.datatype)
        if datatype == self.datatype:
            known = self.before
        elif datatype in known:
            datatype, known = "text", (*known, datatype)
        return self._replace(datatype=datatype, before=known, nullable=self.nullable or nullable)

    def of(self, column: Column) -> Column:
        """Return a column of a definition as records have it since."""
        is_any = self.datatype == "text" and self.before[-1:] in [(one,) for one in self.before[:-1]]
        kind = schema.described(self.datatype) if self.before else column.type
        return dataclasses.replace(column, type=kind, nullable=column.nullable or self.nullable, any_type=is_any)


Added = dict[str, dict[str, DiscoveredColumn]]
"""By table and column."""


def read(state: str | Path) -> Added:
    """Return the columns that were added."""
    path = Path(state) / "added.json"
    if not path.exists():
        return {}
    known: Added = {}
    try:
        for table, columns in json.loads(path.read_text(encoding="utf-8")).items():
            for name, (datatype, file, line, before, nullable) in columns.items():
                for one in (datatype, *before):
                    schema.described(one)
                known.setdefault(table, {})[name] = DiscoveredColumn(
                    datatype, int(file), int(line), tuple(before), bool(nullable)
                )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise EnvironmentFault(
            f"{path}: is damaged ({error!r}), and it records the columns that were added while the channel ran; "
            "restore it, or remove it: then columns are added again when records have them"
        ) from error
    return known


def with_found(known: Added, found: ColumnsFound) -> Added:
    """Return the columns that were added, and those that were found now; of one that is known, the earlier place.

    Of a column that has another type in records than in its table, `found` has both, and whether it may be null.
    """
    joint = {table: dict(columns) for table, columns in known.items()}
    for table, columns in found.tables.items():
        of_table = joint.setdefault(table, {})
        for name, (datatype, line, *was) in columns.items():
            if was:
                before = of_table.get(name, DiscoveredColumn(was[0], _DEFINED, 0, nullable=False))
                of_table[name] = before.retyped(datatype, nullable=was[1])
                continue
            before = of_table.get(name, DiscoveredColumn(datatype, found.ordinal, line))
            file, first = min((before.file, before.line), (found.ordinal, line))
            of_table[name] = before._replace(file=file, line=first)
    return joint


def with_columns(table: Table, known: Added) -> Table:
    """Return the table with its added columns, which may be null, after those of its definition."""
    came = known.get(table.name, {})
    if not came:
        return table
    own = [came[one.name].of(one) if _is_other(came.get(one.name)) else one for one in table.columns]
    more = [
        one.of(Column(name, schema.described(one.datatype)))
        for name, one in came.items()
        if one.is_added and table.column(name) is None
    ]
    return dataclasses.replace(table, columns=(*own, *more))


def _is_other(came: DiscoveredColumn | None) -> bool:
    """Return whether a column that a definition has is another one in records."""
    return came is not None and not came.is_added


def places(table: Table, known: Added) -> tuple[tuple[str, int, int], ...]:
    """Return a table's added columns, each with where it came first."""
    columns = known.get(table.name, {}).items()
    return tuple((name, one.file, one.line) for name, one in columns if one.is_added and table.column(name) is not None)
