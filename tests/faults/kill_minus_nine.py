"""kill -9 at random moments, again and again: every change is in Kafka, per key in source order, repeats byte-identical.

    python -m tests.faults.kill_minus_nine [--kills 20] [--seed 1] [--delivery exactly_once]

A feeder drops change files into the inbox all the while; the daemon is killed at a random moment (before, in or between
cycles; every other time alone, every other time with its JVM and workers), and started again.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import threading
import time
import uuid
from collections import defaultdict
from pathlib import Path

from tests.bench import rows as table
from tests.parts import channels, kafka_io
from tests.parts.brokers import broker
from tests.parts.daemon import Daemon

KEYS = 500
ROWS_A_FILE = 1000


def write_changes(directory: Path, number: int) -> None:
    """A file of changes of a few hundred keys; it may begin in the middle of the transaction that the last one began."""
    table.write(directory, ROWS_A_FILE, 1, number * ROWS_A_FILE, f"f{number:05d}-")
    [path] = directory.glob(f".f{number:05d}-*")
    lines = []
    for at, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        record = json.loads(line)
        order = number * ROWS_A_FILE + at
        record |= {"id": order % KEYS, "hvr_tx_seq": f"{order // 777:x}", "qty": order}
        lines.append(json.dumps(record) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
    path.rename(path.with_name(path.name[1:]))


def run(
    servers: str, directory: Path, kills: int, seed: int, create, delivery: str = "at_least_once"
) -> dict[str, int]:
    """Feed, kill, restart; then check what a consumer with read_committed sees. Returns what was counted."""
    draw = random.Random(seed)
    prefix = f"kill{uuid.uuid4().hex[:8]}"
    topic = f"{prefix}.orders"
    create([topic])
    (directory / "orders.sql").write_text(table.DDL)
    small_cycles = "  - {action: Integrate, CycleByteLimit: 1500000}\n"
    channel = channels.shop(directory, servers, prefix, "hvr", more=small_cycles)
    text = channel.read_text().replace(channels.SHOP_SQL, f"{directory}/orders.sql")
    channel.write_text(text + f"delivery: {delivery}\n")
    inbox, stop, fed = directory / "in", threading.Event(), 0

    def feed() -> None:
        nonlocal fed
        while not stop.wait(0.5):
            write_changes(inbox, fed)
            fed += 1

    feeder = threading.Thread(target=feed)
    feeder.start()
    cycles_when_killed = 0
    try:
        for kill in range(kills):
            daemon = Daemon(channel)
            daemon.wait_for("integrating")
            if draw.random() < 0.7:  # in the middle of much sending; else before or in the first cycle
                daemon.wait_for("cycle synced", draw.randint(1, 3))
            time.sleep(draw.uniform(0.0, 3.0))
            cycles_when_killed += len(daemon.events("cycle synced"))
            daemon.kill(everything=bool(kill % 2))
            print(
                f"kill {kill + 1:2d}: {len(daemon.events('cycle synced'))} cycles in this life, {fed} files", flush=True
            )
    finally:
        stop.set()
        feeder.join()
    last = Daemon(channel, "--once")
    assert last.wait() == 0, "\n".join(last.lines[-20:])
    counted = check(kafka_io.read_all(servers, [topic]), fed * ROWS_A_FILE)
    assert delivery != "exactly_once" or not counted["repeats"], f"I8: {counted['repeats']} changes came twice"
    return counted | {"kills": kills, "cycles": cycles_when_killed}


def check(received: list[kafka_io.Read], rows: int) -> dict[str, int]:
    """Every row is there; without the repeats each key's changes grow; a repeat is the same, byte for byte."""
    values: dict[str, bytes] = {}
    places: dict[bytes, set[int]] = defaultdict(set)
    newest: dict[bytes, str] = {}
    repeats = 0
    for message in received:
        assert message.key is not None
        payload = json.loads(message.value)["payload"]
        sequence = payload["integ_seq"]
        places[message.key].add(message.partition)
        if sequence in values:
            repeats += 1
            assert values[sequence] == message.value, f"I2: {sequence} was sent as two different messages"
        else:
            values[sequence] = message.value
            assert newest.get(message.key, "") < sequence, f"I3: {sequence} comes after {newest[message.key]}"
            newest[message.key] = sequence
    assert len(values) == rows, f"I4: {rows - len(values)} of {rows} changes are not in Kafka"
    assert all(len(partitions) == 1 for partitions in places.values()), "I3: a key in two partitions"
    return {"rows": rows, "messages": len(received), "repeats": repeats}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delivery", default="at_least_once")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills-") as name, broker() as kafka:
        print(f"broker: {kafka.kind}")
        counted = run(kafka.servers, Path(name), options.kills, options.seed, kafka.create, options.delivery)
        print("every change is in Kafka, per key in source order, repeats byte-identical:", counted)


if __name__ == "__main__":
    main()
