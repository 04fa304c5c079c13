"""Numbers as people read them: how many of a thing, and which ones."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return how many of a thing there are: `1 table`, `1,200 tables`. plural: where it does not end with s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def are(number: int) -> str:
    """Return the verb for so many."""
    return "is" if number == 1 else "are"


def ranges(numbers: Iterable[int]) -> str:
    """Return whole numbers as ranges, in order: `0 to 98, 100`."""
    found = []
    for _, run in groupby(enumerate(sorted(set(numbers))), lambda placed: placed[1] - placed[0]):
        (_, first), *_, (_, last) = [*run] * 2
        found.append(f"{first}" if first == last else f"{first}, {last}" if last == first + 1 else f"{first} to {last}")
    return ", ".join(found)


def size(number: float) -> str:
    """Return a number of bytes as people read it."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:,.0f} {unit}" if unit == "B" else f"{number:,.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} TB"
