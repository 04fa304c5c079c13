"""Which slices of a refresh are completed, on disk: a run that was cut off continues with the others."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from integrator import durable
from integrator.errors import EnvironmentFault
from integrator.names.numbers import counted
from integrator.refresh.slices import Slice


@dataclass(frozen=True)
class RefreshRun:
    """A refresh: its options, which must be the same to continue it; when it began; and its moment."""

    settings: dict[str, Any]
    fingerprint: str
    started: str
    moment: str | None
    online: bool

    @property
    def time(self) -> datetime:
        """When it began."""
        return datetime.fromisoformat(self.started)


class Ledger:
    """The directory `refresh` in a channel's state: run.json, and a file for each slice that is completed."""

    def __init__(self, state: Path) -> None:
        self.path = state / "refresh"

    def unfinished(self) -> RefreshRun | None:
        """Return the run that was begun and not ended."""
        path = self.path / "run.json"
        if not path.exists():
            return None
        try:
            recorded = json.loads(path.read_text(encoding="utf-8"))
            run = RefreshRun(**recorded)
            valid = isinstance(run.settings, dict) and bool(run.time)
        except (ValueError, TypeError, LookupError, AttributeError):
            valid = False
        if not valid:
            raise EnvironmentFault(
                f"{path}: is damaged, and records which refresh is not finished; restore it, or begin anew with --anew"
            )
        return run

    def standing(self) -> Iterator[str]:
        """Yield what the last refresh is: unfinished with so many completed slices, or ended; nothing without one."""
        run = self.unfinished()
        marks = [path for path in self.path.glob("*.json") if path.name not in ("run.json", "finished.json")]
        done = f"{counted(len(marks), 'slice')} completed"
        if run is not None:
            options = " ".join(f"{name}={json.dumps(value)}" for name, value in run.settings.items() if value)
            yield f"refresh of {run.started}: not finished, {done}; run refresh again to continue ({options or 'all'})"
        elif (finished := self.path / "finished.json").exists():
            try:
                recorded = json.loads(finished.read_text(encoding="utf-8"))
                yield f"last refresh: began at {recorded['started']}, ended at {recorded['ended']}, {done}"
            except (OSError, ValueError, LookupError, TypeError) as error:
                yield f"last refresh: {done}; {finished}: is damaged: {error!r}"

    def begin(self, run: RefreshRun) -> None:
        """Write down that a run begins."""
        if self.path.exists():
            shutil.rmtree(self.path)
        durable.make_directory(self.path)
        recorded = asdict(run)
        self._write("run.json", recorded)

    def check(self, run: RefreshRun, settings: dict[str, Any], fingerprint: str) -> None:
        """Raise EnvironmentFault if an unfinished run is another one than is asked for now."""
        if run.settings != settings or run.fingerprint != fingerprint:
            what = (
                "the channel has changed"
                if run.settings == settings
                else f"it was started with {json.dumps(run.settings)}"
            )
            raise EnvironmentFault(
                f"{self.path}: a refresh of {run.started} is not finished, and {what}; finish that one, or "
                "begin anew with --anew"
            )

    def completed(self, part: Slice) -> bool:
        """Return whether a slice is completed in this run. Raises EnvironmentFault if its mark is damaged."""
        return self._mark(part) is not None

    def rows(self, part: Slice) -> int:
        """Return how many rows a slice that is completed has."""
        return int((self._mark(part) or {})["rows"])

    def _mark(self, part: Slice) -> dict[str, Any] | None:
        """Return a slice's mark; None without one, or for another run's mark that reappeared after a power cut."""
        path, run = self.path / f"{part.name}.json", self.path / "run.json"
        if not path.exists():
            return None
        try:
            mark = json.loads(path.read_text(encoding="utf-8"))
            rows = mark["rows"]
        except (ValueError, LookupError, TypeError):
            rows = None
        if type(rows) is not int:
            raise EnvironmentFault(
                f"{path}: is damaged, and records that a slice is completed; remove it to send the slice again"
            )
        unfinished = self.unfinished() if run.exists() else None
        return mark if unfinished is None or mark.get("run") == unfinished.started else None

    def mark(self, part: Slice, result: dict[str, Any]) -> None:
        """Write down that a slice is completed: after every acknowledgement (I1)."""
        run = self.unfinished()
        self._write(f"{part.name}.json", {**result, "run": run.started if run else None})

    def end(self) -> None:
        """Write down that the run is completed, and when."""
        recorded = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
        self._write("finished.json", recorded | {"ended": now()})
        durable.remove([self.path / "run.json"])

    def forget(self) -> None:
        """Forget a run that was begun, of which nothing is completed: the next one may be another."""
        durable.remove([self.path / "run.json"])

    def _write(self, name: str, content: dict[str, Any]) -> None:
        durable.replace(self.path / name, json.dumps(content).encode())


def now() -> str:
    """Return the time as a run writes it."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
