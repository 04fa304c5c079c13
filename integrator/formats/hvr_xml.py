"""HVR's XML (https://fivetran.com/docs/hvr6/action-reference/fileformat#xml), a document for each message.

A new table element begins where the table changes:
<hvr version="1.0"><table name="t"><row><column name="c">v</column></row></table></hvr>; null is is_null="true", bytes
are hex with format="hex", a missing value's element is left out. Compact writes <r> and <c>.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from xml.sax.saxutils import quoteattr

import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import first, mask
from integrator.arrow.base64 import hexadecimal
from integrator.contracts.message_format import Options, SchemaId
from integrator.errors import shown
from integrator.formats.contract import (
    PATH,
    Arrays,
    ByColumn,
    Columns,
    Encoder,
    Format,
    Frame,
    InvalidValue,
    Missing,
    UnsupportedValue,
    Write,
)
from integrator.formats.json_object import object_writer, under
from integrator.formats.plain import json_leaf, text_of
from integrator.schema import Column, Type

DECLARATION = '<?xml version="1.0" encoding="{encoding}" standalone="yes"?>'
_UNSAYABLE = "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]"
"""Characters that XML 1.0 has no way to write (https://www.w3.org/TR/xml/#charsets)."""
_NULL = ' is_null="true"/>'
"""What is after the column's name in the element of null."""
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}


def encoder(_name: str, columns: Columns, options: Options) -> Encoder:
    """Return a function from the columns' arrays to the row element of each row. Raises UnsupportedValue."""
    row, element = _elements(options)
    objects = {
        column.name: object_writer((column,), json_leaf(options))
        for column in columns
        if isinstance(column.type, schema.Struct)
    }
    pieces = [
        (column.name, *_tags(column.name, column.type, element), _writer(column.type, options)) for column in columns
    ]

    def encode_rows(arrays: Arrays, missing: Missing) -> pa.Array:
        parts = []
        for name, start, null, write in pieces:
            try:
                if name in objects and under(name, missing):
                    text = _escaped(_inner_json(objects[name], name, arrays[name], missing))
                else:
                    text = write(arrays[name])
            except InvalidValue as error:
                raise UnsupportedValue(name, error.index, str(error)) from None
            element_text = pc.binary_join_element_wise(start, text, f"</{element}>", "")
            element_text = pc.fill_null(element_text, null) if element_text.null_count else element_text
            gone = missing.get(name)
            parts.append(element_text if gone is None else pc.if_else(pa.array(gone), "", element_text))
        return pc.binary_join_element_wise(f"<{row}>", *parts, f"</{row}>", "")

    return encode_rows


def _elements(options: Options) -> tuple[str, str]:
    """Return the names of the elements of rows and columns."""
    return ("r", "c") if options.compact else ("row", "column")


def _of_column(column: Column, options: Options) -> Write:
    """Return what writes an element from after the column's name on."""
    write, element = _writer(column.type, options), _elements(options)[1]
    form = _form(column.type)

    def written(values: pa.Array) -> tuple[pa.Array, str]:
        text = pc.binary_join_element_wise(f"{form}>", write(values), f"</{element}>", "")
        return (pc.fill_null(text, _NULL) if text.null_count else text), ""

    return written


def _between(columns: Columns, options: Options) -> tuple[str, ...]:
    row, element = _elements(options)
    starts = [f"<{element} name={quoteattr(column.name)}" for column in columns]
    return (f"<{row}>{starts[0]}", *starts[1:], f"</{row}>")


def _inner_json(writer: Encoder, name: str, values: pa.Array, missing: Missing) -> pa.Array:
    """Return a struct's JSON, in which members are left out: of {"name":…} what is after the name."""
    inside = {path: gone for path, gone in missing.items() if path.startswith(name + PATH)}
    whole = writer({name: values}, inside)
    text = pc.binary_slice(whole.view(pa.binary()), len(json.dumps(name, ensure_ascii=False).encode()) + 2, -1)
    return pc.if_else(pc.is_valid(values), text.cast(pa.string()), None)


def _tags(name: str, kind: Type, element: str) -> tuple[str, str]:
    """Return the start tag of a column's values, and the whole element of null."""
    start = f"<{element} name={quoteattr(name)}"
    return f"{start}{_form(kind)}>", start + _NULL


def _form(kind: Type) -> str:
    return ' format="hex"' if isinstance(kind, schema.Bytes) else ""


def _writer(kind: Type, options: Options) -> Callable[[pa.Array], pa.Array]:
    if isinstance(kind, schema.Bytes):
        return hexadecimal
    text = text_of(kind, options)
    if isinstance(kind, schema.String | schema.Array | schema.Struct):
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
    encoder, frame, missing="omit", bundles=lambda _options: "tables", by_column=ByColumn(_of_column, _between)
)
