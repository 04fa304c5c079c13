"""`init`: a first channel, from a file with table definitions; checked, with what to do next."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from integrator.channel.secret import Secrets
from integrator.cli import definitions, output
from integrator.cli.local import local_timezone
from integrator.cli.templates import PRODUCTION, Template
from integrator.errors import ConfigurationError

SQL = ("postgres", "mysql", "oracle", "tsql", "db2")
"""Whose SQL a file may be in that no --sql-dialect is given for, in the order in which they are tried."""
_NAME_SIZE = 12
_CHANNEL = """\
# What is sent where. Every word is in docs/reference.md; `check` names each mistake with its line.
channel: {name}
locations:
  # Change files appear here under their final names. Their shape is recognized; `dialect: debezium` fixes it.
  src: {{class: files, path: {changes}}}
  kaf:
    class: kafka
    Kafka_Brokers: [{brokers}]
    Kafka_Default_Topic: "{name}.{{hvr_tbl_name}}"
    # Topics that are not there are created so; without this they must be there. In production: 3 replicas.
    Create_Topics: {{Partitions: 4, Replication_Factor: 1}}
{tables}
actions:
  # Each change is a message, deletes too: op_val says what it is (0 delete, 1 insert, 2 update), integ_seq orders them.
  - {{action: ColumnProperties, Name: op_val, Datatype: integer, Extra: true, IntegrateExpression: "{{hvr_op}}"}}
  - {{action: ColumnProperties, Name: integ_seq, Datatype: varchar, Length: 45, Extra: true, TimeKey: true,
     IntegrateExpression: "{{hvr_integ_seq}}"}}
"""


@dataclass(frozen=True)
class Options:
    """What the command was given. definitions: the file with table definitions. changes: the directory of changes."""

    definitions: Path
    sql_dialect: str | None
    changes: str
    brokers: str
    channel: Path
    template: Template = Template.FIRST


def run(options: Options, timezone: str) -> str:
    """Write the channel; return what it has, and what to do next. Raises ConfigurationError."""
    from integrator import plan
    from integrator.channel import paths
    from integrator.deliver.kafka.refused import refused

    dialect = options.sql_dialect or _dialect_of(options.definitions)
    file = _word(paths.in_channel(str(options.definitions), str(options.channel)))
    text = (PRODUCTION if options.template is Template.PRODUCTION else _CHANNEL).format(
        name=_name_of(options.channel),
        changes=_word(paths.in_channel(options.changes, str(options.channel))),
        brokers=", ".join(_word(one.strip()) for one in options.brokers.split(",")),
        tables=f"tables: [{{file: {file}, sql_dialect: {dialect}}}]",
    )
    options.channel.write_text(text, encoding="utf-8")
    try:
        made = plan.make(str(options.channel), timezone, client=refused)
    except ConfigurationError:
        options.channel.unlink()  # the problems are of the definitions: they name their own file
        raise
    count, place = len(made.recipe.tables), options.channel
    of_file = f"{count} table{'' if count == 1 else 's'} of {options.definitions} ({dialect})"
    notes = "".join(f"\nnote: {note}" for note in made.notes)
    return (
        f"{place}: channel {made.channel}, {of_file}{notes}\nNext:\n{_directory(options.changes)}"
        f"  integrator check --channel {place} --connect    try the brokers and topics\n"
        f"  integrator plan --channel {place}               see topics, keys and messages\n"
        f"  integrator --channel {place} --once             send the changes that are in {options.changes}"
    )


def _directory(changes: str) -> str:
    """Return how to make the directory of changes, where there is none on this machine."""
    if "://" in changes or Path(changes).exists():
        return ""
    return f"  mkdir -p {shlex.quote(changes)}    which `check` looks for\n"


def _dialect_of(definitions: Path) -> str:
    """Return whose SQL a file is in: the first that is understood as a whole, or else the one understood best.

    That has the fewest problems beside the statements that it understood: of a file whose end is lost in a quotation
    there is one problem.
    """
    from integrator import tables

    if definitions.suffix not in (".sql", ".ddl"):
        return SQL[0]
    wrong: dict[str, int] = {}
    for dialect in SQL:
        found = tables.read(str(definitions), dialect)
        if not found.problems:
            return dialect
        wrong[dialect] = len(found.problems) - found.skipped.total()
    return min(SQL, key=wrong.__getitem__)


def _name_of(channel: Path) -> str:
    """Return a channel's name: the file's, as far as the letters of a name go."""
    letters = re.sub(r"[^a-z0-9_]+", "_", channel.stem.lower()).strip("_")
    return (letters if letters[:1].isalpha() else f"c{letters}")[:_NAME_SIZE]


def _word(text: str) -> str:
    """Return a text as YAML has it in braces."""
    return text if re.fullmatch(r"[A-Za-z0-9_./-]+", text) else json.dumps(text, ensure_ascii=False)


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
        typer.Option(help="postgres, mysql, oracle, tsql, db2; without: what understands the file."),
    ] = None,
    schema: definitions.Schemas = None,
    user: definitions.User = None,
    password_file: definitions.PasswordFile = None,
    jar: definitions.Jars = None,
    template: Annotated[
        Template, typer.Option(help="first: the least there can be; production: see docs/howto/production.md.")
    ] = Template.FIRST,
) -> None:
    """Write a first channel for the tables of a file or a database, check it, and say what to do next."""
    if channel.exists():
        raise ConfigurationError(f"{channel}: is there already; give another --channel, or remove it")
    file = Path(tables)
    if tables.startswith(definitions.JDBC):
        secrets, file = Secrets(), channel.with_suffix(".sql")
        context.obj.append(secrets)
        asked = definitions.Asked(tables, user, password_file, tuple(jar or ()), tuple(schema or ()))
        sql_dialect = definitions.write(asked, file, secrets).sql_dialect
    elif user or password_file or schema or jar:
        raise typer.BadParameter("--user, --password-file, --schema and --jar go with --tables jdbc:…")
    elif not file.is_file():
        raise typer.BadParameter(f"--tables {tables}: there is no such file")
    given = Options(file, sql_dialect, changes, brokers, channel, template)
    output.console().print(run(given, local_timezone()))
