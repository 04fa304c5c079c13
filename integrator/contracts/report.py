"""What a task delivered, small enough to collect."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from integrator.contracts.fragments import FileSummary


@dataclass(frozen=True)
class TooLarge:
    """A message that a broker refused for its size: its topic, the bytes of its key and value, and its key as text."""

    topic: str
    bytes: int
    key: str


@dataclass(frozen=True)
class Report:
    """One task's delivery. I1 rests on it: sent, less failed, is acknowledged, and nothing is left.

    operations: rows by "topic op". newest: the newest commit, in microseconds since 1970. summaries: of the files that
    were read to the end. split: what could not be kept together in a message, by reason. deferred: rows that wait for
    the rest of their transaction. too_large: the largest message that a broker refused for its size.
    """

    messages: int
    acknowledged: int
    bytes: int
    error: str | None
    newest: int | None
    operations: dict[str, int] = field(default_factory=dict)
    summaries: tuple[FileSummary, ...] = ()
    split: dict[str, int] = field(default_factory=dict)
    deferred: int = 0
    too_large: TooLarge | None = None

    def to_json(self) -> str:
        """Return the report as text."""
        large = None if self.too_large is None else self.too_large.__dict__
        summaries = [summary.to_json() for summary in self.summaries]
        return json.dumps({**self.__dict__, "summaries": summaries, "too_large": large})

    @staticmethod
    def of_json(text: str) -> Report:
        """Return the report that `to_json` wrote."""
        data = json.loads(text)
        data["summaries"] = tuple(FileSummary.of_json(summary) for summary in data["summaries"])
        if data["too_large"] is not None:
            data["too_large"] = TooLarge(**data["too_large"])
        return Report(**data)


def largest(reports: Iterable[Report]) -> TooLarge | None:
    """Return the largest message of reports that a broker refused for its size; None where there is none."""
    found = [report.too_large for report in reports if report.too_large is not None]
    return max(found, key=lambda one: one.bytes, default=None)
