"""The code under test: a file of a dialect -> change rows in plain values, by the line that each was read from."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from integrator.contracts.change_batch import ChangeBatch
from integrator.decode.contract import File, Reading, nothing_before, reading_of
from integrator.decode.dialects import DIALECTS
from integrator.plan import build
from tests.fuzz.oracle.verdict import MISSING, Row
from tests.fuzz.setups import Setup

_TRUNCATE = 5


def reading_for(setup: Setup, directory: Path) -> Reading:
    """Return how a channel of this kind reads."""
    (directory / "tables.sql").write_text(setup.ddl.read_text(encoding="utf-8"), encoding="utf-8")
    channel = directory / "channel.yaml"
    channel.write_text(
        f"""
channel: fuzz
locations:
  src: {{class: files, path: {directory}/in, dialect: {setup.dialect}{setup.source}}}
  kaf: {{class: kafka, Kafka_Brokers: [localhost]}}
tables: [{{file: {directory}/tables.sql, sql_dialect: {setup.sql}}}]
actions:
  - {{action: Integrate, CycleByteLimit: 0}}
  - {{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}}
""",
        encoding="utf-8",
    )
    return reading_of(build(str(channel), "UTC", None).recipe)


def decode(setup: Setup, reading: Reading, path: Path) -> dict[int, list[Row]]:
    """Return the rows of a file by line, in their order."""
    found: dict[int, list[tuple[int, Row]]] = defaultdict(list)
    for number, batch in enumerate(DIALECTS[setup.dialect].read(File(str(path), 1), nothing_before, reading)):
        for changes in batch.changes.split_by_table():
            for line, order, row in _rows(changes):
                found[line].append((number << 40 | order, row))
    return {line: [row for _, row in sorted(rows, key=lambda one: one[0])] for line, rows in found.items()}


def _rows(changes: ChangeBatch) -> list[tuple[int, int, Row]]:
    names = list(changes.columns)
    columns = [plain(changes.columns[name]) for name in names]
    gone = [changes.missing.get(name) for name in names]
    rows = []
    for at, (op, line, order) in enumerate(zip(changes.op.to_pylist(), changes.line, changes.order, strict=True)):
        values = {
            name: MISSING if missing is not None and missing[at] else column[at]
            for name, column, missing in zip(names, columns, gone, strict=True)
        }
        rows.append((int(line), int(order), Row(op, changes.tables[0], None if op == _TRUNCATE else values)))
    return rows


def plain(values: pa.Array) -> list[Any]:
    """Return values as Python has them; days, times and moments as integers, intervals as three of them."""
    kind = values.type
    if pa.types.is_date(kind) or pa.types.is_time32(kind):
        return values.cast(pa.int32()).to_pylist()
    if pa.types.is_time64(kind) or pa.types.is_timestamp(kind):
        return values.cast(pa.int64()).to_pylist()
    if pa.types.is_interval(kind):
        return [None if one is None else tuple(one) for one in values.to_pylist()]
    if pa.types.is_list(kind):
        items, lengths = plain(values.flatten()), [None if one is None else len(one) for one in values.to_pylist()]
        at, lists = 0, []
        for length in lengths:
            lists.append(None if length is None else items[at : at + length])
            at += length or 0
        return lists
    return values.to_pylist()
