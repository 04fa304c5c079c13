"""JSON lines of the hvr dialect: cut into values in one pass, or parsed by Arrow, which then tells what is wrong."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrays import FEW_ROWS, Mask, Octets, in_groups, mask, places_of_each
from integrator.compiled import compiled
from integrator.dialects import hvr_members
from integrator.dialects.hvr_added import tell_added
from integrator.dialects.hvr_records import META, UNKNOWN, Places, Records
from integrator.dialects.hvr_slots import slots_of
from integrator.dialects.json_columns import exact, json_type, typed
from integrator.dialects.json_objects import Objects, pieces
from integrator.dialects.json_text import NEWLINE, QUOTE
from integrator.dialects.lines import BLOCK_BYTES, Lines, arrow_json, parse_lines
from integrator.dialects.reading import ALLOW, File, Finds, Reading, unknown_column
from integrator.dialects.values import ValueRefused
from integrator.errors import DataError
from integrator.schema import Table

_SAMPLE = 256
_MEMBERS = 400
"""Records of several tables with the same columns, below which they are made together with those of other tables."""
_MANY_KINDS = 100
"""Tables of other columns, of which each costs something a block: with more of them blocks are twice as large. Other
tables cost little, and small blocks come into memory that was used before."""
_PLAIN = re.compile("[A-Za-z0-9_]*")
"""A name that nobody writes with escapes."""
_KEY = '"hvr_tbl_name":"'
_TABLE = r'"hvr_tbl_name"\s*:\s*"(?P<name>[^"]*)"'
_COUNTDOWN = r'"hvr_tx_countdown"\s*:\s*(?P<name>\d{1,9})'
_TX_SEQ = r'"hvr_tx_seq"\s*:\s*"(?P<name>[^"]*)"'
_INTEG_SEQ = r'"hvr_integ_seq"\s*:\s*"(?P<name>[0-9A-F]{20})\|'


_Part = tuple[Table, Places]


def records(file: File, reading: Reading) -> Iterator[tuple[list[Records], dict[str, int]]]:
    """Yield the records of a file, block by block, and how many were passed over, by reason."""
    many = len(set(reading.kinds.values())) > _MANY_KINDS
    for lines in file.lines(reading, 2 * BLOCK_BYTES if many else BLOCK_BYTES):
        result: list[Records] = []
        finds = Finds()
        passed: Counter[str] = Counter()
        small: dict[int, list[_Part]] = {}
        for name, at in _by_table(lines, reading):
            table = reading.find(None, name)
            if table is not None:
                places = np.arange(len(lines)) if at is None else at
                if len(places) < FEW_ROWS:
                    small.setdefault(reading.kinds[table.name], []).append((table, places))
                else:
                    result += _alike(lines, [(table, places)], reading, finds)
            elif (reason := reading.passed_over(name)) is not None:
                passed[reason] += len(lines) if at is None else len(at)
                result.append(_unknown(lines if at is None else lines.take(at), at))
            else:
                raise reading.unknown(file.path, int(lines.numbers[0 if at is None else at[0]]), name)
        result += _few(lines, small.values(), reading, finds)
        finds.tell()
        yield result, passed


def transactions(lines: Lines) -> tuple[pa.Array, pa.Array]:
    """Return the hvr_tx_seq and the hvr_tx_countdown of each line."""

    def found(pattern: str) -> pa.Array:
        return pc.struct_field(pc.extract_regex(lines.array, pattern), "name")

    return pc.coalesce(found(_INTEG_SEQ), found(_TX_SEQ)), found(_COUNTDOWN).cast(pa.int32())


def _by_table(lines: Lines, reading: Reading) -> list[tuple[str, Places | None]]:
    """Return the lines' tables, each with the places of its lines; None for all of them.

    A quote inside a JSON string is escaped, so `"hvr_tbl_name":` can only be a key.
    """
    if reading.default_table is not None and b'"hvr_tbl_name"' not in lines.data:
        return [(reading.default_table, None)]
    first = re.search(_TABLE, lines.array[0].as_py())
    looked_at = (lines.array.slice(0, _SAMPLE), lines.array)  # most often a few lines show that there are others
    if first and all(pc.all(pc.match_substring(part, first[0])).as_py() for part in looked_at):
        return [(first[1], None)]
    names = _names(lines)
    nameless = np.flatnonzero(mask(pc.is_null(names)))
    if len(nameless) and reading.default_table is None:
        raise DataError(
            f"{lines.file}:{lines.numbers[nameless[0]]}: the record has no hvr_tbl_name, and the channel has several "
            "tables; add it, or name the table at the source location; the line is "
            f"{lines.array[nameless[0]].as_py()[:200]}"
        )
    encoded = pc.fill_null(names, reading.default_table or "").dictionary_encode()
    return list(zip(encoded.dictionary.to_pylist(), places_of_each(encoded), strict=True))


def _names(lines: Lines) -> pa.Array:
    """Return each line's table; null where it names none."""
    found = pc.find_substring(lines.array, _KEY).to_numpy(zero_copy_only=False)
    starts = lines.offsets[:-1] + found + len(_KEY)
    ends = np.empty_like(starts)
    if (found < 0).any() or not _ended(lines.text, starts, ends):  # written with white space, or not there
        return pc.struct_field(pc.extract_regex(lines.array, _TABLE), "name")
    return pieces(lines.data, starts, ends)


@compiled
def _ended(text: Octets, starts: npt.NDArray[np.int32], ends: npt.NDArray[np.int32]) -> bool:
    """Write down where the string ends, inside of which each place is; say whether all end in their lines."""
    for place in range(len(starts)):
        at = starts[place]
        while text[at] != QUOTE and text[at] != NEWLINE:
            at += 1
        if text[at] == NEWLINE:
            return False
        ends[place] = at
    return True


def _few(lines: Lines, kinds: Iterable[list[_Part]], reading: Reading, finds: Finds) -> list[Records]:
    """Return the records of tables with few, by kinds: many with the same columns together, and all others together."""
    result: list[Records] = []
    several: list[_Part] = []
    for parts in kinds:
        if len(parts) == 1 or sum(len(at) for _, at in parts) < _MEMBERS:
            several += parts
        else:
            for group in _groups(parts):
                result += _alike(lines, group, reading, finds)
    for group in _groups(several):
        if len(group) == 1:
            result += _alike(lines, group, reading, finds)
            continue
        found = hvr_members.each(lines, group, slots_of(reading.tables))
        made = {table for records in found for table, _ in records.shares or ((records.table, 0),)}
        result += [*found, *_alone(lines, [part for part in group if part[0].name not in made], reading, finds)]
    return result


def _groups(parts: list[_Part]) -> list[list[_Part]]:
    return in_groups(parts, [len(at) for _, at in parts])


def _unknown(lines: Lines, at: Places | None) -> Records:
    parsed = parse_lines(lines, arrow_json(pa.schema(list(META.items())), "ignore"), "a record with hvr_op, hvr_tx_seq")
    meta = {name: parsed[name].combine_chunks() for name in META}
    return Records(UNKNOWN, {}, {}, meta, lines.numbers, np.arange(len(lines)) if at is None else at)


def _alike(lines: Lines, group: list[_Part], reading: Reading, finds: Finds) -> list[Records]:
    """Return the records of tables with the same columns; where one is not as expected, what a parser makes of them."""
    return hvr_members.alike(lines, group, slots_of(reading.tables)) or _alone(lines, group, reading, finds)


def _alone(lines: Lines, group: list[_Part], reading: Reading, finds: Finds) -> list[Records]:
    """Return what a parser of each table makes of its lines."""
    result: list[Records] = []
    for table, places in group:
        with finds.noted():
            own = lines if len(places) == len(lines) else lines.take(places)
            result.append(_records(own, table, places, reading))
    return result


def _records(lines: Lines, table: Table, at: Places, reading: Reading) -> Records:
    fields = dict(META) | {column.name: json_type(column.type) for column in table.columns}
    expected = f"a record of table {table.name} with {', '.join(c.name for c in table.columns)}, hvr_op and hvr_tx_seq"
    refuses = reading.unknown_columns == "error"
    expected += f" ({ALLOW})" if refuses else ""
    others = "error" if refuses else "infer"
    known = pa.schema(list(fields.items()))
    try:
        parsed = parse_lines(lines, arrow_json(known, others), expected, frozenset(fields))
    except DataError:
        if refuses:
            raise
        if reading.unknown_columns == "add":  # Arrow finds no one type for them
            tell_added(lines, table, fields)
        parsed = parse_lines(lines, arrow_json(known, "ignore"), expected)
        objects = Objects(lines, expected)
        found = {name: len(lines) - objects.raw(name).null_count for name in objects.names if name not in fields}
    else:
        found = {name: len(lines) - parsed[name].null_count for name in parsed.column_names if name not in fields}
    if reading.unknown_columns == "add" and any(found.values()):
        tell_added(lines, table, fields)
    unknown = {unknown_column(table.name, name): count for name, count in found.items()}
    columns: dict[str, pa.Array] = {}
    missing: dict[str, Mask] = {}
    names = _Names(lines)
    for column in table.columns:
        values = parsed[column.name].combine_chunks()
        try:
            columns[column.name] = typed(exact(values), column.type)
        except ValueRefused as error:
            where = f"{lines.file}:{lines.numbers[error.index]}: table {table.name}, column {column.name}"
            raise DataError(f"{where}: {error}; mend the record or the table definition") from None
        except pa.ArrowInvalid as error:
            raise DataError(f"{lines.file}: table {table.name}, column {column.name}: {error}") from None
        gone = names.missing(values, column.name)
        if gone is not None:
            missing[column.name] = gone
    meta = {name: parsed[name].combine_chunks() for name in META}
    return Records(table.name, columns, missing, meta, lines.numbers, at, unknown)


class _Names:
    """Which names the records in lines have: Arrow's parser gives null for a column too that is not there."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    def missing(self, values: pa.Array, name: str) -> Mask | None:
        """Say which rows do not have the column at all, None where all have it."""
        if not values.null_count:
            return None
        null = pc.is_null(values)
        if self._has_inner or not (_PLAIN.fullmatch(name) or b"\\" not in self._lines.data):
            gone = mask(null)
            for written in self._written.get(name, ()):
                gone = gone & ~self._objects.has(written)
        else:
            there = pc.match_substring_regex(self._lines.array.filter(null), rf'"{re.escape(name)}"\s*:')
            gone = mask(null).copy()
            gone[gone] = ~mask(there)
        return gone if gone.any() else None

    @cached_property
    def _has_inner(self) -> bool:
        """Whether there may be objects in objects, whose names are no columns."""
        return bool(pc.any(pc.greater(pc.count_substring(self._lines.array, "{"), 1)).as_py())

    @cached_property
    def _objects(self) -> Objects:
        return Objects(self._lines, "a record")

    @cached_property
    def _written(self) -> dict[str, list[str]]:
        """How each name is written: with escapes or without."""
        result: dict[str, list[str]] = {}
        for written in self._objects.names:
            result.setdefault(json.loads(f'"{written}"'), []).append(written)
        return result
