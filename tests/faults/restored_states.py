"""Exactly once with a state directory of an earlier time, and another number of cores: a cycle is begun, ends at some
step of its commit, and is begun again from the same state directory or from a copy that was made before.

    python -m tests.faults.restored_states [--rounds 60] [--seed 5]

After each round a consumer with read_committed has each change once. What was drawn is counted by its name.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import shutil
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from unittest import mock

import psutil
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from pyspark.errors import PySparkException

from integrator.contracts.shards import Step
from integrator.deliver.kafka.begun_cycles import BegunCycles
from integrator.errors import IntegratorError
from integrator.run.state.directory import State
from integrator.run.state.shards import CycleShards
from tests.parts import brokers, channels, in_process, kafka_io, pure

CORES = (1, 2, 4, 5)
FILES, ROWS = 4, 60
LONGEST = 20_000
"""Bytes that a topic takes in a message, until its limit is raised."""


class Killed(Exception):
    """The process has ended at this step."""


def _killed(*_: object, **__: object) -> None:
    raise Killed


@contextlib.contextmanager
def _after_mark() -> Iterator[None]:
    mark = State.mark

    def marked(self: State, *arguments: object) -> None:
        mark(self, *arguments)
        raise Killed

    with mock.patch.object(State, "mark", marked):
        yield


@contextlib.contextmanager
def _workers_killed() -> Iterator[None]:
    """Kill Spark's Python workers while they send, which takes as long as the channel's rate limit makes it."""

    def kill() -> None:
        begun.wait(60)
        time.sleep(0.7)
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if "pyspark.daemon" in " ".join(process.cmdline()) and process.parent().name() != "java":
                    process.kill()

    begun, begin = threading.Event(), BegunCycles.begin

    def noted(self: BegunCycles, *arguments: object, **named: object) -> object:
        try:
            return begin(self, *arguments, **named)
        finally:
            begun.set()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with mock.patch.object(BegunCycles, "begin", noted):
            yield
    finally:
        begun.set()
        killer.join()


STEPS: dict[str, Callable[[], contextlib.AbstractContextManager[object]]] = {
    "before the cycle is recorded": lambda: mock.patch.object(BegunCycles, "_write", _killed),
    "before its shards are sent": lambda: mock.patch("integrator.run.cycle.second_pass", _killed),
    "workers killed while they send": _workers_killed,
    "when some shards are committed": contextlib.nullcontext,
    "when all shards are committed": lambda: mock.patch("integrator.run.cycle.check_acknowledged", _killed),
    "when the cycle is marked": _after_mark,
    "when the cycle is done": contextlib.nullcontext,
}


@contextlib.contextmanager
def on_cores(count: int) -> Iterator[None]:
    """Have as many tasks send at once."""
    begin = CycleShards.begin

    def begun(self: CycleShards, step: Step, after: Step, journal: str, moment: datetime, _: int) -> object:
        return begin(self, step, after, journal, moment, count)

    with mock.patch.object(CycleShards, "begin", begun):
        yield


def one_round(
    directory: Path,
    servers: str,
    integrate: Callable[[Path], None],
    step: str,
    first: int,
    then: int,
    *,
    restored: bool,
) -> None:
    """Begin a cycle on `first` cores, end at a step, and continue with `then` cores; check what a consumer has."""
    topic = f"restored{uuid.uuid4().hex[:8]}"
    partial = step == "when some shards are committed"
    limit = {"max.message.bytes": str(LONGEST)} if partial else {}
    admin = AdminClient({"bootstrap.servers": servers})
    for made in admin.create_topics([brokers.NewTopic(topic, 4, 1, config=limit)]).values():
        made.result()
    path = channel_of(directory, servers, topic, slow=step.startswith("workers"))
    state = directory / "state"
    write(directory, 0)
    integrate(path)
    copied = shutil.copytree(state, directory / "copy")
    for number in range(1, FILES):
        write(directory, number, long=partial and number == 1)
    with STEPS[step](), on_cores(first):
        try:
            integrate(path)
        except (Killed, IntegratorError, PySparkException):
            assert step != "when the cycle is done"
        else:
            assert step in ("when the cycle is done", "workers killed while they send")
    if partial:
        entry = ConfigEntry("max.message.bytes", "1048588", incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        for changed in admin.incremental_alter_configs([resource]).values():
            changed.result()
        if first > 1:
            assert read(servers, topic), "some shards are committed"
    if restored:
        shutil.rmtree(state)
        copied.rename(state)
    with on_cores(then):
        integrate(path)
    assert read(servers, topic) == sorted(key(number, row) for number in range(FILES) for row in range(ROWS))


def channel_of(directory: Path, servers: str, topic: str, *, slow: bool) -> Path:
    path = channels.shop(directory, servers, topic, "hvr", more=f"  - {pure.PLAIN}\n")
    (directory / "t.sql").write_text("create table t(k int primary key, note text);")
    text = path.read_text().replace(channels.SHOP_SQL, f"{directory}/t.sql").replace(f"{topic}.{{hvr_tbl_name}}", topic)
    if slow:
        text += '  - {action: Environment, Name: HVR_KAFKA_RATE_LIMIT, Value: "100"}\n'
    path.write_text(f"{text}delivery: exactly_once\n")
    return path


def key(number: int, row: int) -> int:
    return 1000 * number + row


def write(directory: Path, number: int, *, long: bool = False) -> None:
    note = [random.Random(number).randbytes(LONGEST).hex() if long and row == 0 else "" for row in range(ROWS)]
    rows = ({"k": key(number, row), "note": note[row], "hvr_tx_seq": f"{number + 1}"} for row in range(ROWS))
    pure.hvr(directory / "in", *rows, name=f"{number}.jsonl")


def read(servers: str, topic: str) -> list[int]:
    """The keys that a consumer with read_committed has, in order, each as often as it came."""
    return sorted(json.loads(message.value)["k"] for message in kafka_io.read_all(servers, [topic]))


def run(directory: Path, servers: str, integrate: Callable[[Path], None], rounds: int, seed: int) -> Counter[str]:
    """Have so many rounds, drawn by the seed; return how often each step was drawn."""
    draw, seen = random.Random(seed), Counter[str]()
    for number in range(rounds):
        step, restored = list(STEPS)[number % len(STEPS)], draw.random() < 0.7
        first, then = draw.choice(CORES), draw.choice(CORES)
        print(f"round {number}: {step}, {first} cores, then {then}, {restored=}", flush=True)
        (scene := directory / str(number)).mkdir()
        one_round(scene, servers, integrate, step, first, then, restored=restored)
        seen[f"{step}, {'restored' if restored else 'same state'}"] += 1
    return seen


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    integrate = partial(in_process.integrate, in_process.session_of("restored states"))
    with brokers.broker() as broker, tempfile.TemporaryDirectory(prefix="restored-") as name:
        seen = run(Path(name), broker.servers, integrate, options.rounds, options.seed)
    print("each change once:", dict(sorted(seen.items())))


if __name__ == "__main__":
    main()
