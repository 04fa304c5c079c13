"""The product's classes beside a broker, databases and a clock in memory, which turn with the schedule that runs."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from integrator import durable
from integrator.deliver.kafka import cycle_records, producer, sender_lock, transaction
from integrator.resolved import sending
from integrator.resolved import topic as resolved_topic
from integrator.run import cycle as run_cycle
from integrator.run import restart, runs, sub_cycles
from integrator.run.passes import transactions
from integrator.run.state import directory as state_directory
from integrator.sources.binlog import dump, failover
from integrator.sources.binlog import stream as binlog_stream
from integrator.sources.binlog import tables as binlog_tables
from integrator.sources.capture import first_rows, intake, pace, position_rows, progress, record
from integrator.sources.capture import stream as capture_stream
from integrator.sources.postgres import answers
from integrator.sources.postgres import stream as postgres_stream
from tests.model import binlog, postgres, process
from tests.model.kafka import Client, Consumer
from tests.model.schedule import Worker

RUNNING: list[Any] = []
"""The schedule that runs is the last one: it has a `world`, and `disk_fails`; one of delivery has a `kafka`, too."""


class _Clock:
    """The module `time`, whose time passes with steps."""

    def monotonic(self) -> float:
        return RUNNING[-1].world.clock

    def time(self) -> float:
        return 1.8e9 + RUNNING[-1].world.clock

    def sleep(self, seconds: float) -> None:
        RUNNING[-1].world.sleep(seconds)


def _stepped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Have a step before something is made durable: a process may be killed there."""

    def stepping(first: Any, *more: Any) -> Any:
        world = RUNNING[-1].world if RUNNING else None
        if world is None or not world.is_acting or world.is_at_once:
            return function(first, *more)
        world.step(f"{function.__name__} {first.name if isinstance(first, Path) else 'files'}")
        world.is_at_once = True
        fails = RUNNING[-1].disk_fails()
        try:
            if fails == "before":
                raise OSError(errno.ENOSPC, "the disk is full")
            done = function(first, *more)
            if fails:
                raise OSError(errno.EIO, "a directory is not durable")
        finally:
            world.is_at_once = False
        return done

    return stepping


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """Have the product's classes meet the broker in memory, and stand-ins for Spark."""
    clock = _Clock()
    with contextlib.ExitStack() as stack:

        def put(owner: object, **replaced: object) -> None:
            for name, value in replaced.items():
                stack.enter_context(mock.patch.object(owner, name, value))

        put(producer, ProducerClient=lambda properties, *_: Client(RUNNING[-1].kafka, properties))
        put(cycle_records, Consumer=lambda properties: Consumer(RUNNING[-1].kafka, properties))
        put(cycle_records, client_settings=lambda _: {}, client_properties=lambda _: {})
        for module in (cycle_records, producer, restart, sender_lock, state_directory, sub_cycles, transaction):
            put(module, time=clock)
        put(
            run_cycle,
            first_pass=process.first_pass,
            second_pass=process.Task,
            OwnRuns=lambda rows: process.OwnRuns(rows, RUNNING[-1].world),
        )
        put(runs, in_order=process.in_order)
        put(transactions, Bundler=process.DriversBundler, merged=process.merged, recipe_of=lambda recipe: recipe)
        for name in ("remove", "rename", "replace", "sync_directory"):
            put(durable, **{name: _stepped(getattr(durable, name))})
        for module in (
            answers, binlog_stream, binlog_tables, capture_stream, first_rows, intake, pace, position_rows, postgres_stream,
            progress, record,
        ):  # fmt: skip
            put(module, time=clock)
        begun = lambda session, file, offset, _number: (  # noqa: E731
            binlog.Packets(session.server, file, offset, clock.sleep), False,
        )  # fmt: skip
        settings = binlog.Settings()
        put(dump, begun=begun)
        put(failover, settings=settings)
        put(
            binlog_stream,
            settings=settings,
            SnapshotPoints=binlog.Points,
        )
        put(binlog_tables, found=binlog.found, Charsets=binlog.Charsets)
        put(
            postgres_stream,
            PublishedTables=postgres.Published,
            SlotPoints=lambda server, *_, waits: postgres.Points(server, waits=waits),
            identity=lambda *_: ("system", "db"),
            problems=lambda *_, **__: (),
            silence_of=lambda _: 60.0,
            Replication=lambda server, *_: postgres.Replication(server, lambda: clock.sleep(0.05)),
            slot_of=lambda session, _: session.server.slot,
            timeline=lambda *_: 1,
            version_of=lambda _: 180_000,
        )
        put(
            resolved_topic,
            each_read_back=lambda _brokers, topics, *_: process.read_resolved(RUNNING[-1].kafka, topics[0]),
        )
        put(sending, time=clock)
        put(transaction, _PRODUCERS={})
        put(producer, _PRODUCERS={})
        yield


def switched(worker: Worker) -> None:
    transaction._PRODUCERS, producer._PRODUCERS = worker.transactional, worker.producers
