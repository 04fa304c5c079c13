"""Expressions -> Arrow arrays: one function a substitution."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from integrator.arrays import first, mask
from integrator.changes import Changes
from integrator.expression import ColumnValue, Constant, Op, Part, Text, op_mapping
from integrator.properties.cast import Refused, cast, format_timestamp
from integrator.properties.key_hash import key_hash
from integrator.properties.row_uuid import row_uuid
from integrator.recipe import TRUNCATE, Recipe, TableRecipe
from integrator.schema import String


def evaluate(
    parts: tuple[Part, ...], changes: Changes, recipe: TableRecipe, channel: Recipe, now: datetime
) -> pa.Array:
    """Return the expression's value for each row: a lone substitution keeps its type, mixed text is text."""
    scope = _Scope(changes, recipe, channel, now)
    if len(parts) == 1:
        return scope.value(parts[0])
    texts = [scope.text(part) for part in parts]
    return pc.binary_join_element_wise(*texts, "", null_handling="replace", null_replacement="")


class _Scope:
    """What the parts of an expression can see."""

    def __init__(self, changes: Changes, recipe: TableRecipe, channel: Recipe, now: datetime) -> None:
        self.changes, self.recipe, self.channel, self.now = changes, recipe, channel, now

    def value(self, part: Part) -> pa.Array:
        match part:
            case Text(text):
                return pa.repeat(text, len(self.changes))
            case Constant(None):
                return pa.nulls(len(self.changes), pa.string())
            case Constant(value):
                return pa.repeat(value, len(self.changes))
            case ColumnValue():
                return self._column(part)
            case Op(name, spec, value_of):
                if value_of:
                    return self._key_values(spec)
                return _SUBSTITUTIONS[name](self, spec)

    def text(self, part: Part) -> pa.Array | pa.Scalar:
        if isinstance(part, Text):
            return pa.scalar(part.text)
        return cast(self.value(part), String(), self.channel.timezone)

    def stamp(self, values: pa.Array, spec: str) -> pa.Array:
        return format_timestamp(values, spec, self.channel.timezone) if spec else values

    def constant(self, text: str | None) -> pa.Array:
        return pa.repeat(pa.scalar(text, pa.string()), len(self.changes))

    def _column(self, part: ColumnValue) -> pa.Array:
        values = self.changes.columns[part.name]
        gone = self.changes.missing.get(part.name)
        if gone is not None:
            gone = gone & mask(pc.not_equal(self.changes.op, TRUNCATE))
            if gone.any() and not part.allow_missings:
                text = f"{{{part.name}}} is missing in the record; write {{{part.name} %[allow_missings]}} for 0 or ''"
                raise Refused(text, first(gone))
            if gone.any():
                zero = pa.scalar("") if pa.types.is_string(values.type) else pa.scalar(0).cast(values.type)
                values = pc.if_else(pa.array(gone), zero, values)
        if part.spec and pa.types.is_timestamp(values.type):
            return format_timestamp(values, part.spec, self.channel.timezone)
        return values

    def _key_values(self, separator: str) -> pa.Array:
        texts = [self.text(ColumnValue(name, allow_missings=True)) for name in self.recipe.key]
        return pc.binary_join_element_wise(*texts, separator, null_handling="replace", null_replacement="")


def _op_text(scope: _Scope, spec: str) -> pa.Array:
    mapping = op_mapping(spec)
    table = pa.array([mapping.get(code, str(code)) for code in range(6)])
    return table.take(scope.changes.op)


def _missing(scope: _Scope, _spec: str) -> pa.Array:
    """Return the names of the columns that the source left out, with commas between; null where it left none out."""
    truncate = mask(pc.equal(scope.changes.op, TRUNCATE))
    names = [pc.if_else(pa.array(gone & ~truncate), "," + name, "") for name, gone in scope.changes.missing.items()]
    if not names:
        return pa.nulls(len(scope.changes), pa.string())
    joined = pc.binary_replace_slice(pc.binary_join_element_wise(*names, ""), 0, 1, "")
    return pc.if_else(pc.equal(joined, ""), pa.scalar(None, pa.string()), joined)


def _now(scope: _Scope, spec: str) -> pa.Array:
    values = pa.repeat(pa.scalar(scope.now, pa.timestamp("us", "UTC")), len(scope.changes))
    return scope.stamp(values, spec)


_SUBSTITUTIONS: dict[str, Callable[[_Scope, str], pa.Array]] = {
    "hvr_op": lambda scope, _: scope.changes.op.cast(pa.int32()),
    "hvr_op_str": _op_text,
    "hvr_integ_seq": lambda scope, _: scope.changes.integ_seq,
    "hvr_tx_seq": lambda scope, _: scope.changes.tx_seq,
    "hvr_tx_countdown": lambda scope, _: scope.changes.countdown,
    "hvr_cap_tstamp": lambda scope, spec: scope.stamp(scope.changes.cap_tstamp, spec),
    "hvr_integ_tstamp": _now,
    "hvr_cap_user": lambda scope, _: scope.changes.cap_user,
    "hvr_row_uuid": lambda scope, _: row_uuid(scope.changes, scope.recipe, scope.channel),
    "hvr_missing": _missing,
    "hvr_key_hash": lambda scope, _: key_hash(scope.changes, scope.recipe),
    "hvr_key_names": lambda scope, spec: scope.constant(spec.join(scope.recipe.key)),
    "hvr_cap_loc": lambda scope, _: scope.constant(scope.channel.cap_loc),
    "hvr_chn_name": lambda scope, _: scope.constant(scope.channel.channel),
    "hvr_tbl_name": lambda scope, _: scope.constant(scope.recipe.table.name),
    "hvr_tbl_base_name": lambda scope, _: scope.constant(scope.recipe.table.base_name),
    "hvr_schema": lambda scope, _: scope.constant(scope.recipe.table.schema),
}
