"""Rows that differ are sent again: as refreshes of their keys, which the channel does beside its changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from integrator.compare.rounds import Found
from integrator.contracts.message_format import MessageFormat
from integrator.contracts.operations import DELETE
from integrator.formats import FORMATS
from integrator.schema import Integer, Type
from integrator.sources.capture.asked import Asked
from integrator.sources.capture.points import Captured
from integrator.sources.capture.source import CapturedSource

_LACKING = ("omit", "shape")
"""Of formats that have messages without some columns: those of deletes have nothing but the key."""
_AT_ONCE = 5_000
"""Keys of one refresh."""


@dataclass(frozen=True)
class Repair:
    """What is done to a table. table, at_source: its names.

    again: how many rows are sent again. deleted: how many keys. left: how many differences are not repaired, for their
    keys cannot be had.
    """

    table: str
    at_source: str
    again: int
    deleted: int
    left: int
    requests: tuple[Asked, ...]

    def ask(self, source: CapturedSource) -> None:
        """Ask for it. Raises OSError."""
        for one in self.requests:
            source.repair(self.at_source, one)


def repairs(
    found: Sequence[Found], names: dict[str, str], there: dict[str, Captured], layout: MessageFormat
) -> Iterator[Repair]:
    """Yield the repairs of tables with differences. names: at the database; there: the tables as it has them."""
    for one in found:
        result = one.result
        if not result.differs:
            continue
        at_source = names[result.table]
        keys = one.repairs if at_source in there and one.key else []
        recipe = one.sides.table.recipe
        is_own = {*recipe.key} <= {*one.key}  # else deletes would lack columns of messages' keys
        lacks = DELETE in recipe.operations and not layout.envelope and not recipe.missing_as_null
        can_delete = is_own and (not lacks or FORMATS[layout.format].missing in _LACKING)
        columns = map(recipe.in_source.column, one.key)
        types = [None if column is None else column.type for column in columns]
        possible = [(kind, row) for kind, row in keys if row not in one.refused and all(map(_fits, row, types))]
        taken = [(kind, row) for kind, row in possible if kind != "extra" or can_delete]
        deleted = sum(kind == "extra" for kind, _ in taken)
        total = result.missing + result.extra + result.different
        requests = tuple(_requests(one.key, taken, there[at_source])) if taken else ()
        yield Repair(result.table, at_source, len(taken) - deleted, deleted, total - len(taken), requests)


def _fits(text: str, type_: Type | None) -> bool:
    """Return whether a column of this type can have a value: the delete of an extra key has it as its key."""
    if not isinstance(type_, Integer):
        return True
    try:
        return -(1 << type_.bits - 1) <= int(text) < 1 << type_.bits - 1
    except ValueError:
        return False


def _requests(key: Sequence[str], rows: Sequence[tuple[str, tuple[str, ...]]], table: Captured) -> Iterator[Asked]:
    """Yield refreshes of keys. One that the topic alone had may be there again when it is read: it follows a delete."""
    left = iter(rows)
    while some := list(islice(left, _AT_ONCE)):
        where = table.condition(key, [row for _, row in some])
        gone = [[*row] for kind, row in some if kind == "extra"]
        yield Asked(where, key=[*key], gone=gone, keys=len(some))
