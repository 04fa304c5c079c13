"""JSON lines of the hvr dialect: cut into values in one pass for all tables; lines that are not as expected, alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import FEW_ROWS, Mask, first, first_refused, in_groups, mask, places_of_each
from integrator.decode.contract import ALLOW, File, Finds, Reading, unknown_column
from integrator.decode.dialects import hvr_members
from integrator.decode.dialects.hvr_added import tell_added
from integrator.decode.dialects.hvr_records import META, UNKNOWN, Places, Records
from integrator.decode.dialects.hvr_slots import Kind, kind_of, slots_of
from integrator.decode.json.canonical import checked
from integrator.decode.json.lines import BLOCK_BYTES, Lines, cut, pieces
from integrator.decode.json.objects import Objects, unquoted
from integrator.decode.json.scan import Values, are_same, find
from integrator.decode.json.values import values_of
from integrator.decode.source_tables import SourceTables
from integrator.decode.text.refused import ValueRefused
from integrator.errors import DataError, shown
from integrator.schema import Table, describe

_MEMBERS = 400
"""Records of several tables with the same columns, below which they are made together with those of other tables."""
_MANY_KINDS = 100
"""Tables of other columns, of which each costs something a block: with more of them blocks are twice as large. Other
tables cost little, and small blocks come into memory that was used before."""
_EXPECTED = "a record with hvr_op, hvr_tx_seq and the columns of its table"

_Part = tuple[Table, Places]


def records(file: File, reading: Reading, tables: SourceTables) -> Iterator[tuple[list[Records], dict[str, int]]]:
    """Yield the records of a file, block by block, and how many were passed over, by reason."""
    many = len(set(reading.kinds.values())) > _MANY_KINDS
    for lines in file.lines(reading, 2 * BLOCK_BYTES if many else BLOCK_BYTES):
        block = _Block(lines, reading, tables)
        block.read()
        block.finds.tell()
        yield block.result, block.passed


def transactions(lines: Lines) -> tuple[pa.Array, pa.Array]:
    """Return the hvr_tx_seq and the hvr_tx_countdown of each line."""
    lines = checked(lines, _EXPECTED)
    objects = Objects(lines, _EXPECTED)
    given, own, left = (_typed(objects, name, (META[name], None), name) for name in _POSITION)
    return pc.coalesce(pc.utf8_slice_codeunits(given, 0, 20), own), left


_POSITION = ("hvr_integ_seq", "hvr_tx_seq", "hvr_tx_countdown")


class _Block:
    """The records of a block of lines. passed: how many were passed over, by reason."""

    def __init__(self, lines: Lines, reading: Reading, tables: SourceTables) -> None:
        self._lines, self._reading, self._tables = lines, reading, tables
        self._slots = slots_of(reading.tables)
        self.result: list[Records] = []
        self.finds = Finds()
        self.passed: Counter[str] = Counter()

    def read(self) -> None:
        """Make the records, those of tables with few together."""
        small: dict[int, list[_Part]] = {}
        for table, at in self._of_tables(self._lines, np.arange(len(self._lines))):
            if len(at) < FEW_ROWS:
                small.setdefault(self._reading.kinds[table.name], []).append((table, at))
            else:
                self._alike([(table, at)])
        several: list[_Part] = []
        for parts in small.values():
            if len(parts) == 1 or sum(len(at) for _, at in parts) < _MEMBERS:
                several += parts
            else:
                for group in _groups(parts):
                    self._alike(group)
        for group in _groups(several):
            self._several(group)

    def _of_tables(self, lines: Lines, places: Places) -> Iterator[_Part]:
        """Yield the tables of the channel that lines are of, with their places in the block; count other lines."""
        for name, at in _by_table(lines, self._reading):
            table = self._tables.find(None, name, f"{lines.file}:{lines.numbers[at[0]]}")
            if isinstance(table, str):
                self.passed[table] += len(at)
                self.result.append(_unknown(lines if len(at) == len(lines) else lines.take(at), places[at]))
            else:
                yield table, places[at]

    def _alike(self, group: list[_Part]) -> None:
        """Add the records of tables with the same columns."""
        found = hvr_members.alike(self._lines, group, self._slots)
        self.result += found
        if not found:
            self._alone(group)

    def _several(self, group: list[_Part]) -> None:
        """Add the records of tables with columns of their own."""
        if len(group) == 1:
            self._alike(group)
            return
        found = hvr_members.each(self._lines, group, self._slots)
        self.result += found
        made = {table for records in found for table, _ in records.shares or ((records.table, 0),)}
        self._alone([part for part in group if part[0].name not in made])

    def _alone(self, group: Iterable[_Part]) -> None:
        """Add the records of each table by itself: names may be written with escapes, or be no columns of it."""
        for table, places in group:
            own = self._lines if len(places) == len(self._lines) else self._lines.take(places)
            own = checked(own, f"a record of table {table.name}")
            for named, at in self._of_tables(own, np.arange(len(own))):
                with self.finds.noted():
                    part = own if len(at) == len(own) else own.take(at)
                    self.result.append(_records(part, named, places[at], self._reading))


def _groups(parts: list[_Part]) -> list[list[_Part]]:
    return in_groups(parts, [len(at) for _, at in parts])


def _by_table(lines: Lines, reading: Reading) -> list[tuple[str, Places]]:
    """Return the lines' tables, each with the places of its lines. Raises DataError for a line without one."""
    found = find(lines.text, lines.offsets, "hvr_tbl_name")
    if found is None:
        lines = checked(lines, _EXPECTED)
        found = find(lines.text, lines.offsets, "hvr_tbl_name")
        if found is None:  # a name that cannot be written without a backslash
            values = Objects(lines, _EXPECTED).raw("hvr_tbl_name")
            return _of_names(lines, values, reading)
    start, end = found
    if are_same(lines.text, start, end):  # most often all lines are of one table
        [(name, _)] = _of_names(lines, pieces(lines.data, start[:1], end[:1]), reading)
        return [(name, np.arange(len(lines)))]
    values = pieces(lines.data, start, end)
    return _of_names(lines, pc.if_else(pa.array(end > 0), values, None) if (end == 0).any() else values, reading)


def _of_names(lines: Lines, names: pa.Array, reading: Reading) -> list[tuple[str, Places]]:
    """Return the tables, given the JSON of their names."""
    absent = mask(pc.is_null(names)) | mask(pc.equal(names, "null"))
    nameless = first(absent)
    if nameless is not None and reading.default_table is None:
        checked(lines.take(np.array([nameless])), _EXPECTED)  # it may be no JSON at all
        raise DataError(
            f"{lines.file}:{lines.numbers[nameless]}: the record has no hvr_tbl_name, and the channel has several "
            "tables; add it, or name the table at the source location; the line is "
            f"{cut(lines.array[nameless].as_py().rstrip())}"
        )
    odd = first(~mask(pc.starts_with(names, '"')) & ~absent)
    if odd is not None:
        checked(lines.take(np.array([odd])), _EXPECTED)
        raise DataError(f"{lines.file}:{lines.numbers[odd]}: hvr_tbl_name is {cut(names[odd].as_py())}; expected text")
    if nameless is not None:
        names = pc.if_else(pa.array(absent), '""', names)
    encoded = names.dictionary_encode()
    if pc.any(pc.match_substring(encoded.dictionary, "\\")).as_py():  # which may be no escapes of JSON
        checked(lines, _EXPECTED)
    known = [text or reading.default_table or "" for text in unquoted(encoded.dictionary).to_pylist()]
    return list(zip(known, places_of_each(encoded), strict=True))


def _unknown(lines: Lines, at: Places) -> Records:
    """Return records of a table that the channel does not have: they count in their transaction."""
    objects = Objects(checked(lines, _EXPECTED), _EXPECTED)
    return Records(UNKNOWN, {}, {}, _meta(objects), lines.numbers, at)


def _meta(objects: Objects) -> dict[str, pa.Array]:
    return {name: _typed(objects, name, (kind, None), name) for name, kind in META.items()}


def _records(lines: Lines, table: Table, at: Places, reading: Reading) -> Records:
    objects = Objects(lines, f"a record of table {table.name}")
    columns: dict[str, pa.Array] = {}
    missing: dict[str, Mask] = {}
    for column in table.columns:
        what = f"table {table.name}, column {column.name}"
        columns[column.name] = _typed(objects, column.name, kind_of(column.type), what, describe(column.type))
        has = objects.has(column.name)
        if not has.all():
            missing[column.name] = ~has
    unknown = _unknown_columns(objects, table, reading)
    return Records(table.name, columns, missing, _meta(objects), lines.numbers, at, unknown)


def _unknown_columns(objects: Objects, table: Table, reading: Reading) -> dict[str, int]:
    """Return how many values there are of each column that the table does not have. Raises DataError, ColumnsFound."""
    known = {*META, *(column.name for column in table.columns)}
    others = [name for name in objects.names if name not in known]
    lines = objects.lines
    if others and reading.unknown_columns == "error":
        name = min(others, key=lambda name: int(objects.objects_of(name)[0]))
        where = f"{lines.file}:{lines.numbers[objects.objects_of(name)[0]]}: table {table.name}"
        columns = ", ".join(column.name for column in table.columns)
        raise DataError(f"{where}: column {shown(name)} is not in its definition, which has {columns}; {ALLOW}")
    counts = {name: int(mask(pc.not_equal(objects.values(name), "null")).sum()) for name in others}
    if reading.unknown_columns == "add" and any(counts.values()):
        tell_added(lines, table, known)
    return {unknown_column(table.name, name): count for name, count in counts.items()}


def _typed(objects: Objects, name: str, kind: Kind, what: str, described: str = "") -> pa.Array:
    """Return the values of a member in a type, null where an object has none. Raises DataError with the line."""
    at = objects.places(name)

    def made(start: int, stop: int) -> pa.Array:
        part = Values(at.start[start:stop], at.end[start:stop], at.escaped[start:stop])
        return values_of(objects.lines.text, part, *kind)

    def accepts(start: int, stop: int) -> bool:
        try:
            made(start, stop)
        except _REFUSED:
            return False
        return True

    try:
        return made(0, len(objects))
    except _REFUSED:
        index = first_refused(len(objects), accepts)
    lines = objects.lines
    try:
        made(index, index + 1)
    except _REFUSED as error:
        raw = lines.text[at.start[index] : at.end[index]].tobytes().decode()
        value = shown(json.loads(raw)) if raw.startswith('"') else cut(raw)
        where = f"{lines.file}:{lines.numbers[index]}: {what}"
        why = "" if isinstance(error, pa.ArrowInvalid) and "JSON" in str(error) else f" ({cut(str(error))})"
        raise DataError(f"{where}: {value} is no {described or kind[0]}{why}; mend the record") from None
    raise AssertionError(f"{what}: a value is refused among others, and taken alone")


_REFUSED = (DataError, ValueRefused, pa.ArrowInvalid, pa.ArrowNotImplementedError)
