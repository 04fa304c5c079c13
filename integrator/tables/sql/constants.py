"""The defaults of columns that are constants: their text in SQL, and the value that it is of a type."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from integrator.schema import Boolean, Date, Decimal, Float, Integer, String, Timestamp, Type, arrow_type
from integrator.tables.sql.lexical import STANDARD

_READ = (Boolean, Integer, Float, Decimal, Date, Timestamp)
"""Types, beside text, of which a constant is read."""


def text_of(given: exp.Expr) -> str | None:
    """Return the text of a constant; None of what the database computes."""
    match given:
        case exp.Paren() | exp.Cast():
            return text_of(given.this)
        case exp.Neg():
            inner = text_of(given.this)
            return None if inner is None else f"-{inner}"
        case exp.Literal():
            return str(given.this)
        case exp.Boolean():
            return str(given.this).lower()
    return None


def text_in(sql: str, sql_dialect: str) -> str | None:
    """Return the text of the constant that an expression in SQL is; None of what the database computes."""
    try:
        return text_of(sqlglot.parse_one(sql, read=STANDARD.get(sql_dialect, sql_dialect)))
    except SqlglotError:
        return None


def value_of(text: str | None, kind: Type) -> Any:
    """Return the value that a constant is; None for none, and for one of a type whose constants are not read."""
    if text is None or isinstance(kind, String):
        return text
    if not isinstance(kind, _READ) or (isinstance(kind, Timestamp) and kind.zoned):
        return None
    try:
        return pa.scalar(text.strip()).cast(arrow_type(kind)).as_py()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
