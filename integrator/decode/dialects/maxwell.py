"""Maxwell's daemon's JSON lines (https://maxwells-daemon.io/dataformat/).

Operations: insert and bootstrap-insert, update, delete. A before image holds the values that changed; the others are as
in the new one. Maxwell says nothing of truncates. Definitions (table-alter …) and bootstrap marks are counted.

Positions: the place in the binlog, `position`, of the transaction's first row (output_binlog_position), or the order of
files and lines; a transaction is what has one `xid`, to the row with `commit`.

Values: dates and times as MySQL prints them, moments of TIMESTAMP columns in UTC; bytes in base64; bits as numbers;
sets as lists of their labels, which become text as MySQL prints it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import first
from integrator.decode.contract import Reading
from integrator.decode.dialect import Decoded, JsonRecords, mark, of_lines
from integrator.decode.dialects.texts import TextCoding, bits_of_numbers, utc_typed
from integrator.decode.fields import Where, instants
from integrator.decode.json.document import Document
from integrator.decode.json.lists import from_json_list
from integrator.decode.json.objects import Objects
from integrator.decode.json.slices import texts_of
from integrator.decode.order.positions import Positions, binlog, number
from integrator.decode.rows.coding import check_nested
from integrator.decode.rows.images import COLUMNS, JsonImages
from integrator.decode.rows.operations import Operations
from integrator.decode.rows.records import Records
from integrator.decode.rows.runs import Fill
from integrator.decode.text.refused import ValueRefused, each, guarded
from integrator.engine.arrays import Mask, Octets
from integrator.engine.grammar import LIST
from integrator.engine.values import Slices
from integrator.schema import Type, describe

EXPECTED = "a record of Maxwell"
OPERATIONS = Operations(
    actions={"insert": "I", "bootstrap-insert": "I", "update": "U", "delete": "D"},
    ignored={
        "bootstrap-start": "bootstrap marks",
        "bootstrap-complete": "bootstrap marks",
        **dict.fromkeys(
            ("table-create", "table-alter", "table-drop", "database-create", "database-alter", "database-drop"),
            "schema changes",
        ),
    },
)


def _typed(kind: Type, values: pa.Array) -> pa.Array:
    if isinstance(kind, schema.String) and kind.role == "bits":
        return guarded(values, lambda part: bits_of_numbers(part, kind.length), describe(kind))
    return utc_typed(kind, values)


def _labels(values: pa.Array) -> pa.Array:
    """Return sets, which are lists of labels in JSON, as text: the labels with commas between. Raises ValueRefused."""
    labels = from_json_list(values, schema.String(), _text)
    return pc.binary_join(labels, ",")


def _text(items: pa.Array, quoted: Mask) -> pa.Array:
    wrong = first(~quoted)
    if wrong is not None:
        raise ValueRefused(wrong, "expected the labels of a set")
    return items


class MaxwellCoding(TextCoding):
    """Values as text, and sets as lists."""

    def convert(self, text: Octets, at: Slices, kind: Hashable) -> pa.Array:
        """Return values in their type. Raises ValueRefused."""
        lists = (at.first_bytes(text) == LIST) & (at.end > 0) if kind == _LABELS else None
        if lists is None or not lists.any():
            return super().convert(text, at, kind)
        check_nested(text, Slices(at.start, np.where(lists, 0, at.end), at.escaped), _LABELS)
        return each(texts_of(text, at), [(lists, _labels), (None, lambda labels: labels)])


_LABELS = schema.String(None, "enum")
CODING = MaxwellCoding("maxwell", _typed, zoned="utc")


def decode(document: Document, _reading: Reading) -> Decoded:
    """Return the changes in a document. Raises DataError."""
    objects = Objects.of_lines(document).required(EXPECTED)
    objects.find("database", "table", "type", "ts", "xid", "commit", "position", "data", "old")
    action, at, ignored = OPERATIONS.classify(objects.labels("type"), Where.of(objects), "type")
    objects = objects.take(at)
    data, changed = objects.inner("data", COLUMNS), objects.inner("old", COLUMNS, action == "U")
    where = Where.of(objects)
    found = Records(
        where=where,
        action=action,
        schema=objects.labels("database").encoded(),
        table=objects.labels("table").encoded(),
        values=JsonImages(data, data.either(action == "D", changed), CODING),
        old=changed.has_object & (action == "U"),
        cap_tstamp=instants(objects.text("ts"), where, "ts", "s"),
        fill=Fill(before=True),
        ignored=ignored,
    )
    xid, commits = objects.text("xid"), objects.labels("commit")
    position = objects.text("position")
    commit = binlog(position, where, "position")
    is_last = commits.are("true")
    ends = is_last if is_last.any() or xid.null_count < len(xid) else None
    return found, Positions(pc.coalesce(xid, position), commit, number(xid), found.row_counts, ends)


DIALECT = replace(
    of_lines(JsonRecords(decode, EXPECTED), (mark("database", "type", "ts"),), names_tables=True), in_transactions=True
)
