"""Where whole tables come from, for the command `refresh`: a line in `TABLE_SOURCES` for each class of location.

How their rows are read with Spark is in `refresh`.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from integrator.channel.paths import as_known
from integrator.channel.problems import Report, named
from integrator.channel.secret import passwords_of
from integrator.channel.sources import JdbcLocation, SnapshotLocation
from integrator.names import listed, nearest
from integrator.schema import Table
from integrator.sources.contract import Problems
from integrator.sources.files.listing import RIGHT
from integrator.sources.files.source import IN_NAMES, REMOTE
from integrator.sources.jdbc_url import wrong_url

NAMES_IN_PATHS = ("hvr_tbl_name", "hvr_tbl_base_name", "hvr_schema")
"""What may stand in the path of a snapshot's files, in braces."""


@dataclass(frozen=True)
class Snapshot:
    """Files that hold whole tables."""

    location: SnapshotLocation
    example = '{class: snapshot, path: "full/{hvr_tbl_name}.csv", format: csv}'
    database = "spark"
    """Whose SQL conditions are in."""

    def describe(self) -> str:
        """Return the path and the format."""
        return f"{as_known(self.location.path)} ({self.location.format})"

    def check(self, tables: Sequence[Table], report: Report) -> None:
        """Report of a path with a password, with a misspelled name, or that is the same for all tables."""
        path = self.location.path
        if any(passwords_of(path)):
            report("path", IN_NAMES)
        names = re.findall(r"\{(\w+)\}", path)
        for name in names:
            if name not in NAMES_IN_PATHS:
                near = nearest(name, NAMES_IN_PATHS)
                known = f"do you mean {{{near}}}?" if near else listed(f"{{{one}}}" for one in NAMES_IN_PATHS)
                report("path", f"{{{name}}} is no name of a table; {known}")
        if len(tables) > 1 and not names:
            report("path", f"is the same for all {len(tables)} tables; write {{hvr_tbl_name}} in it")

    def inspect(self, tables: Sequence[tuple[str, Table]]) -> Problems:
        """Yield which tables have no file on this machine. tables: with their names at the target."""
        if REMOTE in self.location.path:
            return
        paths = {name: self.path_of(table) for name, table in tables}
        try:
            without = [name for name, path in paths.items() if not _is_there(path)]
        except PermissionError as error:
            yield "path", f"{as_known(error.filename)}: cannot be listed: {error.strerror}; {RIGHT}"
            return
        if without:
            text = f"there is no file {as_known(paths[without[0]])}; make it, or mend the path"
            yield "path", f"{named(without, len(paths))}: {text}"

    def path_of(self, table: Table) -> str:
        """Return the path of the files of a table."""
        names = dict(zip(NAMES_IN_PATHS, (table.name, table.base_name, table.schema or ""), strict=True))
        path = self.location.path
        for name, value in names.items():
            path = path.replace(f"{{{name}}}", value)
        return path


@dataclass(frozen=True)
class Database:
    """A database that Spark's JDBC reader reads."""

    location: JdbcLocation
    example = "{class: jdbc, url: 'jdbc:postgresql://HOST/DATABASE'}"

    @property
    def database(self) -> str:
        """Whose SQL conditions are in: the database that the URL names."""
        return self.location.url.split(":")[1]

    def describe(self) -> str:
        """Return the URL without its options (I7)."""
        return self.location.url.partition("?")[0]

    def check(self, tables: Sequence[Table], report: Report) -> None:  # noqa: ARG002 - as Snapshot's
        """Report of a URL that cannot be."""
        if wrong := wrong_url(self.location.url):
            report("url", wrong)

    def inspect(self, tables: Sequence[tuple[str, Table]]) -> Problems:  # noqa: ARG002 - as Snapshot's
        """Yield nothing: a database is not of this machine."""
        yield from ()


def _is_there(path: str) -> bool:
    """Return whether there is a file, a directory with something in it, or a match of a pattern."""
    bare = path.removeprefix("file:")
    found = map(Path, glob.iglob(bare))  # noqa: PTH207 - a pattern may be absolute
    return any(not one.is_dir() or any(one.iterdir()) for one in found)


TableSource: TypeAlias = Snapshot | Database
TABLE_SOURCES: dict[str, Callable[[Any], TableSource]] = {"snapshot": Snapshot, "jdbc": Database}
