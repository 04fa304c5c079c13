"""AWS DMS's messages for Kafka and Kinesis as JSON lines (MessageFormat json-unformatted)."""

from __future__ import annotations

import pyarrow as pa

from integrator.decode.contract import Reading
from integrator.decode.dialect import Decoded, JsonRecords
from integrator.decode.dialects.texts import TextCoding, utc_typed
from integrator.decode.fields import Where
from integrator.decode.json.document import Document
from integrator.decode.json.objects import Objects
from integrator.decode.order.positions import Positions, number
from integrator.decode.rows.coding import stamps
from integrator.decode.rows.images import COLUMNS, JsonImages
from integrator.decode.rows.operations import Operations
from integrator.decode.rows.records import Records
from integrator.decode.rows.runs import Fill
from integrator.decode.text.binary import from_hex
from integrator.schema import Type

EXPECTED = "a message of DMS"
CONTROL = ("create-table", "rename-table", "drop-table", "change-columns", "add-column", "drop-column", "rename-column")
OPERATIONS = Operations(
    actions={"load": "I", "insert": "I", "update": "U", "delete": "D"},
    ignored=dict.fromkeys((*CONTROL, "column-type-change"), "control records"),
)


def decode(document: Document, _reading: Reading) -> Decoded:
    """Return the changes in a document. Raises DataError."""
    objects = Objects.of_lines(document).required(EXPECTED).find("data", "metadata", "before-image")
    metadata = objects.inner("metadata", EXPECTED).find(*_METADATA)
    action, at, ignored = OPERATIONS.classify(metadata.labels("operation"), Where.of(objects), "metadata.operation")
    objects, metadata = objects.take(at), metadata.take(at)
    where = Where.of(objects)
    data, before = objects.inner("data", COLUMNS), objects.inner("before-image", COLUMNS, action == "U")
    stamp = metadata.first_text(["commit-timestamp", "timestamp"])
    found = Records(
        where=where,
        action=action,
        schema=metadata.text("schema-name"),
        table=metadata.text("table-name"),
        values=JsonImages(data, data.either(action == "D", before), CODING),
        old=before.filled & (action == "U"),
        cap_tstamp=stamps(where, "timestamp", stamp, "UTC"),
        fill=Fill(after=False),
        ignored=ignored,
    )
    xid = metadata.text("transaction-id")
    return found, Positions(xid, pa.nulls(len(xid), pa.string()), number(xid), found.row_counts)


def typed(kind: Type, values: pa.Array) -> pa.Array:
    """Return values of messages and files in a type: bytes are in hex. Raises ValueRefused."""
    return utc_typed(kind, values, from_hex)


CODING = TextCoding("dms", typed, zoned="utc")
_METADATA = ("operation", "schema-name", "table-name", "transaction-id", "commit-timestamp", "timestamp")

RECORDS = JsonRecords(decode, EXPECTED)
