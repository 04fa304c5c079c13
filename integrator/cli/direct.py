"""`run --from DATABASE --to BROKERS`: the channel that it stands for; and `forget`, which ends a capture."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from integrator.channel.databases import DatabaseLocation, address_problem
from integrator.channel.model import Channel
from integrator.channel.patterns import NAME
from integrator.cli.first_channel import dialect_of, name_of, word
from integrator.cli.templates import FILES, FIRST, KEYS, NO_ACCESS, PRODUCTION, Template
from integrator.errors import ConfigurationError
from integrator.names.numbers import counted
from integrator.plan import Plan
from integrator.plan.source import change_sources
from integrator.sources.binlog.server import PASSWORD_VARIABLE, SCHEMES
from integrator.sources.capture.source import CapturedSource

PASSWORD_VARIABLES = {"postgres": "PGPASSWORD", **dict.fromkeys(SCHEMES, PASSWORD_VARIABLE)}
"""The variables by which clients take a password (https://www.postgresql.org/docs/current/libpq-envars.html)."""
_CLASSES = {"postgresql": "postgres", "postgres": "postgres", **dict(zip(SCHEMES, SCHEMES, strict=True))}
"""The classes of locations, by what an address begins with."""
_WITHOUT_SCHEMAS: dict[str, str] = {**dict.fromkeys(SCHEMES, "")}
"""Classes whose databases have no schemas in them."""
_PLAIN = '  - {action: FileFormat, group: "*", Json: true, JsonMode: ROW_FRAGMENTS}\n'
FORMATS = {
    "connect-json": ("", "CONNECT_SCHEMA"),
    "json": (_PLAIN, "JSON_ROW"),
    "avro": ("    Kafka_Schema_Registry_Format: AVRO\n", "KAFKA_AVRO_SCHEMA"),
    "protobuf": ("    Kafka_Schema_Registry_Format: PROTOBUF\n", "KAFKA_PROTOBUF_SCHEMA"),
    "json-schema": ("    Kafka_Schema_Registry_Format: JSON\n", "KAFKA_JSON_SCHEMA"),
}
"""By the word for a format: a line of the Kafka location, or of the actions; and how keys are written."""
OF_REGISTRY = ("avro", "protobuf", "json-schema")
_HAVE_ALL = ("avro", "protobuf")
"""Formats that have a value for each column: what a change does not have is null, and named beside."""
_NULL = '    Missing_Values: "NULL"\n'
_MISSING = """\
  # A change does not have what its table's log leaves out: of a delete all but the key, and long values that an update
  # did not change. Such columns are null, and named here.
  - {action: ColumnProperties, Name: missing, Datatype: text, Extra: true, IntegrateExpression: "{hvr_missing}"}
"""
_OF_SET_ASIDE = "# A table that cannot be sent does not stop the others: it is tried again at each start.\n"
_OTHERS_CONTINUE = _OF_SET_ASIDE + "errors: {tables: set_aside}\n"
_OTHERS_CONTINUE_TOO = f"  {_OF_SET_ASIDE}  tables: set_aside\n"
"""The same, among other lines of `errors`."""
_UNDERSCORES = "    # Characters of names that Kafka does not take are underscores.\n    Topic_Names: UNDERSCORES\n"
_OTHER = re.compile(r"[^a-zA-Z0-9._-]")
_TOMBSTONES = ", OnDeleteSendTombstone: true"


@dataclass(frozen=True)
class Asked:
    """What the command was given.

    source: a database's address, or a directory of change files, whose tables `definitions` defines. tables: patterns.
    topic: with substitutions; None for the default. snapshot: as of the location; None for the default. exclude,
    text_columns, on_rewrite, values_without_form: as of the location; patterns may have commas between. missing_values:
    null or refuse, of formats that have a value for each column. template: of the channel's text.
    password_file: what the channel has in the place of a password in `source`; None where the environment has it.
    """

    source: str
    brokers: str
    registry: str | None = None
    format: str | None = None
    tables: Sequence[str] = ()
    topic: str | None = None
    tombstones: bool = False
    definitions: str | None = None
    snapshot: str | None = None
    exclude: Sequence[str] = ()
    text_columns: Sequence[str] = ()
    on_rewrite: str = "read_again"
    values_without_form: str = "null"
    missing_values: str = "null"
    template: Template = Template.FIRST
    password_file: str | None = None


def has_tombstones(deletes: str) -> bool:
    """Return whether a delete is followed by a message without a value. Raises ConfigurationError for other words."""
    if deletes not in ("row", "tombstone"):
        raise ConfigurationError(f"--deletes {deletes!r} is none of row, tombstone")
    return deletes == "tombstone"


@dataclass(frozen=True)
class Direct:
    """A channel: its name, its text, the password that its address does not have, the variable for it, and a note."""

    name: str
    text: str
    password: str | None = None
    variable: str = ""
    note: str = ""


def channel_of(asked: Asked) -> Direct:
    """Return the channel that a command stands for. Raises ConfigurationError."""
    for name in ("values_without_form", "on_rewrite"):
        accepted = get_args(DatabaseLocation.model_fields[name].annotation)
        if (given := getattr(asked, name)) not in accepted:
            raise ConfigurationError(f"--{name.replace('_', '-')} {given!r} is none of {', '.join(accepted)}")
    if asked.definitions is not None or Path(asked.source).is_dir():
        return _of_directory(asked)
    address, password = _without_password(asked.source)
    class_ = _CLASSES[urlsplit(address).scheme]
    name = _name(address)
    place = address
    if password is not None and asked.password_file is not None:
        user, _, host = urlsplit(address).netloc.rpartition("@")
        netloc = f"{user}:${{file:{asked.password_file}}}@{host}"
        place = urlunsplit(urlsplit(address)._replace(netloc=netloc))
    source = f"  src:\n    class: {class_}\n    address: {word(place)}\n"
    for key in ("tables", "exclude", "text_columns"):
        if patterns := [one.strip() for given in getattr(asked, key) for one in given.split(",")]:
            source += f"    {key}: [{', '.join(map(word, patterns))}]\n"
    source += f"    values_without_form: {word(asked.values_without_form)}\n    on_rewrite: {word(asked.on_rewrite)}\n"
    if asked.snapshot:
        source += f"    snapshot: {word(asked.snapshot)}\n"
    database = "" if class_ in _WITHOUT_SCHEMAS else f"{_OTHER.sub('_', _database(address))}."
    topic = database + "{hvr_schema}.{hvr_tbl_base_name}"
    return Direct(name, _text(asked, name, source, topic), password, PASSWORD_VARIABLES[class_])


def _of_directory(asked: Asked) -> Direct:
    """Return the channel over a directory of change files. Paths in it are whole ones."""
    if not Path(asked.source).is_dir():
        raise ConfigurationError(
            f"--from {asked.source}: is no directory, and --definitions are for directories of files"
        )
    if asked.definitions is None or not Path(asked.definitions).is_file():
        raise ConfigurationError(
            f"--from {asked.source}: files need the definitions of their tables: add --definitions FILE, which has "
            "them as SQL (a dump, too), Avro or YAML"
        )
    if asked.tables:
        raise ConfigurationError("--tables is for databases: of files, the tables of --definitions are sent")
    if asked.exclude or asked.text_columns:
        raise ConfigurationError("--exclude and --text-columns are for databases")
    if asked.snapshot:
        raise ConfigurationError("--snapshot is for databases: of files, all changes that they have are sent")
    directory, definitions = Path(asked.source).absolute(), Path(asked.definitions).absolute()
    name, (dialect, is_known) = name_of(directory), dialect_of(definitions)
    tables = f"tables: [{{file: {word(str(definitions))}, sql_dialect: {dialect}}}]\n"
    note = "" if is_known else f"it is not clear from {definitions} which database's SQL it is: it is read as {dialect}"
    source = FILES.format(changes=word(str(directory)))
    return Direct(name, _text(asked, name, source, f"{name}.{{hvr_tbl_name}}", tables), note=note)


def _text(asked: Asked, name: str, source: str, topic: str, tables: str = "") -> str:
    format_ = asked.format or ("avro" if asked.registry else "connect-json")
    if format_ not in FORMATS:
        raise ConfigurationError(f"--format {format_!r} is none of {', '.join(FORMATS)}")
    if (format_ in OF_REGISTRY) != (asked.registry is not None):
        raise ConfigurationError(
            f"--format {format_} needs a schema registry: add --registry http://HOST:8081"
            if asked.registry is None
            else f"--registry is for {', '.join(OF_REGISTRY)}, and --format is {format_}: leave one of them out"
        )
    access = f"    Kafka_Schema_Registry: {word(asked.registry)}\n" if asked.registry else ""
    line, serializer = FORMATS[format_]
    at_location = line.startswith("    ")
    if asked.missing_values not in ("null", "refuse"):
        raise ConfigurationError(f"--missing-values {asked.missing_values!r} is none of null, refuse")
    has_all = format_ in _HAVE_ALL and asked.missing_values == "null"
    is_first = asked.template is Template.FIRST
    continues = asked.definitions is None and asked.snapshot != "never"
    return (FIRST if is_first else PRODUCTION).format(
        name=name,
        source=source,
        brokers=f"[{', '.join(word(one.strip()) for one in asked.brokers.split(','))}]",
        access=access
        + (line if at_location else "")
        + (_NULL if has_all else "")
        + (_UNDERSCORES if asked.definitions is None else "")
        + ("" if is_first else NO_ACCESS),
        topic=asked.topic or topic,
        tables=tables + (_OTHERS_CONTINUE if is_first and continues else ""),
        state="state",
        errors=_OTHERS_CONTINUE_TOO if continues else "",
        keys=KEYS.format(serializer=serializer, more=_TOMBSTONES if asked.tombstones else ""),
        actions=("" if at_location else line) + (_MISSING if has_all else ""),
    )


def _without_password(source: str) -> tuple[str, str | None]:
    """Return an address without its password, and this: it is not written into the channel."""
    if problem := address_problem(source):
        raise ConfigurationError(f"--from: {problem}")
    parts = urlsplit(source)
    if parts.scheme not in _CLASSES:
        raise ConfigurationError(
            f"--from is no directory, and no address that changes are captured from: "
            f"{parts.scheme or 'it has no scheme'}; write postgresql://USER@HOST:PORT/DATABASE, mysql://… or "
            "mariadb://…; of other databases, write a channel over the files or topics of what captures them "
            "(docs/sources/index.md)"
        )
    user, at, host = parts.netloc.rpartition("@")
    name, colon, password = user.partition(":")
    if not parts.path.strip("/"):
        raise ConfigurationError("--from names no database: add /NAME to it")
    given = unquote(password) if colon else None
    query = []
    for key, value in parse_qsl(parts.query, keep_blank_values=True):
        if key == "password":
            given = value
        else:
            query.append((key, value))
    return urlunsplit(parts._replace(netloc=f"{name}{at}{host}", query=urlencode(query))), given


def _database(address: str) -> str:
    return unquote(urlsplit(address).path.strip("/"))


def _name(address: str) -> str:
    """Return the channel's name: the database's, or, where that is no such name, what is made of it and no other's."""
    database = _database(address)
    if re.fullmatch(NAME, database):
        return database
    letters = re.sub(r"[^a-z0-9_]+", "_", database.lower()).strip("_")
    letters = letters if letters[:1].isalpha() else f"c{letters}"
    return f"{letters[:7]}_{zlib.crc32(database.encode()) & 0xFFFF:04x}"


def opening_lines(plan: Plan) -> Iterator[str]:
    """Yield what was found, and what is sent where."""
    yield f"from {plan.changes.describe()}"
    for table in plan.recipe.tables:
        key = ", ".join(table.table.key) or "no key"
        columns = counted(len(table.in_source.columns), "column")
        yield f"  {table.in_source.full_name} ({columns}; {key}) to {table.topic}"
    yield from (f"note: {note}" for note in plan.notes)


def forget(channel: Channel) -> list[str]:
    """Drop what a capture has made at its database; return what was dropped. Raises IntegratorError.

    The state is not read: it may be damaged, or of another location.
    """
    sources = [one for one in change_sources(channel).values() if isinstance(one, CapturedSource)]
    if not sources:
        raise ConfigurationError("the channel captures no database: forget is for locations of databases")
    return [text for one in sources for text in replace(one, channel=Path(channel.place).name).forget()]
