"""Which slices of a refresh are through, on disk: a run that was cut off goes on with the others."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from integrator.errors import EnvironmentFault
from integrator.refresh.slices import Slice


@dataclass(frozen=True)
class Run:
    """A refresh: what it was told, which must be the same to go on with it; when it began; and its moment."""

    told: dict[str, Any]
    fingerprint: str
    started: str
    moment: str | None
    online: bool

    @property
    def time(self) -> datetime:
        """When it began."""
        return datetime.fromisoformat(self.started)


class Ledger:
    """The directory `refresh` in a channel's state: run.json, and a file for each slice that is through."""

    def __init__(self, state: Path) -> None:
        self.path = state / "refresh"

    def unfinished(self) -> Run | None:
        """Return the run that was begun and not ended."""
        path = self.path / "run.json"
        return Run(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None

    def begin(self, run: Run) -> None:
        """Write down that a run begins."""
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.mkdir(parents=True)
        self._write("run.json", asdict(run))

    def check(self, run: Run, told: dict[str, Any], fingerprint: str) -> None:
        """Raise EnvironmentFault if an unfinished run is another one than is asked for now."""
        if run.told != told or run.fingerprint != fingerprint:
            what = "the channel is another" if run.told == told else f"it was told {json.dumps(run.told)}"
            raise EnvironmentFault(
                f"{self.path}: a refresh of {run.started} is not finished, and {what}; finish it as it was begun, or "
                "begin anew with --anew"
            )

    def through(self, part: Slice) -> bool:
        """Say whether a slice is through."""
        return (self.path / f"{part.name}.json").exists()

    def rows(self, part: Slice) -> int:
        """Return how many rows a slice that is through has."""
        return int(json.loads((self.path / f"{part.name}.json").read_text(encoding="utf-8"))["rows"])

    def mark(self, part: Slice, said: dict[str, Any]) -> None:
        """Write down that a slice is through: after every acknowledgement (I1)."""
        self._write(f"{part.name}.json", said)

    def end(self) -> None:
        """Write down that the run is through."""
        (self.path / "run.json").replace(self.path / "finished.json")

    def forget(self) -> None:
        """Forget a run that was begun, of which nothing is through: the next one may be another."""
        (self.path / "run.json").unlink(missing_ok=True)

    def _write(self, name: str, said: dict[str, Any]) -> None:
        temporary = self.path / f".{name}.tmp"
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(said, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(self.path / name)


def now() -> str:
    """Return the time as a run writes it."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
