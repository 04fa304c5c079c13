"""Runs schedules by their seeds, and shrinks those that break an invariant."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tests.model.capture_schedule import CaptureScenario
from tests.model.delivery_schedule import Scenario
from tests.model.outcome import Outcome
from tests.model.schedule import Choices, shrink


@dataclass
class Explored:
    """What so many schedules of a scenario were."""

    schedules: int = 0
    steps: int = 0
    complete: int = 0
    traces: set[int] = field(default_factory=set)
    refused: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[int, Outcome]] = field(default_factory=list)

    def add(self, seed: int, outcome: Outcome) -> None:
        """Count a schedule."""
        self.schedules += 1
        self.steps += len(outcome.trace)
        self.complete += outcome.complete
        self.traces.add(hash(tuple(outcome.trace)))
        self.refused.update(outcome.refused)
        if outcome.broken:
            self.broken.append((seed, outcome))


def explore(scenario: Scenario | CaptureScenario, seeds: range, most_broken: int = 1_000_000) -> Explored:
    """Run a schedule for each seed, until so many have broken an invariant."""
    found = Explored()
    for seed in seeds:
        found.add(seed, scenario.run(Choices(seed)))
        if len(found.broken) >= most_broken:
            break
    return found


def simplest(scenario: Scenario | CaptureScenario, outcome: Outcome) -> Outcome:
    """Return the simplest schedule that breaks what `outcome` breaks first."""
    kind = outcome.broken[0].partition(":")[0]

    def fails(made: list[int]) -> bool:
        return any(one.startswith(kind) for one in scenario.run(Choices(given=made)).broken)

    return scenario.run(Choices(given=shrink(outcome.choices, fails)))


def as_text(name: str, seed: int, outcome: Outcome) -> str:
    """Return a schedule that broke an invariant as text, simplified."""
    lines = [f"{name}, seed {seed}: {'; '.join(outcome.broken)}", *outcome.trace]
    return "\n".join(lines)
