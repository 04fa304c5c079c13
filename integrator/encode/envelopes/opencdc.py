"""Conduit's OpenCDC record (https://conduit.io/docs/using/opencdc-record), as its Kafka connector writes it in JSON.

position, operation (create update delete), metadata, key, payload {before, after}; the message key is the JSON of the
key. A value that the source left out is not in its image. OpenCDC has no truncate: it is counted, and not sent.
opencdc.createdAt is the commit in nanoseconds, left out where the source does not say it: all metadata are texts, and
Conduit makes the text <nil> of null. opencdc.readAt would be a clock, and is left out (I2).
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.operations import DELETE, INSERT, UPDATE
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import TableRecipe
from integrator.encode.envelopes.contract import Envelope, image, image_type, key_fields, texts
from integrator.formats.records import Arrays
from integrator.schema import Bytes, Column, String, Struct
from integrator.transform.columns import Columns
from integrator.transform.events import Events
from integrator.transform.table_names import table_names

OPERATIONS = {INSERT: "create", UPDATE: "update", DELETE: "delete"}
_METADATA = ("opencdc.collection", "opencdc.createdAt", "opencdc.version")
_VERSION = "v1"


def columns(table: TableRecipe, _channel: str) -> tuple[Column, ...]:
    """Return the columns of the record."""
    whole = image_type(table.fields)
    key = Struct(tuple(field.as_column(nullable=True) for field in key_fields(table)))
    return (
        Column("position", Bytes(), nullable=False),
        Column("operation", String(), nullable=False),
        Column("metadata", Struct(tuple(Column(name, String()) for name in _METADATA), sparse=True), nullable=False),
        Column("key", key),
        Column("payload", Struct((Column("before", whole), Column("after", whole))), nullable=False),
    )


def rows(found: Events, changes: ChangeBatch, of_rows: Columns, table: TableRecipe, channel: Recipe) -> Arrays:
    """Return the records of events."""
    size = len(found)
    at = pa.array(found.row)
    created = pc.multiply(changes.cap_tstamp.take(at).cast(pa.int64()), 1000).cast(pa.string())
    metadata = [table_names(changes, "base_name", table, channel).take(at), created, texts(_VERSION, size)]
    kinds = pa.array([OPERATIONS.get(code) for code in range(6)])
    before = image(of_rows, table.fields, found.before)
    after = image(of_rows, table.fields, found.after)
    return {
        "position": changes.integ_seq.take(at).cast(pa.binary()),
        "operation": kinds.take(pa.array(found.op)),
        "metadata": pa.StructArray.from_arrays(metadata, list(_METADATA)),
        "key": image(of_rows, key_fields(table), found.image),
        "payload": pa.StructArray.from_arrays([before, after], ["before", "after"]),
    }


ENVELOPE = Envelope(columns, rows, operations=tuple(OPERATIONS), split_key_updates=False, key="JSON_ROW", format="JSON")
