"""Canal's flat messages as JSON lines (https://github.com/alibaba/canal/wiki): a line has rows of one statement.

Operations: INSERT, UPDATE, DELETE, and TRUNCATE, which is a statement. Other statements are counted. A before image
holds the values that changed; Canal leaves out the before image of a row that did not change, and so those of a message
that has fewer of them than rows are not used.

Positions: the order of files and lines, for a message does not say its own; a transaction is what has one gtid, or else
one id.

Values are text as MySQL prints it; enum and set are numbers, whose labels `mysqlType` has; bytes are ISO-8859-1 text;
moments of TIMESTAMP columns are of the zone of Canal's machine (`time_zone`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import first
from integrator.decode.contract import Reading
from integrator.decode.dialect import Decoded, JsonRecords, mark, of_lines
from integrator.decode.dialects.texts import bits_of_numbers, json_typed
from integrator.decode.fields import Where, instants
from integrator.decode.json.document import Document
from integrator.decode.json.objects import Objects
from integrator.decode.json.slices import DictionaryTexts, texts_of
from integrator.decode.lines.lines import cut
from integrator.decode.order.positions import Positions, number
from integrator.decode.rows.coding import check_nested, read_plain, zoned
from integrator.decode.rows.images import COLUMNS, JsonImages
from integrator.decode.rows.operations import Operations
from integrator.decode.rows.records import Records
from integrator.decode.rows.runs import Fill
from integrator.decode.text.refused import guarded
from integrator.engine.arrays import Ints, Octets
from integrator.engine.grammar import LIST
from integrator.engine.values import Slices
from integrator.errors import DataError, Fault, Place
from integrator.schema import Column, Table, Type, describe

EXPECTED = "a flat message of Canal"
OPERATIONS = Operations(
    actions={"INSERT": "I", "UPDATE": "U", "DELETE": "D", "TRUNCATE": "T"},
    ignored=dict.fromkeys(
        ("CREATE", "ALTER", "ERASE", "RENAME", "CINDEX", "DINDEX", "QUERY", "GTID", "XACOMMIT", "XAROLLBACK"),
        "statements",
    )
    | {"TIDB_WATERMARK": "watermarks"},
)
_MEMBERS = ("type", "database", "table", "es", "gtid", "id", "mysqlType", "data", "old")
_LABEL = re.compile(r"'((?:[^']|'')*)'")


def decode(document: Document, reading: Reading) -> Decoded:
    """Return the changes in a document. Raises DataError."""
    messages = Objects.of_lines(document).required(EXPECTED).find(*_MEMBERS)
    action, at, ignored = OPERATIONS.classify(messages.labels("type"), Where.of(messages), "type")
    after, before, row_of = _images(messages.take(at), action)
    objects, action = messages.take(at[row_of]), action[row_of]
    where, types = Where.of(objects), objects.labels("mysqlType")
    is_text = objects.slices("mysqlType").are_texts(document.text)
    where.refuse(is_text, lambda at: f"mysqlType is text, {cut(types.texts[types.codes[at]])}; expected an object")
    found = Records(
        where=where,
        action=action,
        schema=objects.labels("database").encoded(),
        table=objects.labels("table").encoded(),
        values=JsonImages(
            after,
            after.either(action == "D", before),
            CanalCoding(_types_of(types, where), reading.time_zone),
            variant=types.codes.astype(np.int64),
        ),
        old=before.has_object & (action == "U"),
        cap_tstamp=instants(objects.text("es"), where, "es", "ms"),
        fill=Fill(before=True),
        ignored=ignored,
    )
    gtid, batch = objects.text("gtid"), objects.text("id")
    batch = pc.if_else(pc.equal(batch, "0"), None, batch)  # TiCDC's of all messages
    transaction = pc.coalesce(pc.if_else(pc.equal(gtid, ""), None, gtid), batch)
    of_gtid = pc.struct_field(pc.extract_regex(transaction, r"(?P<number>\d+)$"), "number")
    if transaction.null_count:  # the rows of a message, at least
        line = pa.array(where.line).cast(pa.string())
        transaction = pc.coalesce(transaction, pc.binary_join_element_wise(where.file, line, ":"))
    return found, Positions(transaction, pa.nulls(len(gtid), pa.string()), number(of_gtid), found.row_counts)


def _images(messages: Objects, action: npt.NDArray[np.str_]) -> tuple[Objects, Objects, Ints]:
    """Return the after and the before image of each row, and its message; a truncate is one row without an image."""
    for name in ("data", "old"):
        _check_lists(messages, name)
    data, parent = messages.elements("data")
    old, old_parent = messages.elements("old")
    counts, old_counts = (np.bincount(of, minlength=len(messages)) for of in (parent, old_parent))
    empty = first((counts == 0) & (action != "T"))
    if empty is not None:
        where = Where.of(messages).place(empty)
        raise DataError(Fault(where, "the message has no rows in `data`; what makes the messages must write them"))
    is_row = action[parent] != "T"
    Objects.of_nodes(messages.document, messages.line[parent], data, COLUMNS).required(COLUMNS)
    data, parent = data[is_row], parent[is_row]
    with_old = (counts == old_counts) & (action == "U")  # in other changes `old` has no meaning
    before = np.full(len(data), -1, np.int32)
    before[with_old[parent]] = old[with_old[old_parent]]
    truncates = np.flatnonzero(action == "T")
    none = np.full(len(truncates), -1, np.int32)
    row_of = np.concatenate([parent, truncates])
    order = np.argsort(row_of, kind="stable")
    row_of = row_of[order]
    line = messages.line[row_of]
    images = [
        Objects.of_nodes(messages.document, line, np.concatenate([nodes, none])[order], COLUMNS)
        for nodes in (data, before)
    ]
    return images[0], images[1], row_of


def _check_lists(messages: Objects, name: str) -> None:
    """Raise DataError for a member of messages that is no list of rows."""
    at, text = messages.slices(name), messages.document.text
    wrong = first(~((at.first_bytes(text) == LIST) | at.nulls(text)))
    if wrong is not None:
        where = Where.of(messages).place(wrong)
        value = messages.raw(name)[wrong].as_py()[:100]
        raise DataError(Fault(where, f"`{name}` is {value}; expected rows: […]"))


@dataclass(frozen=True)
class CanalCoding:
    """Values as text, and the types that MySQL gives their columns. types: of each variant, by column."""

    types: Sequence[Mapping[str, str]]
    zone: str

    @property
    def key(self) -> Hashable:
        """What identifies the coding."""
        return "canal", self.zone

    def variant_key(self, variant: int) -> Hashable:
        """Return the types of a variant."""
        return tuple(self.types[variant].items()) if variant >= 0 else None

    def kind(self, _table: Table, column: Column, variant: int) -> Hashable:
        """Return the type of a column, and what MySQL calls it where its values are numbers of labels."""
        mysql = self.types[variant].get(column.name, "") if variant >= 0 else ""
        labelled = isinstance(column.type, schema.String) and mysql.lower().startswith(("enum(", "set("))
        return column.type, mysql if labelled else ""

    def convert(self, text: Octets, at: Slices, kind: Hashable) -> pa.Array:
        """Return values in their type. Raises ValueRefused."""
        own, mysql = cast("tuple[Type, str]", kind)
        check_nested(text, at, own)
        zoned_by_source = isinstance(own, schema.Timestamp) and own.zoned
        found = None if mysql else read_plain(text, at, own, "own" if zoned_by_source else "any")
        return self._convert(own, texts_of(text, at), mysql) if found is None else found

    def _convert(self, kind: Type, values: pa.Array, mysql: str) -> pa.Array:
        match kind:
            case schema.Bytes():
                return guarded(values, _latin1, describe(kind))
            case schema.Timestamp(zoned=True):
                return zoned(kind, values, self.zone)
            case schema.String(length, "bits"):
                return guarded(values, lambda part: bits_of_numbers(part, length), describe(kind))
            case schema.String() if mysql:
                return guarded(values, lambda part: _labels(part, mysql), mysql)
            case _:
                return json_typed(kind, values)


def _types_of(types: DictionaryTexts, where: Where) -> list[dict[str, str]]:
    """Return what messages have of the types of their columns. Raises DataError."""
    found = []
    for code, text in enumerate(types.texts):
        try:
            found.append({name: str(kind) for name, kind in json.loads(text).items()})
        except (ValueError, AttributeError) as error:
            line = where.line[first(types.codes == code) or 0]
            raise DataError(
                Fault(Place(where.file, int(line)), f"mysqlType cannot be read ({error!r}): {cut(text)}")
            ) from None
    return found


def _latin1(values: pa.Array) -> pa.Array:
    """Return the bytes that characters up to U+00FF stand for. Raises ValueError for others."""
    return pa.array([None if text is None else text.encode("latin-1") for text in values.to_pylist()], pa.binary())


def _label(labels: list[str], number: int, mysql: str) -> str:
    """Return the label of an enum's number: 0 is MySQL's empty text for what was none. Raises ValueError."""
    if number > len(labels):
        raise ValueError(f"it is none of {mysql}")
    return labels[number - 1] if number else ""


def _labels(values: pa.Array, mysql: str) -> pa.Array:
    """Return the labels that the numbers of an enum or a set mean; text that is no number is a label already."""
    labels = [label.replace("''", "'") for label in _LABEL.findall(mysql)]
    one = mysql.lower().startswith("enum(")
    meant: dict[str | None, str | None] = {None: None}
    for text in pc.unique(values).to_pylist():
        if text is None or not (text.isascii() and text.isdecimal()):
            meant[text] = text
        elif one:
            meant[text] = _label(labels, int(text), mysql)
        elif int(text) >> len(labels):
            raise ValueError(f"it is no set of {mysql}")
        else:
            meant[text] = ",".join(label for at, label in enumerate(labels) if int(text) >> at & 1)
    encoded = values.dictionary_encode()
    named = pa.array([meant[text] for text in encoded.dictionary.to_pylist()], pa.string())
    return named.take(encoded.indices)


DIALECT = of_lines(JsonRecords(decode, EXPECTED), (mark("isDdl", "type"),), names_tables=True)
