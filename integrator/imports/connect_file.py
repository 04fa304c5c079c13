"""A configuration of Kafka Connect: a connector's JSON, as its REST interface takes it, or a file of properties.

https://kafka.apache.org/documentation/#connect_rest;
https://docs.oracle.com/javase/8/docs/api/java/util/Properties.html#load-java.io.Reader-.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from integrator.errors import ConfigurationError

_KEY = re.compile(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
REFERENCE = re.compile(r"\$\{[\w-]+:[^}$]*\}")
"""What a worker puts a value in the place of (https://kafka.apache.org/documentation/#connect_configproviders)."""
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@dataclass
class Config:
    """A connector's properties. taken: those that were inspected, and so have a counterpart."""

    values: dict[str, str]
    taken: set[str] = field(default_factory=set)

    def get(self, key: str, *others: str, default: str = "") -> str:
        """Return the value of a property, or of the first of its `others` names that is given.

        Raises ConfigurationError for a reference, whose value only Kafka Connect knows.
        """
        for name in (key, *others):
            if name in self.values:
                self.taken.add(name)
                value = self.values[name].strip()
                if found := REFERENCE.search(value):
                    text = f"{name}: {found[0]} is a reference that a worker of Kafka Connect resolves: write its value"
                    raise ConfigurationError(text)
                return value
        return default

    def on(self, key: str, *, default: bool) -> bool:
        """Return whether a property is true."""
        return self.get(key, default=str(default)).lower() == "true"

    def below(self, prefix: str) -> dict[str, str]:
        """Return the properties whose names begin with `prefix`, without it."""
        found = {name: value for name, value in self.values.items() if name.startswith(prefix)}
        self.taken |= set(found)
        return {name.removeprefix(prefix): value.strip() for name, value in found.items()}

    def rest(self) -> Iterator[str]:
        """Yield the properties that were not inspected."""
        yield from (name for name in self.values if name not in self.taken)


def read(file: Path, worker: Path | None = None) -> Config:
    """Return what a file says of a connector, after that its worker's. Raises ConfigurationError.

    Of a worker's properties, the connector's are its converters and its producer's, which the worker's file has as
    producer.…, and the brokers.
    """
    values = values_of(file)
    if worker is not None:
        for name, value in values_of(worker).items():
            if name.startswith(("key.converter", "value.converter")):
                part = name.partition(".converter")[0] + ".converter"
                values.setdefault(name, value) if part not in values_of(file) else None
            elif name.startswith("producer."):
                values.setdefault(f"producer.override.{name.removeprefix('producer.')}", value)
            elif name == "bootstrap.servers":
                values.setdefault("producer.override.bootstrap.servers", value)
    return Config(values)


def values_of(file: Path) -> dict[str, str]:
    """Return the properties in a file. Raises ConfigurationError."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file}: cannot be read: {error}") from error
    if not text.lstrip().startswith("{"):
        return dict(_properties(text))
    try:
        found = json.loads(text)
    except ValueError as error:
        raise ConfigurationError(f"{file}: is no JSON: {error}") from error
    config = found.get("config", found)
    if not isinstance(config, dict):
        raise ConfigurationError(f'{file}: "config" is no object; a connector is {{"name": …, "config": {{…}}}}')
    return {name: _text(value) for name, value in config.items() if not isinstance(value, dict | list)}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def _properties(text: str) -> Iterator[tuple[str, str]]:
    """Yield names and values of Java's properties."""
    for line in _joined(text.splitlines()):
        found = _KEY.match(line)
        if found is not None:
            yield _unescaped(found[1]), _unescaped(line[found.end() :])


def _joined(lines: list[str]) -> Iterator[str]:
    """Yield lines without comments, those together that a backslash at the end joins."""
    begun = ""
    for line in lines:
        text = begun + line.lstrip()
        if not begun and (not text or text[0] in "#!"):
            continue
        odd = (len(text) - len(text.rstrip("\\"))) % 2
        begun = text[:-1] if odd else ""
        if not odd:
            yield text
    if begun:
        yield begun


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _LETTERS.get(found[2], found[2]), text)
