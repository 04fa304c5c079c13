"""`import debezium`: a schema registry is reached without a secret in the channel, and a producer's properties are taken."""

import pytest

from tests.parts import imports

AVRO = "io.confluent.connect.avro.AvroConverter"
URL = "value.converter.schema.registry.url"
INFO = "value.converter.basic.auth.user.info"
SOURCE = "value.converter.basic.auth.credentials.source"
CONFIG = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "topic.prefix": "shop",
    "producer.override.bootstrap.servers": "b1:9092",
    "value.converter": AVRO,
    URL: "http://r:8081",
}
DDL = "create table public.orders(id int primary key, sku text);"
FLAT = {"transforms": "u", "transforms.u.type": "io.debezium.transforms.ExtractNewRecordState"}


@pytest.fixture
def run(tmp_path, capsys):
    """Import a configuration; return the channel, what was printed, and the exit code."""

    def called(more):
        channel, code = imports.of_debezium(tmp_path, CONFIG | more, DDL)
        return channel, "".join(capsys.readouterr()), code

    return called


PASSWORD = 'Kafka_Schema_Registry_Password: "${SCHEMA_REGISTRY_PASSWORD}"'
USERS = [
    ({URL: "http://me:pl4nted@r:8081"}, ('Kafka_Schema_Registry: "http://r:8081"', "Kafka_Schema_User: me", PASSWORD)),
    ({URL: "https://me%40eu:pl4nted%3A@r1, https://me%40eu:pl4nted%3A@r2/x"},
     ('Kafka_Schema_Registry: ["https://r1", "https://r2/x"]', 'Kafka_Schema_User: "me@eu"', PASSWORD)),
    ({URL: "http://me:${file:/opt/secrets:pl4nted}@r:8081"}, ('Kafka_Schema_Registry: "http://r:8081"', "Kafka_Schema_User: me", PASSWORD)),
    ({URL: "http://url:pl4nted@r:8081", INFO: "me:pl4nted-2", SOURCE: "USER_INFO"}, ("Kafka_Schema_User: me", PASSWORD)),
    ({URL: "http://me:pl4nted@r:8081", INFO: "info:pl4nted-2", SOURCE: "URL"}, ("Kafka_Schema_User: me", PASSWORD)),
    ({INFO: "me:pl4nted"}, ("Kafka_Schema_User: me", PASSWORD)),
    ({INFO: "${file:/opt/secrets:pl4nted}"}, ('Kafka_Schema_User: "${SCHEMA_REGISTRY_USER}"', PASSWORD)),
    ({INFO: "${env:USER}:${env:pl4nted}"}, ('Kafka_Schema_User: "${SCHEMA_REGISTRY_USER}"', PASSWORD)),
    ({URL: "${file:/opt/pl4nted:url}"}, ('Kafka_Schema_Registry: "${SCHEMA_REGISTRY_URL}"',)),
    ({"value.converter": "io.apicurio.registry.utils.converter.AvroConverter",
      "value.converter.apicurio.registry.url": "http://me:pl4nted@a:8080/apis/registry/v2", URL: ""},
     ('Kafka_Schema_Registry: "http://a:8080/apis/ccompat/v7"', "Kafka_Schema_User: me", PASSWORD)),
    # any other URL
    ({"producer.override.sasl.mechanism": "OAUTHBEARER", "producer.override.security.protocol": "SASL_SSL",
      "producer.override.sasl.oauthbearer.token.endpoint.url": "https://me:pl4nted@idp/token?api_key=pl4nted-2"},
     ('Kafka_Oauth_Token_Url: "https://me:${URL_PASSWORD}@idp/token?api_key=${URL_PASSWORD_2}"',)),
]  # fmt: skip


@pytest.mark.parametrize(("more", "wanted"), USERS)
def test_no_password_of_a_url_is_in_the_channel(more, wanted, run):
    channel, printed, _ = run(more)
    assert not [text for text in wanted if text not in channel], channel
    assert imports.SECRET not in channel + printed  # I7


@pytest.mark.parametrize(
    ("converter", "missing"),
    [(AVRO, True), ("io.confluent.connect.protobuf.ProtobufConverter", True),
     ("io.confluent.connect.json.JsonSchemaConverter", False), ("io.apicurio.registry.utils.converter.ExtJsonConverter", False)],
)  # fmt: skip
@pytest.mark.parametrize("more", [{}, {"time.precision.mode": "connect"}])
def test_missing_values_are_null_in_the_formats_that_cannot_leave_them_out(converter, missing, more, run):
    channel, printed, code = run({"value.converter": converter, "key.converter": converter} | FLAT | more)
    assert code == 0, printed
    assert ('Missing_Values: "NULL"' in channel) is missing
    assert ("are null in rows (Missing_Values: NULL), numbers too" in printed) is missing
    assert "MissingRepresentationNumeric" not in channel


@pytest.mark.parametrize("sign", ["${a}", "${", "${a:", "}", ":", "@", "\\", "%", "http://", "://x:"])
def test_a_url_of_many_odd_signs_is_read_in_no_time(sign, run):
    """Each pattern has one way to match: with two for each sign, this would not end."""
    for text in (
        {URL: f"http://{sign * 20_000}"},
        {INFO: sign * 20_000},
        {"producer.override.client.id": sign * 20_000},
    ):
        run(text)


REGISTRIES = [
    ({"key.converter": AVRO, "key.converter.schema.registry.url": "http://other:8081"}, "key.converter.schema.registry.url is another than that of values"),
    ({"key.converter": AVRO, "key.converter.auto.register.schemas": "false"}, "key.converter.auto.register.schemas is another than that of values"),
    ({SOURCE: "SASL_INHERIT"}, "the registry's user is that of sasl.jaas.config: give Kafka_Schema_User"),
    ({INFO: "me"}, "value.converter.basic.auth.user.info has no password: give Kafka_Schema_User"),
    ({"value.converter.schema.registry.ssl.truststore.location": "/x.jks"}, "value.converter.schema.registry.ssl.truststore.location is not taken: Schema_Registry of the Kafka location has TLS"),
    ({"value.converter.schemas.cache.size": "9"}, "value.converter.schemas.cache.size: ignored, because schemas are made once"),
    (FLAT, "values that a record leaves out (PostgreSQL's unchanged large values, images of which the key alone is recorded) are null"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "wanted"), REGISTRIES)
def test_what_the_report_says_of_a_registry(more, wanted, run):
    _, printed, code = run(more)
    assert code == 0, printed
    assert wanted in printed


JSON_SCHEMA = "io.confluent.connect.json.JsonSchemaConverter"
JSON = "org.apache.kafka.connect.json.JsonConverter"
PROTOBUF = "io.confluent.connect.protobuf.ProtobufConverter"
TEXT = "org.apache.kafka.connect.storage.StringConverter"
CHANGE = "keys, and so partitions, differ from the connector's"
KEYS = [
    # the converter of keys; the table's columns, of which ExtractField$Key takes k; the key's serializer; the report
    (AVRO, "k int primary key", "MessageKeySerializer: KAFKA_AVRO_SCHEMA_COLUMN}", ""),
    (AVRO, "k text primary key", "MessageKeySerializer: KAFKA_AVRO_SCHEMA_COLUMN}", ""),
    (AVRO, "k uuid primary key", "MessageKeySerializer: KAFKA_AVRO_SCHEMA_COLUMN}", "ExtractField$Key: t.k: the key's schema may be another"),
    (AVRO, "k text, l int, primary key(k, l)", 'MessageKey: "{k}", MessageKeySerializer: KAFKA_AVRO', "table t: there are no tombstones"),
    (AVRO, "k int, l int, primary key(k, l)", "MessageKeySerializer: KAFKA_AVRO_SCHEMA,", f"k alone cannot be a key with AvroConverter: keys are of the columns k, l, with their names; {CHANGE}"),
    (JSON_SCHEMA, "k int primary key", "MessageKeySerializer: KAFKA_JSON_SCHEMA_COLUMN}", "ExtractField$Key: t.k: the key's schema may be another"),
    (PROTOBUF, "k int primary key", "MessageKeySerializer: KAFKA_PROTOBUF_SCHEMA,", f"k alone cannot be a key with ProtobufConverter: keys are of the columns k, with their names; {CHANGE}"),
    (JSON, "k text primary key", "MessageKeySerializer: CONNECT_SCHEMA_COLUMN}", ""),
    (TEXT, "k int primary key", 'MessageKey: "{k}", MessageKeySerializer: STRING}', ""),
    (TEXT, "k date primary key", 'MessageKey: "{k}", MessageKeySerializer: STRING}', f"the text of k is not Java's; {CHANGE}"),
    (TEXT, "k numeric primary key", 'MessageKey: "{k}", MessageKeySerializer: STRING}', f"the text of k is not Java's; {CHANGE}"),
    (TEXT, "k uuid primary key", 'MessageKey: "{k}", MessageKeySerializer: STRING}', ""),
    (TEXT, "l int primary key", "MessageKeySerializer: CONNECT_PAYLOAD,", "table t has no column k: its key is its own"),
    (AVRO, "k int not null", "MessageKeySerializer: NONE}", ""),
]  # fmt: skip


@pytest.mark.parametrize(("converter", "columns", "wanted", "said"), KEYS)
def test_a_key_of_one_column_is_the_connectors_or_the_report_says_that_it_is_not(
    converter, columns, wanted, said, tmp_path, capsys
):
    more = {
        "key.converter": converter,
        "transforms": "key",
        "transforms.key.type": "org.apache.kafka.connect.transforms.ExtractField$Key",
        "transforms.key.field": "k",
    }
    channel, code = imports.of_debezium(tmp_path, CONFIG | more, f"create table public.t({columns});")
    printed = "".join(capsys.readouterr())
    assert code == 0, printed
    assert wanted in channel
    assert said in printed
    assert bool(said) is ("ExtractField$Key" in printed or "no tombstones" in printed)


def properties(**given):
    return {f"producer.override.{name.replace('_', '.')}": value for name, value in given.items()}


TAKEN = [
    (properties(acks="1"), "acks=1"),
    (properties(acks="all", enable_idempotence="true", retries="7"), "acks=all;enable.idempotence=true;retries=7"),
    (properties(acks="1", retries="0"), "acks=1;retries=0"),
    (properties(enable_idempotence="false", max_in_flight_requests_per_connection="1"),
     "enable.idempotence=false;max.in.flight.requests.per.connection=1"),
    (properties(metadata_recovery_strategy="rebootstrap"), "metadata.recovery.strategy=rebootstrap"),
    (properties(buffer_memory="1048576", send_buffer_bytes="-1"), "buffer.memory=1048576;send.buffer.bytes=-1"),
    (properties(compression_type="gzip", compression_gzip_level="9"), "compression.gzip.level=9"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "wanted"), TAKEN)
def test_what_librdkafka_has_is_taken(more, wanted, run):
    channel, printed, code = run(more)
    assert code == 0, printed
    assert f'Name: HVR_KAFKA_PROPERTY, Value: "{wanted}"' in channel
    assert "producer.override" not in printed


LEFT = [
    (properties(acks="0"), "acks: ignored, because with acks=0 no message would be acknowledged"),
    (properties(acks="1") | {"exactly.once.support": "required"}, "acks: ignored, because delivery: exactly_once needs acks=all and idempotence"),
    (properties(enable_idempotence="false") | {"exactly.once.support": "required"}, "enable.idempotence: ignored, because delivery: exactly_once needs"),
    (properties(retries="0"), "retries: ignored, because an idempotent producer tries again"),
    (properties(max_in_flight_requests_per_connection="9"), "max.in.flight.requests.per.connection: ignored, because an idempotent producer has 5 requests in flight at most"),
    (properties(acks="1", max_in_flight_requests_per_connection="5"), "max.in.flight.requests.per.connection: ignored, because more than one request in flight without idempotence"),
    (properties(compression_type="zstd", compression_gzip_level="9"), "compression.gzip.level: ignored, because compression.type is not gzip"),
    (properties(interceptor_classes="x.Y"), "interceptor.classes: ignored, because it names a class of Java's"),
    (properties(partitioner_class="x.Y"), "partitioner.class: ignored, because the channel has for it: Kafka_Partitioner"),
    (properties(no_such="1"), "no.such: ignored, because no counterpart is known"),
    (properties(ssl_truststore_location="/no.jks"), "ssl.truststore.location: Java's key stores are not read: make PEM of it"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "wanted"), LEFT)
def test_why_a_producers_property_is_not_taken(more, wanted, run):
    _, printed, code = run(more)
    assert code == 0, printed
    assert f"producer.override.{wanted}" in printed


ROUTED = {
    "transforms": "r",
    "transforms.r.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.r.regex": ".*",
    "transforms.r.replacement": "all",
}
TABLE = "{hvr_schema}.{hvr_tbl_base_name}"
NAMES = [
    # the configuration; the definitions; what the channel has
    ({}, DDL, (f'ValueRecordName: "shop.{TABLE}.Envelope"', f'KeyRecordName: "shop.{TABLE}.Key"')),
    ({}, None, (f'ValueRecordName: "shop.{TABLE}.Envelope"', f'KeyRecordName: "shop.{TABLE}.Key"')),
    (FLAT, DDL, (f'ValueRecordName: "shop.{TABLE}.Value"',)),
    (ROUTED, DDL, ("Kafka_Default_Topic: all", f'ValueRecordName: "shop.{TABLE}.Envelope"')),
    ({"value.converter": PROTOBUF, "key.converter": PROTOBUF}, DDL, (f'ValueRecordName: "shop.{TABLE}.Envelope"', f'KeyRecordName: "shop.{TABLE}.Key"')),
    ({"value.converter": JSON_SCHEMA, "key.converter": JSON_SCHEMA}, DDL, (f'ValueRecordName: "shop.{TABLE}.Envelope"', f'KeyRecordName: "shop.{TABLE}.Key"')),
    ({"value.converter": JSON, "key.converter": JSON, "topic.prefix": "shop-1"}, DDL, (f'ValueRecordName: "shop-1.{TABLE}.Envelope"', f'KeyRecordName: "shop-1.{TABLE}.Key"')),
    ({"topic.prefix": "shop-1", "schema.name.adjustment.mode": "avro"}, DDL, (f'ValueRecordName: "shop_1.{TABLE}.Envelope"',)),
    ({"topic.prefix": "1shop", "schema.name.adjustment.mode": "avro"}, DDL, (f'ValueRecordName: "_1shop.{TABLE}.Envelope"',)),
    ({"topic.prefix": "shop-1", "schema.name.adjustment.mode": "avro_unicode"}, DDL, (f'ValueRecordName: "shop_u002d1.{TABLE}.Envelope"',)),
    # a table's name is adjusted, too
    ({"schema.name.adjustment.mode": "avro_unicode"}, f"{DDL}\ncreate table public.order_lines(id int primary key);",
     (f'ValueRecordName: "shop.{TABLE}.Envelope"', "table: order_lines, ValueRecordName: shop.public.order_u005flines.Envelope, KeyRecordName: shop.public.order_u005flines.Key}")),
    # no key, no name of one
    ({}, f"{DDL}\ncreate table public.log(what text);", ("table: orders, KeySubjectStrategy: TopicNameStrategy, KeyRecordName: ",)),
    # a transform names them
    (FLAT | {"transforms": "u,n,k", "transforms.n.type": "org.apache.kafka.connect.transforms.SetSchemaMetadata$Value", "transforms.n.schema.name": "com.shop.Order",
             "transforms.k.type": "org.apache.kafka.connect.transforms.SetSchemaMetadata$Key", "transforms.k.schema.name": "com.shop.OrderKey"},
     DDL, ("ValueRecordName: com.shop.Order, KeyRecordName: com.shop.OrderKey}",)),
    # fields
    ({"field.name.adjustment.mode": "avro"}, 'create table public.t(id int primary key, "a-b.c" int, "1st" int);',
     ("table: t, Name: a-b.c, BaseName: a_b_c}", 'table: t, Name: "1st", BaseName: _1st}')),
    ({"field.name.adjustment.mode": "avro_unicode"}, 'create table public.t(id int primary key, "a_b" int);', ("Name: a_b, BaseName: a_u005fb}",)),
    ({"sanitize.field.names": "true"}, 'create table public.t(id int primary key, "a-b" int);', ("Name: a-b, BaseName: a_b}",)),
]  # fmt: skip


@pytest.mark.parametrize(("more", "ddl", "wanted"), NAMES)
def test_records_and_fields_are_named_as_the_connector_names_them(more, ddl, wanted, tmp_path, capsys):
    channel, code = imports.of_debezium(tmp_path, CONFIG | {"key.converter": AVRO} | more, ddl)
    printed = "".join(capsys.readouterr())
    assert code == 0, printed
    assert not [text for text in wanted if text not in channel], channel


UNNAMED = [
    ({"topic.prefix": "shop-1"}, DDL, "records are not named as the connector names them: Avro has no such name as shop-1."),
    ({"schema.name.adjustment.mode": "avro"}, None, "schema.name.adjustment.mode=avro is followed only with the tables' definitions"),
    ({"field.name.adjustment.mode": "avro"}, None, "field.name.adjustment.mode=avro is followed only with the tables' definitions"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "ddl", "said"), UNNAMED)
def test_names_that_cannot_be_followed(more, ddl, said, tmp_path, capsys):
    _, code = imports.of_debezium(tmp_path, CONFIG | more, ddl)
    assert code == 0
    assert said in "".join(capsys.readouterr())


BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
VALUE = FLAT | {
    "transforms": "u,v",
    "transforms.u.add.headers": "op",
    "transforms.v.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
    "transforms.v.field": "sku",
}
CONVERTED = [
    # the configuration, what the channel has, and what the report says
    (VALUE | {"value.converter": TEXT}, '{action: FileFormat, Text: "{sku}"}', ""),
    (VALUE | {"value.converter": TEXT, "value.converter.converter.encoding": "iso-8859-1"}, 'Text: "{sku}", Encoding: ISO-8859-1}', ""),
    (VALUE | {"value.converter": TEXT, "value.converter.converter.encoding": "KOI8-R"}, 'Text: "{sku}"}', "converter.encoding=KOI8-R: there are UTF-8, US-ASCII"),
    (VALUE | {"value.converter": BYTES, "transforms.v.field": "photo"}, "{action: FileFormat, Bytes: photo}", ""),
    (VALUE, "ValueSubjectStrategy", "ExtractField$Value is followed only with StringConverter and ByteArrayConverter, of flattened rows"),
    (FLAT | {"value.converter": TEXT}, "JsonMode: PAYLOAD", "what StringConverter makes of structs (Struct{id=1}) is not there"),
    ({"value.converter": BYTES}, "JsonMode: PAYLOAD, Envelope: DEBEZIUM", "what ByteArrayConverter makes of structs (Struct{id=1}) is not there"),
    (VALUE | {"value.converter": TEXT, "header.converter": SIMPLE}, 'MessageHeaders: "__op=', ""),
    (VALUE | {"value.converter": TEXT, "header.converter": JSON}, "MessageHeaderSerializer: CONNECT", ""),
    (VALUE | {"value.converter": TEXT, "header.converter": JSON, "header.converter.schemas.enable": "false"}, "MessageHeaderSerializer: CONNECT_PAYLOAD", ""),
    (VALUE | {"value.converter": TEXT, "header.converter": "x.Y"}, "MessageHeaders", "header.converter: Y is not there: headers are text"),
    ({"header.converter": JSON}, "ValueSubjectStrategy", ""),
]  # fmt: skip


@pytest.mark.parametrize(("more", "wanted", "said"), CONVERTED)
def test_converters_of_single_values_and_of_headers(more, wanted, said, tmp_path, capsys):
    ddl = "create table public.orders(id int primary key, sku text, photo bytea);"
    channel, code = imports.of_debezium(tmp_path, CONFIG | {"key.converter": JSON} | more, ddl)
    printed = "".join(capsys.readouterr())
    assert code == 0, printed
    assert wanted in channel
    assert said in printed
    assert "header.converter" not in printed or said.startswith("header.converter")
