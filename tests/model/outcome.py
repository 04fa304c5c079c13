"""What became of a schedule."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from integrator.errors import Defect
from integrator.run.spark.failures import classify
from tests.model.schedule import Actor


@dataclass(frozen=True)
class Outcome:
    """What became of a schedule: what is broken, whether all was synced at the end, and its steps."""

    broken: list[str]
    complete: bool
    refused: list[str]
    trace: list[str]
    choices: list[int]


def disk() -> str | None:
    """Where directories are made: in memory, where there is such a place."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def is_defect(actor: Actor) -> bool:
    """Whether an actor failed with what nobody foresaw."""
    if actor.error is None:
        return False
    found = classify(actor.error)
    return found is None or isinstance(found, Defect)


def kind_of(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split()[:9])}"
