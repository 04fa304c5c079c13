"""What the channel declares for records that cannot be read or sent, and for deliveries that fail."""

from __future__ import annotations

from collections.abc import Sequence

from integrator.channel.model import Channel, Restart
from integrator.channel.problems import Problems
from integrator.contracts.recipe import Tolerance

_NEEDS_ALL = ("topic", "log", "threshold")


def tolerance_of(channel: Channel, topics: Sequence[str], problems: Problems) -> Tolerance:
    """Return what becomes of wrong lines; `topics` are those of tables and of rows above the maximum size."""
    errors = channel.errors
    if errors.tolerance == "none":
        for name in sorted(errors.model_fields_set.intersection(_NEEDS_ALL)):
            alias = type(errors).model_fields[name].alias or name
            problems.add(("errors", alias), "nothing is rejected without tolerance: all; add that, or leave this out")
    if errors.topic is not None and errors.topic in topics:
        problems.add(
            ("errors", "deadletterqueue.topic.name"),
            f"{errors.topic} is a topic of rows too; rejected lines need one of their own: write another name",
        )
    if errors.log_messages and not errors.log:
        problems.add(("errors", "log.include.messages"), "has no use without log.enable: true")
    stop = errors.threshold
    return Tolerance(
        errors.tolerance == "all",
        errors.topic or "",
        headers=errors.headers,
        most=(stop.failed, stop.of) if stop else (),
        logged="messages" if errors.log_messages else "lines" if errors.log else "",
    )


def restart_of(channel: Channel, problems: Problems) -> Restart:
    """Return how failures are retried: by `restart`, or by Kafka Connect's properties for it."""
    errors, restart = channel.errors, channel.restart
    changes: dict[str, float] = {}
    if errors.retry_ms is not None:
        changes["timeout_seconds"] = errors.retry_ms / 1000 if errors.retry_ms >= 0 else -1.0
    if errors.retry_delay_ms is not None:
        changes["most_seconds"] = errors.retry_delay_ms / 1000
        changes["first_seconds"] = min(restart.first_seconds, changes["most_seconds"])
    twice = sorted(restart.model_fields_set.intersection(changes))
    if twice:
        problems.add(("restart", twice[0]), "errors.retry sets this too; leave one of both out")
    return restart.model_copy(update=changes)
