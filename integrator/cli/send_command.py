"""The command `send`: a file into a channel's socket."""

from __future__ import annotations

import os
import signal
import ssl
import threading
from pathlib import Path
from typing import Annotated

import typer

from integrator.channel.addresses import is_loopback
from integrator.cli import output
from integrator.errors import ConfigurationError
from integrator.names.numbers import are, counted


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
