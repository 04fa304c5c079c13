"""The metrics that a process exports, for what alerts and dashboards ask for."""

from __future__ import annotations

import re

from integrator.backlog import Lag
from integrator.monitor.metrics import Metrics
from integrator.sources.contract import ServerLog

WATCHED = {
    "integrator_compared_differences",
    "integrator_lines_rejected_total",
    "integrator_server_log_behind_seconds",
    "integrator_server_log_kept_bytes",
    "integrator_server_log_left_bytes",
    "integrator_server_oldest_transaction_seconds",
    "integrator_tables_set_aside",
}
"""What must be watched of a captured database: lag, its log, what keeps this, and what is not sent, or differs."""


def of_a_capture() -> str:
    """What Prometheus reads of a channel that failed while it captured a database and read the rows of a table."""
    metrics = Metrics()
    log = ServerLog("reserved", "0/1", 1, 1, 1.0, 1, 1, 1.0, "public.t", 1, 2, 3.0, 4)
    came = {"why": "", "missing": 0, "extra": 0, "different": 0, "compared": "2026-01-01T00:00:00+00:00"}
    metrics.begin("a", lambda: Lag(log=log), int, lambda: {"t": came})
    metrics.beat("a", "failed", 0)
    return metrics.text().decode()


def named_in(text: str) -> set[str]:
    """The metrics of the integrator that a text names."""
    return set(re.findall(r"integrator_[a-z_]+", text))
