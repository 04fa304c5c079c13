"""The explorer's command line: see the package."""

from __future__ import annotations

import argparse
import sys
import time

from tests.model.explore import as_text, explore, simplest
from tests.model.in_memory import installed
from tests.model.scenarios import SCENARIOS
from tests.model.schedule import Choices


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.model")
    parser.add_argument("--schedules", type=int, default=20_000, help="of all scenarios together")
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--scenario", action="append", choices=list(SCENARIOS), help="all, unless named")
    parser.add_argument("--replay", type=int, help="print the schedule of this seed")
    parser.add_argument("--show", type=int, default=1, help="how many that break an invariant are simplified and shown")
    given = parser.parse_args()
    names = given.scenario or list(SCENARIOS)
    with installed():
        if given.replay is not None:
            for name in names:
                outcome = SCENARIOS[name].run(Choices(given.replay))
                print(as_text(name, given.replay, outcome), f"complete: {outcome.complete}", sep="\n")
            return 0
        count, broken, begun, total = -(-given.schedules // len(names)), 0, time.process_time(), 0
        for name in names:
            began = time.process_time()
            found = explore(SCENARIOS[name], range(given.seed, given.seed + count))
            seconds = time.process_time() - began
            total += found.schedules
            broken += len(found.broken)
            print(
                f"{name}: seeds {given.seed} to {given.seed + count - 1}, {found.schedules} schedules, "
                f"{len(found.traces)} different, {found.steps} steps, {found.schedules / seconds:.0f} a second; "
                f"{len(found.broken)} break an invariant",
                flush=True,
            )
            for reason, times in found.refused.most_common(6):
                print(f"    {times:6} x {reason}")
            for seed, outcome in found.broken[: given.show]:
                print(as_text(name, seed, simplest(SCENARIOS[name], outcome)))
        print(f"{total} schedules, {time.process_time() - begun:.0f} s of CPU, {broken} break an invariant")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
