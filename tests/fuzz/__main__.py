"""`python -m tests.fuzz --lines 100000 --seed 1`: fuzz all dialects; exit code 1 if there is any defect."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from random import Random

from tests.conftest import ROOT
from tests.fuzz import bounds, campaign, units
from tests.fuzz.check import Checker
from tests.fuzz.setups import BY_NAME, SETUPS

_SHOWN = 1500


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--lines", type=int, default=100_000, help="lines, of all kinds together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=sorted({*BY_NAME, *(one.dialect for one in SETUPS)}))
    parser.add_argument("--replay", type=Path, help="check the defects in this file again, as --defects wrote them")
    parser.add_argument("--defects", type=Path, default=ROOT / "build" / "fuzz.jsonl", help="where defects are written")
    return parser.parse_args()


def replay(path: Path) -> int:
    """Check the lines of defects again; return how many are still defects."""
    still = 0
    told = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for name in dict.fromkeys(one["setup"] for one in told):
        with tempfile.TemporaryDirectory() as directory:
            checker = Checker(BY_NAME[name], Path(directory), Random(1))
            list(checker.seeds())
            for one in told:
                if one["setup"] == name and one["line"]:
                    made = units.with_line(checker.setup, one["place"], one["number"], one["line"].encode())
                    found = [] if made.verdict.skipped else list(checker.alone(made))
                    still += bool(found)
                    show([defect.shown() for defect in found])
    return still


def show(defects: list[dict[str, object]], seed: int = 1) -> None:
    """Print defects."""
    for one in defects:
        print(f"\n{one['kind']}: {one['setup']}, seed {seed}, number {one['number']}")
        for name in ("line", "got", "expected"):
            print(f"  {name}: {str(one[name])[:_SHOWN]}")


def main() -> int:
    """Fuzz, print what was found, and return the exit code."""
    arguments = _arguments()
    bounds.check()
    if arguments.replay:
        return int(replay(arguments.replay) > 0)
    chosen = [one for one in SETUPS if not arguments.only or {one.name, one.dialect} & set(arguments.only)]
    results = []
    for setup in chosen:
        results.append(campaign.of_setup(setup.name, arguments.seed, arguments.lines // len(chosen)))
        show(results[-1].defects, arguments.seed)
        print(campaign.table(results[-1:]).splitlines()[1], flush=True)
    defects = [one for result in results for one in result.defects]
    arguments.defects.parent.mkdir(exist_ok=True)
    arguments.defects.write_text("".join(json.dumps(one) + "\n" for one in defects), encoding="utf-8")
    print(f"\n{campaign.table(results)}")
    return int(any(result.wrong for result in results))


if __name__ == "__main__":
    sys.exit(main())
