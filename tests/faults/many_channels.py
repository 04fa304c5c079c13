"""Several channels in one process, started again and again: each start, every channel syncs a cycle, and none fails.

    python -m tests.faults.many_channels [--channels 4] [--starts 20]

Before each start every inbox gets one more change file. A start is good when all channels have synced it, none has
logged a failure (one after which it started again counts too), and SIGTERM ends the process with exit code 0. At the
end each row is in Kafka once.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench import rows as table
from tests.parts import channels, kafka_io
from tests.parts.brokers import broker
from tests.parts.daemon import Daemon
from tests.parts.waiting import PATIENCE_S

ROWS_A_FILE = 50
FAILURES = ("failed", "failed, starts again")


@dataclass
class Outcome:
    """What the starts came to: how many were good, the errors of the others, and the seconds until all had synced."""

    good: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)


def run(servers: str, directory: Path, count: int, starts: int, create: Callable[[list[str]], None]) -> Outcome:
    """Start `count` channels in one process, `starts` times; then check what lies in Kafka."""
    prefix = f"many{uuid.uuid4().hex[:8]}"
    names = [f"c{number:02d}" for number in range(count)]
    topics = [f"{prefix}.{name}.orders" for name in names]
    create(topics)
    files = [_channel(directory / name, servers, f"{prefix}.{name}", name) for name in names]
    outcome = Outcome()
    for start in range(starts):
        for name in names:
            inbox = directory / name / "in"
            table.write(inbox, ROWS_A_FILE, 1, start * ROWS_A_FILE, f"f{start:05d}-")
            table.publish(inbox, f"f{start:05d}-")
        _start(files, names, outcome)
        print(f"start {start + 1:2d}: {outcome.good} good so far; {dict(outcome.errors)}", flush=True)
    for topic in topics:
        ids = Counter(json.loads(message.value)["payload"]["id"] for message in kafka_io.read_all(servers, [topic]))
        if not outcome.errors:  # a failed cycle may leave rows in Kafka that are sent again
            assert ids == Counter(range(starts * ROWS_A_FILE)), f"{topic}: {ids.total()} rows"
    return outcome


def _channel(directory: Path, servers: str, prefix: str, name: str) -> Path:
    directory.mkdir(parents=True)
    (directory / "orders.sql").write_text(table.DDL)
    path = channels.shop(directory, servers, prefix, "hvr")
    text = path.read_text().replace(channels.SHOP_SQL, f"{directory}/orders.sql")
    path.write_text(text.replace("channel: shop", f"channel: {name}"))
    return path


def _start(files: list[Path], names: list[str], outcome: Outcome) -> None:
    """Start one process with all channels, wait until each has synced or one has failed, and end it."""
    words = [word for file in files[1:] for word in ("--channel", str(file))]
    began = time.monotonic()
    daemon = Daemon(files[0], *words)
    deadline, left = began + PATIENCE_S, set(names)
    while left and daemon.running and time.monotonic() < deadline:
        left -= {event["channel"] for event in daemon.events("cycle synced")}
        left -= {event["channel"] for event in daemon.events("failed")}
        time.sleep(0.1)
    seconds = time.monotonic() - began
    if daemon.running:
        daemon.terminate()
    code = daemon.wait()
    errors = [event["error"] for name in FAILURES for event in daemon.events(name)]
    outcome.errors.update(map(_gist, errors))
    if errors or left or code:
        (files[0].parent.parent / f"log{outcome.errors.total()}").write_text("\n".join(daemon.lines))
    if left and not errors:
        outcome.errors[f"{len(left)} channels neither synced nor failed within {PATIENCE_S} s"] += 1
    if code and not errors:
        outcome.errors[f"exit code {code}"] += 1
    if not errors and not left and not code:
        outcome.good += 1
        outcome.seconds.append(round(seconds, 1))


def _gist(error: str) -> str:
    """Return the Java exceptions that an error names, or its beginning."""
    named = dict.fromkeys(re.findall(r"java[\w.]+(?:Exception|Error)\b", error))
    late = ["Python worker failed to connect back"] if "connect back" in error else []
    return ", ".join([*named, *late]) or " ".join(error.split())[:300]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--channels", type=int, default=4)
    parser.add_argument("--starts", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="many-") as name, broker() as kafka:
        print(f"broker: {kafka.kind}")
        outcome = run(kafka.servers, Path(name), options.channels, options.starts, kafka.create)
    seconds = sorted(outcome.seconds)
    middle = seconds[len(seconds) // 2] if seconds else None
    print(
        f"{options.channels} channels: {outcome.good} of {options.starts} starts good; median {middle} s until synced"
    )
    for error, times in outcome.errors.most_common():
        print(f"{times}: {error}")
    if outcome.good < options.starts:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
