"""What a task delivered, small enough to collect."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce

from integrator.contracts.fragments import FileSummary

MSG_SIZE_TOO_LARGE = 10
"""https://kafka.apache.org/protocol#protocol_error_codes."""


@dataclass(frozen=True)
class RefusedMessage:
    """A message that a broker refused, and would refuse again; without a topic it refused the producer itself.

    code: Kafka's error. reason: the broker's text. key: as text. bytes: of key and value. digest: CRC-32 of the value.
    """

    code: int
    reason: str
    topic: str = ""
    bytes: int = 0
    key: str = ""
    digest: int = 0


@dataclass(frozen=True)
class Report:
    """One task's delivery. I1 rests on it: sent, less failed, is acknowledged, and nothing is left.

    operations: rows by "topic op". newest: the newest commit, in microseconds since 1970. summaries: of the files that
    were read to the end. split: what could not be kept together in a message, by reason. deferred: rows that wait for
    the rest of their transaction. refused: a message that a broker refused, of those above its size the largest.
    code: of the message that failed first, as librdkafka has it; 0: of none.
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
    refused: RefusedMessage | None = None
    code: int = 0

    def to_json(self) -> str:
        """Return the report as text."""
        refused = None if self.refused is None else self.refused.__dict__
        summaries = [summary.to_json() for summary in self.summaries]
        return json.dumps({**self.__dict__, "summaries": summaries, "refused": refused})

    @staticmethod
    def of_json(text: str) -> Report:
        """Return the report that `to_json` wrote."""
        data = json.loads(text)
        data["summaries"] = tuple(FileSummary.of_json(summary) for summary in data["summaries"])
        if data["refused"] is not None:
            data["refused"] = RefusedMessage(**data["refused"])
        return Report(**data)


def worse(one: RefusedMessage | None, other: RefusedMessage | None) -> RefusedMessage | None:
    """Return which of two messages that were refused is reported: the larger one, where that is why; else the first."""
    if one is None or other is None:
        return one or other
    both = one.code == other.code == MSG_SIZE_TOO_LARGE
    return other if both and other.bytes > one.bytes else one


def refused_of(reports: Iterable[Report]) -> RefusedMessage | None:
    """Return the message that brokers refused which is to be reported; None where they refused none."""
    return reduce(worse, (report.refused for report in reports), None)
