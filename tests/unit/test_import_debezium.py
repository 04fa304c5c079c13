"""`import debezium`: what a connector's properties become, one by one, and what has no counterpart."""

import pytest

from integrator import plan
from integrator.imports import connect_file
from tests.parts import debezium_events as debezium
from tests.parts import imports, pure

POSTGRES = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "topic.prefix": "shop",
    "producer.override.bootstrap.servers": "b1:9092",
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
}
DDL = (
    "create table orders(id int primary key, sku text not null, price numeric(10,2), paid boolean, at timestamp,"
    " tm time(0), proof bytea);\n"
    "create table audit(what text);\n"
    "create table ops.orders_old(id int primary key, sku text);\n"
)
AVRO = {
    "value.converter": "io.confluent.connect.avro.AvroConverter",
    "value.converter.schema.registry.url": "http://r:8081",
}
TOPICS = {"topic.creation.default.partitions": 3, "topic.creation.default.replication.factor": 2}
FLAT = {"transforms": "unwrap", "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState"}
KEYED = FLAT | {
    "transforms": "unwrap,value,key",
    "transforms.value.type": "org.apache.kafka.connect.transforms.ValueToKey",
    "transforms.value.fields": "sku",
    "transforms.key.type": "org.apache.kafka.connect.transforms.ExtractField$Key",
    "transforms.key.field": "sku",
}


@pytest.fixture
def run(tmp_path, capsys):
    """Import a configuration; return the channel, what was printed, and the exit code."""

    def called(config, *more, tables=DDL):
        channel, code = imports.of_debezium(tmp_path, config, tables, *more)
        printed = capsys.readouterr()
        return channel, printed.out + printed.err, code

    return called


CASES = [
    # the envelope, the format, the key
    ({}, "{action: FileFormat, Json: true, JsonMode: SCHEMA_PAYLOAD, Envelope: DEBEZIUM}"),
    ({}, "MessageKeySerializer: CONNECT_SCHEMA,"),
    ({"value.converter.schemas.enable": "false"}, "JsonMode: PAYLOAD, Envelope: DEBEZIUM"),
    ({"key.converter.schemas.enable": "false"}, "MessageKeySerializer: CONNECT_PAYLOAD,"),
    (AVRO, 'Kafka_Schema_Registry: "http://r:8081"'),
    (AVRO, "{action: FileFormat, Envelope: DEBEZIUM}"),
    (AVRO | {"key.converter": "io.confluent.connect.avro.AvroConverter"},
     "{action: Integrate, group: KAFKA, table: orders, KeySubjectStrategy: TopicNameStrategy, KeyRecordName: "),
    (AVRO | {"value.converter.value.subject.name.strategy": "io.confluent.kafka.serializers.subject.RecordNameStrategy"},
     "ValueSubjectStrategy: RecordNameStrategy"),
    (AVRO | {"value.converter": "io.confluent.connect.protobuf.ProtobufConverter"}, "Kafka_Schema_Registry_Format: PROTOBUF"),
    ({"value.converter": "io.apicurio.registry.utils.converter.AvroConverter",
      "value.converter.apicurio.registry.url": "http://a:8080/apis/registry/v2"},
     'Kafka_Schema_Registry: "http://a:8080/apis/ccompat/v7"'),
    # a table without a key has none in its messages
    ({}, "{action: Integrate, group: KAFKA, table: audit, MessageKeySerializer: NONE}"),
    # names
    ({}, 'Kafka_Default_Topic: "shop.{hvr_schema}.{hvr_tbl_base_name}"'),
    ({}, "{action: TableProperties, group: KAFKA, table: orders, Schema: public}"),
    ({"topic.delimiter": "_"}, 'Kafka_Default_Topic: "shop_{hvr_schema}_{hvr_tbl_base_name}"'),
    ({"database.dbname": "shopdb"}, "  shopdb: {class: files"),
    ({"table.include.list": "public.orders"}, "only: [orders]"),
    ({"table.exclude.list": "ops\\..*,public.audit"}, "only: [orders]"),
    ({"schema.include.list": "ops"}, "only: [ops.orders_old]"),
    # routers
    ({"transforms": "r", "transforms.r.type": "org.apache.kafka.connect.transforms.RegexRouter",
      "transforms.r.regex": "shop\\.(?<schema>[^.]*)\\.(.*)", "transforms.r.replacement": "cdc.${schema}.$2.v1"},
     'Kafka_Default_Topic: "cdc.{hvr_schema}.{hvr_tbl_base_name}.v1"'),
    ({"transforms": "r", "transforms.r.type": "org.apache.kafka.connect.transforms.RegexRouter",
      "transforms.r.regex": ".*", "transforms.r.replacement": "all"}, "Kafka_Default_Topic: all"),
    ({"transforms": "r", "transforms.r.type": "org.apache.kafka.connect.transforms.RegexRouter",
      "transforms.r.regex": ".*", "transforms.r.replacement": "all", "transforms.r.predicate": "p", "predicates": "p",
      "predicates.p.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
      "predicates.p.pattern": ".*audit"}, "{action: Integrate, group: KAFKA, table: audit, MessageKeySerializer: NONE, Topic: all}"),
    ({"transforms": "r", "transforms.r.type": "io.debezium.transforms.ByLogicalTableRouter",
      "transforms.r.topic.regex": "(.*)orders(_old)?", "transforms.r.topic.replacement": "$1all_orders"},
     "{action: Integrate, group: KAFKA, table: orders_old, Topic: shop.ops.all_orders, "
     "ValueRecordName: shop.ops.all_orders.Envelope, KeyRecordName: shop.ops.all_orders.Key}"),
    # flattened
    (FLAT, "OnDeleteSendTombstone: true"),
    (FLAT, "{action: TableProperties, MissingRepresentationString: __debezium_unavailable_value}"),
    (FLAT | {"transforms.unwrap.delete.handling.mode": "rewrite"},
     'Name: __deleted, Extra: true, Datatype: varchar, Length: 5, TimeKey: true, IntegrateExpression: "{hvr_op_str 0>true;'),
    (FLAT | {"transforms.unwrap.delete.handling.mode": "rewrite"}, "{action: Capture, NoBeforeUpdate: true, NoTruncate: true}"),
    (FLAT | {"transforms.unwrap.add.fields": "op:what,source.db", "transforms.unwrap.add.fields.prefix": "m_",
             "database.dbname": "shop"}, "Name: m_source_db, Extra: true, Datatype: varchar, IntegrateExpression: \"'shop'\""),
    (FLAT | {"transforms.unwrap.add.fields": "op:what", "transforms.unwrap.add.fields.prefix": "m_"}, "Name: m_what, Extra: true"),
    (FLAT | {"transforms.unwrap.add.headers": "op,table"},
     'MessageHeaders: "__op={hvr_op_str 0>d;1>c;2>u;3>d;4>u;5>t};__table={hvr_tbl_base_name}"'),
    (FLAT | {"transforms": "unwrap,drop", "transforms.drop.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
             "transforms.drop.exclude": "proof", "transforms.drop.renames": "sku:article"},
     "{action: ColumnProperties, group: KAFKA, table: orders, Name: proof, Absent: true}"),
    (FLAT | {"transforms": "unwrap,drop", "transforms.drop.type": "org.apache.kafka.connect.transforms.ReplaceField$Value",
             "transforms.drop.renames": "sku:article"}, "table: orders, Name: sku, BaseName: article}"),
    (FLAT | {"transforms": "unwrap,mask", "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
             "transforms.mask.fields": "sku", "transforms.mask.replacement": "it's"},
     "{action: ColumnProperties, table: orders, Name: sku, CaptureExpression: \"'it''s'\"}"),
    (FLAT | {"transforms": "unwrap,mask", "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
             "transforms.mask.fields": "price,at"}, 'table: orders, Name: price, CaptureExpression: "0"}'),
    (FLAT | {"transforms": "unwrap,mask", "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
             "transforms.mask.fields": "price,at"}, "{action: ColumnProperties, group: KAFKA, table: orders, Name: at, Absent: true}"),
    (FLAT | {"transforms": "unwrap,add", "transforms.add.type": "org.apache.kafka.connect.transforms.InsertField$Value",
             "transforms.add.static.field": "site", "transforms.add.static.value": "EU"},
     "Name: site, Extra: true, Datatype: varchar, IntegrateExpression: \"'EU'\"}"),
    (FLAT | {"transforms": "unwrap,key", "transforms.key.type": "org.apache.kafka.connect.transforms.ExtractField$Key",
             "transforms.key.field": "id", "key.converter": "org.apache.kafka.connect.storage.StringConverter"},
     'table: orders, MessageKey: "{id}", MessageKeySerializer: STRING}'),
    (KEYED, "{action: ColumnProperties, table: orders, Name: sku, SurrogateKey: true}"),
    (KEYED, "{action: Integrate, group: KAFKA, table: orders, MessageKeySerializer: CONNECT_SCHEMA_COLUMN}"),
    # columns
    ({"column.exclude.list": "public.orders.p.*"}, "{action: ColumnProperties, group: KAFKA, table: orders, Name: paid, Absent: true}"),
    ({"column.include.list": "public.orders.(id|sku),.*.what"}, "table: orders, Name: proof, Absent: true}"),
    ({"column.mask.with.3.chars": "public.orders.sku"}, 'table: orders, Name: sku, CaptureExpression: "***"}'),
    ({"column.mask.with.0.chars": "public.orders.sku"}, "table: orders, Name: sku, CaptureExpression: \"''\"}"),
    ({"column.truncate.to.2.chars": "public.orders.sku"}, 'CaptureExpression: "sql: left(\\"sku\\", 2)"}'),
    ({"column.mask.hash.v2.SHA-512.with.salt.x.y": "public.orders.sku"},
     "CaptureExpression: \"sql: encode(sha512('${SALT_SECRET}' || \\\"sku\\\"), 'hex')\"}"),
    ({"column.mask.hash.v2.SHA-1.with.salt.x": "public.orders.sku"}, "table: orders, Name: sku, Absent: true}"),
    ({"message.key.columns": "public.orders:sku,id;public.audit:what"}, "{action: ColumnProperties, table: audit, Name: what, SurrogateKey: true}"),
    # values
    ({"decimal.handling.mode": "string"}, "Json_Decimals: TEXT"),
    ({"decimal.handling.mode": "double"},
     '{action: ColumnProperties, DatatypeMatch: decimal, Datatype: double, IntegrateExpression: "sql: cast({{hvr_col_name}} as double)"}'),
    (AVRO | {"decimal.handling.mode": "string"}, "{action: ColumnProperties, DatatypeMatch: decimal, Datatype: text}"),
    ({"value.converter.decimal.format": "NUMERIC"}, "Json_Decimals: NUMERIC"),
    ({"time.precision.mode": "connect"}, "Json_Times: CONNECT"),
    ({"time.precision.mode": "connect"}, "debezium: {time_precision_mode: CONNECT}"),
    ({"time.precision.mode": "adaptive_time_microseconds"}, "{action: ColumnProperties, DatatypeMatch: time, Datatype: time, Precision: 6}"),
    ({"time.precision.mode": "nanoseconds"}, "{action: ColumnProperties, DatatypeMatch: timestamp, Datatype: timestamp, Precision: 9}"),
    ({"binary.handling.mode": "hex"}, "DatatypeMatch: blob, Datatype: text, IntegrateExpression: \"sql: encode({{hvr_col_name}}, 'hex')\"}"),
    ({"unavailable.value.placeholder": "n/a"}, "debezium: {unavailable_value: n/a}"),
    # what Kafka Connect asks a worker for, and a channel the environment
    ({"producer.override.client.id": "${file:/opt/x.properties:client-id}"}, 'Value: "client.id=${CLIENT_ID}"'),
    # operations
    ({}, "{action: Capture, NoTruncate: true}"),
    ({"tombstones.on.delete": "false"}, "OnDeleteSendTombstone: false"),
    # delivery
    ({}, "Kafka_Partitioner: murmur2_random"),
    ({}, "Kafka_Message_Compress: NONE"),
    ({"producer.override.compression.type": "zstd"}, "Kafka_Message_Compress: ZSTD"),
    ({"producer.override.delivery.timeout.ms": "90500"}, 'Name: HVR_KAFKA_MSG_DELIVERY_TIMEOUT, Value: "91"'),
    ({"exactly.once.support": "required"}, "delivery: exactly_once"),
    ({"errors.tolerance": "all", "errors.retry.timeout": "60000"}, "errors: {retry.timeout: 60000, tolerance: all}"),
    ({}, "Create_Topics: broker"),
    (TOPICS | {"topic.creation.enable": "false"}, "Create_Topics: broker"),
    (TOPICS | {"topic.creation.default.retention.ms": 5},
     'Create_Topics: {Partitions: 3, Replication_Factor: 2, Topic_Config: {retention.ms: "5"}}'),
    (TOPICS | {"topic.creation.default.replication.factor": -1}, 'Create_Topics: [{topics: "*", partitions: 3}]'),
    (TOPICS | {"topic.creation.groups": "big", "topic.creation.big.include": "shop\\.public\\.orders,.*old",
               "topic.creation.big.cleanup.policy": "compact"},
     'Create_Topics: [{topics: [shop.public.orders, "^.*old"], partitions: 3, replication: 2, settings: {cleanup.policy: '
     'compact}}, {topics: "*", partitions: 3, replication: 2}]'),
    (TOPICS | {"topic.creation.groups": "big,small", "topic.creation.big.partitions": 12,
               "topic.creation.big.include": ".*orders.*,(?i)x.*", "topic.creation.big.exclude": ".*_old,y", "topic.creation.small.partitions": 1,
               "topic.creation.small.replication.factor": -1, "topic.creation.small.include": ".*audit,.*orders"},
     'Create_Topics: [{topics: ["^(?!(?:.*_old|y)$)(?:.*orders.*)", "^(?!(?:.*_old|y)$)(?:(?i:x.*))"], partitions: 12, replication: 2}, '
     '{topics: ["^.*audit", "^.*orders"], partitions: 1}, {topics: "*", partitions: 3, replication: 2}]'),
]  # fmt: skip


@pytest.mark.parametrize(("more", "wanted"), CASES)
def test_what_a_property_becomes(more, wanted, run):
    channel, printed, code = run(POSTGRES | more)
    assert code == 0, printed
    assert wanted in channel


ROUTED = {
    "transforms": "r",
    "transforms.r.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.r.regex": "shop\\.(?<schema>[^.]*)\\.(.*)",
    "transforms.r.replacement": "cdc.${schema}.$2.v1",
}
JSON_ALONE = {"value.converter.schemas.enable": "false"}
KEPT = [
    # of a connector that stays: topics
    ({}, None, 'topics: ["^shop\\\\.[^\\\\.]+\\\\..+"]'),
    ({"table.include.list": "public.orders,ops\\.orders_old"}, None, "topics: [shop.public.orders, shop.ops.orders_old]"),
    ({"table.include.list": "public.o.*"}, None, 'topics: ["^shop\\\\.(?i:public.o.*)"]'),
    ({"schema.include.list": "ops"}, None, 'topics: ["^shop\\\\.(?i:ops)\\\\..+"]'),
    ({"topic.delimiter": "-", "table.include.list": "public.orders"}, None, "topics: [shop-public-orders]"),
    ({"table.exclude.list": "public.audit"}, DDL, "topics: [shop.ops.orders_old, shop.public.orders]"),
    (ROUTED, DDL, "topics: [cdc.ops.orders_old.v1, cdc.public.audit.v1, cdc.public.orders.v1]"),
    (ROUTED | {"table.include.list": "public.orders"}, None, "topics: [cdc.public.orders.v1]"),
    ({"connector.class": "io.debezium.connector.mysql.MySqlConnector", "table.include.list": "shopdb.orders"}, None,
     "topics: [shop.shopdb.orders]"),
    ({"connector.class": "io.debezium.connector.sqlserver.SqlServerConnector", "database.names": "Sales",
      "table.include.list": "dbo.orders"}, None, "topics: [shop.Sales.dbo.orders]"),
    # where messages go
    ({}, None, 'Kafka_Default_Topic: "shop-out.{hvr_tbl_name}"'),
    # encodings
    (AVRO, None, 'Kafka_Schema_Registry: "http://r:8081"'),
    (AVRO | {"value.converter.basic.auth.user.info": "me:pl4nted"}, None, 'Kafka_Schema_Registry_Password: "${SCHEMA_REGISTRY_PASSWORD}"'),
    ({"value.converter": "io.debezium.converters.CloudEventsConverter"}, DDL, "dialect: cloudevents"),
    (JSON_ALONE | {"decimal.handling.mode": "string"}, DDL, "debezium: {decimal_handling_mode: STRING}"),
    (JSON_ALONE, DDL, "tables: [{file: "),
    # rows, flattened
    (FLAT, None, "dialect: rows"),
    (FLAT | {"transforms.unwrap.add.fields": "op"}, None, "unknown_columns: ignore"),
    (FLAT | {"transforms.unwrap.delete.tombstone.handling.mode": "rewrite"}, None, "dialect: debezium"),
    # repeats, columns that come later
    ({}, None, "dialect: debezium, unknown_columns: add, repeated_positions: send"),
    # access of both locations
    ({"producer.override.security.protocol": "SSL"}, None, "Kafka_Tls: true, topics:"),
    ({"producer.override.security.protocol": "SSL"}, None, "    Kafka_Tls: true\n"),
    ({"producer.override.ssl.endpoint.identification.algorithm": "https"}, None,
     '{action: Environment, group: SOURCE, Name: HVR_KAFKA_PROPERTY, Value: "ssl.endpoint.identification.algorithm=https"}'),
]  # fmt: skip
KEPT_NOTES = [
    ({"slot.name": "s", "snapshot.mode": "initial", "column.mask.hash.SHA-256.with.salt.pl4nted": "public.orders.sku"},
     "slot.name, snapshot.mode, column.mask.hash.SHA-256.with.salt.…: ignored, because the connector stays, and does it before it sends"),
    ({"producer.override.linger.ms": "5"}, "producer.override.linger.ms: ignored, because it is of the connector's producer"),
    ({"transforms": "o", "transforms.o.type": "io.debezium.transforms.outbox.EventRouter"}, "transforms.o (EventRouter): its topics have the events of an outbox, not rows"),
    ({"transforms": "o", "transforms.o.type": "io.debezium.transforms.ContentBasedRouter"}, "add the topics that it sends to to `topics`"),
    ({"transforms": "own", "transforms.own.type": "org.example.Hide"}, "transforms.own (Hide) is not known: where it changes the shape of records"),
    ({"transforms": "m", "transforms.m.type": "org.apache.kafka.connect.transforms.MaskField$Value"}, "transforms.m (MaskField$Value): ignored, because the records have what it makes of them"),
    (ROUTED, "compare `topics` of the source location with those that are there"),
    (ROUTED | {"transforms": "unwrap,r", "transforms.unwrap.type": FLAT["transforms.unwrap.type"]}, "or set table_of_topic at the source location"),
    (FLAT | {"transforms.unwrap.delete.tombstone.handling.mode": "drop"}, "deletes leave nothing in the topics"),
    (FLAT | {"tombstones.on.delete": "false"}, "set it to true at the connector"),
    (FLAT | {"key.converter": "org.apache.kafka.connect.storage.StringConverter"}, "keys are the text of Java's structs"),
    ({"key.converter.schemas.enable": "false"}, "keys have no schemas, which name the key columns of tables"),
    (KEYED, "keys are single values, which do not name the table's key column"),
    (AVRO | {"value.converter.connect.meta.data": "false"}, "schemas do not say which numbers are times"),
    ({"value.converter": "io.apicurio.registry.utils.converter.AvroConverter", "value.converter.apicurio.registry.url": "http://a:8080"},
     "Apicurio's converter must write a schema's id as Confluent's does"),
    ({"value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter"}, "what ByteArrayConverter writes cannot be read"),
    ({"topic.naming.strategy": "org.example.Ours"}, "topic.naming.strategy: topics may have other names"),
    ({}, "the connector's topics stay as they are; messages go to shop-out.{hvr_tbl_name}"),
    ({}, "not checked: the schemas of its records define its tables"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "tables", "wanted"), KEPT)
def test_a_connector_that_stays_is_read(more, tables, wanted, run):
    channel, printed, code = run(POSTGRES | more, "--keep-connector", tables=tables)
    assert code == 0, printed
    assert wanted in channel


@pytest.mark.parametrize(("more", "wanted"), KEPT_NOTES)
def test_what_of_a_connector_that_stays_is_to_be_known(more, wanted, run):
    channel, printed, code = run(POSTGRES | more, "--keep-connector", tables=None)
    assert code == 0, printed
    assert wanted in printed
    assert imports.SECRET not in channel + printed


def test_the_channel_of_a_connector_that_stays_needs_definitions_where_records_have_no_schemas(run, tmp_path):
    channel, printed, code = run(POSTGRES | JSON_ALONE, "--keep-connector", tables=None)
    assert code == 0, printed
    assert "tables: [{file: tables.sql" in channel
    assert f"Next: write the tables' definitions to {tmp_path}/tables.sql" in printed


NOTES = [
    ({"key.converter": "org.apache.kafka.connect.storage.StringConverter"}, "key.converter: the text of Java's structs (Struct{id=1}) is not there: keys are JSON"),
    ({"value.converter": "io.debezium.converters.CloudEventsConverter"}, "value.converter (CloudEventsConverter) is not there: values are JSON without schemas"),
    ({"snapshot.mode": "initial"}, "snapshot.mode: ignored, because whole tables are sent by integrator refresh"),
    ({"slot.name": "s", "database.port": "1"}, "slot.name, database.port: ignored, because another program captures the changes"),
    ({"an.unknown.key": "s"}, "an.unknown.key: ignored, because no counterpart is known"),
    ({"transforms": "f", "transforms.f.type": "io.debezium.transforms.Filter"}, "transforms.f (Filter) is not followed: rows that it drops are sent, until"),
    ({"transforms": "m", "transforms.m.type": "org.apache.kafka.connect.transforms.MaskField$Value"}, "transforms.m (MaskField$Value) is not followed: it changes Debezium's envelope"),
    ({"column.exclude.list": "public.orders.id"}, "public.orders.id: of the key, and so in the messages too, where column.exclude.list left it in keys alone"),
    ({"column.mask.hash.SHA-256.with.salt.pl4nted": "public.orders.sku"}, "column.mask.hash.SHA-256.with.salt.…: the hash is of salt and text"),
    ({"skipped.operations": "u,t"}, "skipped.operations: u: let the capture skip them, or such changes are sent"),
    ({"skip.messages.without.change": "true"}, "skip.messages.without.change: an update that changes nothing is sent, too"),
    ({"topic.naming.strategy": "org.example.Ours"}, "topic.naming.strategy: topics may have other names"),
    ({"converters": "own", "own.type": "org.example.Mask"}, "converters: Java classes are not run: what they mask or convert is sent as it is in the records"),
    ({"transforms": "own", "transforms.own.type": "org.example.Hide"}, "transforms.own (Hide) is not followed: what it hides or drops is sent, until an action does the same"),
    (FLAT, "transforms.unwrap names no delete.tombstone.handling.mode: deletes are tombstones"),
    (FLAT | {"transforms.unwrap.add.fields": "source.lsn"}, "transforms.unwrap.add.fields: source.lsn is not added: positions differ by database"),
    (FLAT | {"transforms.unwrap.route.by.field": "sku"}, "transforms.unwrap.route.by.field is not followed: Integrate Topic may have columns"),
    (FLAT | {"transforms.unwrap.drop.fields.header.name": "h"}, "transforms.unwrap.drop.fields.header.name is not followed: what it drops is sent"),
    (KEYED, "transforms.value: table audit has no column sku: its key is its own"),
    ({"topic.prefix": "Shop.EU-central"}, "the channel is called shop_eu_cent, not Shop.EU-central"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "wanted"), NOTES)
def test_what_has_no_counterpart_is_named_with_the_reason(more, wanted, run):
    channel, printed, code = run(POSTGRES | more)
    assert code == 0, printed
    assert wanted in printed
    assert imports.SECRET not in channel + printed


REFUSED = [
    (KEYED | {"column.mask.with.3.chars": ".*sku"}, "transforms.value: orders.sku is masked, and cannot be the key"),
    ({"topic.prefix": "${env:PREFIX}"}, "topic.prefix: ${env:PREFIX} is a reference that a worker of Kafka Connect resolves: write its value"),
    ({"table.include.list": "public.orders,${file:/x:t}"}, "table.include.list: ${file:/x:t} is a reference"),
    ({"connector.class": "io.debezium.connector.mongodb.MongoDbConnector"}, "connector.class is MongoDbConnector; PostgresConnector, MySqlConnector"),
    ({"table.include.list": "none.such"}, "defines no table that the connector captures"),
    ({"table.include.list": "public.(orders"}, "table.include.list: 'public.(orders' is no regular expression that can be read"),
    ({"transforms": "r", "transforms.r.type": "x.RegexRouter", "transforms.r.regex": "(", "transforms.r.replacement": "x"}, "transforms.r: '(' is no regular expression"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "wanted"), REFUSED)
def test_what_cannot_be_imported(more, wanted, run):
    channel, printed, code = run(POSTGRES | more)
    assert (code, channel) == (2, "")
    assert wanted in printed


def test_without_definitions_the_channel_waits_for_them(run):
    more = {"table.include.list": "public.orders, ops\\.orders_old", "column.exclude.list": "public.orders.proof"}
    channel, printed, code = run(POSTGRES | more, tables=None)
    assert code == 0
    assert "tables: [{file: tables.sql, sql_dialect: postgres, only: [public.orders, ops.orders_old]}]" in channel
    assert "{action: ColumnProperties, group: KAFKA, table: orders, Name: proof, Absent: true}" in channel
    assert "not checked: it has no table definitions yet" in printed
    assert "/tables.sql (pg_dump -s)" in printed.partition("Next: write the tables' definitions to ")[2]


@pytest.mark.parametrize(
    "more",
    [
        {"table.include.list": "public.(orders|audit)"},
        {"table.exclude.list": "public.audit"},
        {"column.exclude.list": ".*.proof"},
        {"column.mask.with.3.chars": "public.orders.s.*"},
        {"column.include.list": "public.orders.id"},
    ],
)
def test_without_definitions_nothing_is_sent_that_was_not(more, run):
    channel, printed, code = run(POSTGRES | more, tables=None)
    assert (code, channel) == (2, "")
    assert "can be followed only with the tables' definitions: give them, --tables FILE" in printed


def test_a_worker_says_what_its_connectors_do_not(run, tmp_path):
    (tmp_path / "worker.properties").write_text(
        "bootstrap.servers = w1:9092,w2:9092\n"
        "key.converter=org.apache.kafka.connect.json.JsonConverter\nkey.converter.schemas.enable=false\n"
        "value.converter=org.apache.kafka.connect.json.JsonConverter\nvalue.converter.schemas.enable=false\n"
        "producer.linger.ms=7\noffset.storage.topic=offsets\n"
    )
    own = {key: value for key, value in POSTGRES.items() if "override" not in key and key != "key.converter"}
    channel, printed, code = run(own, "--worker", str(tmp_path / "worker.properties"))
    assert code == 0, printed
    assert 'Kafka_Brokers: ["w1:9092", "w2:9092"]' in channel
    assert 'Name: HVR_KAFKA_PROPERTY, Value: "linger.ms=7"' in channel
    assert "JsonMode: SCHEMA_PAYLOAD" in channel, "the connector's own converter has its own schemas.enable"
    assert "MessageKeySerializer: CONNECT_PAYLOAD" in channel


def test_a_worker_of_amazon_msk_has_its_access(run, tmp_path):
    module = "software.amazon.msk.auth.iam.IAM"
    (tmp_path / "worker.properties").write_text(
        "producer.security.protocol=SASL_SSL\nproducer.sasl.mechanism=AWS_MSK_IAM\n"
        f"producer.sasl.jaas.config={module}LoginModule required;\n"
        f"producer.sasl.client.callback.handler.class={module}ClientCallbackHandler\n"
        "bootstrap.servers=b-1.shop.abc.c2.kafka.eu-west-1.amazonaws.com:9098\n"
    )
    own = {key: value for key, value in POSTGRES.items() if "override" not in key}
    channel, printed, _ = run(own, "--worker", str(tmp_path / "worker.properties"))
    assert "Kafka_Authentication_Method: AWS_MSK_IAM" in channel
    assert "Kafka_Aws_Region: eu-west-1" in channel
    assert "Kafka_Tls: true" in channel
    assert "callback.handler" not in printed


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a=1\nb : 2\nc 3\n", {"a": "1", "b": "2", "c": "3"}),
        ("# no\n! no\n\n  a = x y \n", {"a": "x y "}),
        ("list=one,\\\n    two\n", {"list": "one,two"}),
        ("re=a\\\\.b\\u0041\nk\\ ey=\\tv\n", {"re": "a\\.bA", "k ey": "\tv"}),
        ("empty=\nalone\n", {"empty": "", "alone": ""}),
        ('{"name": "n", "config": {"a": 1, "b": true, "c": null}}', {"a": "1", "b": "true", "c": ""}),
        ('{"name": "n", "a": "x"}', {"name": "n", "a": "x"}),
    ],
)
def test_files_of_kafka_connect(text, values, tmp_path):
    (tmp_path / "file").write_text(text)
    assert connect_file.read(tmp_path / "file").values == values


def test_two_tables_of_one_name_have_names_of_their_own(run, tmp_path):
    ddl = "create table public.orders(id int primary key);\ncreate table ops.orders(id int primary key);\n"
    channel, printed, code = run(POSTGRES, tables=ddl)
    assert code == 0, printed
    assert "names: {public.orders: public_orders, ops.orders: ops_orders}" in channel
    topics = {table.topic for table in plan.build(str(tmp_path / "channel.yaml"), "UTC").recipe.tables}
    assert topics == {"shop.public.orders", "shop.ops.orders"}


def test_flattened_rows_are_those_that_debezium_made(run, tmp_path):
    """The same statements, recorded with and without ExtractNewRecordState: the channel flattens as Debezium did."""
    recorded = {
        "schema.include.list": "public", "skipped.operations": "none",
        "key.converter.schemas.enable": "false", "value.converter.schemas.enable": "false",
        "transforms": "flat", "transforms.flat.type": "io.debezium.transforms.ExtractNewRecordState",
        "transforms.flat.delete.tombstone.handling.mode": "rewrite",
        "transforms.flat.add.fields": "op,source.lsn,source.txId,source.ts_us,source.table,source.sequence",
    }  # fmt: skip
    channel, printed, code = run(POSTGRES | recorded, tables=(debezium.DATA / "tables.sql").read_text())
    assert code == 0, printed
    changes = tmp_path / "changes.jsonl"
    changes.write_text("".join(f"{event.line}\n" for event in debezium.events("plain")))
    made = plan.build(str(tmp_path / "channel.yaml"), "UTC").recipe
    got = debezium.by_key(
        (m.topic, m.key.decode(), debezium.parsed(m.value.decode())) for m in pure.messages(made, changes)
    )
    wanted = debezium.by_key(
        (e.topic, e.key, e.value) for e in debezium.events("flat") if e.topic.startswith("shop.public.")
    )
    assert got.keys() == wanted.keys()
    otherwise = {"__source_lsn", "__source_txId", "__source_sequence", "__source_ts_us", *debezium.IMPRECISE}
    for place, rows in wanted.items():
        for ours, theirs in zip(got[place], rows, strict=True):
            left_out = theirs.keys() - ours.keys() - otherwise
            assert not left_out or theirs["__deleted"] == "true" or debezium.is_partial(theirs), "a value is lost"
            kept = {name: value for name, value in theirs.items() if name not in {*left_out, *otherwise}}
            kept["__op"] = "c" if kept["__op"] == "r" else kept["__op"]
            assert {name: value for name, value in ours.items() if name not in otherwise} == kept
