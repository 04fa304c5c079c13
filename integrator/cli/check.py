"""`check`: this machine is inspected; with --connect the source, brokers, topics and the schema registry tried, too.

What is wrong is reported at once, whatever it is of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from integrator import registration
from integrator.channel.addresses import why_not_listened
from integrator.channel.created_topics import BROKER
from integrator.cli import inspection
from integrator.deliver.kafka import probe, topics
from integrator.errors import ConfigurationError, EnvironmentFault, IntegratorError, Problem
from integrator.names.numbers import are, counted
from integrator.plan import Plan
from integrator.plan.compaction import CLEANUP, COMPACTED, TRUNCATES, has_truncates, partial_keys
from integrator.refresh import tries
from integrator.run.state.directory import State
from integrator.sources.contract import Problems
from integrator.sources.tables import Database, TableSource

TRIES: dict[str, Callable[[Plan], Problems]] = {"refresh": tries.problems}
"""How tables that are read whole are tried."""


def inspect(plans: Sequence[Plan]) -> str:
    """Inspect this machine; return what was found: nothing. Raises ConfigurationError with all that is wrong.

    plans: one, or those of a channel's changes and of its refresh.
    """
    found = [problem for plan in plans for problem in inspection.problems(plan)]
    if found:
        raise ConfigurationError(found)
    return ""


def connect(plans: Sequence[Plan], test_topic: str | None) -> str:
    """Try what a run needs; return what was found, in lines. Raises with all that would keep it from working.

    That is a ConfigurationError where the channel is to be mended, else an EnvironmentFault. plans: as in `inspect`.
    """
    lines: list[str] = []
    found = [problem for plan in plans for problem in inspection.problems(plan)]
    failed: list[IntegratorError] = [ConfigurationError(found)] if found else []
    steps: list[Callable[[], Iterable[str]]] = [
        *(partial(_source, plan) for plan in plans),
        partial(_monitor, plans[0]),
        partial(_brokers, plans[0], test_topic),
        partial(registration.check, plans[0]),
    ]
    for step in steps:
        try:
            lines += step()
        except IntegratorError as error:
            if str(error) not in map(str, failed):
                failed.append(error)
    if failed:
        kinds = (ConfigurationError, EnvironmentFault)
        kind = next((one for one in kinds if any(isinstance(error, one) for error in failed)), EnvironmentFault)
        if len(failed) == 1:
            raise failed[0]
        raise _with_problems(kind("\n".join(map(str, failed))), [one for error in failed for one in error.problems])
    return "\n".join(lines)


def _with_problems(error: IntegratorError, problems: Sequence[Problem]) -> IntegratorError:
    error.problems = tuple(problems)
    return error


def _source(plan: Plan) -> Iterator[str]:
    """Try a source that is not on this machine. What keeps it from being read, its operator mends."""
    wrong = TRIES["refresh"](plan) if isinstance(plan.source, TableSource) else plan.source.reach(plan.directory)
    if found := [plan.problem(("locations", plan.recipe.messages.cap_loc, key), text) for key, text in wrong]:
        own = isinstance(plan.source, TableSource)
        raise ConfigurationError(found) if own else _with_problems(EnvironmentFault("\n".join(map(str, found))), found)
    if isinstance(plan.source, Database):
        yield f"{plan.source.describe()}: {counted(len(plan.recipe.tables), 'table')} can be read"


def _monitor(plan: Plan) -> Iterator[str]:
    """Remark that another process has the monitor's port: it may be one that this channel is to join."""
    listen = plan.monitor.listen
    if listen and State(plan.state).holder() is None and (reason := why_not_listened(listen)):
        yield f"monitor.listen: {reason}"


def _brokers(plan: Plan, test_topic: str | None) -> Iterator[str]:
    """Try brokers and topics, and then send a message: brokers that do not answer are waited for once."""
    properties = plan.recipe.send.producer
    absent = topics.missing(properties, plan.topics)
    problems = list(probe.topic_problems(properties, plan.topics))
    new = [topic for topic in absent if topic not in plan.dead_letter_topic]
    if new:
        problems += probe.creation_problems(properties, plan.create_topics, new)
    problems += probe.too_many_replicas(
        properties, {one: replicas for one, replicas in plan.dead_letter_topic.items() if one in absent}
    )
    if problems:
        raise EnvironmentFault("\n  ".join(("the brokers would not take all messages:", *problems)))
    there = len(plan.topics) - len(absent)
    report = f"{plan.brokers} answers, {there} of {counted(len(plan.topics), 'topic')} {are(there)} there"
    yield report + (f", to be created: {', '.join(absent)}" if absent else "")
    partial = partial_keys(plan.recipe.tables)
    keyless = [table.topic for table in plan.recipe.tables if table.keyless]
    truncated = [table.topic for table in plan.recipe.tables if has_truncates(table)]
    compacted = probe.compacted(properties, [*dict.fromkeys([*partial, *keyless, *truncated])])
    if refused := [f"{one}: is compacted ({CLEANUP}), and {partial[one]}" for one in compacted if one in partial]:
        raise ConfigurationError("\n".join(refused))
    for which, why in ((keyless, COMPACTED), (truncated, TRUNCATES)):
        yield from (f"{one}: is compacted ({CLEANUP}), and {why}" for one in compacted if one in which)
    later = [topic for topic in keyless if topic in new]
    if later and plan.create_topics == BROKER and probe.compacted_anew(properties):
        yield f"{', '.join(later)}: will be compacted (log.{CLEANUP} of the brokers), and {COMPACTED}"
    timed = sorted({table.topic for table in plan.recipe.tables if table.message_timestamp})
    yield from probe.time_remarks(properties, timed)
    if test_topic:
        seconds = probe.through_topic(properties, test_topic)
        yield f"{test_topic}: a message was sent and read back in {seconds:.1f} s"
