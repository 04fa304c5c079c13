"""Reports -> verdict. Only a cycle in which every message is acknowledged is marked (I1: progress only after that)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import Any

from integrator.contracts.fragments import FILE_BITS, SEED_BITS, Carry, Note, joined_held, seed_of
from integrator.contracts.report import Report
from integrator.contracts.streams import Span, following, one_source
from integrator.errors import DeliveryError


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
    split: dict[str, int] = field(default_factory=dict)
    held: int = 0
    warnings: dict[str, int] = field(default_factory=dict)
    details: list[dict[str, Any]] = field(default_factory=list)


def verdict(cycle: int, reports: Sequence[Report], before: Carry, seconds: float, held: Sequence[bytes] = ()) -> Cycle:
    """Return the cycle if all of it is acknowledged. Raises DeliveryError with the first failure otherwise.

    `held`: what the reports' tasks hold for the next cycle.
    """
    sent = sum(report.messages for report in reports)
    acknowledged = sum(report.acknowledged for report in reports)
    errors = [report.error for report in reports if report.error]
    if errors or acknowledged != sent:
        raise DeliveryError(
            f"cycle {cycle}: {acknowledged} of {sent} messages acknowledged; "
            f"{errors[0] if errors else 'no reason given'}; the cycle is not synced, and will be sent again"
        )
    notes = sorted((note for report in reports for note in report.notes), key=lambda note: note.ordinal)
    followed = _followed(notes, before)
    unheld, waited = sum(note.unheld for note in notes), sum(map(len, before.held_rows()))
    if unheld != waited:
        raise RuntimeError(f"cycle {cycle}: {waited} rows were held for it, and it took {unheld}")  # I4
    return Cycle(
        cycle=cycle,
        files=len(notes),
        rows=sum(note.rows for note in notes),
        messages=sent,
        bytes=sum(report.bytes for report in reports),
        newest=max((report.newest for report in reports if report.newest), default=None),
        operations=summed(report.operations for report in reports),
        not_sent=summed(note.not_sent for note in notes),
        carry=_carry(notes, followed, held),
        seconds=seconds,
        split=summed(report.split for report in reports),
        held=sum(report.held for report in reports),
        warnings=summed(note.warnings for note in notes),
        details=[detail for note in notes for detail in note.details],
    )


def _followed(notes: Sequence[Note], before: Carry) -> Carry:
    """Return the streams' spans and the tables' sources after files, in their order. Raises DataError.

    Tasks read files side by side: what holds between two of them is seen here, and the cycle is not synced otherwise.
    """
    spans, sources = dict(before.spans), dict(before.sources)
    for note in notes:
        spans[note.stream] = following(spans.get(note.stream, Span()), note.span, note.path)
        for table, source in note.sources.items():
            sources[table] = one_source(sources, table, source, note.path)
    return replace(before, spans=spans, sources=sources)


def _carry(notes: Sequence[Note], before: Carry, held: Sequence[bytes]) -> Carry:
    """Return where the next cycle begins."""
    if not notes:
        return before
    files = notes[-1].ordinal - before.ordinal
    seed = seed_of(before, datetime.now(timezone.utc)) + (files >> SEED_BITS - FILE_BITS) + 1
    opened = {note.stream: note.open for note in notes}
    streams = {**before.streams, **{stream: state for stream, state in opened.items() if stream}}
    opened_now = opened.get("", before.open)
    return Carry(notes[-1].ordinal, opened_now, seed, joined_held(held), streams, before.spans, before.sources)


def summed(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    """Return the sum of counts, by reason."""
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(total)
