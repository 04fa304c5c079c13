"""A consumer in Node, kafkajs with Confluent's deserializers for JavaScript, reads what we send through a real registry."""

import json

import pytest

from tests.broker.test_registry import made
from tests.parts import node
from tests.parts.front import front, serialized

pytestmark = [pytest.mark.broker, pytest.mark.spark]

DDL = "create table t(id bigint primary key, v text, n decimal(6,2) not null, f double precision, b boolean, at timestamp(3));"
RECORDS = [
    {"id": 7, "v": "Zoë 🚀", "n": "1.50", "f": 0.1, "b": True, "at": "2026-11-20T12:34:56.789"},
    {"id": -1, "v": None, "n": "-0.01", "f": None, "b": None, "at": None},
]
MILLIS = 1795178096789
READ = {
    # decimals are a codec of the reader's: the bytes of the unscaled value, or a message
    "AVRO": [
        {"id": 7, "v": "Zoë 🚀", "n": "0096", "f": 0.1, "b": True, "at": MILLIS},
        {"id": -1, "v": None, "n": "ff", "f": None, "b": None, "at": None},
    ],
    "JSON": [
        {"id": 7, "v": "Zoë 🚀", "n": 1.5, "f": 0.1, "b": True, "at": MILLIS},
        {"id": -1, "v": None, "n": -0.01, "f": None, "b": None, "at": None},
    ],
}


@pytest.mark.parametrize("kind", ["AVRO", "JSON", "PROTOBUF"])
def test_node_reads_values_keys_and_headers(kind, broker, registry_server, integrate_once, tmp_path, name):
    if node.installed() is None:
        pytest.skip("the Node consumer needs node and npm")
    broker.create([f"{name}.t"], 1)
    actions = "  - {action: Integrate, MessageHeaders: 'op={hvr_op};table={hvr_tbl_name}'}\n"
    if kind == "PROTOBUF":
        # Confluent's client for JavaScript 1.10.1 has confluent/type/decimal.proto under another name, and finds it not
        actions += "  - {action: ColumnProperties, Name: n, Datatype: varchar, Length: 8, Nullable: false}\n"
    kafka = f", Kafka_Message_Compress: GZIP, Kafka_Schema_Registry_Format: {kind}"  # kafkajs has no LZ4 of its own
    made(tmp_path, registry_server.url, name, DDL, kafka, actions)
    path = tmp_path / "channel.yaml"
    path.write_text(path.read_text().replace("[localhost]", f'["{broker.servers}"]'))
    rows = [{"hvr_op": 1, "hvr_tx_seq": "1", **record} for record in RECORDS]
    (tmp_path / "in" / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    integrate_once(path)
    with front(registry_server.url, rewrite=serialized) as (url, _):
        read = node.consume(broker.servers, url, kind, f"{name}.t", len(RECORDS))
    assert [message["headers"] for message in read] == [{"op": "1", "table": "t"}] * 2
    assert all(len(message["key"]) == 16 for message in read)
    if kind == "PROTOBUF":
        first, second = (message["value"] for message in read)
        assert (first["id"], first["v"], first["f"], first["b"]) == ("7", "Zoë 🚀", 0.1, True)
        assert (second["id"], second.get("v"), second.get("f")) == ("-1", None, None)
        assert (int(first["at"]["seconds"]), first["at"]["nanos"]) == divmod(MILLIS * 1_000_000, 10**9)
        assert (first["n"], second["n"]) == ("1.50", "-0.01")
    else:
        assert [message["value"] for message in read] == READ[kind]
