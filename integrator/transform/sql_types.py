"""Of which type the values of SQL are, and whether they can be what is wanted of them."""

from __future__ import annotations

import pyarrow as pa

from integrator.expressions.parts import Part, Sql
from integrator.expressions.substitutions import ExpressionError
from integrator.schema import Boolean, Date, Decimal, Float, Integer, String, Table, Time, Timestamp, Type, describe
from integrator.transform.cast import Refused, cast
from integrator.transform.sql import result_type

_IN_SQL: dict[type[Type], str] = {
    Boolean: "boolean",
    Integer: "bigint",
    Float: "double",
    Decimal: "decimal(…, …)",
    Date: "date",
    Time: "time",
    Timestamp: "timestamp",
}
"""What the engine calls types that text may be cast to."""
_NAMED = {"bool": "boolean", "int64": "bigint", "float": "real", "string": "text", "large_string": "text"}


def check(parts: tuple[Part, ...], table: Table, kind: Type) -> None:
    """Raise ExpressionError where SQL cannot be, or its values cannot become `kind`."""
    for part in parts:
        if isinstance(part, Sql):
            found = result_type(part, table)
            if pa.types.is_binary(found) and isinstance(kind, String):
                raise ExpressionError("sql: bytes are no text; write encode(…, 'hex')")
            given, text = _named(found), f"sql: it gives {_named(found)}, which cannot become {describe(kind)}"
            in_sql = _IN_SQL.get(type(kind))
            if given == "text" and in_sql is not None:  # whether each row's is one, is for SQL to say
                raise ExpressionError(f"{text}; write cast(… as {in_sql}), or Datatype: text")
            try:
                cast(pa.array([], found), kind, "UTC")
            except Refused:
                raise ExpressionError(f"{text}; write Datatype: {given.partition('(')[0]}, or a cast in SQL") from None


def check_condition(sql: Sql, table: Table) -> None:
    """Raise ExpressionError where SQL cannot be, or is neither true nor false."""
    found = result_type(sql, table)
    if not (pa.types.is_boolean(found) or pa.types.is_null(found)):
        text = f"sql: a condition is true or false, and this is {_named(found)}"
        raise ExpressionError(f"{text}; compare it, as in … > 0")


def _named(kind: pa.DataType) -> str:
    """Return a type of the engine's as people write it."""
    for is_one, name in ((pa.types.is_date, "date"), (pa.types.is_time, "time"), (pa.types.is_timestamp, "timestamp")):
        if is_one(kind):
            return name
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return _NAMED.get(str(kind), str(kind))
