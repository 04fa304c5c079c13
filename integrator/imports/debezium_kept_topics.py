"""The topics of a connector that stays: by names where its tables are known, else by patterns; and where we send."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from integrator.channel.topics import is_pattern, is_read
from integrator.errors import ConfigurationError
from integrator.imports.connect_file import Config
from integrator.imports.debezium_patterns import expression, items, java, literal
from integrator.imports.debezium_tables import Tables
from integrator.imports.debezium_topics import Router, Topics
from integrator.imports.draft import Draft

_GROUP = re.compile(r"\\g<\w+>")
_TABLES, _SCHEMAS = ("table.include.list", "table.whitelist"), ("schema.include.list", "schema.whitelist")
_DATABASES = ("database.include.list", "database.whitelist")
_TARGETS = ("{}-out.{{hvr_tbl_name}}", "{}-messages.{{hvr_tbl_name}}", "out-{}.{{hvr_tbl_name}}")
"""How topics that are sent to may be called: the first that is not read is taken."""
_PLACE = re.compile(r"[^A-Za-z0-9._-]")


@dataclass
class KeptTopics:
    """The topics of a connector. parts: what stands before schema and table. schemas: the lists that name schemas.

    tables: the connector's, as far as they are known.
    """

    parts: tuple[str, ...]
    delimiter: str
    tables: Tables
    in_databases: bool
    routers: list[Router] = field(default_factory=list)

    def take(self, config: Config, draft: Draft) -> list[str]:
        """Return names and patterns of the topics; those of heartbeats, transactions and schema changes match none."""
        if self.tables.known:
            named = Topics(self.parts, self.delimiter)
            named.routers = self.routers
            return sorted({named.of(table) for table in self.tables.tables})
        found = [*map(self._of_table, items(config.get(*_TABLES)))] or [*map(self._of_schema, self._schemas(config))]
        topics = found or [f"^{self._begin}{self._any}{self._between}.+"]
        routed = self._routed(topics, draft)
        if any(is_pattern(one) for one in routed):
            draft.report.differ(
                "topics of tables that come later are read, too; those of heartbeats, transactions and schema changes "
                "are not",
                ", ".join(one for one in routed if is_pattern(one)),
            )
        return routed

    def target(self, topics: list[str]) -> str:
        """Return how the topics are called that are sent to. Raises ConfigurationError where all are read."""
        for one in _TARGETS:
            name = one.format(_PLACE.sub("_", self.parts[0]))
            shown = name.replace("{hvr_tbl_name}", "anytable")
            if not is_read(shown, topics):
                return name
        raise ConfigurationError(
            f"the topics {', '.join(topics)} match all that messages could be sent to: name the tables in "
            "table.include.list, or give their definitions (--tables FILE)"
        )

    @property
    def _between(self) -> str:
        return re.escape(self.delimiter)

    @property
    def _begin(self) -> str:
        """What topics begin with, as an expression."""
        return "".join(re.escape(_PLACE.sub("_", one)) + self._between for one in self.parts)

    @property
    def _any(self) -> str:
        """Any name of a schema, as an expression."""
        return f"[^{self._between}]+" if len(self.delimiter) == 1 else ".+"

    def _schemas(self, config: Config) -> list[str]:
        return items(config.get(*(_DATABASES if self.in_databases else _SCHEMAS)))

    def _of_table(self, pattern: str) -> str:
        """Return the topics of the tables that an expression of table.include.list matches."""
        named = literal(pattern)
        if named is not None:
            return self.delimiter.join((*(_PLACE.sub("_", one) for one in self.parts), *named[-2:]))
        expression(pattern, _TABLES[0])  # raises
        if self.delimiter != ".":
            return f"^{self._begin}{self._any}{self._between}.+"
        return f"^{self._begin}(?i:{java(pattern)})"

    def _of_schema(self, pattern: str) -> str:
        """Return the topics of the tables of the schemas that an expression matches."""
        expression(pattern, _SCHEMAS[0])  # raises
        return f"^{self._begin}(?i:{java(pattern)}){self._between}.+"

    def _routed(self, topics: list[str], draft: Draft) -> list[str]:
        """Return the topics after the routers: a pattern may match others, too, and stays beside what is made of it."""
        for change in self.routers:
            made: dict[str, None] = {}
            for topic in topics:
                if not is_pattern(topic):
                    made[change(topic)] = None
                    continue
                made[topic] = None
                made["^" + "(.+)".join(map(re.escape, _GROUP.split(change.replacement)))] = None
            topics = list(made)
            if any(is_pattern(one) for one in topics):
                draft.report.todo(
                    f"topics are routed by {change.matches.compiled.pattern}: compare `topics` of the source location "
                    "with those that are there; or give the tables' definitions (--tables FILE), which name them"
                )
        return topics
