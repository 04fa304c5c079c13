"""What is to be known of a plan and is not wrong: what `check` and `plan` remark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from integrator.channel.actions import ColumnProperties
from integrator.channel.locations import KafkaLocation
from integrator.channel.model import Channel
from integrator.channel.problems import named
from integrator.contracts.table_recipe import TableRecipe
from integrator.tables.discovered_columns import Added


def notes_of(channel: Channel, location: KafkaLocation) -> Iterator[str]:
    """Yield what the channel says and has no effect, as in HVR."""
    for place, action in enumerate(channel.actions):
        if isinstance(action, ColumnProperties) and action.ExpressionScope and location.Expression_Scopes == "IGNORE":
            yield f"$.actions[{place}].ExpressionScope has no effect, as in HVR but for Burst (Expression_Scopes)"


def notes_of_added(came: Added) -> Iterator[str]:
    """Yield the columns that came while the channel ran, and those that have another type since."""
    for table, columns in came.items():
        for name, one in columns.items():
            if one.is_added:
                yield f"{table}.{name} ({one.datatype}) was added when records came that had it"
            if one.before:
                yield f"{table}.{name} was {', '.join(one.before)} in records before, and is {one.datatype} now"


def notes_of_partitions(tables: Sequence[TableRecipe], group: str) -> Iterator[str]:
    """Yield which tables have partitions, where one that is created later would not be known."""
    for table in (recipe.in_source for recipe in tables):
        if table.partitions and not any("*" in name for name in table.partitions):
            pattern = f"{table.full_name}_*"
            action = f"{{action: TableProperties, group: {group}, table: {table.name}, Partitions: '{pattern}'}}"
            yield (
                f"table {table.name} has the partitions {', '.join(table.partitions)}; one that is created later is a "
                f"table that the channel does not have, unless a pattern has its name: {action}"
            )


def notes_of_deletes(tables: Sequence[TableRecipe]) -> Iterator[str]:
    """Yield of which tables deletes do not become messages."""
    tables = [table for table in tables if not table.outbox]
    silent = [table.table.name for table in tables if table.style == "Standard" and not table.tombstones]
    if silent:
        yield (
            f"{named(silent, len(tables))}: deletes and truncates are not sent (style Standard); a column with "
            "TimeKey: true or SoftDelete: true has them sent, OnDeleteSendTombstone: true sends tombstones"
        )
    left = [table.table.name for table in tables if table.style == "Standard" and table.tombstones and table.truncates]
    if left:
        yield (
            f"{named(left, len(tables))}: truncates are not sent (style Standard), and tombstones are sent for deletes "
            "alone: the rows of a truncated table stay in its topic; a column with TimeKey: true or SoftDelete: true "
            "has truncates sent"
        )
