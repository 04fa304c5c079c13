"""A campaign of faults on a real Spark standalone cluster, drawn by a seed: executors, workers, driver and broker.

    python -m tests.faults.cluster_campaign [--rounds 40] [--seed 1] [--delivery exactly_once] [--only "executor paused"]

Two workers of one core, one broker, a daemon by spark-submit. Each round a cycle is under way when one fault comes; an
executor that is paused continues only when the cycle has been sent again by others (I3). At the end a consumer with
read_committed proves what `campaign` proves.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import shutil
import signal
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil

from integrator.run.state.directory import State
from tests.faults import kill_minus_nine
from tests.parts import brokers, channels, kafka_io
from tests.parts.daemon import Daemon
from tests.parts.spark_cluster import JAVA_OPTIONS, SparkCluster, family_of, send
from tests.parts.waiting import until

SETTINGS = [
    f"spark.driver.defaultJavaOptions={JAVA_OPTIONS}",
    f"spark.executor.defaultJavaOptions={JAVA_OPTIONS}",
    "spark.driver.host=127.0.0.1",
    "spark.driver.bindAddress=127.0.0.1",
    "spark.executor.memory=1g",
    "spark.cores.max=2",
    "spark.executor.heartbeatInterval=1s",
    "spark.network.timeout=6s",
    "spark.network.timeoutInterval=2s",
    "spark.executorEnv.SPARK_LOCAL_IP=127.0.0.1",
]
FILES_A_ROUND = 5
RATE = 500
"""Messages a second of each task: so that a cycle takes some seconds, in whose middle the fault comes."""


class Sent:
    """A channel that sends changes of 500 keys at a bounded rate, and what it sent."""

    def __init__(self, broker, directory, name, delivery, rate=1000):
        self._servers, self._topic, self._files = broker.servers, f"{name}.orders", 0
        broker.create([self._topic])
        (directory / "orders.sql").write_text(kill_minus_nine.table.DDL)
        # what a paused process has in its queue then is sent when it continues
        more = "  - {action: Environment, Name: HVR_KAFKA_PROPERTY, Value: linger.ms=3000}\n"
        more += f'  - {{action: Environment, Name: HVR_KAFKA_RATE_LIMIT, Value: "{rate}"}}\n'
        self.channel = channels.shop(directory, broker.servers, name, "hvr", more=more)
        text = self.channel.read_text().replace(channels.SHOP_SQL, f"{directory}/orders.sql")
        text = text.replace('Value: "20"', 'Value: "300"')
        self.channel.write_text(f"{text}delivery: {delivery}\nrestart: {{first_seconds: 1, most_seconds: 5}}\n")
        self._inbox, self._state = directory / "in", directory / "state" / "shop"

    def write(self, files):
        """Write files of 1,000 changes each, which come into one cycle."""
        aside = self._inbox.parent / "aside"
        aside.mkdir(exist_ok=True)
        for _ in range(files):
            kill_minus_nine.write_changes(aside, self._files)
            self._files += 1
        for path in sorted(aside.iterdir()):
            shutil.move(path, self._inbox / path.name)

    def is_synced(self):
        """Whether the last cycle that is synced ends with the last file."""
        cycles = State(str(self._state)).marks
        found = cycles.cycles()
        return bool(found) and cycles.read(found[-1]).last_slice == self._files

    def check(self):
        """Return what was counted; a consumer sees every change, per key in source order."""
        received = kafka_io.read_all(self._servers, [self._topic])
        return kill_minus_nine.check(received, self._files * kill_minus_nine.ROWS_A_FILE)


class Scene:
    """The cluster, the broker, the daemon, and the faults that they suffer."""

    def __init__(self, cluster: SparkCluster, broker: brokers.KraftBroker, sent: Sent, draw: random.Random) -> None:
        self._cluster, self._broker, self._sent, self._draw = cluster, broker, sent, draw
        self.seen: Counter[str] = Counter()
        self.daemon = self._started()
        self.faults: dict[str, Callable[[], None]] = {
            "executor paused": self._pause,
            "executor killed": lambda: send(signal.SIGKILL, family_of(cluster.busiest().pid)),
            "executor's Python killed": lambda: send(signal.SIGKILL, family_of(cluster.busiest().pid)[1:]),
            "worker killed": self._lose_worker,
            "driver killed": lambda: self.daemon.kill(everything=True),
            "driver's Python killed": lambda: send(signal.SIGKILL, psutil.Process(self.daemon.pid).children()),
            "broker killed": self._lose_broker,
        }

    def _started(self) -> Daemon:
        daemon = Daemon(self._sent.channel, submit=True, master=self._cluster.master, spark=SETTINGS)
        daemon.wait_for("integrating")
        return daemon

    def round(self, only: str) -> None:
        """Write files, have a fault while they are sent, and wait until they are synced."""
        self._sent.write(FILES_A_ROUND)
        time.sleep(self._draw.uniform(1.5, 4.0))
        name = only or self._draw.choice(list(self.faults))
        self.seen[name] += 1
        with contextlib.suppress(psutil.NoSuchProcess, ValueError):
            self.faults[name]()
        self.wait()

    def wait(self) -> None:
        """Wait until all that was written is synced; start the daemon again if it ends."""

        def is_synced() -> bool:
            if not self.daemon.running:
                code = self.daemon.wait()
                self.seen[f"daemon ended with code {code}"] += 1
                if code not in (0, 4, 5, -signal.SIGKILL, 128 + signal.SIGKILL):
                    raise AssertionError(f"the daemon ended with {code}: " + "\n".join(self.daemon.lines[-30:]))
                self.daemon = self._started()
            return bool(self._sent.is_synced())

        until(is_synced, lambda: "nothing is synced: " + "\n".join(self.daemon.lines[-30:]))

    def _pause(self) -> None:
        """Pause the executor that sends, until its cycle was sent again by another one."""
        paused = family_of(self._cluster.busiest().pid)
        failures = len(self.daemon.events("failed, starts again"))
        send(signal.SIGSTOP, paused)
        try:
            self.wait()
        finally:
            send(signal.SIGCONT, paused)
        overtaken = len(self.daemon.events("failed, starts again")) > failures
        self.seen["a cycle was sent again while its executor was paused"] += overtaken
        time.sleep(3)  # what it sends late comes now

    def _lose_worker(self) -> None:
        self._cluster.lose_worker(self._draw)

    def _lose_broker(self) -> None:
        self._broker.stop()
        time.sleep(self._draw.uniform(0.0, 4.0))
        self._broker.start()


def run(directory: Path, rounds: int, seed: int, delivery: str, only: str = "") -> dict[str, int]:
    """Have `rounds` faults; then check what arrived. Returns what was counted."""
    class_path = brokers.libraries()
    assert class_path is not None, "the campaign needs mvn and Java 17"
    draw = random.Random(seed)
    for name in ("spark", "kafka"):
        (directory / name).mkdir()
    with (
        brokers.KraftBroker(class_path, directory / "kafka") as broker,
        SparkCluster(directory / "spark") as cluster,
    ):
        of_tests = brokers.Broker(broker.servers, "restarted", real=True)
        sent = Sent(of_tests, directory, f"campaign{uuid.uuid4().hex[:8]}", delivery, RATE)
        context = Scene(cluster, broker, sent, draw)
        for number in range(rounds):
            context.round(only)
            print(f"round {number + 1}: {dict(context.seen)}", flush=True)
        assert context.daemon.terminate() in (0, 4), context.daemon.lines[-20:]
        counted = sent.check()
    assert delivery != "exactly_once" or not counted["repeats"], f"I8: {counted['repeats']} changes came twice"
    return counted | {"rounds": rounds} | dict(sorted(context.seen.items()))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delivery", default="at_least_once")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cluster-campaign-") as name:
        counted = run(Path(name), options.rounds, options.seed, options.delivery, options.only)
    print(f"{options.delivery}, {time.monotonic() - begun:.0f} s: nothing lost, in order, repeats identical:", counted)


if __name__ == "__main__":
    main()
