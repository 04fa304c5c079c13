"""The channel's table definitions, read, under the names that the channel gives them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from integrator import tables as definitions
from integrator.channel import paths
from integrator.channel.load import Source
from integrator.channel.model import Channel, TableFile
from integrator.channel.problems import Problems
from integrator.plan.identity import full_name
from integrator.schema import Table

_DEFAULT_SCHEMAS = ("public", "dbo")


def read_tables(channel: Channel, problems: Problems) -> tuple[list[Table], list[str]]:
    """Read the channel's table definitions, and what is to be noted; what is wrong is added to `problems`."""
    tables: dict[str, tuple[Table, str]] = {}
    notes: list[str] = []
    for index, entry in enumerate(channel.tables):
        given = TableFile(file=entry) if isinstance(entry, str) else entry
        item = given.model_copy(update={"file": paths.as_known(given.file)})
        definition = definitions.read(item.file, item.sql_dialect)
        problems.extend(definition.problems)
        if definition.skipped:
            counted = ", ".join(f"{count} {kind}" for kind, count in sorted(definition.skipped.items()))
            notes.append(f"{item.file}: statements that say nothing of tables were skipped: {counted}")
        chosen = list(_chosen(definition.tables, item, index, problems))
        for table in chosen:
            if table.name in tables:
                other, file = tables[table.name]
                problems.add(("tables", index), _twice(other, file, table, item.file, problems.source))
            tables[table.name] = (table, item.file)
    return [table for table, _ in tables.values()], notes


def _chosen(found: list[Table], item: TableFile, index: int, problems: Problems) -> Iterator[Table]:
    """Yield the tables that are wanted, by their names in the channel."""
    known = {name for table in found for name in (full_name(table), table.base_name)}
    for name in sorted(set(item.names) - known):
        text = f"{item.file} defines no table {name!r}; it defines {', '.join(sorted(map(full_name, found)))}"
        problems.add(("tables", index, "names"), text)
    named = [(table, item.names.get(full_name(table)) or item.names.get(table.base_name)) for table in found]
    renamed = [replace(table, name=name or table.name) for table, name in named]
    wanted = set(item.only or ())
    for name in item.only or []:
        if not any(name in (one.name, full_name(one)) for one in renamed):
            problems.add(("tables", index, "only"), f"{item.file} defines no table {name!r}")
    yield from (one for one in renamed if item.only is None or {one.name, full_name(one)} & wanted)


def _twice(one: Table, file: str, other: Table, other_file: str, source: Source) -> str:
    """Return what is wrong with two tables of one name in the channel, and what to write."""
    text = f"table {one.name!r} is defined twice, in {file} and {other_file}"
    if full_name(one) == full_name(other):
        return f"{text}; keep one of them (only)"
    by_case = one.base_name != other.base_name
    keeps = one.base_name == one.name if by_case else other.schema not in (None, *_DEFAULT_SCHEMAS)
    renamed = other if keeps else one
    name = "_".join(filter(None, (renamed.schema, renamed.name if renamed.schema else f"{renamed.name}_2")))
    renamed_to = "".join(letter if letter.isalnum() else "_" for letter in name.lower())
    named = str(Path(other_file if renamed is other else file).absolute()).removeprefix(f"{source.directory}/")
    entry = f"{{file: {named}, names: {{{full_name(renamed)}: {renamed_to}}}}}"
    return f"{text}, as {full_name(one)} and {full_name(other)}; name one otherwise in the channel: tables: [{entry}]"
