"""Which table of the database each table of the channel is: its schema and its exact name. Two are never one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations

from integrator.channel.reader import Path_
from integrator.plan.parameters import ChannelScope, TableScope
from integrator.schema import Table


def in_database(given: TableScope) -> Table:
    """Return a table with the schema and the name that records of it have: TableProperties at the source say them."""
    table, properties = given.table, given.source.properties.values
    schema, base_name = properties.Schema or table.schema, properties.BaseName or table.base_name
    partitions = [part.strip() for part in (properties.Partitions or "").split("|") if part.strip()]
    return replace(table, schema=schema, base_name=base_name, partitions=(*table.partitions, *partitions))


def check_names(scope: ChannelScope, tables: Sequence[Table]) -> None:
    """Add a problem for each two tables that a record could be of, and for names with a schema in them."""
    for table in tables:
        _check_base_name(scope, table)
    found = [in_database(scope.of(table)) for table in tables]
    by_base_name: dict[str, list[Table]] = {}
    for table in found:
        by_base_name.setdefault(table.base_name, []).append(table)
    for same in by_base_name.values():
        for one, other in combinations(same, 2):
            _check_schemas(scope, one, other)
    _check_channel_names(scope, found, {table.name: table.full_name for table in tables})


def _check_base_name(scope: ChannelScope, table: Table) -> None:
    given = scope.of(table)
    for properties in (given.source.properties, given.kafka.properties):
        values, places = properties.values, properties.places
        names = (("BaseName", values.BaseName), ("Schema", values.Schema), ("Partitions", values.Partitions))
        for parameter, text in names:
            if empty := _with_empty_part(text or ""):
                wrong = f"table {table.name}: {empty!r} has an empty part: write each name before and after its points"
                _add(scope, ("actions", places[parameter], parameter), wrong)
        schema, _, name = (values.BaseName or "").rpartition(".")
        if schema and name:
            text = f"table {table.name}: a BaseName is without its schema: write Schema: {schema}, BaseName: {name}"
            _add(scope, ("actions", places["BaseName"], "BaseName"), text)


def _with_empty_part(text: str) -> str:
    """Return the first name, of those with | between, that has nothing before or after one of its points."""
    return next((name for name in text.split("|") if "" in name.strip().split(".")), "") if text else ""


def _check_schemas(scope: ChannelScope, one: Table, other: Table) -> None:
    group = scope.channel.locations[scope.cap_loc].group
    both = f"tables {one.name} ({one.full_name}) and {other.name} ({other.full_name}) have one name in the database"
    bare = [table for table in (one, other) if not table.schema]
    for table in bare:
        action = f"{{action: TableProperties, table: {table.name}, group: {group}, Schema: …}}"
        text = f"{both}, and {table.name} has no schema: a record could be of either; write its schema in its "
        _add(scope, ("tables",), f"{text}definition, or {action}")
    if not bare and _may_be_one(one.schema or "", other.schema or ""):
        text = f"{both}: a record could be of either; give one of them another BaseName or Schema at {group}"
        _add(scope, ("tables",), f"{text}, or leave it out (only)")


def _may_be_one(schema: str, other: str) -> bool:
    """Return whether a record may be of both schemas; one may be given with its database: `east.dbo`."""
    return schema == other or schema.endswith(f".{other}") or other.endswith(f".{schema}")


def _check_channel_names(scope: ChannelScope, tables: Iterable[Table], defined: dict[str, str]) -> None:
    """Check that no name in the database is the channel's name of another table; defined: names in their files."""
    by_name = {table.name: table for table in tables}
    for table in by_name.values():
        other = by_name.get(table.base_name, table)
        if other.base_name != table.base_name:
            text = f"{table.base_name!r} is the name of table {table.name} in the database, and the channel's name of"
            remedy = (
                f"name one of them otherwise in the channel: tables: [{{file: …, names: {{{defined[other.name]}: …}}}}]"
            )
            _add(scope, ("tables",), f"{text} another table, {other.full_name}: a record could be of either; {remedy}")


def _add(scope: ChannelScope, path: Path_, text: str) -> None:
    scope.problems.add(path, text)
