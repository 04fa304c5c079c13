"""`python -m tests.fuzz.rejected --lines 100000`: wrong lines are rejected, and the others read, in all dialects.

Positions may repeat here. Each line of a file is counted once: it has rows, is rejected, or is counted as what it is (tombstones, frames …).
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from integrator.decode.contract import File, Reading, nothing_before
from integrator.decode.dialects import DIALECTS
from tests.fuzz import units
from tests.fuzz.decode import reading_for
from tests.fuzz.setups import SETUPS, Setup

OF_LINES = [setup for setup in SETUPS if not setup.is_csv]
_OTHERS_FAULT = (
    "came before: both would be sent as table",
    "one image of an update whose other image is missing",
    "the other row of this update is rejected",
)
"""Reasons for which a line is rejected that is right alone."""
_SPELLING = "another spelling"
"""What is wrong beside other records only, of which some are rejected."""
_FILE = 1000


@dataclasses.dataclass
class Outcome:
    """What became of the lines of a file: those that have rows, those that are rejected, with the reason."""

    rows: set[int] = dataclasses.field(default_factory=set)
    rejected: dict[int, str] = dataclasses.field(default_factory=dict)
    counted: int = 0


def outcome(setup: Setup, reading: Reading, path: Path) -> Outcome:
    """Read a file. Raises DataError where an error is not the fault of one line."""
    found = Outcome()
    for batch in DIALECTS[setup.dialect].read(File(str(path), 1), nothing_before, reading):
        found.rows |= {int(line) for line in batch.changes.line}
        found.rejected |= {one.line: str(one.fault) for one in batch.rejected}
        found.counted += sum(batch.ignored.values())
    return found


def check(
    setup: Setup, directory: Path, seed: int, numbers: Sequence[int]
) -> tuple[list[tuple[object, ...]], Counter[str]]:
    """Return what is wrong with the lines of a file, and what became of them, counted."""
    reading = dataclasses.replace(reading_for(setup, directory), tolerant=True, repeated_positions=True)
    made = [units.unit(setup, seed, number) for number in numbers]
    data, owners = units.file_of(setup, [one for one in made if not one.verdict.skipped])
    path = directory / "f.jsonl"
    path.write_bytes(data)
    found, again = outcome(setup, reading, path), outcome(setup, reading, path)
    odd: list[tuple[object, ...]] = [] if found == again else [("another outcome the second time", found, again)]
    odd += [(line, "has rows, and is rejected") for line in found.rows & set(found.rejected)]
    for line, (one, at) in enumerate(owners, 1):
        verdict, reason = one.verdicts[at], found.rejected.get(line)
        if verdict.rows is None and not reason and not verdict.reason.startswith(_SPELLING):
            odd.append((line, one.lines[at], "taken", verdict.reason))
        others = any(other.rows is None or other.notes for other in one.verdicts) or any(
            text in (reason or "") for text in _OTHERS_FAULT
        )
        if verdict.rows is not None and not verdict.notes and reason and not others:
            odd.append((line, one.lines[at], reason, "rows"))
        if verdict.rows and line not in found.rows and not reason and setup.dialect != "delta-cdf":
            odd.append((line, one.lines[at], "nothing became of it", verdict.rows))
        if reason and not reason.startswith(f"{path}:{line}: "):
            odd.append((line, one.lines[at], reason, "its place"))
    counts = Counter({"lines": len(owners), "with rows": len(found.rows), "rejected": len(found.rejected)})
    counts["counted"] += found.counted
    return odd, counts


def main() -> int:
    """Check all dialects, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    total, wrong = Counter[str](), 0
    for setup in OF_LINES:
        each, counts = given.lines // len(OF_LINES), Counter[str]()
        with tempfile.TemporaryDirectory() as name:
            for start in range(0, each, _FILE):
                odd, counted = check(setup, Path(name), given.seed, range(start, min(start + _FILE, each)))
                counts += counted
                wrong += len(odd)
                for one in odd:
                    print(f"{setup.name}: {str(one)[:1500]}")
        print(f"{setup.name:20} {dict(counts)}", flush=True)
        total += counts
    print(f"all                  {dict(total)}; wrong: {wrong}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
