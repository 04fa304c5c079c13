"""Actions at the source, and those on values wherever they are defined -> how change rows are captured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from integrator import schema
from integrator.channel import scope as scopes
from integrator.contracts.table_recipe import CaptureRecipe
from integrator.expressions.parse import parse
from integrator.expressions.parts import Part
from integrator.expressions.substitutions import ExpressionError
from integrator.names import meant
from integrator.plan.parameters import TableParameters
from integrator.plan.restrict import restricted
from integrator.schema import Column, Table, arrow_type
from integrator.transform import sql_types as engine

_ESCAPE = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}


def capture_of(parameters: TableParameters, kafka: str, group: str) -> CaptureRecipe:
    """Return what is done to the change rows of a table first; what is wrong is reported, by place and parameter."""
    in_records, names, absent = _in_records(parameters)
    table = parameters.table
    properties, recipe = parameters.properties, CaptureRecipe()
    text = [column for column in table.columns if isinstance(column.type, schema.String)]
    if properties.get("TrimWhiteSpace"):
        blanks = tuple(c.name for c in text if isinstance(c.type, schema.String) and c.type.length and not c.type.role)
        recipe = replace(recipe, blanks=blanks)
    if properties.get("TrimTime") == "YES":
        moments = (c.name for c in table.columns if isinstance(c.type, schema.Timestamp) and not c.type.zoned)
        recipe = replace(recipe, days=tuple(moments))
    if text and properties.get("CharacterMapping"):
        recipe = replace(recipe, characters=_characters(parameters))
    recipe = replace(
        recipe,
        table=in_records if in_records != table else None,
        names=names,
        absent=absent,
        expressions=_expressions(parameters, in_records),
        trims=_trims(parameters),
        missing=_missing(parameters),
        augment=_augments(parameters),
        coalesce=_coalesces(parameters),
    )
    return restricted(recipe, parameters, in_records, (kafka, group))


def _in_records(parameters: TableParameters) -> tuple[Table, tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Return the table as the records have it, columns that have other names there, and those that are not there."""
    table, names, absent = parameters.table, [], []
    columns: list[Column] = []
    _check_names(parameters)
    for column in table.columns:
        values, places = parameters.columns_at_source.get(column.name, ({}, {}))
        if values.get("Absent"):
            if column.name in table.key:
                parameters.report(
                    places["Absent"],
                    "Absent",
                    f"{column.name!r} belongs to the key, which cannot be absent; leave Absent out",
                )
            absent.append(column.name)
            continue
        name = values.get("BaseName") or column.name
        if name != column.name:
            names.append((column.name, name))
        if name != column.name and (table.column(name) is not None or name in {other.name for other in columns}):
            parameters.report(places["BaseName"], "BaseName", f"two columns would be named {name!r} in the records")
        columns.append(replace(column, name=name))
    of_source = dict(names)
    key = tuple(of_source.get(name, name) for name in table.key)
    return replace(table, columns=tuple(columns), key=key), tuple(names), tuple(absent)


def _check_names(parameters: TableParameters) -> None:
    """Report columns that are not the table's where a parameter is set for them that would be applied at the source."""
    known = [column.name for column in parameters.table.columns]
    for name, (values, places) in parameters.columns_at_source.items():
        if parameters.table.column(name) is not None:
            continue
        for parameter in sorted(scopes.AT_SOURCE["ColumnProperties"] & set(values) - {"IgnoreDuringCompare"}):
            if name in parameters.extra:
                parameters.report(
                    places[parameter], parameter, f"{name!r} is an Extra column, which the source has not"
                )
            elif parameters.actions[places[parameter]].group != "*":  # else the fields' own check reports it
                parameters.report(
                    places[parameter], "Name", f"{name!r} is no column; {meant(name, known, 'its columns are')}"
                )


def _expressions(parameters: TableParameters, in_records: Table) -> tuple[tuple[str, tuple[Part, ...]], ...]:
    made = []
    for column in parameters.table.columns:
        values, places = parameters.columns_at_source.get(column.name, ({}, {}))
        text = values.get("CaptureExpression")
        if text is None:
            if "CaptureExpressionType" in values:
                parameters.report(
                    places["CaptureExpressionType"], "CaptureExpressionType", "goes with CaptureExpression"
                )
            continue
        own = values.get("BaseName") or column.name
        try:
            parts = parse(text, in_records, "CaptureExpression", own if in_records.column(own) else "")
            engine.check(parts, in_records, column.type)
        except ExpressionError as error:
            parameters.report(places["CaptureExpression"], "CaptureExpression", str(error))
        else:
            made.append((column.name, parts))
    return tuple(made)


def _trims(parameters: TableParameters) -> tuple[tuple[str, int], ...]:
    """Return the columns that are cut, and to how many bytes."""
    trims = []
    for name, (values, places) in parameters.columns.items():
        size, column = values.get("TrimDatatype"), parameters.table.column(name)
        if size is not None and name in parameters.extra:
            text = f"{name!r} is an Extra column, which the source has not"
            parameters.report(places["TrimDatatype"], "TrimDatatype", text)
        if size is None or column is None:
            continue
        if isinstance(column.type, schema.String | schema.Bytes):
            trims.append((name, size))
        else:
            text = f"{name!r} is {schema.describe(column.type)}; only text and bytes can be cut"
            parameters.report(places["TrimDatatype"], "TrimDatatype", text)
    return tuple(trims)


def _characters(parameters: TableParameters) -> tuple[tuple[str, str], ...]:
    text, place = parameters.properties.get("CharacterMapping"), parameters.properties.place("CharacterMapping")
    rules: list[tuple[str, str]] = []
    try:
        for rule in filter(None, text.split(";")):
            given, arrow, replacement = rule.partition(">")
            one = _unescaped(given)
            if not arrow or len(one) != 1:
                parameters.report(
                    place, "CharacterMapping", f"{rule!r} is no rule; write CHARACTER>TEXT;CHARACTER>TEXT"
                )
            rules.append((one, _unescaped(replacement)))
    except ValueError as error:
        parameters.report(place, "CharacterMapping", str(error))
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


_KINDS: dict[str, Callable[[schema.Type], bool]] = {
    "MissingRepresentationString": lambda kind: isinstance(kind, schema.String) and not kind.role,
    "MissingRepresentationNumeric": schema.is_number,
    "MissingRepresentationDate": lambda kind: isinstance(kind, schema.Date | schema.Timestamp),
}


def _missing(parameters: TableParameters) -> tuple[tuple[str, str], ...]:
    """Return what is sent for missing values, by column: of the kinds for which the channel says it, and no others."""
    made = []
    for name, is_of in _KINDS.items():
        text = parameters.properties.get(name)
        for column in parameters.table.columns:
            if text is None or not is_of(column.type) or column.name in parameters.table.key:
                continue
            try:
                pa.scalar(text).cast(_checked_as(column.type))
            except pa.ArrowInvalid:
                wanted = "number" if isinstance(column.type, schema.String) else schema.describe(column.type)
                problem = f"{text!r} is no {wanted}, which {column.name!r} is"
                parameters.report(parameters.properties.place(name), name, problem)
            else:
                made.append((column.name, text))
    return tuple(made)


def _checked_as(kind: schema.Type) -> pa.DataType:
    """Return the type that a value for missing ones must have: a number where numbers are text."""
    return pa.float64() if schema.is_number(kind) and isinstance(kind, schema.String) else arrow_type(kind)


def _coalesces(parameters: TableParameters) -> bool:
    wanted = bool(parameters.capture.get("Coalesce"))
    if wanted and not parameters.keyed:
        text = "Coalesce needs a key, which identifies the row of each change; give the table one (Key)"
        parameters.report(parameters.capture.place("Coalesce"), "Coalesce", text)
    return wanted


def _augments(parameters: TableParameters) -> bool:
    how = parameters.capture.get("AugmentIncomplete", "NONE")
    types = [column.type for column in parameters.table.columns]
    long = any(isinstance(t, schema.Bytes) or (isinstance(t, schema.String) and t.length is None) for t in types)
    return how == "ALL" or (how == "LOB" and long)
