"""What an expression may be in the column it is for: types that it can become, and operations that it is for."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from integrator import schema
from integrator.contracts.operations import BEFORE_KEY_UPDATE, BEFORE_UPDATE, DELETE, INSERT, TRUNCATE, UPDATE
from integrator.expressions.parse import natural_type
from integrator.expressions.parts import ColumnValue, Constant, Op, Part, Sql, Text
from integrator.expressions.substitutions import INTEG_SEQ_LENGTH, WORDED, ExpressionError, op_mapping
from integrator.names import meant
from integrator.schema import Table, Type
from integrator.transform import sql_types
from integrator.transform.cast import Refused, cast

# What Arrow would cast, bending values on the way.
LOSSY = (
    (schema.Float, schema.Decimal),
    (schema.Float, schema.Float),
    (schema.Decimal, schema.Float),
    (schema.Timestamp, schema.Date),
    (schema.Timestamp, schema.Time),
    (schema.Integer, schema.Boolean),
    (schema.Float, schema.Boolean),
    (schema.Decimal, schema.Boolean),
)

OPERATIONS = {
    "DELETE": DELETE,
    "INSERT": INSERT,
    "UPDATE_AFTER": UPDATE,
    "UPDATE_BEFORE_KEY": BEFORE_KEY_UPDATE,
    "UPDATE_BEFORE_NONKEY": BEFORE_UPDATE,
    "TRUNCATE": TRUNCATE,
}


def operations_of(
    text: str | None, expression: tuple[Part, ...], report: Callable[[str, str], None], *, deletes: bool
) -> tuple[int, ...]:
    """Return the operations of an ExpressionScope, `text`; none where there is none. deletes: such rows are sent."""
    if text is None:
        return ()
    names = [name.strip() for name in text.split(",")]
    unknown = [name for name in names if name not in OPERATIONS]
    for name in unknown:
        report("ExpressionScope", f"{name!r} is no operation of rows; {meant(name, OPERATIONS)}")
    if unknown:
        return ()
    if not expression:
        report("ExpressionScope", "goes with an IntegrateExpression; write one beside it, or leave this out")
    if any(isinstance(part, Op) and part.name == "hvr_op" for part in expression):
        report("ExpressionScope", "an expression with {hvr_op} can have none; leave it out")
    if {"DELETE", "TRUNCATE"} & set(names) and not deletes:
        text = "DELETE and TRUNCATE are sent with a SoftDelete or TimeKey column only; add one, or leave them out"
        report("ExpressionScope", text)
    return tuple(OPERATIONS[name] for name in names)


def check_expression(name: str, expression: tuple[Part, ...], declared: Type, table: Table) -> None:
    """Raise ExpressionError where an expression cannot be in the column `name`, or cannot become its type."""
    for part in expression:
        if isinstance(part, Op):
            if part.name == name:
                # HVR leaves such a column empty: https://fivetran.com/docs/hvr6/action-reference/columnproperties
                raise ExpressionError(f"a column named {name} cannot take {{{name}}}; rename it, for example op_val")
            if part.name == "hvr_op_str":
                op_mapping(part.spec)
            if part.name == "hvr_integ_seq" and isinstance(declared, schema.String):
                length = declared.length or INTEG_SEQ_LENGTH
                if length < INTEG_SEQ_LENGTH:
                    raise ExpressionError(
                        f"{{hvr_integ_seq}} has 45 characters; Length {length} is too short: write Length: 45"
                    )
    for part in expression:
        if isinstance(part, ColumnValue) and (len(expression) > 1 or isinstance(declared, schema.String)):
            column = table.column(part.name)
            if column is not None and isinstance(column.type, schema.Array | schema.Bytes | schema.Struct):
                raise ExpressionError(f"{{{part.name}}} is {schema.describe(column.type)}, which cannot become text")
    if isinstance(expression[0], Sql):
        sql_types.check(expression, table, declared)
        return
    if len(expression) == 1 and isinstance(expression[0], Constant | Text):
        check_constant(expression[0], declared)
    _check_type(expression, declared, table)


def _check_type(expression: tuple[Part, ...], declared: Type, table: Table) -> None:
    natural = natural_type(expression, table)
    lone = expression[0] if len(expression) == 1 else None
    if isinstance(lone, Op) and lone.name in WORDED and not isinstance(declared, schema.String):
        raise ExpressionError(f"{{{lone.name}}} is text, and no {schema.describe(declared)}; write Datatype: varchar")
    if not convertible(natural, declared):
        text = f"{schema.describe(natural)} cannot become {schema.describe(declared)}"
        raise ExpressionError(f"{text}; write Datatype: {schema.describe(natural).partition('(')[0]}")


def check_constant(part: Constant | Text, declared: Type) -> None:
    """Raise ExpressionError for a constant that cannot become a type."""
    value = part.value if isinstance(part, Constant) else part.text
    try:
        cast(pa.array([value], None if value is not None else pa.string()), declared, "UTC")
    except Refused as error:
        raise ExpressionError(f"{error}; write one that is, or Datatype: varchar") from None


def convertible(given: Type, wanted: Type) -> bool:
    """Return whether values of type `given` can become `wanted`, each checked when it comes."""
    if isinstance(given, schema.Array) and isinstance(wanted, schema.Array):
        return convertible(given.item, wanted.item)
    if given == wanted or (isinstance(wanted, schema.String) and not isinstance(given, schema.Bytes)):
        return True
    if is_lossy(given, wanted):
        return False
    try:
        pa.array([], schema.arrow_type(given)).cast(schema.arrow_type(wanted))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return False
    return True


def is_lossy(given: Type, wanted: Type) -> bool:
    """Return whether Arrow would bend values of type `given` to make them `wanted`."""
    if isinstance(given, schema.Array) and isinstance(wanted, schema.Array):
        return is_lossy(given.item, wanted.item)
    return any(isinstance(given, one) and isinstance(wanted, other) for one, other in LOSSY)
