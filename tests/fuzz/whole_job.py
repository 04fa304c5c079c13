"""`python -m tests.fuzz.whole_job --lines 100000`: wrong lines of all dialects through the whole job, twice.

One process integrates a channel for each dialect (errors.tolerance: all) with Spark and a broker. Of each channel: the
lines whose rows a consumer finds, those in the dead letter topic and those that are counted are all lines, none twice;
a second run from the beginning, in another state directory, has the same dead letters.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import uuid
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from structlog.testing import capture_logs

from integrator import plan
from integrator.decode.contract import File, nothing_before, reading_of
from integrator.decode.dialects import DIALECTS
from integrator.run import daemon
from tests.fuzz import units
from tests.fuzz.rejected import OF_LINES
from tests.fuzz.setups import Setup
from tests.parts import kafka_io
from tests.parts.brokers import Broker, broker

_FILE = 1000

CHANNEL = """
channel: {channel}
state: {directory}/state{run}
locations:
  src: {{class: files, path: {directory}/in, dialect: {setup.dialect}, repeated_positions: send{setup.source}}}
  kaf: {{class: kafka, Kafka_Brokers: ["{servers}"], Kafka_Default_Topic: "{topic}",
        Create_Topics: {{Partitions: 1}}}}
tables: [{{file: {directory}/tables.sql, sql_dialect: {setup.sql}}}]
actions:
  - {{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}}
errors: {{tolerance: all, deadletterqueue.topic.name: "{topic}.dead", deadletterqueue.topic.replication.factor: 1,
  deadletterqueue.context.headers.enable: true}}
"""


@dataclass
class Fuzzed:
    """A dialect's channel, and its lines in files."""

    setup: Setup
    directory: Path
    prefix: str
    silent: dict[tuple[str, int], bool] = field(default_factory=dict)
    """Of each line, by file and number, whether the oracle expects no row of it."""

    def write(self, seed: int, count: int) -> None:
        """Write so many lines, or some more."""
        (self.directory / "in").mkdir(parents=True)
        (self.directory / "tables.sql").write_bytes(self.setup.ddl.read_bytes())
        for start in range(0, count, _FILE):
            made = [units.unit(self.setup, seed, number) for number in range(start, min(start + _FILE, count))]
            data, owners = units.file_of(self.setup, [one for one in made if not one.verdict.skipped])
            path = self.directory / "in" / f"{start:07d}.jsonl"
            path.write_bytes(data)
            for line, (one, at) in enumerate(owners, 1):
                joined = self.setup.dialect == "delta-cdf"  # whose preimages are of the row in the line after them
                self.silent[str(path), line] = joined or not one.verdicts[at].rows

    def channel(self, servers: str, run: int) -> Path:
        """Return the channel of a run."""
        name = self.name
        path = self.directory / f"channel{run}.yaml"
        words = {"directory": self.directory, "servers": servers, "run": run, "topic": self.topic(run)}
        path.write_text(CHANNEL.format(channel=name, setup=self.setup, **words))
        return path

    @property
    def name(self) -> str:
        """The channel's name, another for each setup in the twelve letters that it may have."""
        return self.setup.name.replace("debezium", "dbz").replace("-", "")[:12]

    def topic(self, run: int) -> str:
        """Return the topic of a run; that of dead letters is called after it."""
        return f"{self.prefix}.{self.setup.name}.{run}"

    def rows_by_line(self, channel: Path) -> tuple[dict[tuple[str, int], int], int]:
        """Return how many rows each line of each file has, as decoded apart from the job; and how many are counted."""
        reading = replace(reading_of(plan.build(str(channel), "UTC").recipe), tolerant=True)
        found, counted = Counter[tuple[str, int]](), 0
        for number, path in enumerate(sorted((self.directory / "in").iterdir()), 1):
            for batch in DIALECTS[self.setup.dialect].read(File(str(path), number), nothing_before, reading):
                known = dict(reading.known_sources) | dict(batch.sources)  # for the files after this one
                reading = replace(reading, known_sources=tuple(known.items()))
                found.update((str(path), int(line)) for line in batch.changes.line)
                counted += sum(batch.ignored.values())
        return dict(found), counted


def dead_letters(servers: str, topic: str) -> list[tuple[str, int, bytes, str]]:
    """Return file, line, value and reason of each dead letter, in order."""
    found = []
    for one in kafka_io.read_all(servers, [topic]):
        headers = {key.removeprefix("__connect.errors."): text.decode() for key, text in one.headers or ()}
        found.append((headers["file"], int(headers["line"]), one.value, headers["exception.message"]))
    return sorted(found)


def run(kafka: Broker, directory: Path, lines: int, seed: int, setups: list[Setup]) -> tuple[Counter[str], list[str]]:
    """Send so many lines of all dialects twice. Returns what became of them, and what is wrong."""
    prefix = f"fuzz{uuid.uuid4().hex[:8]}"
    fuzzed = [Fuzzed(setup, directory / setup.name, prefix) for setup in setups]
    for one in fuzzed:
        one.write(seed, -(-lines // len(setups)))
    counts, wrong, letters = Counter[str](), list[str](), dict[tuple[str, int], list[tuple[str, int, bytes, str]]]()
    for number in range(2):
        channels = [one.channel(kafka.servers, number) for one in fuzzed]
        with capture_logs() as logs:
            daemon.integrate([plan.build(str(path), "UTC") for path in channels], once=True)
        for one, path in zip(fuzzed, channels, strict=True):
            name = one.name
            synced = [log for log in logs if log["event"] == "cycle synced" and log["channel"] == name]
            letters[one.setup.name, number] = dead = dead_letters(kafka.servers, f"{one.topic(number)}.dead")
            rows, counted = one.rows_by_line(path)
            rejected = {(file, line) for file, line, _, _ in dead}
            sent = {line: count for line, count in rows.items() if line not in rejected}
            messages = len(kafka_io.read_all(kafka.servers, [one.topic(number)]))
            of_log = sum(log.get("rejected", 0) for log in synced)
            left_out = sum(sum(log.get("not_sent", {}).values()) for log in synced) - counted
            became = {*rejected, *sent}
            lost = [line for line, silent in one.silent.items() if not silent and line not in became]
            silent = len(one.silent) - len(sent) - len(dead) - counted
            found = Counter({"lines": len(one.silent), "with rows": len(sent), "dead letters": len(dead)})
            found += Counter({"counted": counted, "blank lines, frames, preimages": silent, "messages": messages})
            if not number:
                counts += found
                print(f"{one.setup.name:18} {dict(found)}", flush=True)
            several = one.setup.name == "wal2json-v1"  # of whose lines each change is counted
            checks = {
                f"each line is sent, a dead letter, or has no row: {lost[:3]}": not lost and (silent >= 0 or several),
                "no line is a dead letter twice": len(rejected) == len(dead),
                f"the log has as many dead letters: {of_log}": of_log == len(dead),
                f"{sum(sent.values())} rows are sent, or left out ({left_out})": messages
                == sum(sent.values()) - left_out,
            }
            wrong += [f"{one.setup.name}, run {number}: {what}" for what, right in checks.items() if not right]
    wrong += [
        f"{one.setup.name}: other dead letters in the second run"
        for one in fuzzed
        if letters[one.setup.name, 0] != letters[one.setup.name, 1]
    ]
    return counts, wrong


def main() -> int:
    """Check all dialects, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="whole-job-") as name, broker() as kafka:
        counts, wrong = run(kafka, Path(name), given.lines, given.seed, OF_LINES)
    print(f"all                {dict(counts)}; wrong: {wrong or 'nothing'}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
