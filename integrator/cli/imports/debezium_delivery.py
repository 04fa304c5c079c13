"""How a Debezium connector sends: its producer, the topics that it creates, and what becomes of errors.

https://kafka.apache.org/documentation/#connect_configuring; https://kafka.apache.org/documentation/#sourceconnectconfigs.
"""

from __future__ import annotations

from typing import Any

from integrator.cli.imports import producer
from integrator.cli.imports.connect_file import Config
from integrator.cli.imports.draft import Draft

PREFIX = "KAFKA"
"""Of the environment variables that have what is secret: a channel has no passwords."""
_ERRORS = ("errors.log.enable", "errors.log.include.messages")
_TOLERANT = "errors.tolerance=all: what is rejected is counted, and gone: errors.deadletterqueue.topic.name keeps it"


def take(config: Config, draft: Draft) -> None:
    """Set the producer, the topics that are created, and what becomes of errors."""
    draft.kafka["Kafka_Message_Compress"] = "NONE"  # Java's producer's default
    draft.kafka["Kafka_Partitioner"] = "murmur2_random"
    if config.get("exactly.once.support", "exactly.once.source.support").lower() == "required":
        draft.more["delivery"] = "exactly_once"
    overrides = config.below("producer.override.")
    overrides.pop("bootstrap.servers", None)
    producer.take(overrides, draft, PREFIX, "producer.override.{}".format)
    created = config.below("topic.creation.")
    created.pop("enable", None)
    default = {
        name.removeprefix("default."): created.pop(name) for name in list(created) if name.startswith("default.")
    }
    if default:
        counts = {"partitions": "Partitions", "replication.factor": "Replication_Factor"}
        made = {ours: int(default[key]) for key, ours in counts.items() if default.get(key, "-1").isdigit()}
        draft.kafka["Create_Topics"] = made | (
            {"Topic_Config": rest} if (rest := {k: v for k, v in default.items() if k not in counts}) else {}
        )
    for name in created:
        draft.report.ignore(f"topic.creation.{name}", "Create_Topics is for all topics of the channel")
    errors: dict[str, Any] = {"tolerance": "all"} if config.get("errors.tolerance").lower() == "all" else {}
    if errors:
        draft.report.differ(_TOLERANT)
    errors |= {name.removeprefix("errors."): True for name in _ERRORS if config.on(name, default=False)}
    for name in ("retry.timeout", "retry.delay.max.ms"):
        value = config.get(f"errors.{name}")
        errors |= {name: int(value)} if value.lstrip("-").isdigit() else {}
    if errors:
        draft.more["errors"] = dict(sorted(errors.items()))
