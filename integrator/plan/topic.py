"""The topic of a table, or of each of its rows: Integrate Topic, or Kafka_Default_Topic."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from integrator.channel.created_topics import BROKER, TopicCreation, TopicRule, rule_of
from integrator.channel.locations import KafkaLocation
from integrator.channel.problems import named
from integrator.channel.reader import Path_
from integrator.contracts.operations import TRUNCATE
from integrator.contracts.table_recipe import TableRecipe
from integrator.encode.messages import format_of
from integrator.errors import Reason
from integrator.expressions.parse import constant_text, parse
from integrator.expressions.parts import ColumnValue, Part, Sql, Text
from integrator.expressions.substitutions import ExpressionError
from integrator.formats.keys import KEYS
from integrator.names import meant
from integrator.names.identifiers import standard_identifier
from integrator.plan.message_key import check_text
from integrator.plan.parameters import ChannelScope
from integrator.plan.registry import Strategies
from integrator.schema import Table
from integrator.transform.message_place import ACCEPTED, TOPIC

_OTHER = re.compile(r"[^a-zA-Z0-9._-]+")
_OTHER_CHARACTER = re.compile(r"[^a-zA-Z0-9._-]")


def names_of(scope: ChannelScope, table: Table) -> dict[str, str | None]:
    """Return what substitutions are in the templates of what all messages of `table` have in common."""
    return {
        "hvr_tbl_name": table.name,
        "hvr_tbl_base_name": table.base_name,
        "hvr_schema": table.schema,
        "hvr_cap_loc": scope.cap_loc,
        "hvr_chn_name": scope.channel.channel,
    }


def topic_of(scope: ChannelScope, table: Table, own: str | None, action: int | None) -> tuple[str, tuple[Part, ...]]:
    """Return the topic of `table`: its `own` template's, which stands at `action`, or the location's.

    Where it depends on rows, that is the template, and its expression follows.
    """
    as_airbyte = scope.location.Topic_Names == "AIRBYTE"
    if as_airbyte:
        table = replace(table, schema=table.schema or "")
    template, place = scope.location.Kafka_Default_Topic if own is None else own, _place(scope, action)
    try:
        parts = parse(template, table, "topic")
        if any(isinstance(part, ColumnValue | Sql) for part in parts):
            _check_row_topic(scope, table, parts)
            return template, parts
        topic = constant_text(parts, names_of(scope, table))
    except ExpressionError as error:
        scope.problems.add(place, error.reason, table.name)
        return "", ()
    if as_airbyte:
        topic = standard_identifier(topic)
    if scope.location.Topic_Names == "UNDERSCORES":
        topic = _OTHER_CHARACTER.sub("_", topic)
    if not TOPIC.fullmatch(topic):
        written = _OTHER.sub("-", topic)
        text = f"Kafka accepts no such topic; it would be {topic!r}, and {ACCEPTED}"
        text += f", such as {written}" if TOPIC.fullmatch(written) and written != topic else ""
        scope.problems.add(place, Reason(text, "no topic"), table.name)
    return topic, ()


def _check_row_topic(scope: ChannelScope, table: Table, parts: tuple[Part, ...]) -> None:
    """Raise ExpressionError where rows cannot be for topics of their own, or an expression gives no names of topics."""
    check_text(parts, table)
    wrong = [part.text for part in parts if isinstance(part, Text) and _OTHER.search(part.text)]
    if wrong:
        raise ExpressionError(f"Kafka accepts no topic with {wrong[0]!r}; {ACCEPTED}")
    if (names := scope.location.Topic_Names) != "LITERAL":
        raise ExpressionError(f"rows name their topics as they are; leave Topic_Names: {names} out")
    bundling = scope.layout.bundling
    if bundling.keyless:
        raise ExpressionError(f"a message of {bundling.mode} holds rows of many topics; use ROW or CHANGE")


def _place(scope: ChannelScope, action: int | None) -> Path_:
    """Return where a topic's template stands: at an action, or at the location."""
    return ("locations", scope.kafka, "Kafka_Default_Topic") if action is None else ("actions", action, "Topic")


NO_RECORD = (
    "a cycle is recorded at a topic, and rows name all topics of the channel: name one for rejected lines, "
    "errors: {deadletterqueue.topic.name: …}"
)


def check_row_topics(scope: ChannelScope, tables: Sequence[TableRecipe], strategies: Strategies) -> None:
    """Add a problem for each table whose rows name their topics, where something needs to know these before."""
    known = (scope.channel.errors.topic, scope.location.Dead_Letter_Topic, scope.location.Transaction_Topic)
    if scope.channel.delivery == "exactly_once" and all(table.message_topic for table in tables) and not any(known):
        scope.problems.add(("delivery",), NO_RECORD)
    for table in tables:
        if not table.message_topic:
            continue
        name, place = table.table.name, _place(scope, scope.of(table.table).kafka.integrate.place("Topic"))
        if TRUNCATE in table.operations:
            action = f"{{action: Capture, table: {name}, NoTruncate: true}}"
            text = f"a truncate has no row that names a topic; leave truncates out: {action}"
            scope.problems.add(place, Reason(text, "a truncate has no row"), name)
        schemas = {"value": format_of(scope.layout).schema_type, "key": KEYS[table.message_key.serializer].schema_type}
        for part, has_schema in schemas.items():
            if has_schema and strategies[name, part] != "RecordNameStrategy":
                text = "rows name their topics, by which subjects would be called: write "
                scope.problems.add(place, f"{text}{part.capitalize()}SubjectStrategy: RecordNameStrategy", name)


def notes_of_shared_topics(location: KafkaLocation, tables: Sequence[TableRecipe]) -> Iterator[str]:
    """Yield which tables have a topic together, where Airbyte's name transformer makes topics of their names."""
    sharing: dict[str, list[str]] = {}
    for one in tables if location.Topic_Names == "AIRBYTE" else ():
        sharing.setdefault(one.topic, []).append(one.table.name)
    for topic, same in sharing.items():
        if len(same) > 1:
            yield (
                f"{named(same, len(tables))}: their messages are in one topic, {topic}, whose name Airbyte's name "
                "transformer made; to have them apart, give one of them a topic of its own (Integrate Topic)"
            )


def check_underscores(scope: ChannelScope, tables: Sequence[TableRecipe]) -> None:
    """Add a problem for each table whose topic is another one's only for the characters that became underscores."""
    if scope.location.Topic_Names != "UNDERSCORES":
        return
    first: dict[str, TableRecipe] = {}
    for one in tables:
        other = first.setdefault(one.topic, one)
        name, its = one.in_source.full_name, other.in_source.full_name
        if name != its and _OTHER_CHARACTER.sub("_", name) == _OTHER_CHARACTER.sub("_", its):
            text = (
                f"its topic {one.topic} is that of {other.in_source.full_name}: both names have characters that Kafka "
                f"does not take; give it one of its own, {{action: Integrate, table: {one.table.name}, Topic: …}}"
            )
            scope.problems.add(_place(scope, None), text, one.table.name)


def check_creation(scope: ChannelScope, topics: Iterable[str]) -> None:
    """Add a problem for each name in Create_Topics that is no topic of the channel; `topics` are all of them."""
    given, known = scope.location.Create_Topics, sorted(set(topics))
    place: Path_ = ("locations", scope.kafka, "Create_Topics")
    entries: list[tuple[Path_, str]] = []
    if isinstance(given, TopicCreation):
        entries = [((*place, "Topic_Partitions", topic), topic) for topic in given.Topic_Partitions]
    elif isinstance(given, list):
        entries = [((*place, at, "topics"), topic) for at, rule in enumerate(given) for topic in rule.names]
    for path, topic in entries:
        if topic not in known:
            text = f"{topic!r} is no topic of the channel; {meant(topic, known, 'those are')}"
            scope.problems.add(path, text)


def notes_of_creation(location: KafkaLocation, topics: Iterable[str]) -> Iterator[str]:
    """Yield what topics will be that the channel does not create itself, and entries of Create_Topics without any."""
    given, known = location.Create_Topics, sorted({topic for topic in topics if topic})
    if given == BROKER:
        yield BY_BROKERS
    if not isinstance(given, list):
        return
    for at, rule in enumerate(given):
        matched = [topic for topic in known if rule.matches(topic)]
        if not matched:
            yield f"{_entry(at, rule)} matches no topic of the channel"
        elif all(rule_of(given, topic) is not rule for topic in matched):
            yield f"{_entry(at, rule)} has no effect: entries before it match all its topics"
    others = [topic for topic in known if rule_of(given, topic) is None]
    if others:
        yield (
            f"{', '.join(others)}: no entry of Create_Topics matches, so these topics are not created and must exist; "
            "an entry with topics: '*' at the end of the list is for all others"
        )


def _entry(at: int, rule: TopicRule) -> str:
    return f"Create_Topics[{at}] ({', '.join(rule.topics)})"


BY_BROKERS = (
    "topics that do not exist are created by the brokers when the job starts (Create_Topics: broker, "
    "auto.create.topics.enable): their partitions, replicas and settings are the brokers' defaults "
    "(num.partitions, default.replication.factor, log.cleanup.policy), and are not known before"
)
