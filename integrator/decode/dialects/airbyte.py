"""Airbyte's protocol as JSON lines: what a source writes to its standard output.

https://docs.airbyte.com/platform/understanding-airbyte/airbyte-protocol

Operations: a RECORD whose `_ab_cdc_deleted_at` is not null deletes; any other is an insert, for Airbyte does not tell
them from updates. Other messages (STATE, LOG, TRACE …) are counted. The fields `_ab_cdc_…` are no columns, unless the
table has them.

Positions: the order of files and lines, in which a source writes what is to be applied; there are no transactions.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator import schema
from integrator.arrow.arrays import mask
from integrator.decode.contract import File, Reading
from integrator.decode.dialect import Decoded
from integrator.decode.dialects.keys_alone import KeysAlone
from integrator.decode.fields import Where, instants
from integrator.decode.images import JsonValues, stamps, utc_typed
from integrator.decode.json.lines import Lines
from integrator.decode.json.objects import Objects
from integrator.decode.kinds import Kinds
from integrator.decode.positions import NO_TRANSACTION, Positions, by_line
from integrator.decode.records import Records
from integrator.schema import Column

EXPECTED = "a message of Airbyte's protocol"
KINDS = Kinds(
    actions={"RECORD": "I"},
    ignored={"STATE": "states"}
    | dict.fromkeys(("LOG", "TRACE", "SPEC", "CONNECTION_STATUS", "CATALOG", "CONTROL"), "messages of no record"),
)
_UPDATED = Column("_ab_cdc_updated_at", schema.Timestamp("us", zoned=True))


def decode(lines: Lines, file: File, reading: Reading) -> Decoded:
    """Return the changes in `lines`. Raises DataError."""
    objects = Objects(lines, EXPECTED)
    action, at, ignored = KINDS.sort(objects.text("type"), objects.lines, "type")
    keep, line = pa.array(at), objects.lines.numbers[at]
    record = objects.inner("record", EXPECTED)
    data, cdc = record.raw("data").take(keep), record.inner("data")
    action[mask(pc.is_valid(cdc.raw("_ab_cdc_deleted_at").take(keep)))] = "D"
    emitted = instants(record.text("emitted_at").take(keep), Where(file.path, line), "emitted_at", "ms")
    updated = cdc.text("_ab_cdc_updated_at").take(keep)
    images = JsonValues(objects.lines, line, data, data, _is_cdc, utc_typed)
    found = Records(
        lines=objects.lines,
        action=action,
        schema=record.text("namespace").take(keep),
        table=record.text("stream").take(keep),
        values=KeysAlone(images, reading.debezium.old_images, file.path, line),
        old=np.zeros(len(at), bool),
        line=line,
        cap_tstamp=pc.coalesce(stamps(file.path, line, _UPDATED, updated, "UTC"), emitted),
        ignored=ignored,
    )
    place = by_line(file.number, line)
    alone = pa.nulls(len(at), pa.string())
    return found, Positions(alone, place, pa.repeat(NO_TRANSACTION, len(at)), found.row_counts)


def _is_cdc(name: str) -> bool:
    """Say whether Airbyte added the field."""
    return name.startswith("_ab_cdc_")
