"""Plain JSON in HVR's modes (https://fivetran.com/docs/hvr6/action-reference/fileformat#json).

ROW_FRAGMENTS {"c1":44}   ROW_ARRAY [{"c1":44}]   TABLE_OBJECT {"tab1":[{"c1":44}]}   TABLE_ARRAY [{"tab1":[{"c1":44}]}]
"""

from __future__ import annotations

import json
from collections.abc import Callable

from integrator.formats import plain
from integrator.formats.contract import Columns, Encoder, Format, Frame, JsonMode, Options, SchemaId
from integrator.formats.json_object import object_writer

FRAMES: dict[JsonMode, Callable[[str], tuple[str, str]]] = {
    "ROW_FRAGMENTS": lambda _: ("", ""),
    "ROW_ARRAY": lambda _: ("[", "]"),
    "TABLE_OBJECT": lambda table: (f"{{{_quoted(table)}:[", "]}"),
    "TABLE_ARRAY": lambda table: (f"[{{{_quoted(table)}:[", "]}]"),
}


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def encoder(_name: str, columns: Columns, options: Options) -> Encoder:
    """Return a function from the columns' arrays to a JSON object for each row."""
    return object_writer(columns, plain.json_leaf(options))


def frame(name: str, _columns: Columns, options: Options, _id: SchemaId | None) -> Frame:
    """Return what the mode puts around the rows of a table."""
    head, tail = FRAMES[options.json_mode](name)
    return Frame(head.encode(), tail.encode())


FORMAT = Format(encoder, frame, missing="omit")
