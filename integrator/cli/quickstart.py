"""The quickstart: changes into an embedded Kafka, read by a plain consumer, and shown: live, or recorded ones."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from integrator import plan as planning
from integrator.channel.created_topics import rule_of
from integrator.cli import live, output
from integrator.cli.connect_values import readable
from integrator.cli.embedded_postgres import NoDatabaseError
from integrator.deliver.kafka.embedded import EmbeddedCluster
from integrator.deliver.kafka.read_back import Received, read_back
from integrator.errors import EnvironmentFault
from integrator.librdkafka.consumer import Consumer
from integrator.librdkafka.fetching import Range, ReadFault
from integrator.names.numbers import counted
from integrator.plan import Plan
from integrator.run import daemon
from integrator.run.seen import progress
from integrator.run.spark import class_archive

CHANNEL = "channels/quickstart.yaml"
_RECORD_S = 2.0
_BROKERS = "KAFKA_BROKERS"
_SHOWN = 2
_OURS = ("op_val", "integ_seq")
"""The columns that the channel adds to those of the tables."""
LIVE: dict[str, Callable[[str], None]] = {"postgres": live.run}
"""Demonstrations with a database of their own, by the class of its location."""


def run(channel: str | None, timezone: str, *, recorded: bool) -> None:
    """Capture a database of its own, and show what arrives; or integrate a channel's changes once.

    channel: its file, whose brokers are ${KAFKA_BROKERS}; None: the one that comes with the integrator. recorded: its
    changes are sent where a database could be had, too.
    """
    console = output.console()
    if channel is None and not recorded:
        for run_live in LIVE.values():
            try:
                run_live(timezone)
            except NoDatabaseError as error:
                text = "No database can be started here, so changes of one are sent that were recorded"
                console.print(f"{text}: {error}\n")
            else:
                return
    file = channel or _own()
    with _with_kafka(file, timezone) as plan:
        brokers = os.environ[_BROKERS]
        console.print(f"A Kafka for this demonstration listens on {brokers}, in this process.")
        started = time.monotonic()
        with output.working(f"Starting Spark, and sending the changes that {file} reads (about 20 s)"):
            daemon.integrate([plan], once=True)
        seconds = time.monotonic() - started
        console.print(f"Sent after {seconds:.0f} s, most of it the start of Spark.")
        received = read_back(brokers, plan.topics)
    _show(plan, received, seconds, console)
    _next(channel is not None or Path(CHANNEL).exists(), file, console)


def prepare(timezone: str) -> Path:
    """Integrate the demonstration's changes once, and archive what Spark's JVM loaded for that; return the archive.

    What is compiled at first use is compiled by that, too. Raises EnvironmentFault.
    """
    with _with_kafka(_own(), timezone) as plan:
        archive = class_archive.make(lambda: daemon.integrate([plan], once=True))
        _read_topic(plan.topics[0], _partitions(plan))
        return archive


def _partitions(plan: Plan) -> int:
    """Return how many partitions topics have: in this process, those of the first one."""
    rule = rule_of(plan.create_topics, plan.topics[0])
    return rule.partitions or 1 if rule else 1


def _read_topic(topic: str, partitions: int) -> int:
    """Read the first record of a topic, as a source does, so that its loop is compiled; return how many were read."""
    with contextlib.closing(Consumer({"bootstrap.servers": os.environ[_BROKERS]}, timeout_s=_RECORD_S)) as consumer:
        for partition in range(partitions):
            with contextlib.suppress(ReadFault):  # it has none
                return sum(map(len, consumer.read(Range(topic, partition, 0, 1))))
    return 0


@contextlib.contextmanager
def _with_kafka(file: str, timezone: str) -> Iterator[Plan]:
    """Have a Kafka in this process that has the topics of a channel; yield the channel's plan, with an empty state."""
    with EmbeddedCluster() as cluster, tempfile.TemporaryDirectory(prefix="quickstart-") as state:
        os.environ[_BROKERS] = cluster.brokers
        plan = dataclasses.replace(planning.build(file, timezone), state=state)
        cluster.create(plan.topics, _partitions(plan))
        progress.configure(plan.secrets, level=logging.WARNING)
        yield plan


def _own() -> str:
    """Return the demonstration's own channel: of the clone that this is, or of the installed package."""
    if Path(CHANNEL).exists():
        return CHANNEL
    try:
        installed = metadata.files("integrator") or []
    except metadata.PackageNotFoundError:
        installed = []
    found = [Path(str(one.locate())).resolve() for one in installed if str(one).endswith(f"integrator/{CHANNEL}")]
    if not found:
        raise EnvironmentFault(f"{CHANNEL} is not here, nor in an installed package; give --channel FILE")
    return str(found[0])


def _show(plan: Plan, received: Sequence[Received], seconds: float, console: Console) -> None:
    console.print(
        "\nMessages are Connect JSON, schema and payload. Of some, the payload: decimals, dates and times, which are\n"
        "base64 and numbers in the message, are shown as what the schema says that they mean."
    )
    grid = output.grid("topic", "messages", "rows by operation", title="What arrived")
    for topic in plan.topics:
        documents = [json.loads(one.value or b"{}") for one in received if one.topic == topic]
        counts = Counter(document["payload"].get("op_val") for document in documents)
        console.print(f"\n[bold]{escape(topic)}[/bold]", markup=True)
        for document in _few(documents):
            values = readable(document["schema"], document["payload"])
            operation = output.OPERATIONS.get(values.get("op_val", -1), "row")
            row = {name: value for name, value in values.items() if name not in _OURS}
            console.print(f"  {operation}: {json.dumps(row, ensure_ascii=False)}")
        operations = ", ".join(f"{count} {output.OPERATIONS.get(op, op)}" for op, count in sorted(counts.items()))
        grid.add_row(topic, str(len(documents)), operations)
    console.print()
    console.print(grid)
    console.print(f"{counted(len(received), 'message')}, read back by a consumer, {seconds:.0f} s after the start.")


def _few(documents: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first messages of different operations, inserts before all others."""
    first: dict[int | None, dict[str, Any]] = {}
    for document in documents:
        first.setdefault(document["payload"].get("op_val"), document)
    return [first[op] for op in (1, 2, 0, 4, 3, 5) if op in first][:_SHOWN]


def _next(with_files: bool, channel: str, console: Console) -> None:
    command = f"{Path(sys.executable).parent}/integrator".replace(f"{Path.cwd()}/", "") if with_files else "integrator"
    if with_files:
        console.print("\nNext, into a Kafka of yours (the channel creates its topics there):\n")
        for arguments in (
            f"check --channel {channel} --connect",
            f"--channel {channel} --once",
            f"--channel {channel}",
        ):
            console.print(f"  {_BROKERS}=localhost:9092 {command} {arguments}")
    else:
        console.print("\nNext: write a channel (README: A channel), then\n")
        for arguments in ("check --channel x.yaml --connect", "plan --channel x.yaml", "--channel x.yaml --once"):
            console.print(f"  {command} {arguments}")
