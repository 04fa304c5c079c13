"""What a task delivered, small enough to collect."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from integrator.contracts.fragments import FileSummary


@dataclass(frozen=True)
class Report:
    """One task's delivery. I1 rests on it: sent, less failed, is acknowledged, and nothing is left.

    operations: rows by "topic op". newest: the newest commit, in microseconds since 1970. summaries: of the files that
    were read to the end. split: what could not be kept together in a message, by reason. deferred: rows that wait for
    the rest of their transaction.
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

    def to_json(self) -> str:
        """Return the report as text."""
        return json.dumps({**self.__dict__, "summaries": [summary.to_json() for summary in self.summaries]})

    @staticmethod
    def of_json(text: str) -> Report:
        """Return the report that `to_json` wrote."""
        data = json.loads(text)
        data["summaries"] = tuple(FileSummary.of_json(summary) for summary in data["summaries"])
        return Report(**data)
