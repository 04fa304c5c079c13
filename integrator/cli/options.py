"""Options that several commands have, and the plan, or the place of the progress, that they ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from integrator.cli.local import local_timezone
from integrator.errors import ConfigurationError

if TYPE_CHECKING:
    from integrator.channel.model import Channel, Progress
    from integrator.plan import Plan

Contexts = Annotated[list[str] | None, typer.Option("--context", "-C", help="A context that actions ask for.")]
Variables = Annotated[list[str] | None, typer.Option("--variable", "-V", help="NAME=VALUE for {hvr_var_NAME}.")]
Refreshing = Annotated[bool, typer.Option("--refresh", help="The channel as refresh has it: whole tables.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object, for programs.")]
ChannelFile = Annotated[str, typer.Option("--channel", help="The channel's YAML file.")]


def plan_of(
    context: typer.Context,
    channel: str,
    contexts: list[str] | None,
    variables: list[str] | None,
    *,
    refreshing: bool | None = False,
) -> Plan:
    """Make the plan; librdkafka checks its properties, too. Its secrets are hidden in what `main` prints."""
    from integrator import plan as planning
    from integrator.channel.load import RunOptions
    from integrator.deliver.kafka.refused import refused
    from integrator.run.seen import progress

    given = [tuple(text.partition("=")[::2]) for text in variables or []]
    if any("=" not in text for text in variables or []):
        raise typer.BadParameter("--variable is written NAME=VALUE")
    run = RunOptions(frozenset(contexts or []), tuple((name, value) for name, value in given))
    context.obj.append(run.secrets)  # before the first of them is known: a defect's traceback may show it
    progress.configure(run.secrets)
    return planning.build(channel, local_timezone(), run, refreshing=refreshing, client=refused)


def channel_of(context: typer.Context, channel: str) -> Channel:
    """Return the channel of a file as it is written: neither its source nor its state is read.

    Raises ConfigurationError.
    """
    from integrator.channel import load
    from integrator.decode.dialects import CHOSEN

    run = load.RunOptions()
    context.obj.append(run.secrets)
    loaded = load.load(channel, run, CHOSEN)
    if loaded.problems:
        raise ConfigurationError(loaded.problems)
    return loaded.channel


def progress_of(context: typer.Context, channel: str) -> Progress:
    """Return which channel a file has, and where its progress is; no secret that the channel asks for need be there."""
    from integrator.channel import load
    from integrator.channel.secret import Secrets
    from integrator.decode.dialects import CHOSEN

    secrets = Secrets()
    context.obj.append(secrets)
    return load.progress_of(channel, secrets, CHOSEN)
