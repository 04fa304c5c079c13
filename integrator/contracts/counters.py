"""What a pass did beside sending rows, counted by reason: for the log of the cycle (I4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MAX_DETAILS = 1000


@dataclass
class CycleCounters:
    """not_sent: rows that were read and not sent. warnings: values that were changed. details: of the latter, some."""

    not_sent: dict[str, int] = field(default_factory=dict)
    warnings: dict[str, int] = field(default_factory=dict)
    details: list[dict[str, Any]] = field(default_factory=list)

    def skipped(self, reason: str, rows: int = 1) -> None:
        """Count rows that are not sent."""
        if rows:
            self.not_sent[reason] = self.not_sent.get(reason, 0) + rows

    def coerced(self, reason: str, values: int) -> None:
        """Count values that were changed."""
        if values:
            self.warnings[reason] = self.warnings.get(reason, 0) + values

    def sample(self, counted: dict[str, Any]) -> None:
        """Keep the details of one value, as long as there are few."""
        if len(self.details) < MAX_DETAILS:
            self.details.append(counted)

    def add(self, other: CycleCounters) -> None:
        """Count what another counted."""
        for reason, rows in other.not_sent.items():
            self.skipped(reason, rows)
        for reason, values in other.warnings.items():
            self.coerced(reason, values)
        for counted in other.details:
            self.sample(counted)
