"""Debezium's envelope (https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-events).

before, after, source, transaction, op (c u d t), ts_ms, ts_us, ts_ns; a delete is followed by a tombstone, an update
of the key is a delete and a create. The times are those of the commit, not of the sending, so that an event that is
sent again is the same (I2). A value that the source left out is null in `before`, and in `after` the placeholder of an
unavailable value, as Debezium has it.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.operations import DELETE, INSERT, TRUNCATE, UPDATE
from integrator.contracts.recipe import Recipe
from integrator.contracts.table_recipe import TableRecipe
from integrator.decode.dialects import DIALECTS
from integrator.encode.envelopes.contract import Envelope, image, image_type, key_fields, texts
from integrator.formats.contract import Format
from integrator.formats.records import Arrays
from integrator.schema import Array, Bytes, Column, Integer, String, Struct, Type, arrow_type
from integrator.transform.columns import Columns
from integrator.transform.events import Events
from integrator.transform.table_names import table_names

UNAVAILABLE = "__debezium_unavailable_value"
OPERATIONS = {INSERT: "c", UPDATE: "u", DELETE: "d", TRUNCATE: "t"}
_MICROS, _NANOS = 1000, 1000

_SOURCE = (
    Column("version", String(), nullable=False),
    Column("connector", String(), nullable=False),
    Column("name", String(), nullable=False),
    Column("ts_ms", Integer(64)),
    Column("snapshot", String()),
    Column("db", String(), nullable=False),
    Column("sequence", String()),
    Column("ts_us", Integer(64)),
    Column("ts_ns", Integer(64)),
    Column("schema", String()),
    Column("table", String(), nullable=False),
)
_TRANSACTION = (
    Column("id", String(), nullable=False),
    Column("total_order", Integer(64), nullable=False),
)
_VERSION = "1"


def columns(table: TableRecipe, channel: str, fmt: Format) -> tuple[Column, ...]:
    """Return the columns of the envelope.

    An after image has a value, or a placeholder, for each column that is NOT NULL. A before image may lack all but the
    key, so it is a record of its own, except in formats that write a nullable value in another way.
    """
    name = ".".join(filter(None, [channel, table.table.schema, table.table.base_name]))
    if fmt.missing == "refuse":
        before = after = image_type(table.fields, f"{name}.Value")
    else:
        before = image_type(table.fields, f"{name}.Before", {field.name for field in key_fields(table)})
        after = image_type(table.fields, f"{name}.Value", {field.name for field in table.fields})
    return (
        Column("before", before),
        Column("after", after),
        Column("source", Struct(_SOURCE, "io.debezium.connector.Source"), nullable=False),
        Column("transaction", Struct(_TRANSACTION, "event.block")),
        Column("op", String(), nullable=False),
        Column("ts_ms", Integer(64)),
        Column("ts_us", Integer(64)),
        Column("ts_ns", Integer(64)),
    )


def rows(found: Events, changes: ChangeBatch, of_rows: Columns, table: TableRecipe, channel: Recipe) -> Arrays:
    """Return the envelopes of events."""
    size = len(found)
    at = pa.array(found.row)
    micros = changes.cap_tstamp.take(at).cast(pa.int64())
    stamps = {"ts_ms": pc.divide(micros, _MICROS), "ts_us": micros, "ts_ns": pc.multiply(micros, _NANOS)}
    position = changes.integ_seq.take(at)
    source = {
        "version": texts(_VERSION, size),
        "connector": texts(DIALECTS[channel.read.dialect].connector or channel.read.dialect, size),
        "name": texts(channel.messages.channel, size),
        "snapshot": texts("false", size),
        "db": texts(changes.location or channel.messages.cap_loc, size),
        "sequence": pc.binary_join_element_wise('["', changes.tx_seq.take(at), '","', position, '"]', ""),
        "schema": table_names(changes, "schema", table, channel).take(at),
        "table": table_names(changes, "base_name", table, channel).take(at),
        **stamps,
    }
    names = [column.name for column in _SOURCE]
    kinds = pa.array([OPERATIONS.get(code) for code in range(6)])
    return {
        "before": image(of_rows, table.fields, found.before),
        "after": image(of_rows, table.fields, found.after),
        "source": pa.StructArray.from_arrays([source[name] for name in names], names),
        "transaction": pa.nulls(size, pa.struct([("id", pa.string()), ("total_order", pa.int64())])),
        "op": kinds.take(pa.array(found.op)),
        **stamps,
    }


def placeholder(kind: Type) -> pa.Scalar | None:
    """Return Debezium's placeholder of a type: of numbers in a list it is its bytes' (Debezium's UnchangedToast)."""
    match kind:
        case String():
            return pa.scalar(UNAVAILABLE)
        case Bytes():
            return pa.scalar(UNAVAILABLE.encode())
        case Array(String()):
            return pa.scalar([UNAVAILABLE], arrow_type(kind))
        case Array(Integer()):
            return pa.scalar(list(UNAVAILABLE.encode()), arrow_type(kind))
    return None


ENVELOPE = Envelope(
    columns,
    rows,
    operations=tuple(OPERATIONS),
    split_key_updates=True,
    key="CONNECT_SCHEMA",
    format="SCHEMA_PAYLOAD",
    tombstones=True,
    placeholder=placeholder,
)
