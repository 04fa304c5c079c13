"""The shapes of change records: each turns the files of a source into change rows.

A dialect is two functions:

read(file, before, reading): yields the file's `Batch`es in order; `before` is where the file before it ended.
tail(file, reading): where the file alone ends, `OpenTransaction.since_start` where its beginning lies before the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from integrator.decode.contract import Batch, Before, File, Reading
from integrator.decode.detect import dialect_of
from integrator.decode.dialect import Dialect, of_lines, of_parts
from integrator.decode.dialects import (
    airbyte,
    canal,
    debezium,
    delta_cdf,
    dms,
    goldengate,
    hvr,
    maxwell,
    opencdc,
    wal2json,
)

DIALECTS: dict[str, Dialect] = {
    "hvr": Dialect(hvr.read, hvr.tail),
    "wal2json": Dialect(wal2json.read, wal2json.tail),
    "debezium": of_lines(debezium.decode, debezium.EXPECTED, "schema"),
    "maxwell": of_lines(maxwell.decode, maxwell.EXPECTED),
    "canal": of_lines(canal.decode, canal.EXPECTED),
    "dms": of_parts(dms.parts),
    "goldengate": of_lines(goldengate.decode, goldengate.EXPECTED),
    "delta-cdf": of_parts(delta_cdf.parts),
    "airbyte": of_lines(airbyte.decode, airbyte.EXPECTED),
    "opencdc": of_lines(opencdc.decode, opencdc.EXPECTED),
}


def _read(file: File, before: Before, reading: Reading) -> Iterator[Batch]:
    """Yield the batches of a file whose dialect is recognized, each with its name."""
    name = dialect_of(file.path)
    for batch in DIALECTS[name].read(file, before, reading):
        yield replace(batch, span=batch.span._replace(dialect=name))


DIALECTS["auto"] = Dialect(_read, lambda file, reading: DIALECTS[dialect_of(file.path)].tail(file, reading))
