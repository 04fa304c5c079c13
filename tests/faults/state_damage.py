"""Random damage to a channel's state directory: never is a row lost without a word.

    python -m tests.faults.state_damage [--rounds 200] [--seed 1] [--processes 4]

Each round begins with the state of a channel that real Spark and a real Kafka made, after a cycle or in the middle of
one. One or two of its files or directories are removed, emptied, cut, zeroed, or replaced by those of another time (of
an earlier cycle, or of the channel's life before everything was sent again); the synced files are still in the inbox or
are not; new files come. Then the channel integrates existing changes. Either all that was not sent yet is in Kafka, as a
consumer of its own reads it; or the channel refuses, and one of the remedies that the message offers, drawn by lot and
followed to the letter, brings it back, and then all of it is there. Some rounds are processes of their own.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import re
import shutil
import sys
import tempfile
import threading
import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import structlog
from confluent_kafka import Consumer, TopicPartition

from integrator import plan as planning
from integrator.cli import main as cli
from integrator.errors import EnvironmentFault, IntegratorError
from integrator.run.job import Job
from integrator.sources.journal.journal import Journal
from tests.parts import channels
from tests.parts.brokers import broker
from tests.parts.daemon import Daemon
from tests.parts.damage import Damage, draw_damage

DDL = "create table t(id bigint primary key, v text);\n"
CYCLES, ROWS = 5, 6
"""Cycles of each life, of one file each; rows of a file."""
MOST_REMEDIES = 6
CONTINUES = 0.2
"""In how many of the rounds another file comes after the channel is back."""
BUNDLING = {"row": "", "transaction": ", Kafka_Message_Bundling: TRANSACTION"}
MOMENTS = ("committed", "synced, not committed", "begun", "begun, and a line of the journal is cut")


@dataclass
class Line:
    """A channel, whose transactions each continue in the next file; its rows in Kafka are read as they arrive."""

    directory: Path
    kind: str
    servers: str
    spark: object
    snapshots: list[Path] = field(default_factory=list)
    next_file: int = 0
    moment: str = MOMENTS[0]
    waiting: set[int] = field(default_factory=set)
    """The ids of rows that wait for the rest of their transaction."""

    def __post_init__(self) -> None:
        self.topic = f"damage{uuid.uuid4().hex[:8]}.t"
        self.directory.mkdir()
        prefix, kafka = self.topic.removesuffix(".t"), BUNDLING[self.kind]
        self.channel = channels.shop(self.directory, self.servers, prefix, "hvr", kafka=kafka)
        (self.directory / "t.sql").write_text(DDL)
        self.channel.write_text(self.channel.read_text().replace(channels.SHOP_SQL, f"{self.directory}/t.sql"))
        self.state, self.inbox = self.directory / "state" / "shop", self.directory / "in"
        self.archive = self.directory / "archive"
        self.archive.mkdir()
        own = {"bootstrap.servers": self.servers, "group.id": self.topic, "enable.auto.commit": False, "log_level": 0}
        self.consumer = Consumer(own)
        self.position = 0

    def write(self) -> set[int]:
        """A new change file; half of its rows are of a transaction that continues in the next one. Returns their ids."""
        number, self.next_file = self.next_file, self.next_file + 1
        ids = range(number * ROWS, (number + 1) * ROWS)
        half, lines = ROWS // 2, []
        for at, row in enumerate(ids):
            change = {"hvr_op": 1, "hvr_tx_seq": f"{number + at // half + 1:x}", "id": row, "v": f"v{row}"}
            left = half - at if at < half else half + ROWS - at  # of the transaction, this row among them
            lines.append(json.dumps(change | {"hvr_tx_countdown": left}) + "\n")
        (self.archive / f"{number:05d}.jsonl").write_text("".join(lines))
        shutil.copy2(self.archive / f"{number:05d}.jsonl", self.inbox)
        return set(ids)

    def run(self) -> None:
        job = Job(planning.build(str(self.channel), "UTC"), threading.Event())
        try:
            job.prepare()
            job.run(self.spark, once=True)  # type: ignore[arg-type]
        finally:
            job.close()

    def run_process(self) -> None:
        daemon = Daemon(self.channel, "--once")
        code = daemon.wait()
        if code == EnvironmentFault.kind.exit_code:
            raise EnvironmentFault("\n".join(daemon.lines[-3:]))
        assert code == 0, "\n".join(daemon.lines[-30:])

    def command(self, *words: str) -> None:
        cli.app(["state", "--channel", str(self.channel), "--cycles", "1", *words], standalone_mode=False, obj=[])

    def received(self) -> list[int]:
        """The ids of the rows that came into Kafka since the last call, as often as they came."""
        partition = TopicPartition(self.topic, 0, self.position)
        self.consumer.assign([partition])
        _, end = self.consumer.get_watermark_offsets(partition, timeout=30)
        ids: list[int] = []
        while self.position < end:
            message = self.consumer.poll(30)
            assert message is not None, f"{self.topic} cannot be read at {self.position}"
            assert message.error() is None, message.error()
            self.position = message.offset() + 1
            ids += map(int, re.findall(rb'"id":\s*(\d+)', message.value()))
        return ids

    def build(self) -> None:
        """Two lives, and what the state directory was after each cycle."""
        for life in range(2):
            shutil.rmtree(self.state, ignore_errors=True)
            for path in self.inbox.glob("*"):
                path.unlink()
            for cycle in range(CYCLES if life else CYCLES // 2):
                self.write()
                self.run()
                snapshot = self.directory / f"life {life} cycle {cycle}"
                shutil.copytree(self.state, snapshot)
                self.snapshots.append(snapshot)
                if life and cycle in (CYCLES // 2, CYCLES - 1):
                    self.command("--export", str(self.directory / f"backup {cycle}"))
        sent = self.received()
        waiting = ROWS // 2 if self.kind == "transaction" else 0
        assert len(set(sent)) == self.next_file * ROWS - 2 * waiting, (
            f"{len(set(sent))} rows were sent before any damage"
        )

    def backups(self) -> list[Path]:
        """The backups of cycles that are synced at the moment of the round."""
        known = sorted(self.directory.glob("backup *"))
        return known[:-1] if self.moment.startswith("begun") else known

    def begin_round(self, moment: str, *, with_synced: bool) -> set[int]:
        """The state at a moment, and files that are not sent yet. Returns the ids that have to come."""
        self.moment = moment
        shutil.rmtree(self.state)
        shutil.copytree(self.snapshots[-1], self.state)
        last = CYCLES - 1
        names = [] if moment == MOMENTS[0] else [f"commits/{last}", f"commits/.{last}.crc"]
        for name in names:
            (self.state / "checkpoint" / name).unlink()
        begun = moment.startswith("begun")
        if begun:
            for path in (self.state / "synced").glob(f"{last}.*"):
                path.unlink()
        taken = [Path(entry.path).name for _, entry in Journal(self.state / "files.jsonl").between(0, CYCLES)]
        for path in self.inbox.glob("*"):
            path.unlink()
        # files of a cycle that is not synced stay, and so do those with rows that wait
        unsynced = (1 if begun else 0) + (1 if self.kind == "transaction" else 0)
        for name in taken if with_synced else taken[CYCLES - unsynced :]:
            shutil.copy2(self.archive / name, self.inbox)
        if "line" in moment:
            with (self.state / "files.jsonl").open("ab") as journal:
                journal.write(b'{"path": "/in/')
        unsent = int(taken[-1].partition(".")[0]) * ROWS
        ids = set(range(unsent, unsent + ROWS)) if begun else set()
        self.waiting = set()
        if self.kind == "transaction":
            first = int(taken[CYCLES - unsynced].partition(".")[0])
            self.waiting = set(range(first * ROWS + ROWS // 2, (first + 1) * ROWS))
        return ids | self.written(2)

    def written(self, files: int) -> set[int]:
        """Write change files; return the ids of the rows that do not wait for the rest of their transaction then."""
        ids = sorted(row for _ in range(files) for row in self.write())
        waited, self.waiting = self.waiting, set(ids[-ROWS // 2 :]) if self.kind == "transaction" else set()
        return (waited | set(ids)) - self.waiting


REMEDIES = {
    "back-to": re.compile(r"--back-to (\d+)\)?;"),
    "import": re.compile(r"--import (BACKUP|FILE) --replace"),
    "remove all": re.compile(r"remove everything in (\S+) to send all files"),
    "remove marks": re.compile(r"remove those before it \(up to (\d+)\.json\)"),
    "put back": re.compile(r"(\S+): the change file is gone; put it back"),
    "remove it": re.compile(r"(\S+): is damaged .*, or remove it"),
}


def follow(line: Line, told: str, draw: random.Random) -> str:
    """Follow one of the remedies that a message offers; return which."""
    offered = {name: found for name, pattern in REMEDIES.items() if (found := pattern.search(told))}
    assert offered, f"no remedy in: {told}"
    name = draw.choice(sorted(offered))
    value = offered[name][1]
    if name == "back-to":
        line.command("--back-to", value)
    elif name == "import":
        line.command("--import", str(draw.choice(line.backups())), "--replace")
    elif name == "remove all":
        for path in Path(value).iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    elif name == "remove marks":
        for number in range(int(value) + 1):
            for path in (line.state / "synced").glob(f"{number}.*"):
                path.unlink()
    elif name == "put back":
        shutil.copy2(line.archive / Path(value).name, line.inbox)
    else:
        Path(value).unlink()
    return name


def one_round(line: Line, draw: random.Random, *, process: bool) -> Counter[str]:
    """One round; returns what is counted. Raises AssertionError where a row is lost, or no remedy helps."""
    moment, with_synced = draw.choice(MOMENTS), draw.random() < 0.5
    expected = line.begin_round(moment, with_synced=with_synced)
    # where the last cycle is not synced, what the state was after it is no earlier state
    snapshots = line.snapshots[:-1] if moment.startswith("begun") else line.snapshots
    damages: list[Damage] = [draw_damage(draw, line.state, snapshots) for _ in range(draw.choice((1, 2)))]
    done = f"{line.kind}, {moment}, synced files {'kept' if with_synced else 'removed'}: " + "; ".join(
        map(str, damages)
    )
    for damage in damages:
        damage.do(line.state)
    counted = Counter({"rounds": 1, "pairs": len(damages) - 1, "processes": int(process)})
    tried: list[str] = []
    while True:
        try:
            line.run_process() if process and not tried else line.run()
            break
        except IntegratorError as error:
            counted["refused"] += not tried
            if len(tried) == MOST_REMEDIES:
                raise AssertionError(f"{done}: no remedy helps, tried {tried}: {error}") from error
            try:
                tried.append(follow(line, str(error), draw))
            except IntegratorError as refused:
                raise AssertionError(f"{done}: a remedy is refused, after {tried}: {error}: {refused}") from refused
            counted[f"remedy: {tried[-1]}"] += 1
        except Exception as error:
            raise AssertionError(f"{done}: no error with a remedy, but {type(error).__name__}: {error}") from error
    if draw.random() < CONTINUES:
        expected |= line.written(1)
        line.run()
        counted["went on"] += 1
    came = line.received()
    lost = expected - set(came)
    assert not lost, f"{done}; remedies {tried}: I4: {len(lost)} of {len(expected)} rows are lost: {sorted(lost)[:20]}"
    counted["complete at once"] += not tried
    counted["brought back"] += bool(tried)
    counted["rows that had to come"] += len(expected)
    counted["repeated rows"] += len(came) - len(set(came) & expected)
    print(f"{done} -> {'complete' if not tried else 'refused; ' + ', '.join(tried)}", flush=True)
    return counted


def run(
    servers: str, directory: Path, spark: object, create, *, rounds: int, seed: int, processes: int = 0
) -> Counter[str]:
    draw = random.Random(seed)
    lines = []
    for kind in BUNDLING:
        line = Line(directory / kind, kind, servers, spark)
        create([line.topic], 1)
        line.build()
        lines.append(line)
    counted: Counter[str] = Counter()
    failures: list[str] = []
    try:
        for number in range(rounds):
            process = processes > 0 and number % max(rounds // processes, 1) == 0
            try:
                counted += one_round(draw.choice(lines), draw, process=process)
            except AssertionError as error:
                print(f"FAILED: {error}", flush=True)
                failures.append(str(error))
    finally:
        print(dict(counted), flush=True)
        for line in lines:
            line.consumer.close()
    assert not failures, "\n".join(failures)
    return counted


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=4)
    options = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from integrator.run.spark import session

    session.DEFAULTS["spark.master"] = "local[2]"
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    with tempfile.TemporaryDirectory(prefix="damage-") as name, broker() as kafka:
        print(f"broker: {kafka.kind}", flush=True)
        spark = session.start("damage")
        spark.sparkContext.setLogLevel("OFF")
        try:
            counted = run(
                kafka.servers,
                Path(name),
                spark,
                kafka.create,
                rounds=options.rounds,
                seed=options.seed,
                processes=options.processes,
            )
        finally:
            spark.stop()
    print("no row is lost without a word, and each remedy helps:", dict(counted))


if __name__ == "__main__":
    main()
