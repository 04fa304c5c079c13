"""The progress of a refresh: bars where somebody looks, lines in the log where nobody does."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from integrator.refresh.slices import Slice

_EVERY_S = 0.5


class Bars:
    """A bar a table: slices that are through, rows, rows a second, time left."""

    def __init__(self, slices: list[Slice], directory: Path) -> None:
        self._directory, self._numbers = directory, {part.name: number for number, part in enumerate(slices, 1)}
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:.0f}/{task.total:.0f} slices"),
            TextColumn("{task.fields[rows]:,} rows"),
            TextColumn("{task.fields[rate]:,.0f} rows/s"),
            TimeRemainingColumn(),
            console=Console(file=sys.stderr),
            disable=not sys.stderr.isatty(),
        )
        self._of: dict[str, list[Slice]] = {}
        for part in slices:
            self._of.setdefault(part.table, []).append(part)
        self._tasks: dict[str, TaskID] = {
            table: self._progress.add_task(table, total=len(parts), rows=0, rate=0.0)
            for table, parts in self._of.items()
        }
        self._before: dict[str, int] = {}

    def through(self, part: Slice, rows: int, *, earlier: bool = False) -> None:
        """Take note of a slice that is through; `earlier`: in a run before this one."""
        self._progress.advance(self._tasks[part.table])
        if earlier:
            self._before[part.table] = self._before.get(part.table, 0) + rows

    def _look(self) -> None:
        for table, task in self._tasks.items():
            new = sum(self._read(part) for part in self._of[table])
            seconds = self._progress.tasks[task].elapsed or 0.0
            rate = new / seconds if seconds else 0.0
            self._progress.update(task, rows=new + self._before.get(table, 0), rate=rate)

    def _read(self, part: Slice) -> int:
        paths = self._directory.glob(f"{self._numbers[part.name]}.[0-9]*")
        return sum(int(path.read_text() or 0) for path in paths if not path.name.endswith(".tmp"))

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show the bars."""
        ended = threading.Event()

        def look() -> None:
            while not ended.wait(_EVERY_S):
                self._look()

        watcher = threading.Thread(target=look, daemon=True)
        with self._progress:
            watcher.start()
            try:
                yield
            finally:
                ended.set()
                watcher.join()
                self._look()
