"""How topics are created that are not there: all alike, by a list of rules, or by the brokers (extension).

Kafka Connect's groups of topics are such rules: https://kafka.apache.org/documentation/#connect_configuring
(topic.creation.…, KIP-158). HVR and Airbyte leave it to the brokers: auto.create.topics.enable.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from integrator.channel.base import Model
from integrator.channel.topics import is_pattern, listed

BROKER: Literal["broker"] = "broker"
OF_BROKERS = -1
"""The number of partitions, or of replicas, that the brokers have for new topics, as CreateTopics has it."""
_WILD = re.compile(r"[*?]")
_TEXT = re.compile(r"[a-zA-Z0-9._*?-]{1,249}")


def _topic(given: str) -> str:
    """Return an entry of a rule's `topics`. Raises ValueError for what no topic can match."""
    if is_pattern(given):
        try:
            re.compile(given)
        except re.error as error:
            raise ValueError(f"{given!r} is no regular expression: {error}") from None
    elif not _TEXT.fullmatch(given):
        raise ValueError(
            f"{given!r} matches no topic: those have 1 to 249 of a-z A-Z 0-9 . _ -; * stands for any of them, ? for "
            "one, and a regular expression begins with ^"
        )
    return given


class TopicRule(Model):
    """How topics of some names are created."""

    topics: Annotated[list[Annotated[str, AfterValidator(_topic)]], BeforeValidator(listed), Field(min_length=1)] = (
        Field(
            description="Names; names with * for any letters and ? for one; and regular expressions, which begin with "
            "^ and match whole names. One of them as text, or a list."
        )
    )
    partitions: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Partitions of a new topic; by default the brokers' num.partitions."
    )
    replication: Annotated[int, Field(ge=1)] | None = Field(
        None,
        description="Replicas of each partition; by default the brokers' default.replication.factor.",
    )
    settings: dict[str, str] = Field(
        default={}, description="Settings of the topic, for example {cleanup.policy: compact}."
    )

    def matches(self, topic: str) -> bool:
        """Return whether the rule is for a topic, as far as no rule before it is."""
        return any(re.fullmatch(_expression(one), topic) is not None for one in self.topics)

    @property
    def names(self) -> list[str]:
        """The entries that are names of topics, and no patterns."""
        return [one for one in self.topics if not is_pattern(one) and not _WILD.search(one)]


def _expression(given: str) -> str:
    if is_pattern(given):
        return given
    return "".join({"*": ".*", "?": "."}.get(one) or re.escape(one) for one in given)


class TopicCreation(Model):
    """Create missing topics, all alike but for their partitions (extension: HVR requires that they exist)."""

    Partitions: Annotated[int, Field(ge=1)] = Field(1, description="Partitions of a new topic.")
    Replication_Factor: Annotated[int, Field(ge=1)] = Field(1, description="Replicas of each partition.")
    Topic_Config: dict[str, str] = Field(default={}, description="Topic configuration, for example retention.ms.")
    Topic_Partitions: dict[str, Annotated[int, Field(ge=1)]] = Field(
        default={}, description="Exceptions from Partitions, by topic: {shop.orders: 12}."
    )

    @property
    def rules(self) -> list[TopicRule]:
        """The same as a list."""
        counts = {**self.Topic_Partitions, "*": self.Partitions}
        common: dict[str, Any] = {"replication": self.Replication_Factor, "settings": self.Topic_Config}
        return [TopicRule(topics=[topic], partitions=count, **common) for topic, count in counts.items()]


Creation = Sequence[TopicRule] | Literal["broker"]
"""Who creates topics that are not there: the channel, by rules, or the brokers; nobody, where there are no rules."""


def rule_of(creation: Creation, topic: str) -> TopicRule | None:
    """Return the first rule that is for a topic; None where the channel does not create it."""
    rules = creation if not isinstance(creation, str) else ()
    return next((one for one in rules if one.matches(topic)), None)


def creation_of(given: CreateTopics | None) -> Creation:
    """Return what Create_Topics asks for."""
    if isinstance(given, TopicCreation):
        return given.rules
    return given or ()


def _way(given: Any) -> str:
    return "broker" if isinstance(given, str) else "TopicRule" if isinstance(given, list) else "TopicCreation"


CreateTopics = Annotated[
    Annotated[Literal["broker"], Tag("broker")]
    | Annotated[Annotated[list[TopicRule], Field(min_length=1)], Tag("TopicRule")]
    | Annotated[TopicCreation, Tag("TopicCreation")],
    Discriminator(_way),
]
