"""What is in the brackets of CREATE TABLE, and after ADD: columns and constraints, as sqlglot reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from integrator.tables.sql import constants
from integrator.tables.sql.bare import bare
from integrator.tables.sql.cursor import Cursor, parts_of
from integrator.tables.sql.lexical import STANDARD, NotUnderstood
from integrator.tables.sql.script import Folding, Tokens, all_words_of, words_of
from integrator.tables.sql.spelling import spelled

MYSQL_ALONE = {exp.DType.UINT, exp.DType.UBIGINT, exp.DType.USMALLINT, exp.DType.UTINYINT, exp.DType.UMEDIUMINT}
_OF_MYSQL = "PostgreSQL does not have this; name the file's SQL: tables: [{file: …, sql_dialect: mysql}]"


@dataclass(frozen=True)
class ColumnItem:
    """A column. kind: its type in SQL, None where it is not given. primary, unique: whether it alone is such a key.

    any_case: whether its name is in capitals in the database, and here as it is written. default: the text of one that
    is a constant.
    """

    name: str
    kind: exp.DataType | None
    nullable: bool | None
    line: int
    primary: bool = False
    unique: bool = False
    key_name: str | None = None
    any_case: bool = False
    default: str | None = None


@dataclass(frozen=True)
class KeyItem:
    """A primary key, or a unique constraint or index. usable: it identifies a row."""

    columns: tuple[str, ...]
    line: int
    primary: bool
    name: str | None = None
    usable: bool = True


@dataclass(frozen=True)
class NotNullItem:
    """The constraint that a column is not null."""

    column: str
    line: int


@dataclass(frozen=True)
class ComputedItem:
    """A column that the database computes and no change has."""

    column: str


Item = ColumnItem | KeyItem | NotNullItem | ComputedItem
_OTHER = ("CHECK (", "FOREIGN KEY", "EXCLUDE USING", "EXCLUDE (", "PERIOD FOR", "SUPPLEMENTAL LOG")
"""Constraints that say nothing of columns and keys."""
_OTHER_OF = {"mysql": ("KEY", "INDEX", "FULLTEXT", "SPATIAL"), "tsql": ("INDEX", "DEFAULT")}
"""Those of a database where the words cannot be names of columns."""


def is_other(cursor: Cursor, sql_dialect: str) -> bool:
    """Take and return whether a constraint is next that says nothing of columns and keys."""
    return cursor.take_any(*_OTHER, *_OTHER_OF.get(sql_dialect, ())) is not None


def items_of(parts: Sequence[Tokens], script: str, sql_dialect: str, folding: Folding) -> Iterator[Item]:
    """Yield the columns and constraints that the parts are. Raises NotUnderstood."""
    wanted: list[Tokens] = []
    for part in parts:
        cursor = Cursor(part, folding)
        line = cursor.line
        name = cursor.column() if cursor.take("CONSTRAINT") else None
        if is_other(cursor, sql_dialect):
            continue
        kind = cursor.take_any("PRIMARY KEY", "UNIQUE", "NOT NULL")
        if kind == "NOT NULL":
            yield NotNullItem(cursor.column(), line)
        elif kind is not None:
            yield _key(cursor, name, line, primary=kind == "PRIMARY KEY")
        elif name is not None:
            raise cursor.refuse("PRIMARY KEY, UNIQUE, NOT NULL, FOREIGN KEY, CHECK or EXCLUDE")
        elif sql_dialect == "tsql" and cursor.word(1) == "AS":
            yield ComputedItem(cursor.column())
        else:
            wanted.append(part)
    for part, item in zip(wanted, _parsed(wanted, script, sql_dialect), strict=True):
        if not isinstance(item, exp.ColumnDef):
            raise NotUnderstood(f"bad SQL: {words_of(part, 8)!r}: expected a column or a constraint", part[0].line)
        yield _column(item, Cursor(part, folding), sql_dialect)


def _key(cursor: Cursor, name: str | None, line: int, *, primary: bool) -> KeyItem:
    """Return a constraint, from after PRIMARY KEY or UNIQUE on."""
    cursor.take_any("KEY", "INDEX")
    while not cursor.done and cursor.word() != "(":
        if not cursor.take_any("CLUSTERED", "NONCLUSTERED", "NULLS NOT DISTINCT", "NULLS DISTINCT", "USING BTREE"):
            name = cursor.column()  # MySQL's name of an index
    columns, usable = key_columns(cursor)
    rest = all_words_of(*cursor.rest())
    deferrable = "DEFERRABLE" in rest and rest[max(rest.index("DEFERRABLE") - 1, 0)] != "NOT"
    return KeyItem(columns, line, primary, name, usable and not deferrable)


def key_columns(cursor: Cursor) -> tuple[tuple[str, ...], bool]:
    """Return the columns that are next in brackets, and whether there are no expressions and parts among them."""
    parts = [Cursor(part, cursor.folding) for part in parts_of(cursor.group())]
    # after a column are words: its order, its collation or an operator class; in an expression there is another sign
    plain = [
        part for part in parts if part.word() not in ("(", "CASE") and (not part.word(1) or part.word(1).isidentifier())
    ]
    return tuple(part.column() for part in plain), len(plain) == len(parts)


def column_of(cursor: Cursor, script: str, sql_dialect: str, folding: Folding) -> ColumnItem:
    """Return a column without a name that has the type and the constraints that are left."""
    line = cursor.line
    tokens = [Token(TokenType.VAR, "value", line=line), *cursor.rest()]
    [made] = items_of([tokens], script, sql_dialect, folding)
    if not isinstance(made, ColumnItem):
        raise NotUnderstood(f"{words_of(tokens[1:])}: expected a type", line)
    return made


def _parsed(parts: Sequence[Tokens], script: str, sql_dialect: str) -> list[exp.Expr]:
    """Return what sqlglot makes of each part; of one that it cannot read, without its expressions."""
    try:
        return _body(parts, script, sql_dialect)
    except NotUnderstood:
        found = []
        for part in parts:
            try:
                found += _body([part], script, sql_dialect)
            except NotUnderstood:
                found += _body([list(bare(part))], script, sql_dialect)
        return found


@lru_cache
def _around(name: str) -> tuple[sqlglot.Dialect, list[Token]]:
    """Return a dialect, and the tokens of a comma and of a table without columns."""
    dialect = sqlglot.Dialect.get_or_raise(name)
    return dialect, dialect.tokenize(", create table t()")


def _body(parts: Sequence[Tokens], script: str, sql_dialect: str) -> list[exp.Expr]:
    dialect, (comma, *around) = _around(STANDARD.get(sql_dialect, sql_dialect))
    line = parts[0][0].line if parts else 0
    inner = [token for part in parts for token in (comma, *spelled(part, sql_dialect))][1:]
    parser = dialect.parser(error_level=sqlglot.ErrorLevel.RAISE)
    try:
        [made] = parser.parse([*around[:-1], *inner, around[-1]], script)
    except SqlglotError as error:
        found = error.errors[0] if isinstance(error, ParseError) and error.errors else {}
        near = f" near {found['highlight']!r}" if found.get("highlight") else ""
        text = f"bad SQL: {found.get('description') or 'not understood'}{near}, in {words_of(parts[0], 8)!r}"
        raise NotUnderstood(text, max(int(found.get("line") or 0), line)) from None
    body = made.this if isinstance(made, exp.Create) else None
    if not isinstance(body, exp.Schema) or len(body.expressions) != len(parts):
        raise NotUnderstood(f"{words_of(parts[0], 8)}: expected a column or a constraint", line)
    return list(body.expressions)


_COUNTED = {exp.GeneratedAsIdentityColumnConstraint, exp.AutoIncrementColumnConstraint}
"""What makes a column one of numbers that the database counts, and that are never null."""


def _column(item: exp.ColumnDef, cursor: Cursor, sql_dialect: str) -> ColumnItem:
    line, folding = cursor.line, cursor.folding
    strange = next((one for one in item.constraints if not isinstance(one, exp.ColumnConstraint)), None)
    if strange is not None:
        raise NotUnderstood(f"bad SQL: expected a constraint of column {item.name}, found {strange.sql()!r}", line)
    kinds = {type(one.kind): one for one in item.constraints}
    kind = item.args.get("kind")
    if sql_dialect == "postgres" and (
        exp.AutoIncrementColumnConstraint in kinds or (kind is not None and kind.this in MYSQL_ALONE)
    ):
        raise NotUnderstood(f"column {item.name}: {_OF_MYSQL}", line)
    not_null, unique = kinds.get(exp.NotNullColumnConstraint), kinds.get(exp.UniqueColumnConstraint)
    primary, given = kinds.get(exp.PrimaryKeyColumnConstraint), kinds.get(exp.DefaultColumnConstraint)
    nullable = None if not_null is None else bool(not_null.kind.args.get("allow_null"))
    serial = kind is not None and kind.this in (exp.DType.SERIAL, exp.DType.BIGSERIAL, exp.DType.SMALLSERIAL)
    if nullable is None and (serial or not kinds.keys().isdisjoint(_COUNTED)):
        nullable = False
    named = primary or unique
    return ColumnItem(
        any_case=folding.any_case and cursor.all[0].token_type != TokenType.IDENTIFIER,
        name=cursor.column(),
        kind=kind,
        nullable=nullable,
        line=line,
        primary=primary is not None,
        unique=(unique is not None and not _deferrable(unique.kind)) or (serial and sql_dialect == "mysql"),
        key_name=_name(named.this, folding) if named is not None and isinstance(named.this, exp.Identifier) else None,
        default=None if given is None else constants.text_of(given.kind.this),
    )


def _deferrable(key: exp.Expr) -> bool:
    return any(str(option).upper().startswith("DEFERRABLE") for option in key.args.get("options") or [])


def _name(identifier: exp.Expr, folding: Folding) -> str:
    return identifier.name if identifier.args.get("quoted") else folding.column(identifier.name)
