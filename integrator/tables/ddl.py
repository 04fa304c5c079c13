"""CREATE TABLE statements -> tables, parsed by sqlglot in the SQL of any database it knows."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from integrator.errors import Problem
from integrator.schema import Column, Table, Type
from integrator.tables.sql_types import REWRITTEN, SQL_OF, type_of

Typed = Callable[[exp.DataType], Type]

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it warns of statements that are passed over here


def read(path: str, text: str, sql_dialect: str) -> tuple[list[Table], list[Problem]]:
    """Read every CREATE TABLE of `text`; other statements are passed over.

    `path` names the file in problems; `sql_dialect` is db2, or a name sqlglot knows (postgres, mysql, oracle, tsql, …).
    """
    if sql_dialect not in SQL_OF and sql_dialect not in sqlglot.Dialects.__members__.values():
        known = ", ".join(sorted({*SQL_OF, *(str(member.value) for member in sqlglot.Dialects if member.value)}))
        return [], [Problem(path, 0, "", f"{sql_dialect!r} is no SQL that is known; accepted are {known}")]
    for pattern, replacement in REWRITTEN.get(sql_dialect, []):
        text = pattern.sub(replacement, text)
    try:
        statements = sqlglot.parse(
            text, read=SQL_OF.get(sql_dialect, sql_dialect), error_level=sqlglot.ErrorLevel.RAISE
        )
    except ParseError as error:
        found = error.errors[0] if error.errors else {}
        near = f" near {found['highlight']!r}" if found.get("highlight") else ""
        said = f"bad SQL: {found.get('description') or error}{near}; expected CREATE TABLE statements"
        return [], [Problem(path, int(found.get("line") or 0), "", said)]
    except SqlglotError as error:
        return [], [Problem(path, 0, "", f"bad SQL: {error}; expected CREATE TABLE statements")]
    tables: list[Table] = []
    problems: list[Problem] = []
    enums = frozenset(
        statement.this.name.lower()
        for statement in statements
        if isinstance(statement, exp.Create) and statement.kind == "TYPE"
    )
    for statement in statements:
        if isinstance(statement, exp.Create) and statement.kind == "TABLE" and isinstance(statement.this, exp.Schema):
            _table(path, statement.this, tables, problems, lambda kind: type_of(kind, sql_dialect, enums))
    if not tables and not problems:
        problems.append(Problem(path, 0, "", "holds no CREATE TABLE statement with columns"))
    return tables, problems


def _table(path: str, body: exp.Schema, tables: list[Table], problems: list[Problem], typed: Typed) -> None:
    base_name = body.this.name
    columns: list[Column] = []
    key: list[str] = []
    unique: list[str] = []
    for item in body.expressions:
        if isinstance(item, exp.ColumnDef):
            constraints = [constraint.kind for constraint in item.constraints]
            try:
                kind = typed(item.args.get("kind") or exp.DataType.build("unknown"))
            except KeyError as error:
                line = item.this.meta.get("line", 0)
                problems.append(Problem(path, line, f"{base_name}.{item.name}", str(error.args[0])))
                continue
            if any(isinstance(constraint, exp.PrimaryKeyColumnConstraint) for constraint in constraints):
                key.append(item.name)
            if any(isinstance(constraint, exp.UniqueColumnConstraint) for constraint in constraints):
                unique = unique or [item.name]
            columns.append(Column(item.name, kind, nullable=not _not_null(constraints)))
        else:
            primary = item.find(exp.PrimaryKey)
            if primary is not None:
                key = [part.name for part in primary.expressions]
    key = key or _not_null_unique(unique, columns)
    columns = [Column(c.name, c.type, c.nullable and c.name not in key) for c in columns]
    tables.append(Table(base_name.lower(), base_name, body.this.db or None, tuple(columns), tuple(key)))


def _not_null(constraints: Sequence[exp.Expr]) -> bool:
    return any(
        isinstance(constraint, exp.NotNullColumnConstraint) and not constraint.args.get("allow_null")
        for constraint in constraints
    )


def _not_null_unique(unique: list[str], columns: list[Column]) -> list[str]:
    """Return the unique column that can stand in for a primary key: HVR takes a unique index where there is none."""
    return [column.name for column in columns if column.name in unique and not column.nullable]
