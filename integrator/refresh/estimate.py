"""How much of a refresh is done, and how long the rest takes if it continues so: by rows, as far as they are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from integrator.refresh.slices import Slice


@dataclass
class _Mean:
    rows: int = 0
    slices: int = 0

    def add(self, rows: int) -> None:
        self.rows, self.slices = self.rows + rows, self.slices + 1

    @property
    def value(self) -> int | None:
        return self.rows // self.slices if self.slices else None


@dataclass
class Estimate:
    """The rows of slices: completed, sent so far, and expected.

    expected: rows of tables, as the database's statistics have them. A slice of another table is expected to have as
    many rows as the completed slices of its table have on average, or else as all completed ones.
    """

    slices: Sequence[Slice]
    expected: Mapping[str, int] = field(default_factory=dict)
    _completed: dict[str, int] = field(default_factory=dict)
    _sent: dict[str, int] = field(default_factory=dict)
    _means: dict[str, _Mean] = field(default_factory=dict)
    _mean: _Mean = field(default_factory=_Mean)
    _before: int = 0

    def complete(self, part: Slice, rows: int, *, earlier: bool = False) -> None:
        """Take note of a completed slice; earlier: in a run before this one."""
        self._completed[part.name] = rows
        self._sent.pop(part.name, None)
        self._means.setdefault(part.table, _Mean()).add(rows)
        self._mean.add(rows)
        self._before += rows if earlier else 0

    def send(self, part: Slice, rows: int) -> None:
        """Take note of how many rows of a slice are sent so far."""
        if part.name not in self._completed:
            self._sent[part.name] = rows

    @property
    def completed(self) -> int:
        """How many slices are completed."""
        return len(self._completed)

    @property
    def rows(self) -> int:
        """The rows of completed slices, and of others so far."""
        return self._mean.rows + sum(self._sent.values())

    def size(self, part: Slice) -> int | None:
        """Return how many rows a slice has, or is expected to have; None where nothing is known of it."""
        if part.name in self._completed:
            return self._completed[part.name]
        whole = self.expected.get(part.table)
        likely = whole // part.total if whole else self._means.get(part.table, self._mean).value
        return None if likely is None else max(likely, self._sent.get(part.name, 0))

    @property
    def total(self) -> int | None:
        """How many rows all slices have; None where of one nothing is known."""
        sizes = [self.size(part) for part in self.slices]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def seconds_left(self, elapsed: float) -> float | None:
        """Return how long the rest takes, after so many seconds of this run; None where that is not known."""
        if self.completed == len(self.slices):
            return 0.0
        total, done = self.total, self.rows - self._before
        return None if total is None or done <= 0 else elapsed * (total - self.rows) / done
