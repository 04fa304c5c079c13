"""How a Debezium connector sends: its producer, the topics that it creates, and what becomes of errors.

https://kafka.apache.org/documentation/#connect_configuring; https://kafka.apache.org/documentation/#sourceconnectconfigs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from integrator.channel.created_topics import BROKER
from integrator.imports import producer
from integrator.imports.connect_file import Config
from integrator.imports.debezium_patterns import expression, items, java, literal
from integrator.imports.draft import Draft

PREFIX = "KAFKA"
"""Of the environment variables that have what is secret: a channel has no passwords."""
_COUNTS = {"partitions": "partitions", "replication.factor": "replication"}
_TOPICS = ("include", "exclude")
_DEFAULT = "default"
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
    """Set how topics are created: by the groups of topics in their order, and by the brokers where there is none.

    What a group leaves out of partitions and replicas it has of the default group, as Kafka Connect has it.
    """
    created = config.below("topic.creation.")
    is_off = created.pop("enable", "").strip().lower() == "false"
    groups = [*items(created.pop("groups", "")), _DEFAULT]
    of_group = {
        group: {
            name.removeprefix(f"{group}."): created.pop(name) for name in list(created) if name.startswith(f"{group}.")
        }
        for group in groups
    }
    for name in created:
        draft.report.ignore(f"topic.creation.{name}", "no group has this name")
    default = of_group.pop(_DEFAULT)
    if is_off or not (default or of_group):
        draft.kafka["Create_Topics"] = BROKER
        return
    rules = [
        {"topics": _topics(group, given, topics), **_rule({**_counts(default), **given})}
        for group, given in of_group.items()
    ]
    for group, rule in zip(of_group, rules, strict=True):
        if not rule["topics"]:
            draft.report.ignore(f"topic.creation.{group}", "it includes no topic")
    last = _rule(default)
    if not rules and last.keys() >= set(_COUNTS.values()):
        settings = {"Topic_Config": last["settings"]} if "settings" in last else {}
        counts = {"Partitions": last["partitions"], "Replication_Factor": last["replication"]}
        draft.kafka["Create_Topics"] = counts | settings
    else:
        draft.kafka["Create_Topics"] = [*(rule for rule in rules if rule["topics"]), {"topics": "*", **last}]


def _counts(given: Mapping[str, str]) -> dict[str, str]:
    return {name: given[name] for name in _COUNTS if name in given}


def _rule(given: Mapping[str, str]) -> dict[str, Any]:
    """Return what a group declares, as an entry of Create_Topics has it: -1 is the brokers' number, the default."""
    counts = {ours: int(given[key]) for key, ours in _COUNTS.items() if given.get(key, "-1").isdigit()}
    settings = {name: value for name, value in given.items() if name not in (*_COUNTS, *_TOPICS)}
    return counts | ({"settings": settings} if settings else {})


def _topics(group: str, given: Mapping[str, str], known: Sequence[str]) -> list[str]:
    """Return the names and expressions of a group's topics. Raises ConfigurationError for what is no expression."""

    def expressions(name: str) -> list[str]:
        listed = items(given.get(name, ""))
        return [one for one in listed if expression(one, f"topic.creation.{group}.{name}")]

    without = "|".join(java(one) for one in expressions("exclude"))
    if without:
        return [f"^(?!(?:{without})$)(?:{java(one)})" for one in expressions("include")]
    found = []
    for one in expressions("include"):
        name = ".".join(literal(one) or ())
        found.append(name if name in known else f"^{java(one).removeprefix('^')}")
    return found
