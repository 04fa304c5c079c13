"""`init`: a first channel, from a file with table definitions or from a database, and what to do next."""

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
        str,
        typer.Option(
            help="Table definitions: SQL (a dump, too), Avro or YAML; or a database, as jdbc:postgresql://host/database."
        ),
    ],
    channel: Annotated[Path, typer.Option(help="The channel file to write.")] = Path("channel.yaml"),
    changes: Annotated[str, typer.Option(help="The directory in which change files appear.")] = "changes",
    brokers: Annotated[str, typer.Option(help="host:port of brokers, with commas.")] = "localhost:9092",
    sql_dialect: Annotated[
        str | None,
        typer.Option(help="postgres, mysql, oracle, tsql, db2; by default it is recognized from the file."),
    ] = None,
    schema: definitions.Schemas = None,
    user: definitions.User = None,
    password_file: definitions.PasswordFile = None,
    jar: definitions.Jars = None,
    template: Annotated[
        Template, typer.Option(help="first: a minimal channel; production: see docs/howto/production.md.")
    ] = Template.FIRST,
) -> None:
    """Write a first channel for the tables of a file or a database, check it, and say what to do next."""
    from integrator.cli import first_channel

    if channel.exists():
        raise ConfigurationError(f"{channel}: is there already; give another --channel, or remove it")
    file = Path(tables)
    written = None
    if tables.startswith(definitions.JDBC):
        secrets, file = Secrets(), channel.with_suffix(".sql")
        context.obj.append(secrets)
        asked = definitions.DatabaseRequest(tables, user, password_file, tuple(jar or ()), tuple(schema or ()))
        written = definitions.write(asked, file, secrets)
    elif user or password_file or schema or jar:
        raise typer.BadParameter("--user, --password-file, --schema and --jar go with --tables jdbc:…")
    elif not file.is_file():
        raise typer.BadParameter(f"--tables {tables}: there is no such file")
    dialect = written.sql_dialect if written else sql_dialect
    given = first_channel.Options(file, dialect, changes, brokers, channel, template)
    try:
        made = first_channel.run(given, local_timezone())
    except BaseException:
        if written:
            file.unlink()
        raise
    output.console().print(made.text)
    if made.problems is not None:
        raise made.problems
