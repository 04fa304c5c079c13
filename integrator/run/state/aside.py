"""Tables that are set aside: they cannot be sent, and the others are. Kept in the state directory (`errors.tables`).

The changes of a table that is set aside are held (`sources.capture.held`). It is tried again at each start, and when it
is resumed: then its changes are sent, in order.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from integrator import durable
from integrator.errors import EnvironmentFault
from integrator.names.numbers import size
from integrator.sources.contract import HeldTable

_FILE, _REQUEST = "aside.json", "resume-tables"


@dataclass(frozen=True)
class Aside:
    """A table that is set aside. since: when it was, in UTC. names, after: as of `HeldTable`."""

    reason: str
    since: str
    names: tuple[str, ...]
    after: int

    @property
    def held(self) -> HeldTable:
        """What is held of it."""
        return HeldTable(self.names, self.after)


def read(state: Path) -> dict[str, Aside]:
    """Return the tables that are set aside, by their names in the channel. Raises EnvironmentFault."""
    path = state / _FILE
    if not path.exists():
        return {}
    try:
        found = {name: Aside(**one) for name, one in json.loads(path.read_bytes()).items()}
        return {name: replace(one, names=tuple(one.names)) for name, one in found.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise EnvironmentFault(
            f"{path}: is damaged ({error!r}), and it records which tables are set aside; restore it"
        ) from error


def keep(state: Path, reasons: Mapping[str, str], names: Mapping[str, tuple[str, ...]], after: int) -> list[str]:
    """Keep which tables are set aside, and why; return those that are newly so.

    names, after: of each table, as of `HeldTable`.
    """
    before, now = read(state), datetime.now(timezone.utc).isoformat(timespec="seconds")
    new = {name: Aside(why, now, names[name], after) for name, why in reasons.items() if name not in before}
    kept = {name: replace(before[name], reason=why) for name, why in reasons.items() if name in before}
    if (found := {**kept, **new}) != before:
        _write(state, found)
    return [*new]


def _write(state: Path, tables: Mapping[str, Aside]) -> None:
    durable.replace(state / _FILE, json.dumps({name: asdict(one) for name, one in tables.items()}).encode())


def move_back(state: Path, after: int) -> None:
    """Have the changes of tables that are set aside be held from an earlier slice on: the state is moved back to it."""
    before = read(state)
    moved = {name: replace(one, after=min(one.after, after)) for name, one in before.items()}
    if moved != before:
        _write(state, moved)


def texts(state: Path) -> Iterator[str]:
    """Yield which tables are set aside, since when, how much of their changes is held, and why: a line each."""
    for name, one in read(state).items():
        held = size(one.held.held_bytes(state))
        yield f"table {name} is set aside since {one.since}, {held} of its changes are held: {one.reason}"


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
