"""Kafka location + Integrate -> how the schema registry is used, and under which subjects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from integrator.channel.locations import KafkaLocation
from integrator.channel.problems import Problems, named
from integrator.channel.registry_access import NEEDS_URL, access_of
from integrator.contracts.recipe import Recipe
from integrator.contracts.registry_access import RegistryAccess
from integrator.encode import messages, transactions
from integrator.formats.keys import SchemaType

DEFAULT_STRATEGY = "TopicNameSuffixStrategy"


@dataclass(frozen=True)
class RegistrySettings:
    """How the registry is reached and used."""

    access: RegistryAccess
    auto_register: bool = True
    use_latest: bool = False
    normalize: bool = False
    in_header: bool = False


@dataclass(frozen=True)
class Registration:
    """A schema, and the subject that it is registered under."""

    table: str
    part: str
    subject: str
    type: SchemaType
    text: str


Strategy = Callable[[str, str, str, str], str]
"""From topic, table, record and part (key or value) to the subject."""

STRATEGIES: dict[str, Strategy] = {
    "TopicNameSuffixStrategy": lambda topic, table, _record, part: (
        f"{topic}-{part}" if table in topic else f"{topic}-{table}-{part}"
    ),
    "TopicNameStrategy": lambda topic, _table, _record, part: f"{topic}-{part}",
    "RecordNameStrategy": lambda _topic, _table, record, _part: record,
    "TopicRecordNameStrategy": lambda topic, _table, record, _part: f"{topic}-{record}",
}
"""https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/index.html#subject-name-strategy;
the first is HVR's."""


def settings_of(location: KafkaLocation, name: str, problems: Problems) -> RegistrySettings | None:
    """Return the settings, or None for a location without a registry; what is wrong is added to `problems`."""
    access = access_of(location, problems.at_location(name), problems.source.secrets)
    given = location.Schema_Registry
    if access is None:
        if "Kafka_Schema_Registry_Format" in location.model_fields_set:
            problems.at_location(name)("Kafka_Schema_Registry_Format", NEEDS_URL)
        return None
    return RegistrySettings(
        access=access,
        auto_register=given.Auto_Register,
        use_latest=given.Use_Latest_Version,
        normalize=given.Normalize,
        in_header=given.Schema_Id_In == "HEADER",
    )


Strategies = dict[tuple[str, str], str]
"""By table and part, the name of the strategy."""


def registrations(recipe: Recipe, strategies: Strategies) -> tuple[Registration, ...]:
    """Return the schemas to register, with their subjects."""
    topics = {table.table.name: table.topic for table in recipe.tables}
    found = [*messages.registered_schemas(recipe)]
    if recipe.transactions is not None:
        of_transactions = transactions.recipe_of(recipe)
        topics[transactions.NAME] = recipe.transactions.topic
        found += messages.registered_schemas(of_transactions)
    return tuple(
        Registration(
            schema.table,
            schema.part,
            STRATEGIES[strategies.get((schema.table, schema.part), "TopicNameStrategy")](
                topics[schema.table], schema.table, schema.record, schema.part
            ),
            schema.type,
            schema.text,
        )
        for schema in found
    )


def clashes(found: Iterable[Registration]) -> list[str]:
    """Return what is wrong where two tables would share a subject with different schemas."""
    shared: dict[str, list[Registration]] = {}
    for registration in found:
        shared.setdefault(registration.subject, []).append(registration)
    wrong = []
    for subject, each in shared.items():
        others = [one.table for one in each if one.text != each[0].text]
        if others:
            names = named(list(dict.fromkeys([each[0].table, *others])))
            parts = " and ".join(dict.fromkeys(one.part for one in each))
            text = f"the {parts} schemas of {names} would share the subject {subject}"
            remedy = "give them topics or record names of their own (KeyRecordName, ValueRecordName)"
            wrong.append(f"{text}; {remedy}, or use TopicRecordNameStrategy")
    return wrong
