"""The progress of a refresh where somebody watches: a line for each slice that is being sent, and one for all of it.

Where nobody does, stderr has the log alone: JSON lines.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from integrator.names.numbers import counted
from integrator.refresh.estimate import Estimate
from integrator.refresh.slices import Slice

_EVERY_S = 0.5
_BAR = 12
"""Characters of a bar: a line fits 80 columns with a table's name and numbers of eight digits."""


def are_seen() -> bool:
    """Return whether there is somebody to see bars: stderr is a terminal."""
    return sys.stderr.isatty()


class Bars:
    """Slices that are completed and being sent, rows, rows a second, and the time left."""

    def __init__(self, slices: list[Slice], directory: Path) -> None:
        """Show these slices; `directory` has a file for each part of one, with its rows so far."""
        self._directory, self._numbers = directory, {part.name: number for number, part in enumerate(slices, 1)}
        self._estimate = Estimate(slices)
        self._lock = threading.Lock()
        self._begun = time.monotonic()
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(_BAR),
            TextColumn("{task.fields[rows]}"),
            TextColumn("{task.fields[rest]}"),
            console=Console(file=sys.stderr, highlight=False),
            disable=not are_seen(),
            redirect_stdout=False,
        )
        self._under_way: dict[Slice, tuple[TaskID, float]] = {}
        self._all = self._progress.add_task("", total=None, rows="", rest="")

    def expect(self, rows: Mapping[str, int]) -> None:
        """Take note of how many rows tables may have."""
        self._estimate.expected = rows

    def begin(self, part: Slice) -> None:
        """Take note of a slice that is being sent; also where an earlier try of it ended."""
        with self._lock:
            self._remove(part)
            name = f"{part.table}, slice {part.number + 1} of {part.total}"
            task = self._progress.add_task(name, total=None, rows="", rest="")
            self._under_way[part] = (task, time.monotonic())

    def complete(self, part: Slice, rows: int, *, earlier: bool = False) -> None:
        """Take note of a slice that is completed; earlier: in a run before this one."""
        with self._lock:
            self._estimate.complete(part, rows, earlier=earlier)
            self._remove(part)

    def _remove(self, part: Slice) -> None:
        if part in self._under_way:
            self._progress.remove_task(self._under_way.pop(part)[0])

    def _advance(self) -> None:
        with self._lock:
            now = time.monotonic()
            for part, (task, begun) in self._under_way.items():
                rows = self._read(part)
                self._estimate.send(part, rows)
                rate = rows / max(now - begun, 0.001)
                self._show(task, rows, self._estimate.size(part), "", f"{rate:,.0f} rows/s")
            elapsed, slices = now - self._begun, self._estimate.slices
            left = self._estimate.seconds_left(elapsed)
            rest = f"{timedelta(seconds=round(left))} left" if left else ""
            ended = self._estimate.completed == len(slices)
            total = self._estimate.total
            of = "" if ended or total is None else f" of ~{max(total, self._estimate.rows):,}"
            description = f"{self._estimate.completed} of {counted(len(slices), 'slice')}"
            self._progress.update(self._all, description=description)
            self._show(self._all, self._estimate.rows, total, of, rest)

    def _show(self, task: TaskID, rows: int, total: int | None, of: str, rest: str) -> None:
        self._progress.update(
            task,
            total=total and max(total, rows),
            completed=rows if total else 0,
            rows=f"{rows:,}{of} rows" if of else counted(rows, "row"),
            rest=rest,
        )

    def _read(self, part: Slice) -> int:
        paths = self._directory.glob(f"{self._numbers[part.name]}.[0-9]*")
        return sum(int(path.read_text() or 0) for path in paths if not path.name.endswith(".tmp"))

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the bars."""
        if not are_seen():
            yield
            return
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(_EVERY_S):
                self._advance()

        watcher = threading.Thread(target=watch, daemon=True)
        self._begun = time.monotonic()
        with self._progress:
            watcher.start()
            try:
                yield
            finally:
                ended.set()
                watcher.join()
                self._advance()
