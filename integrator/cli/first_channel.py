"""A first channel, from a file with table definitions; checked, with what to do next.

Problems are comments in the channel. A file without any table that can be read makes no channel.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from integrator import plan, tables
from integrator.channel import paths
from integrator.cli.channel_names import names_of
from integrator.cli.templates import PRODUCTION, Template
from integrator.deliver.kafka.refused import refused
from integrator.errors import ConfigurationError, Problem
from integrator.names.numbers import counted
from integrator.tables import Definition, whose

_NAME_SIZE = 12
_OF_DEFINITIONS = "Problems of the definitions. The tables that they concern are not read; `check` names them, too:"
_OF_CHANNEL = "Problems of this channel, as `check` names them:"
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


@dataclass(frozen=True)
class Made:
    """A channel that was written: what it has and what to do next, and the problems that are comments in it."""

    text: str
    problems: ConfigurationError | None


def run(options: Options, timezone: str) -> Made:
    """Write the channel. Raises ConfigurationError, and leaves no file, where no table can be read."""
    dialect, is_told = options.sql_dialect, True
    if dialect is None:
        dialect, is_told = _dialect_of(options.definitions)
    found = tables.read(str(options.definitions), dialect, declared=True)
    if not found.tables:
        raise ConfigurationError(found.problems)
    text = _text(options, dialect, found)
    try:
        options.channel.write_text(text, encoding="utf-8")
        notes, problems = _checked(options.channel, text, timezone, found)
    except BaseException:
        options.channel.unlink(missing_ok=True)
        raise
    if not is_told:
        notes = [f"whose SQL {options.definitions} is cannot be told from it: it is read as {dialect}", *notes]
    return Made(_report(options, dialect, len(found.tables), notes), problems)


def _text(options: Options, dialect: str, found: Definition) -> str:
    channel = str(options.channel)
    file = _word(paths.in_channel(str(options.definitions), channel))
    names = names_of(found.tables)
    made = f"tables: [{{file: {file}, sql_dialect: {dialect}}}]"
    if names:
        entries = "".join(f"\n      {_word(given)}: {name}" for given, name in names.items())
        made = f"tables:\n  - file: {file}\n    sql_dialect: {dialect}\n    names:{entries}"
    return _comments(_OF_DEFINITIONS, found.problems) + (
        PRODUCTION if options.template is Template.PRODUCTION else _CHANNEL
    ).format(
        name=_name_of(options.channel),
        changes=_word(paths.in_channel(options.changes, channel)),
        brokers=", ".join(_word(one.strip()) for one in options.brokers.split(",")),
        tables=made,
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
    place = options.channel
    of_file = f"{counted(count, 'table')} of {options.definitions} ({dialect})"
    noted = "".join(f"\nnote: {note}" for note in notes)
    return (
        f"{place}: channel {_name_of(place)}, {of_file}{noted}\nNext:\n{_directory(options.changes)}"
        f"  integrator check --channel {place} --connect    try the brokers and topics\n"
        f"  integrator plan --channel {place}               see topics, keys and messages\n"
        f"  integrator --channel {place} --once             send the changes that are in {options.changes}"
    )


def _directory(changes: str) -> str:
    """Return how to make the directory of changes, where there is none on this machine."""
    if "://" in changes or Path(changes).exists():
        return ""
    return f"  mkdir -p {shlex.quote(changes)}    which `check` looks for\n"


def _dialect_of(definitions: Path) -> tuple[str, bool]:
    """Return whose SQL a file is in, and whether it says so.

    Where its words do not say it, it is the first database that understands all of the file, or else the one that has
    the fewest problems.
    """
    if definitions.suffix not in (".sql", ".ddl"):
        return whose.SQL[0], True
    try:
        among, is_told = whose.candidates(tables.text_of(definitions), definitions.name)
    except (OSError, UnicodeDecodeError):
        return whose.SQL[0], True  # which reading it says
    if is_told:
        return among[0], True
    wrong: dict[str, int] = {}
    for dialect in among:
        wrong[dialect] = len(tables.read(str(definitions), dialect).problems)
        if not wrong[dialect]:
            break
    return min(wrong, key=wrong.__getitem__), False


def _name_of(channel: Path) -> str:
    """Return a channel's name: the file's, as far as the letters of a name go."""
    letters = re.sub(r"[^a-z0-9_]+", "_", channel.stem.lower()).strip("_")
    return (letters if letters[:1].isalpha() else f"c{letters}")[:_NAME_SIZE]


def _word(text: str) -> str:
    """Return a text as YAML has it in braces."""
    return text if re.fullmatch(r"[A-Za-z0-9_./-]+", text) else json.dumps(text, ensure_ascii=False)
