"""Airbyte's Kafka destination (https://docs.airbyte.com/integrations/destinations/kafka): four fields, a uuid as key.

Airbyte's uuid is random; ours is {hvr_row_uuid}, made of the change's position, so that a message that is sent again is
the same (I2). emitted_at is the commit. In the data are the columns, and Airbyte's own of a CDC source: a delete has
_ab_cdc_deleted_at. Truncates are counted, and not sent.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.operations import BEFORE_KEY_UPDATE, DELETE, INSERT, UPDATE
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import Field, TableRecipe
from integrator.encode.envelopes.contract import Envelope, image, image_type
from integrator.formats.records import Arrays
from integrator.schema import Column, Integer, String, Timestamp
from integrator.transform.columns import Columns
from integrator.transform.events import Events
from integrator.transform.row_uuid import row_uuid
from integrator.transform.table_names import table_names

_STAMP = Timestamp("us", zoned=True)
_CDC = (
    Field("_ab_cdc_cursor", String(), nullable=True),
    Field("_ab_cdc_updated_at", _STAMP, nullable=True),
    Field("_ab_cdc_deleted_at", _STAMP, nullable=True),
)
_DELETES = (DELETE, BEFORE_KEY_UPDATE)
"""The second: an update of the key is a delete and an insert."""


def columns(table: TableRecipe, _channel: str) -> tuple[Column, ...]:
    """Return the columns of the message."""
    return (
        Column("_airbyte_ab_id", String(36, "uuid"), nullable=False),
        Column("_airbyte_stream", String(), nullable=False),
        Column("_airbyte_emitted_at", Integer(64)),
        Column("_airbyte_data", image_type((*table.fields, *_CDC)), nullable=False),
    )


def rows(found: Events, changes: ChangeBatch, of_rows: Columns, table: TableRecipe, channel: Recipe) -> Arrays:
    """Return the messages of events."""
    at = pa.array(found.row)
    stamps = changes.cap_tstamp.take(at)
    return {
        "_airbyte_ab_id": row_uuid(changes, table, channel).take(at),
        "_airbyte_stream": table_names(changes, "base_name", table, channel).take(at),
        "_airbyte_emitted_at": pc.divide(stamps.cast(pa.int64()), 1000),
        "_airbyte_data": image(of_rows, (*table.fields, *_CDC), found.image),
    }


def image_values(changes: ChangeBatch) -> Arrays:
    """Return Airbyte's own columns of change rows."""
    deleted = pc.is_in(changes.op, pa.array(_DELETES, pa.int8()))
    stamps = changes.cap_tstamp
    of_deletes = pc.if_else(deleted, stamps, pa.scalar(None, stamps.type))
    return dict(zip((field.name for field in _CDC), (changes.integ_seq, stamps, of_deletes), strict=True))


ENVELOPE = Envelope(
    columns,
    rows,
    operations=(INSERT, UPDATE, DELETE),
    split_key_updates=True,
    key="STRING",
    format="JSON",
    key_expression="{hvr_row_uuid}",
    has_before=False,
    image_fields=_CDC,
    image_values=image_values,
)
