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
    of: Annotated[int, Field(ge=1)] = Field(description="… of so many lines, one after another.")


class Errors(Model):
    """What becomes of records that cannot be read or sent, by Kafka Connect's names without `errors.` before them."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=False)

    tolerance: Literal["none", "all"] = Field(
        "none",
        description="none: the first such record ends the integrate job. all: its line is rejected, and the others are "
        "sent.",
    )
    topic: TopicName | None = Field(
        None,
        alias="deadletterqueue.topic.name",
        description="The topic that rejected lines go to, as they came; without it they are counted, and gone.",
    )
    replication: Annotated[int, Field(ge=1)] = Field(
        3,
        alias="deadletterqueue.topic.replication.factor",
        description="Of that topic, which is made, with one partition, if it is not there.",
    )
    headers: bool = Field(
        True,
        alias="deadletterqueue.context.headers.enable",
        description="Whether headers `__connect.errors.…` record why a line was rejected, and where it stood (in Kafka "
        "Connect by default not).",
    )
    log: bool = Field(
        False, alias="log.enable", description="Whether each rejected line has an event of its own in the log."
    )
    log_messages: bool = Field(
        False,
        alias="log.include.messages",
        description="Whether that event has the reason, which may hold values of the record; also those of masked "
        "columns, which are else in no error and no log.",
    )
    retry_ms: Annotated[int, Field(ge=-1), Counted("milliseconds")] | None = Field(
        None,
        alias="retry.timeout",
        description="For how many milliseconds a failed delivery is retried; -1 without end; without it as `restart` "
        "says.",
    )
    retry_delay_ms: Annotated[int, Field(ge=1), Counted("milliseconds")] | None = Field(
        None, alias="retry.delay.max.ms", description="The most milliseconds until it is tried again."
    )
    threshold: Threshold | None = Field(None, description="When the channel stops nevertheless (extension).")
