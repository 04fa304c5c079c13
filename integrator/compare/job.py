"""A channel's tables compared with their topics."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from integrator import registration
from integrator.compare import rounds
from integrator.compare.as_messages import AsMessages, Taken
from integrator.compare.at_table import Positions, TableRows, Wanted
from integrator.compare.at_topic import GREW, NotComparable, Offsets, Topics
from integrator.compare.messages import Documents
from integrator.compare.repair import Repair, repairs
from integrator.compare.results import TableResult
from integrator.compare.rounds import Found, Round, first_round
from integrator.compare.sides import Sides
from integrator.compare.standing import Standing
from integrator.compare.tables import Compared, compared
from integrator.errors import ConfigurationError, EnvironmentFault, Problem
from integrator.librdkafka.properties import client_properties
from integrator.plan import Plan
from integrator.run.state import aside
from integrator.run.state.directory import State
from integrator.sources.capture import record as records
from integrator.sources.capture.points import Captured
from integrator.sources.capture.source import CapturedSource

_ROUNDS = 5
"""So often keys that changed meanwhile are inspected again."""
_UNREAD = "its rows were not read yet, or are being read: compare when its snapshot is done"


@dataclass(frozen=True)
class Options:
    """tables: those that are compared; none: all. per_second: how many rows are read, at most; 0: any.

    at: the position of the log, as the database writes it, before which nothing is read; empty: any will do.
    """

    tables: tuple[str, ...] = ()
    per_second: int = 0
    at: str = ""


class Comparison:
    """Compares tables of a channel."""

    def __init__(self, plan: Plan, options: Options) -> None:
        """Take a plan. Raises ConfigurationError for what cannot be compared, EnvironmentFault without a state."""
        source = plan.changes
        if not isinstance(source, CapturedSource) or not source.location.captures_changes:
            raise ConfigurationError(
                f"channel {plan.channel}: tables of captured databases are compared (class postgres, mysql, mariadb, "
                "with their changes), and no others"
            )
        self.state = State(plan.state)
        kept = aside.read(self.state.path)
        reasons = {**plan.aside, **{name: one.reason for name, one in kept.items()}}
        not_sent = {name: why for name, why in reasons.items() if name not in plan.recipe.by_name}
        at_source = {one.names[0]: name for name, one in kept.items()}
        asked = [at_source.get(one, one) if at_source.get(one) in not_sent else one for one in options.tables]
        names, wrong = plan.named(one for one in asked if one not in not_sent)
        if wrong:
            raise ConfigurationError([Problem("compare", 0, "", text) for text in wrong])
        self.not_sent = {one: why for one, why in not_sent.items() if not asked or one in asked}
        """Tables of which nothing is sent, and why."""
        if (record := records.read(self.state.spool)) is None:
            raise EnvironmentFault(f"channel {plan.channel} has not captured anything yet: run it, and compare then")
        self.record, self.source = record, replace(source, state=self.state.path)
        self.plan = registration.resolve(plan.of_state(self.state.identity()))
        self.options = options
        names = names if options.tables else [one.table.name for one in plan.recipe.tables]
        self.names = {one.name: one.full_name for one in self.source.tables() if one.name in names}
        self.points = self.source.points()
        self.standing = Standing(plan.channel, self.source, self.state, self.points.shown)
        self.noted: list[Offsets] = []
        self.found: list[Found] = []
        self.there: dict[str, Captured] = {}
        """The tables with differences, as the database has them, by their names there."""

    def run(self) -> list[TableResult]:
        """Compare the tables; return what came of each. Raises IntegratorError."""
        began = time.monotonic()
        if self.options.at:
            self.standing.wait_until_captured(self.options.at)
        self.standing.wait_for_refreshes([*self.names.values()])
        tables, why = compared(self.plan.recipe, [*self.names], self.source.least_left_out)
        why |= {name: f"it is set aside: {reason}" for name, reason in self.not_sent.items()}
        with ExitStack() as held:
            directory = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="compare-")))
            topics = Topics(client_properties(self.plan.recipe.send.producer))
            held.callback(topics.close)
            tables, first, counts = self._at_topics(topics, tables, why)
            registry = self.plan.registry.access if self.plan.registry else None
            documents = Documents(self.plan.recipe.messages.layout, registry)
            sides = {one.name: Sides(one, documents, directory / str(at)) for at, one in enumerate(tables)}
            for one in sides.values():
                held.callback(one.close)

            def note(number: int) -> None:
                self.noted[number:] = [topics.ends(counts)]

            rows = TableRows(
                Positions(self.points, self.source.begun, note),
                AsMessages(self.plan, directory),
                self.options.per_second or self.source.location.snapshot_rows_per_second or 0,
            )
            self._read_tables(rows, sides, why)
            unread = self.standing.wait_for(rows.last)
            why |= {name: _UNREAD for name in sides if name not in why and self.names[name] in unread}
            ends = topics.ends(counts)
            self.found = list(self._first(topics, sides, (first, ends), why))
            self._each(self.found, why, lambda found: rounds.name_repeated(found, topics, ends))
            self._settle(topics, rows, (counts, ends), why)
            now = topics.partitions([*counts])
            grown = [one for one in self.found if now.get(one.result.topic) != counts[one.result.topic]]
            why |= {one.result.table: GREW for one in grown}
            self.found = [one for one in self.found if one not in grown]
        for found in self.found:
            found.result.position = self.points.shown(rows.last)
            found.result.seconds = round(time.monotonic() - began, 3)
        refused = [TableResult(name, self._topic(name), reason) for name, reason in why.items()]
        order = [*self.names, *self.not_sent]
        return sorted([*(one.result for one in self.found), *refused], key=lambda one: order.index(one.table))

    def repairs(self) -> list[Repair]:
        """Return the repairs of what was found to differ."""
        return list(repairs(self.found, self.names, self.there, self.plan.recipe.messages.layout))

    def _topic(self, table: str) -> str:
        return self.plan.recipe.by_name[table].topic if table in self.plan.recipe.by_name else ""

    def _at_topics(
        self, topics: Topics, tables: Sequence[Compared], why: dict[str, str]
    ) -> tuple[list[Compared], Offsets, dict[str, int]]:
        """Return the tables whose topics can be read, where these begin, and how many partitions they have."""
        counts = topics.partitions(sorted({one.topic for one in tables}))
        first = topics.first(counts)
        compact, held = {*topics.compacted([*counts])}, aside.read(self.state.path)
        left = []
        for one in tables:
            at_source = self.names[one.name]
            lost = [part for (name, part), offset in first.items() if name == one.topic and offset > 0]
            if one.name in held:
                why[one.name] = f"it is set aside: {held[one.name].reason}"
            elif at_source in self.record.refused:
                why[one.name] = f"its rows could not be read: {self.record.refused[at_source].why}"
            elif at_source not in self.record.read or at_source in {*self.record.reading, *self.record.again}:
                why[one.name] = _UNREAD
            elif one.topic not in counts:
                why[one.name] = f"the topic {one.topic} is not there"
            elif lost:
                why[one.name] = f"retention has deleted the first records of {len(lost)} of its topic's partitions"
            elif one.topic in compact and one.identity == "row":
                why[one.name] = "its topic is compacted, and the key of its messages is less than that of its rows"
            else:
                left.append(one)
        kept = {one.topic for one in left}
        return left, first, {topic: many for topic, many in counts.items() if topic in kept}

    def _read_tables(self, rows: TableRows, sides: dict[str, Sides], why: dict[str, str]) -> None:
        def take(name: str, number: int, keys: list[bytes], taken: Taken) -> None:
            if name not in why:
                try:
                    sides[name].take(number, keys, taken)
                except NotComparable as reason:
                    why[name] = str(reason)

        wanted = [Wanted(name, self.names[name], one.table.topic) for name, one in sides.items()]
        why |= rows.read(wanted, take)

    def _first(
        self, topics: Topics, sides: dict[str, Sides], of: tuple[Offsets, Offsets], why: dict[str, str]
    ) -> Iterator[Found]:
        for name, one in sides.items():
            if name in why:
                continue
            try:
                one.read_topic(topics, *of)
            except NotComparable as reason:
                why[name] = str(reason)
                continue
            result = TableResult(name, one.table.topic, rejected=one.rejected, messages=one.at_topic.count)
            result.left_out, result.notes = one.table.left_out, one.table.notes
            found = Found(one, result)
            first_round(found, self.noted)
            yield found

    def _each(self, tables: Sequence[Found], why: dict[str, str], do: Callable[[Found], None]) -> None:
        """Do something with each table; those that turn out not to be comparable are none of ours any more."""
        for found in [one for one in tables if one.result.table not in why]:
            try:
                do(found)
            except NotComparable as reason:
                why[found.result.table] = str(reason)
        self.found = [one for one in self.found if one.result.table not in why]

    def _settle(self, topics: Topics, rows: TableRows, of: tuple[dict[str, int], Offsets], why: dict[str, str]) -> None:
        """Read what differs again, at later positions, until it is settled, or changes too often."""
        counts, ends = of
        for _ in range(_ROUNDS):
            open_ = list(rounds.left(self.found))
            if not open_:
                return
            reached = rows.positions.next()
            try:
                there = {one.name: one for one in reached.point.tables({self.names[one.result.table] for one in open_})}
                self.there |= there
                again = Round(topics, rows, reached, there)
                self._each(open_, why, partial(self._read_again, again, ends))
            finally:
                reached.point.close()
            rows.last = reached.point.lsn
            unread = self.standing.wait_for(rows.last)
            until = topics.ends(counts)
            again.unread = {one.result.table for one in open_ if self.names[one.result.table] in unread}
            self._each(open_, why, partial(again.settle, before=self.noted[reached.number], ends=ends, until=until))
            ends = until
        for found in rounds.left(self.found):
            found.result.unsettled += len(found.candidates)

    def _read_again(self, again: Round, ends: Offsets, found: Found) -> None:
        """Read the rows of what differs in a table."""
        at_source = self.names[found.result.table]
        found.key = again.key_of(at_source)
        rounds.with_texts(found, again.topics, found.key, ends)
        again.read(found, at_source)
