"""What the actions of a channel say of one table, at its source and at Kafka."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from integrator.channel.base import Scoped
from integrator.schema import Table

Merged = dict[str, tuple[dict[str, Any], dict[str, int]]]
"""By column name, the parameters that hold for it, and the places in the channel that set them."""

Report = Callable[[int | None, str, str], None]
"""Takes the place of an action, a parameter, and what is wrong with it."""


@dataclass(frozen=True)
class Said:
    """Merged parameters of a kind of action, at the source and at Kafka: values, and the places that set them."""

    source: tuple[dict[str, Any], dict[str, int]]
    kafka: tuple[dict[str, Any], dict[str, int]]

    def either(self, name: str, default: Any = None) -> Any:
        """Return a parameter that means the same wherever it is said."""
        return self.kafka[0].get(name, self.source[0].get(name, default))

    def place(self, name: str) -> int | None:
        """Return where `either` found it."""
        return self.kafka[1].get(name, self.source[1].get(name))


@dataclass(frozen=True)
class Saying:
    """What is said of one table."""

    table: Table
    columns_at_source: Merged
    columns_at_kafka: Merged
    properties: Said
    capture: Said
    restrict: Said
    actions: list[Scoped]
    report: Report

    def at_source(self, values: dict[str, Any], places: dict[str, int], name: str) -> Any:
        """Return a parameter that means another thing at the source, where an action names that."""
        place = places.get(name)
        return values.get(name) if place is not None and self.actions[place].group != "*" else None
