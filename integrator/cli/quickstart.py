"""The quickstart: a channel against an embedded broker, read back by a plain consumer, and shown."""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
import time
from collections import Counter

from rich.console import Console
from rich.table import Table as Grid

from integrator import plan as planning
from integrator.deliver.kafka.embedded import EmbeddedCluster
from integrator.deliver.kafka.read_back import Received, read_back
from integrator.plan import Plan
from integrator.run import daemon, progress

BROKERS = "KAFKA_BROKERS"
SHOWN = 3
OPERATIONS = {0: "delete", 1: "insert", 2: "update", 3: "before key update", 4: "before update", 5: "truncate"}


def run(channel: str, timezone: str) -> None:
    """Integrate the channel in the file `channel`, whose brokers are ${KAFKA_BROKERS}, once; print what arrived."""
    console = Console(soft_wrap=True)
    with EmbeddedCluster() as cluster, tempfile.TemporaryDirectory(prefix="quickstart-") as state:
        os.environ[BROKERS] = cluster.brokers
        plan = dataclasses.replace(planning.make(channel, timezone), state=state)
        cluster.create(plan.topics, plan.create_topics.Partitions if plan.create_topics else 1)
        console.print(f"An embedded Kafka listens on {cluster.brokers}. Starting Spark …", highlight=False)
        progress.configure(plan.secrets)
        started = time.monotonic()
        daemon.integrate([plan], once=True)
        seconds = time.monotonic() - started
        received = read_back(cluster.brokers, plan.topics)
    _show(plan, received, seconds, console)
    console.print(
        f"\nNext, into your own Kafka (the channel creates its topics there):\n\n"
        f"  {BROKERS}=localhost:9092 .venv/bin/python run.py check --channel {channel} --connect\n"
        f"  {BROKERS}=localhost:9092 .venv/bin/python run.py --channel {channel} --once\n"
        f"  {BROKERS}=localhost:9092 .venv/bin/spark-submit run.py --channel {channel}    (goes on until SIGTERM)\n",
        highlight=False,
    )


def _show(plan: Plan, received: list[Received], seconds: float, console: Console) -> None:
    for topic in plan.topics:
        messages = [message for message in received if message.topic == topic]
        console.print(f"\n{topic}: the first messages, without their schemas", style="bold", highlight=False)
        for message in messages[:SHOWN]:
            payload = json.loads(message.value or b"{}")["payload"]
            console.print_json(json.dumps(payload, ensure_ascii=False), ensure_ascii=False)
    console.print(f"\n{plan.topics[0]}: one message as it lies in Kafka", style="bold", highlight=False)
    for message in received[:1]:
        console.print(f"key    {(message.key or b'').decode()}", highlight=False)
        console.print(f"value  {(message.value or b'').decode()}", highlight=False)
    grid = Grid("topic", "messages", "rows by operation", title="What arrived", title_style="bold")
    for topic in plan.topics:
        payloads = [json.loads(message.value or b"{}")["payload"] for message in received if message.topic == topic]
        counts = Counter(payload.get("op_val") for payload in payloads)
        operations = ", ".join(f"{count} {OPERATIONS.get(op, op)}" for op, count in sorted(counts.items()))
        grid.add_row(topic, str(len(payloads)), operations)
    console.print()
    console.print(grid)
    console.print(
        f"{len(received)} messages, read back by a consumer; sent in {seconds:.1f} s, Spark's start included."
    )
