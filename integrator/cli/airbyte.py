"""The commands below `airbyte`: a destination by Airbyte's protocol; nothing but its messages is on standard output."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Annotated

import typer

from integrator.airbyte.messages import Messages, protected
from integrator.channel.secret import Secrets
from integrator.errors import ConfigurationError, EnvironmentFault, as_integrator_error

app = typer.Typer(help="Be a destination of Airbyte, by its protocol.", no_args_is_help=True)

Config = Annotated[str, typer.Option(help="The options of the destination, JSON.")]
_FAILED = 1


@contextlib.contextmanager
def _messages(secrets: Secrets) -> Iterator[Messages]:
    """Have messages on standard output, the log among them; an error is one, and the exit code is 1."""
    from integrator.run.seen import progress

    with protected() as out:
        messages = Messages(out, secrets)
        progress.configure(secrets, sink=messages.event)
        try:
            yield messages
        except typer.Exit:
            raise
        except Exception as error:  # noqa: BLE001 - every error is a message
            messages.error(as_integrator_error(error, "integrator airbyte"))
            raise typer.Exit(_FAILED) from None


@app.command()
def spec() -> None:
    """Write the specification: options, and how records are written."""
    from integrator.airbyte.spec import specification

    with _messages(Secrets()) as messages:
        messages.spec(specification())


@app.command()
def check(config: Config) -> None:
    """Try the brokers, and the schema registry where there is one; with test_topic, send a message."""
    from integrator.airbyte import check as checking
    from integrator.airbyte import options

    secrets = Secrets()
    with _messages(secrets) as messages:
        try:
            messages.log("info", checking.check(options.read(config, secrets), secrets))
        except (ConfigurationError, EnvironmentFault) as error:
            messages.status(str(error))
        else:
            messages.status()


@app.command()
def discover(config: Config) -> None:
    """Report that there is nothing to discover: each stream has a topic of its own."""
    from integrator.airbyte import options

    with _messages(Secrets()):
        options.read(config, Secrets())
        raise ConfigurationError(
            "discover is for sources, and for destinations whose objects records are mapped to; here each stream has a "
            "topic, which topic_pattern names, and no mapping is needed"
        )


@app.command()
def write(
    config: Config,
    catalog: Annotated[str, typer.Option(help="The configured catalog, JSON.")],
    state: Annotated[str | None, typer.Option(help="Accepted, and not read: the state is the source's.")] = None,  # noqa: ARG001
) -> None:
    """Send the records of standard input to Kafka; give a STATE back when all records before it are acknowledged."""
    from integrator.airbyte import options
    from integrator.airbyte import write as writing

    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    secrets = Secrets()
    with _messages(secrets) as messages:
        writing.write(options.read(config, secrets), catalog, 0, messages, secrets)
