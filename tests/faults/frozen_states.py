"""Exactly once where a process is frozen between two steps of a commit: another one integrates all, then it continues.

    python -m tests.faults.frozen_states [--rounds 16] [--seed 6]

The other process has a copy of the state, or the same directory on a volume without locks. After each round a consumer
with read_committed has each change once. What was drawn is counted by its name.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import psutil
from confluent_kafka.admin import AdminClient

from tests.faults.restored_states import CORES, FILES, ROWS, channel_of, key, on_cores, read, write
from tests.parts import brokers, frozen, in_process
from tests.parts.daemon import Daemon
from tests.parts.waiting import until

LOCKS = ("lock", "senders", "integrating", "jvm")


def one_round(
    directory: Path,
    servers: str,
    integrate: Callable[[Path], None],
    step: str,
    first: int,
    then: int,
    *,
    copied: bool,
    later: bool,
) -> None:
    """Freeze a process on `first` cores at a step of its cycle, have this one on `then` cores integrate all, and have the
    frozen one continue; check what a consumer has.

    copied: this one has a copy of the state; else the same directory, on a volume without locks. later: it has gone
    on by a cycle: the frozen one must end with an error then, and mark no cycle.
    """

    def integrated(channel: Path, cores: int) -> None:
        with on_cores(cores):
            integrate(channel)

    topic = f"frozen{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": servers})
    for made in admin.create_topics([brokers.NewTopic(topic, 4, 1)]).values():
        made.result()
    path, files = channel_of(directory, servers, topic, slow=False), FILES + later
    write(directory, 0)
    integrated(path, first)
    for number in range(1, FILES):
        write(directory, number)
    paused = Daemon(path, "--once", master=f"local[{first}]", program=("-m", "tests.parts.frozen", step))
    try:
        _wait_until_stopped(paused)
        other = path
        if copied:
            shutil.copytree(directory / "state", directory / "copy")
            other = directory / "other.yaml"
            other.write_text(path.read_text().replace(f"{directory}/state", f"{directory}/copy"))
        for name in LOCKS if not copied else ():
            (directory / "state" / "shop" / name).unlink(missing_ok=True)
        integrated(other, then)
        if later:
            write(directory, FILES)
            integrated(other, then)
        marks = _marks(path)
        os.kill(paused.pid, signal.SIGCONT)
        code = paused.wait()
    finally:
        if paused.running:
            paused.kill(everything=True)
    is_sent = copied and step == "when all shards are committed"  # then its cycle is synced, in its own directory
    assert code in ((4, 5) if later and not is_sent else (0, 4, 5)), "\n".join(paused.lines[-30:])
    if later and not is_sent:
        assert _marks(path) == marks, "the frozen process marks no cycle"
    integrated(other, then)
    assert read(servers, topic) == sorted(key(number, row) for number in range(files) for row in range(ROWS))


def _wait_until_stopped(daemon: Daemon) -> None:
    def stopped() -> bool:
        assert daemon.running, "\n".join(daemon.lines[-30:])
        return psutil.Process(daemon.pid).status() == psutil.STATUS_STOPPED

    until(stopped, "it does not come to the step")


def _marks(channel: Path) -> dict[str, bytes]:
    return {mark.name: mark.read_bytes() for mark in (channel.parent / "state" / "shop" / "synced").iterdir()}


def run(directory: Path, servers: str, integrate: Callable[[Path], None], rounds: int, seed: int) -> Counter[str]:
    """Have so many rounds in which a process is frozen, drawn by the seed; return how often each step was drawn."""
    draw, seen = random.Random(seed), Counter[str]()
    for number in range(rounds):
        step, copied, later = list(frozen.STEPS)[number % len(frozen.STEPS)], draw.random() < 0.5, draw.random() < 0.7
        first, then = draw.choice(CORES), draw.choice(CORES)
        print(f"round {number}: {step}, {first} cores, then {then}, {copied=}, {later=}", flush=True)
        (scene := directory / str(number)).mkdir()
        one_round(scene, servers, integrate, step, first, then, copied=copied, later=later)
        seen[f"{step}, {'copied' if copied else 'same state'}"] += 1
    return seen


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--seed", type=int, default=6)
    options = parser.parse_args()
    integrate = partial(in_process.integrate, in_process.session_of("frozen states"))
    with brokers.broker() as broker, tempfile.TemporaryDirectory(prefix="frozen-") as name:
        seen = run(Path(name), broker.servers, integrate, options.rounds, options.seed)
    print("each change once:", dict(sorted(seen.items())))


if __name__ == "__main__":
    main()
