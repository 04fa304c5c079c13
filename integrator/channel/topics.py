"""The location of topics that change records come from (extension)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field, ValidationInfo, model_validator
from typing_extensions import Self

from integrator.channel import patterns
from integrator.channel.access import KafkaAccess, RegistryLocation
from integrator.channel.brokers import BROKERS, Brokers
from integrator.channel.paths import DIRECTORY, LocalPath
from integrator.channel.sources import SourceLocation

START_WORDS = ("earliest", "latest", "group")


def is_pattern(topic: str) -> bool:
    """Return whether an entry of `topics` is a regular expression, and not a name."""
    return topic.startswith("^")


def is_read(topic: str, topics: Sequence[str]) -> bool:
    """Return whether names and patterns, as `topics` has them, have a topic read."""
    return any(
        re.fullmatch(one, topic) is not None and not topic.startswith("__") if is_pattern(one) else one == topic
        for one in topics
    )


def _topic(given: str) -> str:
    """Return an entry of `topics`. Raises ValueError for what is neither a name nor a regular expression."""
    if not is_pattern(given):
        if "," in given:
            listed = ", ".join(one.strip() for one in given.split(",") if one.strip())
            raise ValueError(f"{given!r} is several topics in one text; write [{listed}]")
        if not re.match(patterns.TOPIC, given):
            raise ValueError(
                f"{given!r} is no topic: it has 1 to 249 of a-z A-Z 0-9 . _ -; a regular expression begins with ^"
            )
        return given
    try:
        re.compile(given)
    except re.error as error:
        raise ValueError(f"{given!r} is no regular expression: {error}") from None
    return given


def _with_table(given: str) -> str:
    """Return a regular expression. Raises ValueError for what is none, or has no group `table`."""
    try:
        groups = re.compile(given).groupindex
    except re.error as error:
        raise ValueError(f"{given!r} is no regular expression: {error}") from None
    if "table" not in groups or not groups.keys() <= {"table", "schema", "database"}:
        raise ValueError(f"{given!r} needs the group (?P<table>…), and may have (?P<schema>…) and (?P<database>…)")
    return given


Encoding = Literal["auto", "json", "avro", "protobuf", "text", "bytes"]


def listed(given: Any) -> Any:
    """Return a text as a list of it, and anything else as it is."""
    return [given] if isinstance(given, str) else given


class TopicsLocation(SourceLocation, KafkaAccess, RegistryLocation):
    """Topics of a Kafka cluster, whose records are changes. A location of class kafka with `topics`."""

    class_: Literal["kafka"] = Field(alias="class", description="Kafka.")
    Kafka_Brokers: Brokers = Field(description=BROKERS)
    topics: Annotated[list[Annotated[str, AfterValidator(_topic)]], BeforeValidator(listed), Field(min_length=1)] = (
        Field(
            description="The names of topics, and regular expressions, which begin with ^ and match whole names: "
            "[shop.orders, ^shop\\.audit_.*]. Topics that come later are read from the first record there. Names that "
            "begin with __ are not matched."
        )
    )
    encoding: Encoding = Field(
        "auto",
        description="How values are encoded that begin with no schema's id (docs/sources/kafka.md).",
    )
    schema_file: LocalPath | None = Field(
        None,
        description="The schema of values without a registry: .avsc, or .proto, whose first message it is.",
    )
    key_encoding: Encoding = Field(
        "auto", description="As encoding, of keys; auto: JSON, and text that does not begin as JSON does."
    )
    key_schema_file: LocalPath | None = Field(None, description="As schema_file, of keys.")
    table_of_topic: Annotated[str, AfterValidator(_with_table)] | None = Field(
        None,
        description="A regular expression for the names of topics whose records name no table, with the groups "
        "table and, if need be, schema and database: ^prod-(?P<table>.+)$. docs/sources/kafka.md has "
        "the default.",
    )
    start: Literal["earliest", "latest", "group"] | AwareDatetime = Field(
        "earliest",
        description="Where reading begins when the channel has no progress yet. earliest: at the first "
        "record. latest: at the end. group: where the consumer_group is, else at the first record. A "
        "timestamp, such as 2026-01-31T12:00:00Z: at the first record that is not earlier.",
    )
    consumer_group: Annotated[str, Field(min_length=1)] | None = Field(
        None, description="The consumer group of start: group and of commit_offsets."
    )
    commit_offsets: bool = Field(
        False,
        description="Commit the offsets of synced cycles for the consumer_group, so that tools show its lag. They"
        " are never read.",
    )
    lost_records: Literal["error", "earliest"] = Field(
        "error",
        description="Where records were deleted before they were read, or a topic was deleted: an error; or continue"
        " with the first record that is there.",
    )
    _directory: str = ""

    @model_validator(mode="after")
    def _note_directory(self, info: ValidationInfo) -> Self:
        self._directory = (info.context or {}).get(DIRECTORY, "")
        return self

    @property
    def directory(self) -> str:
        """The directory of the channel's file, beside which the files are that it names."""
        return self._directory

    @property
    def start_ms(self) -> int | None:
        """The timestamp at which reading begins, in milliseconds since 1970; None where `start` is a word."""
        return round(self.start.timestamp() * 1000) if isinstance(self.start, datetime) else None
