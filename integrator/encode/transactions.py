"""Messages about the begins and ends of transactions, with the rows of each, as Debezium's transaction topic has them.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-transaction-metadata
A message is a row of a table of its own, in the channel's format without its envelope: status (BEGIN, END), id,
event_count, data_collections and ts_ms; the key is the id. The id is the beginning of the rows' {hvr_integ_seq}.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from integrator.contracts.fragments import FRAGMENT, PresentFields
from integrator.contracts.message_format import Bundling
from integrator.contracts.operations import INSERT
from integrator.contracts.recipe import Recipe, TransactionTopic
from integrator.contracts.table_recipe import Field, KeyRecipe, TableRecipe
from integrator.encode import messages
from integrator.engine.arrays import Ints, Mask
from integrator.formats.keys import KEYS, key_options
from integrator.schema import Array, Column, Integer, String, Struct, Table

NAME = "(transactions)"
"""Of the table, which no other has."""
_SIMPLE = "TransactionMetadata"
RECORD = f"io.debezium.connector.common.{_SIMPLE}"
"""What the names of the records of values and keys begin with."""
_COLLECTION = Struct(
    (Column("data_collection", String(), nullable=False), Column("event_count", Integer(64), nullable=False)),
    "event.collection",
)
_COLUMNS = (
    Column("status", String(), nullable=False),
    Column("id", String(), nullable=False),
    Column("event_count", Integer(64)),
    Column("data_collections", Array(_COLLECTION)),
    Column("ts_ms", Integer(64), nullable=False),
)
SERIALIZERS = {
    "SCHEMA_PAYLOAD": "CONNECT_SCHEMA",
    "PAYLOAD": "CONNECT_PAYLOAD",
    "JSON": "JSON_ROW",
    "REGISTRY_AVRO": "KAFKA_AVRO_SCHEMA",
    "REGISTRY_JSON": "KAFKA_JSON_SCHEMA",
    "REGISTRY_PROTOBUF": "KAFKA_PROTOBUF_SCHEMA",
}
"""How keys are written, by the format of values; other formats have no such messages."""
_MICROS = 1000


@dataclass(frozen=True)
class Transactions:
    """Transactions in their order, and the rows that were sent of them.

    place: the beginning of each one's integ_seq. stamp: its commit, in microseconds since 1970. begins, ends: which
    have these now. counts: rows by place and table, place after place.
    """

    place: pa.Array
    stamp: pa.Array
    begins: Mask
    ends: Mask
    counts: pa.Table


@lru_cache(maxsize=8)
def recipe_of(recipe: Recipe) -> Recipe:
    """Return the recipe of the messages of a channel's transactions."""
    topic = recipe.transactions or TransactionTopic("")
    package = RECORD if messages.format_of(recipe.messages.layout).record_refusal(RECORD) is None else _SIMPLE
    layout = replace(recipe.messages.layout, envelope="", before="", single_value="", bundling=Bundling())
    table = TableRecipe(
        table=Table(NAME, NAME, None, _COLUMNS, ("id",)),
        topic=topic.topic,
        style="Standard",
        key=("id",),
        distribution_key=("id",),
        fields=tuple(Field(one.name, one.type, one.nullable, one.name, column=one.name) for one in _COLUMNS),
        message_key=KeyRecipe(SERIALIZERS[layout.format], columns=(_COLUMNS[1],)),
        value_id=topic.value_id,
        key_id=topic.key_id,
        value_record=f"{package}Value",
        key_record=f"{package}Key",
    )
    return Recipe(recipe.read, (table,), replace(recipe.messages, layout=layout), recipe.send)


def fragments_of(recipe: Recipe, found: Transactions) -> pa.RecordBatch:
    """Return the messages of transactions as fragments of `recipe_of`: of each its begin, then its end."""
    own = recipe_of(recipe)
    [table] = own.tables
    at = np.repeat(np.arange(len(found.place)), 2)
    is_end = np.tile([False, True], len(found.place))
    kept = np.column_stack([found.begins, found.ends]).ravel()
    at, is_end = at[kept], is_end[kept]
    values = _values(recipe, found, at, is_end)
    options = key_options(table.message_key.serializer, own.messages.layout.options)
    encoder = KEYS[table.message_key.serializer].encoder
    if encoder is None:
        raise TypeError(f"{table.message_key.serializer} writes no columns")
    size = len(at)
    made = {
        "topic": pa.repeat(table.topic, size),
        "key": encoder(table.message_key.columns, options)({"id": values["id"]}, {}).cast(pa.binary()),
        "table": pa.repeat(NAME, size),
        "op": pa.repeat(pa.scalar(INSERT, pa.int8()), size),
        "integ_seq": values["id"],
        "rank": pa.repeat(pa.scalar(0, pa.int32()), size),
        "more": pa.repeat(pa.scalar(False), size),
        "shape": pa.repeat("", size),
        "payload": messages.value_encoder(table, own, PresentFields())(values, {}).cast(pa.binary()),
    }
    arrays = [made[field.name] if field.name in made else pa.nulls(size, field.type) for field in FRAGMENT]
    return pa.RecordBatch.from_arrays(arrays, schema=FRAGMENT)


def _values(recipe: Recipe, found: Transactions, at: Ints, is_end: Mask) -> dict[str, pa.Array]:
    """Return the columns of messages: of the transactions at these places, of their begins or ends."""
    rows, of_begin = pa.array(at, mask=~is_end), pa.array(at)
    places, sizes = found.counts["integ_seq"].combine_chunks(), found.counts["rank"].combine_chunks()
    codes = np.asarray(places.dictionary_encode().indices, np.int64)
    bounds = np.append(np.flatnonzero(np.diff(codes, prepend=-1)), len(places))
    tables, named = found.counts["table"].combine_chunks().dictionary_encode(), places_of_tables(recipe)
    places_of_rows = pa.array([named[one] for one in tables.dictionary.to_pylist()], pa.string()).take(tables.indices)
    collections = pa.StructArray.from_arrays(
        [places_of_rows, sizes],
        fields=[pa.field("data_collection", pa.string()), pa.field("event_count", pa.int64())],
    )
    total = np.append(0, np.cumsum(np.asarray(sizes, np.int64)))
    return {
        "status": pa.array(["BEGIN", "END"]).take(pa.array(is_end.astype(np.int64))),
        "id": found.place.take(of_begin),
        "event_count": pa.array(np.diff(total[bounds])).take(rows),
        "data_collections": pa.ListArray.from_arrays(pa.array(bounds, pa.int32()), collections).take(rows),
        "ts_ms": pc.divide(found.stamp, _MICROS).take(of_begin),
    }


@lru_cache(maxsize=8)
def places_of_tables(recipe: Recipe) -> dict[str, str]:
    """Return what transactions call the tables of a channel: their schemas and names in the source."""
    found = {}
    for table in recipe.tables:
        source = table.in_source
        found[table.table.name] = ".".join(filter(None, (source.schema, source.base_name)))
    return found
