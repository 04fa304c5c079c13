"""Kafka location + Integrate -> how the schema registry is used, and under which subjects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from integrator.channel.locations import KafkaLocation
from integrator.channel.problems import Problems
from integrator.contracts.recipe import Recipe
from integrator.encode import messages
from integrator.formats.keys import SchemaType

DEFAULT_STRATEGY = "TopicNameSuffixStrategy"


@dataclass(frozen=True)
class RegistrySettings:
    """How the registry is reached (the vendor's client's properties) and used."""

    urls: tuple[str, ...]
    client: dict[str, Any] = field(repr=False)  # I7: has passwords
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
    access = location.Schema_Registry
    user, password = location.Kafka_Schema_User, location.Kafka_Schema_Registry_Password
    report, secrets = problems.at_location(name), problems.source.secrets
    if location.Kafka_Schema_Registry is None:
        for key in (
            "Kafka_Schema_Registry_Format",
            "Kafka_Schema_User",
            "Kafka_Schema_Registry_Password",
            "Schema_Registry",
        ):
            if key in location.model_fields_set:
                report(key, "needs Kafka_Schema_Registry, the registry's URL, beside it")
        return None
    given = location.Kafka_Schema_Registry
    urls = tuple(url.strip().rstrip("/") for url in ([given] if isinstance(given, str) else given))
    for url in urls:
        if "@" in url:  # I7: user and password stand before it
            secrets.add(url.rpartition("@")[0].rpartition("/")[2].partition(":")[2])
            report("Kafka_Schema_Registry", "a URL has no user; use Kafka_Schema_User and its password")
        elif not url.startswith(("http://", "https://")):
            report("Kafka_Schema_Registry", f"{url!r} is no URL; it begins with http:// or https://")
    if (user is None) != (password is None):
        report("Kafka_Schema_User", "user and password (Kafka_Schema_Registry_Password) go together")
    if user is not None and access.Bearer_Token is not None:
        report("Schema_Registry", "user and password, or a Bearer_Token, but not both")
    for secret in (password, access.Bearer_Token, access.Client_Private_Key_Password):
        secrets.add(secret or "")
    client: dict[str, Any] = {
        "url": ",".join(urls),
        "timeout": access.Timeout_Seconds,
        "max.retries": access.Retries,
        "basic.auth.user.info": f"{user}:{password}" if user is not None else None,
        "ssl.ca.location": access.CA_Certificate,
        "ssl.certificate.location": access.Client_Certificate,
        "ssl.key.location": access.Client_Private_Key,
        "ssl.key.password": access.Client_Private_Key_Password,
    }
    if access.Bearer_Token is not None:
        client |= {
            "bearer.auth.credentials.source": "STATIC_TOKEN",
            "bearer.auth.token": access.Bearer_Token,
            "bearer.auth.logical.cluster": "",
        }
    return RegistrySettings(
        urls=urls,
        client={key: value for key, value in client.items() if value is not None},
        auto_register=access.Auto_Register,
        use_latest=access.Use_Latest_Version,
        normalize=access.Normalize,
        in_header=access.Schema_Id_In == "HEADER",
    )


Strategies = dict[tuple[str, str], str]
"""By table and part, the name of the strategy."""


def registrations(recipe: Recipe, strategies: Strategies) -> tuple[Registration, ...]:
    """Return the schemas to register, with their subjects."""
    topics = {table.table.name: table.topic for table in recipe.tables}
    return tuple(
        Registration(
            schema.table,
            schema.part,
            STRATEGIES[strategies[schema.table, schema.part]](
                topics[schema.table], schema.table, schema.record, schema.part
            ),
            schema.type,
            schema.text,
        )
        for schema in messages.registered_schemas(recipe)
    )


def clashes(found: Iterable[Registration]) -> list[str]:
    """Return what is wrong where two tables would share a subject with different schemas."""
    first: dict[str, Registration] = {}
    wrong = []
    for registration in found:
        other = first.setdefault(registration.subject, registration)
        if other.text != registration.text:
            wrong.append(
                f"the {registration.part} schemas of tables {other.table} and {registration.table} would share the "
                f"subject {registration.subject}; give them topics of their own, or use TopicRecordNameStrategy"
            )
    return wrong
