"""A campaign of faults, drawn by a seed: processes killed and frozen, brokers lost, connections cut, while changes come.

    python -m tests.faults.campaign [--rounds 200] [--seed 1] [--delivery exactly_once]

Three brokers of Apache Kafka, each behind a proxy; one daemon, started again when it ends; a feeder that drops change
files, each at first under a name that is not taken and only half written. Each round has one fault. At the end a consumer
with read_committed proves: nothing is lost, each key's changes are in order, repeats are identical bytes, and with
exactly_once none comes twice. What each fault did is counted by its name.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import signal
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.bench import rows as table
from tests.faults.kill_minus_nine import ROWS_A_FILE, check, write_changes
from tests.parts import brokers, channels, kafka_io
from tests.parts.daemon import Daemon
from tests.parts.proxy import Proxy

FED_EVERY_S = 0.5
LONGEST_FREEZE_S = 8.0
TRIES = 3
"""The last fault may still be felt by the run that finishes."""


class Scene:
    """The daemon, the brokers and the proxies of a campaign, and the faults that they suffer."""

    def __init__(self, channel: Path, cluster: brokers.KraftCluster, proxies: list[Proxy], draw: random.Random) -> None:
        self._channel, self._cluster, self._proxies, self._draw = channel, cluster, proxies, draw
        self.daemon = Daemon(channel)
        self.seen: Counter[str] = Counter()
        self.faults: dict[str, Callable[[], None]] = {
            "driver killed": lambda: self.daemon.kill(everything=False),
            "driver, JVM and workers killed": lambda: self.daemon.kill(everything=True),
            "JVM killed": lambda: self._signal("java", signal.SIGKILL),
            "workers killed": lambda: self._signal("worker", signal.SIGKILL),
            "driver frozen": lambda: self._freeze("driver"),
            "JVM frozen": lambda: self._freeze("java"),
            "workers frozen": lambda: self._freeze("worker"),
            "a broker killed": self._lose_broker,
            "a broker frozen": self._freeze_broker,
            "connections cut": lambda: [proxy.cut() for proxy in self._proxies],
            "connections cut in the middle of a message": lambda: [
                proxy.cut_after(self._draw.randrange(1, 200_000)) for proxy in self._proxies
            ],
        }

    def round(self) -> None:
        """Have one fault, at some moment of the daemon's work; start the daemon again if it ended."""
        if not self.daemon.running:
            code = self.daemon.wait()
            self.seen[f"daemon ended with code {code}"] += 1
            if code not in (0, 4, 5, -signal.SIGKILL):
                raise AssertionError(f"the daemon ended with {code}: " + "\n".join(self.daemon.lines[-30:]))
            self.daemon = Daemon(self._channel)
        with contextlib.suppress(AssertionError):
            self.daemon.wait_for("cycle synced", self._draw.randint(0, 2), seconds=30)
        time.sleep(self._draw.uniform(0.0, 1.5))
        name = self._draw.choice(list(self.faults))
        self.seen[name] += 1
        with contextlib.suppress(psutil.NoSuchProcess):
            self.faults[name]()

    def end(self) -> list[str]:
        """Have the daemon finish what is left, and end; return its last lines."""
        if self.daemon.running:
            self.daemon.terminate()
        for _ in range(TRIES):  # --once does not try again by itself
            last = Daemon(self._channel, "--once")
            code = last.wait()
            if code == 0:
                break
            self.seen[f"the last run ended with code {code}"] += 1
        assert code == 0, "\n".join(last.lines[-20:])
        return last.lines[-3:]

    def _family(self, kind: str) -> list[psutil.Process]:
        driver = psutil.Process(self.daemon.pid)
        if kind == "driver":
            return [driver]
        return [process for process in driver.children(recursive=True) if self._kind(process) == kind]

    @staticmethod
    def _kind(process: psutil.Process) -> str:
        with contextlib.suppress(psutil.Error):
            if process.name() == "java":
                return "java"
            if any(word.startswith("pyspark.") for word in process.cmdline()):
                return "worker"
        return ""

    def _signal(self, kind: str, number: signal.Signals) -> None:
        for process in self._family(kind):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def _freeze(self, kind: str) -> None:
        self._signal(kind, signal.SIGSTOP)
        time.sleep(self._draw.uniform(0.5, LONGEST_FREEZE_S))
        self._signal(kind, signal.SIGCONT)

    def _lose_broker(self) -> None:
        node = self._draw.choice(self._cluster.nodes)
        node.stop()
        time.sleep(self._draw.uniform(0.0, 5.0))
        node.start()

    def _freeze_broker(self) -> None:
        process = self._draw.choice(self._cluster.nodes).process
        process.send_signal(signal.SIGSTOP)
        time.sleep(self._draw.uniform(0.5, LONGEST_FREEZE_S))
        process.send_signal(signal.SIGCONT)


def run(directory: Path, rounds: int, seed: int, delivery: str) -> dict[str, int]:
    """Feed and have `rounds` faults; then check what arrived. Returns what was counted."""
    class_path = brokers.libraries()
    assert class_path is not None, "the campaign needs mvn and Java 17"
    draw = random.Random(seed)
    prefix = f"campaign{uuid.uuid4().hex[:8]}"
    topic = f"{prefix}.orders"
    (directory / "orders.sql").write_text(table.DDL)
    with contextlib.ExitStack() as stack:
        proxies = [stack.enter_context(Proxy()) for _ in range(3)]
        cluster = stack.enter_context(
            brokers.KraftCluster(class_path, directory, advertised=[proxy.place for proxy in proxies])
        )
        for proxy, place in zip(proxies, cluster.listener("PROXIED"), strict=True):
            proxy.target = place
        _create(cluster, topic)
        servers = '", "'.join(proxy.place for proxy in proxies)
        small_cycles = "  - {action: Integrate, CycleByteLimit: 1500000}\n"
        channel = channels.shop(directory, servers, prefix, "hvr", more=small_cycles)
        text = channel.read_text().replace(channels.SHOP_SQL, f"{directory}/orders.sql")
        channel.write_text(f"{text}delivery: {delivery}\n")
        stop, fed = threading.Event(), [0]

        def feed() -> None:
            while not stop.wait(FED_EVERY_S):
                write_changes(directory / "in", fed[0])
                fed[0] += 1

        feeder = threading.Thread(target=feed)
        feeder.start()
        context = Scene(channel, cluster, proxies, draw)
        try:
            for number in range(rounds):
                context.round()
                if number % 10 == 9:
                    print(f"round {number + 1}: {fed[0]} files", flush=True)
        finally:
            stop.set()
            feeder.join()
        context.end()
        counted = check(kafka_io.read_all(cluster.servers, [topic]), fed[0] * ROWS_A_FILE)
    assert delivery != "exactly_once" or not counted["repeats"], f"I8: {counted['repeats']} changes came twice"
    return counted | {"rounds": rounds} | dict(sorted(context.seen.items()))


def _create(cluster: brokers.KraftCluster, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.servers})
    new = NewTopic(topic, 6, 3, config={"min.insync.replicas": "2"})
    for future in admin.create_topics([new]).values():
        with contextlib.suppress(KafkaException):
            future.result()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--delivery", default="at_least_once")
    options = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="campaign-") as name:
        counted = run(Path(name), options.rounds, options.seed, options.delivery)
    print(f"{options.delivery}, {time.monotonic() - begun:.0f} s: nothing lost, in order, repeats identical:", counted)


if __name__ == "__main__":
    main()
