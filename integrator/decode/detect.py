"""Choosing a dialect by inspection of a file's first record."""

from __future__ import annotations

import codecs
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from integrator.decode.contract import File
from integrator.decode.dialect import Dialect
from integrator.decode.lines.files import open_file
from integrator.decode.lines.lines import Lines
from integrator.decode.table_files import first_row
from integrator.errors import Fault, Place, PublicDataError
from integrator.names.numbers import counted

_FIRST = 4 * 1024 * 1024
_LINES = 100


def dialect_of(file: File, dialects: Mapping[str, Dialect], otherwise: str) -> str:
    """Return the name of the dialect that a file is in; `otherwise` for an empty one. Raises DataError where none fits.

    The first mark that fits is taken: names that no column has are tried before names that a column might have.
    """
    container = file.container
    if container == "empty":
        return otherwise
    if container == "parquet":
        with open_file(file.path) as stream:
            records = [set(pyarrow.parquet.read_schema(pa.BufferReader(stream.read_buffer())).names)]
    else:
        if container == "json" and not (start := file.start(_FIRST)):
            return otherwise
        records = _records(start) if container == "json" else [set(first_row(file.path))]
    if not records:
        raise PublicDataError(
            Fault(
                Place(file.path),
                "none of its first lines is a JSON object; write one record per line, or set `dialect`",
            )
        )
    return _fitting(records, dialects, file.path, named=container != "csv")


def dialect_of_lines(lines: Lines, dialects: Mapping[str, Dialect]) -> str | None:
    """Return the name of the dialect that JSON lines are in; None where all are `null`. Raises DataError."""
    records = list(filter(None, _of_lines(lines.text.tobytes().split(b"\n")[:_LINES])))
    return _fitting(records, dialects, lines.file) if records else None


def _fitting(records: Sequence[set[str]], dialects: Mapping[str, Dialect], file: str, *, named: bool = True) -> str:
    """Return the name of the dialect that records of these names are in. Raises DataError.

    named: the error shows them. In CSV without a header they are values.
    """
    marks = [(mark, name) for name, dialect in dialects.items() for mark in dialect.marks]
    marks.sort(key=lambda found: not found[0].certain)
    for names in records:
        for mark, name in marks:
            if mark.needed <= names and (mark.others is None or names <= mark.needed | mark.others):
                return name
    for name, dialect in dialects.items():
        if dialect.bare is not None and all(names <= dialect.bare for names in records):
            return name
    shown = ", ".join(sorted(records[0])[:20]) or "nothing"
    what = f"names in its first record ({shown})" if named else f"{counted(len(records[0]), 'field')} of its first line"
    raise PublicDataError(Fault(Place(file), f"the {what} match no dialect; set `dialect`"))


def _records(start: bytes) -> list[set[str]]:
    """Return the names in each of the first records of a file; a tombstone (null) has none."""
    start = start.removeprefix(codecs.BOM_UTF8)
    return _of_lines(start.split(b"\n")[:_LINES]) or _over_lines(start)


def _of_lines(lines: Sequence[bytes]) -> list[set[str]]:
    """Return the names in each of the records that lines have; a tombstone (null) has none."""
    found: list[set[str]] = []
    for line in lines:
        try:
            record: Any = json.loads(line, parse_int=str)  # Python refuses integers of over 4,300 digits
        except (ValueError, RecursionError):  # the reader of the file reports it
            continue
        if isinstance(record, dict) or record is None:
            found.append(set(record or ()))
    return found


def _over_lines(start: bytes) -> list[set[str]]:
    """Return the names in a record that is written over several lines, where the text begins with one."""
    try:
        record, _ = json.JSONDecoder(parse_int=str).raw_decode(start.decode(errors="ignore").lstrip())
    except (ValueError, RecursionError):
        return []
    return [set(record)] if isinstance(record, dict) else []
