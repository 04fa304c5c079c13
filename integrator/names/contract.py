"""A name of another product's, and what is written here in its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["action", "parameter", "variable", "key", "source key", "property", "substitution", "datatype", "word"]
"""What a name is where it comes from. key: of a configuration. source key: of one that reads topics. property: of a
client, which HVR_KAFKA_PROPERTY may have too. word: a value."""


@dataclass(frozen=True)
class Name:
    """A name of another product's.

    of: whose it is. ours: what to write here, or why there is nothing to write. key: our key that takes its value.
    sets: the property of librdkafka's that it sets in HVR_KAFKA_PROPERTY; none: it cannot stand there.
    """

    name: str
    of: str
    kind: Kind
    ours: str
    key: str = ""
    sets: str = ""


def named(of: str, kind: Kind, ours: Mapping[str, str]) -> list[Name]:
    """Return names of a product with what is written here in their place."""
    return [Name(name, of, kind, text) for name, text in ours.items()]


def keys(of: str, ours: Mapping[str, str], kind: Kind = "key") -> list[Name]:
    """Return names whose values keys of the Kafka location take as they are."""
    return [Name(name, of, kind, f"use {key} of the Kafka location", key) for name, key in ours.items()]


def settable(of: str, ours: Mapping[str, str]) -> list[Name]:
    """Return names that HVR_KAFKA_PROPERTY takes, with librdkafka's for each."""
    return [Name(name, of, "property", f"use {IN_PROPERTY}", sets=sets) for name, sets in ours.items()]


def same(names: Iterable[str]) -> dict[str, str]:
    """Return names that are librdkafka's too."""
    return {name: name for name in names}


IN_PROPERTY = "{action: Environment, Name: HVR_KAFKA_PROPERTY, Value: "
"""The beginning of the action that sets properties; the property and its value follow, in quotes."""
