"""`tables`: table definitions from a database's catalogue, as SQL; also for `init`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from integrator.channel.secret import Secrets
from integrator.errors import ConfigurationError
from integrator.names.numbers import counted

JDBC = "jdbc:"
_STDOUT = "stdout"

User = Annotated[str | None, typer.Option("--user", help="With jdbc: the database's user.")]
PasswordFile = Annotated[Path | None, typer.Option("--password-file", help="With jdbc: the file with its password.")]
Schemas = Annotated[
    list[str] | None, typer.Option("--schema", help="With jdbc: tables of this schema only; of MySQL: this database.")
]
Jars = Annotated[
    list[str] | None, typer.Option("--jar", help="With jdbc: the driver's jar file, where Spark does not have it.")
]


@dataclass(frozen=True)
class DatabaseRequest:
    """A database's URL, and what of it is asked for."""

    url: str
    user: str | None = None
    password_file: Path | None = None
    jars: tuple[str, ...] = ()
    schemas: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()


@dataclass(frozen=True)
class WrittenTables:
    """What was written: a text in a database's SQL, and how many tables it defines."""

    text: str
    sql_dialect: str
    tables: int


def tables(  # noqa: PLR0913, PLR0917 - each is an option of the command
    context: typer.Context,
    url: Annotated[str, typer.Option("--from", help="jdbc:postgresql://host/database, jdbc:mariadb: or jdbc:mysql:.")],
    schema: Schemas = None,
    table: Annotated[list[str] | None, typer.Option(help="These tables only: NAME or SCHEMA.NAME.")] = None,
    user: User = None,
    password_file: PasswordFile = None,
    jar: Jars = None,
    to: Annotated[Path | None, typer.Option("--to", help="The .sql file to write; without it: stdout.")] = None,
) -> None:
    """Write the definitions of a database's tables, from its catalogue, as SQL that `tables` of a channel takes."""
    asked = DatabaseRequest(url, user, password_file, tuple(jar or ()), tuple(schema or ()), tuple(table or ()))
    secrets = Secrets()
    context.obj.append(secrets)
    if to is None:
        written = read(asked, secrets)
        typer.echo(written.text, nl=False)
        check(written, _STDOUT)
        return
    written = write(asked, to, secrets)
    check(written, str(to))
    plain = written.sql_dialect == "postgres"
    entry = to.name if plain else f"{{file: {to.name}, sql_dialect: {written.sql_dialect}}}"
    count = counted(written.tables, "table")
    typer.echo(f"{to}: {count}. In a channel beside it: tables: [{entry}]", err=True)


def write(asked: DatabaseRequest, file: Path, secrets: Secrets) -> WrittenTables:
    """Write the definitions into a new file. Raises ConfigurationError where it is there already."""
    if file.suffix not in (".sql", ".ddl"):
        raise ConfigurationError(f"{file}: definitions are written as SQL; name a file that ends in .sql")
    if file.exists():
        raise ConfigurationError(f"{file}: is there already; give another file, or remove it")
    written = read(asked, secrets)
    file.write_text(written.text, encoding="utf-8")
    return written


def read(asked: DatabaseRequest, secrets: Secrets) -> WrittenTables:
    """Ask the database. Raises ConfigurationError or EnvironmentFault; `secrets` gets the password."""
    from integrator.catalogue import read as catalogue
    from integrator.catalogue.connection import Database
    from integrator.run.seen import progress

    secrets.add_of_url(asked.url)
    try:
        password = secrets.resolve(f"${{file:{asked.password_file}}}") if asked.password_file else None
    except LookupError as error:
        raise ConfigurationError(f"--password-file: {error}") from error
    progress.configure(secrets)
    found = catalogue.read(Database(asked.url, asked.user, password, asked.jars), asked.schemas, asked.tables)
    return WrittenTables(found.text, found.sql_dialect, found.tables)


def check(written: WrittenTables, file: str) -> None:
    """Raise ConfigurationError for what of the definitions cannot be read, such as a type that an extension has."""
    from integrator.tables import read_sql

    if problems := read_sql(file, written.text, written.sql_dialect).problems:
        raise ConfigurationError(problems)
