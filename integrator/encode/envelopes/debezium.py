"""Debezium's envelope (https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-events).

before, after, source, transaction, op (c u d t), ts_ms, ts_us, ts_ns; a delete is followed by a tombstone, an update
of the key is a delete and a create. The times are those of the commit, not of the sending, so that an event that is
sent again is the same (I2). As Debezium has it, a value that the source left out is in `after` the placeholder of an
unavailable value, and in `before` null, or, where the column is NOT NULL, its default or a zero (Debezium's
ValueConverters).
"""

from __future__ import annotations

import decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.change_batch import ChangeBatch
from integrator.contracts.fragments import TRANSACTION_LENGTH
from integrator.contracts.operations import DELETE, INSERT, TRUNCATE, UPDATE
from integrator.contracts.recipe import Recipe
from integrator.contracts.sequence import row_numbers
from integrator.contracts.table_recipe import TableRecipe
from integrator.decode.dialects import DIALECTS
from integrator.encode.envelopes.contract import Envelope, image, image_type, texts
from integrator.formats.records import Arrays
from integrator.schema import (
    Array,
    Boolean,
    Bytes,
    Column,
    Decimal,
    Float,
    Integer,
    Interval,
    String,
    Struct,
    Type,
    arrow_type,
)
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
    Column("data_collection_order", Integer(64), nullable=False),
)
_VERSION = "1"
_NOTHING = {
    Boolean: False,
    Float: 0.0,
    Decimal: decimal.Decimal(0),
    String: "",
    Bytes: b"",
    Interval: pa.MonthDayNano([0, 0, 0]),
    Array: [],
}
"""By type; of others, which are numbers and times, it is 0."""


def columns(table: TableRecipe, channel: str) -> tuple[Column, ...]:
    """Return the columns of the envelope: both images are one type, in the namespace of the envelope's record."""
    own = [channel, table.table.schema, table.table.base_name]
    space = table.value_record.rpartition(".")[0] if table.value_record else ".".join(filter(None, own))
    row = image_type(table.fields, ".".join(filter(None, [space, "Value"])), required=True)
    return (
        Column("before", row),
        Column("after", row),
        Column("source", Struct(_SOURCE, "io.debezium.connector.Source", 1), nullable=False),
        Column("transaction", Struct(_TRANSACTION, "event.block", 1)),
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
        "transaction": _transactions(position, channel),
        "op": kinds.take(pa.array(found.op)),
        **stamps,
    }


def _transactions(position: pa.Array, channel: Recipe) -> pa.Array:
    """Return the transactions of events, null where the channel has no messages of transactions.

    The orders are the number of the row in its transaction, which ascends as Debezium's do, and not by one: a before
    image has a number, too, and so have the rows of other tables.
    """
    if channel.transactions is None:
        return pa.nulls(len(position), arrow_type(Struct(_TRANSACTION)))
    order = pa.array(row_numbers(position) + 1)
    of = pc.utf8_slice_codeunits(position, 0, TRANSACTION_LENGTH)
    return pa.StructArray.from_arrays([of, order, order], [column.name for column in _TRANSACTION])


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


def absent(kind: Type, default: Any) -> pa.Scalar | None:
    """Return what Debezium has for a value that is not there and may not be null: the default, or zero of its type."""
    if isinstance(kind, Struct):
        return None
    return pa.scalar(_NOTHING.get(type(kind), 0) if default is None else default, arrow_type(kind))


ENVELOPE = Envelope(
    columns,
    rows,
    operations=tuple(OPERATIONS),
    split_key_updates=True,
    key="CONNECT_SCHEMA",
    format="SCHEMA_PAYLOAD",
    tombstones=True,
    placeholder=placeholder,
    absent=absent,
    required=True,
    version=2,
)
