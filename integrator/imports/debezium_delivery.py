"""How a Debezium connector sends: its producer, the topics that it creates, and what becomes of errors.

https://kafka.apache.org/documentation/#connect_configuring; https://kafka.apache.org/documentation/#sourceconnectconfigs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from integrator.imports import producer
from integrator.imports.connect_file import Config
from integrator.imports.debezium_patterns import expression, items
from integrator.imports.draft import Draft

PREFIX = "KAFKA"
"""Of the environment variables that have what is secret: a channel has no passwords."""
_COUNTS = {"partitions": "Partitions", "replication.factor": "Replication_Factor"}
_ERRORS = ("errors.log.enable", "errors.log.include.messages")
_TOLERANT = "errors.tolerance=all: rejected records are only counted; errors.deadletterqueue.topic.name keeps them"


def import_delivery(config: Config, topics: Sequence[str], draft: Draft) -> None:
    """Set the producer, how topics are created, and what becomes of errors. topics: those that are known."""
    draft.kafka["Kafka_Message_Compress"] = "NONE"  # Java's producer's default
    draft.kafka["Kafka_Partitioner"] = "murmur2_random"
    if config.get("exactly.once.support", "exactly.once.source.support").lower() == "required":
        draft.more["delivery"] = "exactly_once"
    overrides = config.below("producer.override.")
    overrides.pop("bootstrap.servers", None)
    producer.import_producer(overrides, draft, PREFIX, "producer.override.{}".format)
    _take_topics(config, topics, draft)
    errors: dict[str, Any] = {"tolerance": "all"} if config.get("errors.tolerance").lower() == "all" else {}
    if errors:
        draft.report.differ(_TOLERANT)
    errors |= {name.removeprefix("errors."): True for name in _ERRORS if config.on(name, default=False)}
    for name in ("retry.timeout", "retry.delay.max.ms"):
        value = config.get(f"errors.{name}")
        errors |= {name: int(value)} if value.lstrip("-").isdigit() else {}
    if errors:
        draft.more["errors"] = dict(sorted(errors.items()))


def _take_topics(config: Config, topics: Sequence[str], draft: Draft) -> None:
    """Set how topics are created: by the default group, with the partitions of other groups."""
    created = config.below("topic.creation.")
    created.pop("enable", None)
    groups = [*items(created.pop("groups", "")), "default"]
    of_group = {
        group: {
            name.removeprefix(f"{group}."): created.pop(name) for name in list(created) if name.startswith(f"{group}.")
        }
        for group in groups
    }
    default = of_group.pop("default")
    if default:
        made = {ours: int(default[key]) for key, ours in _COUNTS.items() if default.get(key, "-1").isdigit()}
        rest = {name: value for name, value in default.items() if name not in _COUNTS}
        draft.kafka["Create_Topics"] = made | ({"Topic_Config": rest} if rest else {})
    partitions: dict[str, int] = {}
    for group, given in of_group.items():
        for topic in topics:
            if _is_in(group, given, topic) and given.get("partitions", "-1").isdigit():
                partitions.setdefault(topic, int(given["partitions"]))
        if "partitions" in given and not topics:
            draft.report.todo(
                f"topic.creation.{group}: write its partitions as Topic_Partitions of Create_Topics, by topic"
            )
        for name in given:
            if name not in ("include", "exclude", "partitions"):
                draft.report.ignore(f"topic.creation.{group}.{name}", "Create_Topics has one for all topics")
    if partitions and default:
        draft.kafka["Create_Topics"]["Topic_Partitions"] = dict(sorted(partitions.items()))
    for name in created:
        draft.report.ignore(f"topic.creation.{name}", "no group has this name")


def _is_in(group: str, given: Mapping[str, str], topic: str) -> bool:
    """Return whether a topic is in a group: the first of those that include it is its."""

    def any_of(name: str) -> bool:
        return any(expression(one, f"topic.creation.{group}.{name}")(topic) for one in items(given.get(name, "")))

    return any_of("include") and not any_of("exclude")
