"""ColumnProperties -> the fields of a table's messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from integrator import schema
from integrator.channel.actions import ColumnProperties
from integrator.channel.merge import Parameters
from integrator.channel.problems import Report
from integrator.channel.reader import Path_
from integrator.contracts.table_recipe import Coercion, Field
from integrator.errors import Reason
from integrator.expressions.parse import as_text, parse
from integrator.expressions.parts import Part
from integrator.expressions.substitutions import ExpressionError
from integrator.plan.datatype_match import size
from integrator.plan.expressions import check_expression, convertible, is_lossy, operations_of
from integrator.plan.keys import UNHASHED, explicit_key
from integrator.plan.parameters import UNSET, ChannelScope, ColumnParameters
from integrator.schema import Column, Table, Type

NEEDS_DATATYPE = ("Length", "Precision", "Scale", "Nullable")


def _at_column(scope: ChannelScope, places: Mapping[str, int], own: Table) -> Report:
    """Return what takes the problems of a column, and puts them at the action that sets the parameter, or another."""

    def report(parameter: str, reason: str | Reason, table: str = own.name) -> None:
        path: Path_ = scope.definition(table)  # where no action speaks of the column
        if places:
            path = ("actions", places.get(parameter, next(iter(places.values()))), parameter)
        scope.problems.add(path, reason, table)

    return report


@dataclass(frozen=True)
class Rules:
    """What holds for all columns of a table: how values are coerced, and whether ExpressionScope is heeded."""

    coercion: Coercion
    scopes: bool
    deletes: bool
    """Whether the style sends deletes and truncates."""


def fields_of(table: Table, columns: ColumnParameters, rules: Rules, scope: ChannelScope) -> tuple[Field, ...]:
    """Return the fields of the table's messages: its columns in their order, then the Extra columns."""
    fields = [*_own_fields(table, columns, rules, scope), *_extra_fields(table, columns, rules, scope)]
    _check_names(fields, columns, table, scope)
    _check_some_are_sent(fields, columns, table, scope)
    return tuple(fields)


def _own_fields(table: Table, columns: ColumnParameters, rules: Rules, scope: ChannelScope) -> Iterator[Field]:
    key = explicit_key(table, columns)
    for column in table.columns:
        parameters = columns.get(column.name, UNSET)
        report = _at_column(scope, parameters.places, table)
        _check_column(parameters.values, column, key, report)
        if not parameters.values.Absent:
            yield _field(column.name, column, _Context(table, rules, parameters, report))


def _extra_fields(table: Table, columns: ColumnParameters, rules: Rules, scope: ChannelScope) -> Iterator[Field]:
    for name, parameters in columns.items():
        if table.column(name) is not None:
            continue
        values, report = parameters.values, _at_column(scope, parameters.places, table)
        if not values.Extra and name in scope.problems.removed.columns:
            continue
        if not values.Extra:
            accepted = "a new one needs Extra: true and a Datatype; its columns are"
            report("Name", scope.no_column(name, table, accepted))
        elif values.Datatype is None and not values.SoftDelete:
            report(
                "Extra", f"the Extra column {name!r} needs a Datatype or SoftDelete; for text write Datatype: varchar"
            )
        else:
            _check_extra(name, values, report)
            yield _field(name, None, _Context(table, rules, parameters, report))


def _check_names(fields: list[Field], columns: ColumnParameters, table: Table, scope: ChannelScope) -> None:
    """Report two columns of one name, at the action that names one of them."""
    seen: dict[str, Field] = {}
    for field in fields:
        other = seen.setdefault(field.name, field)
        if other is not field:
            named = next((one for one in (field, other) if one.column != one.name and one.column), field)
            places = columns.get(named.column or named.name, UNSET).places
            _at_column(scope, places, table)("BaseName", f"two columns are named {field.name!r}; choose another name")


def _check_some_are_sent(fields: list[Field], columns: ColumnParameters, table: Table, scope: ChannelScope) -> None:
    """Report messages that would have no column of the table."""
    if all(field.extra for field in fields) and table.columns:
        absent = [column.places["Absent"] for column in columns.values() if column.values.Absent]
        text = "all columns are absent, and nothing of a row would be sent; send one, or leave the table out: "
        text += f"{{action: TableProperties, table: {table.name}, Absent: true}}"
        scope.problems.add_at(
            absent[-1] if absent else None, "Absent", Reason(text, "all columns are absent"), table.name
        )


def _check_column(values: ColumnProperties, column: Column, key: tuple[str, ...], report: Report) -> None:
    """Report what the parameters of a column of the table cannot say."""
    if values.Extra:
        report("Extra", f"{column.name!r} is a column of the table; an Extra column needs a name of its own")
    if values.SoftDelete:
        report("SoftDelete", f"{column.name!r} is a column of the table; SoftDelete goes with an Extra column")
    if values.Absent:
        _check_absent(values, column, key, report)
    if isinstance(column.type, UNHASHED):
        _check_unhashed(values, column, key, report)


def _check_absent(values: ColumnProperties, column: Column, key: tuple[str, ...], report: Report) -> None:
    if column.name in key:
        text = f"{column.name!r} belongs to the key, which cannot be absent; let others be the key, or mask it"
        report("Absent", text)
    others = (
        ("BaseName", values.BaseName),
        ("Datatype", values.Datatype),
        ("IntegrateExpression", values.IntegrateExpression),
    )
    for other, given in others:
        if given:
            report(other, f"{other} and Absent exclude each other")


def _check_unhashed(values: ColumnProperties, column: Column, key: tuple[str, ...], report: Report) -> None:
    text = f"{column.name!r} is {schema.describe(column.type)}, which cannot be in a key"
    for parameter, is_set in (("Key", values.Key), ("DistributionKey", values.DistributionKey)):
        if is_set:
            report(parameter, text)
    if column.name in key:
        report("Name", f"{text}; let the key be others (Key)")


def _check_extra(name: str, values: ColumnProperties, report: Report) -> None:
    if values.Key or values.DistributionKey:
        report("Key" if values.Key else "DistributionKey", f"the Extra column {name!r} cannot be in a key")
    for other, given in (("Absent", values.Absent), ("BaseName", values.BaseName)):
        if given:
            report(other, f"{other} and Extra exclude each other")
    if values.SoftDelete and values.IntegrateExpression is not None:
        report("IntegrateExpression", "a SoftDelete column has its own value: leave the expression out")
    if values.TimeKey and not values.IntegrateExpression:
        report("TimeKey", 'a TimeKey needs a growing value, for example IntegrateExpression: "{hvr_integ_seq}"')


@dataclass(frozen=True)
class _Context:
    """What a field is made of: its table and the rules of that, and what is given for the column."""

    table: Table
    rules: Rules
    given: Parameters[ColumnProperties]
    report: Report


def _field(name: str, column: Column | None, context: _Context) -> Field:
    """Return the field of a column; without one, of an Extra column. What is wrong is reported."""
    values, rules, report = context.given.values, context.rules, context.report
    _check_datatype_is_beside(column, context)
    _check_has_value(name, column, values, report)
    declared = _declared(values, column, report) or (column.type if column else schema.String())
    expression = _expression(name, column, declared, context)
    scope = operations_of(values.ExpressionScope, expression, report, deletes=rules.deletes)
    operations = scope if rules.scopes else ()
    copied = column is not None and (not expression or operations != ())
    lossy = column is not None and copied and not convertible(column.type, declared)
    if column is not None and lossy and not _is_coerced(column.type, declared, rules.coercion):
        report("Datatype", f"{column.name!r}: {_not_convertible(column.type, declared)}")
    return Field(
        name=values.BaseName or name,
        type=declared,
        nullable=_nullable(column, values),
        source=column.name if column and copied else None,
        expression=expression,
        soft_delete=values.SoftDelete,
        extra=column is None,
        column=column.name if column else None,
        operations=operations,
        lossy=lossy,
        uncompared=values.IgnoreDuringCompare,
        default=column.default if column is not None and declared == column.type and not expression else None,
    )


def _check_datatype_is_beside(column: Column | None, context: _Context) -> None:
    if context.given.values.Datatype is None:
        for parameter in NEEDS_DATATYPE:
            if parameter in context.given.places:
                text = f"{parameter} needs a Datatype beside it"
                context.report(parameter, Reason(f"{text}; {_present(column)}", text))


def _check_has_value(name: str, column: Column | None, values: ColumnProperties, report: Report) -> None:
    """Report an Extra column that may not be null, and has neither an expression nor a value of its type."""
    if column is None and values.Nullable is False and values.IntegrateExpression is None:
        kind = _declared(values, column, lambda *_: None)
        if not isinstance(kind, schema.String | schema.Integer | schema.Float):
            report("Nullable", f"{name!r} has no value: give it an IntegrateExpression, or let it be null")


def _nullable(column: Column | None, values: ColumnProperties) -> bool:
    if values.Nullable is not None:
        return values.Nullable
    return column.nullable if column else not (values.SoftDelete or values.TimeKey)


def _expression(name: str, column: Column | None, declared: Type, context: _Context) -> tuple[Part, ...]:
    """Return the parts of IntegrateExpression; none where there is none, or a wrong one, which is reported."""
    text, table = context.given.values.IntegrateExpression, context.table
    if text is None:
        return ()
    expression: tuple[Part, ...] = ()
    try:
        expression = parse(text, table, "IntegrateExpression", column.name if column else "")
        check_expression(name, expression, declared, table)
        expression = as_text(expression) if isinstance(declared, schema.String) else expression
    except ExpressionError as error:
        context.report("IntegrateExpression", error.reason)
    return expression


def _is_coerced(given: Type, declared: Type, coercion: Coercion) -> bool:
    """Return whether values that would be lossy are rounded, as the channel says."""
    rounds = coercion.policy != "FATAL" and "ROUNDING" in coercion.types
    return rounds and not isinstance(declared, schema.Time) and is_lossy(given, declared)  # a time without its day


def _not_convertible(given: Type, declared: Type) -> str:
    can = ", ".join(name for name in schema.DATATYPES if convertible(given, schema.datatype(name, None, 38, 9)))
    return f"{schema.describe(given)} cannot become {schema.describe(declared)}; it can become {can}"


def _present(column: Column | None) -> str:
    """Return what a column's Datatype is without one."""
    if column is None or isinstance(column.type, schema.String):
        return "for text write Datatype: varchar"
    return f"the column is {schema.describe(column.type)} now"


def _declared(values: ColumnProperties, column: Column | None, report: Callable[[str, str], None]) -> Type | None:
    """Return the type that a Datatype declares, or that SoftDelete means; None where there is none, or a wrong one."""
    if values.Datatype is None:
        return schema.Integer(32) if values.SoftDelete else None
    sizes: dict[str, int | None] = {}
    for parameter, kinds, given in _sizes(values):
        if given is not None and values.Datatype.removesuffix("[]") not in kinds:
            report(parameter, f"{parameter} belongs to {', '.join(kinds)}, and the Datatype is {values.Datatype}")
    for parameter, _, given in _sizes(values):
        try:
            sizes[parameter] = size(given, parameter, column)
        except ValueError as error:
            report(parameter, str(error))
            return None
    try:
        return schema.datatype(values.Datatype, sizes["Length"], sizes["Precision"], sizes["Scale"])
    except KeyError as error:
        report("Datatype", str(error.args[0]))
        return None


def _sizes(values: ColumnProperties) -> tuple[tuple[str, tuple[str, ...], int | str | None], ...]:
    """Return each size, and the datatypes that it belongs to: with others it has no effect."""
    return (
        ("Length", ("char", "varchar", "enum"), values.Length),
        ("Precision", ("decimal", "numeric", "time", "timestamp", "timestamptz"), values.Precision),
        ("Scale", ("decimal", "numeric"), values.Scale),
    )
