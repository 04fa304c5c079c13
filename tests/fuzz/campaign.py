"""Many lines of many kinds: workers that are watched, started again where they die, and what they found, added up."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.fuzz.worker import Job

_STALLED = 120.0
"""Seconds without a new file, after which a worker is taken for hanging."""
_POLL = 0.2
NO_DEFECTS = ("lines", "skipped", "rows equal", "errors right", "either, rows", "either, refused")


@dataclass
class Result:
    """What became of the lines of a kind."""

    setup: str
    counts: Counter[str] = field(default_factory=Counter)
    defects: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def wrong(self) -> int:
        """How many lines have a defect."""
        return sum(count for name, count in self.counts.items() if name not in NO_DEFECTS)


def of_setup(name: str, seed: int, lines: int) -> Result:
    """Check so many lines of a kind."""
    result, started = Result(name), time.perf_counter()
    jobs = [Job(name, seed, 0, lines)]
    while jobs:
        job = jobs.pop()
        with tempfile.TemporaryDirectory(prefix="fuzz-") as directory:
            died, end = _watched(job, Path(directory), result)
            if died:
                jobs += _after_death(job, end, Path(directory), died, result)
    result.seconds = time.perf_counter() - started
    return result


def _watched(job: Job, directory: Path, result: Result) -> tuple[str, int]:
    """Run a worker to its end; return how it died, if it did, and to where it came."""
    with (directory / "errors").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker", job.text(), str(directory)], stderr=errors, cwd=ROOT
        )
        hung = False
        while process.poll() is None:
            time.sleep(_POLL)
            hung = time.time() - max(_changed(directory, name) for name in ("progress", "results", "errors")) > _STALLED
            if hung:
                process.kill()
    end = job.first
    for batch in _results(directory):
        end = batch["end"]
        result.counts.update(batch["counts"])
        result.defects += batch["defects"]
    if process.returncode == 0:
        return "", end
    if hung:
        return f"no answer for {_STALLED:.0f} s", end
    told = (directory / "errors").read_text(encoding="utf-8", errors="replace")
    return f"exit code {process.returncode}: {told[:1500]}", end


def _changed(directory: Path, name: str) -> float:
    path = directory / name
    return path.stat().st_mtime if path.exists() else 0.0


def _results(directory: Path) -> Iterator[dict[str, Any]]:
    path = directory / "results"
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        yield json.loads(line)


def _after_death(job: Job, end: int, directory: Path, died: str, result: Result) -> list[Job]:
    """Return the jobs that continue after a worker's death: without the line that it died of, or to find out which."""
    progress = directory / "progress"
    numbers = json.loads(progress.read_text(encoding="utf-8"))["numbers"] if progress.exists() else []
    if not numbers:
        raise RuntimeError(f"{job.setup}: the worker died before its first line: {died}")
    if len(numbers) > 1:
        apart = [Job(job.setup, job.seed, number, number + 1, alone=True) for number in sorted(numbers)]
        return [replace(job, first=end, skipped=(*job.skipped, *numbers)), *apart]
    result.counts.update({"process died": 1, "lines": 1})
    defect = {
        "kind": "process died",
        "setup": job.setup,
        "number": numbers[0],
        "line": "",
        "got": died,
        "expected": "rows, or a DataError",
        "of": 1,
    }
    result.defects.append(defect)
    return (
        [] if job.alone and job.last == job.first + 1 else [replace(job, first=end, skipped=(*job.skipped, *numbers))]
    )


def table(results: list[Result]) -> str:
    """Return what was counted, a line for each kind."""
    kinds = sorted({name for result in results for name in result.counts if name not in NO_DEFECTS})
    lines = [f"{'':18}" + "".join(f"{name:>14}" for name in NO_DEFECTS) + f"{'defects':>10}{'lines/s':>9}"]
    for result in results:
        cells = "".join(f"{result.counts[name]:>14}" for name in NO_DEFECTS)
        rate = result.counts["lines"] / result.seconds if result.seconds else 0
        told = ", ".join(f"{name} {result.counts[name]}" for name in kinds if result.counts[name])
        lines.append(f"{result.setup:18}{cells}{result.wrong:>10}{rate:>9.0f}  {told}")
    total, seconds = sum(result.counts["lines"] for result in results), sum(result.seconds for result in results)
    lines.append(f"{total} lines in {seconds:.0f} s: {total / seconds:.0f} lines/s")
    return "\n".join(lines)
