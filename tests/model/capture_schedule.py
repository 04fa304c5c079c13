"""Schedules of captures: a database that changes while it is captured, and the capture is killed."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest import mock

from integrator.sources.capture import pace
from integrator.sources.capture import stream as capture_stream
from tests.model import capture
from tests.model.database import CURRENT, FEW_KEYS, MANY_KEYS, Database
from tests.model.in_memory import RUNNING, switched
from tests.model.outcome import Outcome, disk, kind_of
from tests.model.schedule import MOST_STEPS, Choices, Worker, World


@dataclass(frozen=True)
class CaptureScenario:
    """A database that changes while it is captured. quiet: its log has nothing but changes, so nothing of snapshots.

    by_range: each row is read at a position of its own, and refreshes are asked for.
    """

    server: type[Database]
    quiet: bool
    by_range: bool = False

    def run(self, choices: Choices) -> Outcome:
        """Run one schedule."""
        segment_bytes = choices.one((capture_stream.SEGMENT_BYTES, 150))
        if not self.by_range:
            with mock.patch.object(capture_stream, "SEGMENT_BYTES", segment_bytes):
                return _CaptureSchedule(choices, self).run()
        sealed_s = float(choices.below(2))  # each row by itself, or all of a position
        place_s = 5.0 * choices.below(2)  # one row at each position, or as many as until changes wait
        with (
            mock.patch.multiple(pace, POSITION_S=place_s, _SHORT_S=0.0),
            mock.patch.multiple(capture_stream, _ROWS_S=sealed_s, SEGMENT_BYTES=segment_bytes),
        ):
            return _CaptureSchedule(choices, self).run()


class _CaptureSchedule:
    """One schedule of a capture."""

    def __init__(self, choices: Choices, scenario: CaptureScenario) -> None:
        self._choices = choices
        self.world = World(choices, switched)
        keys = MANY_KEYS if scenario.by_range else FEW_KEYS
        self._database = scenario.server(choices, quiet=scenario.quiet, keys=keys)
        self._left = {
            name: choices.below(most + 1)
            for name, most in (
                ("kills", 3),
                ("restarts", 2),
                ("tables", 2),
                ("rewrites", 2),
                ("truncates", 1),
                ("disks", 2),
            )
        }
        self._left["refreshes"] = choices.below(3) if scenario.by_range else 0
        self._kill_chance = choices.one((30, 100))
        self._left["changes"] = 2 + choices.below(10 if scenario.by_range else 6)
        self._processes: list[capture.Running] = []
        self._taken: dict[str, bytes] = {}

    def run(self) -> Outcome:
        """Capture with faults; then once more without them, up to the end of the log."""
        root = Path(tempfile.mkdtemp(prefix="model-", dir=disk()))
        RUNNING.append(self)
        CURRENT.append(self)
        try:
            for _ in range(1 + self._choices.below(2)):
                self._database.make_table()
            self._with_faults(root)
            complete = self._to_the_end(root)
            broken = [f"a defect: {actor.error!r}" for actor in self.world.actors if actor.error is not None]
            failures = [one.failure for one in self._processes if one.failure is not None]
            broken += [f"it ends with an error: {one}" for one in failures]
            broken += capture.broken(root, self._taken, self._database)
            return Outcome(broken, complete, [kind_of(one) for one in failures], self.world.trace, self._choices.made)
        finally:
            self.world.end()
            shutil.rmtree(root, ignore_errors=True)
            RUNNING.pop()
            CURRENT.pop()

    def disk_fails(self) -> str:
        """Return whether the disk is full before a file is made durable, or fails after that, if it does."""
        if not (self._left["disks"] and self._choices.chance(15)):
            return ""
        self._left["disks"] -= 1
        fails = self._choices.one(("before", "after"))
        self.world.note(f"the disk fails {fails} this")
        return fails

    def _start(self, root: Path, *, until_now: bool) -> capture.Running:
        process, number = capture.Running(), len(self._processes) + 1
        self._processes.append(process)
        self.world.note(f"C{number} starts, {'up to now' if until_now else 'for ever'}")
        run = partial(process.run, self._database, root, until_now=until_now)
        self.world.spawn(f"C{number}", process, Worker(), run)
        return process

    def _with_faults(self, root: Path) -> None:
        choices, world = self._choices, self.world
        for _ in range(600):
            for what in capture.faults_of(world, self._database, root, self._left):
                world.note(what)
            living = world.living()
            if not living:
                if not self._left["changes"] or len(self._processes) > 5:
                    return
                self._start(root, until_now=choices.below(2) == 0)
                continue
            if self._left["kills"] and choices.chance(self._kill_chance):
                self._left["kills"] -= 1
                world.note("the capture is killed")
                world.kill(living)
                continue
            if choices.chance(60) and living[0].process.sync(choices, self._taken):
                world.note("segments are synced")
            if choices.chance(20) or not self._left["changes"]:
                living[0].process.ending = True
            world.go(living[0])
        world.kill(world.living())

    def _to_the_end(self, root: Path) -> bool:
        self._left["disks"] = 0
        for _ in range(4):
            last, steps = self._start(root, until_now=True), 0
            while self.world.living() and steps < MOST_STEPS:
                steps += 1
                self.world.go(self.world.living()[0])
            if not last.away and last.failure is None and steps < MOST_STEPS:
                return True
        return False
