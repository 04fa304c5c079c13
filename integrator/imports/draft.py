"""A channel that is made of another product's configuration: its parts, its report, and its text."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from integrator import plan
from integrator.channel import paths
from integrator.channel.secret import REFERENCE, passwords_of
from integrator.deliver.kafka.refused import refused
from integrator.errors import ConfigurationError, Problem
from integrator.imports.connect_file import REFERENCE as CONNECTS
from integrator.imports.report import Report
from integrator.names.numbers import counted
from integrator.plan import Plan
from integrator.sources.files.source import Files

_PLAIN = re.compile(r"(?:[A-Za-z_/]|\.\.?/)[A-Za-z0-9_./-]*")
_WORDS = ("true", "false", "yes", "no", "on", "off", "y", "n", "null")
"""Words that YAML 1.1 takes for something else than text (https://yaml.org/type/bool.html)."""
PROPERTY = "HVR_KAFKA_PROPERTY"
OF_URL = "URL_PASSWORD"
"""The environment variable that has the password of a URL; further ones are numbered."""
SCOPE = ("group", "table", "Context")
_TOGETHER = ("Integrate", "Capture", "TableProperties")


@dataclass
class Draft:
    """The parts of a channel, as they stand in its file.

    origin: what it is made of. source, kafka: their locations' properties, beside the class. more: further keys of the
    channel. variables: of the job. properties: librdkafka's, name=value. remarks: comments at the source. report: what
    the author must know.
    secrets: the environment variables that the channel asks for, with the values that the check has; where a value is
    not known, one of the same form. They are written nowhere.
    """

    name: str
    origin: str
    source: dict[str, Any] = field(default_factory=dict)
    kafka: dict[str, Any] = field(default_factory=dict)
    source_name: str = "src"
    kafka_name: str = "kaf"
    more: dict[str, Any] = field(default_factory=dict)
    tables: list[dict[str, Any]] = field(default_factory=list)
    table_groups: dict[str, list[str]] = field(default_factory=dict)
    actions: list[dict[str, Any]] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    properties: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    report: Report = field(default_factory=Report)
    secrets: dict[str, str] = field(default_factory=dict)
    keys: dict[str, list[str]] = field(default_factory=dict)
    """The columns that are taken for the key of a table, in the place of its own."""
    guessed: bool = False

    def add_action(self, action: str, **parameters: Any) -> None:
        """Add an action; a parameter that is None is not given. What one of the same scope says stands together."""
        given = {key: value for key, value in parameters.items() if value is not None}
        scope = {"action": action, **{key: given.pop(key) for key in SCOPE if key in given}}
        together = self.actions if action in _TOGETHER else []
        same = [one for one in together if {key: one[key] for key in ("action", *SCOPE) if key in one} == scope]
        if same and not given.keys() & same[0].keys():
            same[0].update(given)
        else:
            self.actions.append(scope | given)

    def secret(self, key: str, name: str, value: str | None, form: str = "") -> str:
        """Return the reference to an environment variable that is written in the place of a secret, and note it.

        value: the secret, for the check; None or a reference of the other product's where it is not known: then the
        check has `form`.
        """
        known = value is not None and "${" not in value
        self.secrets[name] = value if known and value is not None else form or f"the value of {name}"
        self.guessed |= not known
        self.report.todo(f"{key} is not written down: give it in the environment as {name}")
        return f"${{{name}}}"

    def text(self, channel: Path) -> str:
        """Return the channel's file, whose definitions stand where `channel` finds them."""
        for parts in (self.source, self.kafka, self.more, self.variables):
            parts |= {key: self._without_passwords(value) for key, value in parts.items()}
        self.actions = [self._without_passwords(action) for action in self.actions]
        self.properties = [self._without_passwords(one) for one in self.properties]
        return "".join(self._lines(channel))

    def _without_passwords(self, value: Any) -> Any:
        """Return a value with references in the place of the passwords of URLs in it (I7)."""
        match value:
            case Mapping():
                return {key: self._without_passwords(one) for key, one in value.items()}
            case list() | tuple():
                return [self._without_passwords(one) for one in value]
            case str():
                value = CONNECTS.sub(self._of_connect, value)
                for password in filter(None, passwords_of(value)):
                    if not REFERENCE.search(password):
                        place = rf"(?<=[:/=]){re.escape(password)}(?=[@&;\s]|$)"
                        value = re.sub(place, self._of_url(password), value)
        return value

    def _of_connect(self, found: re.Match[str]) -> str:
        """Return the reference that stands in the place of one of Kafka Connect's."""
        name = re.sub(r"[^A-Z0-9]+", "_", found[0].rpartition(":")[2].upper()).strip("_") or "VALUE"
        return f"${{{name}}}" if name in self.secrets else self.secret(f"the value of {found[0]}", name, None)

    def _of_url(self, password: str) -> str:
        known = [name for name in self.secrets if name.startswith(OF_URL)]
        same = next((name for name in known if self.secrets[name] == password), None)
        name = f"{OF_URL}_{len(known) + 1}" if known else OF_URL
        return f"${{{same}}}" if same else self.secret("the password of a URL", name, password)

    def _lines(self, channel: Path) -> Iterator[str]:
        tables = [one | {"file": _named(one["file"], channel)} for one in self.tables]
        yield f"# Imported from {self.origin}.\nchannel: {self.name}\n"
        yield from (f"{key}: {flow(value)}\n" for key, value in self.more.items())
        yield "locations:\n"
        yield from (f"  # {remark}\n" for remark in self.remarks)
        yield f"  {self.source_name}: {flow(self.source)}\n  {self.kafka_name}:\n    class: kafka\n"
        yield from (f"    {key}: {flow(value)}\n" for key, value in self.kafka.items())
        yield f"tables: {flow(tables)}\n" if tables else ""
        if self.table_groups:
            yield f"table_groups: {flow(self.table_groups)}\n"
        joined = {PROPERTY: ";".join(self.properties)} if self.properties else {}
        variables = [{"action": "Environment", "Name": k, "Value": v} for k, v in (self.variables | joined).items()]
        actions = [*self.actions, *variables]
        yield "actions:\n" if actions else ""
        yield from (f"  - {flow(action)}\n" for action in actions)


def _named(file: Path | str, channel: Path) -> str:
    """Return how the channel names a file: a path is where the command was started, a text beside the channel."""
    return file if isinstance(file, str) else paths.in_channel(str(file), str(channel))


def flow(value: Any) -> str:
    """Return a value as YAML has it on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case Mapping():
            return "{" + ", ".join(f"{flow(key)}: {flow(one)}" for key, one in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(flow, value)) + "]"
    text = str(value)
    if (_PLAIN.fullmatch(text) and text.lower() not in _WORDS) or text == "class":
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\u{ord(one):04x}" for one in quoted)


def refuse_existing(*files: Path) -> None:
    """Raise ConfigurationError where a file that is to be written is there already."""
    for file in files:
        if file.exists():
            raise ConfigurationError(f"{file}: is there already; give another --channel, or remove it")


def check(draft: Draft, out: Path, timezone: str) -> Plan:
    """Return the plan of the channel that was written to `out`. Raises ConfigurationError with all problems."""
    with environment(draft.secrets):
        return plan.build(str(out), timezone, client=_unchecked if draft.guessed else refused)


def _unchecked(_: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield nothing: librdkafka would refuse what is guessed, such as certificates."""
    yield from ()


def write(draft: Draft, out: Path, timezone: str) -> tuple[str, ConfigurationError | None]:
    """Write the channel and check it; return what it has and what has no counterpart, and the check's problems.

    Raises ConfigurationError where the file is there already.
    """
    refuse_existing(out)
    out.write_text(draft.text(out), encoding="utf-8")
    try:
        made = check(draft, out, timezone)
    except ConfigurationError as error:
        mend = "the channel is written with these problems: mend them in it, and integrator check shows what is left"
        problems = error.problems or [Problem(str(out), 0, "", str(error))]
        head = f"{out}: channel {draft.name}"
        return draft.report.text(head), ConfigurationError([*problems, Problem(str(out), 0, "", mend)])
    count = len(made.recipe.tables)
    head = f"{out}: channel {made.channel}, {counted(count, 'table')}"
    text = draft.report.text(head, made.notes)
    return f"{text}\nNext: {_directory(made)}integrator check --channel {out} --connect", None


def _directory(made: Plan) -> str:
    """Return the command that makes the directory of change files, where there is none: check requires it."""
    path = made.source.location.path if isinstance(made.source, Files) else ""
    return "" if not path or Path(path).exists() else f"mkdir -p {shlex.quote(paths.as_known(path))}; "


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """Have values in the environment while the channel is checked; those that are there stay."""
    added = [name for name in values if name not in os.environ]
    os.environ.update({name: values[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]
