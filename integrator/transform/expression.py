"""Expressions -> Arrow arrays: one function a substitution."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrow.arrays import first, first_refused, mask
from integrator.contracts.change_batch import RECORD, ChangeBatch
from integrator.contracts.fragments import FILE_BITS
from integrator.contracts.operations import TRUNCATE
from integrator.contracts.recipe import Recipe
from integrator.contracts.sequence import hexadecimal
from integrator.contracts.table_recipe import TableRecipe
from integrator.engine.arrays import Mask
from integrator.errors import DataError, Fault, Place
from integrator.expressions.parts import ColumnValue, Constant, Op, Part, Sql, Text
from integrator.expressions.substitutions import op_mapping
from integrator.schema import String
from integrator.transform import sql
from integrator.transform.cast import Refused, cast, default_of, format_timestamp
from integrator.transform.key_hash import key_hash
from integrator.transform.row_uuid import row_uuid
from integrator.transform.table_names import table_names

_MASKED = (
    "the result of the expression does not fit, and is not shown: it is made of columns that the channel masks "
    "(errors.log.include.messages has it shown)"
)


@dataclass(frozen=True)
class SliceOfTable:
    """The slice that rows of a refresh are of: its number, from 0, of how many, and its value in a series of values."""

    number: int | None = None
    total: int | None = None
    value: str | None = None


NO_SLICE = SliceOfTable()
"""What changes are of, and truncate records."""


@dataclass(frozen=True)
class RunClock:
    """What is not of the change but of the run.

    now: the time. integ_key: the number of the file's first row, for {hvr_integ_key}. rows: those before the batch.
    part: of the table, in a refresh.
    """

    now: datetime
    integ_key: int = 0
    rows: int = 0
    part: SliceOfTable = NO_SLICE


class EvaluationContext:
    """What an expression can see: the rows, their table, the channel, the run."""

    def __init__(self, changes: ChangeBatch, recipe: TableRecipe, channel: Recipe, clock: RunClock) -> None:
        self.changes, self.recipe, self.channel, self.clock = changes, recipe, channel, clock

    def evaluate(self, parts: tuple[Part, ...]) -> pa.Array:
        """Return the expression's value for each row: a lone substitution keeps its type, mixed text is text.

        Raises Refused.
        """
        if len(parts) == 1:
            return self.value(parts[0])
        texts = [self.text(part) for part in parts]
        return pc.binary_join_element_wise(*texts, "", null_handling="replace", null_replacement="")

    def error(self, what: str, refused: Refused, parts: Iterable[Part] = ()) -> DataError:
        """Return the error for a value that was refused; it is not shown where its expression has masked columns."""
        at = refused.index
        line = int(self.changes.line[at]) if at is not None else 0
        text = _MASKED if refused.valued and any(map(self._has_masked, parts)) else refused
        of = "" if at is None and len(self.changes.tables) != 1 else f"table {self.changes.table_of(at or 0)}, "
        return DataError(Fault(Place(self.changes.file, line), f"{of}{what}: {text}"))

    def _has_masked(self, part: Part) -> bool:
        masked = self.recipe.masked
        match part:
            case ColumnValue(name):
                return name in masked
            case Sql() if masked:
                return any(name in masked for name in sql.names(part, self.recipe.table))
            case Op(value_of=value_of) if value_of:
                return any(name in masked for name in self.recipe.key)
        return False

    def value(self, part: Part) -> pa.Array:
        """Return the value of a part for each row."""
        match part:
            case Text(text):
                return pa.repeat(text, len(self.changes))
            case Constant(None):
                return pa.nulls(len(self.changes), pa.string())
            case Constant(value):
                return pa.repeat(value, len(self.changes))
            case ColumnValue():
                return self._column(part)
            case Sql():
                return self._sql(part)
            case Op(name, spec, value_of):
                if value_of:
                    return self._key_values(spec)
                return _SUBSTITUTIONS[name](self, spec)

    def _sql(self, part: Sql) -> pa.Array:
        columns = {}
        for name in sql.names(part, self.recipe.table):
            known = self.recipe.table.column(name) is not None
            if known and name not in part.allowed:
                columns[name] = self._column(ColumnValue(name))
            else:
                columns[name] = self.changes.columns[name] if known else _SUBSTITUTIONS[name](self, "")
        try:
            values = sql.evaluate(part, columns, len(self.changes))
        except sql.SqlFailed as error:
            index = first_refused(len(self.changes), lambda start, stop: _evaluates(part, columns, start, stop))
            raise Refused(f"sql: {error}", index) from None
        beyond = sql.first_overflow(part, columns, values)
        if beyond is not None:
            raise Refused(
                "sql: the result is infinite or not a number (NaN), and its columns are finite; guard it, for example "
                "with CASE, or by nullif(x, 0) as the divisor",
                beyond,
                valued=False,
            )
        return values

    def text(self, part: Part) -> pa.Array | pa.Scalar:
        """Return the text of a part, of each row or of all."""
        if isinstance(part, Text):
            return pa.scalar(part.text)
        return cast(self.value(part), String(), self.channel.messages.timezone)

    def stamp(self, values: pa.Array, spec: str) -> pa.Array:
        """Return timestamps, as text where there is a specification."""
        return format_timestamp(values, spec, self.channel.messages.timezone) if spec else values

    def of_record(self, field: str) -> pa.Array:
        """Return what topics have of the record of each row; null where rows come from no topic."""
        record = self.changes.record
        if record.type == pa.null():
            return pa.nulls(len(record), RECORD.field(field).type)
        return pc.struct_field(record, field)

    def number(self, value: int | None) -> pa.Array:
        """Return the same number for each row."""
        return pa.repeat(pa.scalar(value, pa.int32()), len(self.changes))

    def constant(self, text: str | None) -> pa.Array:
        """Return the same text for each row."""
        return pa.repeat(pa.scalar(text, pa.string()), len(self.changes))

    def _column(self, part: ColumnValue) -> pa.Array:
        values = self.changes.columns[part.name]
        gone = self._gone(part.name)
        if gone is not None:
            if gone.any() and not part.allow_missings:
                text = f"{{{part.name}}} is missing in the record; write {{{part.name} %[allow_missings]}} to let it be"
                raise Refused(text, first(gone), valued=False)
            if gone.any():
                column = self.recipe.table.column(part.name)
                kind = column.type if column is not None else String()
                values = pc.if_else(pa.array(gone), default_of(kind, len(values), nullable=False), values)
        if part.spec and pa.types.is_timestamp(values.type):
            return format_timestamp(values, part.spec, self.channel.messages.timezone)
        return values

    def _gone(self, name: str) -> Mask | None:
        """Return where a column's value is missing, but for truncates, which have no values; None for nowhere."""
        gone = self.changes.missing.get(name)
        return None if gone is None else gone & mask(pc.not_equal(self.changes.op, TRUNCATE))

    def _key_values(self, separator: str) -> pa.Array:
        for name in self.recipe.key:
            gone = self._gone(name)
            if gone is not None and gone.any():
                text = f"{name}, which {{{{hvr_key_names}}}} has, is missing in the record; have the source record keys"
                raise Refused(text, first(gone), valued=False)
        texts = [self.text(ColumnValue(name)) for name in self.recipe.key]
        return pc.binary_join_element_wise(*texts, separator, null_handling="replace", null_replacement="")


def _evaluates(part: Sql, columns: dict[str, pa.Array], start: int, stop: int) -> bool:
    size = stop - start
    try:
        sql.evaluate(part, {name: values.slice(start, size) for name, values in columns.items()}, size)
    except sql.SqlFailed:
        return False
    return True


def _op_text(scope: EvaluationContext, spec: str) -> pa.Array:
    mapping = op_mapping(spec)
    table = pa.array([mapping.get(code, str(code)) for code in range(6)])
    return table.take(scope.changes.op)


def _missing(scope: EvaluationContext, _spec: str) -> pa.Array:
    """Return the names of the columns that the source left out, with commas between; null where it left none out."""
    truncate = mask(pc.equal(scope.changes.op, TRUNCATE))
    gaps = scope.changes.gaps
    names = [pc.if_else(pa.array(gone & ~truncate), "," + name, "") for name, gone in gaps.items()]
    if not names:
        return pa.nulls(len(scope.changes), pa.string())
    joined = pc.binary_replace_slice(pc.binary_join_element_wise(*names, ""), 0, 1, "")
    return pc.if_else(pc.equal(joined, ""), pa.scalar(None, pa.string()), joined)


def _integ_key(scope: EvaluationContext, _spec: str) -> pa.Array:
    rows = scope.changes.order + scope.clock.rows
    if len(rows) and int(rows.max()) >= 1 << FILE_BITS:
        raise Refused(f"{{hvr_integ_key}} can number only {1 << FILE_BITS} rows of one file; write smaller files")
    return hexadecimal((rows + scope.clock.integ_key).astype(np.uint64), 16)


def _scn(scope: EvaluationContext, _spec: str) -> pa.Array:
    """Return Oracle's SCN: of 20 hex digits of SCN * 65536, all but the last four."""
    digits = pc.utf8_slice_codeunits(scope.changes.tx_seq, 0, -4).dictionary_encode()
    numbers = pa.array([str(int(text or "0", 16)) for text in digits.dictionary.to_pylist()], pa.string())
    return numbers.take(digits.indices)


def _now(scope: EvaluationContext, spec: str) -> pa.Array:
    values = pa.repeat(pa.scalar(scope.clock.now, pa.timestamp("us", "UTC")), len(scope.changes))
    return scope.stamp(values, spec)


_SUBSTITUTIONS: dict[str, Callable[[EvaluationContext, str], pa.Array]] = {
    "hvr_op": lambda scope, _: scope.changes.op.cast(pa.int32()),
    "hvr_op_str": _op_text,
    "hvr_integ_seq": lambda scope, _: scope.changes.integ_seq,
    "hvr_tx_seq": lambda scope, _: scope.changes.tx_seq,
    "hvr_integ_key": _integ_key,
    "hvr_tx_scn": _scn,
    "hvr_cap_filename": lambda scope, _: scope.constant(posixpath.basename(scope.changes.file)),
    "hvr_cap_subdirs": lambda scope, _: scope.constant(scope.channel.read.subdirs(scope.changes.file)),
    "hvr_tx_countdown": lambda scope, _: scope.changes.countdown,
    "hvr_cap_tstamp": lambda scope, spec: scope.stamp(scope.changes.cap_tstamp, spec),
    "hvr_integ_tstamp": _now,
    "hvr_cap_user": lambda scope, _: scope.changes.cap_user,
    "hvr_cap_topic": lambda scope, _: scope.of_record("topic"),
    "hvr_cap_partition": lambda scope, _: scope.of_record("partition"),
    "hvr_cap_offset": lambda scope, _: scope.of_record("offset"),
    "hvr_cap_record_key": lambda scope, _: scope.of_record("key"),
    "hvr_cap_header": lambda scope, spec: pc.map_lookup(scope.of_record("headers"), spec.strip(), "last"),
    "hvr_cap_record_tstamp": lambda scope, spec: scope.stamp(scope.of_record("timestamp"), spec),
    "hvr_row_uuid": lambda scope, _: row_uuid(scope.changes, scope.recipe, scope.channel),
    "hvr_missing": _missing,
    "hvr_key_hash": lambda scope, _: key_hash(scope.changes, scope.recipe),
    "hvr_key_names": lambda scope, spec: scope.constant(spec.join(scope.recipe.key)),
    "hvr_cap_loc": lambda scope, _: scope.constant(scope.changes.location or scope.channel.messages.cap_loc),
    "hvr_chn_name": lambda scope, _: scope.constant(scope.channel.messages.channel),
    "hvr_tbl_name": lambda scope, _: table_names(scope.changes, "name", scope.recipe, scope.channel),
    "hvr_tbl_base_name": lambda scope, _: table_names(scope.changes, "base_name", scope.recipe, scope.channel),
    "hvr_schema": lambda scope, _: table_names(scope.changes, "schema", scope.recipe, scope.channel),
    "hvr_slice_num": lambda scope, _: scope.number(scope.clock.part.number),
    "hvr_slice_total": lambda scope, _: scope.number(scope.clock.part.total),
    "hvr_slice_value": lambda scope, _: scope.constant(scope.clock.part.value),
}
