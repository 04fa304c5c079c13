"""The command `compare`: tables of a captured database with their topics."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from integrator.cli import output
from integrator.cli.options import AsJson, ChannelFile, Contexts, Variables, plan_of
from integrator.errors import DataError, IntegratorError, shown
from integrator.names.numbers import counted

if TYPE_CHECKING:
    from integrator.compare.at_topic import Topics
    from integrator.compare.job import Comparison, Options
    from integrator.compare.messages import Effects
    from integrator.compare.results import Difference, TableResult
    from integrator.contracts.registry_access import RegistryAccess
    from integrator.plan import Plan

DIFFERENT, NOT_PROVED = 4, 2
"""Exit codes: tables and topics differ; nothing differs, and a table is not proved."""

_LEFT = "unrepaired: the key is neither numbers nor text, the table cannot have it, or its row cannot be sent"


def compare(  # noqa: PLR0913, PLR0917 - each is an option of the command
    context: typer.Context,
    channel: ChannelFile,
    table: Annotated[list[str] | None, typer.Option(help="Compare these tables only.")] = None,
    at: Annotated[
        str,
        typer.Option(help="Read tables at this position of the log or after it, as the database writes it, or now."),
    ] = "now",
    rows_per_second: Annotated[
        int,
        typer.Option("--rows-per-second", min=0, help="Read so many rows of tables, at most; 0: any."),
    ] = 0,
    repair: Annotated[
        bool, typer.Option("--repair", help="Show which rows would be sent again, and ask; with --yes they are.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go round the tables, one after another, and keep when each was proved.")
    ] = False,
    pause: Annotated[float, typer.Option(min=0.0, help="With --follow: seconds between two tables.")] = 60.0,
    from_topics: Annotated[
        list[str] | None, typer.Option("--from-topics", help="Compare this topic, and no table; may be repeated.")
    ] = None,
    to_topics: Annotated[
        list[str] | None, typer.Option("--to-topics", help="With --from-topics: the topic that it is compared with.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="With --repair: they are sent, and nobody is asked.")] = False,
    as_object: AsJson = False,
    contexts: Contexts = None,
    variables: Variables = None,
) -> None:
    """Compare tables of a captured database with their topics, while changes continue.

    Exit code 0: all are equal; 4: they differ; 2: nothing was found to differ, and some are not proved.
    """
    from integrator.compare.job import Comparison, Options

    if yes and not repair:
        raise typer.BadParameter("--yes goes with --repair")
    if len(from_topics or ()) != len(to_topics or ()):
        raise typer.BadParameter("--from-topics and --to-topics go with each other, as many of one as of the other")
    if same := {*(from_topics or ())} & {*(to_topics or ())}:
        raise typer.BadParameter(f"--from-topics and --to-topics both name {', '.join(sorted(same))}")
    if at != "now" and (follow or from_topics):
        raise typer.BadParameter("--at goes with tables that are compared once, without --follow and --from-topics")
    if follow + repair + bool(from_topics) > 1:
        raise typer.BadParameter("--follow, --repair and --from-topics exclude each other")

    def planned() -> Plan:
        return plan_of(context, channel, contexts, variables)

    options = Options(tuple(table or ()), rows_per_second, _position(at))
    if follow:
        _follow(planned, options, pause, as_object=as_object)
        return
    made = planned()
    comparison = None if from_topics else Comparison(made, options)
    results = comparison.run() if comparison else _pairs(made, from_topics or (), to_topics or ())
    if as_object:
        typer.echo(_as_json(made.channel, results))
    else:
        show(results, output.console())
    if repair and comparison:
        _repair(comparison, yes=yes, console=Console(stderr=True) if as_object else output.console())
    if any(one.differs for one in results):
        raise typer.Exit(DIFFERENT)
    if not all(one.is_equal for one in results):
        raise typer.Exit(NOT_PROVED)


def _position(at: str) -> str:
    """Return a position; empty for now. Raises BadParameter."""
    from integrator.contracts.log_positions import order_of

    if at == "now":
        return ""
    try:
        order_of(at)
    except ValueError as error:
        raise typer.BadParameter(f"--at: {error}; or now") from None
    return at


def _pair(
    topics: Topics, names: tuple[str, str], registry: RegistryAccess | None, effects: Mapping[str, Effects]
) -> TableResult:
    """Compare two topics; one that has a message which cannot be read is not comparable."""
    from integrator.compare.pairs import TopicPair
    from integrator.compare.results import TableResult

    try:
        return TopicPair(topics, names, registry, effects).run()
    except DataError as error:
        return TableResult(*names, why=str(error))


def _pairs(made: Plan, from_topics: Sequence[str], to_topics: Sequence[str]) -> list[TableResult]:
    """Compare topics with topics, whose brokers are those of the channel."""
    from integrator.compare.at_topic import Topics
    from integrator.compare.tables import effects_of
    from integrator.librdkafka.properties import client_properties

    topics = Topics(client_properties(made.recipe.send.producer))
    try:
        registry = made.registry.access if made.registry else None
        effects = {one.topic: effects_of(one) for one in made.recipe.tables if not made.recipe.messages.layout.envelope}
        return [_pair(topics, pair, registry, effects) for pair in zip(from_topics, to_topics, strict=True)]
    finally:
        topics.close()


def _follow(planned: Callable[[], Plan], options: Options, pause: float, *, as_object: bool) -> None:
    """Go round the tables until SIGINT or SIGTERM; a line each."""
    from integrator.compare.follow import follow

    def failed(name: str, error: IntegratorError) -> None:
        typer.echo(f"{name}: not compared: {error}", err=True)

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, end)
    with contextlib.suppress(KeyboardInterrupt):
        for result, kept in follow(planned, options, pause, failed):
            if as_object:
                typer.echo(json.dumps({"table": result.table, **kept}, default=str))
                continue
            why = result.why and f"not comparable: {result.why}"
            found = "equal" if result.is_equal else why or _numbers(result)
            proved = f"; proved last {kept['proved']} at {kept['proved_position']}" if "proved" in kept else ""
            typer.echo(f"{kept['compared']} {result.table}: {found}; {counted(result.rows, 'row')}{proved}")
            for difference in result.differences:
                typer.echo(f"{result.table}: {_text(difference)}")


def _numbers(one: TableResult) -> str:
    names = ("missing", "extra", "different", "unsettled", "ambiguous", "shared")
    return ", ".join(f"{name} {getattr(one, name):,}" for name in names if getattr(one, name))


def _repair(comparison: Comparison, *, yes: bool, console: Console) -> None:
    """Show what a repair does, and ask for it where that is wanted."""
    found = comparison.repairs()
    for one in found:
        text = f"{counted(one.again, 'row')} sent again, {counted(one.deleted, 'key')} deleted"
        left = f"; {counted(one.left, 'difference')} left {_LEFT}"
        more = left if one.left else ""
        console.print(f"{one.table}: repair: {text}{more}", highlight=False, markup=False)
    if not any(one.requests for one in found):
        return
    if not yes and not (console.is_terminal and typer.confirm("Send them?")):
        console.print("nothing is sent: with --repair --yes it is")
        return
    for one in found:
        one.ask(comparison.source)
    console.print("asked for; the channel sends them beside its changes, when it runs: compare again then")


def _as_json(channel: str, results: list[TableResult]) -> str:
    found = {
        "channel": channel,
        "equal": all(one.is_equal for one in results),
        "tables": [one.as_json() for one in results],
    }
    return json.dumps(found, default=str, ensure_ascii=False)


def show(results: list[TableResult], console: Console) -> None:
    """Print what came of each table, and the first differences."""
    grid = output.grid("table", "topic", "rows", "equal", "missing", "extra", "different", "unsettled", "position")
    for one in results:
        if not one.why:
            numbers = (one.rows, one.equal, one.missing, one.extra, one.different, one.unsettled)
            grid.add_row(one.table, one.topic, *(f"{number:,}" for number in numbers), one.position)
    if grid.row_count:
        console.print(grid)
    for one in results:
        for text in _remarks(one):
            console.print(f"{one.table}: {text}")
    for one in results:
        for difference in one.differences:
            console.print(f"{one.table}: {_text(difference)}")
    if all(one.why for one in results):
        console.print("nothing is proved: no table can be compared")
    elif all(one.is_equal for one in results):
        console.print("equal")


def _remarks(one: TableResult) -> list[str]:
    """Return what else is to be known of a table."""
    found = [f"not comparable: {one.why}"] if one.why else []
    if one.left_out:
        found.append(f"not compared, for they are no function of the row: {', '.join(one.left_out)}")
    found += one.notes
    if one.unsettled:
        found.append(f"{counted(one.unsettled, 'key')} changed each time: compare again")
    if one.incomplete:
        found.append(f"{counted(one.incomplete, 'message')} without columns that the source has left out")
    if one.ambiguous:
        found.append(f"{counted(one.ambiguous, 'key')} with messages in several partitions, which have no order")
    if one.shared:
        found.append(f"{counted(one.shared, 'key')} of messages that several rows of the table have: not compared")
    if one.moved:
        found.append(
            f"{counted(one.moved, 'key')} with messages in several partitions, taken in the order of positions"
        )
    if one.repeated:
        keys = "; ".join(_key(key) for key in one.repeated_keys)
        found.append(f"{counted(one.repeated, 'message')} of changes that an earlier message has: {keys}")
    if one.rejected:
        found.append(f"{counted(one.rejected, 'row')} that cannot be sent (dead letters)")
    return found


def _text(one: Difference) -> str:
    columns = [f"{name}: {shown(own)}, and {shown(its)} in the topic" for name, (own, its) in one.columns.items()]
    return ": ".join([one.kind, _key(one.key), *(["; ".join(columns)] if columns else [])])


def _key(key: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={shown(value)}" for name, value in key.items()) or "(a key that is not shown)"
