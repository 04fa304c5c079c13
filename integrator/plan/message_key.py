"""Integrate's MessageKey, MessageKeySerializer and MessageHeaders -> how a table's keys and headers are made."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from integrator import schema
from integrator.channel.actions import Integrate
from integrator.channel.problems import Report
from integrator.contracts.message_format import MessageFormat
from integrator.contracts.table_recipe import Field, KeyRecipe
from integrator.encode.envelopes import ENVELOPES
from integrator.expressions.parse import natural_type, parse
from integrator.expressions.parts import ColumnValue, Op, Part, Sql
from integrator.expressions.substitutions import MESSAGE_FORMAT, ExpressionError
from integrator.formats.contract import refusals
from integrator.formats.header_values import HEADERS
from integrator.formats.keys import KEYS
from integrator.schema import Table
from integrator.transform import sql_types

DEFAULT_KEY = "{hvr_key_hash}"
_LONE = "_COLUMN"
"""The end of the names of serializers that write one key column alone."""


def key_of(
    integrate: Integrate,
    table: Table,
    fields: tuple[Field, ...],
    layout: MessageFormat,
    report: Report,
    *,
    registry: bool,
) -> KeyRecipe:
    """Return how the keys of `table` are made; what is wrong is reported."""
    if layout.bundling.keyless:
        _check_keyless(integrate, layout, report)
        return KeyRecipe("NONE")
    serializer = integrate.MessageKeySerializer or _default(integrate, layout, registry=registry)
    _check_serializer(serializer, integrate.MessageKey, report, registry=registry)
    if serializer == "NONE":
        return KeyRecipe("NONE")
    if KEYS[serializer].text:
        text = integrate.MessageKey if integrate.MessageKey is not None else _default_expression(layout)
        return KeyRecipe(serializer, expression=_parsed("MessageKey", text, table, report))
    return _of_columns(serializer, table, fields, layout, report)


def _check_keyless(integrate: Integrate, layout: MessageFormat, report: Report) -> None:
    given = (("MessageKey", integrate.MessageKey), ("MessageKeySerializer", integrate.MessageKeySerializer))
    for parameter, value in given:
        if value not in (None, "NONE"):
            text = f"a message of {layout.bundling.mode} holds rows of many keys, and has none: leave it out"
            report(parameter, text)


def _check_serializer(serializer: str, expression: str | None, report: Report, *, registry: bool) -> None:
    """Report what a serializer needs, or has no use for."""
    key_format = KEYS[serializer]
    if key_format.schema_type and not registry:
        report(
            "MessageKeySerializer",
            f"{serializer} needs a schema registry; give its URL as Kafka_Schema_Registry, or use STRING",
        )
    if not key_format.text and expression is not None:
        report("MessageKey", f"{serializer} writes the key columns of the row: leave the expression out")
    if serializer == "NONE" and expression is not None:
        report("MessageKey", "MessageKeySerializer NONE sends no key: leave the expression out")


def _of_columns(
    serializer: str, table: Table, fields: tuple[Field, ...], layout: MessageFormat, report: Report
) -> KeyRecipe:
    """Return how keys are made of the columns of the table's key; what the serializer cannot write is reported."""
    key_format = KEYS[serializer]
    by_column = {field.column: field for field in fields if field.column is not None}
    of_key = [by_column[name] for name in table.key if name in by_column]
    columns = tuple(field.as_column(nullable=field.nullable) for field in of_key)
    if key_format.lone and len(columns) != 1:
        found = ", ".join(column.name for column in columns)
        text = f"{serializer} is the value of one key column, and the key is {found}: use {serializer[: -len(_LONE)]}"
        report("MessageKeySerializer", text, table.name)
        return KeyRecipe("NONE")
    if key_format.of_struct is not None:
        for column, why in refusals(key_format.of_struct, columns, layout.options):
            report("MessageKeySerializer", f"key column {column}, {serializer}: {why}", table.name)
    return KeyRecipe(serializer, columns=columns)


def _default_expression(layout: MessageFormat) -> str:
    return ENVELOPES[layout.envelope].key_expression if layout.envelope else DEFAULT_KEY


def _default(integrate: Integrate, layout: MessageFormat, *, registry: bool) -> str:
    """Return the serializer where the channel names none: HVR's, or the envelope's."""
    if registry:
        return "KAFKA_AVRO"
    if integrate.MessageKey is not None:
        return "STRING"
    if not layout.envelope:
        return "CONNECT"
    key = ENVELOPES[layout.envelope].key
    without_schemas = key == "CONNECT_SCHEMA" and layout.format != "SCHEMA_PAYLOAD"
    return "CONNECT_PAYLOAD" if without_schemas else key  # a reader of values without schemas expects keys without


def _entries(text: str) -> list[str]:
    """Cut a text at the semicolons that are in no substitution: the next brace after one is none that closes."""
    entries, end, in_braces = list[str](), len(text), False
    for at in range(len(text) - 1, -1, -1):
        if text[at] in "{}":
            in_braces = text[at] == "}"
        elif text[at] == ";" and not in_braces:
            entries.append(text[at + 1 : end].strip())
            end = at
    return [one for one in (text[:end].strip(), *reversed(entries)) if one]


def headers_of(integrate: Integrate, table: Table, report: Report) -> tuple[tuple[str, tuple[Part, ...]], ...]:
    """Return the headers' names and expressions: `name=template;name=template`; what is wrong is reported."""
    headers = []
    written = HEADERS[integrate.MessageHeaderSerializer or "STRING"]
    if integrate.MessageHeaderSerializer and not integrate.MessageHeaders:
        report("MessageHeaderSerializer", "needs MessageHeaders, whose values it writes; leave it out")
    for entry in _entries(integrate.MessageHeaders or ""):
        name, equals, text = entry.partition("=")
        if not equals or not name.strip():
            report("MessageHeaders", f"{entry!r} is no header; write name=template;name=template")
        else:
            parts = _parsed("MessageHeaders", text, table, report, typed=written.typed)
            parts = tuple(map(_unformatted, parts)) if written.typed and "%" not in text else parts
            why = written.refusal(natural_type(parts, table)) if parts and not isinstance(parts[0], Sql) else None
            if why:
                report("MessageHeaders", f"header {name.strip()}: {why}", table.name)
            headers.append((name.strip(), parts))
    return tuple(headers)


def _unformatted(part: Part) -> Part:
    """Return a part whose time stamps are no text: none has a format but that of messages."""
    match part:
        case ColumnValue() | Op() if part.spec.startswith(MESSAGE_FORMAT):
            return replace(part, spec="")
    return part


def _parsed(
    parameter: Literal["MessageKey", "MessageHeaders"], text: str, table: Table, report: Report, *, typed: bool = False
) -> tuple[Part, ...]:
    """Return the parts of a template; what is wrong is reported. typed: a lone part keeps its type."""
    try:
        parts = parse(text, table, parameter)
        check_text(parts, table, typed=typed)
    except ExpressionError as error:
        report(parameter, error.reason, table.name)
        return ()
    return parts


def check_text(parts: tuple[Part, ...], table: Table, *, typed: bool = False) -> None:
    """Raise ExpressionError for an expression whose values cannot become text. typed: a lone part keeps its type."""
    sql_types.check(parts, table, schema.String())
    for part in () if typed and len(parts) == 1 else parts:
        column = table.column(part.name) if isinstance(part, ColumnValue) else None
        if column is not None and isinstance(column.type, schema.Array | schema.Bytes | schema.Struct):
            kind = schema.describe(column.type)
            raise ExpressionError(f"{{{column.name}}} is {kind}, which cannot become text")
