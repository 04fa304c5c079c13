"""`init --from-topic`: which topics there are, what their records are, and a source location over those it can read."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from integrator.channel.access import KafkaAccess, RegistryLocation
from integrator.channel.paths import DIRECTORY, directory_of
from integrator.channel.secret import REFERENCE, Secrets
from integrator.channel.topics import TopicsLocation, is_read
from integrator.cli.first_channel import Source, TopicsRequest, name_of
from integrator.cli.templates import NO_ACCESS, PRODUCTION_RULES, RULES, Template
from integrator.decode.dialects import CHOSEN
from integrator.errors import ConfigurationError, Reason
from integrator.imports import connect_file, registry_access
from integrator.imports.draft import PROPERTY, Draft, flow
from integrator.imports.producer import import_producer
from integrator.names.numbers import counted
from integrator.plan.kafka_properties import extra_properties
from integrator.schema import Table
from integrator.sources.kafka.sample import Sampled, sample
from integrator.sources.kafka.source import Topics

_SERVERS = "localhost:9092"
_REACHING = ("security.", "sasl.", "ssl.", "socket.", "client.")
"""How properties begin that say how brokers are reached, and by whom."""
_URL, _USER = "schema.registry.url", "basic.auth.user.info"
_NEEDS_TABLES = "its records have no schema: give the definitions of its table, --tables FILE (docs/tables.md)"
_ELSEWHERE = "its records are {}, and the channel reads {}: write another channel for it, init --from-topic {}"
_KEYLESS = (
    "no key: all columns are taken for it; name the key's, {{action: ColumnProperties, table: {}, Name: …, Key: true}}"
)
_TARGETS = ("{}.{{hvr_tbl_name}}", "{}-out.{{hvr_tbl_name}}", "out-{}.{{hvr_tbl_name}}")
"""How target topics may be called, by the channel's name: the first that the source does not read is taken."""


def source_of(asked: TopicsRequest, channel: Path, template: Template, secrets: Secrets) -> tuple[Source, str]:
    """Return the source of a channel over topics, and the brokers that it sends to. Raises IntegratorError.

    secrets: get the passwords that are found.
    """
    draft = _access(asked)
    for secret in draft.secrets.values():
        secrets.add(secret)
    given = {"class": "kafka", **draft.kafka, "topics": list(asked.topics)}
    source, found = sample(_checked(given, draft, channel))
    dialect = _dialect(found, has_tables=asked.defined)
    found = [_judged(one, dialect, has_tables=asked.defined) for one in found]
    chosen = [one for one in found if not one.problem]
    if not chosen:
        raise ConfigurationError("\n".join((_none(asked), *(f"  {one.topic}: {one.problem}" for one in found))))
    given["topics"] = list(asked.topics) if len(chosen) == len(found) else [one.topic for one in chosen]
    given |= {"dialect": dialect}
    source = _checked(given, draft, channel, source)
    tables = () if asked.defined else source.with_topics([one.topic for one in chosen]).tables()
    lines = [f"    {key}: {flow(value)}\n" for key, value in given.items()]
    text = "  src:\n" + "".join(lines) + (RULES if template is Template.FIRST else PRODUCTION_RULES)
    brokers, same = asked.target.brokers or ", ".join(given["Kafka_Brokers"]), asked.target.brokers is None
    made = Source(
        text=text,
        waiting="the topics",
        topic=_target(name_of(channel), given["topics"], tables, same=same),
        tables=tables,
        found=[*_lines(found, tables), *_reported(asked, draft)],
        access=(_target_access(given, template) if same else "") + _avro(given, asked.target.registry),
        actions=_actions(draft, same=same),
        serializer="CONNECT_SCHEMA" if asked.target.registry is None else "KAFKA_AVRO_SCHEMA",
        secrets=draft.secrets,
    )
    return made, brokers


def _access(asked: TopicsRequest) -> Draft:
    """Return how the brokers and the registry are reached, with references in the place of secrets."""
    draft = Draft("", "")
    values = connect_file.values_of(asked.client) if asked.client else {}
    servers = asked.brokers or values.pop("bootstrap.servers", _SERVERS)
    values.pop("bootstrap.servers", None)
    draft.kafka["Kafka_Brokers"] = [one.strip() for one in servers.split(",")]
    url, user = values.pop(_URL, ""), values.pop(_USER, "")
    values.pop("basic.auth.credentials.source", None)
    if asked.registry or url:
        draft.kafka["Kafka_Schema_Registry"] = registry_access.import_url(asked.registry or url, _URL, draft)
    if user:
        registry_access.take_user(user, _USER, draft)
    reaching = {name: value for name, value in values.items() if name.startswith(_REACHING)}
    for name in values.keys() - reaching.keys():
        draft.report.ignore(name, "it does not affect how brokers are reached")
    import_producer(reaching, draft, "KAFKA")
    known = {"Kafka_Brokers", *KafkaAccess.model_fields, *RegistryLocation.model_fields}
    for key in draft.kafka.keys() - known:
        draft.report.ignore(f"{key}: {draft.kafka.pop(key)}", "it is no access of a source")
    return draft


def _checked(given: Mapping[str, Any], draft: Draft, channel: Path, known: Topics | None = None) -> Topics:
    """Return topics as a source. Raises ConfigurationError for what cannot be."""
    resolved = {key: _resolved(value, draft.secrets) for key, value in given.items()}
    context = {"dialects": CHOSEN, DIRECTORY: directory_of(str(channel))}
    try:
        location = TopicsLocation.model_validate(resolved, context=context)
    except ValidationError as error:
        texts = [f"{one['loc'][0]}: {one['msg'].removeprefix('Value error, ')}" for one in error.errors()]
        raise ConfigurationError("\n".join(f"--from-topic: {text}" for text in texts)) from None
    wrong: list[str] = []
    properties = _resolved(";".join(draft.properties), draft.secrets)

    def report(parameter: str, reason: str | Reason, table: str = "") -> None:
        wrong.append(" ".join(filter(None, (f"{parameter}:", table, str(reason)))))

    extra = extra_properties(properties, report, location.directory)
    source = Topics(location, extra=extra) if known is None else replace(known, location=location)
    source.check((), report)
    if wrong:
        raise ConfigurationError("\n".join(wrong))
    return source


def _resolved(value: Any, secrets: Mapping[str, str]) -> Any:
    """Return a value with secrets in the place of references to them."""
    if not isinstance(value, str):
        return value
    return REFERENCE.sub(lambda found: secrets.get(found[0][2:-1], found[0]), value)


def _dialect(found: Sequence[Sampled], *, has_tables: bool) -> str:
    """Return the dialect of most topics that can be read."""
    can = [one.dialect for one in found if not one.problem and (one.has_schemas or has_tables)]
    return Counter(can).most_common(1)[0][0] if can else ""


def _judged(one: Sampled, dialect: str, *, has_tables: bool) -> Sampled:
    """Return a topic with the reason why the channel does not read it, if there is one."""
    if one.problem:
        return one
    if not (one.has_schemas or has_tables):
        return replace(one, problem=f"{one.values}, dialect {one.dialect}: {_NEEDS_TABLES}")
    if one.dialect != dialect:
        topic = shlex.quote(one.topic)
        return replace(one, problem=_ELSEWHERE.format(f"of dialect {one.dialect}", f"dialect {dialect}", topic))
    return one


def _none(asked: TopicsRequest) -> str:
    place = asked.brokers or (f"the brokers of {asked.client}" if asked.client else _SERVERS)
    topics = ", ".join(asked.topics)
    return (
        f"--from-topic {topics}: no topic at {place} can be read, and no channel is written; give other names or "
        "patterns, which begin with ^ and match whole names, or follow the remedy of each topic:"
    )


def _lines(found: Sequence[Sampled], tables: Sequence[Table]) -> Iterator[str]:
    for one in found:
        if not one.problem:
            how = f"{one.values}, keys {one.keys}, dialect {one.dialect}"
            yield f"  topic {one.topic}: {counted(one.partitions, 'partition')}, {how}"
    for table in tables:
        key = f"key {', '.join(table.key)}" if table.key else _KEYLESS.format(table.name)
        yield f"  table {table.name}: {counted(len(table.columns), 'column')}, {key}"
    unread = [f"    {one.topic}: {one.problem}" for one in found if one.problem]
    if unread:
        yield "  Topics that the channel does not read (it names the others one by one):"
        yield from unread


def _reported(asked: TopicsRequest, draft: Draft) -> list[str]:
    if asked.target.brokers is not None and asked.client is not None:
        draft.report.todo(
            f"write at the location kaf how {asked.target.brokers} is reached (docs/howto/secure-kafka.md)"
        )
    return draft.report.text("").splitlines()[1:]


def _target_access(given: Mapping[str, Any], template: Template) -> str:
    """Return the lines of the access to the same brokers for the target."""
    lines = [f"    {key}: {flow(value)}\n" for key, value in given.items() if key in KafkaAccess.model_fields]
    return "".join(lines) or (NO_ACCESS if template is Template.PRODUCTION else "")


def _actions(draft: Draft, *, same: bool) -> str:
    """Return the actions that set librdkafka's properties: at the source, and at the target with the same brokers."""
    value = ";".join(draft.properties)
    groups = ("SOURCE", "KAFKA") if same else ("SOURCE",)
    action = {"action": "Environment", "group": "", "Name": PROPERTY, "Value": value}
    return "".join(f"  - {flow(action | {'group': group})}\n" for group in groups if value)


def _avro(given: Mapping[str, Any], registry: str | None) -> str:
    """Return the lines of the target's registry, whose user is that of the source's where it is the same."""
    if registry is None:
        return ""
    user = ("Kafka_Schema_User", "Kafka_Schema_Registry_Password")
    same = registry == given.get("Kafka_Schema_Registry")
    lines = {"Kafka_Schema_Registry": registry} | {key: given[key] for key in user if same and key in given}
    missing = '    # Avro has null for what a record leaves out.\n    Missing_Values: "NULL"\n'
    return "".join(f"    {key}: {flow(value)}\n" for key, value in lines.items()) + missing


def _target(name: str, topics: Sequence[str], tables: Sequence[Table], *, same: bool) -> str:
    """Return how target topics are called: as none that is read from the same brokers. Raises ConfigurationError."""
    tried = [one.format(name) for one in _TARGETS]
    for one in tried:
        names = [one.replace("{hvr_tbl_name}", table) for table in ({table.name for table in tables} or {"any"})]
        if not same or not any(is_read(topic, topics) for topic in names):
            return one
    raise ConfigurationError(
        f"--from-topic {', '.join(topics)}: also matches the topics that would be sent to ({', '.join(tried)}): give a "
        "narrower pattern, or other brokers to send to, --to HOST:PORT"
    )
