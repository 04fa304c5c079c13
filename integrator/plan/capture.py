"""Actions at the source, and those on values wherever they are defined -> how change rows are captured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa

from integrator import schema
from integrator.arrow.arrays import scalar_of
from integrator.channel import scope as scopes
from integrator.channel.actions import ColumnProperties, TableProperties
from integrator.channel.merge import Parameters
from integrator.contracts.table_recipe import CaptureRecipe
from integrator.expressions.parse import parse
from integrator.expressions.parts import Part
from integrator.expressions.substitutions import ExpressionError
from integrator.names import meant
from integrator.plan.parameters import UNSET, TableScope
from integrator.plan.restrict import restricted
from integrator.schema import Column, Table, arrow_type
from integrator.transform import sql_types as engine


@dataclass(frozen=True)
class TableParameters:
    """A table with its replication key, and what actions give for it.

    keyed: it has a key of its own, or was given one. extra: the columns that only its messages have.
    """

    table: Table
    keyed: bool
    extra: frozenset[str]
    given: TableScope

    def at_source(self, column: Column) -> Parameters[ColumnProperties]:
        """Return what is given for a column at the source."""
        return self.given.source.columns.get(column.name, UNSET)


_ESCAPE = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}


def capture_of(parameters: TableParameters, kafka: str, group: str) -> CaptureRecipe:
    """Return what is done to the change rows of a table first; what is wrong is reported, by place and parameter."""
    _check_names(parameters)
    in_records, names, absent = _in_records(parameters)
    recipe = CaptureRecipe(
        blanks=_blanks(parameters),
        days=_days(parameters),
        characters=_characters(parameters),
        table=in_records if in_records != parameters.table else None,
        names=names,
        absent=absent,
        expressions=_expressions(parameters, in_records),
        trims=_trims(parameters),
        missing=_missing(parameters),
        augment=_augments(parameters),
        coalesce=_coalesces(parameters),
    )
    return restricted(recipe, parameters.given, in_records, (kafka, group))


def _blanks(parameters: TableParameters) -> tuple[str, ...]:
    """Return the columns of text at whose end blanks are cut off."""
    types = [(column.name, column.type) for column in parameters.table.columns]
    if not parameters.given.either.properties.values.TrimWhiteSpace:
        return ()
    return tuple(name for name, type_ in types if isinstance(type_, schema.String) and type_.length and not type_.role)


def _days(parameters: TableParameters) -> tuple[str, ...]:
    """Return the timestamps that lose their time."""
    if parameters.given.either.properties.values.TrimTime != "YES":
        return ()
    columns = parameters.table.columns
    return tuple(c.name for c in columns if isinstance(c.type, schema.Timestamp) and not c.type.zoned)


def _in_records(parameters: TableParameters) -> tuple[Table, tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Return the table as the records have it, columns that have other names there, and those that are not there."""
    table, names, absent = parameters.table, dict[str, str](), list[str]()
    columns: list[Column] = []
    for column in table.columns:
        at_source = parameters.at_source(column)
        if at_source.values.Absent:
            absent.append(column.name)
            if column.name in table.key:
                text = f"{column.name!r} belongs to the key, which cannot be absent; leave Absent out"
                parameters.given.report(at_source.places["Absent"], "Absent", text)
            continue
        name = at_source.values.BaseName or column.name
        if name != column.name:
            names[column.name] = name
            if table.column(name) is not None or name in {other.name for other in columns}:
                text = f"two columns would be named {name!r} in the records"
                parameters.given.report(at_source.places["BaseName"], "BaseName", text)
        columns.append(replace(column, name=name))
    key = tuple(names.get(name, name) for name in table.key)
    return replace(table, columns=tuple(columns), key=key), tuple(names.items()), tuple(absent)


def _check_names(parameters: TableParameters) -> None:
    """Report columns that are not the table's where a parameter is set for them that would be applied at the source."""
    given, known = parameters.given, [column.name for column in parameters.table.columns]
    for name, at_source in given.source.columns.items():
        if parameters.table.column(name) is not None:
            continue
        for parameter in sorted(scopes.AT_SOURCE["ColumnProperties"] & set(at_source.places) - {"IgnoreDuringCompare"}):
            place = at_source.places[parameter]
            if name in parameters.extra:
                given.report(place, parameter, _is_extra(name))
            elif given.scope.channel.actions[place].group != "*":  # else the fields' own check reports it
                given.report(place, "Name", f"{name!r} is no column; {meant(name, known, 'its columns are')}")


def _is_extra(name: str) -> str:
    return f"{name!r} is an Extra column, which the source has not"


def _expressions(parameters: TableParameters, in_records: Table) -> tuple[tuple[str, tuple[Part, ...]], ...]:
    """Return the expressions of CaptureExpression, by column."""
    found = ((column.name, _expression(parameters, column, in_records)) for column in parameters.table.columns)
    return tuple((name, parts) for name, parts in found if parts)


def _expression(parameters: TableParameters, column: Column, in_records: Table) -> tuple[Part, ...]:
    """Return the parts of a column's CaptureExpression; none where there is none, or a wrong one, which is reported."""
    at_source, report = parameters.at_source(column), parameters.given.report
    text = at_source.values.CaptureExpression
    if text is None:
        if "CaptureExpressionType" in at_source.places:
            place = at_source.places["CaptureExpressionType"]
            report(place, "CaptureExpressionType", "goes with CaptureExpression")
        return ()
    own = at_source.values.BaseName or column.name
    try:
        parts = parse(text, in_records, "CaptureExpression", own if in_records.column(own) else "")
        engine.check(parts, in_records, column.type)
    except ExpressionError as error:
        report(at_source.places["CaptureExpression"], "CaptureExpression", error.reason)
        return ()
    return parts


def _trims(parameters: TableParameters) -> tuple[tuple[str, int], ...]:
    """Return the columns that are cut, and to how many bytes."""
    trims = []
    for name, given in parameters.given.either.columns.items():
        size, column = given.values.TrimDatatype, parameters.table.column(name)
        if size is None:
            continue
        if name in parameters.extra:
            parameters.given.report(given.places["TrimDatatype"], "TrimDatatype", _is_extra(name))
        if column is not None and isinstance(column.type, schema.String | schema.Bytes):
            trims.append((name, size))
        elif column is not None:
            text = f"{name!r} is {schema.describe(column.type)}; only text and bytes can be cut"
            parameters.given.report(given.places["TrimDatatype"], "TrimDatatype", text)
    return tuple(trims)


def _characters(parameters: TableParameters) -> tuple[tuple[str, str], ...]:
    """Return the characters of CharacterMapping, and what stands for each; none for a table without text."""
    properties = parameters.given.either.properties
    text, place = properties.values.CharacterMapping, properties.place("CharacterMapping")
    rules: list[tuple[str, str]] = []
    if not text or not any(isinstance(column.type, schema.String) for column in parameters.table.columns):
        return ()
    try:
        for rule in filter(None, text.split(";")):
            given, arrow, replacement = rule.partition(">")
            one = _unescaped(given)
            if not arrow or len(one) != 1:
                wrong = f"{rule!r} is no rule; write CHARACTER>TEXT;CHARACTER>TEXT"
                parameters.given.report(place, "CharacterMapping", wrong)
            rules.append((one, _unescaped(replacement)))
    except ValueError as error:
        parameters.given.report(place, "CharacterMapping", str(error))
    return tuple(rules)


def _unescaped(text: str) -> str:
    made, at = [], 0
    while at < len(text):
        kind = text[at + 1 : at + 2] if text[at] == "\\" else ""
        digits = {"x": 2, "u": 4, "U": 8}.get(kind, 0)
        if not kind:
            made.append(text[at])
            at += 1
        elif digits:
            made.append(_character(text[at : at + 2 + digits], digits))
            at += 2 + digits
        elif kind in _ESCAPE:
            made.append(_ESCAPE[kind])
            at += 2
        else:
            raise ValueError(f"\\{kind} is no escape; accepted are \\n \\r \\t \\\\ \\xNN \\uNNNN \\UNNNNNNNN")
    return "".join(made)


def _character(written: str, digits: int) -> str:
    try:
        made = bytes.fromhex(written[2:].zfill(8)).decode("utf-32-be")
    except ValueError:  # UnicodeDecodeError, of half a character, among them
        made = ""
    if not made or len(written) != digits + 2:
        raise ValueError(f"{written} is no character; write \\{written[1]} and {digits} hex digits of one")
    return made


def _missing(parameters: TableParameters) -> tuple[tuple[str, str], ...]:
    """Return what is sent for missing values, by column: of the types for which the channel says it, and no others."""
    properties, table = parameters.given.either.properties, parameters.table
    made = []
    for name, text, is_of in _representations(properties.values):
        for column in table.columns:
            if text is None or not is_of(column.type) or column.name in table.key:
                continue
            try:
                scalar_of(text, _checked_as(column.type))
            except pa.ArrowInvalid:
                wanted = "number" if isinstance(column.type, schema.String) else schema.describe(column.type)
                problem = f"{text!r} is no {wanted}, which {column.name!r} is"
                parameters.given.report(properties.places[name], name, problem)
            else:
                made.append((column.name, text))
    return tuple(made)


def _representations(given: TableProperties) -> tuple[tuple[str, str | None, Callable[[schema.Type], bool]], ...]:
    """Return the parameters that say what is sent for missing values, their texts, and which types they are for."""
    return (
        (
            "MissingRepresentationString",
            given.MissingRepresentationString,
            lambda type_: isinstance(type_, schema.String) and not type_.role,
        ),
        ("MissingRepresentationNumeric", given.MissingRepresentationNumeric, schema.is_number),
        (
            "MissingRepresentationDate",
            given.MissingRepresentationDate,
            lambda type_: isinstance(type_, schema.Date | schema.Timestamp),
        ),
    )


def _checked_as(kind: schema.Type) -> pa.DataType:
    """Return the type that a value for missing ones must have: a number where numbers are text."""
    return pa.float64() if schema.is_number(kind) and isinstance(kind, schema.String) else arrow_type(kind)


def _coalesces(parameters: TableParameters) -> bool:
    capture = parameters.given.either.capture
    if capture.values.Coalesce and not parameters.keyed:
        text = "Coalesce needs a key, which identifies the row of each change; give the table one (Key)"
        parameters.given.report(capture.places["Coalesce"], "Coalesce", text)
    return capture.values.Coalesce


def _augments(parameters: TableParameters) -> bool:
    how = parameters.given.either.capture.values.AugmentIncomplete
    types = [column.type for column in parameters.table.columns]
    long = any(isinstance(t, schema.Bytes) or (isinstance(t, schema.String) and t.length is None) for t in types)
    return how == "ALL" or (how == "LOB" and long)
