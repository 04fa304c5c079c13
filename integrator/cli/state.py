"""The commands about where a channel stands: `state`, `suspend`, `resume`. Only `state --connect` needs its secrets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from integrator.cli import output
from integrator.cli.options import AsJson, ChannelFile, plan_of, progress_of


def state(  # noqa: PLR0913, PLR0917 - each is an option of the command
    context: typer.Context,
    channel: ChannelFile,
    back_to: Annotated[
        int | None, typer.Option("--back-to", help="Go back to this synced cycle: all that came after is sent again.")
    ] = None,
    export: Annotated[Path | None, typer.Option("--export", help="Write a backup of the progress into a file.")] = None,
    restored: Annotated[Path | None, typer.Option("--import", help="Restore the progress from a backup.")] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="With --import and --export: the existing one is lost.")
    ] = False,
    cycles: Annotated[int, typer.Option("--cycles", help="How many of the last cycles to show.")] = 10,
    connect: Annotated[
        bool, typer.Option("--connect", help="Also ask the source what is not sent yet, which needs its secrets.")
    ] = False,
    as_object: AsJson = False,
) -> None:
    """Show the last synced cycles of a channel, go back to one, or write or read a backup of the progress."""
    from integrator.backlog import Lag, backlog_of
    from integrator.cli import as_json, show
    from integrator.names.numbers import are, counted
    from integrator.run.seen import failure
    from integrator.run.state import backup, rewind
    from integrator.run.state.directory import MOVING_BACK, State

    if sum(option is not None for option in (back_to, export, restored)) > 1:
        raise typer.BadParameter("--back-to, --export and --import exclude each other")
    if replace and restored is None and export is None:
        raise typer.BadParameter("--replace goes with --import and --export")
    if as_object and (export or restored or back_to is not None):
        raise typer.BadParameter("--json goes with none of --back-to, --export and --import")
    found = progress_of(context, channel)
    kept, console = State(found.place), output.console()
    if back_to is not None and kept.path.exists():
        kept.lock(found.channel, 0, mends=[MOVING_BACK])
        try:
            again = rewind.move_back(kept, back_to)
        finally:
            kept.unlock()
        report = (
            f"{counted(len(again), 'cycle')} after it {are(len(again))} sent again" if again else "none came after it"
        )
        console.print(f"channel {found.channel} continues after cycle {back_to}; {report}")
    if export is not None:
        made_of = backup.export(kept, found.channel, export, replace=replace)
        console.print(
            f"{export}: channel {found.channel} after cycle {made_of.cycle}, {counted(made_of.files, 'file')}"
        )
    if restored is not None:
        made_of = backup.restore(kept, found.channel, restored, replace=replace)
        console.print(f"channel {found.channel} continues after cycle {made_of.cycle}, as of {made_of.made}")

    def lag() -> Lag | None:
        return backlog_of(plan_of(context, channel, None, None)).read() if connect else None

    if as_object:
        there = lag()
        typer.echo(as_json.state(found.channel, kept, failure.read(kept.path), rewind.history(kept)[-cycles:], there))
        return
    for line in show.standing(kept, failure.read(kept.path)):
        console.print(line)
    show.state(rewind.history(kept)[-cycles:], console)
    for line in show.lag(lag()):  # last: it may fail, where what it asks is away
        console.print(line, highlight=False, markup=False)


def suspend(
    context: typer.Context,
    channel: ChannelFile,
    reason: Annotated[str, typer.Option(help="Shown by state and in the log.")] = "by the operator",
) -> None:
    """Have a channel's daemon wait after the cycle that it is in."""
    from integrator.run.state.directory import State

    found = progress_of(context, channel)
    State(found.place).suspend(reason)
    output.console().print(f"channel {found.channel} is suspended: {reason}")


def resume(
    context: typer.Context,
    channel: ChannelFile,
    table: Annotated[
        list[str] | None, typer.Option(help="Try this table again, which is set aside; may be repeated.")
    ] = None,
) -> None:
    """Have a suspended channel continue, a failed one start again, or a table that is set aside be tried again."""
    from integrator.run import resume as resuming
    from integrator.run.state.directory import State

    found = progress_of(context, channel)
    if table:
        output.console().print(resuming.resume_tables(State(found.place), found.channel, table))
        return
    output.console().print(resuming.resume(State(found.place), found.channel))
