"""Reports -> verdict. Only a cycle in which every message is acknowledged is marked (I1: progress only after that)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from integrator.errors import DeliveryError
from integrator.fragments import Carry
from integrator.produce.report import Report


@dataclass(frozen=True)
class Cycle:
    """A synced cycle: what was sent, what was read and not sent, where the next one begins, and the time it took."""

    cycle: int
    files: int
    rows: int
    messages: int
    bytes: int
    newest: int | None
    operations: dict[str, int]
    not_sent: dict[str, int]
    carry: Carry
    seconds: float = 0.0


def verdict(cycle: int, reports: Sequence[Report], before: Carry, seconds: float) -> Cycle:
    """Return the cycle if all of it is acknowledged. Raises DeliveryError with the first failure otherwise."""
    sent = sum(report.messages for report in reports)
    acknowledged = sum(report.acknowledged for report in reports)
    errors = [report.error for report in reports if report.error]
    if errors or acknowledged != sent:
        raise DeliveryError(
            f"cycle {cycle}: {acknowledged} of {sent} messages acknowledged; "
            f"{errors[0] if errors else 'no reason given'}; the cycle is not synced, and will be sent again"
        )
    operations: dict[str, int] = {}
    not_sent: dict[str, int] = {}
    for report in reports:
        for name, count in report.operations.items():
            operations[name] = operations.get(name, 0) + count
    notes = sorted((note for report in reports for note in report.notes), key=lambda note: note.ordinal)
    for note in notes:
        for name, count in note.not_sent.items():
            not_sent[name] = not_sent.get(name, 0) + count
    return Cycle(
        cycle=cycle,
        files=len(notes),
        rows=sum(note.rows for note in notes),
        messages=sent,
        bytes=sum(report.bytes for report in reports),
        newest=max((report.newest for report in reports if report.newest), default=None),
        operations=operations,
        not_sent=not_sent,
        carry=Carry(notes[-1].ordinal, notes[-1].open) if notes else before,
        seconds=seconds,
    )
