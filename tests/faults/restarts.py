"""Restarts in one process, by the hundred: descriptors, threads, sockets, processes and memory stay flat.

    python -m tests.faults.restarts [--restarts 200]

The broker is frozen, so that each cycle fails after a second and the daemon starts its stream again; after each tenth
failure it continues, and a cycle is synced. What the driver, Spark's JVM and the Python processes hold is printed then.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import tempfile
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from tests.bench import rows as table
from tests.faults.kill_minus_nine import ROWS_A_FILE, write_changes
from tests.parts import brokers, channels
from tests.parts.daemon import Daemon

EVERY = 10


@dataclass(frozen=True)
class Held:
    """What a daemon's processes hold at a moment."""

    restarts: int
    driver_descriptors: int
    driver_threads: int
    driver_mb: int
    jvm_descriptors: int
    jvm_threads: int
    jvm_mb: int
    listening: int
    processes: int
    log_lines: int


def held(pid: int, restarts: int, log_lines: int) -> Held:
    """Return what the process and those below it hold."""
    driver = psutil.Process(pid)
    below = driver.children(recursive=True)
    [jvm] = [one for one in driver.children() if one.name() == "java"]
    listening = 0
    for one in (driver, *below):
        with contextlib.suppress(psutil.Error):
            listening += sum(each.status == psutil.CONN_LISTEN for each in one.net_connections("tcp"))
    return Held(
        restarts,
        *(driver.num_fds(), driver.num_threads(), driver.memory_info().rss >> 20),
        *(jvm.num_fds(), jvm.num_threads(), jvm.memory_info().rss >> 20),
        listening,
        1 + len(below),
        log_lines,
    )


def run(directory: Path, restarts: int) -> list[Held]:
    """Have a daemon restart so often; return what its processes held after each tenth."""
    class_path = brokers.libraries()
    assert class_path is not None, "a broker that can be frozen needs mvn and Java 17"
    (directory / "orders.sql").write_text(table.DDL)
    (directory / "kafka").mkdir()
    with brokers.KraftBroker(class_path, directory / "kafka") as broker:
        prefix = f"restarts{uuid.uuid4().hex[:8]}"
        brokers.Broker(broker.servers, "frozen", real=True).create([f"{prefix}.orders"])
        channel = channels.shop(directory, broker.servers, prefix, "hvr")
        text = channel.read_text().replace(channels.SHOP_SQL, f"{directory}/orders.sql")
        text = text.replace('Value: "20"', 'Value: "1"')
        channel.write_text(f"{text}restart: {{tries: 100000, first_seconds: 0.1, most_seconds: 0.1}}\n")
        daemon = Daemon(channel)
        seen = []
        daemon.wait_for("integrating")
        for number in range(restarts // EVERY):
            write_changes(directory / "in", 2 * number)
            daemon.wait_for("cycle synced", number + 1)
            seen.append(held(daemon.pid, len(daemon.events("failed, starts again")), len(daemon.lines)))
            print(asdict(seen[-1]), flush=True)
            broker.process.send_signal(signal.SIGSTOP)
            write_changes(directory / "in", 2 * number + 1)
            daemon.wait_for("failed, starts again", EVERY * (number + 1))
            broker.process.send_signal(signal.SIGCONT)
        rows = 2 * (restarts // EVERY) * ROWS_A_FILE
        daemon.wait_for_rows(rows)  # else it would end in a failure
        assert daemon.terminate() == 0, daemon.lines[-20:]
    return seen


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--restarts", type=int, default=200)
    with tempfile.TemporaryDirectory(prefix="restarts-") as name:
        run(Path(name), parser.parse_args().restarts)


if __name__ == "__main__":
    main()
