"""ColumnProperties -> the fields of a table's messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from integrator import schema
from integrator.channel.problems import Report
from integrator.channel.reader import Path_
from integrator.contracts.table_recipe import Coercion, Field
from integrator.expressions.parse import as_text, parse
from integrator.expressions.parts import Part
from integrator.expressions.substitutions import ExpressionError
from integrator.plan.datatype_match import size
from integrator.plan.expressions import check_expression, convertible, is_lossy, operations_of
from integrator.plan.keys import UNHASHED, explicit_key
from integrator.plan.parameters import ChannelScope, ColumnParameters
from integrator.schema import Column, Table, Type

NEEDS_DATATYPE = ("Length", "Precision", "Scale", "Nullable")


def _at_column(scope: ChannelScope, places: dict[str, int], own: Table) -> Report:
    """Return what takes the problems of a column, and puts them at the action that sets the parameter, or another."""

    def report(parameter: str, text: str, table: str = own.name) -> None:
        path: Path_ = scope.definition(table)  # where no action speaks of the column
        if places:
            path = ("actions", places.get(parameter, next(iter(places.values()))), parameter)
        scope.problems.add(path, text, table)

    return report


@dataclass(frozen=True)
class Rules:
    """What holds for all columns of a table: how values are coerced, and whether ExpressionScope is heeded."""

    coercion: Coercion
    scopes: bool
    deletes: bool
    """Whether the style sends deletes and truncates."""


def fields_of(table: Table, merged: ColumnParameters, rules: Rules, scope: ChannelScope) -> tuple[Field, ...]:
    """Return the fields of the table's messages: its columns in their order, then the Extra columns."""
    fields: list[Field] = []
    key = explicit_key(table, merged)
    for column in table.columns:
        values, places = merged.get(column.name, ({}, {}))
        report = _at_column(scope, places, table)
        _check_column(values, column, key, report)
        if not values.get("Absent"):
            fields.append(_field(column.name, column, values, _Place(table, rules, report)))
    for name, (values, places) in merged.items():
        if table.column(name) is not None:
            continue
        report = _at_column(scope, places, table)
        if not values.get("Extra"):
            accepted = "a new one needs Extra: true and a Datatype; its columns are"
            report("Name", f"{name!r} is no column; {scope.column_meant(name, table, accepted)}")
        elif "Datatype" not in values and not values.get("SoftDelete"):
            report(
                "Extra", f"the Extra column {name!r} needs a Datatype or SoftDelete; for text write Datatype: varchar"
            )
        else:
            _check_extra(name, values, report)
            fields.append(_field(name, None, values, _Place(table, rules, report)))
    _check_names(fields, merged, table, scope)
    return tuple(fields)


def _check_names(fields: list[Field], merged: ColumnParameters, table: Table, scope: ChannelScope) -> None:
    """Report two columns of one name, at the action that names one of them, and messages without any."""
    seen: dict[str, Field] = {}
    for field in fields:
        other = seen.setdefault(field.name, field)
        if other is not field:
            named = next((one for one in (field, other) if one.column != one.name and one.column), field)
            places = merged.get(named.column or named.name, ({}, {}))[1]
            _at_column(scope, places, table)("BaseName", f"two columns are named {field.name!r}; choose another name")
    if all(field.extra for field in fields):
        absent = [places["Absent"] for values, places in merged.values() if values.get("Absent")]
        text = "all columns are absent, and nothing of a row would be sent; send one, or leave the table out: "
        text += f"{{action: TableProperties, table: {table.name}, Absent: true}}"
        scope.problems.add_at(absent[-1] if absent else None, "Absent", text, table.name)


def _check_column(values: dict[str, Any], column: Column, key: tuple[str, ...], report: Report) -> None:
    if values.get("Extra"):
        report("Extra", f"{column.name!r} is a column of the table; an Extra column needs a name of its own")
    if values.get("SoftDelete"):
        report("SoftDelete", f"{column.name!r} is a column of the table; SoftDelete goes with an Extra column")
    if values.get("Absent") and column.name in key:
        text = f"{column.name!r} belongs to the key, which cannot be absent; let others be the key, or mask it"
        report("Absent", text)
    for parameter in ("Key", "DistributionKey"):
        if values.get(parameter) and isinstance(column.type, UNHASHED):
            report(parameter, f"{column.name!r} is {schema.describe(column.type)}, which cannot be in a key")
    for other in ("BaseName", "Datatype", "IntegrateExpression"):
        if values.get("Absent") and values.get(other):
            report(other, f"{other} and Absent exclude each other")
    if column.name in key and isinstance(column.type, UNHASHED):
        text = (
            f"{column.name!r} is {schema.describe(column.type)}, which cannot be in a key; let the key be others (Key)"
        )
        report("Name", text)


def _check_extra(name: str, values: dict[str, Any], report: Report) -> None:
    if values.get("Key") or values.get("DistributionKey"):
        report("Key" if values.get("Key") else "DistributionKey", f"the Extra column {name!r} cannot be in a key")
    for other in ("Absent", "BaseName"):
        if values.get(other):
            report(other, f"{other} and Extra exclude each other")
    if values.get("SoftDelete") and values.get("IntegrateExpression") is not None:
        report("IntegrateExpression", "a SoftDelete column has its own value: leave the expression out")
    if values.get("TimeKey") and not values.get("IntegrateExpression"):
        report("TimeKey", 'a TimeKey needs a growing value, for example IntegrateExpression: "{hvr_integ_seq}"')


@dataclass(frozen=True)
class _Place:
    table: Table
    rules: Rules
    report: Report


def _field(name: str, column: Column | None, values: dict[str, Any], place: _Place) -> Field:
    table, report, rules = place.table, place.report, place.rules
    if "Datatype" not in values:
        for parameter in NEEDS_DATATYPE:
            if parameter in values:
                report(parameter, f"{parameter} needs a Datatype beside it; {_present(column)}")
    soft_delete = bool(values.get("SoftDelete"))
    if column is None and values.get("Nullable") is False and values.get("IntegrateExpression") is None:
        kind = _declared(values, column, soft_delete, lambda *_: None)
        if not isinstance(kind, schema.String | schema.Integer | schema.Float):
            report("Nullable", f"{name!r} has no value: give it an IntegrateExpression, or let it be null")
    declared = _declared(values, column, soft_delete, report) or (column.type if column else schema.String())
    nullable = values.get("Nullable")
    if nullable is None:
        nullable = column.nullable if column else not (soft_delete or values.get("TimeKey"))
    text = values.get("IntegrateExpression")
    expression: tuple[Part, ...] = ()
    if text is not None:
        try:
            expression = parse(text, table, "IntegrateExpression", column.name if column else "")
            check_expression(name, expression, declared, table)
            expression = as_text(expression) if isinstance(declared, schema.String) else expression
        except ExpressionError as error:
            report("IntegrateExpression", str(error))
    scope = operations_of(values, expression, report, deletes=rules.deletes)
    operations = scope if rules.scopes else ()
    copied = column is not None and (not expression or operations != ())
    lossy = column is not None and copied and not convertible(column.type, declared)
    coerced = rules.coercion.policy != "FATAL" and "ROUNDING" in rules.coercion.types
    coerced = coerced and not isinstance(declared, schema.Time)  # without its day a moment is not rounded
    if column is not None and lossy and not (coerced and is_lossy(column.type, declared)):
        can = ", ".join(
            name for name in schema.DATATYPES if convertible(column.type, schema.datatype(name, None, 38, 9))
        )
        text = f"{name!r}: {schema.describe(column.type)} cannot become {schema.describe(declared)}"
        report("Datatype", f"{text}; it can become {can}")
    return Field(
        name=values.get("BaseName") or name,
        type=declared,
        nullable=nullable,
        source=column.name if column and copied else None,
        expression=expression,
        soft_delete=soft_delete,
        extra=column is None,
        column=column.name if column else None,
        operations=operations,
        lossy=lossy,
    )


def _present(column: Column | None) -> str:
    """Return what a column's Datatype is without one."""
    if column is None or isinstance(column.type, schema.String):
        return "for text write Datatype: varchar"
    return f"the column is {schema.describe(column.type)} now"


def _declared(
    values: dict[str, Any], column: Column | None, soft_delete: bool, report: Callable[[str, str], None]
) -> Type | None:
    if "Datatype" not in values:
        return schema.Integer(32) if soft_delete else None
    _check_sizes(values, report)
    sizes: dict[str, int | None] = {}
    for parameter in SIZES:
        try:
            sizes[parameter] = size(values.get(parameter), parameter, column)
        except ValueError as error:
            report(parameter, str(error))
            return None
    try:
        return schema.datatype(values["Datatype"], sizes["Length"], sizes["Precision"], sizes["Scale"])
    except KeyError as error:
        report("Datatype", str(error.args[0]))
        return None


SIZES = {
    "Length": ("char", "varchar", "enum"),
    "Precision": ("decimal", "numeric", "time", "timestamp", "timestamptz"),
    "Scale": ("decimal", "numeric"),
}
"""Which datatypes a size belongs to; with others it would do nothing."""


def _check_sizes(values: dict[str, Any], report: Callable[[str, str], None]) -> None:
    for parameter, kinds in SIZES.items():
        if values.get(parameter) is not None and values["Datatype"].removesuffix("[]") not in kinds:
            report(parameter, f"{parameter} belongs to {', '.join(kinds)}, and the Datatype is {values['Datatype']}")
