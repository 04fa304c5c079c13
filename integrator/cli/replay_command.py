"""The command `replay`: dead letters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from integrator.cli import output
from integrator.cli.options import ChannelFile, Contexts, Variables, plan_of


def replay(  # noqa: PLR0913, PLR0917 - each is an option of the command
    context: typer.Context,
    channel: ChannelFile,
    export: Annotated[
        Path | None, typer.Option("--export", help="Write the letters into a new file, to be mended; send nothing.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="Send the mended records of this file, which --export wrote.")
    ] = None,
    from_offset: Annotated[
        int | None, typer.Option("--from-offset", min=0, help="Letters from this offset on, in each partition.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", help="Letters from this time on, such as 2026-11-24T08:00+00:00.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Send nothing; name lines that are wrong, and keys that changed since.")
    ] = False,
    contexts: Contexts = None,
    variables: Variables = None,
) -> None:
    """Send dead letters through the channel again: those of its dead letter topic, or of a file of mended ones."""
    from integrator.cli import replay as replaying
    from integrator.run.seen import progress

    if sum(option is not None for option in (file, from_offset, since)) > 1:
        raise typer.BadParameter("--file, --from-offset and --since exclude each other")
    if export and (file or dry_run):
        raise typer.BadParameter("--export excludes --file and --dry-run")
    made = plan_of(context, channel, contexts, variables)
    progress.configure(made.secrets)
    replaying.run(made, replaying.Options(export, file, from_offset, since, dry_run), output.console())
