"""What must hold over all records of a stream, whichever file, task or cycle they are in.

Positions are unique and ascend (I3), and one table of the channel takes the records of one table of the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from integrator.errors import PublicDataError, shown

REMEDY = (
    "changes must come in the order of their positions, each once: sort the records, remove repeated ones, or set "
    "repeated_positions: send at the source location, if the source repeats changes after a restart"
)


class Source(NamedTuple):
    """The schema (None where it is not given) and the name of a table in the source."""

    schema: str | None
    name: str

    def __str__(self) -> str:
        return shown(f"{self.schema}.{self.name}" if self.schema else self.name)


class Span(NamedTuple):
    """The dialect of a file, and the positions of its first and its last change; empty where they are not checked."""

    dialect: str = ""
    first: str = ""
    last: str = ""


def following(before: Span, span: Span, file: str) -> Span:
    """Return the span that the next file of a stream must follow. Raises DataError where `span` does not follow.

    Positions of several dialects cannot be compared.
    """
    if not span.last:
        return before
    if before.dialect == span.dialect and span.first <= before.last:
        raise PublicDataError(
            f"{file}: its first change is at {span.first}, which is not after {before.last}, the last position of the "
            f"files before it: {REMEDY}"
        )
    return span


def one_source(known: Mapping[str, Source], table: str, source: Source, where: str) -> Source:
    """Return the one source table whose records a table of the channel takes, given the `known` ones.

    Raises DataError where they would be of two.
    """
    before = known.get(table, source)
    if before.name != source.name or (before.schema and source.schema and before.schema != source.schema):
        raise PublicDataError(
            f"{where}: a change of table {source}, and changes of {before} came before: both would be sent as table "
            f"{table}; define each with its schema and exact name "
            f'(create table {source.schema or "schema"}."{source.name}" …), or exclude one at the source'
        )
    return Source(before.schema or source.schema, before.name)
