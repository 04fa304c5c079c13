"""What guarantees cost: rows/s at least once, exactly once, and with one line in a hundred broken, in one run.

    python -m tests.bench.guarantees [--rows 1000000] [--files 8] [--rounds 4]

Each has a daemon of its own beside one broker; rounds alternate among them, and each begins with another one.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import tempfile
import time
import uuid
from pathlib import Path

from tests.bench import rows as table
from tests.bench.files_to_kafka import CHANNEL
from tests.parts.brokers import broker
from tests.parts.daemon import Daemon

KINDS = {
    "at least once": "",
    "exactly once": "delivery: exactly_once\n",
    "tolerant": "errors: {{tolerance: all, deadletterqueue.topic.name: {topic}.dead, "
    "deadletterqueue.topic.replication.factor: 1}}\n",
    "1 % broken": "errors: {{tolerance: all, deadletterqueue.topic.name: {topic}.dead, "
    "deadletterqueue.topic.replication.factor: 1}}\n",
}
DAMAGES = (
    lambda line: line[: len(line) // 2] + b"\n",
    lambda line: line.replace(b'"qty":', b'"other":1,"qty":', 1),
    lambda line: re.sub(rb'"customer":\d+', b'"customer":"many"', line),
    lambda line: b"\xff" + line,
    lambda line: line.replace(b'"hvr_op":1', b'"hvr_op":9', 1),
)
EACH = 100


def damage(directory: Path) -> None:
    """Break one line in a hundred, in five ways in turn."""
    for path in directory.glob(".*.jsonl"):
        lines = path.read_bytes().splitlines(keepends=True)
        for count, at in enumerate(range(EACH // 2, len(lines), EACH)):
            lines[at] = DAMAGES[count % len(DAMAGES)](lines[at])
        path.write_bytes(b"".join(lines))


class Kind:
    """A channel of its own, its daemon, and its rates."""

    def __init__(self, name: str, servers: str, directory: Path) -> None:
        self.name, self._directory, self._start, self.rates = name, directory, 0, list[float]()
        (directory / "in").mkdir(parents=True)
        (directory / "orders.sql").write_text(table.DDL)
        topic = f"bench-{uuid.uuid4()}"
        text = CHANNEL.format(
            directory=directory,
            servers=servers,
            topic=topic,
            kafka=", Create_Topics: {Partitions: 1}",
            json="SCHEMA_PAYLOAD",
        )
        (directory / "bench.yaml").write_text(text + KINDS[name].format(topic=topic))
        self.daemon = Daemon(directory / "bench.yaml")
        self.daemon.wait_for("integrating")

    def round(self, count: int, files: int) -> float:
        """Send so many rows; return rows/s."""
        prefix = f"r{self._start:09d}-"
        table.write(self._directory / "in", count, files, self._start, prefix)
        if "broken" in self.name:
            damage(self._directory / "in")
        os.sync()  # what the system still writes to the disk would slow what is measured
        self._start += count
        before = self._done()
        began = time.monotonic()
        table.publish(self._directory / "in", prefix)
        while self._done() < before + count:
            assert self.daemon.running, self.daemon.lines[-20:]
            time.sleep(0.02)
        return count / (time.monotonic() - began)

    def _done(self) -> int:
        return sum(event["rows"] + event.get("rejected", 0) for event in self.daemon.events("cycle synced"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=4)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as name, broker() as kafka:
        print(f"broker: {kafka.kind}; {given.rows} rows in {given.files} files, {os.cpu_count()} cores")
        kinds = [Kind(kind, kafka.servers, Path(name) / str(at)) for at, kind in enumerate(KINDS)]
        for kind in kinds:
            kind.round(given.rows // 2, given.files)
        for number in range(given.rounds):
            first = number % len(kinds)
            for kind in (*kinds[first:], *kinds[:first]):
                kind.rates.append(kind.round(given.rows, given.files))
                print(f"round {number + 1}: {kind.name:14} {kind.rates[-1]:10,.0f} rows/s", flush=True)
        medians = [statistics.median(kind.rates) for kind in kinds]
        for kind, median in zip(kinds, medians, strict=True):
            print(f"median:  {kind.name:14} {median:10,.0f} rows/s, {median / medians[0]:.2f} of at least once")
            kind.daemon.terminate()


if __name__ == "__main__":
    main()
