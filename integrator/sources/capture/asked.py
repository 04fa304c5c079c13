"""Refreshes that are asked for: files beside the spool, which the capture takes while it runs, or when it starts."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from integrator import durable
from integrator.names.numbers import counted

_DIRECTORY = "refreshes"


@dataclass(frozen=True)
class Asked:
    """A refresh of a table. where: a condition in SQL on the rows; empty: all. truncate: a truncate is before them.

    gone: values of the columns `key`, as text, of rows that consumers are to lose: a delete of each is before the rows.
    keys: of how many keys the condition is, which may be of masked columns; 0: of others, as it was given.
    """

    where: str = ""
    truncate: bool = False
    key: list[str] = field(default_factory=list)
    gone: list[list[str]] = field(default_factory=list)
    keys: int = 0

    @property
    def shown(self) -> str:
        """The condition, for logs."""
        return counted(self.keys, "key") if self.keys else self.where


def ask(state: Path, table: str, refresh: Asked) -> None:
    """Ask for a refresh of a table, by its schema and name: after those that were asked for before."""
    directory = state / _DIRECTORY
    durable.make_directory(directory)
    path = directory / f"{time.time_ns():020}.{uuid.uuid4().hex}.json"
    durable.replace(path, json.dumps({"table": table, **asdict(refresh)}).encode())


def asked(state: Path) -> Iterator[tuple[Path, str, Asked]]:
    """Yield what is asked for, in its order: its file, the table, and the refresh."""
    for path in sorted((state / _DIRECTORY).glob("*.json")):
        found = json.loads(path.read_bytes())
        yield path, found.pop("table"), Asked(**found)
