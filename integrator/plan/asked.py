"""What actions ask of the source of changes, and it cannot give."""

from __future__ import annotations

from collections.abc import Sequence

from integrator.contracts.table_recipe import TableRecipe
from integrator.expressions.parts import depends_on
from integrator.plan.ends import AnySource, adds_columns
from integrator.plan.parameters import ChannelScope
from integrator.sources.tables import TableSource


def check_source(scope: ChannelScope, source: AnySource, tables: Sequence[TableRecipe]) -> None:
    """Report what tables are to have and the source does not have, or does not have in one piece."""
    _check_added(scope)
    if isinstance(source, TableSource):
        return
    if not source.whole_transactions:
        _check_transactions(scope, tables)
    if not source.has_records:
        _check_records(scope, tables)


def _check_added(scope: ChannelScope) -> None:
    """Report that columns are to be added while rows wait for the end of their transaction."""
    if adds_columns(scope.channel) and scope.layout.bundling.mode == "TRANSACTION":
        text = "unknown_columns: add at the source would leave rows that wait for their transaction's end without them"
        report = scope.problems.at_location(scope.kafka)
        report("Kafka_Message_Bundling", f"{text}; say ROW, CHANGE or THRESHOLD, or unknown_columns: error")


def _check_transactions(scope: ChannelScope, tables: Sequence[TableRecipe]) -> None:
    """Report what needs whole transactions, where the source divides them."""
    divided = "transactions come side by side, from partitions of topics or from several source locations"
    if scope.layout.bundling.mode == "TRANSACTION":
        report = scope.problems.at_location(scope.kafka)
        report("Kafka_Message_Bundling", f"TRANSACTION is not possible: {divided}; use ROW, CHANGE or THRESHOLD")
    for table in tables:
        if any(depends_on(parts, "transaction") for parts in table.expressions):
            text = f"{{hvr_tx_countdown}} cannot be counted: {divided}; leave it out"
            scope.problems.add(("locations", scope.cap_loc), text, table.table.name)


def _check_records(scope: ChannelScope, tables: Sequence[TableRecipe]) -> None:
    """Report what needs the records of topics, where the source has none."""
    for table in tables:
        if any(depends_on(parts, "record") for parts in table.expressions):
            text = "substitutions of a topic's record need a source of class kafka; leave them out"
            scope.problems.add(("locations", scope.cap_loc), text, table.table.name)
