"""The benchmark's table as events of Debezium's PostgreSQL connector, encoded as its converters do, and sent to a topic."""

from __future__ import annotations

import base64
import io
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import fastavro
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from tests.bench import dialects
from tests.bench import rows as table
from tests.bench.dialects import CONNECT, REQUIRED, SOURCE, Row

OWN = "shop.public.orders"
AVRO = {"int64": "long", "int32": "int", "string": "string", "bytes": "bytes", "double": "double", "boolean": "boolean"}
_ENDED = 120.0


def _column(name: str) -> Row:
    kind, more = CONNECT[name]
    made: Row = {"type": AVRO[kind]}
    if more:
        made |= {"connect.version": 1, "connect.name": more["name"]}
    if kind == "bytes":
        parameters = {"scale": "2", "connect.decimal.precision": "12"}
        made |= {"scale": 2, "precision": 12, "connect.parameters": parameters, "logicalType": "decimal"}
    column: Any = made if more else made["type"]
    if name in REQUIRED:
        return {"name": name, "type": column}
    return {"name": name, "type": ["null", column], "default": None}


VALUE: Row = {
    "type": "record",
    "name": "Value",
    "namespace": OWN,
    "fields": [_column(name) for name in CONNECT],
    "connect.name": f"{OWN}.Value",
}
_OPTIONAL = ("sequence", "ts_us", "ts_ns", "txId", "lsn", "xmin")
_BLOCK: Row = {
    "type": "record",
    "name": "Source",
    "namespace": "io.debezium.connector.postgresql",
    "fields": [
        {"name": name, "type": ["null", AVRO[kind]], "default": None}
        if name in _OPTIONAL
        else {"name": name, "type": AVRO[kind]}
        for name, kind in SOURCE.items()
    ],
    "connect.name": "io.debezium.connector.postgresql.Source",
}
_TRANSACTION: Row = {
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
ENVELOPE: Row = {
    "type": "record",
    "name": "Envelope",
    "namespace": OWN,
    "fields": [
        {"name": "before", "type": ["null", VALUE], "default": None},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {"name": "source", "type": _BLOCK},
        {"name": "transaction", "type": ["null", _TRANSACTION], "default": None},
        {"name": "op", "type": "string"},
        *({"name": name, "type": ["null", "long"], "default": None} for name in ("ts_ms", "ts_us", "ts_ns")),
    ],
    "connect.version": 2,
    "connect.name": f"{OWN}.Envelope",
}
KEY: Row = {
    "type": "record",
    "name": "Key",
    "namespace": OWN,
    "fields": [{"name": "id", "type": "long"}],
    "connect.name": f"{OWN}.Key",
}
JSON_KEY = (
    '{"schema":{"type":"struct","fields":[{"type":"int64","optional":false,"field":"id"}],"optional":false,'
    f'"name":"{OWN}.Key"}},"payload":'
)


def framing(client: SchemaRegistryClient, subject: str, schema: Row) -> bytes:
    """Register a schema; return what its values begin with."""
    return b"\0" + client.register_schema(subject, Schema(json.dumps(schema), "AVRO")).to_bytes(4, "big")


@dataclass(frozen=True)
class Events:
    """Encoded records: keys and values, and what each begins and ends with."""

    records: list[tuple[bytes, bytes]]
    key: tuple[bytes, bytes] = (b"", b"")
    value: tuple[bytes, bytes] = (b"", b"")

    @property
    def size(self) -> float:
        """The mean bytes of a value."""
        return sum(len(value) for _, value in self.records) / len(self.records) + len(b"".join(self.value))

    def send(self, servers: str, topic: str, rows: int, partitions: int) -> None:
        """Send the first `rows` events, to each partition in turn, and wait until they are acknowledged."""
        producer = Producer(
            {"bootstrap.servers": servers, "compression.type": "lz4", "linger.ms": 20, "acks": "all"}
            | {"queue.buffering.max.kbytes": 256 * 1024}
        )
        (key_begin, key_end), (begin, end) = self.key, self.value
        for at, (key, value) in enumerate(islice(self.records, rows)):
            while True:
                try:
                    producer.produce(topic, begin + value + end, key_begin + key + key_end, at % partitions)
                    break
                except BufferError:
                    producer.poll(0.1)
        if producer.flush(_ENDED):
            raise TimeoutError(f"{topic}: the broker did not acknowledge all events within {_ENDED:.0f} s")


def _events(rows: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory(prefix="events-") as home:
        table.write(Path(home), rows, 1)
        [path] = Path(home).glob(".*.jsonl")
        with path.open(encoding="utf-8") as lines:
            records = (json.loads(line) for line in lines)
            yield from dialects.events({name: row[name] for name in CONNECT} for row in records)


def _avro(schema: Row) -> Callable[[Row], bytes]:
    parsed = fastavro.parse_schema(schema)

    def encode(record: Row) -> bytes:
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, record)
        return out.getvalue()

    return encode


def as_avro(rows: int, client: SchemaRegistryClient, topics: list[str]) -> Events:
    """Return events with Confluent's framing; their schemas are put into the registry, for these topics."""
    key, value, records = _avro(KEY), _avro(ENVELOPE), []
    for event in _events(rows):
        after = event["after"]
        # bytes of a decimal are written as they are
        record = event | {"after": after | {"amount": base64.b64decode(after["amount"])}}
        records.append((key({"id": after["id"]}), value(record)))
    begins = {}
    for part, schema in (("key", KEY), ("value", ENVELOPE)):
        [begins[part]] = {framing(client, f"{topic}-{part}", schema) for topic in topics}
    return Events(records, (begins["key"], b""), (begins["value"], b""))


def as_json(rows: int) -> Events:
    """Return events as Kafka Connect's JsonConverter writes them without schemas."""
    records = [(b'{"id":%d}' % event["after"]["id"], dialects.text(event).rstrip().encode()) for event in _events(rows)]
    return Events(records)


def with_schema(events: Events) -> Events:
    """Return events in JSON as Kafka Connect's JsonConverter writes them by default."""
    return Events(events.records, (JSON_KEY.encode(), b"}"), (dialects.head().encode(), b"}"))
