"""Topics as a source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from integrator.channel import brokers, kafka_access
from integrator.channel.paths import as_known, no_file
from integrator.channel.problems import Report
from integrator.channel.registry_access import access_of
from integrator.channel.topics import START_WORDS, TopicsLocation, is_pattern
from integrator.contracts import connect_schema as connect
from integrator.decode.encodings.by_kind import program_of
from integrator.decode.encodings.program import SchemaRefused
from integrator.errors import Place, SchemasFound, SourceAway
from integrator.librdkafka.properties import QUIET
from integrator.schema import Table
from integrator.sources.contract import NO_TABLES, Feed, Opening, Problems
from integrator.sources.kafka import faults, schemas
from integrator.sources.kafka.block_lines import BY_PARTS, TopicEncoding
from integrator.sources.kafka.feed import CommittedOffsets
from integrator.sources.kafka.letters import TopicLetters
from integrator.sources.kafka.listing import SLICE_BYTES, Start, TopicListing, check_reachable
from integrator.sources.kafka.reader import TopicReader
from integrator.sources.kafka.schemas import (
    SCHEMA_KINDS,
    Discovery,
    KnownSchemas,
    encoding_of,
    written_schema,
)
from integrator.sources.location import check_table


@dataclass(frozen=True)
class Topics:
    """Topics of a Kafka cluster; each slice is a range of one partition.

    known: what is known of their schemas. defining: the topics whose schemas define tables; None where definitions are
    in files. extra: librdkafka's properties beside those of the location.
    """

    location: TopicsLocation
    known: KnownSchemas = field(default_factory=KnownSchemas)
    defining: frozenset[str] | None = None
    extra: Mapping[str, str] = field(default_factory=dict, repr=False)  # I7: may hold passwords
    whole_transactions = False
    has_positions = False
    has_records = True
    any_database = False
    no_tables = NO_TABLES
    example = "{class: kafka, Kafka_Brokers: [HOST:PORT], topics: [TOPIC]}"

    @cached_property
    def properties(self) -> dict[str, str]:
        """Librdkafka's properties; what is wrong with them is reported by `check`."""
        return self._made(lambda _parameter, _text, _table="": None)

    def _made(self, report: Report) -> dict[str, str]:
        location = self.location
        access = kafka_access.access_properties(location, report, location.directory)
        return {**QUIET, "bootstrap.servers": brokers.bootstrap(location.Kafka_Brokers), **access, **self.extra}

    @cached_property
    def reader(self) -> TopicReader:
        """What reads ranges on executors: the same in each cycle, whatever becomes of a schema's file."""
        location, known = self.location, self.known
        values = encoding_of(location.encoding, location.schema_file, known, "json")
        keys = encoding_of(location.key_encoding, location.key_schema_file, known, "json or text")
        encoding = TopicEncoding(values, keys, self._table, self.defining)
        return TopicReader(self.properties, encoding, accepts_loss=location.lost_records == "earliest")

    @property
    def letters(self) -> TopicLetters:
        """What writes and reads rejected records."""
        return TopicLetters.of(self.reader.encoding)

    @property
    def _table(self) -> str | None:
        """How the table of records that name none is in the name of their topic; None where they are of one table."""
        location = self.location
        alone = len(location.topics) == 1 and not is_pattern(location.topics[0]) and not location.table_of_topic
        return None if location.table or alone else location.table_of_topic or BY_PARTS

    def with_properties(self, extra: Mapping[str, str]) -> Topics:
        """Return the source with librdkafka's properties beside those of the location."""
        return replace(self, extra=extra)

    def known_in(self, state: Path) -> Topics:
        """Return the source with the schemas that its state directory keeps. Raises EnvironmentFault."""
        return replace(self, known=schemas.read(state), defining=None)

    def defines(self, *topics: str, asks: bool = True) -> Topics:
        """Return the source with the schemas of all topics that are there now, or, unasked, with those known.

        Raises IntegratorError.

        topics: those whose records are read now: what their schemas do not define, nothing defines. Where brokers or
        registry do not answer, and no topic is given, it has those that are known, if any are.
        """
        known = self.known
        try:
            if asks:
                with faults.explained(lambda: self.properties["bootstrap.servers"]):
                    there = [name for name, topic in self.listing("").found(topics).items() if topic is not None]
                known = self.with_topics(there).known
        except SourceAway:
            if topics or not self.known.topics:
                raise
        return replace(self, known=known, defining=frozenset((*(self.defining or ()), *known.topics, *topics)))

    def with_topics(self, topics: Sequence[str]) -> Topics:
        """Return the source with the schemas of these topics. Raises IntegratorError."""
        return replace(self, known=self._discovery.with_topics(self.known, topics))

    def tables(self) -> list[Table]:
        """Return the tables that the known schemas define, by their names in the channel.

        A table keeps its name, whatever topics come later.
        """
        found: dict[str, Table] = {}
        for topic, one in self.known.topics.items():  # as they came
            owner = TopicEncoding(table=self.location.table_of_topic or BY_PARTS).table_of(topic)
            named = (owner.schema, owner.name) if owner else (None, topic)
            table = one.value and connect.table_of(one.value, one.key, named)
            if table:
                longer = "_".join(filter(None, (table.schema or topic.rpartition(".")[0], table.name)))
                key = table.name if table.name not in found else re.sub(r"[^a-z0-9_]+", "_", longer.lower())
                if found.get(key, table).full_name == table.full_name:
                    found[key] = replace(table, name=key)
        return list(found.values())

    def learned(self, found: SchemasFound, *, tolerant: bool) -> Topics:
        """Return the source with schemas that records were found to have. Raises IntegratorError."""
        known = self._discovery.with_ids(self.known, found, tolerant=tolerant)
        return replace(self, known=known)

    def server_log(self) -> None:
        """Return None: topics are kept for as long as their retention says."""

    def keep(self, state: Path) -> None:
        """Keep what is known of schemas in a state directory."""
        self.known.write(state)

    def table_at(self, place: Place) -> None:
        """Return None: no table of topics is set aside."""

    @property
    def _discovery(self) -> Discovery:
        encoding = self.reader.encoding
        access = access_of(self.location, lambda _parameter, _text, _table="": None)
        return Discovery(access, self.properties, encoding.values, encoding.keys)

    def describe(self) -> str:
        """Return topics, brokers and the dialect."""
        location = self.location
        return f"{', '.join(location.topics)} at {', '.join(location.Kafka_Brokers)} ({location.dialect})"

    def check(self, tables: Sequence[Table], report: Report) -> None:
        """Report of brokers, access and a table that cannot be, and of a consumer group that is needed, or is not."""
        location = self.location
        check_table(location, tables, report)
        self._made(report)
        access_of(location, report)
        _check_encoding(location, report)
        for _, text in brokers.wrong_brokers(location.Kafka_Brokers):
            report("Kafka_Brokers", text)
        needs = location.start == "group" or location.commit_offsets
        if needs and location.consumer_group is None:
            key = "commit_offsets" if location.commit_offsets else "start"
            report(key, "needs a group: add consumer_group")
        elif location.consumer_group is not None and not needs:
            report("consumer_group", "does nothing without start: group or commit_offsets: true; leave it out")

    def notes(self) -> Iterator[str]:
        """Yield what of the access is unsafe."""
        yield from kafka_access.access_notes(self.properties)

    def inspect(self, directory: str, *, is_free: bool) -> Problems:  # noqa: ARG002 - of the contract
        """Yield nothing: topics are not on this machine."""
        yield from ()

    def reach(self, directory: str) -> Problems:  # noqa: ARG002 - of the contract
        """Yield why topics cannot be reached."""
        if text := check_reachable(self.listing("")):
            yield "topics", text

    def place(self, state: Path) -> str:  # noqa: ARG002 - of the contract
        """Return nothing: ranges are in no directory."""
        return ""

    def listing(self, place: str, delay_s: int = 0) -> TopicListing:  # noqa: ARG002 - of the contract
        """Return what finds ranges."""
        location = self.location
        word = location.start if location.start in START_WORDS else "earliest"
        start = Start(str(word), location.start_ms, location.consumer_group or "")
        accepts = location.lost_records == "earliest"
        names = tuple(one for one in location.topics if not is_pattern(one))
        patterns = tuple(filter(is_pattern, location.topics))
        return TopicListing(names, patterns, self.properties, start, delay_s, accepts, SLICE_BYTES)

    def prepare(self, place: str) -> None:
        """Do nothing: topics are their producers'."""

    def open(self, opening: Opening) -> Feed:
        """Return what commits offsets, if that is asked for."""
        location = self.location
        if not location.commit_offsets:
            return Feed()
        return CommittedOffsets(opening.journal_path, self.properties, location.consumer_group or "")


def _check_encoding(location: TopicsLocation, report: Report) -> None:
    """Report of schema files that are not there, or are for another encoding, and of encodings that lack a schema."""
    for key, encoding, file in (
        ("schema_file", location.encoding, location.schema_file),
        ("key_schema_file", location.key_encoding, location.key_schema_file),
    ):
        named = key.replace("schema_file", "encoding")
        if file is None:
            if encoding in SCHEMA_KINDS and location.Kafka_Schema_Registry is None:
                report(named, f"{encoding} needs schemas: add Kafka_Schema_Registry, or {key}")
            continue
        if encoding not in SCHEMA_KINDS:
            report(key, f"is for records in Avro or Protobuf: say {named}: avro or {named}: protobuf")
        elif why := no_file(file):
            report(key, f"{why} {as_known(file)}")
        else:
            try:
                written = written_schema(encoding, file)
                program_of(written, b"", b"")
            except (SchemaRefused, OSError, UnicodeDecodeError) as error:
                report(key, f"{as_known(file)} cannot be read: {error}")
