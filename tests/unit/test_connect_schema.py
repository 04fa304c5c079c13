"""Schemas of Kafka Connect as definitions of tables: each type, and whose row a schema is of."""

import pytest

from integrator import schema
from integrator.contracts.connect_schema import row_of, table_of, type_of
from integrator.schema import describe, described

DATA, TIME = "org.apache.kafka.connect.data.", "io.debezium.time."
TYPES = {
    "boolean": ({"type": "boolean"}, "boolean"),
    "int8": ({"type": "int8"}, "tinyint"),
    "int16": ({"type": "int16"}, "smallint"),
    "int32": ({"type": "int32"}, "integer"),
    "int64": ({"type": "int64"}, "bigint"),
    "float": ({"type": "float"}, "real"),
    "double": ({"type": "double"}, "double"),
    "string": ({"type": "string"}, "text"),
    "bytes": ({"type": "bytes"}, "blob"),
    "a decimal": (
        {"type": "bytes", "name": f"{DATA}Decimal", "parameters": {"scale": "2", "connect.decimal.precision": "12"}},
        "decimal(12,2)",
    ),
    "a decimal whose precision is not known": (
        {"type": "bytes", "name": f"{DATA}Decimal", "parameters": {"scale": "3", "connect.decimal.precision": "64"}},
        "decimal(38,3)",
    ),
    "a date": ({"type": "int32", "name": f"{TIME}Date"}, "date"),
    "Connect's date": ({"type": "int32", "name": f"{DATA}Date"}, "date"),
    "a time": ({"type": "int64", "name": f"{TIME}MicroTime"}, "time(6)"),
    "a time whose digits no type has": ({"type": "int64", "name": f"{TIME}NanoTime"}, "text"),
    "Connect's timestamp": ({"type": "int64", "name": f"{DATA}Timestamp"}, "timestamp(3)"),
    "microseconds": ({"type": "int64", "name": f"{TIME}MicroTimestamp"}, "timestamp(6)"),
    "nanoseconds of an instant": ({"type": "int64", "name": f"{TIME}NanoTimestamp", "zoned": True}, "timestamptz(9)"),
    "an instant as text": ({"type": "string", "name": f"{TIME}ZonedTimestamp"}, "timestamptz(6)"),
    "a uuid": ({"type": "string", "name": "io.debezium.data.Uuid"}, "uuid"),
    "json": ({"type": "string", "name": "io.debezium.data.Json"}, "json"),
    "a list": ({"type": "array", "items": {"type": "int32"}}, "integer[]"),
    "a list of structs": ({"type": "array", "items": {"type": "struct", "fields": []}}, "json"),
    "a map": ({"type": "map"}, "json"),
    "a point": ({"type": "struct", "name": "io.debezium.data.geometry.Point"}, "json"),
}


@pytest.mark.parametrize("case", TYPES)
def test_the_type_of_a_column(case):
    field, expected = TYPES[case]
    found = type_of(field)
    assert describe(found) == expected
    assert describe(described(expected)) == expected  # as columns are kept that were added


def struct(name, *fields):
    return {"type": "struct", "name": name, "fields": [*fields]}


ID = {"type": "int64", "optional": False, "field": "id"}
IMAGE = struct("shop.sales.Orders.Value", ID, {"type": "string", "optional": True, "field": "v"})
EVENT = struct(
    "shop.sales.Orders.Envelope",
    {**IMAGE, "field": "before"},
    {**IMAGE, "field": "after"},
    {"type": "string", "field": "op"},
)


def test_the_table_of_an_event_is_in_its_schema():
    table = table_of(EVENT, struct("shop.sales.Orders.Key", ID), (None, "topic"))
    assert (table.name, table.base_name, table.schema, table.key) == ("orders", "Orders", "sales", ("id",))
    assert [(one.name, describe(one.type), one.nullable) for one in table.columns] == [
        ("id", "bigint", False),
        ("v", "text", True),
    ]


@pytest.mark.parametrize(("connector", "kind"), [("mysql", "bits"), ("mariadb", "bits"), ("postgresql", "varbits")])
def test_bits_of_mysql_are_as_many_in_each_row(connector, kind):
    bits = {"type": "bytes", "field": "b", "name": "io.debezium.data.Bits", "parameters": {"length": "10"}}
    source = {"type": "struct", "field": "source", "name": f"io.debezium.connector.{connector}.Source"}
    after = {**struct("shop.sales.orders.Value", ID, bits), "field": "after"}
    event = struct("shop.sales.orders.Envelope", after, source, {"type": "string", "field": "op"})
    assert table_of(event, None, (None, "topic")).column("b").type == schema.String(10, kind)


def test_a_flattened_event_has_no_columns_that_were_added_to_it():
    flat = struct("shop.sales.Orders.Value", ID, {"type": "string", "field": "__op"})
    assert [one.name for one in table_of(flat, None, (None, "topic")).columns] == ["id"]


def test_a_row_is_of_the_table_of_its_topic():
    table = table_of(struct("anything", ID), struct("key", ID), ("sales", "My Orders"))
    assert (table.name, table.base_name, table.schema) == ("my_orders", "My Orders", "sales")


@pytest.mark.parametrize("value", [{"type": "string"}, struct("io.debezium.connector.common.Heartbeat", ID)])
def test_what_is_no_row(value):
    assert row_of(value) is None


@pytest.mark.parametrize("text", ["", "decimal(1,2", "words"])
def test_what_is_no_datatype(text):
    with pytest.raises(KeyError):
        described(text)


def test_each_datatype_is_read_as_it_is_described():
    kinds = [
        schema.Integer(8),
        schema.Decimal(38, 10),
        schema.Time("ms"),
        schema.Timestamp("ns", zoned=True),
        schema.Bytes(),
    ]
    for kind in [*kinds, *map(schema.Array, kinds), schema.String(20), schema.Interval(), schema.Date()]:
        assert described(describe(kind)) == kind
