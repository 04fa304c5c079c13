"""Records of topics in Avro, plain rows, keys, and what topics have beside values: read from librdkafka's own cluster."""

import decimal
import io
import json
import struct
import uuid

import fastavro
import pytest
from confluent_kafka import Producer

from integrator.contracts.fragments import FILE_SUMMARY, Checkpoint, FileSummary
from integrator.contracts.written_schema import WrittenSchema
from integrator.decode.encodings.encoded import Encoding
from integrator.deliver.kafka.embedded import EmbeddedCluster
from integrator.errors import ConfigurationError, DataError, SchemasFound, from_wire
from integrator.librdkafka.cluster import Topic
from integrator.run.passes.first_pass import first_pass
from integrator.sources.kafka import slice_file
from integrator.sources.kafka.block_lines import TopicEncoding
from integrator.sources.kafka.ranges import Stream
from integrator.sources.kafka.reader import TopicReader
from integrator.sources.slices import TaskSlice, rows_of
from tests.parts import protoc, pure

DDL = "create table t(id bigint primary key, v text, price numeric(12,2), at timestamp(6), w float8);"
GONE = "{action: ColumnProperties, Name: gone, Extra: true, SoftDelete: true}"
ACTIONS = f"  - {{action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}}\n  - {GONE}\n"
VALUE = {
    "type": "record",
    "name": "Value",
    "namespace": "d.public.t",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "v", "type": ["null", "string"]},
        {"name": "price", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}]},
        {"name": "at", "type": ["null", {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"}]},
        {"name": "w", "type": "double"},
    ],
}
SOURCE = {
    "type": "record",
    "name": "Source",
    "namespace": "io.debezium.connector.postgresql",
    "fields": [
        *({"name": name, "type": "string"} for name in ("connector", "db", "schema", "table", "sequence")),
        *({"name": name, "type": "long"} for name in ("ts_ms", "txId", "lsn")),
    ],
}
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "namespace": "d.public.t",
    "fields": [
        {"name": "before", "type": ["null", VALUE]},
        {"name": "after", "type": ["null", "d.public.t.Value"]},
        {"name": "source", "type": SOURCE},
        {"name": "op", "type": "string"},
    ],
}
KEY = {"type": "record", "name": "Key", "namespace": "d.public.t", "fields": [{"name": "id", "type": "long"}]}
SCHEMAS = {7: ENVELOPE, 8: VALUE, 9: KEY, 10: "long"}
KNOWN = {at: WrittenSchema("AVRO", json.dumps(one)) for at, one in SCHEMAS.items()}
ENCODING = TopicEncoding(Encoding(KNOWN), Encoding(KNOWN, unframed="json or text"))


def framed(schema_id, row):
    out = io.BytesIO()
    out.write(struct.pack(">bI", 0, schema_id))
    fastavro.schemaless_writer(out, fastavro.parse_schema(SCHEMAS[schema_id]), row)
    return out.getvalue()


def row(k, v="a"):
    return {"id": k, "v": v, "price": decimal.Decimal("12.34"), "at": 1_700_000_000_000_001, "w": 0.1}


def event(op, lsn, before, after):
    source = {
        "connector": "postgresql", "db": "d", "schema": "public", "table": "t", "ts_ms": 1, "txId": lsn, "lsn": lsn,
        "sequence": json.dumps([str(lsn), str(lsn)], separators=(",", ":")),
    }  # fmt: skip
    return framed(7, {"before": before, "after": after, "source": source, "op": op})


@pytest.fixture(scope="module")
def cluster():
    with EmbeddedCluster() as made:
        yield made


@pytest.fixture
def read(cluster, monkeypatch, tmp_path):
    """Send records (key, value, headers), and return the rows that they become, and the summary."""

    class Known:
        def topics(self, names):
            return {one: Topic("id", 1) for one in names}

    monkeypatch.setattr(slice_file, "cluster_of", lambda _: Known())

    def sent(records, dialect="rows", actions=ACTIONS, encoding=ENCODING, ddl=DDL, more=""):
        topic = f"d{uuid.uuid4().hex[:10]}.public.t"
        cluster.create([topic], 1)
        producer = Producer({"bootstrap.servers": cluster.brokers})
        for key, value, *headers in records:
            producer.produce(topic, value, key=key, partition=0, timestamp=1_700_000_000_123, headers=headers)
        assert producer.flush(10) == 0
        found = Stream(topic, "id", 0).slice(0, len(records), 1)
        one = TaskSlice(1, found.path, 1, 0, found.stream, read=True)
        (tmp_path / "tables.sql").write_text(ddl)
        channel = tmp_path / "channel.yaml"
        channel.write_text(
            "channel: pure\nlocations:\n"
            f"  src: {{class: kafka, Kafka_Brokers: [localhost], topics: {topic}, dialect: {dialect}{more}}}\n"
            f"  kaf: {{class: kafka, Kafka_Brokers: [localhost]}}\ntables: [{tmp_path}/tables.sql]\nactions:\n{actions}\n"
        )
        made = pure.build(str(channel), "UTC").recipe
        reader = TopicReader({"bootstrap.servers": cluster.brokers}, encoding)
        try:
            batches = list(first_pass(made, Checkpoint(), pure.NOW, reader)(iter([rows_of([one])])))
        except RuntimeError as error:
            raise from_wire(str(error)) or error from None
        every = [each for batch in batches for each in batch.to_pylist()]
        [note] = [FileSummary.of_json(each["payload"]) for each in every if each["op"] == FILE_SUMMARY]
        return [json.loads(each["payload"]) for each in every if each["op"] >= 0 and each["topic"] != "dead"], note

    return sent


EXPECTED = {"id": 1, "v": "a", "price": 12.34, "at": "2023-11-14T22:13:20.000001", "w": 0.1}


@pytest.mark.parametrize("dialect", ["debezium", "auto"])
def test_events_in_avro(read, dialect):
    events = [event("c", 1, None, row(1)), event("u", 2, row(1), row(1, None)), event("d", 3, row(1, None), None), None]
    found, note = read([(None, one) for one in events], dialect)
    assert [(one["gone"], one["v"]) for one in found] == [(0, "a"), (0, None), (1, None)]
    assert found[0] == EXPECTED | {"gone": 0}
    assert note.not_sent["tombstones"] == 1


PROTO = """syntax = "proto3"; package d.public.t; import "google/protobuf/timestamp.proto";
import "confluent/meta.proto"; import "confluent/type/decimal.proto";
message Envelope {
  Value before = 1; Value after = 2; Source source = 3; string op = 4;
  message Value {
    int64 id = 1;
    optional string v = 2;
    optional confluent.type.Decimal price = 3 [(confluent.field_meta) = {params: [{key: "scale", value: "2"}]}];
    optional google.protobuf.Timestamp at = 4;
    double w = 5;
  }
  message Source {
    string connector = 1; string db = 2; string schema = 3; string table = 4; string sequence = 5;
    int64 ts_ms = 6; int64 txId = 7; int64 lsn = 8;
  }
}"""


def in_protobuf(op, lsn, after):
    made = protoc.message_class(PROTO, "d.public.t.Envelope")(op=op)
    if after is None:
        made.before.id = 1
    else:
        made.after.id, made.after.v, made.after.w = after["id"], after["v"], after["w"]
        made.after.price.value, made.after.price.scale = b"\x04\xd2", 2
        made.after.at.FromMicroseconds(after["at"])
    for name, value in {"connector": "postgresql", "db": "d", "schema": "public", "table": "t"}.items():
        setattr(made.source, name, value)
    made.source.ts_ms, made.source.txId, made.source.lsn, made.source.sequence = 1, lsn, lsn, f'["{lsn}","{lsn}"]'
    return struct.pack(">bI", 0, 20) + b"\0" + made.SerializeToString()


def in_json_schema(op, lsn, after):
    source = {
        "connector": "postgresql", "db": "d", "schema": "public", "table": "t", "ts_ms": 1, "txId": lsn, "lsn": lsn,
        "sequence": f'["{lsn}","{lsn}"]',
    }  # fmt: skip
    value = after and {**after, "price": 12.34}
    made = {"before": None if after else {"id": 1}, "after": value, "source": source, "op": op}
    return struct.pack(">bI", 0, 21) + json.dumps(made).encode()


_OF_ROW = {
    "id": {"type": "integer"},
    "v": {"type": ["null", "string"]},
    "price": {
        "type": "number",
        "title": "org.apache.kafka.connect.data.Decimal",
        "connect.type": "bytes",
        "connect.parameters": {"scale": "2", "connect.decimal.precision": "12"},
    },
    "at": {"type": "integer", "title": "io.debezium.time.MicroTimestamp"},
    "w": {"type": "number"},
}
JSON_SCHEMA = {
    "type": "object",
    "title": "d.public.t.Envelope",
    "definitions": {"Value": {"type": "object", "title": "d.public.t.Value", "properties": _OF_ROW}},
    "properties": {
        "before": {"oneOf": [{"type": "null"}, {"$ref": "#/definitions/Value"}]},
        "after": {"oneOf": [{"type": "null"}, {"$ref": "#/definitions/Value"}]},
        "source": {"type": "object", "properties": {}},
        "op": {"type": "string"},
    },
}
OTHERS = {20: WrittenSchema("PROTOBUF", PROTO), 21: WrittenSchema("JSON", json.dumps(JSON_SCHEMA))}


@pytest.mark.parametrize("made", [in_protobuf, in_json_schema])
@pytest.mark.parametrize("dialect", ["debezium", "auto"])
def test_events_in_protobuf_and_with_json_schema(read, dialect, made):
    events = [made("c", 1, row(1)), made("d", 2, None)]
    found, _ = read([(None, one) for one in events], dialect, encoding=TopicEncoding(Encoding(OTHERS), Encoding()))
    assert found[0] == EXPECTED | {"gone": 0}
    assert (found[1]["id"], found[1]["gone"]) == (1, 1)


KEYS = {
    "Avro, a record": framed(9, {"id": 1}),
    "Avro, one value": framed(10, 1),
    "JSON, an object": b'{"id":1}',
    "JSON, one value": b"1",
    "JSON with its schema": b'{"schema":{"type":"struct","fields":[{"field":"id","type":"int64"}]},"payload":{"id":1}}',
    "JSON with its schema, one value": b'{"schema":{"type":"int64","optional":false},"payload":1}',
}


@pytest.mark.parametrize("key", KEYS)
def test_a_record_without_a_value_deletes_the_row_of_its_key(read, key):
    found, note = read([(KEYS[key], framed(8, row(1))), (KEYS[key], None), (None, None)])
    assert found == [EXPECTED | {"gone": 0}, {"id": 1, "gone": 1}]
    assert note.not_sent["tombstones"] == 1  # the one without a key


def test_a_text_is_the_key_of_a_table_whose_key_is_text(read):
    found, _ = read([(b"ab", None), (b'"ab"', None)], ddl="create table t(id text primary key, v text);")
    assert found == [{"id": "ab", "gone": 1}] * 2


def test_one_value_is_no_key_of_several_columns(read):
    with pytest.raises(
        DataError,
        match=r"the key of the deleted row is one value, and table 'public.t' has id, v; have the producer",
    ):
        read([(b"1", None)], ddl="create table t(id int, v int, primary key (id, v));")


ROWS = {
    "Avro": framed(8, row(1)),
    "JSON": b'{"id":1,"v":"a","price":"BNI=","at":1700000000000001,"w":0.1}',
    "JSON with its schema": json.dumps(
        {
            "schema": {
                "type": "struct",
                "fields": [
                    {"field": "price", "type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}},
                    {"field": "at", "type": "int64", "name": "io.debezium.time.MicroTimestamp"},
                ],
            },
            "payload": {"id": 1, "v": "a", "price": "BNI=", "at": 1_700_000_000_000_001, "w": 0.1},
        }
    ).encode(),
}  # fmt: skip


def test_rows_of_several_encodings_in_one_topic(read):
    found, _ = read([(None, one) for one in ROWS.values()])
    assert found == [EXPECTED | {"gone": 0}] * len(ROWS)


WRONG = {
    "cut off": (framed(8, row(1))[:-3], r"/0:0: byte 23: it ends before its schema does"),
    "longer than its schema": (framed(8, row(1)) + b"x", r"/0:0: byte 31: it continues after its schema ends"),
    "not framed": (b"\0ab", "expected a row"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_a_record(read, case):
    value, text = WRONG[case]
    with pytest.raises(DataError, match=text):
        read([(None, value)])
    tolerant = read(
        [(None, value), (None, framed(8, row(2)))],
        actions=f"{ACTIONS}\nerrors: {{tolerance: all, deadletterqueue.topic.name: dead}}",
    )
    assert ([one["id"] for one in tolerant[0]], tolerant[1].rejected) == ([2], 1)


def test_a_schema_that_is_not_known_is_asked_for_and_one_that_is_lost_is_an_error(read):
    value = b"\0" + struct.pack(">I", 99) + b"\2"
    with pytest.raises(SchemasFound) as found:
        read([(None, value)])
    assert found.value.ids == (99,)
    lost = TopicEncoding(Encoding(KNOWN, frozenset({99})), Encoding(KNOWN))
    with pytest.raises(DataError, match=r"/0:0: its schema, 99, cannot be read: the registry does not have it"):
        read([(None, value)], encoding=lost)


def test_the_placeholder_of_a_value_that_did_not_change_is_no_value(read):
    found, _ = read([(None, b'{"id":1,"v":"__debezium_unavailable_value","w":0.5}')])
    assert found == [{"id": 1, "w": 0.5, "gone": 0}]


def test_text_and_bytes_are_the_value_of_a_column(read):
    for unframed, expected in (("text", '{"a\n'), ("bytes", "eyJhCg==")):
        encoding = TopicEncoding(Encoding(framed=False, unframed=unframed))
        found, _ = read([(None, b'{"a\n')], encoding=encoding, ddl="create table t(value text primary key);")
        assert found == [{"value": expected, "gone": 0}]


def test_a_schema_in_a_file_needs_no_registry(read):
    encoding = TopicEncoding(Encoding(framed=False, unframed=KNOWN[8]))
    found, _ = read([(None, framed(8, row(1))[5:])], encoding=encoding)
    assert found == [EXPECTED | {"gone": 0}]


OPEN = {
    "type": "record",
    "name": "OpenCDC",
    "fields": [
        {"name": "operation", "type": "string"},
        {"name": "metadata", "type": {"type": "map", "values": "string"}},
        {"name": "key", "type": ["null", "bytes"]},
        {
            "name": "payload",
            "type": {
                "type": "record",
                "name": "Change",
                "fields": [{"name": "before", "type": ["null", "bytes"]}, {"name": "after", "type": ["null", "bytes"]}],
            },
        },
    ],
}


def test_opencdc_in_avro(read, monkeypatch):
    monkeypatch.setitem(SCHEMAS, 11, OPEN)
    encoding = TopicEncoding(Encoding({11: WrittenSchema("AVRO", json.dumps(OPEN))}))

    def record(operation, before, after):
        images = {"before": before, "after": after}
        return framed(
            11, {"operation": operation, "metadata": {"opencdc.collection": "t"}, "key": b'{"id":1}', "payload": images}
        )

    rows = [record("create", None, b'{"id":1,"v":"a"}'), record("delete", b'{"id":1,"v":"a"}', None)]
    for dialect in ("opencdc", "auto"):
        found, _ = read([(None, one) for one in rows], dialect, encoding=encoding)
        assert [(one["id"], one["gone"]) for one in found] == [(1, 0), (1, 1)]


def test_types_of_schemas_that_are_referred_to(read, monkeypatch):
    item = {"type": "record", "name": "d.Item", "fields": [{"name": "n", "type": "int"}]}
    outer = {
        "type": "record",
        "name": "d.Row",
        "fields": [{"name": "id", "type": "long"}, {"name": "v", "type": "d.Item"}],
    }
    whole = {**outer, "fields": [outer["fields"][0], {"name": "v", "type": item}]}
    monkeypatch.setitem(SCHEMAS, 12, whole)
    written = WrittenSchema("AVRO", json.dumps(outer), (("d.Item", json.dumps(item)),))
    found, _ = read([(None, framed(12, {"id": 1, "v": {"n": 2}}))], encoding=TopicEncoding(Encoding({12: written})))
    assert found == [{"id": 1, "v": '{"n":2}', "gone": 0}]


ASKED = {
    "topic": "{hvr_cap_topic}",
    "offset": "{hvr_cap_offset}",
    "partition": "{hvr_cap_partition}",
    "key": "{hvr_cap_record_key}",
    "header": "{hvr_cap_header trace}",
    "at": "{hvr_cap_record_tstamp %[utc] %Y-%m-%d}",
}


def test_keys_headers_and_times_in_expressions(read):
    columns = "".join(
        f"  - {{action: ColumnProperties, Name: {name}, Extra: true, Datatype: text, IntegrateExpression: '{text}'}}\n"
        for name, text in ASKED.items()
    )
    records = [
        (framed(9, {"id": 5}), b'{"id":1}', ("trace", b"t0"), ("trace", b"t1")),
        (b"k", b'{"id":2}', ("other", b"x")),
        (None, b'{"id":3}', ("trace", None)),
    ]
    found, _ = read(records, actions=ACTIONS + columns, ddl="create table t(id int primary key);")
    assert found[0].pop("topic").endswith(".public.t")
    assert [{name: one[name] for name in ASKED if name != "topic"} for one in found] == [
        {"offset": "0", "partition": "0", "key": '{"id":5}', "header": "t1", "at": "2023-11-14"},
        {"offset": "1", "partition": "0", "key": "k", "header": None, "at": "2023-11-14"},
        {"offset": "2", "partition": "0", "key": None, "header": None, "at": "2023-11-14"},
    ]


def test_a_header_counts_before_an_entry_of_metadata(read):
    columns = "".join(
        f"  - {{action: ColumnProperties, Name: {name}, Extra: true, Datatype: text, IntegrateExpression: '{text}'}}\n"
        for name, text in (("a", "{hvr_cap_header a}"), ("b", "{hvr_cap_header b}"), ("key", "{hvr_cap_record_key}"))
    )
    image = {"before": None, "after": {"id": 1}}
    record = {
        "operation": "create",
        "metadata": {"opencdc.collection": "t", "a": "of metadata", "b": "b"},
        "payload": image,
    }
    sent = [
        (b"k", json.dumps(record).encode(), *headers)
        for headers in ([], [("a", b"of Kafka"), ("c", b"")], [("b", None)])
    ]
    for dialect in ("opencdc", "auto"):
        found, _ = read(sent, dialect, actions=ACTIONS + columns, ddl="create table t(id int primary key);")
        assert [(one["a"], one["b"], one["key"]) for one in found] == [
            ("of metadata", "b", "k"), ("of Kafka", "b", "k"), ("of metadata", None, "k"),
        ]  # fmt: skip


def test_files_have_no_records(tmp_path):
    asks = "  - {action: ColumnProperties, Name: o, Extra: true, Datatype: bigint, IntegrateExpression: '{hvr_cap_offset}'}\n"
    with pytest.raises(ConfigurationError, match="substitutions of a topic's record need a source of class kafka"):
        pure.recipe(tmp_path, DDL, ACTIONS + asks)


UUIDS = ("123e4567-e89b-12d3-a456-426614174000", "5f0c", "007", "2023-01-01", "-x", "truely", "nulls", "t", "1e5x")
BARE = ("5", "-1.5", "1e5", "true")


@pytest.mark.parametrize("key", [*UUIDS, *BARE])
def test_a_key_that_begins_as_json_and_is_none_is_text(key, read):
    ddl = "create table t(id text primary key, v text);"
    gone = "  - {action: FileFormat, Json: true, JsonMode: ROW_FRAGMENTS}\n  - {action: ColumnProperties, Name: gone, "
    actions = f"{gone}SoftDelete: true, Extra: true, Datatype: integer}}"
    [found], _ = read([(key.encode(), None)], ddl=ddl, actions=actions)
    assert (found["id"], found["gone"]) == (key, 1)
