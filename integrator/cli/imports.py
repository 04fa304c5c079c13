"""The commands below `import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from integrator.cli import output
from integrator.cli.local import local_timezone
from integrator.errors import ConfigurationError

app = typer.Typer(help="Write a channel from another product's configuration.", no_args_is_help=True)

OutFile = Annotated[Path, typer.Option("--channel", help="The channel file to write.")]

FromFiles = Annotated[
    bool,
    typer.Option("--files", help="Read another capture's files; without, PostgreSQL, MySQL and MariaDB are captured."),
]


def _report(text: str, problems: ConfigurationError | None) -> None:
    """Print what was made and what has no counterpart; raise the check's problems, if there are any."""
    output.console().print(text)
    if problems is not None:
        raise problems


@app.command()
def airbyte(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="destination-kafka's configuration, JSON.")],
    tables: Annotated[
        Path, typer.Option(exists=True, dir_okay=False, help="Table definitions of its streams: SQL, or a catalog.")
    ],
    channel: OutFile = Path("channel.yaml"),
    sql_dialect: Annotated[str, typer.Option(help="Whose SQL the definitions are in.")] = "postgres",
    source: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="A source's configuration, JSON: its database is captured."),
    ] = None,
) -> None:
    """Write a channel that does what Airbyte's Kafka destination did; name what has no counterpart."""
    from integrator.imports import airbyte as of_airbyte

    options = of_airbyte.Options(tables, sql_dialect, source, channel)
    _report(*of_airbyte.run(file, options, local_timezone()))


@app.command()
def debezium(  # noqa: PLR0913, PLR0917 - each is an option of the command
    file: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="The connector's configuration: JSON, or properties.")
    ],
    tables: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="Table definitions, where lists and masks need them, or files are read."
        ),
    ] = None,
    channel: OutFile = Path("channel.yaml"),
    worker: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="The worker's properties: brokers, converters, producer."),
    ] = None,
    brokers: Annotated[str | None, typer.Option(help="host:port of brokers, with commas.")] = None,
    sql_dialect: Annotated[
        str | None, typer.Option(help="Whose SQL the definitions are in; without, the connector's database's.")
    ] = None,
    keep_connector: Annotated[
        bool,
        typer.Option("--keep-connector", help="Read what the connector sends; without, the channel is in its place."),
    ] = False,
    offsets: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="The stopped connector's offsets: the channel continues there."),
    ] = None,
    files: FromFiles = False,
) -> None:
    """Write a channel in the place of a Debezium connector, or over its topics; name what has no counterpart.

    It captures PostgreSQL, MySQL and MariaDB by itself; of other databases it reads files of a capture.
    """
    from integrator.imports import debezium as of_debezium

    options = of_debezium.Options(tables, sql_dialect, worker, brokers, channel, keep_connector, files, offsets)
    _report(*of_debezium.run(file, options, local_timezone()))


@app.command()
def hvr(  # noqa: PLR0913, PLR0917 - each is an option of the command
    file: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="hvrdefinitionexport's JSON, or hvrcatalogexport's XML.")
    ],
    channel: OutFile = Path("channel.yaml"),
    hvr_channel: Annotated[str | None, typer.Option(help="HVR's channel, where the file has several.")] = None,
    source: Annotated[str | None, typer.Option(help="The source location, where the channel has several.")] = None,
    target: Annotated[str | None, typer.Option(help="The Kafka location, where the channel has several.")] = None,
    brokers: Annotated[str | None, typer.Option(help="host:port of brokers, with commas.")] = None,
    files: FromFiles = False,
) -> None:
    """Write a channel, and its tables beside it, from a definition of HVR; name what has no counterpart."""
    from integrator.imports import hvr as of_hvr

    options = of_hvr.Options(hvr_channel, source, target, brokers, channel, files)
    _report(*of_hvr.run(file, options, local_timezone()))
