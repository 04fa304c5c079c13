"""What holds at the source, and what is done to values wherever it is said -> how change rows are captured."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from integrator import schema
from integrator.expression import ExpressionError, Part, parse
from integrator.plan.restrict import restricted
from integrator.plan.saying import Saying
from integrator.properties import sql as engine
from integrator.recipe import CaptureRecipe
from integrator.schema import Column, Table, arrow_type

_ESCAPE = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}


def capture_of(saying: Saying, kafka: str, group: str) -> CaptureRecipe:
    """Return what is done to the change rows of a table first; what is wrong is reported, by place and parameter."""
    in_records, names, absent = _in_records(saying)
    table = saying.table
    properties, said = saying.properties, CaptureRecipe()
    text = [column for column in table.columns if isinstance(column.type, schema.String)]
    if properties.either("TrimWhiteSpace"):
        blanks = tuple(c.name for c in text if isinstance(c.type, schema.String) and c.type.length and not c.type.role)
        said = replace(said, blanks=blanks)
    if properties.either("TrimTime") == "YES":
        moments = (c.name for c in table.columns if isinstance(c.type, schema.Timestamp) and not c.type.zoned)
        said = replace(said, days=tuple(moments))
    if text and properties.either("CharacterMapping"):
        said = replace(said, characters=_characters(saying))
    said = replace(
        said,
        table=in_records if in_records != table else None,
        names=names,
        absent=absent,
        expressions=_expressions(saying, in_records),
        trims=_trims(saying),
        missing=_missing(saying),
        augment=_augments(saying),
        coalesce=bool(saying.capture.either("Coalesce")),
    )
    return restricted(said, saying, in_records, (kafka, group))


def _in_records(saying: Saying) -> tuple[Table, tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Return the table as the records have it, columns that have other names there, and those that are not there."""
    table, columns, names, absent = saying.table, [], [], []
    for column in table.columns:
        values, places = saying.columns_at_source.get(column.name, ({}, {}))
        if saying.at_source(values, places, "Absent"):
            if column.name in table.key:
                saying.report(places["Absent"], "Absent", f"{column.name!r} belongs to the key, which cannot be absent")
            absent.append(column.name)
            continue
        name = saying.at_source(values, places, "BaseName") or column.name
        if name != column.name:
            names.append((column.name, name))
        columns.append(replace(column, name=name))
    of_source = dict(names)
    key = tuple(of_source.get(name, name) for name in table.key)
    base = saying.at_source(*saying.properties.source, "BaseName") or table.base_name
    return replace(table, base_name=base, columns=tuple(columns), key=key), tuple(names), tuple(absent)


def _expressions(saying: Saying, in_records: Table) -> tuple[tuple[str, tuple[Part, ...]], ...]:
    made = []
    for column in saying.table.columns:
        values, places = saying.columns_at_source.get(column.name, ({}, {}))
        text = values.get("CaptureExpression")
        if text is None:
            if "CaptureExpressionType" in values:
                saying.report(places["CaptureExpressionType"], "CaptureExpressionType", "goes with CaptureExpression")
            continue
        own = values.get("BaseName") or column.name
        try:
            parts = parse(text, in_records, "CaptureExpression", own if in_records.column(own) else "")
            engine.check(parts, in_records, column.type)
        except ExpressionError as error:
            saying.report(places["CaptureExpression"], "CaptureExpression", str(error))
        else:
            made.append((column.name, parts))
    return tuple(made)


def _trims(saying: Saying) -> tuple[tuple[str, int], ...]:
    """Return the columns that are cut: to the smaller of what is said at the source and at Kafka."""
    trims: dict[str, int] = {}
    for merged in (saying.columns_at_source, saying.columns_at_kafka):
        for name, (values, places) in merged.items():
            size, column = values.get("TrimDatatype"), saying.table.column(name)
            if size is None or column is None:
                continue
            if isinstance(column.type, schema.String | schema.Bytes):
                trims[name] = min(size, trims.get(name, size))
            else:
                text = f"{name!r} is {schema.describe(column.type)}; only text and bytes can be cut"
                saying.report(places["TrimDatatype"], "TrimDatatype", text)
    return tuple(trims.items())


def _characters(saying: Saying) -> tuple[tuple[str, str], ...]:
    text, place = saying.properties.either("CharacterMapping"), saying.properties.place("CharacterMapping")
    rules: list[tuple[str, str]] = []
    try:
        for rule in filter(None, text.split(";")):
            given, arrow, said = rule.partition(">")
            one = _unescaped(given)
            if not arrow or len(one) != 1:
                saying.report(place, "CharacterMapping", f"{rule!r} is no rule; write CHARACTER>TEXT;CHARACTER>TEXT")
            rules.append((one, _unescaped(said)))
    except ValueError as error:
        saying.report(place, "CharacterMapping", str(error))
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
            made.append(chr(int(text[at + 2 : at + 2 + digits], 16)))
            at += 2 + digits
        elif kind in _ESCAPE:
            made.append(_ESCAPE[kind])
            at += 2
        else:
            raise ValueError(f"\\{kind} is no escape; accepted are \\n \\r \\t \\\\ \\xNN \\uNNNN \\UNNNNNNNN")
    return "".join(made)


_KINDS: dict[str, tuple[type, ...]] = {
    "MissingRepresentationString": (schema.String,),
    "MissingRepresentationNumeric": (schema.Integer, schema.Float, schema.Decimal),
    "MissingRepresentationDate": (schema.Date, schema.Timestamp),
}
_IMPLIED = {"MissingRepresentationString": "", "MissingRepresentationNumeric": "0"}


def _missing(saying: Saying) -> tuple[tuple[str, str], ...]:
    """Return what is sent for missing values, by column: where one kind is said, text and numbers have a default."""
    given = {name: saying.properties.either(name) for name in _KINDS}
    if not any(text is not None for text in given.values()):
        return ()
    made = []
    for name, kinds in _KINDS.items():
        text = given[name] if given[name] is not None else _IMPLIED.get(name)
        for column in saying.table.columns:
            if (
                text is None
                or not isinstance(column.type, kinds)
                or _has_role(column)
                or column.name in saying.table.key
            ):
                continue
            try:
                pa.scalar(text).cast(arrow_type(column.type))
            except pa.ArrowInvalid:
                said = f"{text!r} is no {schema.describe(column.type)}, which {column.name!r} is"
                saying.report(saying.properties.place(name), name, said)
            else:
                made.append((column.name, text))
    return tuple(made)


def _has_role(column: Column) -> bool:
    return isinstance(column.type, schema.String) and bool(column.type.role)


def _augments(saying: Saying) -> bool:
    how = saying.capture.either("AugmentIncomplete", "NONE")
    types = [column.type for column in saying.table.columns]
    long = any(isinstance(t, schema.Bytes) or (isinstance(t, schema.String) and t.length is None) for t in types)
    return how == "ALL" or (how == "LOB" and long)
