"""What must hold over all records of a stream, whichever file, task or cycle they are in.

Positions are unique and ascend (I3), and one table of the channel takes the records of one table of the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from integrator.errors import Fault, Place, PublicDataError, shown

REMEDY = (
    "changes must come in the order of their positions, each once: sort the records, remove repeated ones, or set "
    "repeated_positions: send at the source location, if the source repeats changes after a restart"
)


class Source(NamedTuple):
    """The schema, the name and the database of a table in the source; None what records do not give."""

    schema: str | None
    name: str
    database: str | None = None

    def __str__(self) -> str:
        return shown(".".join(filter(None, (self.database, self.schema, self.name))))

    @property
    def full_name(self) -> str:
        """The name with its schema, where there is one."""
        return f"{self.schema}.{self.name}" if self.schema else self.name

    @property
    def full_schema(self) -> str | None:
        """The schema with its database, as the definition of a table may give it."""
        return f"{self.database}.{self.schema}" if self.database and self.schema else self.schema


class PositionRange(NamedTuple):
    """The dialect of a file, and the positions of its first and its last change; empty where they are not checked."""

    dialect: str = ""
    first: str = ""
    last: str = ""


def check_ascends(before: PositionRange, span: PositionRange, file: str) -> PositionRange:
    """Return the span that the next file of a stream must follow. Raises DataError where `span` does not follow.

    Positions of several dialects cannot be compared.
    """
    if not span.last:
        return before
    if before.dialect == span.dialect and span.first <= before.last:
        raise PublicDataError(
            Fault(
                Place(file),
                f"its first change is at {span.first}, which is not after {before.last}, the last position of the "
                f"files before it: {REMEDY}",
            )
        )
    return span


def check_one_source(known: Mapping[str, Source], table: str, source: Source, where: Place) -> Source:
    """Return the one source table whose records a table of the channel takes, given the `known` ones.

    Raises DataError where they would be of two. A record without a schema or a database may be of any.
    """
    before = known.get(table, source)
    if before != source:
        raise PublicDataError(
            Fault(
                where,
                f"a change of table {source}, and changes of {before} came before: both would be sent as table "
                f"{table}; {_remedy(before, source)}, or exclude one at the source",
            )
        )
    return before


def _remedy(before: Source, source: Source) -> str:
    if (before.schema, before.name) != (source.schema, source.name):
        schema = source.schema or before.schema or "schema"
        return f'define each with its schema and exact name (create table {schema}."{source.name}" …)'
    if not (before.database and source.database):
        return "the source must write the database into all of its records, or into none"
    return (
        "define each, and give it the schema with the database: {action: TableProperties, group: SOURCE, table: …, "
        f"Schema: {source.full_schema}}}"
    )
