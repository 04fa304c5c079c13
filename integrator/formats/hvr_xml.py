"""HVR's XML (https://fivetran.com/docs/hvr6/action-reference/fileformat#xml), a document for each message.

A new table element begins where the table changes:
<hvr version="1.0"><table name="t"><row><column name="c">v</column></row></table></hvr>; null is is_null="true", bytes
are hex with format="hex", a missing value's element is left out. Compact writes <r> and <c>.
"""

from __future__ import annotations

from collections.abc import Callable
from xml.sax.saxutils import quoteattr

import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import first, mask
from integrator.arrow.base64 import hexadecimal
from integrator.contracts.message_format import Options, SchemaId
from integrator.errors import shown
from integrator.formats.contract import Format, Frame
from integrator.formats.json_object import by_column
from integrator.formats.plain import json_leaf, text_of
from integrator.formats.records import ByColumn, Columns, InvalidValue, Write, Written
from integrator.schema import Column, Type

DECLARATION = '<?xml version="1.0" encoding="{encoding}" standalone="yes"?>'
_UNSAYABLE = "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"
"""Characters that XML 1.0 has no way to write (https://www.w3.org/TR/xml/#charsets)."""
_NULL = ' is_null="true"/>'
"""What is after the column's name in the element of null."""
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}


def _elements(options: Options) -> tuple[str, str]:
    """Return the names of the elements of rows and columns."""
    return ("r", "c") if options.compact else ("row", "column")


def _by_column(column: Column, options: Options) -> Write:
    """Return what writes an element from after the column's name on."""
    write = _writer(column.type, options)
    return lambda values: _written(write(values), column, options)


def _written(text: pa.Array, column: Column, options: Options) -> Written:
    before, after = f"{_form(column.type)}>", f"</{_elements(options)[1]}>"
    if text.null_count:
        return Written(pc.fill_null(pc.binary_join_element_wise(before, text, after, ""), _NULL), "", "")
    return Written(text, before, after)


def _between(columns: Columns, options: Options) -> tuple[str, ...]:
    row, element = _elements(options)
    starts = [f"<{element} name={quoteattr(column.name)}" for column in columns]
    return (f"<{row}>{starts[0]}", *starts[1:], f"</{row}>") if starts else (f"<{row}></{row}>",)


def _form(kind: Type) -> str:
    return ' format="hex"' if isinstance(kind, schema.Bytes) else ""


def _writer(kind: Type, options: Options) -> Callable[[pa.Array], pa.Array]:
    if isinstance(kind, schema.Bytes):
        return hexadecimal
    text = text_of(kind, options)
    if isinstance(kind, schema.String | schema.Array | schema.Struct | schema.Encoded):
        return lambda values: _escaped(text(values))
    return text


def _escaped(values: pa.Array) -> pa.Array:
    wrong = first(mask(pc.match_substring_regex(values, _UNSAYABLE)))
    if wrong is not None:
        text = f"{shown(values[wrong].as_py())} has a character that XML cannot hold; use another format, or send bytes"
        raise InvalidValue(wrong, text)
    if not pc.any(pc.match_substring_regex(values, "[&<>\r]")).as_py():
        return values
    for plain, escape in _ESCAPES.items():
        values = pc.replace_substring(values, plain, escape)
    return values


def frame(name: str, _columns: Columns, options: Options, _id: SchemaId | None) -> Frame:
    """Return the document around the rows of a table."""
    start = DECLARATION.format(encoding=options.encoding) + '<hvr version="1.0">'
    return Frame(start.encode(), b"</hvr>", f"<table name={quoteattr(name)}>".encode(), b"</table>")


FORMAT = Format(
    ByColumn(_by_column, _between, images=by_column(json_leaf)),
    frame,
    missing="omit",
    finite=True,
    bundles=lambda _options: "tables",
)
