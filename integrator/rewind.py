"""Synced cycles, looked back on, and gone back to: what came after one is sent again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from integrator.errors import EnvironmentFault
from integrator.state import State


@dataclass(frozen=True)
class Synced:
    """A synced cycle: when, and how many files, rows read, messages and their bytes, and rows that wait behind it.

    last_file: the number in the journal of the last change file that it took.
    """

    cycle: int
    at: datetime
    files: int
    rows: int
    messages: int
    bytes: int
    held: int
    last_file: int


def history(state: State) -> list[Synced]:
    """Return the synced cycles that the state directory still knows, the earliest first."""
    return [_read(state.path / "synced" / f"{cycle}.json") for cycle in _kept(state)]


def _kept(state: State) -> list[int]:
    return sorted(int(path.stem) for path in (state.path / "synced").glob("[0-9]*.json"))


def _read(path: Path) -> Synced:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        return Synced(
            cycle=int(path.stem),
            at=datetime.fromtimestamp(path.stat().st_mtime, timezone.utc),
            files=said["files"],
            rows=said["rows"],
            messages=said["messages"],
            bytes=said["bytes"],
            held=said.get("held", 0),
            last_file=said["carry"]["ordinal"],
        )
    except (OSError, ValueError, KeyError) as error:
        raise EnvironmentFault(
            f"{path}: cannot be read ({error!r}); restore it, or go back to another cycle"
        ) from error


def move_back(state: State, cycle: int) -> list[int]:
    """Have the next start go on behind the synced `cycle`; return the cycles that are no longer synced.

    The channel must be locked. Marks go before Spark's commits and offsets, the last first: what is left half done by a
    crash is then a lost mark, which the next start refuses, and going back again mends. Raises EnvironmentFault where
    the cycle is not there any more.
    """
    known = _kept(state)
    checkpoint = Path(state.checkpoint)
    whole = all((checkpoint / part / str(cycle)).exists() for part in ("offsets", "commits"))
    if cycle not in known or not whole:
        kept = ", ".join(str(one) for one in known) or "none"
        raise EnvironmentFault(
            f"{state.path}: cycle {cycle} cannot be gone back to; the synced cycles that are kept are {kept}; to send "
            "everything again, remove the whole state directory"
        )
    later = sorted((one for one in known if one > cycle), reverse=True)
    for one in later:
        for path in (state.path / "synced").glob(f"{one}.*"):
            path.unlink()
    for part in ("commits", "offsets"):
        directory = checkpoint / part
        numbers = sorted((int(path.name) for path in directory.iterdir() if path.name.isdigit()), reverse=True)
        for number in (number for number in numbers if number > cycle):
            (directory / str(number)).unlink()
            (directory / f".{number}.crc").unlink(missing_ok=True)
    return later
