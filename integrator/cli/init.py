"""`init`: a first channel over change files or topics, and what to do next."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from integrator.channel.secret import Secrets
from integrator.cli import definitions, output
from integrator.cli.local import local_timezone
from integrator.cli.templates import Template
from integrator.errors import ConfigurationError


def init(  # noqa: PLR0913, PLR0917 - each is an option of the command
    context: typer.Context,
    tables: Annotated[
        str | None,
        typer.Option(
            help="Table definitions: SQL (a dump, too), Avro or YAML; or a database, as jdbc:postgresql://host/database."
        ),
    ] = None,
    channel: Annotated[Path, typer.Option(help="The channel file to write.")] = Path("channel.yaml"),
    changes: Annotated[
        str | None, typer.Option(help="The directory in which change files appear; by default, changes.")
    ] = None,
    from_topic: Annotated[
        list[str] | None,
        typer.Option(
            help="Read changes from these topics: a name, or a regular expression, which begins with ^. Where their "
            "records have schemas, no --tables are needed."
        ),
    ] = None,
    brokers: Annotated[
        str | None, typer.Option(help="host:port of brokers, with commas; by default, localhost:9092.")
    ] = None,
    registry: Annotated[
        str | None, typer.Option(help="With --from-topic: the URL of the registry with the records' schemas.")
    ] = None,
    command_config: Annotated[
        Path | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="With --from-topic: a Kafka client's properties, with users and passwords, as Kafka's own commands "
            "take them.",
        ),
    ] = None,
    to: Annotated[
        str | None, typer.Option(help="With --from-topic: host:port of the brokers to send to; by default, the same.")
    ] = None,
    to_registry: Annotated[
        str | None,
        typer.Option(help="With --from-topic: send Avro, whose schemas are in the registry at this URL; else JSON."),
    ] = None,
    sql_dialect: Annotated[
        str | None,
        typer.Option(help="postgres, mysql, oracle, tsql, db2; by default it is recognized from the file."),
    ] = None,
    schema: definitions.Schemas = None,
    user: definitions.User = None,
    password_file: definitions.PasswordFile = None,
    jar: definitions.Jars = None,
    template: Annotated[
        Template, typer.Option(help="first: a minimal channel; production: what it does not know does not stop it.")
    ] = Template.FIRST,
) -> None:
    """Write a first channel over change files or topics, check it, and say what to do next."""
    from integrator.cli import first_channel

    if channel.exists():
        raise ConfigurationError(f"{channel}: is there already; give another --channel, or remove it")
    for is_wrong, text in (
        (tables is None and not from_topic, "--tables FILE is needed, or --from-topic TOPIC"),
        (from_topic and changes, "--changes and --from-topic are two sources: give one of them"),
        (tables is None and sql_dialect, "--sql-dialect goes with --tables FILE"),
        (
            not from_topic and (registry or command_config or to or to_registry),
            "--registry, --command-config, --to and --to-registry go with --from-topic",
        ),
    ):
        if is_wrong:
            raise typer.BadParameter(text)
    file = Path(tables) if tables is not None else None
    written, secrets = None, Secrets()
    context.obj.append(secrets)
    if tables is not None and tables.startswith(definitions.JDBC):
        file = channel.with_suffix(".sql")
        asked = definitions.DatabaseRequest(tables, user, password_file, tuple(jar or ()), tuple(schema or ()))
        written = definitions.write(asked, file, secrets)
    elif user or password_file or schema or jar:
        raise typer.BadParameter("--user, --password-file, --schema and --jar go with --tables jdbc:…")
    elif file is not None and not file.is_file():
        raise typer.BadParameter(f"--tables {tables}: there is no such file")
    dialect = written.sql_dialect if written else sql_dialect
    try:
        if from_topic:
            from integrator.cli.first_sources import ASKED

            wanted = first_channel.TopicsRequest(
                from_topic, brokers, registry, command_config, first_channel.Target(to, to_registry), file is not None
            )
            source, target = ASKED["topics"](wanted, channel, template, secrets)
        else:
            source, target = (
                first_channel.of_files(changes or "changes", channel, template),
                brokers or "localhost:9092",
            )
        made = first_channel.run(
            first_channel.Options(file, dialect, source, target, channel, template), local_timezone()
        )
    except BaseException:
        if written and file:
            file.unlink()
        raise
    output.console().print(made.text)
    if made.problems is not None:
        raise made.problems
