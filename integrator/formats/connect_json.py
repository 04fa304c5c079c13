"""Kafka Connect JSON: {"schema":…,"payload":…}, or the payload alone (schemas.enable=false), as in JsonConverter."""

from __future__ import annotations

import json

from integrator.contracts.message_format import Options, SchemaId
from integrator.formats import connect
from integrator.formats.contract import Format, Frame
from integrator.formats.json_object import by_column
from integrator.formats.records import Columns
from integrator.schema import Column, Struct

STRING_KEY = (b'{"schema":{"type":"string","optional":false},"payload":"', b'"}')
"""What stands before and after the text of a key in Connect JSON."""


def schema_text(name: str, columns: Columns, options: Options) -> str:
    """Return the schema of a row."""
    struct = connect.struct_schema(Struct(tuple(columns), name, options.version), options)
    return json.dumps(struct, separators=(",", ":"), ensure_ascii=False)


def frame(name: str, columns: Columns, options: Options, _id: SchemaId | None) -> Frame:
    """Return what stands around a payload."""
    before = f'{{"schema":{schema_text(name, columns, options)},"payload":'
    return Frame(before=before.encode(), after=b"}", between_rows=b"\n", between_tables=b"\n")


def column_frame(column: Column, options: Options) -> Frame:
    """Return what stands around one column's value alone."""
    written = json.dumps(connect.schema_of(column.type, column.nullable, options), separators=(",", ":"))
    return Frame(before=f'{{"schema":{written},"payload":'.encode(), after=b"}")


LINES = Frame(between_rows=b"\n", between_tables=b"\n")
SCHEMA_PAYLOAD = Format(
    by_column(connect.leaf),
    frame,
    missing="shape",
    finite=True,
    schema_text=schema_text,
    named=True,
    bundles=lambda _options: "tables",
)
PAYLOAD = Format(
    by_column(connect.leaf),
    lambda _name, _columns, _options, _id: LINES,
    missing="omit",
    finite=True,
    bundles=lambda _options: "tables",
)
