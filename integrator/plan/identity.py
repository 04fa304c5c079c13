"""Which table of the database each table of the channel is: its schema and its exact name. Two are never one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations

from integrator.channel.actions import TableProperties
from integrator.channel.load import Path_
from integrator.plan.scene import PLACES, Scene, merged_of
from integrator.schema import Table


def in_database(scene: Scene, table: Table) -> Table:
    """Return a table with the schema and the name that records of it have: TableProperties at the source say them."""
    properties, _ = merged_of(scene, table, TableProperties, "source")
    schema = properties.get("Schema") or table.schema
    return replace(table, schema=schema, base_name=properties.get("BaseName") or table.base_name)


def check_names(scene: Scene, tables: Sequence[Table]) -> None:
    """Add a problem for each two tables that a record could be of, and for names with a schema in them."""
    for table in tables:
        _check_base_name(scene, table)
    found = [in_database(scene, table) for table in tables]
    by_base_name: dict[str, list[Table]] = {}
    for table in found:
        by_base_name.setdefault(table.base_name, []).append(table)
    for alike in by_base_name.values():
        for one, other in combinations(alike, 2):
            _check_schemas(scene, one, other)
    _check_channel_names(scene, found, {table.name: full_name(table) for table in tables})


def _check_base_name(scene: Scene, table: Table) -> None:
    for at in PLACES:
        properties, places = merged_of(scene, table, TableProperties, at)
        schema, dot, name = (properties.get("BaseName") or "").rpartition(".")
        if dot:
            text = f"table {table.name}: a BaseName is without its schema: write Schema: {schema}, BaseName: {name}"
            _add(scene, ("actions", places["BaseName"], "BaseName"), text)


def _check_schemas(scene: Scene, one: Table, other: Table) -> None:
    group = scene.channel.locations[scene.cap_loc].group
    both = f"tables {one.name} ({full_name(one)}) and {other.name} ({full_name(other)}) have one name in the database"
    bare = [table for table in (one, other) if not table.schema]
    for table in bare:
        action = f"{{action: TableProperties, table: {table.name}, group: {group}, Schema: …}}"
        text = f"{both}, and {table.name} has no schema: a record could be of either; write its schema in its "
        _add(scene, ("tables",), f"{text}definition, or {action}")
    if not bare and one.schema == other.schema:
        text = f"{both}: a record could be of either; give one of them another BaseName or Schema at {group}"
        _add(scene, ("tables",), f"{text}, or leave it out (only)")


def _check_channel_names(scene: Scene, tables: Iterable[Table], defined: dict[str, str]) -> None:
    """Check that no name in the database is the channel's name of another table; defined: names in their files."""
    by_name = {table.name: table for table in tables}
    for table in by_name.values():
        other = by_name.get(table.base_name, table)
        if other.base_name != table.base_name:
            text = f"{table.base_name!r} is the name of table {table.name} in the database, and the channel's name of"
            remedy = (
                f"name one of them otherwise in the channel: tables: [{{file: …, names: {{{defined[other.name]}: …}}}}]"
            )
            _add(scene, ("tables",), f"{text} another table, {full_name(other)}: a record could be of either; {remedy}")


def full_name(table: Table) -> str:
    """Return the name of a table in the database, with its schema where it has one."""
    return f"{table.schema}.{table.base_name}" if table.schema else table.base_name


def _add(scene: Scene, path: Path_, text: str) -> None:
    problem = scene.source.problem(path, text)
    if problem not in scene.problems:
        scene.problems.append(problem)
