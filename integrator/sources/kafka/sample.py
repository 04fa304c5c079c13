"""What the records of topics are like, by the first of each that has a value: for a channel that is to be written."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from integrator.contracts import connect_schema as connect
from integrator.contracts.connect_schema import Connect
from integrator.contracts.written_schema import WrittenSchema
from integrator.decode.dialects import recognized
from integrator.decode.encodings.encoded import AS_TEXT, Encoding, Records
from integrator.engine.gather import NULL_KEY
from integrator.errors import ConfigurationError, DataError, SchemasFound
from integrator.librdkafka.blocks import Block
from integrator.librdkafka.cluster import cluster_of
from integrator.librdkafka.fetching import Range
from integrator.sources.kafka import faults
from integrator.sources.kafka.ranges import Stream
from integrator.sources.kafka.schemas import some_blocks
from integrator.sources.kafka.source import Topics
from integrator.sources.slices import TaskSlice

_LINES = 100
_BYTES = 4 * 1024 * 1024
_TYPES = {"AVRO": "Avro", "PROTOBUF": "Protobuf", "JSON": "JSON Schema"}
_JSON = "JSON without schemas"
_DEFINED = ("debezium", "rows")
"""Dialects whose schemas define tables."""
NO_REGISTRY = "its records begin with the id {} of a schema, and no registry is given: add --registry URL"
_LOST = "the registry has no schema {}, with which its records begin: restore it there"
_NO_ROW = "its first records are no objects by their schema {}, or cannot be read by it: have the producer mend them"
_NO_JSON = (
    "its records are no JSON objects, and begin with no schema's id: write the location by hand, with encoding "
    "avro or protobuf and schema_file; or with text or bytes, and tables of one column called value"
)


@dataclass(frozen=True)
class Sampled:
    """A topic. values, keys: how they are encoded. dialect: as it is recognized. problem: why it cannot be read.

    has_schemas: whether schemas define its table. A topic that has no records with a value has only a problem.
    """

    topic: str
    partitions: int = 0
    values: str = ""
    keys: str = ""
    dialect: str = ""
    has_schemas: bool = False
    problem: str = ""


def sample(source: Topics) -> tuple[Topics, list[Sampled]]:
    """Return the source, with the schemas that it came to know, and what its topics are. Raises IntegratorError."""
    found: list[Sampled] = []
    with faults.explained(lambda: source.properties["bootstrap.servers"]):
        topics = source.listing("").found()
        for name, topic in sorted(topics.items()):
            if topic is None:
                found.append(Sampled(name, problem="the topic is not there, or our user may not see it (ACL Describe)"))
                continue
            one = Sampled(name, topic.partitions)
            blocks = some_blocks(cluster_of(source.properties), source.properties, name)
            first = next(((of, block) for of, block in blocks if not block.nulls.all()), None)
            if first is None:
                found.append(replace(one, problem="no record with a value is there: run the command again when one is"))
                continue
            source, one = _sampled(source, one, *first)
            found.append(one)
    return source, found


def _sampled(source: Topics, one: Sampled, of: Range, block: Block) -> tuple[Topics, Sampled]:
    """Return the source, with schemas of a block's first records, and what the topic is."""
    at = int(np.flatnonzero(~block.nulls)[0])
    encoding, (values, keys) = source.reader.encoding, _records(block, at)
    ids = [int(part.ids_of(which)[0]) for part, which in ((encoding.values, values), (encoding.keys, keys))]
    framed = [number for number in ids if number >= 0]
    if framed and source.location.Kafka_Schema_Registry is None:
        return source, replace(one, problem=NO_REGISTRY.format(framed[0]))
    first = _slice(of, block, at)
    source, start = _begin(source, first)
    lost = [number for number in framed if number in source.known.lost]
    if lost:
        return source, replace(one, problem=_LOST.format(lost[0]))
    record = _first_object(start)
    if record is None:
        return source, replace(one, problem=_NO_ROW.format(framed[0]) if ids[0] >= 0 else _NO_JSON)
    dialect = _recognized(source, first)
    try:
        source = source.with_topics([one.topic])
    except ConfigurationError as error:
        return source, replace(one, problem=str(error))
    schemas = source.known.topics.get(one.topic)
    schema = schemas.value if schemas is not None else None
    if schema is not None and dialect in _DEFINED:
        dialect = "debezium" if _is_event(schema) else "rows"
    own = source.reader.encoding
    labels = [_label(part, number) for part, number in ((own.values, ids[0]), (own.keys, ids[1]))]
    is_wrapped = ids[0] < 0 and set(record) == {"schema", "payload"} and schema is not None
    has_schemas = schema is not None and connect.row_of(schema) is not None and dialect in _DEFINED
    keys_label = "none" if bool(keys.null[0]) else labels[1]
    values_label = "JSON with schemas" if is_wrapped else labels[0]
    return source, replace(one, values=values_label, keys=keys_label, dialect=dialect, has_schemas=has_schemas)


def _records(block: Block, at: int) -> tuple[Records, Records]:
    """Return the value and the key of one record."""
    values, keys = block.ends.astype(np.int64), block.room.key_ends.astype(np.int64)
    one = slice(at, at + 1)
    is_null = (block.room.flags & NULL_KEY) != 0
    return (
        Records(block.values, values[:-1][one], values[1:][one] - 1, block.nulls[one]),
        Records(block.room.keys, keys[:-1][one], keys[1:][one], is_null[one]),
    )


def _begin(source: Topics, first: TaskSlice) -> tuple[Topics, bytes]:
    """Return the source, with the schemas of a slice's records, and these as lines."""
    while True:
        try:
            return source, source.reader.file(first).start(_BYTES)
        except SchemasFound as found:
            source = source.learned(found, tolerant=True)


def _slice(of: Range, block: Block, at: int) -> TaskSlice:
    """Return the records of a block, from one on, as a slice."""
    stream = Stream(of.topic, "", of.partition)
    one = stream.slice(int(block.offsets[at]), int(block.offsets[-1]) + 1, 0)
    return TaskSlice(0, one.path, 0, 0, str(stream), read=True)


def _first_object(start: bytes) -> dict[str, object] | None:
    for line in islice(start.split(b"\n"), _LINES):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            return record
    return None


def _recognized(source: Topics, first: TaskSlice) -> str:
    """Return the dialect of a slice: plain rows, where no other fits."""
    try:
        return recognized(source.reader.file(first))
    except DataError:
        return "rows"


def _is_event(schema: Connect) -> bool:
    """Return whether a schema is of Debezium's events: in their envelope, or flattened with deletes as rows."""
    names = {str(field.get("field")) for field in schema.get("fields") or ()}
    return ("op" in names and bool(names & {"before", "after"})) or "__deleted" in names


def _label(encoding: Encoding, number: int) -> str:
    if number in encoding.schemas:
        return f"{_TYPES[encoding.schemas[number].type]} (registry)"
    if isinstance(encoding.unframed, WrittenSchema):
        return f"{_TYPES[encoding.unframed.type]} (schema_file)"
    return "text" if number == AS_TEXT else _JSON
