"""How long a start takes: from the process's start to its first synced cycle, and to its end; of several trees in turns.

    python -m tests.bench.start [--runs 5] [--kind files capture quickstart] [--tree DIR ...]

Each run is a process of its own, with an empty state: 100 rows of change files, or of a captured PostgreSQL,
with `--once`; or the quickstart. Run `integrator prepare` first.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import psutil

from tests.bench import rows as table
from tests.bench.other_peers import SELECT
from tests.parts import brokers, postgres

ROWS = 100
KINDS = ("files", "capture", "quickstart")
_CHANNEL = """
channel: start
state: {at}/state
locations:
  src: {{class: files, path: {home}/in, dialect: hvr}}
  kaf: {{class: kafka, Kafka_Brokers: ["{servers}"], Kafka_Default_Topic: "{topic}", Create_Topics: {{}}}}
tables: [{home}/orders.sql]
"""


def commands(stack: contextlib.ExitStack, home: Path, kinds: list[str]) -> dict[str, Callable[[Path], list[str]]]:
    """Return, of each kind, what makes the words of a run with an empty state in a directory."""
    kafka = stack.enter_context(brokers.broker())
    (home / "orders.sql").write_text(table.DDL)
    made: dict[str, Callable[[Path], list[str]]] = {"quickstart": lambda _: ["quickstart"]}

    if "files" in kinds:
        (home / "in").mkdir()
        table.write(home / "in", ROWS, 1)
        table.publish(home / "in")

        def files(at: Path) -> list[str]:
            channel = at / "channel.yaml"
            channel.write_text(_CHANNEL.format(home=home, at=at, servers=kafka.servers, topic=f"start-{uuid.uuid4()}"))
            return ["--channel", str(channel), "--once"]

        made["files"] = files
    if "capture" in kinds:
        server = stack.enter_context(postgres.cluster())
        server.psql(f"{table.DDL}; insert into orders {SELECT} from generate_series(1, {ROWS}) i")

        def capture(at: Path) -> list[str]:
            server.psql(
                "select pg_drop_replication_slot(slot_name) from pg_replication_slots; "
                "drop publication if exists integrator_postgres"
            )
            return ["run", "--from", server.dsn, "--to", kafka.servers, "--state", str(at / "state"), "--once"]

        made["capture"] = capture
    return made


def used(pid: int) -> float:
    """Return the seconds of CPU of a process and all that it has started."""
    process = psutil.Process(pid)
    return sum(sum(one.cpu_times()[:4]) for one in (process, *process.children(recursive=True)))


def measure(tree: Path, words: list[str]) -> tuple[float, float, float]:
    """Run the tree's program; return the seconds to its first synced cycle, those of CPU until then, and to its end."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "INTEGRATOR_LOG_CYCLES": "1"}
    began, synced, cpu = time.monotonic(), None, 0.0
    ran = subprocess.Popen(
        [sys.executable, "run.py", *words],
        cwd=tree,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert ran.stdout is not None
    said = []
    for line in ran.stdout:
        said.append(line)
        is_synced = line.startswith("{") and json.loads(line)["event"] == "cycle synced"
        if synced is None and (is_synced or line.startswith("The rows that were there are in Kafka")):
            synced, cpu = time.monotonic() - began, used(ran.pid)
    assert ran.wait() == 0, "".join(said)
    assert synced is not None, "".join(said)
    return synced, cpu, time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--kind", nargs="+", choices=KINDS, default=KINDS[:2])
    parser.add_argument("--tree", nargs="+", type=Path, default=[Path(__file__).parents[2]])
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="start-")))
        made = commands(stack, home, given.kind)
        for kind in given.kind:
            found: list[list[tuple[float, float, float]]] = [[] for _ in given.tree]
            for run in range(given.runs + 1):  # the first one warms up
                for tree, of_tree in zip(given.tree, found, strict=True):
                    with tempfile.TemporaryDirectory(prefix="start-") as state:
                        one = measure(tree.resolve(), made[kind](Path(state)))
                    of_tree.extend([one] if run else [])
            for tree, of_tree in zip(given.tree, found, strict=True):
                synced, cpu, ended = (statistics.median(column) for column in zip(*of_tree, strict=True))
                each = ", ".join(f"{one[0]:.1f}" for one in of_tree)
                print(f"{kind}: synced after {synced:.2f} s ({each}), CPU {cpu:.2f}; ended {ended:.2f}  {tree}")


if __name__ == "__main__":
    main()
