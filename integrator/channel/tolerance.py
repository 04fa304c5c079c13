"""What becomes of records that cannot be read or sent: Kafka Connect's properties, by their names.

https://kafka.apache.org/41/configuration/connect-configs/ (errors.tolerance, errors.retry.timeout, errors.log.enable,
errors.deadletterqueue.topic.name …), KIP-298.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from integrator.channel import patterns
from integrator.channel.base import Counted, Model

TopicName = Annotated[str, Field(pattern=patterns.TOPIC)]


class Threshold(Model):
    """When too many lines are rejected for a few bad records to be the reason."""

    failed: Annotated[int, Field(ge=0)] = Field(
        description="The channel stops when more lines than this are rejected …"
    )
    of: Annotated[int, Field(ge=1)] = Field(description="… out of this many consecutive lines.")


class Errors(Model):
    """What becomes of records that cannot be read or sent, by Kafka Connect's names without `errors.` before them."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=False)

    tolerance: Literal["none", "all"] = Field(
        "none",
        description="none: the first such record ends the integrate job. all: its line is rejected, and the others are "
        "sent.",
    )
    tables: Literal["stop", "set_aside"] = Field(
        "stop",
        description="What becomes of a captured table that cannot be sent, for a registry refuses its schema, its "
        "names or types go into no message, or a change of it is wrong. stop: the channel stops. set_aside: the others "
        "continue, and its changes are held in the state directory. It is tried again at each start, and by `resume "
        "--table`; then its changes are sent, in order.",
    )
    topic: TopicName | None = Field(
        None,
        alias="deadletterqueue.topic.name",
        description="The topic to which rejected lines are sent, unchanged. Without it they are only counted.",
    )
    replication: Annotated[int, Field(ge=1)] = Field(
        3,
        alias="deadletterqueue.topic.replication.factor",
        description="The replication factor of that topic, which is created with one partition if it does not exist.",
    )
    headers: bool = Field(
        True,
        alias="deadletterqueue.context.headers.enable",
        description="Whether headers `__connect.errors.…` record why a line was rejected, and its file and line "
        "(false by default in Kafka Connect).",
    )
    log: bool = Field(
        False, alias="log.enable", description="Whether each rejected line has an event of its own in the log."
    )
    log_messages: bool = Field(
        False,
        alias="log.include.messages",
        description="Whether that event has the reason, which may contain values of the record, also of masked "
        "columns. Without it, values of masked columns are in no error and no log.",
    )
    retry_ms: Annotated[int, Field(ge=-1), Counted("milliseconds")] | None = Field(
        None,
        alias="retry.timeout",
        description="How long a failed delivery is retried, in milliseconds; -1: without limit. If it is not set, "
        "`restart` applies.",
    )
    retry_delay_ms: Annotated[int, Field(ge=1), Counted("milliseconds")] | None = Field(
        None, alias="retry.delay.max.ms", description="The longest delay before a retry, in milliseconds."
    )
    threshold: Threshold | None = Field(None, description="When the channel stops nevertheless (extension).")
