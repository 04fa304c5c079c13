"""CREATE TABLE statements -> tables, parsed by sqlglot in the SQL of any database it knows."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from integrator import schema
from integrator.errors import Problem
from integrator.schema import Column, Table, Type

Kind = exp.DType
logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it warns of statements that are passed over here
Sizes = list[int]

FLOAT_IS_DOUBLE = ("tsql", "oracle")
"""Databases whose `float` is wider than 32 bits, unlike what sqlglot takes it for; their `real` fits as well."""

# Types by hvr-semantics 6.2; `sizes` are the numbers in brackets behind the type's name.
TYPES: dict[exp.DType, Callable[[Sizes], Type]] = {
    Kind.BOOLEAN: lambda _: schema.Boolean(),
    Kind.BIT: lambda sizes: schema.String(sizes[0]) if sizes and sizes[0] > 1 else schema.Boolean(),
    **dict.fromkeys((Kind.TINYINT, Kind.UTINYINT, Kind.SMALLINT, Kind.YEAR), lambda _: schema.Integer(16)),
    **dict.fromkeys((Kind.USMALLINT, Kind.MEDIUMINT, Kind.INT), lambda _: schema.Integer(32)),
    **dict.fromkeys((Kind.UINT, Kind.UMEDIUMINT, Kind.BIGINT), lambda _: schema.Integer(64)),
    Kind.UBIGINT: lambda _: schema.Decimal(20, 0),
    Kind.FLOAT: lambda _: schema.Float(32),
    Kind.DOUBLE: lambda _: schema.Float(64),
    Kind.DECIMAL: lambda sizes: schema.decimal(*_two(sizes)),
    Kind.MONEY: lambda _: schema.Decimal(19, 4),
    Kind.SMALLMONEY: lambda _: schema.Decimal(10, 4),
    **dict.fromkeys(
        (Kind.CHAR, Kind.NCHAR, Kind.VARCHAR, Kind.NVARCHAR, Kind.BPCHAR),
        lambda sizes: schema.String(sizes[0] if sizes else None),
    ),
    **dict.fromkeys(
        (Kind.TEXT, Kind.TINYTEXT, Kind.MEDIUMTEXT, Kind.LONGTEXT, Kind.JSON, Kind.JSONB, Kind.XML, Kind.VARIANT),
        lambda _: schema.String(),
    ),
    Kind.UUID: lambda _: schema.String(36),
    **dict.fromkeys((Kind.INET, Kind.INTERVAL, Kind.TIMETZ), lambda _: schema.String(50)),
    **dict.fromkeys(
        (Kind.BINARY, Kind.VARBINARY, Kind.BLOB, Kind.TINYBLOB, Kind.MEDIUMBLOB, Kind.LONGBLOB, Kind.IMAGE),
        lambda _: schema.Bytes(),
    ),
    **dict.fromkeys((Kind.DATE, Kind.DATE32), lambda _: schema.Date()),
    Kind.TIME: lambda sizes: schema.datatype("time", None, *sizes[:1]),
    **dict.fromkeys(
        (Kind.TIMESTAMP, Kind.TIMESTAMPNTZ, Kind.DATETIME, Kind.DATETIME2),
        lambda sizes: schema.datatype("timestamp", None, *sizes[:1]),
    ),
    **dict.fromkeys(
        (Kind.TIMESTAMPTZ, Kind.TIMESTAMPLTZ),
        lambda sizes: schema.datatype("timestamptz", None, *sizes[:1]),
    ),
    Kind.SERIAL: lambda _: schema.Integer(32),
    Kind.SMALLSERIAL: lambda _: schema.Integer(16),
    Kind.BIGSERIAL: lambda _: schema.Integer(64),
}


def read(path: str, text: str, sql_dialect: str) -> tuple[list[Table], list[Problem]]:
    """Read every CREATE TABLE of `text`; other statements are passed over.

    `path` names the file in problems; `sql_dialect` is a name sqlglot knows (postgres, mysql, oracle, tsql, …).
    """
    if sql_dialect not in sqlglot.Dialects.__members__.values():
        known = ", ".join(sorted(str(member.value) for member in sqlglot.Dialects if member.value))
        return [], [Problem(path, 0, "", f"{sql_dialect!r} is no SQL that is known; accepted are {known}")]
    try:
        statements = sqlglot.parse(text, read=sql_dialect, error_level=sqlglot.ErrorLevel.RAISE)
    except ParseError as error:
        found = error.errors[0] if error.errors else {}
        near = f" near {found['highlight']!r}" if found.get("highlight") else ""
        said = f"bad SQL: {found.get('description') or error}{near}; expected CREATE TABLE statements"
        return [], [Problem(path, int(found.get("line") or 0), "", said)]
    except SqlglotError as error:
        return [], [Problem(path, 0, "", f"bad SQL: {error}; expected CREATE TABLE statements")]
    tables: list[Table] = []
    problems: list[Problem] = []
    for statement in statements:
        if isinstance(statement, exp.Create) and statement.kind == "TABLE" and isinstance(statement.this, exp.Schema):
            _table(path, statement.this, tables, problems, sql_dialect)
    if not tables and not problems:
        problems.append(Problem(path, 0, "", "holds no CREATE TABLE statement with columns"))
    return tables, problems


def _table(path: str, body: exp.Schema, tables: list[Table], problems: list[Problem], sql_dialect: str) -> None:
    base_name = body.this.name
    columns: list[Column] = []
    key: list[str] = []
    unique: list[str] = []
    for item in body.expressions:
        if isinstance(item, exp.ColumnDef):
            constraints = [constraint.kind for constraint in item.constraints]
            try:
                kind = _type(item.args.get("kind"))
                if kind == schema.Float(32) and sql_dialect in FLOAT_IS_DOUBLE:
                    kind = schema.Float(64)
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


def _two(sizes: Sizes) -> tuple[int | None, int | None]:
    return (sizes[0] if sizes else None), (sizes[1] if len(sizes) > 1 else None)


def _type(kind: exp.DataType | None) -> Type:
    if kind is None:
        raise KeyError("has no type")
    if kind.this in (Kind.ARRAY, Kind.LIST):
        return schema.Array(_type(kind.expressions[0]))
    sizes = [int(part.this.this) for part in kind.expressions if isinstance(part, exp.DataTypeParam)]
    if kind.this == Kind.USERDEFINED or kind.this not in TYPES:
        raise KeyError(f"the type {kind.sql()} is not known; declare it as text, or as one of the standard types")
    return TYPES[kind.this](sizes)
