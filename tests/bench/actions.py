"""What actions cost, on one core, without Spark: microseconds a row from decoded change rows to the messages' columns.

python -m tests.bench.actions [--rows 200000]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from integrator.contracts.counters import CycleCounters
from integrator.decode.contract import File, nothing_before, reading_of
from integrator.decode.dialects import DIALECTS
from integrator.transform.capture_rules import captured
from integrator.transform.columns import to_columns
from integrator.transform.expression import RunClock
from tests.bench import rows as table
from tests.parts import pure

COLUMN = "{action: ColumnProperties, Name: new, Extra: true, Datatype: varchar, IntegrateExpression: "
ACTIONS = {
    "none": [],
    "a template of three substitutions": [COLUMN + "'{hvr_tbl_name}/{city}/{id}'}"],
    "sql: upper(city) || '-' || id": [COLUMN + "\"sql: upper(city) || '-' || id\"}"],
    "sql: encode(sha256(sku), 'hex')": [COLUMN + "\"sql: encode(sha256(sku), 'hex')\"}"],
    "sql: case when amount > 500 …": [COLUMN + "\"sql: case when amount > 500 then 'large' else 'small' end\"}"],
    "CaptureCondition qty > 0": ["{action: Restrict, CaptureCondition: 'qty > 0'}"],
    "AddressTo {status}": [
        "{action: Restrict, AddressTo: '{status}'}",
        "{action: Restrict, group: KAFKA, AddressSubscribe: open}",
    ],
    "TrimDatatype 5 of two columns": [
        "{action: ColumnProperties, Name: note, TrimDatatype: 5}",
        "{action: ColumnProperties, Name: city, TrimDatatype: 5}",
    ],
    "TrimWhiteSpace": ["{action: TableProperties, TrimWhiteSpace: true}"],
    "CharacterMapping, a quarter of a column": ["{action: TableProperties, CharacterMapping: 'ü>ue'}"],
    "CoerceErrorPolicy, every value cut": [
        "{action: ColumnProperties, Name: note, Datatype: varchar, Length: 4}",
        "{action: TableProperties, CoerceErrorPolicy: WARNING}",
    ],
    "Coalesce": ["{action: Capture, Coalesce: true}"],
    "AugmentIncomplete": ["{action: Capture, AugmentIncomplete: ALL}"],
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        table.write(directory, options.rows, 1)
        table.publish(directory)
        [file] = directory.glob("c*.jsonl")
        recipes = {said: pure.tables(directory, table.DDL, actions) for said, actions in ACTIONS.items()}
        batches = DIALECTS["hvr"].read(File(str(file)), nothing_before, reading_of(recipes["none"]))
        decoded = [batch.changes for batch in batches]
        times: dict[str, list[float]] = {said: [] for said in recipes}
        for _ in range(options.runs):
            for said, recipe in recipes.items():  # in turns, so that all see the same state of the machine
                clock, counters, [of_table] = RunClock(pure.NOW), CycleCounters(), recipe.tables
                began = time.perf_counter()
                for changes in decoded:
                    to_columns(captured(changes, of_table, recipe, clock, counters), of_table, recipe, clock, counters)
                times[said].append((time.perf_counter() - began) / options.rows * 1e6)
        print(f"{options.rows} rows of 13 columns, median of {options.runs}")
        for said, taken in times.items():
            print(f"{said:42} {statistics.median(taken):6.2f} µs/row")


if __name__ == "__main__":
    main()
