"""The kinds of schedules: which faults each may draw, and how a schedule is run."""

from __future__ import annotations

import contextlib
import errno
import shutil
import tempfile
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from integrator import durable
from integrator.contracts.recipe import Recipe, Send, TransactionTopic
from integrator.deliver.kafka import cycle_records, producer, sender_lock, transaction
from integrator.errors import BegunOtherwise, Defect, EnvironmentFault, IntegratorError
from integrator.refresh.ledger import Ledger
from integrator.resolved import sending
from integrator.resolved import topic as resolved_topic
from integrator.run import cycle as run_cycle
from integrator.run import restart, runs, sub_cycles
from integrator.run.passes import transactions
from integrator.run.spark.failures import classify
from integrator.run.state import directory as state_directory
from integrator.run.state.directory import IMPORTING, MOVING_BACK, State
from integrator.sources.binlog import dump, failover
from integrator.sources.binlog import stream as binlog_stream
from integrator.sources.binlog import tables as binlog_tables
from integrator.sources.capture import first_rows, intake, pace, progress
from integrator.sources.capture import stream as capture_stream
from integrator.sources.postgres import answers
from integrator.sources.postgres import stream as postgres_stream
from tests.model import binlog, capture, invariants, postgres, process
from tests.model.database import CURRENT, FEW_KEYS, MANY_KEYS, Database
from tests.model.kafka import Broker, Client, Consumer, Faults, Kafka
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


SCENARIOS: dict[str, Scenario | CaptureScenario] = {
    "kills and cores": Scenario(),
    "copies": Scenario(copies=2),
    "gone back": Scenario(copies=2, backs=2, kills=1),
    "imports": Scenario(copies=1, backs=1, imports=2, kills=1),
    "definitions": Scenario(copies=1, definitions=2),
    "late requests": Scenario(kills=0, starts=0, lost=0, late=2),
    "late requests and kills": Scenario(kills=1, starts=1, late=2, unanswered=2),
    "unanswered": Scenario(unanswered=3, copies=1),
    "transactions": Scenario(counts=True, copies=1, unanswered=1),
    "everything": Scenario(copies=2, backs=1, imports=1, definitions=2, late=1, unanswered=1, counts=True),
    "topics": Scenario(partitions=2, copies=1, backs=1),
    "sub-cycles": Scenario(locked=True, copies=2, lost=0, unanswered=1, starts=3, definitions=2),
    "sub-cycles and all else": Scenario(
        locked=True, copies=2, backs=1, imports=1, lost=0, late=1, unanswered=1, starts=3, counts=True
    ),
    "refresh": Scenario(locked=True, lost=0, refreshes=2, starts=3),
    "refresh at least once": Scenario(exactly_once=False, locked=True, lost=0, refreshes=2, starts=3),
    "resolved": Scenario(resolves=True, copies=2, unanswered=1, starts=3, definitions=2),
    "resolved, and gone back": Scenario(resolves=True, copies=1, backs=2, imports=1, kills=3, late=1),
    "resolved in sub-cycles": Scenario(
        resolves=True, locked=True, copies=1, backs=1, imports=1, lost=0, unanswered=1, starts=3, counts=True
    ),
    "resolved at least once": Scenario(
        resolves=True, exactly_once=False, locked=True, lost=0, unanswered=1, starts=3, kills=3
    ),
    "resolved at least once on a cluster": Scenario(resolves=True, exactly_once=False, unanswered=1, lost=300),
    "at least once": Scenario(exactly_once=False, locked=True, lost=0, unanswered=1, starts=3),
    "at least once on a cluster": Scenario(exactly_once=False, unanswered=1, lost=300),
    "full disks": Scenario(disks=3, copies=1, backs=1, imports=1, counts=True),
    "full disks at least once": Scenario(exactly_once=False, locked=True, lost=0, disks=3, starts=3),
    "capture": CaptureScenario(postgres.Postgres, quiet=False),
    "capture of a quiet log": CaptureScenario(postgres.Postgres, quiet=True),
    "ranges": CaptureScenario(postgres.Postgres, quiet=False, by_range=True),
    "ranges of a quiet log": CaptureScenario(postgres.Postgres, quiet=True, by_range=True),
    "capture of a binlog": CaptureScenario(binlog.Binlog, quiet=False),
    "ranges of a binlog": CaptureScenario(binlog.Binlog, quiet=False, by_range=True),
    "ranges of a quiet binlog": CaptureScenario(binlog.Binlog, quiet=True, by_range=True),
}


@dataclass(frozen=True)
class Outcome:
    """What became of a schedule: what is broken, whether all was synced at the end, and its steps."""

    broken: list[str]
    complete: bool
    refused: list[str]
    trace: list[str]
    choices: list[int]


_WORLDS: list[_Schedule | _CaptureSchedule] = []


class _Clock:
    """The module `time`, whose time passes with steps."""

    def monotonic(self) -> float:
        return _WORLDS[-1].world.clock

    def time(self) -> float:
        return 1.8e9 + _WORLDS[-1].world.clock

    def sleep(self, seconds: float) -> None:
        _WORLDS[-1].world.sleep(seconds)


def _stepped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Have a step before something is made durable: a process may be killed there."""

    def stepping(first: Any, *more: Any) -> Any:
        world = _WORLDS[-1].world if _WORLDS else None
        if world is None or not world.is_acting or world.is_at_once:
            return function(first, *more)
        world.step(f"{function.__name__} {first.name if isinstance(first, Path) else 'files'}")
        world.is_at_once = True
        fails = _WORLDS[-1].disk_fails()
        try:
            if fails == "before":
                raise OSError(errno.ENOSPC, "the disk is full")
            done = function(first, *more)
            if fails:
                raise OSError(errno.EIO, "a directory is not durable")
        finally:
            world.is_at_once = False
        return done

    return stepping


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """Have the product's classes meet the broker in memory, and stand-ins for Spark."""
    clock = _Clock()
    with contextlib.ExitStack() as stack:

        def put(owner: object, **replaced: object) -> None:
            for name, value in replaced.items():
                stack.enter_context(mock.patch.object(owner, name, value))

        put(producer, ProducerClient=lambda properties, *_: Client(_WORLDS[-1].kafka, properties))
        put(cycle_records, Consumer=lambda properties: Consumer(_WORLDS[-1].kafka, properties))
        put(cycle_records, client_settings=lambda _: {}, client_properties=lambda _: {})
        for module in (cycle_records, producer, restart, sender_lock, state_directory, sub_cycles, transaction):
            put(module, time=clock)
        put(
            run_cycle,
            first_pass=process.first_pass,
            second_pass=process.Task,
            OwnRuns=lambda rows: process.OwnRuns(rows, _WORLDS[-1].world),
        )
        put(runs, in_order=process.in_order)
        put(transactions, Bundler=process.DriversBundler, merged=process.merged, recipe_of=lambda recipe: recipe)
        for name in ("remove", "rename", "replace", "sync_directory"):
            put(durable, **{name: _stepped(getattr(durable, name))})
        for module in (
            answers, binlog_stream, binlog_tables, capture_stream, first_rows, intake, pace, postgres_stream, progress,
        ):  # fmt: skip
            put(module, time=clock)
        begun = lambda session, file, offset, _number: (  # noqa: E731
            binlog.Packets(session.server, file, offset, clock.sleep), False,
        )  # fmt: skip
        settings = binlog.Settings()
        put(dump, begun=begun)
        put(failover, settings=settings)
        put(
            binlog_stream,
            settings=settings,
            SnapshotPoints=binlog.Points,
        )
        put(binlog_tables, found=binlog.found, Charsets=binlog.Charsets)
        put(
            postgres_stream,
            PublishedTables=postgres.Published,
            SlotPoints=lambda server, *_, waits: postgres.Points(server, waits=waits),
            identity=lambda *_: ("system", "db"),
            is_wanted=lambda *_: True,
            problems=lambda *_, **__: (),
            Replication=lambda server, *_: postgres.Replication(server, lambda: clock.sleep(0.05)),
            slot_of=lambda session, _: session.server.slot,
            timeline=lambda *_: 1,
            version_of=lambda _: 180_000,
        )
        put(
            resolved_topic,
            each_read_back=lambda _brokers, topics, *_: process.read_resolved(_WORLDS[-1].kafka, topics[0]),
        )
        put(sending, time=clock)
        put(transaction, _PRODUCERS={})
        put(producer, _PRODUCERS={})
        yield


def _switched(worker: Worker) -> None:
    transaction._PRODUCERS, producer._PRODUCERS = worker.transactional, worker.producers


_RECIPES: list[Recipe] = []


def recipes() -> list[Recipe]:
    """Two definitions of a channel."""
    if not _RECIPES:
        with tempfile.TemporaryDirectory() as name:
            made = pure.recipe(Path(name), "create table t(a int primary key);")
        made = replace(made, messages=replace(made.messages, channel=process.CHANNEL, max_bytes=1_000_000))
        _RECIPES.extend((made, replace(made, tables=())))
    return _RECIPES


def disk() -> str | None:
    """Where directories are made: in memory, where there is such a place."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


class _Schedule:
    """One schedule: its world, and the faults that are left."""

    def __init__(self, scenario: Scenario, choices: Choices) -> None:
        self._choices, self._scenario = choices, scenario
        self.world = World(choices, _switched)
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
        _WORLDS.append(self)
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
            broken += [f"a defect: {actor.name}: {actor.error!r}" for actor in self.world.actors if _is_defect(actor)]
            if complete and self._scenario.resolves:
                broken += invariants.resolved_to_the_end(self._scene, self._broker)
            if not complete:
                broken.append("no directory comes to its end, whatever is advised")
            refused = [_kind(one.ended) for one in self._scene.processes if one.ended is not None]
            refused += [_kind(one.error) for one in self._refreshing if one.error is not None]
            if refused and self._happened <= {"refreshes"} and len(self._refreshing) < 2:
                broken.append(f"refused without a fault: {refused}")
            return Outcome(broken, complete, refused, self.world.trace, self._choices.made)
        finally:
            self.world.end()
            shutil.rmtree(root, ignore_errors=True)
            _WORLDS.pop()

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


class _CaptureSchedule:
    """One schedule of a capture."""

    def __init__(self, choices: Choices, scenario: CaptureScenario) -> None:
        self._choices = choices
        self.world = World(choices, _switched)
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
        _WORLDS.append(self)
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
            return Outcome(broken, complete, [_kind(one) for one in failures], self.world.trace, self._choices.made)
        finally:
            self.world.end()
            shutil.rmtree(root, ignore_errors=True)
            _WORLDS.pop()
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


def _is_defect(actor: Actor) -> bool:
    """Whether an actor failed with what nobody foresaw."""
    if actor.error is None:
        return False
    found = classify(actor.error)
    return found is None or isinstance(found, Defect)


def _kind(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split()[:9])}"
