"""Schedules of delivery: processes that integrate, refresh, are killed, copied, moved back and restored."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import types
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from integrator.contracts.recipe import Recipe, Send, TransactionTopic
from integrator.errors import BegunOtherwise, EnvironmentFault, IntegratorError
from integrator.refresh.ledger import Ledger
from integrator.run.state.directory import IMPORTING, MOVING_BACK, State
from tests.model import invariants, process
from tests.model.in_memory import RUNNING, switched
from tests.model.kafka import Broker, Faults, Kafka
from tests.model.outcome import Outcome, disk, is_defect, kind_of
from tests.model.process import Directory, Process, Scene
from tests.model.schedule import MOST_STEPS, Actor, Choices, Worker, World
from tests.parts import pure


@dataclass(frozen=True)
class Scenario:
    """How many of each fault a schedule may have; `late`: requests that arrive late. locked: on one machine."""

    exactly_once: bool = True
    locked: bool = False
    kills: int = 2
    starts: int = 2
    copies: int = 0
    backs: int = 0
    imports: int = 0
    definitions: int = 1
    lost: int = 200
    late: int = 0
    unanswered: int = 0
    counts: bool = False
    refreshes: int = 0
    partitions: int = 0
    resolves: bool = False
    disks: int = 0

    def run(self, choices: Choices) -> Outcome:
        """Run one schedule."""
        return _Schedule(self, choices).run()


_RECIPES: list[Recipe] = []


def recipes() -> list[Recipe]:
    """Two definitions of a channel."""
    if not _RECIPES:
        with tempfile.TemporaryDirectory() as name:
            made = pure.recipe(Path(name), "create table t(a int primary key);")
        made = replace(made, messages=replace(made.messages, channel=process.CHANNEL, max_bytes=1_000_000))
        _RECIPES.extend((made, replace(made, tables=())))
    return _RECIPES


class _Schedule:
    """One schedule: its world, and the faults that are left."""

    def __init__(self, scenario: Scenario, choices: Choices) -> None:
        self._choices, self._scenario = choices, scenario
        self.world = World(choices, switched)
        self._left = {
            name: choices.below(getattr(scenario, name) + 1)
            for name in ("kills", "starts", "copies", "backs", "imports", "refreshes")
        }
        self._disks = choices.below(scenario.disks + 1)
        self._faults = Faults(choices.below(scenario.late + 1), choices.below(scenario.unanswered + 1))
        self._broker = Broker(verifies=choices.below(2) == 0)
        self.kafka = Kafka(self.world, self._broker, self._faults)
        self._scene = Scene(self.world, 2 + choices.below(3))
        self._scene.partitions, self._scene.resolves = scenario.partitions, scenario.resolves
        self._scene.lost = choices.one((0, scenario.lost))
        self._sticky = choices.one((950, 700, 0))
        self._happened = {"late"} if self._faults.late or self._faults.unanswered or self._scene.lost else set[str]()
        send = Send(exactly_once=scenario.exactly_once, producer={"bootstrap.servers": "memory"})
        topic = TransactionTopic(process.ENDED) if scenario.counts else None
        self._recipes = [replace(one, send=send, transactions=topic) for one in recipes()[: scenario.definitions]]

    def run(self) -> Outcome:
        """Run it to its end, and then once more without faults, as a user would who follows what errors advise."""
        RUNNING.append(self)
        root = Path(tempfile.mkdtemp(prefix="model-", dir=disk()))
        try:
            self._root = root
            self._directories = [Directory(root / "D")]
            self._backups: list[Path] = []
            self._refreshing: list[Actor] = []
            self._start()
            self._continue(faults=True)
            complete = self._finish()
            broken = invariants.broken(self._scene, self._broker, exactly_once=self._scenario.exactly_once)
            broken += [f"a defect: {actor.name}: {actor.error!r}" for actor in self.world.actors if is_defect(actor)]
            if complete and self._scenario.resolves:
                broken += invariants.resolved_to_the_end(self._scene, self._broker)
            if not complete:
                broken.append("no directory comes to its end, whatever is advised")
            refused = [kind_of(one.ended) for one in self._scene.processes if one.ended is not None]
            refused += [kind_of(one.error) for one in self._refreshing if one.error is not None]
            if refused and self._happened <= {"refreshes"} and len(self._refreshing) < 2:
                broken.append(f"refused without a fault: {refused}")
            return Outcome(broken, complete, refused, self.world.trace, self._choices.made)
        finally:
            self.world.end()
            shutil.rmtree(root, ignore_errors=True)
            RUNNING.pop()

    def _start(self, directory: Directory | None = None, recipe: Recipe | None = None) -> Process:
        choices, number = self._choices, len(self._scene.processes) + 1
        directory = directory or choices.one(self._directories)
        recipe = recipe or choices.one(self._recipes)
        cores = 1 + choices.below(3)
        self.world.note(f"P{number} starts on {directory.path.parent.name}, {cores} cores")
        return Process(f"P{number}", self._scene, directory, recipe, cores, locked=self._scenario.locked)

    def _continue(self, *, faults: bool) -> None:
        """Have actors take turns until none has more to do."""
        world, choices, steps = self.world, self._choices, 0
        while True:
            if faults and choices.chance(40) and self._fault():
                continue
            if self._broker.late and choices.chance(30):
                label, request = self._broker.late.pop(choices.below(len(self._broker.late)))
                with contextlib.suppress(Exception):
                    request()
                    world.note(f"late, and taken: {label}")
                continue
            ready = world.ready()
            steps += 1
            if steps > MOST_STEPS:
                return
            if not ready:
                if faults and choices.below(4) and self._fault():
                    continue
                return
            stays = world.now in ready and not choices.chance(1000 - self._sticky)
            world.go(world.now if stays and world.now is not None else choices.one(ready))

    def _fault(self) -> bool:
        """Have one of the faults that are left; return whether there was one."""
        left = [name for name, count in self._left.items() if count]
        if not left:
            return False
        name = self._choices.one(left)
        self._left[name] -= 1
        self._happened.add(name)
        getattr(self, f"_{name}")()
        return True

    def disk_fails(self) -> str:
        """Return whether the disk is full before a file is made durable, or fails after that, if it does."""
        if not (self._disks and self._choices.chance(15)):
            return ""
        self._disks -= 1
        self._happened.add("disks")
        fails = self._choices.one(("before", "after"))
        self.world.note(f"the disk fails {fails} this")
        return fails

    def _kills(self) -> None:
        living = [one for one in self._scene.processes if one.actor.lives]
        refreshing = [one for one in self._refreshing if one.lives]
        if refreshing and self._choices.below(2):
            self.world.note("the refresh is killed")
            self.world.kill(refreshing)
        elif living:
            victim, tasks_live = self._choices.one(living), self._choices.below(2) == 1
            self.world.note(f"{victim.name} is killed{', its tasks live on' if tasks_live else ''}")
            victim.kill(tasks_live=tasks_live)

    def _starts(self) -> None:
        self._start()

    def _copies(self) -> None:
        name = f"D{len(self._directories)}"
        copied = self._choices.one(self._directories)
        self.world.note(f"{copied.path.parent.name} is copied as {name}")
        self._directories.append(copied.copied(self._root / name))

    def _command(self, what: str, do: Callable[[], object]) -> None:
        """Run a command of the user's, which may be killed at any step."""
        label = f"{what}{len(self.world.actors)}"
        self.world.note(f"{label} is run")

        def run() -> None:
            with contextlib.suppress(IntegratorError, OSError):
                do()

        actor = self.world.spawn(label, types.SimpleNamespace(cycle=-1), Worker(), run)
        most = self._choices.one((1000, 3, 1, 2, 4, 6, 8))
        for _ in range(most):
            if not actor.lives:
                break
            self.world.go(actor)
        if actor.lives:
            self.world.note(f"{label} is killed")
            self.world.kill([actor])

    def _refreshes(self) -> None:
        """Refresh, beside what runs."""
        directory, recipe = self._choices.one(self._directories), self._choices.one(self._recipes)
        process_of = types.SimpleNamespace(cycle=-1, record=None)
        self._spawn_refresh(directory, recipe, process_of)

    def _spawn_refresh(self, directory: Directory, recipe: Recipe, process_of: Any) -> None:
        def run() -> None:
            state = State(str(directory.path))
            try:
                state.check_finished()
                process.ModelRefresh(self._scene, process_of, state, recipe).run()
            except IntegratorError as error:
                self.world.note(f"the refresh ends: {type(error).__name__}")
                raise

        self.world.note("a refresh starts")
        self._refreshing.append(self.world.spawn("refresh", process_of, Worker(), run))

    def _free(self) -> Directory | None:
        """A directory that no process has: a command would be refused else."""
        used = {one.directory for one in self._scene.processes if one.actor.lives}
        free = [one for one in self._directories if one not in used]
        return self._choices.one(free) if free else None

    def _backs(self) -> None:
        if (directory := self._free()) is not None:
            self._command(
                "back-to on " + directory.path.parent.name, lambda: process.back_to(directory, self._choices.one)
            )

    def _imports(self) -> None:
        if not self._backups:
            file = self._root / f"backup{len(self._backups)}.tar.gz"
            with contextlib.suppress(IntegratorError, AssertionError):
                process.export(self._directories[0], file)
                self._backups.append(file)
                self.world.note("a backup is made")
        elif (directory := self._free()) is not None:
            file = self._choices.one(self._backups)
            self._command("import into " + directory.path.parent.name, lambda: process.restore(directory, file))

    def _finish(self) -> bool:
        """Have the channel come to its end, as a user would; return whether one directory does."""
        self._scene.lost = self._faults.late = self._faults.unanswered = self._disks = 0
        self._scene.visible = self._scene.slices
        directory, recipe = self._directories[0], self._recipes[0]
        if Ledger(directory.path).unfinished() is not None:  # the log says so: until it is finished, the channel waits
            self._spawn_refresh(directory, recipe, types.SimpleNamespace(cycle=-1, record=None))
            self._continue(faults=False)
        directory.state.resume()  # as the error says, where a refresh was killed before it had begun
        self._scene.never_resumed = True
        others = self._directories[1:]
        for _ in range(4 + 3 * len(self._directories)):
            last = self._start(directory, recipe)
            self._continue(faults=False)
            if last.ended is None and last.actor.done:
                return True
            if isinstance(last.ended, BegunOtherwise):
                recipe = self._recipes[-1] if recipe is self._recipes[0] else self._recipes[0]
            elif isinstance(last.ended, EnvironmentFault):
                is_half_done = any((directory.path / name).exists() for name in (IMPORTING, MOVING_BACK))
                if is_half_done:
                    self._mend(directory)
                elif others:  # "use the newest one"
                    directory = others.pop(0)
        return False

    def _mend(self, directory: Directory) -> None:
        """Do what the error of a half-done command advises: do it again."""

        def again() -> None:
            if (directory.path / IMPORTING).exists():
                process.restore(directory, self._backups[0])
            else:
                process.back_to(directory, lambda cycles: cycles[0])

        actor = self.world.spawn("the command", types.SimpleNamespace(cycle=-1), Worker(), again)
        while actor.lives:
            self.world.go(actor)
