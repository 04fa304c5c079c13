"""What the actions of a channel say of one table, at its source and at Kafka."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from integrator.channel.base import Scoped
from integrator.schema import Table

Parameters = tuple[dict[str, Any], dict[str, int]]
"""Parameters that hold, and the places in the channel that set them."""

Merged = dict[str, Parameters]
"""The parameters by column name."""

Report = Callable[[int | None, str, str], None]
"""Takes the place of an action, a parameter, and what is wrong with it."""


@dataclass(frozen=True)
class Said:
    """The parameters of a kind of action that hold at the source, at Kafka, and at either of them."""

    source: Parameters
    kafka: Parameters
    either: Parameters

    def get(self, name: str, default: Any = None) -> Any:
        """Return a parameter that means the same wherever it is said."""
        return self.either[0].get(name, default)

    def place(self, name: str) -> int | None:
        """Return where `get` found it."""
        return self.either[1].get(name)


@dataclass(frozen=True)
class Saying:
    """What is said of one table. keyed: it has a key of its own, or was given one."""

    table: Table
    keyed: bool
    columns_at_source: Merged
    columns: Merged
    extra: frozenset[str]
    properties: Said
    capture: Said
    restrict: Said
    actions: list[Scoped]
    report: Report
