"""wal2json, format versions 1 and 2, chosen by looking (https://github.com/eulerto/wal2json).

The position of a change is its transaction's `nextlsn`, its xid, and the number of the row in the transaction. The old
image of an update is the replica identity. A value that PostgreSQL left out of a new image (unchanged TOAST) is taken
from the old image where that has it, and is missing otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from integrator.contracts.changes import OpenTransaction
from integrator.decode.ascending import Ascending
from integrator.decode.contract import Batch, Before, File, Reading
from integrator.decode.dialects import wal2json_v1, wal2json_v2
from integrator.decode.fields import Where
from integrator.decode.json.canonical import checked
from integrator.decode.json.lines import Lines, cut, read_lines
from integrator.decode.records import change_rows
from integrator.errors import DataError

EXPECTED = "a record of wal2json"


def read(file: File, before: Before, reading: Reading) -> Iterator[Batch]:
    """Yield the change rows of a wal2json file, of either version."""
    position = wal2json_v2.Position(before)
    ascending, tables = Ascending(checked=not reading.repeated_positions), reading.source_tables()
    version = 0
    for read in file.lines(reading):
        lines = checked(read, EXPECTED)
        version = version or _version(lines)
        records, placed = wal2json_v1.records(lines) if version == 1 else wal2json_v2.records(lines, position)
        ascending.extend(placed, records.row_counts, Where(file.path, records.line))
        changes, ignored, unknown = change_rows(records, placed, reading, tables)
        state = position.open if version == 2 else OpenTransaction(since_start=False)
        yield Batch(changes, state, ignored, unknown, ascending.span, tables.known)


def tail(file: File, _reading: Reading) -> OpenTransaction:
    """Return where the file ends; a file of version 1 holds whole transactions only."""
    state = OpenTransaction()
    for read in read_lines(file.path):
        lines = checked(read, EXPECTED)
        if _version(lines) == 1:
            return OpenTransaction(since_start=False)
        state = wal2json_v2.tail(lines).after(state)
    return state


def _version(lines: Lines) -> int:
    """Tell the version by the first line: a transaction with its changes (1), or one action (2)."""
    first = lines.array[0].as_py()
    record = json.loads(first) or {}
    if isinstance(record.get("change"), list):
        return 1
    if isinstance(record.get("action"), str):
        return 2
    raise DataError(
        f'{lines.file}:{lines.numbers[0]}: neither wal2json version 1 (a line has a "change" list) nor version 2 '
        f'(a line has an "action"); the line is {cut(first.rstrip())}'
    )
