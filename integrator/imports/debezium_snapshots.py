"""Statements that snapshots of a Debezium connector select rows by: what they leave out, a refresh would send.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-property-snapshot-select-statement-overrides.
"""

from __future__ import annotations

from integrator.imports.connect_file import Config
from integrator.imports.debezium_patterns import items
from integrator.imports.debezium_tables import Tables
from integrator.imports.draft import Draft

_KEY = "snapshot.select.statement.overrides"
_PARTS = 2
"""Names in schema.table."""


def import_snapshots(config: Config, tables: Tables, draft: Draft) -> None:
    """Report the tables that a snapshot read by a statement."""
    listed = items(config.get(_KEY))
    for name in dict.fromkeys((*listed, *config.below(f"{_KEY}."))):
        found = [
            table.name
            for table in tables.tables
            if name.lower() in (one.lower() for one in tables.names(table, name, _PARTS))
        ]
        if tables.known and not found:
            draft.report.todo(f"{_KEY}: {name} is no table of the channel's")
        for table in found or ([] if tables.known else [name.rpartition(".")[2].lower()]):
            draft.report.todo(
                f"{_KEY}: {name} was read by a statement, and a refresh sends all of it: say which rows in {{action: "
                f"Restrict, table: {table}, RefreshCondition: …}}, and leave columns out by ColumnProperties Absent"
            )
