"""What actions ask of the source of changes, and it cannot give."""

from __future__ import annotations

from collections.abc import Sequence

from integrator.channel.databases import DatabaseLocation
from integrator.contracts.table_recipe import TableRecipe
from integrator.decode.dialects import CHOSEN, DIALECTS
from integrator.encode.transactions import SERIALIZERS
from integrator.expressions.parts import depends_on
from integrator.expressions.substitutions import Dependency
from integrator.plan.ends import AnySource, adds_columns
from integrator.plan.parameters import ChannelScope
from integrator.sources.contract import Source
from integrator.sources.tables import TableSource


def check_source(scope: ChannelScope, source: AnySource, tables: Sequence[TableRecipe]) -> None:
    """Report what tables are to have and the source does not have, or does not have in one piece."""
    _check_added(scope)
    is_captured = isinstance(scope.channel.locations[scope.cap_loc], DatabaseLocation)
    if scope.channel.errors.tables == "set_aside" and not is_captured:
        text = "set_aside: changes of a table are held for captured databases alone; leave it out"
        scope.problems.add(("errors", "tables"), text)
    if isinstance(source, TableSource):
        return
    _check_resolved(scope, source, tables)
    _check_marks(scope, source, tables)
    if not source.whole_transactions:
        _check_transactions(scope, tables)
    if not source.has_records:
        _check_records(scope, source, tables)


def _check_resolved(scope: ChannelScope, source: Source, tables: Sequence[TableRecipe]) -> None:
    """Report resolved messages of a source without positions, or in a topic of others."""
    asked, location = scope.channel.resolved, scope.location
    if asked is None:
        return
    if not source.has_positions:
        text = (
            "the source has no position up to which all is known to have come; locations of class postgres, mysql and "
            "mariadb have, while changes are captured (not with snapshot: only): leave it out"
        )
        scope.problems.add(("resolved",), text)
    others = {scope.channel.errors.topic, location.Dead_Letter_Topic, location.Transaction_Topic}
    if asked.topic in others | {table.topic for table in tables}:
        text = f"{asked.topic} has other messages too; resolved ones need a topic of their own: write another name"
        scope.problems.add(("resolved", "topic"), text)


def _check_added(scope: ChannelScope) -> None:
    """Report that columns are to be added while rows wait for the end of their transaction."""
    if adds_columns(scope.channel) and scope.layout.bundling.mode == "TRANSACTION":
        text = "unknown_columns: add at the source would leave rows that wait for their transaction's end without them"
        report = scope.problems.at_location(scope.kafka)
        report("Kafka_Message_Bundling", f"{text}; say ROW, CHANGE or THRESHOLD, or unknown_columns: error")


def _check_marks(scope: ChannelScope, source: Source, tables: Sequence[TableRecipe]) -> None:
    """Report messages of transactions where these are not known, or in a format that cannot express them."""
    topic, report = scope.location.Transaction_Topic, scope.problems.at_location(scope.kafka)
    if topic is None:
        return
    dialect = source.location.dialect
    if dialect == "auto":
        report("Transaction_Topic", f"needs the dialect of the source by its name: dialect: {_IN_TRANSACTIONS}")
    elif not DIALECTS[dialect].in_transactions:
        text = f"{dialect} does not mark where transactions begin and end; {_IN_TRANSACTIONS} do: leave it out"
        report("Transaction_Topic", text)
    elif not source.whole_transactions:
        report("Transaction_Topic", "the topics that are read divide transactions among partitions; leave it out")
    if scope.layout.format not in SERIALIZERS:
        text = f"{scope.layout.format} has no such messages; use JSON, or a schema registry: {', '.join(SERIALIZERS)}"
        report("Transaction_Topic", text)
    if topic in {table.topic for table in tables}:
        report("Transaction_Topic", f"{topic} is a topic of a table too; transactions need one of their own")


_IN_TRANSACTIONS = ", ".join(name for name in CHOSEN if DIALECTS[name].in_transactions)


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


def _check_records(scope: ChannelScope, source: Source, tables: Sequence[TableRecipe]) -> None:
    """Report what needs the records of topics, or their metadata, where the source has none."""
    needs: dict[Dependency, str] = {
        "record": "substitutions of a topic's record need a source of class kafka; leave them out"
    }
    if not DIALECTS[source.location.dialect].has_metadata:
        needs["header"] = f"{{hvr_cap_header}} needs a source of class kafka, or dialect: {_METADATA}; leave it out"
    for table in tables:
        for what, text in needs.items():
            if any(depends_on(parts, what) for parts in table.expressions):
                scope.problems.add(("locations", scope.cap_loc), text, table.table.name)


_METADATA = ", ".join(name for name in CHOSEN if DIALECTS[name].has_metadata)
