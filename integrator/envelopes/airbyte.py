"""Airbyte's Kafka destination (https://docs.airbyte.com/integrations/destinations/kafka): four fields, a uuid as key.

Airbyte's uuid is random; ours is made of the change's position, so that a message that is sent again is the same (I2):
a UUID of version 8 (RFC 9562) out of XXH3-128 of location, table and {hvr_integ_seq}. emitted_at is the commit. In the
data are the columns, and Airbyte's own of a CDC source: a delete has _ab_cdc_deleted_at. Truncates are counted, and not
sent.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from integrator.changes import Changes
from integrator.envelopes.contract import Envelope, Rows, image, image_missing, image_type, texts
from integrator.properties.columns import Columns
from integrator.properties.events import Events
from integrator.recipe import DELETE, INSERT, UPDATE, Recipe, TableRecipe
from integrator.schema import Column, Integer, String, Struct, Timestamp

_STAMP = Timestamp("us", zoned=True)
_CDC = (
    Column("_ab_cdc_cursor", String()),
    Column("_ab_cdc_updated_at", _STAMP),
    Column("_ab_cdc_deleted_at", _STAMP),
)
_DASHES = (8, 13, 18, 23)
_VARIANT = np.frombuffer(b"89ab89ab89ab89ab", np.uint8)
_UUID_LENGTH = 36


def columns(table: TableRecipe, _channel: str) -> tuple[Column, ...]:
    """Return the columns of the message."""
    return (
        Column("_airbyte_ab_id", String(36, "uuid"), nullable=False),
        Column("_airbyte_stream", String(), nullable=False),
        Column("_airbyte_emitted_at", Integer(64)),
        Column("_airbyte_data", Struct((*image_type(table).fields, *_CDC)), nullable=False),
    )


def rows(found: Events, changes: Changes, of_rows: Columns, table: TableRecipe, channel: Recipe) -> Rows:
    """Return the messages of events."""
    at = pa.array(found.row)
    stamps = changes.cap_tstamp.take(at)
    whole = image(of_rows, table.fields, found.image)
    names = [*(field.name for field in table.fields), *(column.name for column in _CDC)]
    deleted = pc.if_else(pa.array(found.op == DELETE), stamps, pa.scalar(None, stamps.type))
    data = [*whole.flatten(), changes.integ_seq.take(at), stamps, deleted]
    values = {
        "_airbyte_ab_id": uuids(changes, table, channel).take(at),
        "_airbyte_stream": texts(table.table.base_name, len(found)),
        "_airbyte_emitted_at": pc.divide(stamps.cast(pa.int64()), 1000),
        "_airbyte_data": pa.StructArray.from_arrays(data, names),
    }
    return values, image_missing(of_rows, found.image, "_airbyte_data")


def uuids(changes: Changes, table: TableRecipe, channel: Recipe) -> pa.Array:
    """Return the uuid of each change row."""
    lead = f"{channel.channel}|{channel.cap_loc}|{table.table.name}|"
    named = pc.binary_join_element_wise(lead, changes.integ_seq, "").cast(pa.binary()).to_numpy(zero_copy_only=False)
    digests = "".join(map(xxhash.xxh3_128_hexdigest, named))
    digits = np.frombuffer(digests.encode(), np.uint8).reshape(-1, 32)
    text = np.full((len(changes), _UUID_LENGTH), ord("-"), np.uint8)
    text[:, np.delete(np.arange(_UUID_LENGTH), _DASHES)] = digits
    text[:, 14] = ord("8")
    text[:, 19] = _VARIANT[text[:, 19] & 15]
    offsets = np.arange(0, _UUID_LENGTH * (len(changes) + 1), _UUID_LENGTH, dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(changes), [None, pa.py_buffer(offsets), pa.py_buffer(text)])


ENVELOPE = Envelope(
    columns, rows, operations=(INSERT, UPDATE, DELETE), split_key_updates=True, key="STRING", format="JSON"
)
