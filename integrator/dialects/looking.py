"""Choosing a dialect by looking at a file's first record."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from integrator.dialects.lines import container_of, open_file
from integrator.dialects.table_files import first_row
from integrator.errors import DataError

_FIRST = 4 * 1024 * 1024
_LINES = 100

MARKS: dict[str, tuple[frozenset[str], ...]] = {
    "hvr": (frozenset({"hvr_op"}),),
    "wal2json": (frozenset({"change"}), frozenset({"action"})),
    "debezium": (
        frozenset({"payload", "schema"}),
        frozenset({"op", "source"}),
        frozenset({"__deleted"}),
        frozenset({"__op"}),
        frozenset({"status", "id", "event_count"}),
        frozenset({"ddl", "source"}),
    ),
    "canal": (frozenset({"isDdl", "type"}),),
    "maxwell": (frozenset({"database", "type", "ts"}),),
    "dms": (frozenset({"metadata", "data"}), frozenset({"metadata", "control"}), frozenset({"Op"})),
    "goldengate": (frozenset({"op_type", "table"}),),
    "delta-cdf": (frozenset({"_change_type"}),),
    "airbyte": tuple(frozenset({"type", part}) for part in ("record", "state", "log", "trace", "control", "catalog")),
    "opencdc": (frozenset({"operation", "payload"}),),
}
"""The names that the records of each dialect have, any of several sets; the first dialect that fits is taken."""


def dialect_of(file: str) -> str:
    """Return the name of the dialect that a file is in; hvr for an empty one. Raises DataError where none fits."""
    container = container_of(file)
    if container == "empty":
        return "hvr"
    if container == "parquet":
        with open_file(file) as stream:
            records = [set(pyarrow.parquet.read_schema(pa.BufferReader(stream.read_buffer())).names)]
    else:
        records = _records(file) or [set(first_row(file))]
    for names in records:
        for dialect, marks in MARKS.items():
            if any(mark <= names for mark in marks):
                return dialect
    if all(names <= {"ts_ms"} for names in records):  # tombstones and heartbeats alone
        return "debezium"
    shown = ", ".join(sorted(records[0])[:20]) or "nothing"
    raise DataError(
        f"{file}: its first record is of no dialect that is known by its names, which are {shown}; say which"
    )


def _records(file: str) -> list[set[str]]:
    """Return the names in each of the first records; a tombstone (null) has none."""
    with open_file(file) as stream:
        start = stream.read(_FIRST)
    found: list[set[str]] = []
    for line in start.split(b"\n")[:_LINES]:
        try:
            record: Any = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict) or record is None:
            found.append(set(record or ()))
    return found
