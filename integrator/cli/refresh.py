"""The command `refresh`: whole tables."""

from __future__ import annotations

from typing import Annotated

import typer

from integrator.cli import output
from integrator.cli.options import ChannelFile, Contexts, Variables, plan_of
from integrator.names.numbers import counted


def refresh(  # noqa: PLR0913, PLR0917 - each is an option of the command
    context: typer.Context,
    channel: ChannelFile,
    table: Annotated[list[str] | None, typer.Option(help="Refresh these tables only.")] = None,
    slices: Annotated[
        list[str] | None,
        typer.Option("--slice", help="[T.]COL%N, [T.]COL<B1<B2, [T.]N or [T.]V1;V2: cut tables into slices."),
    ] = None,
    parallel: Annotated[int, typer.Option(min=1, help="How many slices are sent at once.")] = 1,
    truncate_record: Annotated[
        bool, typer.Option("--truncate-record", help="A truncate record before the first rows of each table.")
    ] = False,
    select_moment: Annotated[
        str | None, typer.Option("--select-moment", help="lsn=…, scn=… or hvr_tx_seq=…: position of the rows.")
    ] = None,
    online: Annotated[
        bool, typer.Option("--online", help="Changes up to that time are skipped, those after it are sent.")
    ] = False,
    where: Annotated[
        str | None, typer.Option("--where", help="A condition in SQL on the rows, of a captured database.")
    ] = None,
    anew: Annotated[bool, typer.Option("--anew", help="Start over; discard an unfinished refresh.")] = False,
    contexts: Contexts = None,
    variables: Variables = None,
) -> None:
    """Send whole tables into Kafka; an interrupted refresh continues with the remaining slices."""
    from integrator.refresh import captured, job
    from integrator.run.seen import progress

    made = plan_of(context, channel, contexts, variables, refreshing=None)
    if not made.origin.refreshing:
        if slices or parallel > 1 or select_moment or online or anew:
            raise typer.BadParameter(
                "tables of a captured database are read beside their changes: --slice, --parallel, --select-moment, "
                "--online and --anew are for channels with a location of class jdbc or snapshot"
            )
        for name in captured.ask(made, table or (), where or "", truncate=truncate_record):
            output.console().print(f"{name}: asked for; the channel reads its rows beside its changes, when it runs")
        return
    if where is not None:
        raise typer.BadParameter("--where is for captured databases; write Restrict RefreshCondition instead")
    progress.configure(made.secrets)
    given = (tuple(table or ()), tuple(slices or ()), parallel, truncate_record, select_moment, online, anew)
    for name, rows in job.refresh(made, job.Options(*given)).items():
        output.console().print(f"{name}: {counted(rows, 'row')}")
