"""The encodings whose records need a schema, by the names that registries have for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from integrator.contracts.written_schema import SchemaKind, WrittenSchema
from integrator.decode.encodings import avro, json_schema, protobuf
from integrator.decode.encodings.program import Program

Compile = Callable[[WrittenSchema, bytes, bytes], Program]
ENCODINGS: dict[SchemaKind, Compile] = {
    "AVRO": avro.compiled,
    "PROTOBUF": protobuf.compiled,
    "JSON": json_schema.compiled,
}


@lru_cache(maxsize=4096)
def program_of(schema: WrittenSchema, before: bytes, after: bytes) -> Program:
    """Return the program of a schema. before, after: what stands around each record. Raises SchemaRefused."""
    return ENCODINGS[schema.type](schema, before, after)
