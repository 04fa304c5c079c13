"""CSV with all of HVR's parameters (https://fivetran.com/docs/hvr6/action-reference/fileformat#csv).

A field is quoted where it holds a separator, the quote or the escape character, a line end, or what null is written as,
so that null and text are never the same: an empty text is "" where null is an empty field. Inside quotes the escape
character stands before each quote, and before itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import flat
from integrator.arrow.base64 import binary_as
from integrator.contracts.message_format import Csv, Options, SchemaId
from integrator.formats.contract import Format, Frame
from integrator.formats.json_object import by_column
from integrator.formats.plain import json_leaf, text_of
from integrator.formats.records import ByColumn, Columns, Written
from integrator.formats.records import Write as WriteColumn
from integrator.schema import Column, Type

Write = Callable[[pa.Array], pa.Array]

_PLAIN = (schema.Boolean, schema.Integer, schema.Float, schema.Decimal, schema.Date, schema.Time, schema.Timestamp)
"""Types whose text has digits, letters and -:.+ only."""


def _of_column(column: Column, options: Options) -> WriteColumn:
    write = _writer(column.type, options)
    return lambda values: Written(write(values), b"", b"")


def _between(columns: Columns, options: Options) -> tuple[bytes, ...]:
    separators = [options.csv.field_separator.encode()] * (len(columns) - 1)
    return (b"", *separators, options.csv.line_separator.encode())


def _writer(kind: Type, options: Options) -> Write:
    style = options.csv
    null = style.null.encode()

    def write(values: pa.Array) -> pa.Array:
        text = binary_as(values, options.binary) if _is_bytes(kind, options) else text_of(kind, options)(values)
        fields = text.view(pa.binary()) if pa.types.is_string(text.type) else text
        if _may_need_quotes(kind, style):
            fields = _quoted(fields, style)
        return pc.fill_null(fields, null) if fields.null_count else fields

    if isinstance(kind, schema.Bytes) and options.binary == "COPY":
        return lambda values: pc.fill_null(_quoted(values, style), null)
    return write


def _is_bytes(kind: Type, options: Options) -> bool:
    return isinstance(kind, schema.Bytes) and options.binary != "COPY"


def _may_need_quotes(kind: Type, style: Csv) -> bool:
    """Return whether values of a type could hold a character that matters, or be written as null is."""
    usual = style.field_separator in ",;|\t\x1f" and style.line_separator in ("\n", "\r\n")
    plain = usual and style.quote == '"' and style.escape in '"\\' and not style.null
    return not (plain and isinstance(kind, _PLAIN))


def _none_special(fields: pa.Array, style: Csv, special: list[str]) -> bool:
    """Return whether the bytes of all fields, examined at once, show that none needs quotes."""
    if style.null or pc.any(pc.equal(pc.binary_length(fields), 0)).as_py():
        return False
    data, _ = flat(fields)
    return not any((data == text.encode()[0]).any() for text in dict.fromkeys(special) if text)


def _quoted(fields: pa.Array, style: Csv) -> pa.Array:
    special = [style.quote, style.escape, style.field_separator, *style.line_separator, "\n", "\r"]
    if _none_special(fields, style, special):
        return fields
    pattern = "|".join(re.escape(text) for text in dict.fromkeys(special) if text)
    if style.null:
        needs = pc.or_(pc.match_substring_regex(fields, pattern), pc.equal(fields, style.null.encode()))
    else:
        needs = pc.match_substring_regex(fields, f"{pattern}|^$")
    needs = pc.fill_null(needs, fill_value=False)
    if not pc.any(needs).as_py():
        return fields
    odd = fields.filter(needs)
    for text in dict.fromkeys((style.escape, style.quote)):
        if text:
            odd = pc.replace_substring(odd, text.encode(), (style.escape + text).encode())
    quote = style.quote.encode()
    return pc.replace_with_mask(fields, needs, pc.binary_join_element_wise(quote, odd, quote, b""))


def frame(_name: str, columns: Columns, options: Options, _id: SchemaId | None) -> Frame:
    """Return the header line, if it is asked for, and the file's terminator."""
    style = options.csv
    head = b""
    if style.header_line:
        names = _quoted(pa.array([column.name.encode() for column in columns], pa.binary()), style)
        head = style.field_separator.encode().join(names.to_pylist()) + style.line_separator.encode()
    return Frame(head, style.file_terminator.encode())


FORMAT = Format(
    ByColumn(_of_column, _between, images=by_column(json_leaf)),
    frame,
    missing="refuse",
    finite=True,
    bundles=lambda options: "table" if options.csv.header_line else "tables",
)
