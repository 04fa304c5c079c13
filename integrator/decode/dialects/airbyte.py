"""Airbyte's protocol as JSON lines: what a source writes to its standard output.

https://docs.airbyte.com/platform/understanding-airbyte/airbyte-protocol

Operations: a RECORD whose `_ab_cdc_deleted_at` is not null deletes; any other is an insert, for Airbyte does not tell
them from updates. Other messages (STATE, LOG, TRACE …) are counted. The fields `_ab_cdc_…` are no columns, unless the
table has them.

Positions: the order of files and lines, in which a source writes what is to be applied; there are no transactions.
"""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from integrator.decode.contract import Reading
from integrator.decode.dialect import Decoded, JsonRecords, mark, of_lines
from integrator.decode.dialects.debezium_coding import EMPTY
from integrator.decode.fields import Where, instants
from integrator.decode.json.document import Document
from integrator.decode.json.objects import Objects
from integrator.decode.order.positions import Positions
from integrator.decode.rows.coding import TextCoding, stamps, utc_typed
from integrator.decode.rows.images import COLUMNS, JsonImages
from integrator.decode.rows.operations import Operations
from integrator.decode.rows.records import Records

CODING = TextCoding("airbyte", utc_typed, zoned="utc")
EXPECTED = "a message of Airbyte's protocol"
OPERATIONS = Operations(
    actions={"RECORD": "I"},
    ignored={"STATE": "states"}
    | dict.fromkeys(("LOG", "TRACE", "SPEC", "CONNECTION_STATUS", "CATALOG", "CONTROL"), "messages of no record"),
)


def decode(document: Document, reading: Reading) -> Decoded:
    """Return the changes in a document. Raises DataError."""
    objects = Objects.of_lines(document).required(EXPECTED).find("type", "record")
    action, at, ignored = OPERATIONS.sort(objects.labels("type"), Where.of(objects), "type")
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
        values=images,
        old=np.zeros(len(at), bool),
        cap_tstamp=pc.coalesce(updated, emitted),
        ignored=ignored,
    )
    return found, Positions.none(found.row_counts)


def _is_cdc(name: str, _variant: int) -> bool:
    """Return whether Airbyte added the field."""
    return name.startswith("_ab_cdc_")


_PARTS = ("record", "state", "log", "trace", "control", "catalog", "spec", "connectionStatus")
DIALECT = of_lines(JsonRecords(decode, EXPECTED), tuple(mark("type", part) for part in _PARTS), names_tables=True)
