"""Rows per second of the second pass, from fragments to acknowledged, by bundling mode, on a real broker beside it.

    python -m tests.bench.bundling [--rows 400000] [--runs 3]

The modes take turns in each run, so that they see the same state of the machine; the figure is the median of the runs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
import uuid
from pathlib import Path

from integrator.contracts.fragments import Checkpoint
from integrator.contracts.message_format import Mode
from integrator.contracts.report import Report
from integrator.deliver.kafka.sender_lock import Senders
from integrator.plan import build
from integrator.run.passes.first_pass import first_pass
from integrator.run.passes.second_pass import second_pass
from integrator.sources.files.reader import FileReader, slice_of
from integrator.sources.slices import rows_of
from tests.bench import rows as table
from tests.bench.files_to_kafka import CHANNEL
from tests.parts import pure
from tests.parts.brokers import broker

MODES: tuple[Mode, ...] = ("ROW", "CHANGE", "TRANSACTION", "THRESHOLD")
FORMATS = ("SCHEMA_PAYLOAD", "ROW_FRAGMENTS", "ROW_ARRAY")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as name, broker() as kafka:
        directory = Path(name)
        (directory / "in").mkdir()
        (directory / "orders.sql").write_text(table.DDL)
        table.write(directory / "in", options.rows, 1)
        table.publish(directory / "in")
        [file] = (directory / "in").iterdir()
        print(f"broker: {kafka.kind}; {options.rows} rows in transactions of 10, {os.cpu_count()} cores; rows/s")
        for said in FORMATS:
            recipes = {}
            for mode in MODES:
                topic = f"bench-{uuid.uuid4()}"
                kafka.create([topic])
                text = CHANNEL.format(
                    directory=directory,
                    servers=kafka.servers,
                    topic=topic,
                    json=said,
                    kafka=f", Kafka_Message_Bundling: {mode}",
                )
                (directory / "bench.yaml").write_text(text)
                recipes[mode] = build(str(directory / "bench.yaml"), "UTC").recipe
            rates: dict[str, list[float]] = {mode: [] for mode in MODES}
            for run in range(-1, options.runs):
                for mode, recipe in recipes.items():
                    source = [slice_of(file, 1)]
                    runs = iter([rows_of(source)])
                    fragments = list(first_pass(recipe, Checkpoint(), pure.NOW, FileReader())(runs))
                    started = time.monotonic()
                    [told] = second_pass(recipe, Senders.now(directory))(iter(fragments))
                    seconds = time.monotonic() - started
                    report = Report.of_json(told["report"][0].as_py())
                    assert report.acknowledged == report.messages
                    assert not report.error
                    if run >= 0:
                        rates[mode].append(options.rows / seconds)
            medians = {mode: statistics.median(found) for mode, found in rates.items()}
            shown = ", ".join(f"{mode} {rate:,.0f} ({rate / medians['ROW']:.1f})" for mode, rate in medians.items())
            print(f"{said}: {shown}", flush=True)


if __name__ == "__main__":
    main()
