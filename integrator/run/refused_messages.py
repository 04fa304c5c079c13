"""What becomes of a cycle of which brokers refuse a message for good: the row is searched for, and named."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from integrator.contracts.recipe import Recipe
from integrator.contracts.report import Report, refused_of
from integrator.deliver.kafka.topic_limits import one_by_one, refused, seeking_row
from integrator.errors import DataError, DeliveryError


class BatchRefused(DeliveryError):
    """A batch was refused, and one of its messages is the reason: the cycle is to be sent again, one by one."""


class Refusals:
    """How a channel's messages are sent, in the light of those that brokers refused.

    recipe: how the next try sends. Where a batch was refused, and its topic's limit cannot be seen, that is with each
    message in a batch of its own: a message that is refused then is the one.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._as_planned = self.recipe = recipe

    def check(self, reports: Sequence[Report], where: str, read: Callable[[Recipe], None]) -> None:
        """Raise IntegratorError if a message was refused for good. read: has the first pass read the runs, by a recipe.

        It is BatchRefused where `recipe` is another now.
        """
        found = refused_of(reports)
        if found is None:
            return
        error = refused(self.recipe, found, where)
        if isinstance(error, DeliveryError):
            self.recipe = one_by_one(self._as_planned)
            raise BatchRefused(str(error))
        if isinstance(error, DataError):
            why = str(error).removeprefix(f"{where}: ")
            read(seeking_row(self._as_planned, found, why))
        raise error

    def forget(self) -> None:
        """Send as planned again: the cycle is synced."""
        self.recipe = self._as_planned
