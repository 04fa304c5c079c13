"""What is sent beside the cycles of a channel, by threads of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from integrator.errors import IntegratorError
from integrator.plan import Plan
from integrator.resolved.sending import resolving
from integrator.run.state.directory import State
from integrator.sources.contract import Feed


class Beside(Protocol):
    """One of them, from `start` to `finish`. failure: why it has ended, where somebody must act."""

    failure: IntegratorError | None

    def start(self) -> None:
        """Start its thread."""

    def finish(self) -> None:
        """Have it come to its end, and wait for that."""


BESIDE: dict[str, Callable[[State, Callable[[], Plan], Callable[[], Feed]], Beside | None]] = {"resolved": resolving}
"""By the part of the channel that asks for it, with what begins it: None where the channel does not."""
