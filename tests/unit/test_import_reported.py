"""`import debezium`: whole configurations that people reported trouble with, with values that are made up."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.parts import imports

AVRO = "io.confluent.connect.avro.AvroConverter"
FLAT = "io.debezium.transforms.ExtractNewRecordState"
SQL_SERVER = {
    "connector.class": "io.debezium.connector.sqlserver.SqlServerConnector",
    "topic.prefix": "srv",
    "table.include.list": "dbo.orders",
}
ORDERS = "CREATE TABLE [dbo].[orders]([id] [int] NOT NULL PRIMARY KEY, [note] [nvarchar](50) NULL);"
DEVICE = "create table public.device(id integer primary key, label text, price numeric(10,2) not null);"


@dataclass(frozen=True)
class Reported:
    """A configuration with its tables; what the channel and the report must have, and the channel must not."""

    config: dict[str, Any]
    tables: str
    channel: tuple[str, ...] = ()
    report: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    code: int = field(default=0)


REPORTED = {
    "names of Debezium 1.x keep tables and columns back": Reported(
        {
            "connector.class": "io.debezium.connector.mysql.MySqlConnector", "database.server.name": "cdc",
            "database.whitelist": "push", "table.whitelist": "push.biz,push.medium", "column.blacklist": "push.biz.secret",
            "database.history.kafka.bootstrap.servers": "kafka:9092", "database.history.kafka.topic": "history",
        },
        "create table `push`.`biz`(id bigint not null primary key, secret varchar(40));"
        "create table `push`.`medium`(id bigint not null primary key);"
        "create table `push`.`salaries`(id bigint not null primary key);",
        ("only: [push.biz, push.medium]", "{action: ColumnProperties, group: KAFKA, table: biz, Name: secret, Absent: true}"),
        never=("salaries",),
    ),
    "a managed connector is refused": Reported(
        {"connector.class": "PostgresCdcSourceV2", "topic.prefix": "shop", "output.data.format": "AVRO"},
        "create table public.orders(id integer primary key);",
        report=("connector.class is PostgresCdcSourceV2; PostgresConnector, MySqlConnector",),
        code=2,
    ),
    "a router with named groups, and the field that it adds to keys": Reported(
        {
            "connector.class": "io.debezium.connector.mysql.MySqlConnector", "topic.prefix": "shards",
            "table.include.list": "shop_001.orders,shop_002.orders", "transforms": "sharded",
            "transforms.sharded.type": "io.debezium.transforms.ByLogicalTableRouter",
            "transforms.sharded.topic.regex": r".*\.(?<logicalDb>shop)_\d+\.(?<table>[^.]+)",
            "transforms.sharded.topic.replacement": "${logicalDb}.${table}",
            "transforms.sharded.key.field.name": "shard",
        },
        "create table `shop_001`.`orders`(id bigint not null primary key);"
        "create table `shop_002`.`orders`(id bigint not null primary key);",
        ('Kafka_Default_Topic: "shop.{hvr_tbl_base_name}"',),
        ("transforms.sharded: keys have no field shard that keeps tables apart",),
    ),
    "an outbox's router that needs other columns is named": Reported(
        {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector", "topic.prefix": "shop",
            "table.include.list": "inventory.outboxevent", "transforms": "outbox",
            "transforms.outbox.type": "io.debezium.transforms.outbox.EventRouter",
        },
        "create table inventory.outboxevent(id uuid primary key, payload jsonb);",
        report=("transforms.outbox: table outboxevent lacks columns of an outbox: leave it out",),
    ),
    "two databases, of which one is masked and the other has a key": Reported(
        SQL_SERVER | {
            "database.names": "east,west", "column.mask.hash.SHA-256.with.salt.pepper": "east.dbo.orders.note",
            "message.key.columns": "west.dbo.orders:note",
        },
        ORDERS,
        ("Name: note, CaptureExpression: \"sql: left(encode(sha256('${SALT_SECRET}' || \\\"note\\\"), 'hex'), 50)\"}",),
        ("a channel has one database's changes, and east is taken: for each of the others, import again",
         "message.key.columns: west.dbo.orders.note: ignored, because the channel has changes of database east alone"),
        never=("SurrogateKey", "pepper"),
    ),
    "what the registry takes is kept; the flag of deletes has its own name": Reported(
        {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector", "topic.prefix": "db",
            "key.converter": AVRO, "key.converter.schema.registry.url": "http://registry:9081",
            "key.converter.auto.register.schemas": False, "key.converter.use.latest.version": True,
            "value.converter": AVRO, "value.converter.schema.registry.url": "http://registry:9081",
            "value.converter.auto.register.schemas": False, "value.converter.use.latest.version": True,
            "transforms": "Unwrap,Reroute", "transforms.Unwrap.type": FLAT,
            "transforms.Unwrap.delete.tombstone.handling.mode": "rewrite-with-tombstone",
            "transforms.Unwrap.add.fields": "op,ts_ms", "transforms.Unwrap.add.fields.prefix": "_",
            "transforms.Reroute.type": "org.apache.kafka.connect.transforms.RegexRouter",
            "transforms.Reroute.regex": r"([^.]+)\.([^.]+)\.([^.]+)", "transforms.Reroute.replacement": "$3",
        },
        DEVICE,
        ("Schema_Registry: {Auto_Register: false, Use_Latest_Version: true}", "Name: __deleted, Extra: true",
         "Name: _op, Extra: true", 'Kafka_Default_Topic: "{hvr_tbl_base_name}"', "OnDeleteSendTombstone: true"),
        never=("Name: _deleted",),
    ),
    "a mask that names the database": Reported(
        SQL_SERVER | {"database.names": "east", "column.mask.with.5.chars": "east.dbo.orders.note"},
        ORDERS,
        ('{action: ColumnProperties, table: orders, Name: note, CaptureExpression: "*****"}',),
    ),
    "the flag of deletes has no prefix": Reported(
        {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector", "topic.prefix": "db",
            "transforms": "unwrap", "transforms.unwrap.type": FLAT,
            "transforms.unwrap.delete.tombstone.handling.mode": "rewrite", "transforms.unwrap.add.fields": "op",
            "transforms.unwrap.add.fields.prefix": "_",
        },
        DEVICE,
        ("Name: __deleted, Extra: true", "Name: _op, Extra: true"),
        never=("Name: _deleted",),
    ),
    "a key of one column in Avro; numbers that are missing are not 0": Reported(
        {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector", "topic.prefix": "fleet",
            "key.converter": AVRO, "key.converter.schema.registry.url": "http://r:8081",
            "value.converter": AVRO, "value.converter.schema.registry.url": "http://r:8081",
            "transforms": "unwrap,key", "transforms.unwrap.type": FLAT,
            "transforms.key.type": "org.apache.kafka.connect.transforms.ExtractField$Key", "transforms.key.field": "id",
        },
        DEVICE,
        ("{action: Integrate, group: KAFKA, table: device, MessageKeySerializer: KAFKA_AVRO_SCHEMA_COLUMN}",),
        (
         "are null in rows (Missing_Values: NULL), numbers too",
         "text that a record leaves out is __debezium_unavailable_value, as with Debezium"),
        never=("STRING", "MissingRepresentationNumeric"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REPORTED)
def test_a_reported_configuration(name, tmp_path, capsys):
    case = REPORTED[name]
    channel, code = imports.of_debezium(tmp_path, case.config, case.tables, "--brokers", "b1:9092")
    printed = "".join(capsys.readouterr())
    assert code == case.code, printed
    assert not [text for text in case.channel if text not in channel]
    assert not [text for text in case.report if text not in printed]
    assert not [text for text in case.never if text in channel]
