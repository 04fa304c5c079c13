"""Types that a file defines (domains, enumerations, rows) -> the types that columns of them have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from sqlglot import exp

from integrator import schema
from integrator.schema import Type
from integrator.tables.sql.cursor import Cursor, Name, parts_of
from integrator.tables.sql.items import ColumnItem, Item, column_of, items_of
from integrator.tables.sql.lexical import NotUnderstood
from integrator.tables.sql.scanner import Statement
from integrator.tables.sql.script import Folding, tokens_of
from integrator.tables.sql.sql_types import type_of

_TEXTS: dict[str, Type] = {
    "AS ENUM": schema.String(None, "enum"),
    "AS RANGE": schema.String(),
}
"""Kinds of types whose values are text, as the database prints them."""

_T = TypeVar("_T")


@dataclass
class NamedTypes:
    """The types that were defined so far. refused: others, which columns cannot have, with their lines."""

    sql_dialect: str
    folding: Folding
    domains: dict[Name, ColumnItem] = field(default_factory=dict)
    texts: dict[Name, Type] = field(default_factory=dict)
    rows: dict[Name, list[Item]] = field(default_factory=dict)
    refused: dict[Name, int] = field(default_factory=dict)

    def define(self, cursor: Cursor, script: str) -> None:
        """Read CREATE TYPE from the name on."""
        line, name = cursor.line, cursor.name()
        if cursor.take("FROM"):  # SQL Server's domains
            self.domains[name] = column_of(cursor, script, self.sql_dialect, self.folding)
            return
        if kind := cursor.take_any(*_TEXTS):
            self.texts[name] = _TEXTS[kind]
        elif cursor.take("AS") and cursor.word() == "(":
            self.rows[name] = list(items_of(parts_of(cursor.group()), script, self.sql_dialect, self.folding))
            self.texts[name] = schema.String()  # as the database prints it: (1,a)
        elif self.sql_dialect == "db2":
            words = [token for token in cursor.rest() if token.text.upper() not in ("WITH", "COMPARISONS")]
            self.domains[name] = column_of(Cursor(words, self.folding), script, self.sql_dialect, self.folding)
        else:
            self.refused[name] = line

    def add(self, name: Name, text: str, line: int, script: str) -> None:
        """Add a domain, whose type is given as text."""
        cursor = Cursor(tokens_of(Statement(text, 0, line), self.sql_dialect), self.folding)
        self.domains[name] = column_of(cursor, script, self.sql_dialect, self.folding)

    def define_domain(self, cursor: Cursor, script: str) -> None:
        """Read CREATE DOMAIN from the name on."""
        name = cursor.name()
        cursor.take("AS")
        self.domains[name] = column_of(cursor, script, self.sql_dialect, self.folding)

    def fields_of(self, name: Name, line: int) -> list[Item]:
        """Return the fields of a type of rows, of which a table is made. Raises NotUnderstood if there is none."""
        found = _found(self.rows, name)
        if found is None:
            raise NotUnderstood(f"the file does not define the type {name} above this line", line)
        return found

    def type_of(self, kind: exp.DataType) -> Type:
        """Return the type of a column. Raises KeyError, with the reason."""
        return type_of(kind, self.sql_dialect, self._named)

    def is_not_null(self, kind: exp.DataType) -> bool:
        """Return whether columns of a type are NOT NULL because its domain is."""
        domain = _found(self.domains, self._name_of(kind))
        return domain is not None and (
            domain.nullable is False or (domain.kind is not None and self.is_not_null(domain.kind))
        )

    def _named(self, kind: exp.DataType) -> Type | None:
        name = self._name_of(kind)
        domain, line = _found(self.domains, name), _found(self.refused, name)
        if domain is not None and domain.kind is not None:
            return self.type_of(domain.kind)
        if line is not None:
            raise KeyError(
                f"the type {name} (line {line}) is no domain, enumeration or row; declare the column as text"
            )
        return _found(self.texts, name)

    def _name_of(self, kind: exp.DataType) -> Name | None:
        written = kind.args.get("kind")
        if isinstance(written, str):
            place, _, name = written.rpartition(".")
            return Name(self.folding.table(place) or None, self.folding.table(name))
        if not isinstance(written, exp.Identifier | exp.Dot):
            return None
        parts = list(written.flatten()) if isinstance(written, exp.Dot) else [written]
        names = [one.name if one.args.get("quoted") else self.folding.table(one.name) for one in parts]
        return Name(names[-2] if len(names) > 1 else None, names[-1])


def _found(known: Mapping[Name, _T], name: Name | None) -> _T | None:
    """Return what has that name; where a name has no schema, the only one of that name."""
    if name is None or name in known:
        return None if name is None else known[name]
    same = [key for key in known if key.name == name.name and None in (key.schema, name.schema)]
    return known[same[0]] if len(same) == 1 else None
