"""The names of records in schemas: KeyRecordName and ValueRecordName, in each format that has such."""

import json

import pytest

from integrator.encode import messages
from integrator.errors import ConfigurationError
from integrator.formats import FORMATS
from integrator.plan import build
from tests.parts import pure

pytestmark = pytest.mark.fast

DDL = "create table sales.orders(id int primary key, note text, amount decimal(10,2) not null, day date);"
NAMES = "ValueRecordName: '{hvr_chn_name}.{hvr_schema}.{hvr_tbl_base_name}.Value', KeyRecordName: '{hvr_schema}.Key'"
NAMED = f"  - {{action: Integrate, {NAMES}, MessageKeySerializer: KEY}}\n"
AVRO, JSON, PROTOBUF = (
    f", Kafka_Schema_Registry: 'http://x', Kafka_Schema_Registry_Format: {kind}"
    for kind in ("AVRO", "JSON", "PROTOBUF")
)


def schemas(directory, fmt, kafka, key, actions=NAMED, ddl=DDL):
    """The texts of a table's schemas: of values and of keys."""
    more = (f"  - {{action: FileFormat, {fmt}}}\n" if fmt else "") + actions.replace("KEY", key)
    recipe = pure.recipe(directory, ddl, more, kafka=kafka)
    [table] = recipe.tables
    registered = {one.part: one.text for one in messages.registered_schemas(recipe)}
    key_frame = messages.key_frame(table, recipe).opening.decode(errors="replace")
    return registered.get("value") or messages.value_schema(table, recipe), registered.get("key") or key_frame


def test_connect_json(tmp_path):
    value, key = schemas(tmp_path, "Json: true", "", "CONNECT_SCHEMA")
    assert json.loads(value)["name"] == "pure.sales.orders.Value"
    assert '"name":"sales.Key"},"payload"' in key


def test_avro(tmp_path):
    value, key = map(json.loads, schemas(tmp_path, "", AVRO, "KAFKA_AVRO_SCHEMA"))
    assert (value["name"], value["namespace"]) == ("Value", "pure.sales.orders")
    assert (key["name"], key["namespace"]) == ("Key", "sales")
    assert (value["connect.name"], key["connect.name"]) == ("pure.sales.orders.Value", "sales.Key")


def test_avro_in_files(tmp_path):
    value, _ = schemas(tmp_path, "Avro: true", "", "KEY", actions=NAMED.split(", KeyRecordName", maxsplit=1)[0] + "}\n")
    assert (json.loads(value)["name"], json.loads(value)["namespace"]) == ("Value", "pure.sales.orders")


def test_json_schema(tmp_path):
    value, key = map(json.loads, schemas(tmp_path, "", JSON, "KAFKA_JSON_SCHEMA"))
    assert (value["title"], key["title"]) == ("pure.sales.orders.Value", "sales.Key")


def test_protobuf(tmp_path):
    value, key = schemas(tmp_path, "", PROTOBUF, "KAFKA_PROTOBUF_SCHEMA")
    assert "package pure.sales.orders;\n" in value
    assert "\nmessage Value {\n" in value
    assert "package sales;\n\nmessage Key {\n" in key


@pytest.mark.parametrize("space", ["shop.sales", "shop.google", "confluent", "a.confluent.google.b"])
def test_protobufs_of_a_package_are_compiled(space, tmp_path):
    """What is imported is found, whatever the package is called."""
    ddl = "create table t(id smallint primary key, amount decimal(9,2), day date, at timestamp, s struct<google int>, confluent int);"
    actions = f"  - {{action: Integrate, ValueRecordName: {space}.Value}}\n"
    value, _ = schemas(tmp_path, "", PROTOBUF, "", actions, ddl)
    from tests.parts import protoc

    made = protoc.message_class(value, f"{space}.Value")
    assert [field.name for field in made.DESCRIPTOR.fields] == ["id", "amount", "day", "at", "s", "confluent"]


def test_each_named_format_is_tested_above():
    assert [name for name, fmt in FORMATS.items() if fmt.named] == [
        "SCHEMA_PAYLOAD", "AVRO_FILE", "REGISTRY_AVRO", "REGISTRY_JSON", "REGISTRY_PROTOBUF",
    ]  # fmt: skip


VALUE = {
    "type": "record",
    "name": "Value",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {
            "name": "amount",
            "type": {
                "type": "bytes",
                "scale": 2,
                "precision": 10,
                "connect.version": 1,
                "connect.parameters": {"scale": "2", "connect.decimal.precision": "10"},
                "connect.name": "org.apache.kafka.connect.data.Decimal",
                "logicalType": "decimal",
            },
        },
        {
            "name": "day",
            "type": ["null", {"type": "int", "connect.version": 1, "connect.name": "io.debezium.time.Date"}],
            "default": None,
        },
    ],
    "connect.name": "shop.sales.orders.Value",
}
BLOCK = {
    "type": "record",
    "name": "block",
    "namespace": "event",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "total_order", "type": "long"},
        {"name": "data_collection_order", "type": "long"},
    ],
    "connect.version": 1,
    "connect.name": "event.block",
}


def test_debeziums_envelope_in_avro_as_connects_converter_makes_it(tmp_path):
    """What AvroData makes of the schema of Debezium's connector, but for the fields of `source`."""
    names = "ValueRecordName: 'shop.{hvr_schema}.{hvr_tbl_base_name}.Envelope', KeyRecordName: 'shop.{hvr_schema}.{hvr_tbl_base_name}.Key'"
    actions = f"  - {{action: Integrate, {names}, MessageKeySerializer: KEY}}\n"
    value, key = schemas(tmp_path, "Envelope: DEBEZIUM", AVRO, "KAFKA_AVRO_SCHEMA", actions)
    assert key == json.dumps(
        {
            "type": "record",
            "name": "Key",
            "namespace": "shop.sales.orders",
            "fields": [{"name": "id", "type": "int"}],
            "connect.name": "shop.sales.orders.Key",
        },
        separators=(",", ":"),
    )
    made = json.loads(value)
    source = made["fields"].pop(2)
    assert (source["type"]["connect.version"], source["type"]["name"]) == (1, "Source")
    assert made == {
        "type": "record",
        "name": "Envelope",
        "namespace": "shop.sales.orders",
        "fields": [
            {"name": "before", "type": ["null", VALUE], "default": None},
            {"name": "after", "type": ["null", "Value"], "default": None},
            {"name": "transaction", "type": ["null", BLOCK], "default": None},
            {"name": "op", "type": "string"},
            *({"name": name, "type": ["null", "long"], "default": None} for name in ("ts_ms", "ts_us", "ts_ns")),
        ],
        "connect.version": 2,
        "connect.name": "shop.sales.orders.Envelope",
    }


def test_types_in_a_namespace_are_named_once_and_found_there(tmp_path):
    """Intervals are a type with a name: it is in the record's namespace, and so are structs without a name."""
    ddl = "create table sales.orders(id int primary key, one interval, duration struct<two interval>, more interval);"
    value, _ = schemas(tmp_path, "", AVRO, "KAFKA_AVRO_SCHEMA", ddl=ddl)
    from fastavro import parse_schema

    parse_schema(json.loads(value))
    fields = {field["name"]: field["type"][1] for field in json.loads(value)["fields"] if field["name"] != "id"}
    assert fields["one"] == {"type": "fixed", "name": "duration", "size": 12, "logicalType": "duration"}
    assert fields["duration"]["name"] == "Value_duration"
    assert fields["duration"]["fields"][0]["type"] == ["null", "duration"]
    assert fields["more"] == "duration"


REFUSED = [
    # FileFormat, the location's registry, Integrate, what is said
    ("Json: true, JsonMode: PAYLOAD", "", "ValueRecordName: x", "PAYLOAD has no name of a record: leave it out; it belongs to SCHEMA_PAYLOAD, AVRO_FILE, "),
    ("Csv: true", "", "ValueRecordName: x", "CSV has no name of a record"),
    ("Json: true", "", "KeyRecordName: x", "CONNECT has no name of a record: leave it out; it belongs to KAFKA_AVRO_SCHEMA, KAFKA_JSON_SCHEMA, KAFKA_PROTOBUF_SCHEMA, CONNECT_SCHEMA"),
    ("Json: true", "", "KeyRecordName: x, MessageKeySerializer: CONNECT_SCHEMA_COLUMN", "CONNECT_SCHEMA_COLUMN has no name of a record"),
    ("", AVRO, "ValueRecordName: 'shop-1.{hvr_tbl_name}'", "REGISTRY_AVRO, record 'shop-1.orders': a name has letters, digits and underscores, and no digit first; give another"),
    ("", AVRO, "ValueRecordName: 'a..b'", "record 'a..b': a name has letters"),
    ("", PROTOBUF, "ValueRecordName: '1.{hvr_tbl_name}'", "REGISTRY_PROTOBUF, record '1.orders': a name has letters"),
    ("", AVRO, "KeyRecordName: 'a b', MessageKeySerializer: KAFKA_AVRO_SCHEMA", "KAFKA_AVRO_SCHEMA, record 'a b': a name has letters"),
    ("", AVRO, "ValueRecordName: string", "record 'string': string is a type of Avro's; give another"),
    ("", AVRO, "ValueRecordName: 'shop.string'", "record 'shop.string': string is a type of Avro's; give another"),
    ("", AVRO, "ValueRecordName: '{note}'", "{note}: a record name cannot depend on the values of a row; it can have hvr_cap_loc, hvr_chn_name, hvr_tbl_name, hvr_tbl_base_name, hvr_schema"),
    ("", AVRO, "ValueRecordName: '{hvr_op}'", "{hvr_op} cannot stand in a record name"),
]  # fmt: skip


@pytest.mark.parametrize(("fmt", "kafka", "given", "said"), REFUSED, ids=lambda value: str(value)[:40])
def test_names_that_cannot_be(fmt, kafka, given, said, tmp_path):
    with pytest.raises(ConfigurationError) as raised:
        schemas(tmp_path, fmt, kafka, "", f"  - {{action: Integrate, {given}}}\n")
    assert said in str(raised.value)
    assert f"{tmp_path}/channel.yaml:" in str(raised.value)


def test_a_table_whose_name_no_record_can_have_is_given_another(tmp_path):
    ddl, key = 'create table "sales-1"(id int primary key);', ", MessageKeySerializer: KAFKA_AVRO_SCHEMA"
    with pytest.raises(ConfigurationError) as raised:
        schemas(tmp_path, "", AVRO, "", f"  - {{action: Integrate{key}}}\n", ddl)
    for parameter, record in (("ValueRecordName", "sales-1"), ("KeyRecordName", "sales-1_key")):
        said = f"record {record}: a name has letters, digits and underscores, and no digit first; give another "
        assert f"{said}{{action: Integrate, table: sales-1, {parameter}: …}}" in str(raised.value)
    named = f"  - {{action: Integrate, ValueRecordName: sales, KeyRecordName: sales_key{key}}}\n"
    value, _ = schemas(tmp_path, "", AVRO, "", named, ddl)
    assert json.loads(value)["name"] == "sales"


STRATEGY = "ValueSubjectStrategy: RecordNameStrategy"
TWO = "create table sales.orders(id int primary key, note text);\ncreate table stock.orders2(id int primary key);"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("ValueRecordName: 'shop.Value'", "the value schemas of tables orders, orders2 would share the subject shop.Value; give them topics or record names of their own"),
        ("ValueRecordName: 'x.{hvr_schema}', KeyRecordName: x.sales, KeySubjectStrategy: RecordNameStrategy, MessageKeySerializer: KAFKA_AVRO_SCHEMA",
         "the value and key schemas of tables orders, orders2 would share the subject x.sales"),
    ],
)  # fmt: skip
def test_records_of_one_name_in_one_subject(given, said, tmp_path):
    with pytest.raises(ConfigurationError) as raised:
        pure.recipe(tmp_path, TWO, f"  - {{action: Integrate, {STRATEGY}, {given}}}\n", kafka=AVRO)
    assert said in str(raised.value)


def test_subjects_are_of_the_names_that_are_given(tmp_path):
    more = f"  - {{action: Integrate, {STRATEGY}, ValueRecordName: 'shop.{{hvr_tbl_name}}.Value'}}\n"
    pure.recipe(tmp_path, TWO, more, kafka=AVRO)
    found = [one.subject for one in build(str(tmp_path / "channel.yaml"), "UTC").registrations if one.part == "value"]
    assert found == ["shop.orders.Value", "shop.orders2.Value"]
