"""AWS DMS's messages for Kafka and Kinesis as JSON lines (MessageFormat json-unformatted)."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import mask
from integrator.decode.contract import File, Reading
from integrator.decode.dialect import Decoded
from integrator.decode.images import JsonValues, stamps, utc_typed
from integrator.decode.json.lines import Lines
from integrator.decode.json.objects import Objects
from integrator.decode.kinds import Kinds
from integrator.decode.positions import Positions, by_line, number
from integrator.decode.records import Records
from integrator.decode.text.binary import from_hex
from integrator.schema import Column

EXPECTED = "a message of DMS"
CONTROL = ("create-table", "rename-table", "drop-table", "change-columns", "add-column", "drop-column", "rename-column")
KINDS = Kinds(
    actions={"load": "I", "insert": "I", "update": "U", "delete": "D"},
    ignored=dict.fromkeys((*CONTROL, "column-type-change"), "control records"),
)
_STAMP = Column("timestamp", schema.Timestamp("us", zoned=True))


def decode(lines: Lines, file: File, _reading: Reading) -> Decoded:
    """Return the changes in `lines`. Raises DataError."""
    objects = Objects(lines, EXPECTED)
    metadata = objects.inner("metadata", EXPECTED)
    action, at, ignored = KINDS.sort(metadata.text("operation"), objects.lines, "metadata.operation")
    keep, line = pa.array(at), objects.lines.numbers[at]
    data, before = objects.raw("data").take(keep), objects.raw("before-image").take(keep)
    before = pc.if_else(pc.equal(before, "{}"), None, before)
    old = pc.if_else(pa.array(action == "D"), data, before)
    stamp = pc.coalesce(metadata.text("commit-timestamp"), metadata.text("timestamp")).take(keep)
    found = Records(
        lines=objects.lines,
        action=action,
        schema=metadata.text("schema-name").take(keep),
        table=metadata.text("table-name").take(keep),
        values=JsonValues(objects.lines, line, data, old, convert=typed),
        old=np.asarray(mask(pc.is_valid(before)) & (action == "U")),
        line=line,
        cap_tstamp=stamps(objects.lines.file, line, _STAMP, stamp, "UTC"),
        new_of_changes=False,
        ignored=ignored,
    )
    xid = metadata.text("transaction-id").take(keep)
    return found, Positions(xid, by_line(file.number, line), number(xid), found.row_counts)


typed = partial(utc_typed, decode=from_hex)
"""Values in messages and files: bytes are in hex."""
