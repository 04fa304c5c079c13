"""FileFormat's Text and Bytes -> the field whose value is the message."""

from __future__ import annotations

from dataclasses import replace

from integrator import schema
from integrator.contracts.operations import DELETE, STYLES
from integrator.contracts.table_recipe import Field
from integrator.expressions.parse import as_text, parse
from integrator.expressions.parts import ColumnValue
from integrator.expressions.substitutions import ExpressionError
from integrator.names import meant
from integrator.plan.expressions import check_expression
from integrator.plan.layout import TEXT_FIELD
from integrator.plan.parameters import TableScope
from integrator.schema import Table

_NO_VALUE = "where {} is null, a message of table {} has no value: in a compacted topic, that deletes its key"


def with_single_value(given: TableScope, table: Table, fields: tuple[Field, ...], style: str) -> tuple[Field, ...]:
    """Return the fields, with that of the messages' text among them; what cannot be a message is reported.

    Where the style sends no rows of deletes, no text is made of them: their tombstones may have the key alone.
    """
    values = given.scope.file_format.values
    if values.Text is not None:
        sent = STYLES[style]
        of_text = _text(given, table, values.Text)
        return (*fields, *(replace(field, operations=() if DELETE in sent else sent) for field in of_text))
    if values.Bytes is not None:
        _check_bytes(given, fields, values.Bytes)
    return fields


def _text(given: TableScope, table: Table, template: str) -> tuple[Field, ...]:
    """Return the field with the text of messages; none where it is wrong, which is reported."""
    text = schema.String()
    try:
        expression = parse(template, table, "IntegrateExpression")
        check_expression(TEXT_FIELD, expression, text, table)
    except ExpressionError as error:
        given.report(given.scope.file_format.place("Text"), "Text", error.reason)
        return ()
    lone = expression[0] if len(expression) == 1 else None
    column = table.column(lone.name) if isinstance(lone, ColumnValue) else None
    if column is not None and column.nullable:
        given.scope.notes.append(_NO_VALUE.format(column.name, table.name))
    return (Field(TEXT_FIELD, text, nullable=True, expression=as_text(expression), extra=True),)


def _check_bytes(given: TableScope, fields: tuple[Field, ...], name: str) -> None:
    """Report a column that messages do not have, or that is not of bytes."""
    place, table = given.scope.file_format.place("Bytes"), given.table.name
    found = next((field for field in fields if field.name == name), None)
    if found is None:
        of_bytes = [field.name for field in fields if isinstance(field.type, schema.Bytes)]
        accepted = meant(name, of_bytes, "its columns of bytes are") if of_bytes else "it has no column of bytes"
        absent = f"{{action: TableProperties, table: {table}, Absent: true}}"
        given.report(place, "Bytes", f"{name!r} is no column of its messages; {accepted}, or leave it out: {absent}")
    elif not isinstance(found.type, schema.Bytes):
        kind = schema.describe(found.type)
        given.report(place, "Bytes", f"{name!r} is {kind}, and no bytes; write Text: '{{{name}}}' for its text")
    elif found.nullable:
        given.scope.notes.append(_NO_VALUE.format(name, table))
