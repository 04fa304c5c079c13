"""Airbyte's Kafka destination (https://docs.airbyte.com/integrations/destinations/kafka): four fields, a uuid as key.

Airbyte's uuid is random; ours is {hvr_row_uuid}, made of the change's position, so that a message that is sent again is
the same (I2). emitted_at is the commit. In the data are the columns, and Airbyte's own of a CDC source: a delete has
_ab_cdc_deleted_at. Truncates are counted, and not sent.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.changes import Changes
from integrator.contracts.operations import DELETE, INSERT, UPDATE
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import TableRecipe
from integrator.encode.envelopes.contract import Envelope, Rows, image, image_columns, image_missing
from integrator.formats.contract import Format
from integrator.schema import Column, Integer, String, Struct, Timestamp
from integrator.transform.columns import Columns
from integrator.transform.events import Events
from integrator.transform.row_uuid import row_uuid

_STAMP = Timestamp("us", zoned=True)
_CDC = (
    Column("_ab_cdc_cursor", String()),
    Column("_ab_cdc_updated_at", _STAMP),
    Column("_ab_cdc_deleted_at", _STAMP),
)


def columns(table: TableRecipe, _channel: str, _fmt: Format) -> tuple[Column, ...]:
    """Return the columns of the message."""
    return (
        Column("_airbyte_ab_id", String(36, "uuid"), nullable=False),
        Column("_airbyte_stream", String(), nullable=False),
        Column("_airbyte_emitted_at", Integer(64)),
        Column("_airbyte_data", Struct((*image_columns(table), *_CDC)), nullable=False),
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
        "_airbyte_ab_id": row_uuid(changes, table, channel).take(at),
        "_airbyte_stream": changes.names("base_name", table.table).take(at),
        "_airbyte_emitted_at": pc.divide(stamps.cast(pa.int64()), 1000),
        "_airbyte_data": pa.StructArray.from_arrays(data, names),
    }
    return values, image_missing(of_rows, found.image, "_airbyte_data")


ENVELOPE = Envelope(
    columns,
    rows,
    operations=(INSERT, UPDATE, DELETE),
    split_key_updates=True,
    key="STRING",
    format="JSON",
    key_expression="{hvr_row_uuid}",
    images=False,
)
