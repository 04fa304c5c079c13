"""Schemas that records of topics were written with: asked of the registry by the driver, and kept in the state.

What is kept is never asked again: a schema that the registry loses later is still known, and the tables of a channel
stay as they were first seen; columns that come later are added, or not, as `unknown_columns` has it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from integrator import durable
from integrator.contracts.connect_schema import Connect
from integrator.contracts.registry_access import RegistryAccess
from integrator.contracts.written_schema import SchemaKind, WrittenSchema
from integrator.decode.encodings.by_kind import program_of
from integrator.decode.encodings.encoded import Encoding, Records, Shape, Unframed, lines_of
from integrator.decode.encodings.program import SchemaRefused
from integrator.engine.gather import NULL_KEY
from integrator.errors import ConfigurationError, EnvironmentFault, RegistryAway, SchemasFound, SourceAway
from integrator.librdkafka.blocks import Block
from integrator.librdkafka.cluster import Cluster, cluster_of
from integrator.librdkafka.consumer import Consumer
from integrator.librdkafka.fetching import Range
from integrator.sources.kafka import faults

CLIENTS: dict[str, str] = {"confluent": "integrator.registry.client"}
"""Modules that ask a registry, imported at first use: the vendor's library takes 0.6 s to load."""
FILE = "schemas.json"
SCHEMA_KINDS: dict[str, SchemaKind] = {"avro": "AVRO", "protobuf": "PROTOBUF"}
"""The encodings whose records need a schema, and what a registry calls them."""
_PLAIN: dict[str, Unframed] = {"json": "json", "text": "text", "bytes": "bytes"}
_SAMPLE_RECORDS = 200
"""Offsets of each end of a partition in which a record is searched for, to learn its schema."""


@dataclass(frozen=True)
class TopicSchemas:
    """The schemas, as Kafka Connect has them, of a topic's values and keys; None where records have none.

    That values have none is not kept: records that come later may have one.
    """

    value: Connect | None
    key: Connect | None


@dataclass(frozen=True)
class KnownSchemas:
    """by_id: schemas of a registry. topics: those by which the tables of topics are defined, once and for all.

    lost: ids of which the registry has no schema now; they are not kept.
    """

    by_id: Mapping[int, WrittenSchema] = field(default_factory=dict, repr=False)
    topics: Mapping[str, TopicSchemas] = field(default_factory=dict, repr=False)
    lost: frozenset[int] = frozenset()

    def write(self, state: Path) -> None:
        """Keep them in a state directory."""
        schemas = {
            str(one): {"type": each.type, "text": each.text, "references": each.references}
            for one, each in self.by_id.items()
        }
        topics = {topic: {"value": one.value, "key": one.key} for topic, one in self.topics.items() if one.value}
        durable.make_directory(state)
        durable.replace(state / FILE, json.dumps({"schemas": schemas, "topics": topics}).encode())


def written_schema(encoding: str, file: str) -> WrittenSchema:
    """Return the schema in a file. Raises OSError, UnicodeDecodeError."""
    return WrittenSchema(SCHEMA_KINDS[encoding], Path(file).read_text(encoding="utf-8"))


def encoding_of(encoding: str, file: str | None, known: KnownSchemas, auto: Unframed) -> Encoding:
    """Return how a location has values or keys encoded. auto: what `auto` means, for records without a schema's id."""
    if file is not None:
        return Encoding(framed=False, unframed=written_schema(encoding, file))
    unframed: Unframed = auto if encoding == "auto" else _PLAIN.get(encoding, "none")
    return Encoding(known.by_id, known.lost, framed=encoding not in ("text", "bytes"), unframed=unframed)


def read(state: Path) -> KnownSchemas:
    """Return what a state directory has. Raises EnvironmentFault for a file that is damaged."""
    path = state / FILE
    if not path.exists():
        return KnownSchemas()
    try:
        given = json.loads(path.read_bytes())
        schemas = {
            int(one): WrittenSchema(
                each["type"], each["text"], tuple((name, text) for name, text in each["references"])
            )
            for one, each in given["schemas"].items()
        }
        return KnownSchemas(schemas, {topic: TopicSchemas(**one) for topic, one in given["topics"].items()})
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise EnvironmentFault(
            f"{path}: is damaged ({error!r}), and it has the schemas of records; restore it, or remove it: they are "
            "asked of the registry again"
        ) from error


@dataclass(frozen=True)
class Discovery:
    """Asks for schemas. registry: None where the location has none. properties: librdkafka's."""

    registry: RegistryAccess | None
    properties: Mapping[str, str] = field(repr=False)  # I7: may hold passwords
    values: Encoding = field(default_factory=Encoding)
    keys: Encoding = field(default_factory=Encoding)

    def with_ids(self, known: KnownSchemas, found: SchemasFound, *, tolerant: bool = False) -> KnownSchemas:
        """Return what is known, and the schemas that records were found to have. Raises IntegratorError.

        tolerant: records whose schema cannot be had are rejected; also where there is no registry.
        """
        if not found.ids:
            return known
        if self.registry is None and tolerant:
            return replace(known, lost=known.lost | {*found.ids})
        client = self._client(found)
        with _away():
            asked = {one: client.by_id(one) for one in found.ids}
        there = {one: schema for one, schema in asked.items() if schema is not None}
        return replace(known, by_id={**known.by_id, **there}, lost=known.lost | (asked.keys() - there.keys()))

    def with_topics(self, known: KnownSchemas, topics: Sequence[str]) -> KnownSchemas:
        """Return what is known, and the schemas of topics that are not known yet. Raises IntegratorError.

        A topic without records, and without a subject of its name in the registry, stays unknown.
        """
        found = dict(known.topics)
        schemas = dict(known.by_id)
        for topic in sorted(topics):
            if topic in found:
                continue
            value, key = self._subject(f"{topic}-value", schemas), self._subject(f"{topic}-key", schemas)
            given = TopicSchemas(value[0], key and key[0]) if value else None
            if given is None or (value and value[1] == "PROTOBUF"):  # which of its messages, records say
                given = self._sampled(topic, schemas) or given
            if given is not None:
                found[topic] = given
        return KnownSchemas(schemas, found, known.lost)

    def _client(self, found: object) -> Any:
        if self.registry is None:
            raise ConfigurationError(
                f"{found}, and the source location has no registry; add Kafka_Schema_Registry: http://HOST:8081 to it"
            )
        return import_module(CLIENTS["confluent"]).Schemas(self.registry)

    def _subject(self, subject: str, schemas: dict[int, WrittenSchema]) -> tuple[Connect, SchemaKind] | None:
        """Return the schema of a subject's latest version, and note it by its id; None where there is none."""
        if self.registry is None:
            return None
        client = self._client("")
        with _away():
            latest = client.latest(subject)
        if latest is None:
            return None
        schemas[latest[0]] = latest[1]
        return _connect(latest[1], subject), latest[1].type

    def _sampled(self, topic: str, schemas: dict[int, WrittenSchema]) -> TopicSchemas | None:
        """Return the schemas of a topic's first record that has a value; None where there is none."""
        with faults.explained(lambda: self.properties["bootstrap.servers"]):
            for _, block in some_blocks(cluster_of(self.properties), self.properties, topic):
                values = Records(
                    block.values, block.ends[:-1].astype(np.int64), block.ends[1:].astype(np.int64) - 1, block.nulls
                )
                valued = np.flatnonzero(~block.nulls)
                if not len(valued):
                    continue
                at = int(valued[0])
                ends = block.room.key_ends.astype(np.int64)
                keys = Records(block.room.keys, ends[:-1], ends[1:], (block.room.flags & NULL_KEY) != 0)
                return TopicSchemas(
                    self._of_record(topic, self.values, values, at, schemas),
                    self._of_record(topic, self.keys, keys, at, schemas),
                )
        return None

    def _of_record(
        self, topic: str, encoding: Encoding, records: Records, at: int, schemas: dict[int, WrittenSchema]
    ) -> Connect | None:
        own = Records(records.text, records.starts[at : at + 1], records.ends[at : at + 1], records.null[at : at + 1])
        ids = encoding.ids_of(own)
        if ids[0] >= 0:
            found = SchemasFound(f"{topic}: its records have the schema {ids[0]}", topic, [int(ids[0])])
            schemas |= self.with_ids(KnownSchemas(schemas), found).by_id
        if ids[0] >= 0 and int(ids[0]) not in schemas:
            return None
        made = lines_of(own, replace(encoding, schemas=schemas), Shape("schema", "payload"), ids)
        if made.wrong:  # said with its offset when it is read
            return None
        if made.left_out is not None and made.left_out.codes[0] >= 0:
            left_out: Connect = json.loads(made.left_out.values[made.left_out.codes[0]])
            return left_out
        try:
            record = json.loads(made.data)
        except ValueError:
            return None
        schema = record.get("schema") if isinstance(record, dict) and set(record) == {"schema", "payload"} else None
        return schema if isinstance(schema, dict) else None


@contextmanager
def _away() -> Iterator[None]:
    """Raise SourceAway where the registry does not answer: the cycle is sent again later."""
    try:
        yield
    except RegistryAway as error:
        raise SourceAway(str(error)) from None


def _connect(schema: WrittenSchema, place: str) -> Connect:
    try:
        return program_of(schema, b"", b"").schema
    except SchemaRefused as error:
        raise ConfigurationError(f"{place}: its schema cannot be read: {error}") from None


def some_blocks(cluster: Cluster, properties: Mapping[str, str], topic: str) -> Iterator[tuple[Range, Block]]:
    """Yield blocks of the first and the last records of a topic's partitions, each with the range that it is of."""
    found = cluster.topics([topic])[topic]
    if found is None:
        return
    partitions = [(topic, one) for one in range(found.partitions)]
    low, stable = cluster.first(partitions), cluster.stable(partitions)
    consumer = Consumer(properties)
    try:
        for _, one in partitions:
            begin, end = low[topic, one], stable[topic, one]
            for first, last in ((begin, min(end, begin + _SAMPLE_RECORDS)), (max(begin, end - _SAMPLE_RECORDS), end)):
                wanted = Range(topic, one, first, last)
                if first < last:
                    yield from ((wanted, block) for block in consumer.read(wanted))
    finally:
        consumer.close()
