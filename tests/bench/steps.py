"""The share of each step, on one core, without Spark: microseconds a row of the benchmark's table.

python -m tests.bench.steps [--rows 200000]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from integrator.contracts.counters import CycleCounters
from integrator.contracts.fragments import Checkpoint, PresentFields
from integrator.contracts.sequence import OpenTransaction
from integrator.decode.contract import File, reading_of
from integrator.decode.dialects import DIALECTS
from integrator.deliver.bundle import Bundler
from integrator.encode import messages
from integrator.run.passes.first_pass import first_pass
from integrator.sources.files.reader import FileReader, slice_of
from integrator.sources.slices import rows_of
from integrator.transform.columns import to_columns
from integrator.transform.expression import RunClock
from integrator.transform.key_hash import key_hash
from tests.bench import rows as table
from tests.parts import pure
from tests.parts.channels import TIMEKEY


def median(step: Callable[[], object], rows: int, runs: int = 5) -> float:
    """Median microseconds a row."""
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        step()
        times.append((time.perf_counter() - began) / rows * 1e6)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=200_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        table.write(directory, rows, 1)
        size = table.publish(directory)
        [file] = directory.glob("c*.jsonl")
        recipe = pure.recipe(directory, table.DDL, TIMEKEY)
        [of_table] = recipe.tables
        reading = reading_of(recipe)
        read = DIALECTS["hvr"].read

        def decode() -> list:
            return [batch.changes for batch in read(File(str(file)), OpenTransaction, reading)]

        changes = decode()
        columns = [to_columns(c, of_table, recipe, RunClock(pure.NOW), CycleCounters()) for c in changes]
        encode = messages.value_encoder(of_table, recipe, PresentFields())
        run = slice_of(file, 1)
        whole = first_pass(recipe, Checkpoint(), pure.NOW, FileReader())
        batch = rows_of([run])
        fragments = [b for b in whole(iter([batch])) if b["op"][0].as_py() >= 0]
        bundler = Bundler(recipe)

        def frame() -> int:
            return sum(len(m.values) for b in fragments for m in bundler.add(b))

        plain = [row for c in columns for row in pa.table(c.values).slice(0, rows // 10).to_pylist()]
        steps = {
            "decode (JSON lines, positions)": median(decode, rows),
            "columns": median(
                lambda: [to_columns(c, of_table, recipe, RunClock(pure.NOW), CycleCounters()) for c in changes], rows
            ),
            "message keys": median(lambda: [key_hash(c, of_table) for c in changes], rows),
            "encode (Connect JSON payload)": median(lambda: [encode(c.values, {}) for c in columns], rows),
            "first pass, all of it": median(lambda: list(whole(iter([batch]))), rows),
            "frame (schema text, key)": median(frame, rows),
            "beside it: json.dumps of each row": median(
                lambda: [json.dumps(r, default=str) for r in plain], len(plain)
            ),
        }
        print(f"{rows} rows of 13 columns, {size / rows:.0f} bytes each in the file; median of 5, one core")
        for step, micros in steps.items():
            print(f"{step:36} {micros:6.2f} µs/row {1 / micros:8.2f} M rows/s")


if __name__ == "__main__":
    main()
