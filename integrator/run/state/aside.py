"""Tables that are set aside: they cannot go on, and the others do. Kept in the state directory (`errors.tables`).

A table that is set aside is not sent, and its changes are counted. It is tried again at each start, and when it is
resumed. Then its rows are read again after a truncate, for its changes of meanwhile are gone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path

from integrator import durable
from integrator.errors import EnvironmentFault

_FILE, _REQUEST = "aside.json", "resume-tables"


@dataclass(frozen=True)
class Aside:
    """A table that is set aside. table: its schema and name at the source. since: when it was, in UTC."""

    table: str
    reason: str
    since: str


def read(state: Path) -> dict[str, Aside]:
    """Return the tables that are set aside, by their names in the channel. Raises EnvironmentFault."""
    path = state / _FILE
    if not path.exists():
        return {}
    try:
        return {name: Aside(**one) for name, one in json.loads(path.read_bytes()).items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise EnvironmentFault(
            f"{path}: is damaged ({error!r}), and it records which tables are set aside; restore it"
        ) from error


def keep(
    state: Path, reasons: Mapping[str, str], names: Mapping[str, str], leave: Callable[[list[str]], None]
) -> list[str]:
    """Keep which tables are set aside, and why; return those that are newly so.

    names: of each table its schema and name at the source. leave: is called with these names of tables that are not set
    aside any more, before that is kept: else a crash between would leave out their changes without a word.
    """
    before = read(state)
    if before.keys() == reasons.keys():
        return []
    if gone := [one.table for name, one in before.items() if name not in reasons]:
        leave(gone)
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    kept = {name: before.get(name, Aside(names.get(name, name), why, now)) for name, why in reasons.items()}
    durable.replace(state / _FILE, json.dumps({name: asdict(one) for name, one in kept.items()}).encode())
    return [name for name in kept if name not in before]


def request(state: Path, names: Collection[str]) -> None:
    """Ask the process of the channel to try tables again."""
    durable.replace(state / _REQUEST, json.dumps(sorted({*requested(state), *names})).encode())


def is_requested(state: Path) -> bool:
    """Return whether tables are to be tried again."""
    return (state / _REQUEST).exists()


def requested(state: Path) -> set[str]:
    """Return which tables are to be tried again."""
    path = state / _REQUEST
    return set(json.loads(path.read_bytes())) if path.exists() else set()


def forget_request(state: Path) -> None:
    """Forget which tables are to be tried again: they were."""
    durable.remove([state / _REQUEST])
