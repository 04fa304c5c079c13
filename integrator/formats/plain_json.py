"""Plain JSON in HVR's modes (https://fivetran.com/docs/hvr6/action-reference/fileformat#json).

ROW_FRAGMENTS {"c1":44}   ROW_ARRAY [{"c1":44}]   TABLE_OBJECT {"tab1":[{"c1":44}]}   TABLE_ARRAY [{"tab1":[{"c1":44}]}]

A message of several rows is one document in each mode but ROW_FRAGMENTS, which is a row a line. TABLE_OBJECT holds one
table, for no name may be in an object twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from integrator.contracts.message_format import JsonMode, Options, SchemaId
from integrator.formats import plain
from integrator.formats.connect_json import LINES
from integrator.formats.contract import Format, Frame
from integrator.formats.json_object import by_column
from integrator.formats.records import Columns

FRAMES: dict[JsonMode, Callable[[bytes], Frame]] = {
    "ROW_FRAGMENTS": lambda _: LINES,
    "ROW_ARRAY": lambda _: Frame(b"[", b"]", between_rows=b",", between_tables=b","),
    "TABLE_OBJECT": lambda table: Frame(b"{", b"}", table + b":[", b"]", between_rows=b","),
    "TABLE_ARRAY": lambda table: Frame(b"[", b"]", b"{" + table + b":[", b"]}", between_rows=b",", between_tables=b","),
}


def frame(name: str, _columns: Columns, options: Options, _id: SchemaId | None) -> Frame:
    """Return what the mode puts around the rows of a table."""
    return FRAMES[options.json_mode](json.dumps(name, ensure_ascii=False).encode())


FORMAT = Format(
    by_column(plain.json_leaf),
    frame,
    missing="omit",
    finite=True,
    bundles=lambda options: "table" if options.json_mode == "TABLE_OBJECT" else "tables",
)
