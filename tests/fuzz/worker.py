"""A process that checks lines of one kind: it may die of them, and whoever watches continues without."""

from __future__ import annotations

import faulthandler
import json
import random
import resource
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.fuzz import units
from tests.fuzz.check import Checker, Defect
from tests.fuzz.setups import BY_NAME
from tests.fuzz.shrink import shrunk

BATCH = 300
_MEMORY = 8 << 30
_KEPT = 1
"""Defects of one cause that are written down; the others are counted."""


@dataclass(frozen=True)
class Job:
    """Lines first to last of a kind, by a seed, those in `skipped` left out; each in a file of its own if `alone`."""

    setup: str
    seed: int
    first: int
    last: int
    skipped: tuple[int, ...] = ()
    alone: bool = False

    @staticmethod
    def of(text: str) -> Job:
        """Read a job."""
        told = json.loads(text)
        return Job(**told | {"skipped": tuple(told["skipped"])})

    def text(self) -> str:
        """Return the job as JSON."""
        return json.dumps(asdict(self))


def run(job: Job, directory: Path) -> Iterator[dict[str, object]]:
    """Yield, batch by batch, what was counted, and the defects of causes that are new."""
    checker = Checker(BY_NAME[job.setup], directory, random.Random(f"{job.seed}/{job.first}"))
    causes: Counter[tuple[str, ...]] = Counter()
    if job.first == 0:
        yield _batch(checker, list(checker.seeds()), causes, 0)
    else:
        list(checker.seeds())
        checker.counts.clear()
    for start in range(job.first, job.last, BATCH):
        numbers = [at for at in range(start, min(start + BATCH, job.last)) if at not in job.skipped]
        made = [units.unit(checker.setup, job.seed, at) for at in numbers]
        if job.alone:
            found = [defect for one in made if not one.verdict.skipped for defect in checker.alone(one)]
        else:
            found = list(checker.check(made))
        yield _batch(checker, found, causes, min(start + BATCH, job.last))


def _batch(checker: Checker, found: list[Defect], causes: Counter[tuple[str, ...]], end: int) -> dict[str, object]:
    new = []
    counts = dict(checker.counts)
    for defect in found:
        causes[defect.cause] += 1
        if causes[defect.cause] <= _KEPT:
            new.append(shrunk(checker, defect).shown() | {"of": causes[defect.cause]})
    checker.counts.clear()
    return {"end": end, "counts": counts, "defects": new}


def main() -> None:
    """Run the job that is given as JSON, in a directory; write a line of JSON for each batch."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    directory = Path(sys.argv[2])
    with (directory / "results").open("a", encoding="utf-8") as results:
        for batch in run(Job.of(sys.argv[1]), directory):
            results.write(json.dumps(batch) + "\n")
            results.flush()


if __name__ == "__main__":
    main()
