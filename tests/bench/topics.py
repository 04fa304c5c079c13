"""From topic to topic, beside what else does it, in turns on one broker: rows a second, and CPU a row.

    python -m tests.bench.topics [--rows 1000000] [--rounds 3] [avro json json-schema]

Each peer has a topic of 4 partitions with Debezium's events of the benchmark's table: as Avro with a schema registry, which
becomes Avro, or as JSON without or with schemas, which becomes Connect JSON. In its turn a peer moves some events, so that
it is warm; it is stopped (SIGSTOP) while the events that count are sent; then it continues, while all others are stopped.
The integrator and Spark are timed from then to the end of their batch, MirrorMaker 2 from its first message to the last
one. CPU: user and system of all processes of a peer.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from integrator.deliver.kafka.read_back import Begin, each_read_back
from tests.bench import topic_events
from tests.bench.other_peers import Ends
from tests.bench.topic_events import Events
from tests.bench.topic_peers import Between, Integrator, Mirror, Peer, Spark
from tests.parts.brokers import Broker, broker
from tests.parts.registries import Registry, registry

PARTITIONS = 4
SHARE = 20
"""Of so many events one is moved before a turn."""
PEERS: dict[str, Callable[[Between], Peer]] = {"integrator": Integrator, "spark": Spark, "mirrormaker": Mirror}
TARGETS = {("avro", "spark"): 2.0, ("avro", "mirrormaker"): 1.5, ("json", "spark"): 3.0, ("json-schema", "spark"): 3.0}
"""By what the integrator is to be faster."""


@dataclass
class Measured:
    """Of one peer, a figure each round."""

    rates: list[float] = field(default_factory=list)
    micros: list[float] = field(default_factory=list)


def source_of(name: str, encoding: str) -> str:
    """Return the topic that a peer reads."""
    return f"{name}.{encoding}.orders"


def _tree(peer: Peer) -> list[psutil.Process]:
    return [peer.process, *peer.process.children(recursive=True)]


def _stop(peer: Peer) -> None:
    for process in _tree(peer):
        with contextlib.suppress(psutil.NoSuchProcess):  # a worker that was idle, and ended
            process.suspend()


def _resume(peer: Peer) -> None:
    for process in reversed(_tree(peer)):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.resume()


def _cpu(peer: Peer) -> dict[psutil.Process, float]:
    """Return the CPU seconds of its processes so far. One that ends in a turn was idle in it."""
    used = {}
    for process in _tree(peer):
        with contextlib.suppress(psutil.NoSuchProcess):
            used[process] = sum(process.cpu_times()[:2])
    return used


@contextlib.contextmanager
def _peers(at: Between, names: list[str], events: Events, rows: int) -> Iterator[dict[str, tuple[Peer, Between]]]:
    """Start the peers, and let each move `rows` events; they are stopped then."""
    peers: dict[str, tuple[Peer, Between]] = {}
    try:
        for name in names:
            source = source_of(name, at.encoding)
            own = replace(at, source=source, target=f"to.{source}", home=at.home / name)
            own.home.mkdir()
            at.kafka.create([own.source, own.target], PARTITIONS)
            if name == "spark":
                own = replace(own, head=_head(own, peers[names[0]][1].target))
            events.send(at.kafka.servers, source, rows, PARTITIONS)
            peer = PEERS[name](own)
            peers[name] = peer, own
            peer.run(rows)
            _stop(peer)
        yield peers
    finally:
        for peer, _ in peers.values():
            for process in _tree(peer):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()


def _head(at: Between, ours: str) -> bytes:
    """Return what begins Spark's messages: framing, or the text of the schema that the integrator sends."""
    if at.encoding == "avro":
        return topic_events.framing(at.registry.client, f"{at.target}-value", topic_events.VALUE)
    value = next(each_read_back(at.kafka.servers, [ours], Begin(), {})).value or b""
    return value[: value.index(b'"payload":') + len(b'"payload":')]


def _turn(peer: Peer, at: Between, events: Events, rows: int) -> tuple[float, float]:
    """Return the seconds that a peer takes, and its CPU seconds."""
    some = rows // SHARE
    _resume(peer)
    events.send(at.kafka.servers, at.source, some, PARTITIONS)
    peer.run(some)
    _stop(peer)
    events.send(at.kafka.servers, at.source, rows, PARTITIONS)
    before = _cpu(peer)
    _resume(peer)
    seconds = peer.run(rows)
    _stop(peer)
    return seconds, sum(used - before.get(process, 0.0) for process, used in _cpu(peer).items())


def measure(at: Between, names: list[str], events: Events, rows: int, rounds: int) -> dict[str, Measured]:
    """Return what each peer took; each sends a message for each event. Raises RuntimeError where it does not."""
    found = {name: Measured() for name in names}
    with _peers(at, names, events, rows // 2) as peers:
        for turn in range(1, rounds + 1):
            for name, (peer, own) in peers.items():
                seconds, cpu = _turn(peer, own, events, rows)
                found[name].rates.append(rows / seconds)
                found[name].micros.append(cpu / rows * 1e6)
                print(
                    f"{at.encoding} round {turn} {name:12} {rows / seconds:10,.0f} rows/s "
                    f"{cpu / rows * 1e6:6.2f} µs of CPU a row; load {os.getloadavg()[0]:.1f}",
                    flush=True,
                )
        for name, (_, own) in peers.items():
            sent, wanted = (Ends(at.kafka.servers, topic).count() for topic in (own.target, own.source))
            if sent != wanted:
                raise RuntimeError(f"{name} sent {sent} messages for {wanted} events")
    return found


def _print(encoding: str, names: list[str], found: dict[str, Measured]) -> None:
    ours = found[names[0]]
    rate, micros = statistics.median(ours.rates), statistics.median(ours.micros)
    print(f"\n{encoding:12} {'rows/s':>10} {'µs CPU a row':>13} {names[0]} is faster by, and takes of the CPU")
    for name, one in found.items():
        faster = rate / statistics.median(one.rates)
        target = TARGETS.get((encoding, name))
        said = ""
        if target:
            said = f"; at least {target} " + ("reached" if faster >= target else f"missed: measured {faster:.2f}")
        print(
            f"{name:12} {statistics.median(one.rates):10,.0f} {statistics.median(one.micros):13.2f} "
            f"{faster:.2f}, {micros / statistics.median(one.micros):.2f}{said}"
        )
    print(flush=True)


def _events(encoding: str, rows: int, server: Registry, names: list[str], made: dict[str, Events]) -> Events:
    if encoding == "avro":
        return topic_events.as_avro(rows, server.client, [source_of(name, encoding) for name in names])
    if "json" not in made:
        made["json"] = topic_events.as_json(rows)
    return made["json"] if encoding == "json" else topic_events.with_schema(made["json"])


def main() -> None:
    """Measure the encodings that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("encodings", nargs="*", default=["avro", "json", "json-schema"], metavar="encoding")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    made: dict[str, Events] = {}
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="topics-")))
        kafka: Broker = stack.enter_context(broker())
        server = stack.enter_context(registry())
        if server is None:
            sys.exit("no schema registry is to be had: mvn and Java 17, or INTEGRATOR_TEST_REGISTRY")
        print(f"{kafka.kind}; {server.kind}; {given.rows} events, {os.cpu_count()} cores", flush=True)
        for encoding in given.encodings:
            names = ["integrator", "spark", *(["mirrormaker"] if encoding == "avro" else [])]
            events = _events(encoding, given.rows, server, names, made)
            print(f"{encoding}: {events.size:.0f} bytes an event", flush=True)
            (home / encoding).mkdir()
            at = Between(kafka, server, encoding, home / encoding)
            _print(encoding, names, measure(at, names, events, given.rows, given.rounds))


if __name__ == "__main__":
    main()
