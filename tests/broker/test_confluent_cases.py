"""Confluent's deserializers for Python, with schemas from a real registry, on every case of tests/cases.py."""

import pytest
from confluent_kafka.schema_registry import Schema

from integrator import schema
from integrator.contracts.message_format import Options, SchemaId
from integrator.formats import FORMATS
from integrator.schema import Column
from tests.cases import CASES, array
from tests.parts import decode
from tests.wire import neutral

OPTIONS = Options(decimals="NUMERIC")


@pytest.mark.parametrize("kind", ["AVRO", "JSON", "PROTOBUF"])
def test_confluents_deserializers_read_every_case(kind, registry_server, name):
    said, client = FORMATS[f"REGISTRY_{kind}"], registry_server.client
    for number, (case, type_, all_values, _, _) in enumerate(CASES):
        columns, topic = [Column("c", type_)], f"{name}-{number}"
        lists = kind == "PROTOBUF" and isinstance(type_, schema.Array)  # a repeated field holds no null
        values = [value for value in all_values if not lists or value is None or None not in value]
        text = said.schema_text("t", columns, OPTIONS)
        schema_id = client.register_schema(f"{topic}-value", Schema(text, kind))
        head = said.frame("t", columns, OPTIONS, SchemaId(schema_id)).opening
        rows = said.encoder(columns, OPTIONS)({"c": array(type_, values)}, {})
        read = decode.confluent(kind, client, topic)
        for row, value in zip(rows, values, strict=True):
            data = row.as_py() if isinstance(row.as_py(), bytes) else row.as_py().encode()
            got = read(head + data, columns)["c"]
            if isinstance(type_, schema.Interval) and isinstance(got, bytes):
                parts = [int.from_bytes(got[at : at + 4], "little") for at in (0, 4, 8)]
                got = (parts[0], parts[1], parts[2] * 1_000_000)
            if isinstance(type_, schema.Interval) and isinstance(got, str):
                got = neutral.from_iso(got)
            assert neutral.same(neutral.given(type_, value), got), case
