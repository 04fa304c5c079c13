"""A first channel, over change files or topics; checked, with what to do next.

Problems are comments in the channel. A file without any table that can be read makes no channel.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from integrator import plan, tables
from integrator.channel import paths
from integrator.channel.model import TableFile
from integrator.cli.channel_names import names_of
from integrator.cli.templates import (
    FILES,
    FIRST,
    KEYS,
    NO_ACCESS,
    PRODUCTION,
    PRODUCTION_FILES,
    PRODUCTION_RULES,
    Template,
)
from integrator.deliver.kafka.refused import refused
from integrator.errors import ConfigurationError, Problem
from integrator.imports.draft import environment
from integrator.names.numbers import counted
from integrator.schema import Table
from integrator.tables.contract import Definition

_NAME_SIZE = 12
_OF_DEFINITIONS = "Problems of the definitions. The tables that they concern are not read; `check` names them, too:"
_OF_CHANNEL = "Problems of this channel, as `check` names them:"


@dataclass(frozen=True)
class Target:
    """Where messages go. brokers: None for those of the source. registry: of Avro's schemas; None for JSON."""

    brokers: str | None = None
    registry: str | None = None


@dataclass(frozen=True)
class TopicsRequest:
    """What topics a first channel is to read, and how.

    topics: names and patterns. brokers: of the source. registry: the URL of the source's registry. client: a file of
    properties of a Kafka client. target: where messages go. defined: whether there are definitions of tables.
    """

    topics: Sequence[str]
    brokers: str | None
    registry: str | None
    client: Path | None
    target: Target
    defined: bool


@dataclass(frozen=True)
class Source:
    """The source of a channel that is to be written.

    text: its location, as lines. tables: those that it defines itself. found: lines for people. commands: what is to be
    done before check. waiting: where the changes are. access, actions: further lines of the Kafka location, and of
    actions. topic: where changes are sent. serializer: of keys. secrets: what the environment is to give, with the
    values for the check.
    """

    text: str
    waiting: str
    topic: str
    tables: Sequence[Table] = ()
    found: Sequence[str] = ()
    commands: str = ""
    access: str = ""
    actions: str = ""
    serializer: str = "CONNECT_SCHEMA"
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Options:
    """What the command was given. definitions: the file with table definitions; none where the source has them."""

    definitions: Path | None
    sql_dialect: str | None
    source: Source
    brokers: str
    channel: Path
    template: Template = Template.FIRST


@dataclass(frozen=True)
class Made:
    """A channel that was written: what it has and what to do next, and the problems that are comments in it."""

    text: str
    problems: ConfigurationError | None


def of_files(changes: str, channel: Path, template: Template) -> Source:
    """Return a directory of change files as the source."""
    place = word(paths.in_channel(changes, str(channel)))
    text = FILES if template is Template.FIRST else PRODUCTION_FILES + PRODUCTION_RULES
    there = "://" in changes or Path(changes).exists()
    commands = "" if there else f"  mkdir -p {shlex.quote(changes)}    which `check` requires\n"
    access = "" if template is Template.FIRST else NO_ACCESS
    topic = f"{name_of(channel)}.{{hvr_tbl_name}}"
    return Source(text.format(changes=place), changes, topic, commands=commands, access=access)


def run(options: Options, timezone: str) -> Made:
    """Write the channel. Raises ConfigurationError, and leaves no file, where no table can be read."""
    found, dialect, notes = _definitions(options)
    if not found.tables:
        raise ConfigurationError(found.problems)
    text = _text(options, dialect, found)
    try:
        options.channel.write_text(text, encoding="utf-8")
        with environment(options.source.secrets):
            more, problems = _checked(options.channel, text, timezone, found)
    except BaseException:
        options.channel.unlink(missing_ok=True)
        raise
    return Made(_report(options, dialect, len(found.tables), [*notes, *more]), problems)


def _definitions(options: Options) -> tuple[Definition, str, list[str]]:
    """Return the definitions of the tables, whose SQL they are in, and what is to be noted of that."""
    if options.definitions is None:
        return Definition(list(options.source.tables), []), "", []
    dialect, notes = options.sql_dialect, list[str]()
    if dialect is None:
        dialect, is_certain = dialect_of(options.definitions)
        if not is_certain:
            notes.append(
                f"it is not clear from {options.definitions} which database's SQL it is: it is read as {dialect}"
            )
    return tables.read(str(options.definitions), dialect, declared=True), dialect, notes


def _text(options: Options, dialect: str, found: Definition) -> str:
    made = ""
    if options.definitions is not None:
        file = word(paths.in_channel(str(options.definitions), str(options.channel)))
        names = names_of(found.tables)
        made = f"tables: [{{file: {file}, sql_dialect: {dialect}}}]\n"
        if names:
            entries = "".join(f"\n      {word(given)}: {name}" for given, name in names.items())
            made = f"tables:\n  - file: {file}\n    sql_dialect: {dialect}\n    names:{entries}\n"
    brokers = ", ".join(word(one.strip()) for one in options.brokers.split(","))
    return _comments(_OF_DEFINITIONS, found.problems) + (
        PRODUCTION if options.template is Template.PRODUCTION else FIRST
    ).format(
        name=name_of(options.channel),
        source=options.source.text,
        brokers=f"[{brokers}]",
        access=options.source.access,
        topic=options.source.topic,
        tables=made,
        keys=KEYS.format(serializer=options.source.serializer, more=""),
        actions=options.source.actions,
        state="state",
        errors="",
    )


def _comments(title: str, problems: Sequence[Problem]) -> str:
    lines = [title, *(" ".join(str(one).split()) for one in problems)] if problems else []
    return "".join(f"# {line}\n" for line in lines)


def _checked(channel: Path, text: str, timezone: str, found: Definition) -> tuple[list[str], ConfigurationError | None]:
    """Check the channel; return what is to be noted and its problems, which are comments in it."""
    try:
        return list(plan.build(str(channel), timezone, client=refused).notes), None
    except ConfigurationError as error:
        more = [one for one in error.problems if one not in found.problems]
        if more:
            channel.write_text(text + _comments(_OF_CHANNEL, more), encoding="utf-8")
        return [], error


def _report(options: Options, dialect: str, count: int, notes: Sequence[str]) -> str:
    place, source = options.channel, options.source
    of_file = f" of {options.definitions} ({dialect})" if options.definitions is not None else ""
    noted = "".join(f"\n{line}" for line in (*source.found, *(f"note: {note}" for note in notes)))
    return (
        f"{place}: channel {name_of(place)}, {counted(count, 'table')}{of_file}{noted}\nNext:\n{source.commands}"
        f"  integrator check --channel {place} --connect    try the brokers and topics\n"
        f"  integrator plan --channel {place}               see topics, keys and messages\n"
        f"  integrator --channel {place} --once             send the changes that are in {source.waiting}"
    )


def dialect_of(definitions: Path) -> tuple[str, bool]:
    """Return whose SQL a file is in, and whether it says so.

    Where its words do not say it, it is the first database that understands all of the file, or else the one that has
    the fewest problems.
    """
    notation = tables.NOTATIONS.get(definitions.suffix)
    if notation is None or notation.databases is None:
        return TableFile(file="").sql_dialect, True
    try:
        among, is_certain = notation.databases.candidates(tables.text_of(definitions), definitions.name)
    except (OSError, UnicodeDecodeError):
        return TableFile(file="").sql_dialect, True  # which reading it says
    if is_certain:
        return among[0], True
    wrong: dict[str, int] = {}
    for dialect in among:
        wrong[dialect] = len(tables.read(str(definitions), dialect).problems)
        if not wrong[dialect]:
            break
    return min(wrong, key=wrong.__getitem__), False


def name_of(channel: Path) -> str:
    """Return a channel's name: the file's, as far as the letters of a name go."""
    letters = re.sub(r"[^a-z0-9_]+", "_", channel.stem.lower()).strip("_")
    return (letters if letters[:1].isalpha() else f"c{letters}")[:_NAME_SIZE]


def word(text: str) -> str:
    """Return a text as YAML has it in braces: in quotes where it would be another thing, as null, yes and 12 are."""
    is_plain = re.fullmatch(r"[A-Za-z0-9_./-]+", text) and yaml.safe_load(text) == text
    return text if is_plain else json.dumps(text, ensure_ascii=False)
