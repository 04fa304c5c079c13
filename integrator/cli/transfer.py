"""The commands that send beside the daemon: `refresh`, `replay`, and `send` into a channel's socket."""

from __future__ import annotations

import os
import signal
import ssl
import threading
from pathlib import Path
from typing import Annotated

import typer

from integrator.cli import output
from integrator.cli.options import ChannelFile, Contexts, Variables, plan_of
from integrator.errors import ConfigurationError
from integrator.names.numbers import are, counted


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
    anew: Annotated[bool, typer.Option("--anew", help="Start over; discard an unfinished refresh.")] = False,
    contexts: Contexts = None,
    variables: Variables = None,
) -> None:
    """Send whole tables into Kafka; an interrupted refresh continues with the remaining slices."""
    from integrator.refresh import job
    from integrator.run.seen import progress

    made = plan_of(context, channel, contexts, variables, refreshing=True)
    progress.configure(made.secrets)
    given = (tuple(table or ()), tuple(slices or ()), parallel, truncate_record, select_moment, online, anew)
    for name, rows in job.refresh(made, job.Options(*given)).items():
        output.console().print(f"{name}: {counted(rows, 'row')}")


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


def send(  # noqa: PLR0913, PLR0917 - each is an option of the command
    file: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="The file whose lines are sent.")],
    to: Annotated[str, typer.Option(help="host:port of the channel's socket.")],
    sender: Annotated[str, typer.Option(help="The sender's name: letters, digits, - and _.")],
    authority: Annotated[
        str | None, typer.Option(help="With TLS: PEM file of the authority that signed its certificate.")
    ] = None,
    certificate: Annotated[str | None, typer.Option(help="With TLS: PEM file of our own, its key in it.")] = None,
    once: Annotated[bool, typer.Option("--once", help="End when all that is there is received.")] = False,
    remove: Annotated[
        bool,
        typer.Option("--remove", help="Remove rotated files (FILE.*, FILE-*) when all of their lines are received."),
    ] = False,
    without_tls: Annotated[
        bool, typer.Option("--without-tls", help="Beyond loopback: the secret and the lines may be read on their way.")
    ] = False,
) -> None:
    """Send the lines of a growing file, also of a rotated one, into a socket; ${SOCKET_SECRET} is its secret."""
    from integrator.channel.loopback import is_loopback
    from integrator.cli import send as sending

    host, _, port = to.rpartition(":")
    if not host or not port.isdigit():
        raise typer.BadParameter("--to is written HOST:PORT")
    if certificate and not authority:
        raise typer.BadParameter("--certificate goes with --authority")
    if authority and without_tls:
        raise typer.BadParameter("--without-tls and --authority exclude each other")
    if not (authority or without_tls or is_loopback(host.strip("[]"))):
        raise ConfigurationError(
            f"--to {to} is beyond loopback: others on the network could read and change the secret and the lines. "
            "For TLS, give --authority, the PEM file of the authority that signed its certificate (the channel's "
            "socket needs tls); or give --without-tls, if the network itself is protected"
        )
    tls = ssl.create_default_context(cafile=authority) if authority else None
    if tls is not None and certificate:
        tls.load_cert_chain(certificate)
    target = sending.Target(host, int(port), sender, os.environ.get("SOCKET_SECRET"), tls)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    received = sending.send(file, target, ended, sending.How(follow=not once, remove=remove))
    output.console().print(f"{counted(received, 'line')} {are(received)} received")
