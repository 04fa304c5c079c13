"""SQL over the row (extension): scalar expressions, evaluated column-wise by DataFusion (https://datafusion.apache.org).

An expression sees its row alone, and gives the same for the same row each time (I2): no subqueries, no aggregates, no
windows, no clock, no chance. Integers are of 64 bits in it, and wrap beyond, as DataFusion's do.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp

from integrator.arrow.arrays import first, items_of, mask, to_decimal
from integrator.engine.arrays import Mask
from integrator.errors import shortened
from integrator.expressions.parts import Sql
from integrator.expressions.substitutions import SUBSTITUTIONS, ExpressionError, accepted_in, with_article
from integrator.extras import Library
from integrator.names import meant, nearest
from integrator.schema import Table, arrow_type
from integrator.transform.cast import is_list

_DATAFUSION = Library("sql", "an expression in SQL (sql: …)", "datafusion")
_MOST_DEEP = 500
"""How deep terms are nested, as those of a sum are: 1,000 take the engine 2 s to plan, 5,000 take it 40 s, and 30,000
overflow its stack, which ends the process."""
_TOO_DEEP = f"its terms are nested more than {_MOST_DEEP} deep; CASE and IN (…) may have any number of values"
_MOST_MADE = 1_000_000
"""Characters of a constant: a message has no more by default (HVR_KAFKA_MSG_MAX_BYTES)."""
_MOST_SHOWN = 500
"""Characters of what the engine says: the value that it refuses is among them."""
_OPTIONS = {
    "datafusion.execution.batch_size": "1000000",  # one batch in, one batch out
    "datafusion.optimizer.max_passes": "1",
    "datafusion.sql_parser.map_string_types_to_utf8view": "false",
    "datafusion.sql_parser.enable_ident_normalization": "false",
}
_REFUSED: dict[type[Any], str] = {
    exp.Subquery: "a subquery",
    exp.Select: "a query",
    exp.Exists: "a subquery",
    exp.Window: "a window",
    exp.AggFunc: "an aggregate",
    exp.Rand: "chance",
    exp.Uuid: "chance",
    exp.CurrentTimestamp: "a clock",
    exp.CurrentDate: "a clock",
    exp.CurrentTime: "a clock",
    exp.Star: "*",
}
_REFUSED_NAMES = ("random", "uuid", "now", "current_timestamp", "current_date", "current_time", "today", "row_number")

_INFINITE = re.compile(r"\b(inf|infinity|nan)\b", re.IGNORECASE)

Columns = dict[str, pa.Array]


class SqlFailed(ValueError):
    """An expression that the engine refused for some row."""


def _check_depth(tree: exp.Expr) -> None:
    """Raise ExpressionError for an expression so deeply nested that it could overflow the engine's stack."""
    depth, nodes = 0, [tree]
    while nodes:
        depth += 1
        nodes = [child for node in nodes for child in node.iter_expressions()]
    if depth > _MOST_DEEP:
        raise ExpressionError(f"sql: {_TOO_DEEP}")


def _check_constants(tree: exp.Expr) -> None:
    """Raise ExpressionError for a constant text of more than a message, which the engine would make while it plans."""
    for node in tree.find_all(exp.Repeat, exp.Pad):
        size = 1
        outer: exp.Expr | None = node
        while outer is not None:
            count = outer.args["times" if isinstance(outer, exp.Repeat) else "expression"]
            if not count.find(exp.Column):  # a count that depends on the row is not a constant
                size *= int(count.name) if isinstance(count, exp.Literal) and count.name.isdigit() else _MOST_MADE + 1
            outer = outer.find_ancestor(exp.Repeat, exp.Pad)
        if size > _MOST_MADE:
            raise ExpressionError(f"sql: repeat, lpad and rpad make at most {_MOST_MADE} characters of a constant")


@lru_cache(maxsize=1000)
def names(sql: Sql, table: Table) -> tuple[str, ...]:
    """Return the columns and substitutions that an expression needs. Raises ExpressionError for what it may not be."""
    try:
        tree = sqlglot.parse_one(sql.text, dialect="postgres")
    except sqlglot.errors.SqlglotError as error:
        reason = re.sub(r"<class '(?:\w+\.)*(\w+)'>", r"\1", str(error).splitlines()[0])
        raise ExpressionError(f"sql: {reason}") from None
    except RecursionError:
        raise ExpressionError(f"sql: {_TOO_DEEP}") from None
    _check_depth(tree)
    _check_constants(tree)
    if tree.find(exp.SimilarTo):
        raise ExpressionError("sql: SIMILAR TO is not known here; use LIKE, or ~ with a regular expression")
    for node in tree.walk():
        refused = next((text for kind, text in _REFUSED.items() if isinstance(node, kind)), None)
        if refused is None and isinstance(node, exp.Func) and node.sql_name().lower() in _REFUSED_NAMES:
            refused = "a clock, or chance"
        if refused is None and isinstance(node, exp.Anonymous) and str(node.this).lower() in _REFUSED_NAMES:
            refused = "a clock, or chance"
        if refused is not None:
            clock = "; the time of integration is {hvr_integ_tstamp}, without sql:" if "clock" in refused else ""
            raise ExpressionError(
                f"sql: {refused} is not possible: an expression can use only its own row, and must give the same "
                f"result each time{clock}"
            )
    found = tuple(dict.fromkeys(column.name for column in tree.find_all(exp.Column)))
    for name in found:
        if table.column(name) is None and (
            name not in SUBSTITUTIONS or sql.context not in SUBSTITUTIONS[name].contexts
        ):
            columns = [column.name for column in table.columns]
            known = [*columns, *accepted_in(sql.context)] if nearest(name, columns) or "hvr" in name else columns
            where = with_article(sql.context)
            text = f"sql: {name!r} is neither a column nor a substitution that may stand in {where}"
            raise ExpressionError(f"{text}; {meant(name, known, 'its columns are')}", text)
    return found


def result_type(sql: Sql, table: Table) -> pa.DataType:
    """Return the type of an expression's values. Raises ExpressionError where the engine refuses it."""
    used = names(sql, table)
    empty = {name: pa.array([], _input_type(_arrow_type(name, table))) for name in used}
    try:
        return _compiled(sql.text, _schema(empty)).type
    except SqlFailed as error:
        raise ExpressionError(f"sql: {error}") from None


def _arrow_type(name: str, table: Table) -> pa.DataType:
    column = table.column(name)
    return arrow_type(column.type if column is not None else SUBSTITUTIONS[name].type)


def evaluate(sql: Sql, columns: Columns, rows: int) -> pa.Array:
    """Return the expression's value for each of the rows. Raises SqlFailed with the engine's message."""
    if not rows:
        return pa.array([], _compiled(sql.text, _schema(columns)).type)
    return _compiled(sql.text, _schema(columns)).run(columns, rows)


def first_overflow(sql: Sql, columns: Columns, values: pa.Array) -> int | None:
    """Return the first row whose value is infinite or NaN, where none of the numbers that it is made of is; or None.

    An expression that has such a word itself may give it.
    """
    if _INFINITE.search(sql.text):
        return None
    beyond = _not_finite(values)
    for given in columns.values() if beyond.any() else ():
        beyond &= ~_not_finite(given)
    return first(beyond)


def _not_finite(values: pa.Array) -> Mask:
    """Return in which rows a floating point number, or one in a list, is infinite or NaN."""
    if is_list(values.type):
        items, rows = items_of(values)
        inside = np.zeros(len(values), bool)
        inside[rows[_not_finite(items)]] = True
        return inside
    if not pa.types.is_floating(values.type):
        return np.zeros(len(values), bool)
    return mask(pc.invert(pc.is_finite(values)))


class _Compiled:
    """An expression for batches of one schema."""

    def __init__(self, text: str, schema: pa.Schema) -> None:
        datafusion = _DATAFUSION.load()  # here: a worker without SQL need not wait for it, and a fork comes before it

        self._schema = schema
        self._context = datafusion.SessionContext(datafusion.SessionConfig(_OPTIONS).with_target_partitions(1))
        empty = pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)
        try:
            frame = self._context.read_batch(empty)
            self._expression = frame.parse_sql_expr(text).alias("value")
            found = frame.select(self._expression).to_arrow_table().schema.field(0).type
        except Exception as error:  # noqa: BLE001 - the engine's errors have no type of their own
            raise SqlFailed(message_of(error)) from None
        self.type = pa.string() if found == pa.string_view() else found

    def run(self, columns: Columns, rows: int) -> pa.Array:
        arrays = [_input(columns[name]) if name != _NONE else pa.nulls(rows) for name in self._schema.names]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        try:
            made = self._context.read_batch(batch).select(self._expression).to_arrow_table()
        except Exception as error:  # noqa: BLE001 - as above
            raise SqlFailed(message_of(error)) from None
        values = made.column(0).combine_chunks()
        if len(values) != rows:
            raise SqlFailed("the expression changed the number of rows")
        if values.type == self.type:
            return values
        from_text = pa.types.is_string(values.type) and pa.types.is_decimal(self.type)
        return to_decimal(values, self.type) if from_text else values.cast(self.type)


_NONE = "_"
"""A column for expressions that use none: a batch needs one."""


def _schema(columns: Columns) -> pa.Schema:
    fields = [(name, _input_type(values.type)) for name, values in columns.items()]
    return pa.schema(fields or [(_NONE, pa.null())])


def _input_type(kind: pa.DataType) -> pa.DataType:
    return pa.int64() if pa.types.is_integer(kind) else kind


def _input(values: pa.Array) -> pa.Array:
    return values.cast(pa.int64()) if pa.types.is_integer(values.type) else values


def message_of(error: Exception) -> str:
    """Return what the engine says, in one line."""
    text = " ".join(str(error).split()).removeprefix("Exception: ").removeprefix("DataFusion error: ")
    return shortened(text, _MOST_SHOWN)


@lru_cache(maxsize=1000)
def _compiled(text: str, schema: pa.Schema) -> _Compiled:
    return _Compiled(text, schema)
