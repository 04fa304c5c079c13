"""Airbyte's protocol as JSON lines: what a source writes to its standard output.

https://docs.airbyte.com/platform/understanding-airbyte/airbyte-protocol

Operations: a RECORD whose `_ab_cdc_deleted_at` is not null deletes; any other is an insert, for Airbyte does not tell
them from updates. Other messages (STATE, LOG, TRACE …) are counted. The fields `_ab_cdc_…` are no columns, unless the
table has them. In Airbyte's own envelope the data of a record is the event, as it came.

Positions: the order of files and lines, in which a source writes what is to be applied; there are no transactions.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.segment import Segment
from integrator.contracts.whole_event import EVENT, EVENT_COLUMNS, EVENT_TIME
from integrator.decode.contract import Reading
from integrator.decode.dialect import Decoded, JsonRecords, mark, of_lines
from integrator.decode.dialects.debezium_coding import EMPTY
from integrator.decode.dialects.texts import TextCoding, utc_typed
from integrator.decode.fields import Where, instants
from integrator.decode.json.document import Document
from integrator.decode.json.objects import Objects
from integrator.decode.json.values import read_json
from integrator.decode.order.positions import Positions
from integrator.decode.rows.coding import stamps
from integrator.decode.rows.images import COLUMNS, JsonImages
from integrator.decode.rows.operations import Operations
from integrator.decode.rows.records import Records
from integrator.decode.rows.runs import DecodedColumns, Fill, Rows
from integrator.engine.arrays import Octets
from integrator.engine.values import Slices
from integrator.schema import Array, Struct, Table, Type


class _Coding(TextCoding):
    """Texts, and objects as JSON has them, where a column is a struct or a list of such."""

    def convert(self, text: Octets, at: Slices, kind: Hashable) -> pa.Array:
        """Return values in their type. Raises ValueRefused, and what Arrow raises for values."""
        inside = kind
        while isinstance(inside, Array):
            inside = inside.item
        if isinstance(inside, Struct):
            return read_json(text, at, cast("Type", kind))
        return super().convert(text, at, kind)


CODING = _Coding("airbyte", utc_typed, zoned="utc")
EXPECTED = "a message of Airbyte's protocol"
OPERATIONS = Operations(
    actions={"RECORD": "I"},
    ignored={"STATE": "states"}
    | dict.fromkeys(("LOG", "TRACE", "SPEC", "CONNECTION_STATUS", "CATALOG", "CONTROL"), "messages of no record"),
)


def decode(document: Document, reading: Reading) -> Decoded:
    """Return the changes in a document. Raises DataError."""
    objects = Objects.of_lines(document).required(EXPECTED).find("type", "record")
    action, at, ignored = OPERATIONS.classify(objects.labels("type"), Where.of(objects), "type")
    record = objects.take(at).inner("record", EXPECTED).find("stream", "namespace", "data", "emitted_at")
    where = Where.of(record)
    data = record.inner("data", COLUMNS).find("_ab_cdc_deleted_at", "_ab_cdc_updated_at")
    action[~data.slices("_ab_cdc_deleted_at").nulls(document.text)] = "D"
    emitted = instants(record.text("emitted_at"), where, "emitted_at", "ms")
    name = "_ab_cdc_updated_at"
    updated = stamps(where, name, data.text(name), "UTC")
    images = JsonImages(data, data, CODING, _is_cdc, key_only=reading.debezium.old_images, empty=EMPTY, infers=True)
    found = Records(
        where=where,
        action=action,
        schema=record.text("namespace"),
        table=record.text("stream"),
        values=_Events(images, record.raw("data"), pc.divide(emitted.cast(pa.int64()), 1000)),
        old=np.zeros(len(at), bool),
        cap_tstamp=pc.coalesce(updated, emitted),
        ignored=ignored,
    )
    return found, Positions.none(found.row_counts)


@dataclass(frozen=True)
class _Events:
    """The values of records; for tables that have a column of whole events, these, and when they were emitted."""

    images: JsonImages
    event: pa.Array
    emitted: pa.Array
    joint: ClassVar[bool] = True

    def variants(self) -> None:
        """Return None: all values are read in one way."""

    def columns(self, rows: Rows, reading: Reading, fill: Fill) -> DecodedColumns:
        """Return the columns of rows. Raises DataError, ColumnsFound."""
        tables = [shares[0].table for shares in rows.parts]
        whole = [table.column(EVENT.name) is not None for table in tables]
        if not any(whole):
            return self.images.columns(rows, reading, fill)
        data, sizes = self.images.after, np.diff(rows.bounds)
        asked = np.zeros(len(data), np.bool_)
        asked[rows.record[np.repeat([_is_read(table) for table in tables], sizes)]] = True
        read = data.where(asked)
        there = np.repeat(whole, sizes) & data.has_object[rows.record]
        found = replace(self.images, after=read, before=read).columns(
            replace(rows, bare=rows.bare | there), reading, fill
        )
        return replace(found, segments=self._with_events(found.segments, rows, whole))

    def _with_events(self, segments: Sequence[Segment], rows: Rows, whole: Sequence[bool]) -> list[Segment]:
        """Return segments with the events of their rows, where they are `whole`."""
        made, bounds = list(segments), rows.bounds
        for place in np.flatnonzero(whole).tolist():
            segment, at = segments[place], pa.array(rows.record[bounds[place] : bounds[place + 1]])
            events = {EVENT.name: self.event.take(at), EVENT_TIME.name: self.emitted.take(at)}
            read = {name: segment.columns[name] for name in segment.columns if name not in events}
            missing = {name: gone for name, gone in segment.missing.items() if name not in events}
            made[place] = replace(segment, columns={**read, **events}, missing=missing)
        return made


def _is_read(table: Table) -> bool:
    """Return whether a table has columns beside whole events, or has no such."""
    return table.column(EVENT.name) is None or len(table.columns) > len(EVENT_COLUMNS)


def _is_cdc(name: str, _variant: int) -> bool:
    """Return whether Airbyte added the field."""
    return name.startswith("_ab_cdc_")


_PARTS = ("record", "state", "log", "trace", "control", "catalog", "spec", "connectionStatus")
_MARKS = tuple(mark("type", part) for part in _PARTS)
DIALECT = of_lines(JsonRecords(decode, EXPECTED), _MARKS, names_tables=True, events_for="AIRBYTE")
