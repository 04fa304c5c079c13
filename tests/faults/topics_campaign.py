"""From a database to Debezium's topics, and from these to ours, while processes are killed and topics changed.

    python -m tests.faults.topics_campaign [--rounds 60] [--seed 1] [--first 0]

One broker of Apache Kafka, one worker of Kafka Connect with Debezium, PostgreSQL, and MariaDB where it is installed. A
round has a database, the encodings of both ends, a delivery, and topics that are compacted or not; while the tables
are changed it has faults: kill -9 of ours, of Connect, of the broker; partitions are added; a column is added. At its
end the tables that a consumer makes of our topics are those of the database; nothing is lost, and with exactly_once no
change is there more often than in Debezium's topics, where it may be again after a kill. `--first N --rounds 1` has
round N of a seed again.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession

from tests.faults.topics_round import Parts, Round
from tests.parts import brokers, connect, in_process, live_tables, mariadb, postgres, registries

NOTICED_SOON = {"producer.metadata.max.age.ms": "1000"}
"""Connect's producers find new partitions so soon, and not after five minutes."""


def missing() -> str:
    """What is not here, for a test to be skipped with; nothing if all is there."""
    if brokers.libraries() is None or connect.libraries() is None:
        return "Kafka, Connect and Debezium from Maven Central, and Java 17"
    return postgres.missing(wal2json=False)


def run(directory: Path, spark: SparkSession, rounds: int, seed: int, first: int = 0) -> Counter[str]:
    """Have rounds of a seed. Returns what was counted; raises AssertionError where a round ends wrongly."""
    kafka_path, connect_path = brokers.libraries(), connect.libraries()
    assert kafka_path is not None
    assert connect_path is not None
    counted: Counter[str] = Counter()
    (directory / "kafka").mkdir()
    (directory / "connect").mkdir()
    with contextlib.ExitStack() as stack:
        kraft = stack.enter_context(brokers.KraftBroker(kafka_path, directory / "kafka"))
        worker = connect.Worker(connect_path, directory / "connect", kraft.servers, NOTICED_SOON)
        stack.enter_context(worker)
        databases = [live_tables.postgres(stack.enter_context(postgres.cluster()))]
        if not mariadb.missing():
            databases.append(live_tables.mariadb(stack.enter_context(mariadb.cluster()), kraft.servers))
        parts = Parts(kraft, worker, stack.enter_context(registries.registry()), databases, spark)
        for number in range(first, first + rounds):
            begun = time.monotonic()
            home = directory / f"round{number}"
            home.mkdir()
            one = Round(parts, home, seed, number)
            print(f"round {number}: {one}", flush=True)
            found = one.run()
            counted += found + Counter(one.chosen)
            print(f"round {number}: {time.monotonic() - begun:.0f} s, {dict(found)}", flush=True)
    return counted


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    lacks = missing()
    assert not lacks, f"the campaign needs {lacks}"
    begun = time.monotonic()
    spark = in_process.session_of("topics")
    try:
        with tempfile.TemporaryDirectory(prefix="topics-") as name:
            counted = run(Path(name), spark, given.rounds, given.seed, given.first)
    finally:
        spark.stop()
    print(f"{given.rounds} rounds, {time.monotonic() - begun:.0f} s, tables are equal, nothing is lost:", dict(counted))


if __name__ == "__main__":
    main()
