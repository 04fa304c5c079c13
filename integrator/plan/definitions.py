"""The channel's table definitions, read, under the names that the channel gives them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from integrator import tables as definitions
from integrator.channel import paths
from integrator.channel.model import Channel, TableFile
from integrator.channel.problems import Problems
from integrator.channel.reader import Source
from integrator.errors import Problem
from integrator.names import meant
from integrator.schema import Table
from integrator.tables.contract import Definition

_DEFAULT_SCHEMAS = ("public", "dbo")


@dataclass(frozen=True)
class Definitions:
    """The channel's tables, and what is to be noted.

    files: in which entry of the channel's tables each is defined. complete: all could be read, so that there are no
    others.
    """

    tables: list[Table]
    notes: list[str]
    files: dict[str, int]
    complete: bool


def read_tables(channel: Channel, problems: Problems) -> Definitions:
    """Read the channel's table definitions; what is wrong is added to `problems`."""
    tables: dict[str, tuple[Table, str]] = {}
    files: dict[str, int] = {}
    notes: list[str] = []
    before = len(problems)
    for index, entry in enumerate(channel.tables):
        if problems.removed.is_consequence(("tables", index)):  # another entry is in its place
            continue
        given = TableFile(file=entry) if isinstance(entry, str) else entry
        item = given.model_copy(update={"file": paths.as_known(given.file)})
        if not _is_readable(item, entry, index, problems):
            continue
        definition = definitions.read(item.file, item.sql_dialect, item.partitions, declared=_names_sql(entry))
        problems.extend(definition.problems)
        notes += _skipped(item.file, definition)
        for table in _chosen(_whole(definition, item), item, index, problems):
            if table.name in tables:
                other, file = tables[table.name]
                problems.add(("tables", index), _twice(other, file, table, item.file, problems.source))
            tables[table.name] = (table, item.file)
            files.setdefault(table.name, index)
    complete = len(problems) == before and not problems.removed.lacks(("tables",))
    return Definitions([table for table, _ in tables.values()], notes, files, complete)


def _is_readable(item: TableFile, entry: str | TableFile, index: int, problems: Problems) -> bool:
    """Return whether there is a file, in a dialect that is known; else that is a problem where the channel names it."""
    if why := paths.no_file(item.file):
        place = ("tables", index) if isinstance(entry, str) else ("tables", index, "file")
        named = entry if isinstance(entry, str) else entry.file
        problems.add(place, _absent(named, why, problems.source))
        return False
    refusal = definitions.refusal_of(item.sql_dialect)
    if refusal:
        problems.add(("tables", index, "sql_dialect"), refusal)
    return not refusal


def _skipped(file: str, definition: Definition) -> list[str]:
    """Return what is noted of statements that define no table."""
    counted = ", ".join(f"{count} {kind}" for kind, count in sorted(definition.skipped.items()))
    return [f"{file}: statements that say nothing of tables were skipped: {counted}"] if counted else []


def _whole(definition: Definition, item: TableFile) -> list[Table]:
    """Return the tables that could be read, with the database that they are of, where that is known."""
    database = item.sql_dialect if definitions.is_sql(item.file) or "sql_dialect" in item.model_fields_set else ""
    whole = (table for table in definition.tables if not _is_partial(table, definition.problems))
    return [replace(table, database=database) for table in whole]


def _names_sql(entry: str | TableFile) -> bool:
    """Return whether the channel names whose SQL a file is in."""
    return isinstance(entry, TableFile) and "sql_dialect" in entry.model_fields_set


def _is_partial(table: Table, found: Iterable[Problem]) -> bool:
    """Return whether something of a table could not be read; what is wrong with the rest of it may come from that."""
    names = tuple(f"{name}." for name in (table.name, table.base_name, table.full_name))
    return any(problem.path.startswith(names) for problem in found)


def _absent(file: str, why: str, source: Source) -> str:
    """Return why a file cannot be read; where it is not there, which the channel may name in its place."""
    if why != paths.ABSENT:
        return f"{why} {paths.as_known(file)}; give the integrator's user the right to read it"
    above, channel = Path(file).parent, Path(source.directory) / Path(source.file).name
    beside = paths.names_in(above)
    there = [str(one) for one in map(above.joinpath, beside) if one.suffix in definitions.NOTATIONS and one != channel]
    asked, *known = [paths.as_written(one, source.directory) for one in (file, *there)]
    return f"{why} {paths.as_known(file)}; {meant(asked, known, 'beside it are')}"


def _chosen(found: list[Table], item: TableFile, index: int, problems: Problems) -> Iterator[Table]:
    """Yield the tables that are wanted, by their names in the channel."""
    known = {name for table in found for name in (table.full_name, table.base_name)}
    for name in sorted(set(item.names) - known):
        defined = meant(name, sorted(table.full_name for table in found), "it defines")
        problems.add(("tables", index, "names"), f"{item.file} defines no table {name!r}; {defined}")
    named = [(table, item.names.get(table.full_name) or item.names.get(table.base_name)) for table in found]
    renamed = [replace(table, name=name or table.name) for table, name in named]
    wanted = set(item.only or ())
    for name in item.only or []:
        if not any(name in (one.name, one.full_name) for one in renamed):
            defined = meant(name, sorted(one.name for one in renamed), "it defines")
            problems.add(("tables", index, "only"), f"{item.file} defines no table {name!r}; {defined}")
    yield from (one for one in renamed if item.only is None or {one.name, one.full_name} & wanted)


def _twice(one: Table, file: str, other: Table, other_file: str, source: Source) -> str:
    """Return what is wrong with two tables of one name in the channel, and what to write."""
    text = f"table {one.name!r} is defined twice, in {file} and {other_file}"
    if one.full_name == other.full_name:
        return f"{text}; keep one of them (only)"
    by_case = one.base_name != other.base_name
    keeps = one.base_name == one.name if by_case else other.schema not in (None, *_DEFAULT_SCHEMAS)
    renamed = other if keeps else one
    name = "_".join(filter(None, (renamed.schema, renamed.name if renamed.schema else f"{renamed.name}_2")))
    renamed_to = "".join(letter if letter.isalnum() else "_" for letter in name.lower())
    named = paths.as_written(str(Path(other_file if renamed is other else file).absolute()), source.directory)
    entry = f"{{file: {named}, names: {{{renamed.full_name}: {renamed_to}}}}}"
    return f"{text}, as {one.full_name} and {other.full_name}; name one otherwise in the channel: tables: [{entry}]"
