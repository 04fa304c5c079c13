"""Canal's flat messages as JSON lines (https://github.com/alibaba/canal/wiki): a line has rows of one statement.

Operations: INSERT, UPDATE, DELETE, and TRUNCATE, which is a statement. Other statements are counted. An old image holds
the values that changed; Canal leaves out the old image of a row that did not change, and so those of a message that has
fewer of them than rows are not used.

Positions: the order of files and lines, for a message does not say its own; a transaction is what has one gtid, or else
one id.

Values are text as MySQL prints it; enum and set are numbers, whose labels `mysqlType` has; bytes are ISO-8859-1 text;
moments of TIMESTAMP columns are of the zone of Canal's machine (`time_zone`).
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import Mask, first, mask
from integrator.decode.contract import File, Reading
from integrator.decode.dialect import Decoded
from integrator.decode.fields import Where, instants
from integrator.decode.images import JsonValues, check_nested, json_typed, zoned
from integrator.decode.json.lines import Lines
from integrator.decode.json.objects import Objects, elements
from integrator.decode.kinds import Kinds
from integrator.decode.positions import Positions, by_line, number
from integrator.decode.records import Cells, Images, Ints, Records
from integrator.decode.text.refused import guarded
from integrator.decode.told_values import ToldValues
from integrator.errors import DataError
from integrator.schema import Column, Table, describe

EXPECTED = "a flat message of Canal"
KINDS = Kinds(
    actions={"INSERT": "I", "UPDATE": "U", "DELETE": "D", "TRUNCATE": "T"},
    ignored=dict.fromkeys(
        ("CREATE", "ALTER", "ERASE", "RENAME", "CINDEX", "DINDEX", "QUERY", "GTID", "XACOMMIT", "XAROLLBACK"),
        "statements",
    ),
)
_LABEL = re.compile(r"'((?:[^']|'')*)'")


def decode(lines: Lines, file: File, reading: Reading) -> Decoded:
    """Return the changes in `lines`. Raises DataError."""
    objects = Objects(lines, EXPECTED)
    of_line, at, ignored = KINDS.sort(objects.text("type"), objects.lines, "type")
    data, old, line_of = _rows(objects, of_line, at)
    keep, action = pa.array(at[line_of]), of_line[line_of]
    line = objects.lines.numbers[at[line_of]]
    images = JsonValues(objects.lines, line, data, pc.if_else(pa.array(action == "D"), data, old))
    found = Records(
        lines=objects.lines,
        action=action,
        schema=objects.text("database").take(keep),
        table=objects.text("table").take(keep),
        values=_Values(images, objects.raw("mysqlType").take(keep), reading.time_zone),
        old=mask(pc.is_valid(old)) & (action == "U"),
        line=line,
        cap_tstamp=instants(objects.text("es").take(keep), Where(file.path, line), "es", "ms"),
        old_of_changes=True,
        ignored=ignored,
    )
    gtid, batch = objects.text("gtid").take(keep), objects.text("id").take(keep)
    place = by_line(file.number, line)
    transaction = pc.coalesce(pc.if_else(pc.equal(gtid, ""), None, gtid), batch)
    of_gtid = pc.struct_field(pc.extract_regex(transaction, r"(?P<number>\d+)$"), "number")
    transaction = pc.coalesce(transaction, place)  # the rows of a message, at least
    return found, Positions(transaction, place, number(of_gtid), found.row_counts)


def _rows(objects: Objects, action: np.ndarray[Any, Any], at: Ints) -> tuple[pa.Array, pa.Array, Ints]:
    """Return the new and the old image of each row, and its message; a truncate is one row without an image."""
    for name in ("data", "old"):
        _check_lists(objects, name, at)
    images = at[action != "T"]
    data, parent = _elements(objects, "data", images)
    old, old_parent = _elements(objects, "old", images)
    old = pc.if_else(pc.equal(old, "null"), None, old)  # of a row that did not change
    parent, old_parent = (np.flatnonzero(action != "T")[which] for which in (parent, old_parent))
    counts, old_counts = np.bincount(parent, minlength=len(at)), np.bincount(old_parent, minlength=len(at))
    empty = np.flatnonzero((counts == 0) & np.isin(action, ["I", "U", "D"]))
    if len(empty):
        where = f"{objects.lines.file}:{objects.lines.numbers[at[empty[0]]]}"
        raise DataError(f"{where}: the message has no rows in `data`; what makes the messages must write them")
    told = (counts == old_counts)[parent]
    place = np.cumsum(told) - 1
    usable = old.filter(pa.array((counts == old_counts)[old_parent]))
    before = usable.take(pa.array(place, mask=~told)) if len(usable) else pa.nulls(len(data), pa.string())
    truncates = np.flatnonzero(action == "T")
    line_of = np.concatenate([parent, truncates])
    order = pa.array(np.argsort(line_of, kind="stable"))
    none = pa.nulls(len(truncates), pa.string())
    both = [pa.concat_arrays([images, none]).take(order) for images in (data, before)]
    return both[0], both[1], line_of[order.to_numpy()]


def _elements(objects: Objects, name: str, at: Ints) -> tuple[pa.Array, Ints]:
    """Return the rows that a member of messages has, and the message of each."""
    return elements(objects.raw(name).take(pa.array(at)), objects.lines)


def _check_lists(objects: Objects, name: str, at: Ints) -> None:
    """Raise DataError for a member of messages that is no list of rows."""
    texts = objects.raw(name).take(pa.array(at))
    wrong = first(pc.invert(pc.starts_with(texts, "[")))
    if wrong is not None:
        where = f"{objects.lines.file}:{objects.lines.numbers[at[wrong]]}"
        raise DataError(f"{where}: `{name}` is {texts[wrong].as_py()[:100]}; expected rows: […]")


class _Values:
    """Rows of text, and the types that MySQL gives their columns."""

    def __init__(self, images: JsonValues, types: pa.Array, zone: str) -> None:
        self._images, self._zone = images, zone
        self._types: ToldValues[str] = ToldValues(types, _types_of, images.lines.file, images.line)

    def cells(self, table: Table, record: Ints, is_old: Mask) -> Images:
        """Return what images have, by column."""
        return self._images.cells(table, record, is_old)

    def typed(self, column: Column, cells: Cells, record: Ints) -> pa.Array:
        """Return the values of a column, by what MySQL calls its type."""
        check_nested(column, cells)
        return self._types.typed(
            column, cells, record, lambda part, _quoted, told: self._convert(column, part, told or "")
        )

    def _convert(self, column: Column, values: pa.Array, told: str) -> pa.Array:
        match column.type:
            case schema.Bytes():
                return guarded(values, _latin1, describe(column.type))
            case schema.Timestamp(zoned=True):
                return zoned(column, values, self._zone)
            case schema.String() if told.lower().startswith(("enum(", "set(")):
                return guarded(values, lambda part: _labels(part, told), told)
            case _:
                return json_typed(column, values)


def _types_of(told: dict[str, object]) -> dict[str, str]:
    return {name: str(kind) for name, kind in told.items()}


def _latin1(values: pa.Array) -> pa.Array:
    """Return the bytes that characters up to U+00FF stand for. Raises ValueError for others."""
    return pa.array([None if text is None else text.encode("latin-1") for text in values.to_pylist()], pa.binary())


def _label(labels: list[str], number: int, told: str) -> str:
    """Return the label of an enum's number: 0 is MySQL's empty text for what was none. Raises ValueError."""
    if number > len(labels):
        raise ValueError(f"it is none of {told}")
    return labels[number - 1] if number else ""


def _labels(values: pa.Array, told: str) -> pa.Array:
    """Return the labels that the numbers of an enum or a set mean; text that is no number is a label already."""
    labels = [label.replace("''", "'") for label in _LABEL.findall(told)]
    one = told.lower().startswith("enum(")
    meant: dict[str | None, str | None] = {None: None}
    for text in pc.unique(values).to_pylist():
        if text is None or not text.isdigit():
            meant[text] = text
        elif one:
            meant[text] = _label(labels, int(text), told)
        elif int(text) >> len(labels):
            raise ValueError(f"it is no set of {told}")
        else:
            meant[text] = ",".join(label for at, label in enumerate(labels) if int(text) >> at & 1)
    encoded = values.dictionary_encode()
    named = pa.array([meant[text] for text in encoded.dictionary.to_pylist()], pa.string())
    return named.take(encoded.indices)
