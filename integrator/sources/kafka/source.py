"""Topics as a source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from integrator.channel import brokers, kafka_access
from integrator.channel.problems import Report
from integrator.channel.topics import START_WORDS, TopicsLocation, is_pattern
from integrator.errors import ConfigurationError
from integrator.librdkafka.properties import QUIET
from integrator.schema import Table
from integrator.sources.contract import Feed, Opening, Problems
from integrator.sources.kafka.feed import CommittedOffsets
from integrator.sources.kafka.listing import SLICE_BYTES, Start, TopicListing, check_reachable
from integrator.sources.kafka.reader import TopicReader
from integrator.sources.location import check_table


@dataclass(frozen=True)
class Topics:
    """Topics of a Kafka cluster; each slice is a range of one partition.

    extra: librdkafka's properties beside those of the location.
    """

    location: TopicsLocation
    extra: Mapping[str, str] = field(default_factory=dict, repr=False)  # I7: may hold passwords
    whole_transactions = False
    example = "{class: kafka, Kafka_Brokers: [HOST:PORT], topics: [TOPIC]}"

    @cached_property
    def _properties(self) -> dict[str, str]:
        """Librdkafka's properties; what is wrong with them is reported by `check`."""
        return self._made(lambda _parameter, _text, _table="": None)

    def _made(self, report: Report) -> dict[str, str]:
        location = self.location
        access = kafka_access.access_properties(location, report, location.directory)
        return {**QUIET, "bootstrap.servers": brokers.bootstrap(location.Kafka_Brokers), **access, **self.extra}

    @property
    def reader(self) -> TopicReader:
        """What reads ranges on executors."""
        return TopicReader(self._properties)

    def describe(self) -> str:
        """Return topics, brokers and the dialect."""
        location = self.location
        return f"{', '.join(location.topics)} at {', '.join(location.Kafka_Brokers)} ({location.dialect})"

    def check(self, tables: Sequence[Table], report: Report) -> None:
        """Report of brokers, access and a table that cannot be, and of a consumer group that is needed, or is not."""
        location = self.location
        check_table(location, tables, report)
        self._made(report)
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
        yield from kafka_access.access_notes(self._properties)

    def look(self, directory: str, *, is_free: bool) -> Problems:  # noqa: ARG002 - of the contract
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
        return TopicListing(names, patterns, self._properties, start, delay_s, accepts, SLICE_BYTES)

    def prepare(self, place: str) -> None:
        """Do nothing: topics are their producers'."""

    def open(self, opening: Opening) -> Feed:
        """Return what commits offsets, if that is asked for. Raises ConfigurationError for topics that are sent to."""
        location, recipe = self.location, opening.recipe
        servers = set(recipe.send.producer["bootstrap.servers"].split(","))
        if servers & set(self._properties["bootstrap.servers"].split(",")):
            sent = {table.topic for table in recipe.tables} & set(self.listing("").found())
            if sent:
                raise ConfigurationError(
                    f"the topics {', '.join(sorted(sent))} are read and sent to: what is sent would be read again, "
                    "without end; mend `topics` of the source location, or Kafka_Default_Topic"
                )
        if not location.commit_offsets:
            return Feed()
        return CommittedOffsets(opening.journal_path, self._properties, location.consumer_group or "")
