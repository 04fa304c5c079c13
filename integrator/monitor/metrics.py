"""Metrics for Prometheus, in its text format, by its client library.

Names end with their unit as https://prometheus.io/docs/practices/naming/ has it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from integrator.backlog import Lag
from integrator.errors import EnvironmentFault
from integrator.run.seen.failure import Failure
from integrator.run.state.sync import Cycle

LATENCIES_S = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600)
CYCLE_S = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900)
STATES = (
    "starting",
    "integrating",
    "waiting",
    "waiting for a refresh",
    "resting",
    "suspended",
    "failed",
    "ended",
)
"""What a channel may do, as in heartbeat.json."""


Compared = Callable[[], "dict[str, dict[str, Any]]"]
"""Returns what came of comparing each table with its topic."""


class Metrics:
    """The metrics of one process, in a registry of their own. Counters begin at 0 when the process starts."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._lags: dict[str, Callable[[], Lag]] = {}
        self._compared: dict[str, Compared] = {}
        ProcessCollector(registry=self.registry)

        def counter(name: str, meaning: str, *labels: str) -> Counter:
            return Counter(f"integrator_{name}", meaning, ["channel", *labels], registry=self.registry)

        def gauge(name: str, meaning: str, *labels: str) -> Gauge:
            return Gauge(f"integrator_{name}", meaning, ["channel", *labels], registry=self.registry)

        def histogram(name: str, meaning: str, buckets: tuple[float, ...]) -> Histogram:
            return Histogram(f"integrator_{name}", meaning, ["channel"], registry=self.registry, buckets=buckets)

        self.read = counter("rows_read", "Rows read, in synced cycles.")
        self.sent = counter("rows_sent", "Rows sent and acknowledged, by topic and operation.", "topic", "operation")
        self.messages = counter("messages", "Messages acknowledged by Kafka.")
        self.bytes = counter("message_bytes", "Bytes of keys and values of acknowledged messages.")
        self.files = counter("files", "Change files that are synced.")
        self.cycles = counter("cycles", "Synced cycles.")
        self.skipped = counter("rows_skipped", "Rows read and not sent, by reason.", "reason")
        self.coerced = counter("values_coerced", "Values trimmed or coerced, by column.", "reason")
        self.rejected = counter("lines_rejected", "Lines rejected: dead letters, if the channel has a topic for them.")
        self.retries = counter("restarts", "Restarts after a failure that a retry may mend.")
        self.errors = counter("errors", "Failures, by kind: configuration, data, delivery, environment …", "kind")
        self.steps = counter("step_seconds", "Seconds spent in each step of cycles.", "step")
        self.seconds = histogram("cycle_seconds", "Seconds of a cycle, from Spark's call to the mark.", CYCLE_S)
        self.latency = histogram(
            "latency_seconds",
            "Seconds from the commit of a cycle's newest change to its acknowledgement; one value a cycle.",
            LATENCIES_S,
        )
        self.lag_files = gauge("lag_files", "Change files, or ranges of topics, that are there and not synced.")
        self.lag_bytes = gauge("lag_bytes", "Their bytes; of ranges an estimate.")
        self.lag_records = gauge(
            "lag_records",
            "Offsets of a partition that is read, up to its last stable one, not synced yet.",
            "partition",
        )
        self.server_log = {
            "kept_bytes": gauge("server_log_kept_bytes", "Log that the source's database keeps for the channel."),
            "behind_bytes": gauge("server_log_behind_bytes", "Log of it that is not captured yet."),
            "behind_s": gauge(
                "server_log_behind_seconds",
                "How long the capture is behind the database; no series: it is not connected.",
            ),
            "left_bytes": gauge(
                "server_log_left_bytes",
                "Log that may still come until the database gives up the channel's place; no series: without limit.",
            ),
            "transactions": gauge("server_open_transactions", "Transactions that write, and are open there."),
            "oldest_s": gauge("server_oldest_transaction_seconds", "For how long the oldest of them is open."),
            "snapshot_rows": gauge("snapshot_rows", "Rows that are read of a table's; no series: no snapshot is read."),
            "snapshot_about_rows": gauge("snapshot_about_rows", "Rows of that table, about."),
            "snapshot_seconds_left": gauge("snapshot_seconds_left", "Seconds until that table is read, about."),
            "snapshot_tables_left": gauge("snapshot_tables_left", "Tables whose rows are read after that."),
            "unsent": gauge(
                "tables_unsent", "Tables whose changes or rows the database does not give; the status page says why."
            ),
        }
        self.set_aside = gauge("tables_set_aside", "Tables that cannot be sent, and are set aside; state says why.")
        self.compared = {
            "differences": gauge(
                "compared_differences", "Rows that differed between a table and its topic, last time.", "table"
            ),
            "compared": gauge("compared_timestamp_seconds", "When a table was compared last.", "table"),
            "proved": gauge("proved_timestamp_seconds", "When a table last was equal; no series: never.", "table"),
        }
        self.last_synced = gauge("last_synced_timestamp_seconds", "When the last cycle was synced; 0: never.")
        self.last_beat = gauge(
            "last_beat_timestamp_seconds", "The time of the channel's last heartbeat, in seconds since 1970."
        )
        self.state = gauge("state", "1 for what the channel does now, else 0.", "doing")

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format 0.0.4."""
        for one in (self.lag_records, *self.server_log.values(), *self.compared.values()):  # partitions, tables come
            one.clear()
        for channel, compared in self._compared.items():
            with suppress(EnvironmentFault):  # the status says it
                for table, came in compared().items():
                    self._show_compared(channel, table, came)
        for channel, asked in self._lags.items():
            lag = asked()
            for partition, records in lag.records.items():
                self.lag_records.labels(channel, partition).set(records)
            for name, value in {} if lag.log is None else asdict(lag.log).items():
                if name in self.server_log and value is not None:
                    self.server_log[name].labels(channel).set(len(value) if isinstance(value, dict) else value)
        return generate_latest(self.registry)

    def _show_compared(self, channel: str, table: str, came: dict[str, Any]) -> None:
        if not came["why"]:
            differences = sum(came[name] for name in ("missing", "extra", "different"))
            self.compared["differences"].labels(channel, table).set(differences)
        for name in ("compared", "proved"):
            if name in came:
                self.compared[name].labels(channel, table).set(datetime.fromisoformat(came[name]).timestamp())

    def begin(
        self, channel: str, lag: Callable[[], Lag], set_aside: Callable[[], int], compared: Compared = dict
    ) -> None:
        """Show a channel's metrics from the start on: a series that begins with its first increment has no rate."""
        for one in (self.read, self.messages, self.bytes, self.files, self.cycles, self.rejected, self.retries):
            one.labels(channel)
        self.latency.labels(channel)
        self.last_synced.labels(channel).set(0)
        self.lag_files.labels(channel).set_function(lambda: lag().files)
        self.lag_bytes.labels(channel).set_function(lambda: lag().bytes)
        self._lags[channel], self._compared[channel] = lag, compared
        self.set_aside.labels(channel).set_function(set_aside)
        for doing in STATES:
            self.state.labels(channel, doing).set(0)

    def beat(self, channel: str, doing: str, now: float) -> None:
        """Show what a channel does."""
        self.last_beat.labels(channel).set(now)
        for one in STATES:
            self.state.labels(channel, one).set(one == doing)

    def continues_after(self, channel: str, at: float) -> None:
        """Show when the last cycle was synced before this process."""
        self.last_synced.labels(channel).set(at)

    def synced(self, channel: str, cycle: Cycle, latency_s: float | None, now: float) -> None:
        """Count a synced cycle."""
        counted = (
            (self.read, cycle.rows),
            (self.messages, cycle.messages),
            (self.bytes, cycle.bytes),
            (self.files, cycle.files),
            (self.cycles, 1),
            (self.rejected, cycle.rejected),
        )
        for counter, amount in counted:
            counter.labels(channel).inc(amount)
        for (topic, operation), rows in operations(cycle).items():
            self.sent.labels(channel, topic, operation).inc(rows)
        for reason, rows in cycle.not_sent.items():
            self.skipped.labels(channel, reason).inc(rows)
        for reason, values in cycle.warnings.items():
            self.coerced.labels(channel, reason).inc(values)
        self.timed(channel, cycle.steps)
        self.seconds.labels(channel).observe(cycle.seconds)
        if latency_s is not None:
            self.latency.labels(channel).observe(latency_s)
        self.last_synced.labels(channel).set(now)

    def timed(self, channel: str, steps: dict[str, float]) -> None:
        """Count seconds of steps."""
        for step, seconds in steps.items():
            self.steps.labels(channel, step).inc(max(seconds, 0.0))

    def failure(self, channel: str, failure: Failure) -> None:
        """Count a failure."""
        self.errors.labels(channel, failure.kind).inc()
        if failure.again_in is not None:
            self.retries.labels(channel).inc()


def operations(cycle: Cycle) -> dict[tuple[str, str], int]:
    """Return the rows of a cycle by topic and operation."""
    return {(name.rpartition(" ")[0], name.rpartition(" ")[2]): rows for name, rows in cycle.operations.items()}
