"""The topics that a Debezium connector sends to, with routers after it -> Kafka_Default_Topic and Integrate Topic.

https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-topic-names;
https://debezium.io/documentation/reference/stable/transformations/topic-routing.html.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from dataclasses import field as field_of

from integrator.errors import ConfigurationError
from integrator.imports.debezium_patterns import Matches, expression, java
from integrator.imports.debezium_tables import Tables
from integrator.imports.draft import Draft
from integrator.schema import Table

_TABLE, _SCHEMA = "{hvr_tbl_base_name}", "{hvr_schema}"
_ANY = Table("anytablexyz", "anytablexyz", "anyschemaxyz", (), ())
"""What stands for all tables where there are no definitions."""
_GROUP = re.compile(r"\\(.)|\$(\d)|\$\{(\w+)\}")


@dataclass(frozen=True)
class Router:
    """RegexRouter and ByLogicalTableRouter: topics that match as a whole are called otherwise.

    only, negated: which topics its predicate is for. logical: schemas are named after the new topic, too.
    """

    matches: Matches
    replacement: str
    only: Matches | None = None
    negated: bool = False
    logical: bool = False

    def __call__(self, topic: str) -> str:
        """Return the topic that a message is sent to in the place of `topic`."""
        found = self.matches.compiled.fullmatch(topic)
        if found is None or (self.only is not None and self.only(topic) == self.negated):
            return topic
        return found.expand(self.replacement)


def router(key: str, regex: str, replacement: str, predicate: Mapping[str, str], draft: Draft) -> Router:
    """Return the router of a regular expression of Java's and its replacement. Raises ConfigurationError."""
    try:
        compiled = re.compile(java(regex))
    except re.error as error:
        raise ConfigurationError(f"{key}: {regex!r} is no regular expression that can be read: {error}") from None
    only = None
    if predicate.get("type", "").endswith("TopicNameMatches"):
        only = expression(predicate.get("pattern", ""), key)
    elif predicate:
        draft.report.ignore(
            f"{key}.predicate", f"{predicate.get('type')} is not evaluated: topics are routed whatever it says"
        )
    return Router(Matches(compiled), _of_python(replacement), only, predicate.get("negate", "").lower() == "true")


def _of_python(replacement: str) -> str:
    """Return a replacement of Java's as Python has it."""

    def one(found: re.Match[str]) -> str:
        if found[1]:
            return re.escape(found[1]) if found[1] == "\\" else found[1]
        return rf"\g<{found[2] or found[3]}>"

    return _GROUP.sub(one, replacement)


@dataclass
class Topics:
    """How topics are called. parts: before schema and table."""

    parts: tuple[str, ...]
    delimiter: str = "."
    with_schema: bool = True
    routers: list[Router] = field_of(default_factory=list)

    def of(self, table: Table) -> str:
        """Return the topic of a table."""
        names = (*self.parts, *((table.schema or "",) if self.with_schema else ()), table.base_name)
        topic = re.sub(r"[^A-Za-z0-9._-]", "_", self.delimiter.join(filter(None, names)))
        for change in self.routers:
            topic = change(topic)
        return topic

    def take(self, tables: Tables, draft: Draft) -> list[str]:
        """Set the location's topic, and that of tables which have another; return the topics that are known."""
        template, others = _common(self, tables, lambda topic: topic)
        draft.kafka["Kafka_Default_Topic"] = template
        for table, topic in others:
            draft.add_action("Integrate", group="KAFKA", table=table, Topic=topic)
        return sorted({self.of(table) for table in tables.tables}) if tables.known else []

    def spaces(self, tables: Tables, adjusted: Callable[[str], str]) -> tuple[str, list[tuple[str, str]]]:
        """Return the template of the namespaces of schemas, and the tables that have another, each with that.

        They are the topics before transforms, but for one that renames schemas too. adjusted: how they are written.
        """
        logical = replace(self, routers=[router for router in self.routers if router.logical])
        return _common(logical, tables, adjusted)


def _common(topics: Topics, tables: Tables, written: Callable[[str], str]) -> tuple[str, list[tuple[str, str]]]:
    """Return a template of topics as they are `written`, and the tables for which it does not hold, with theirs."""
    of_tables = {table.name: (table, written(topics.of(table))) for table in tables.tables or [_ANY]}
    known = list(of_tables.values())
    template = next(filter(None, (_template(*one, known) for one in known)), None)
    if template is None:  # some are called otherwise
        template = _possible(_ANY, written(replace(topics, routers=[]).of(_ANY)))[0]
    return template, [(table.name, topic) for table, topic in known if _filled(template, table) != topic]


def _template(table: Table, topic: str, known: list[tuple[Table, str]]) -> str | None:
    """Return a template of one table's topic that gives the topics of all tables."""
    return next((one for one in _possible(table, topic) if _count(one, known) == len(known)), None)


def _count(template: str, known: list[tuple[Table, str]]) -> int:
    return sum(_filled(template, table) == topic for table, topic in known)


def _possible(table: Table, topic: str) -> list[str]:
    """Return templates that give a table's topic: with its name and its schema, with its name, and none of them."""
    head, found, tail = topic.rpartition(table.base_name)
    if not found:
        return [topic]
    named = f"{head}{_TABLE}{tail}"
    schema = table.schema or ""
    before, same, after = head.rpartition(schema) if schema else (head, "", "")
    return [*([f"{before}{_SCHEMA}{after}{_TABLE}{tail}"] if same else []), named, topic]


def _filled(template: str, table: Table) -> str:
    return template.replace(_TABLE, table.base_name).replace(_SCHEMA, table.schema or "")
