"""The plan of a channel while it runs: with columns and schemas that records are found to have."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import structlog

from integrator import registration
from integrator.deliver.kafka import topics
from integrator.deliver.kafka.topic_limits import fitting
from integrator.errors import ColumnsFound, DataError, Found, IntegratorError, SchemaRefused, SchemasFound, TopicsFound
from integrator.plan import Plan, as_kept, learned, replan, sets_aside
from integrator.run.state import aside
from integrator.run.state.directory import State
from integrator.tables import discovered_columns


def registered(plan: Plan, state: State) -> Plan:
    """Return a plan for the channel's state, whose schemas are registered, and whose topics take its messages.

    Topics that are not there are created. Raises IntegratorError.
    """
    plan = resolved(plan.of_state(state.identity()), state)
    producer = plan.recipe.send.producer
    created = topics.ensure(producer, plan.topics, plan.create_topics, plan.dead_letter_topic)
    if created:
        structlog.get_logger().info("topics created", channel=plan.channel, topics=created)
    return dataclasses.replace(plan, recipe=fitting(plan.recipe, plan.topics))


def resolved(plan: Plan, state: State) -> Plan:
    """Return a plan whose schemas are registered; tables whose schema is refused are set aside, where it has that."""
    while True:
        try:
            return registration.resolve(plan)
        except SchemaRefused as refused:
            if not sets_aside(plan):
                raise
            more = {**plan.aside, refused.table: str(refused).splitlines()[0]}
            made = replan(plan, discovered_columns.read(state.path), more)
            plan = dataclasses.replace(made, state=plan.state).of_state(state.identity())


def as_set_aside(plan: Plan, state: State) -> Plan:
    """Return the plan of a process that starts, by which tables that were set aside still are.

    They are to be tried again, once all that was captured without them is sent.
    """
    found = without_aside(plan, state)
    if found is not plan:
        aside.request(state.path, found.aside.keys() & aside.read(state.path).keys())
    return found


def without_aside(plan: Plan, state: State) -> Plan:
    """Return the plan without the tables that a state has as set aside."""
    tables = {table.name for table in plan.origin.definitions.tables}
    found = {name: one.reason for name, one in aside.read(state.path).items() if name in tables}
    if not found:
        return plan
    made = replan(plan, discovered_columns.read(state.path), {**found, **plan.aside})
    return dataclasses.replace(made, state=plan.state)


def resumed(plan: Plan, state: State) -> Plan:
    """Return the plan with tables that were set aside and are to be tried again. Raises IntegratorError."""
    names = aside.requested(state.path)
    left = {name: why for name, why in plan.aside.items() if name not in names}
    made = replan(plan, discovered_columns.read(state.path), left)
    return registered(dataclasses.replace(made, state=plan.state), state)


def without_table(plan: Plan, state: State, table: str, reason: str) -> Plan | None:
    """Return the plan by which a table is set aside; None where the channel stops then. Raises IntegratorError."""
    if table in plan.aside or not sets_aside(plan):
        return None
    made = replan(plan, discovered_columns.read(state.path), {**plan.aside, table: reason})
    return registered(dataclasses.replace(made, state=plan.state), state)


def keep(plan: Plan, state: State) -> None:
    """Keep what a plan knows: the definitions of its source's tables, and which tables are set aside."""
    plan.changes.keep(state.path)
    names = {table.name: table.at_source for table in plan.origin.definitions.tables}
    log = structlog.get_logger().bind(channel=plan.channel)
    for name in aside.keep(state.path, plan.aside, names, state.last_slice()):
        log.warning(
            "a table is set aside, and the others continue; its changes are held",
            table=name,
            why=plan.aside[name],
            remedy="mend that, and run integrator resume --channel FILE --table TABLE, or start again: its changes are "
            "then sent in order",
        )


def as_begun(plan: Plan) -> Plan | None:
    """Return the plan by which the cycle was begun that is not synced: by the definitions that the state keeps.

    A part of the cycle may be committed, and the rest must be the same, whatever tables have become since. None where
    nothing is kept, or the channel's file is another one since.
    """
    try:
        made = as_kept(plan, {name: one.reason for name, one in aside.read(Path(plan.state)).items()})
    except IntegratorError:
        return None
    is_another = bool(made.recipe.tables) and made.recipe != plan.recipe
    return dataclasses.replace(made, state=plan.state) if is_another else None


def replanned(plan: Plan, state: State, found: Found) -> Plan:
    """Return the plan with what was found, which is kept in the state. Raises IntegratorError."""
    match found:
        case ColumnsFound():
            return _with_columns(plan, state, found)
        case SchemasFound():
            return _with_schemas(plan, state, found)
        case TopicsFound():
            return with_topics(plan, found)
    raise found


def with_topics(plan: Plan, found: TopicsFound) -> Plan:
    """Return the plan with the topics that rows are for, which are there from then on. Raises EnvironmentFault."""
    created = topics.ensure(plan.recipe.send.producer, found.topics, plan.create_topics)
    log = structlog.get_logger().bind(channel=plan.channel)
    log.info("topics of rows", topics=list(found.topics), created=created)
    return dataclasses.replace(plan, recipe=fitting(plan.recipe, plan.topics, found.topics))


def _with_columns(plan: Plan, state: State, found: ColumnsFound) -> Plan:
    """Return the plan with the columns that records have."""
    known = discovered_columns.with_found(discovered_columns.read(state.path), found)
    made = replan(plan, known)
    tables = {one.in_source.name: one.in_source for one in made.recipe.tables}
    if any(tables[table].column(name) is None for table, columns in found.tables.items() for name in columns):
        raise DataError(f"{found}; a column of that name is there under another one; define it")
    made = registered(dataclasses.replace(made, state=plan.state), state)
    state.mark_added(known)
    came = {table: {name: known[table][name].datatype for name in columns} for table, columns in found.tables.items()}
    is_added = any(known[table][name].is_added for table, columns in came.items() for name in columns)
    event = "columns added" if is_added else "columns have other types"
    structlog.get_logger().warning(event, channel=plan.channel, columns=came, found=str(found))
    return made


def _with_schemas(plan: Plan, state: State, found: SchemasFound) -> Plan:
    """Return the plan with the schemas that records have, and the tables of topics that came since."""
    before = {table.table.name for table in plan.recipe.tables}
    made = learned(plan, found, discovered_columns.read(state.path))
    made = registered(dataclasses.replace(made, state=plan.state), state)
    keep(made, state)
    new = sorted({table.table.name for table in made.recipe.tables} - before)
    log = structlog.get_logger()
    log.info("schemas found", channel=plan.channel, topic=found.topic, ids=list(found.ids), new_tables=new)
    return made
