"""Kafka location + Integrate -> how the schema registry is used, and under which subjects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from integrator.channel.locations import KafkaLocation
from integrator.channel.paths import as_known, no_file
from integrator.channel.problems import Problems, Report, named
from integrator.channel.secret import Secrets
from integrator.contracts.recipe import Recipe
from integrator.encode import messages
from integrator.formats.keys import SchemaType

DEFAULT_STRATEGY = "TopicNameSuffixStrategy"


@dataclass(frozen=True)
class RegistrySettings:
    """How the registry is reached (the vendor's client's properties) and used."""

    urls: tuple[str, ...]
    client: dict[str, str | float] = field(repr=False)  # I7: has passwords
    timeout_s: float
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
    access, report = location.Schema_Registry, problems.at_location(name)
    if location.Kafka_Schema_Registry is None:
        _check_unused(location, report)
        return None
    given = location.Kafka_Schema_Registry
    urls = tuple(url.strip().rstrip("/") for url in ([given] if isinstance(given, str) else given))
    _check_urls(urls, problems.source.secrets, report)
    _check_user(location, report)
    _check_files(location, name, problems)
    for secret in (location.Kafka_Schema_Registry_Password, access.Bearer_Token, access.Client_Private_Key_Password):
        problems.source.secrets.add(secret or "")
    return RegistrySettings(
        urls=urls,
        client=_client(location, urls),
        timeout_s=access.Timeout_Seconds,
        auto_register=access.Auto_Register,
        use_latest=access.Use_Latest_Version,
        normalize=access.Normalize,
        in_header=access.Schema_Id_In == "HEADER",
    )


_OF_REGISTRY = (
    "Kafka_Schema_Registry_Format",
    "Kafka_Schema_User",
    "Kafka_Schema_Registry_Password",
    "Schema_Registry",
)
"""The keys of a Kafka location that are for a registry."""


def _check_unused(location: KafkaLocation, report: Report) -> None:
    for key in _OF_REGISTRY:
        if key in location.model_fields_set:
            report(key, "needs Kafka_Schema_Registry, the registry's URL, beside it")


def _check_urls(urls: Iterable[str], secrets: Secrets, report: Report) -> None:
    for url in urls:
        if "@" in url:  # I7: user and password stand before it
            secrets.add(url.rpartition("@")[0].rpartition("/")[2].partition(":")[2])
            text = "a URL has no user; use Kafka_Schema_User and Kafka_Schema_Registry_Password"
            report("Kafka_Schema_Registry", text)
        elif wrong := _wrong_url(url):
            report("Kafka_Schema_Registry", f"{url!r} {wrong}")


def _check_user(location: KafkaLocation, report: Report) -> None:
    """Report a user without password, or one beside a token."""
    user, password = location.Kafka_Schema_User, location.Kafka_Schema_Registry_Password
    if (user is None) != (password is None):
        there, absent = ("Kafka_Schema_User", "Kafka_Schema_Registry_Password")[:: 1 if password is None else -1]
        report(there, f"needs {absent} beside it")
    if user is not None and location.Schema_Registry.Bearer_Token is not None:
        report("Schema_Registry", "user and password, or a Bearer_Token, but not both")


def _client(location: KafkaLocation, urls: Iterable[str]) -> dict[str, str | float]:
    """Return the properties of the vendor's client."""
    access, user = location.Schema_Registry, location.Kafka_Schema_User
    client: dict[str, str | float | None] = {
        "url": ",".join(urls),
        "timeout": access.Timeout_Seconds,
        "max.retries": access.Retries,
        "basic.auth.user.info": f"{user}:{location.Kafka_Schema_Registry_Password}" if user is not None else None,
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
    return {key: value for key, value in client.items() if value is not None}


def _wrong_url(url: str) -> str:
    """Return what is wrong with a registry's URL, and what to write; nothing where it is one."""
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError as error:
        return f"is no URL: {error}; write http://HOST:8081"
    if parts.scheme not in ("http", "https"):
        bare = url.partition("://")[2] or url
        return f"is no URL of a registry; write http://{bare}, or https://{bare}"
    if not host or url.split() != [url] or port == 0:
        return "is no URL of a registry; write http://HOST:8081"
    return ""


def _check_files(location: KafkaLocation, name: str, problems: Problems) -> None:
    for key in ("CA_Certificate", "Client_Certificate", "Client_Private_Key"):
        file = getattr(location.Schema_Registry, key)
        if file is not None and (why := no_file(file)):
            text = f"{why} {as_known(file)!r}; a PEM file is expected"
            problems.add(("locations", name, "Schema_Registry", key), text)


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
    shared: dict[str, list[Registration]] = {}
    for registration in found:
        shared.setdefault(registration.subject, []).append(registration)
    wrong = []
    for subject, each in shared.items():
        others = [one.table for one in each if one.text != each[0].text]
        if others:
            names = named([each[0].table, *others])
            text = f"the {each[0].part} schemas of {names} would share the subject {subject}"
            wrong.append(f"{text}; give them topics of their own, or use TopicRecordNameStrategy")
    return wrong
