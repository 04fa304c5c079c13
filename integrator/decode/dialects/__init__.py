"""The shapes of change records: each turns the files of a source into change rows, and says in its file all of itself.

Comes in: a file, and where the file before it ended. Goes out: batches of change rows in the order of changes.
To add one: a file with its `DIALECT` (how its records are read and recognized), a line below, and cases in
`tests/unit/test_dialects.py`. An envelope in JSON lines is a function from a document to `Records` and `Positions`, as
in `maxwell`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from integrator.decode.contract import Batch, End, File, PreviousEnd, Reading
from integrator.decode.detect import dialect_of, dialect_of_lines
from integrator.decode.dialect import Dialect
from integrator.decode.dialects import (
    airbyte,
    canal,
    cloudevents,
    debezium,
    delta_cdf,
    dms,
    goldengate,
    hvr,
    maxwell,
    opencdc,
    pgoutput,
    rows,
    wal2json,
)
from integrator.decode.lines.lines import Lines
from integrator.errors import DataError, Fault, Place

_NAMED: dict[str, Dialect] = {
    "hvr": hvr.DIALECT,
    "wal2json": wal2json.DIALECT,
    "debezium": debezium.DIALECT,
    "cloudevents": cloudevents.DIALECT,
    "canal": canal.DIALECT,
    "maxwell": maxwell.DIALECT,
    "dms": dms.DIALECT,
    "goldengate": goldengate.DIALECT,
    "delta-cdf": delta_cdf.DIALECT,
    "airbyte": airbyte.DIALECT,
    "opencdc": opencdc.DIALECT,
    "rows": rows.DIALECT,
}


def recognized(file: File) -> str:
    """Return the name of the dialect that a file is in; hvr for an empty one. Raises DataError where none fits."""
    return dialect_of(file, _NAMED, "hvr")


def _read(file: File, before: PreviousEnd, reading: Reading) -> Iterator[Batch]:
    """Yield the batches of a file whose dialect is recognized, each with its name. Raises DataError."""
    name, *others = set(map(recognized, file.parts))
    if others:
        raise DataError(
            Fault(Place(file.path), "is in another dialect than the files after it; they cannot be read together")
        )
    for batch in _NAMED[name].read(file, before, reading):
        ends = {stream: End(end.open, end.span._replace(dialect=name)) for stream, end in batch.ends.items()}
        yield replace(batch, ends=ends)


def _check(lines: Lines, reading: Reading) -> None:
    """Check lines apart whose dialect is recognized; `null` alone may be of any."""
    name = dialect_of_lines(lines, _NAMED)
    if name is not None and (check := _NAMED[name].check) is not None and not reading.tolerant:
        check(lines, reading)


_CAPTURED: dict[str, Dialect] = {
    "pgoutput": pgoutput.DIALECT,
    **dict.fromkeys(("mysql", "mariadb"), replace(pgoutput.DIALECT, connector="")),
}
DIALECTS: dict[str, Dialect] = {
    "auto": Dialect(
        _read,
        lambda file, reading: _NAMED[recognized(file)].tail(file, reading),
        check=_check,
        waits=hvr.DIALECT.waits,
    ),
    **_NAMED,
    **_CAPTURED,
}
CHOSEN = tuple(name for name in DIALECTS if name not in _CAPTURED)
"""Those that a location may name: changes that are captured from a database have another one, and no file has it."""
