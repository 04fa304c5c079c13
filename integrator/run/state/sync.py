"""Reports -> a synced cycle, if every message is acknowledged: only then is it marked (I1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from integrator.contracts.fragments import FILE_BITS, SEED_BITS, Checkpoint, FileSummary, joined_deferred, seed_of
from integrator.contracts.report import Report
from integrator.contracts.streams import PositionRange, check_ascends, check_one_source
from integrator.errors import DeliveryError, Place
from integrator.names.numbers import counted


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
    checkpoint: Checkpoint
    seconds: float = 0.0
    split: dict[str, int] = field(default_factory=dict)
    deferred: int = 0
    warnings: dict[str, int] = field(default_factory=dict)
    details: list[dict[str, Any]] = field(default_factory=list)
    rejections: list[Rejections] = field(default_factory=list)
    steps: dict[str, float] = field(default_factory=dict)
    """Seconds of the driver's steps: prepare (what came before Spark's job), send (the job), mark."""
    planned: int | None = None
    """The number of the last slice that Spark planned for the cycle; None of a sub-cycle, of which it knows nothing."""

    @classmethod
    def of_nothing(cls, cycle: int, before: Checkpoint, seconds: float) -> Cycle:
        """Return a cycle without a slice, after what ended at `before`."""
        return cls(cycle, 0, 0, 0, 0, None, {}, {}, before, seconds, deferred=before.waiting)

    @property
    def rejected(self) -> int:
        """How many lines were rejected."""
        return sum(one.count for one in self.rejections)


@dataclass(frozen=True)
class Rejections:
    """The rejected lines of a file: how many, some of them, and what `TooMany` counts."""

    file: str
    count: int
    lines: list[dict[str, Any]]
    places: list[int]


def check_acknowledged(
    cycle: int,
    reports: Sequence[Report],
    before: Checkpoint,
    moment: datetime,
    seconds: float,
    deferred: Sequence[bytes] = (),
) -> Cycle:
    """Return the cycle if all of it is acknowledged. Raises DeliveryError with the first failure otherwise.

    moment: when the cycle was begun. deferred: the rows that the tasks of the reports leave to the next cycle.
    """
    sent = sum(report.messages for report in reports)
    acknowledged = sum(report.acknowledged for report in reports)
    errors = [report.error for report in reports if report.error]
    if errors or acknowledged != sent:
        raise DeliveryError(
            f"cycle {cycle}: {acknowledged} of {counted(sent, 'message')} acknowledged; "
            f"{errors[0] if errors else 'no reason given'}; the cycle is not synced, and will be sent again",
            next((report.code for report in reports if report.error), 0),
        )
    summaries = sorted(
        (summary for report in reports for summary in report.summaries), key=lambda summary: summary.ordinal
    )
    followed = _followed(summaries, before)
    resumed, waited = sum(summary.resumed for summary in summaries), before.waiting
    if resumed != waited:
        raise RuntimeError(f"cycle {cycle}: {counted(waited, 'row')} deferred to it, and it took {resumed}")  # I4
    return Cycle(
        cycle=cycle,
        files=sum(summary.files for summary in summaries),
        rows=sum(summary.rows for summary in summaries),
        messages=sent,
        bytes=sum(report.bytes for report in reports),
        newest=max((report.newest for report in reports if report.newest), default=None),
        operations=summed(report.operations for report in reports),
        not_sent=summed(summary.not_sent for summary in summaries),
        rejections=[
            Rejections(one.path, one.rejected, one.rejections, one.rejected_at)
            for one in summaries
            if one.rejected or one.rejected_at
        ],
        checkpoint=_checkpoint(summaries, followed, moment, deferred),
        seconds=seconds,
        split=summed(report.split for report in reports),
        deferred=sum(report.deferred for report in reports),
        warnings=summed(summary.warnings for summary in summaries),
        details=[detail for summary in summaries for detail in summary.details],
    )


def _followed(summaries: Sequence[FileSummary], before: Checkpoint) -> Checkpoint:
    """Return where streams stand, and the tables' sources, after files, in their order. Raises DataError.

    Tasks read files side by side: what holds between two of them is seen here, and the cycle is not synced otherwise.
    """
    spans, streams, sources = dict(before.spans), {**before.streams, "": before.open}, dict(before.sources)
    found = [(one.ordinal, name, one) for summary in summaries for name, one in summary.streams.items()]
    for _, name, one in sorted(found):
        spans[name] = check_ascends(spans.get(name, PositionRange()), one.span, one.path)
        streams[name] = one.open
    for summary in summaries:
        if summary.sources.items() <= sources.items():
            continue
        for table, source in summary.sources.items():
            sources[table] = check_one_source(sources, table, source, Place(summary.path))
    opened = streams.pop("")
    return replace(before, open=opened, streams=streams, spans=spans, sources=sources)


def _checkpoint(
    summaries: Sequence[FileSummary], before: Checkpoint, moment: datetime, deferred: Sequence[bytes]
) -> Checkpoint:
    """Return where the next cycle begins."""
    if not summaries:
        return before
    files = summaries[-1].ordinal - before.ordinal
    seed = seed_of(before, moment) + (files >> SEED_BITS - FILE_BITS) + 1
    return replace(before, ordinal=summaries[-1].ordinal, integ_key=seed, deferred=joined_deferred(deferred))


def summed(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    """Return the sum of counts, by reason."""
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return dict(total)
