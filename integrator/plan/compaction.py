"""Topics that are compacted: of messages with one key the last one stays, so that a key must be that of one row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from integrator.channel.created_topics import creation_of, rule_of
from integrator.channel.locations import KafkaLocation
from integrator.channel.problems import named
from integrator.contracts.operations import TRUNCATE
from integrator.contracts.table_recipe import TableRecipe
from integrator.plan.parameters import ChannelScope

CLEANUP = "cleanup.policy"
COMPACTED = (
    "without a key, of rows that are alike compaction keeps one; give the table a key, or do not compact the topic"
)
TRUNCATES = (
    "a truncate has no key, so that it would be refused: do not compact the topic, or have truncates left out "
    "({action: Capture, NoTruncate: true})"
)
_WHOLE_KEYS = (
    "{action: Integrate, MessageKeySerializer: JSON_ROW}, or TableProperties DistributionKeyLimit: 0, and no "
    "MessageKey for the table"
)


def partial_keys(tables: Sequence[TableRecipe]) -> dict[str, str]:
    """Return the topics that may not be compacted, and why: their keys are less than those of rows."""
    return {
        table.topic: f"compaction would keep one row of all that have the same key: the message key lacks "
        f"{', '.join(table.not_in_keys)} of table {table.table.name}; have whole keys ({_WHOLE_KEYS}), or do not "
        "compact the topic"
        for table in tables
        if table.not_in_keys
    }


def check_compaction(scope: ChannelScope, tables: Sequence[TableRecipe]) -> None:
    """Add a problem for topics that are created compacted though messages of several rows have one key."""
    creation = creation_of(scope.location.Create_Topics)
    for topic, why in partial_keys(tables).items():
        rule = rule_of(creation, topic)
        if rule and "compact" in rule.settings.get(CLEANUP, ""):
            scope.problems.add(("locations", scope.kafka, "Create_Topics"), f"{topic}: {why}")


def notes_of_compaction(location: KafkaLocation, tables: Sequence[TableRecipe]) -> Iterator[str]:
    """Yield which topics are created compacted though their tables have no key, or truncates are sent."""
    creation = creation_of(location.Create_Topics)
    rules = ((table, rule_of(creation, table.topic)) for table in tables)
    compacted = [table for table, rule in rules if rule and "compact" in rule.settings.get(CLEANUP, "")]
    for which, why in ((lambda one: one.keyless, COMPACTED), (has_truncates, TRUNCATES)):
        if found := [table.table.name for table in compacted if which(table)]:
            yield f"{named(found, len(tables))}: new topics are compacted ({CLEANUP}), and {why}"


def has_truncates(table: TableRecipe) -> bool:
    """Return whether a table's truncates are sent to its topic."""
    return TRUNCATE in table.operations
