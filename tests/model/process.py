"""Spark's part in a schedule: a process that integrates a channel from a state directory, its cycles and its tasks.

`run.cycle` is the real one, with the real state directory (on a disk in memory), `CycleShards`, `BegunCycles`,
`Transaction` and `Delivery`. What stands in for Spark runs tasks as actors, and writes offsets and commits. The two passes
do not decode: row N of the source is the message N of key N % 2.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.errors import PySparkException

from integrator.channel.model import Restart
from integrator.contracts.fragments import Checkpoint, FileSummary
from integrator.contracts.outgoing import Messages
from integrator.contracts.recipe import Recipe
from integrator.contracts.report import Report
from integrator.contracts.shards import Shards
from integrator.deliver.kafka.delivery import Delivery
from integrator.deliver.kafka.sender_lock import Senders
from integrator.deliver.kafka.transaction import Transaction
from integrator.errors import DeliveryError, EnvironmentFault, IntegratorError, as_integrator_error, to_wire_error
from integrator.refresh.job import Options, _Refresh
from integrator.refresh.ledger import Ledger, RefreshRun
from integrator.refresh.slices import Slice as SliceOfRefresh
from integrator.resolved.sending import Resolving
from integrator.run.cycle import cycle
from integrator.run.gate import EndedError
from integrator.run.restart import Restarts, RetriedCycles
from integrator.run.runs import _own_errors
from integrator.run.state import backup, consistency, rewind
from integrator.run.state.directory import MOVING_BACK, State
from integrator.run.state.shards import CycleShards, known
from integrator.run.state.spark_checkpoint import SparkCheckpoint
from integrator.run.state.sync import Cycle
from integrator.run.sub_cycles import Limits, SubCycles
from integrator.sources.contract import Feed
from integrator.sources.journal.journal import Journal
from integrator.sources.slices import Slice
from tests.model.schedule import NO_LOG, Actor, Worker, World

CHANNEL, TOPIC, KEYS = "ch", "t", 2
ROWS_OF_SLICE = 1
_TRIES = Restart(tries=3, first_seconds=0.01, most_seconds=0.01)
RESOLVED = f"{TOPIC}.resolved"
ENDED = f"{TOPIC}.ended"
"""The topic of the driver's messages: that all rows of a cycle are there."""


@dataclasses.dataclass(frozen=True)
class Row:
    """A message that a task sends."""

    number: int
    text: str
    topic: str = TOPIC

    @property
    def messages(self) -> Messages:
        """The row as `Delivery` takes it."""
        return _messages(self.topic, self.number % KEYS, self.text)


@lru_cache(maxsize=20_000)
def _messages(topic: str, key: int, text: str) -> Messages:
    keys, values = pa.array([str(key).encode()], pa.binary()), pa.array([text.encode()], pa.binary())
    return Messages.of([(topic, 1)], keys, values)


@dataclasses.dataclass(frozen=True)
class Reached:
    """What a feed says of the source: up to which row all is in synced cycles."""

    row: int
    committed: ClassVar[int] = 0
    server: ClassVar[str] = ""

    @property
    def position(self) -> str:
        """The row."""
        return str(self.row)

    @property
    def integ_seq(self) -> str:
        """The row, as texts are ordered."""
        return f"{self.row:045}"

    def lacks(self, _names: Sequence[str]) -> str:
        """Return nothing."""
        return ""


def read_resolved(kafka: Any, topic: str) -> list[Any]:
    """Stand in for reading the last messages of a topic: with those that are not committed, and before one is sent."""
    kafka.world.step("read the last resolved message")
    return [
        SimpleNamespace(partition=0, offset=at, key=one.key, value=one.value.encode())
        for at, one in enumerate(kafka.broker.log)
        if one.topic == topic
    ]


class Directory:
    """A state directory, or a copy of one."""

    def __init__(self, path: Path) -> None:
        self.path = path / CHANNEL
        self.state = State(str(self.path))
        self.path.mkdir(parents=True, exist_ok=True)
        for name in ("synced", "checkpoint/offsets", "checkpoint/commits"):
            (self.path / name).mkdir(parents=True, exist_ok=True)
        if not (self.path / "checkpoint" / "metadata").exists():
            (self.path / "checkpoint" / "metadata").write_text('{"id":"stream"}')
        (self.path / "senders").touch()
        known(
            self.path, CHANNEL
        )  # two processes that make it at once, on a volume without locks, would be two channels
        self.state.identity()

    def copied(self, path: Path) -> Directory:
        """Return a copy, as it is at this moment."""
        shutil.copytree(self.path, path / CHANNEL)
        return Directory(path)


@dataclasses.dataclass(frozen=True)
class Synced:
    """A cycle that was marked: its last row and the first, by which generation it was sent."""

    process: str
    cycle: int
    rows: range
    generation: str | None


class Scene:
    """What all processes of a schedule share: the source, which grows, and what was synced."""

    def __init__(self, world: World, slices: int) -> None:
        self.world, self.slices, self.visible = world, slices, 0
        self.refreshed: list[Refreshed] = []
        self.never_resumed = False
        """Whether nobody is left who would have a suspended channel continue."""
        self.partitions = 0
        """Of the topic that is the source; 0: it is files."""
        self.resolves = False
        """Whether processes send resolved messages."""
        self.reached_by: Callable[[State], int] = lambda state: state.last_slice() * ROWS_OF_SLICE
        """Up to which row all is in synced cycles."""
        self.lost = 0
        """Of a thousand tasks so many are on an executor that is lost, and run again elsewhere."""
        self.synced: list[Synced] = []
        self.processes: list[Process] = []

    def grow(self) -> None:
        """Have more slices be in the source."""
        self.visible = min(self.slices, self.visible + 1 + self.world.choices.below(3))


class Process:
    """A process that integrates the channel, from its start to its end."""

    def __init__(
        self, name: str, scene: Scene, directory: Directory, recipe: Recipe, cores: int, *, locked: bool
    ) -> None:
        """locked: it takes the lock of the directory, as on one machine; else its volume has none."""
        self.name, self._scene, self.directory, self.recipe, self.cores = name, scene, directory, recipe, cores
        self.cycle, self.record = -1, None
        self.ended: BaseException | None = None
        self._locked = locked
        self._workers = [Worker() for _ in range(3)]
        self._world = scene.world
        scene.processes.append(self)
        self.generation: str | None = None
        self.actor = self._world.spawn(name, self, Worker(), self._run)
        self.resolver: Actor | None = None

    @property
    def in_transactions(self) -> bool:
        """Whether cycles are divided into shards."""
        return self.recipe.send.exactly_once or not self._locked

    def kill(self, *, tasks_live: bool) -> None:
        """Kill the process. tasks_live: its Python workers continue for as long as they have something to do."""
        mine = [actor for actor in self._world.actors if actor.process is self]
        own = [one for one in (self.actor, self.resolver) if one is not None]
        self._world.kill(own if tasks_live else mine)

    def _run(self) -> None:
        state = State(str(self.directory.path))
        try:
            if self._locked:
                state.lock(CHANNEL, 60.0)
            self._integrate(state)
        except IntegratorError as error:
            self.ended = error
            self._world.note(f"{self.name} ends: {type(error).__name__}: {error}"[:200])
        except OSError as error:
            self.ended = as_integrator_error(error, self.name)
            self._world.note(f"{self.name} ends: {error}")
        except _ConcurrentError:
            self._world.note(f"{self.name} ends: another process writes the checkpoint")
        finally:
            state.unlock()

    def _integrate(self, state: State) -> None:
        consistency.check(state)
        self._world.step("start")
        shards = CycleShards(state.path, self.recipe, (TOPIC,)) if self.in_transactions else None
        generation = self.generation = None if shards is None else shards._settings.generation
        if self._scene.resolves:
            self.resolver = self._world.spawn(f"{self.name}.resolved", self, Worker(), lambda: self._resolve(state))

        def synced(done: Cycle) -> None:
            last = done.checkpoint.ordinal
            rows = range((last - done.files) * ROWS_OF_SLICE + 1, last * ROWS_OF_SLICE + 1)
            self._scene.synced.append(Synced(self.name, done.cycle, rows, generation))

        plan: Any = SimpleNamespace(recipe=self.recipe, topics=(TOPIC,), changes=SimpleNamespace(reader=None))
        limits = Limits(60.0 if self._locked else 0.0)
        following = SubCycles(state, _LISTING, _Feed(self, state), limits, _Gate(self._world))
        one = cycle(plan, state, lambda: self.cores, shards, synced, following)
        retries = RetriedCycles(
            Restarts(_TRIES, state.last_slice), lambda: False, lambda *_: None, lambda: state.begin_turn(60.0)
        )
        integrate, suspended = retries.around(one), state.path / "suspended"
        while True:
            with state.integrating(60.0):
                state.begin_turn(60.0)
                while state.suspended is None and (number := self._next(state)) is not None:
                    self.cycle = number
                    frame: Any = _Runs(self, range(*self._slices_of(number)))
                    try:
                        integrate(frame, number)
                    except EndedError:  # Spark does not commit it, and begins it again
                        continue
                    self._world.step(f"Spark commits cycle {number}")
                    self._write("commits", number, "{}")
            if state.suspended is None:
                return
            if self._scene.never_resumed:
                raise EnvironmentFault("suspended")
            while state.suspended is not None and not self._scene.never_resumed:
                self._world.wait("suspended", lambda: self._scene.never_resumed or not suspended.exists())

    def _resolve(self, state: State) -> None:
        """Send resolved messages beside the cycles, as the thread of `Resolving` does."""
        table = SimpleNamespace(in_source=SimpleNamespace(name=TOPIC, at_source=(TOPIC,)))
        recipe = SimpleNamespace(tables=[table], send=self.recipe.send, messages=self.recipe.messages)
        plan: Any = SimpleNamespace(channel=CHANNEL, recipe=recipe, aside={}, topics=(TOPIC,))
        asked: Any = SimpleNamespace(topic=RESOLVED, every=0.0, per_partition=False)
        feed: Any = SimpleNamespace(reached=lambda: Reached(self._scene.reached_by(state)))
        resolving = Resolving(asked, state, lambda: plan, lambda: feed)
        resolving._log = NO_LOG
        try:
            for _ in range(2 + self._world.choices.below(6)):
                if not self.actor.lives:
                    break
                self._world.sleep(0.05)
                resolving.is_sent()
            self._world.wait("the end of cycles", lambda: not self.actor.lives)
            if not self.actor.dead:
                any(resolving.is_sent() for _ in range(3))
        except IntegratorError as error:
            self._world.note(f"{self.name}.resolved ends: {type(error).__name__}: {error}"[:200])

    def _next(self, state: State) -> int | None:
        """Return the cycle that Spark begins, or begins again; None where nothing more comes."""
        checkpoint = SparkCheckpoint(Path(state.spark_checkpoint))
        begun, committed = checkpoint.begun(), checkpoint.committed()
        if begun and begun[-1] not in committed:
            return begun[-1]
        start = checkpoint.last_slice(begun[-1]) if begun else 0
        while self._scene.visible <= start:
            if self._scene.visible >= self._scene.slices:
                return None
            self._scene.grow()
        visible = self._scene.visible
        journal = Journal(state.journal, start)
        journal.take([self._slice(one) for one in range(1, visible + 1)])
        number = begun[-1] + 1 if begun else 0
        end = start + 1 + self._world.choices.below(visible - start)
        self._world.step(f"Spark begins cycle {number}, to slice {end}")
        moment = 1_800_000_000_000 + 1000 * self._world.steps
        self._write("offsets", number, json.dumps({"batchTimestampMs": moment}), json.dumps({"slices": end}))
        return number

    def _slice(self, number: int) -> Slice:
        """Return a slice of the source: a file; of a topic where a partition begins, or one of its records."""
        if not self._scene.partitions:
            return Slice(f"/in/{number}", 1, 1)
        at, partition = divmod(number - 1, self._scene.partitions)
        return Slice(f"in-{partition}@{at}", 1, 0, f"in-{partition}", max(at - 1, 0), at)

    def _slices_of(self, number: int) -> tuple[int, int]:
        checkpoint = SparkCheckpoint(Path(self.directory.state.spark_checkpoint))
        return checkpoint.last_slice(number - 1) if number else 0, checkpoint.last_slice(number)

    def _write(self, part: str, number: int, *lines: str) -> None:
        path = self.directory.path / "checkpoint" / part / str(number)
        try:
            with path.open("x") as file:
                file.write("\n".join(("v1", *lines)))
        except FileExistsError:
            raise _ConcurrentError from None


_LISTING: Any = SimpleNamespace(number_of=None, together=len, stream_of=lambda _: "")
"""Of slices in the journal."""


class _Gate:
    """What cycles go through."""

    def __init__(self, world: World) -> None:
        self._world = world

    def rest(self) -> None:
        """Do nothing."""

    def wake(self) -> None:
        """Do nothing."""

    @property
    def is_ending(self) -> bool:
        """Whether no more sub-cycles follow a cycle."""
        return self._world.choices.below(3) == 0


class _Feed(Feed):
    """Has the slices that are in the source, and in no synced cycle."""

    def __init__(self, process: Process, state: State) -> None:
        self._process, self._state = process, state

    def waiting(self) -> Sequence[Slice]:
        """Return them, some of which may have come just now."""
        scene = self._process._scene
        if scene.world.choices.below(2):
            scene.grow()
        return [self._process._slice(one) for one in range(self._state.last_slice() + 1, scene.visible + 1)]

    def wait(self, _seconds: float) -> None:
        """Let others act."""
        self._process._world.step("wait for slices")


class _ConcurrentError(Exception):
    """Another stream has the checkpoint."""


@dataclasses.dataclass(frozen=True)
class Task:
    """The second pass, as `second_pass` gives it."""

    recipe: Recipe
    senders: Senders
    tasks: int
    shards: Shards | None


def _run_task(task: Task, shard: int, rows: Sequence[Row], slices: range) -> str:
    """Do what the second pass does, with rows for fragments."""
    try:
        with task.senders.sending() if task.shards is None else contextlib.nullcontext():
            transaction = None if task.shards is None else Transaction(task.recipe.send, task.shards, shard)
            delivery = Delivery(task.recipe, task.tasks, transaction)
            try:
                for row in rows:
                    delivery.send(row.messages)
                    for batch in delivery._batches.rest():  # each row is a request of its own
                        delivery._send(batch)
                summary = [FileSummary(slices.stop, len(slices), {}, {}, files=len(slices))] if shard == 0 else []
                return delivery.report(summary, {}, None).to_json()
            except BaseException:
                delivery.discard()
                raise
    except Exception as error:  # noqa: BLE001 - as in the second pass
        raise to_wire_error(error, "the second pass") from None


@dataclasses.dataclass(frozen=True)
class OwnRuns:
    """The runs of a sub-cycle, which the process sends itself."""

    rows: pa.RecordBatch
    world: World
    count: ClassVar[int] = 1
    alone: ClassVar[bool] = False

    def sent(self, first: Any, second: Any) -> tuple[list[Report], list[bytes]]:
        """Send them."""
        numbers, (moment, _) = self.rows["ordinal"].to_pylist(), first
        slices = range(numbers[0] - 1, numbers[-1])
        rows = [
            Row(one, f"{one} {moment}")
            for one in range(slices.start * ROWS_OF_SLICE + 1, slices.stop * ROWS_OF_SLICE + 1)
        ]
        assert self.world.now is not None
        self.world.now.attempt = rows
        self.world.now.process.record = None if second.shards is None else second.shards.record
        with _own_errors():
            return [Report.of_json(_run_task(second, 0, rows, slices))], [b""]


class _Runs:
    """The micro-batch of a cycle, as `cycle` takes it: its passes are put together, and run by `collect`."""

    def __init__(self, process: Process, slices: range) -> None:
        self._process, self._slices = process, slices
        self.rdd = SimpleNamespace(getNumPartitions=lambda: 2)
        self._count, self._moment, self._sent, self._task = 0, "", 0, None

    def mapInArrow(self, given: Any, _schema: str) -> _Runs:  # noqa: N802 - Spark's
        """Take a pass."""
        if isinstance(given, Task):
            self._task = given
        else:
            self._moment, self._sent = given
        return self

    def divided(self, count: int) -> _Runs:
        """Divide the rows for so many tasks."""
        self._count = count
        return self

    def collect(self) -> list[Any]:
        """Run the tasks; return what they report. An executor may be lost: its task continues, and is run again."""
        task, process = self._task, self._process
        assert task is not None
        process.record = None if task.shards is None else task.shards.record  # of what the driver sends, too
        world, scene = process._world, process._scene
        self._slices = range(max(self._slices.start, self._sent), self._slices.stop)
        numbers = range(self._slices.start * ROWS_OF_SLICE + 1, self._slices.stop * ROWS_OF_SLICE + 1)
        other = int(task.recipe.tables == ())
        results: dict[int, str] = {}
        tasks = []
        for shard in range(self._count):
            mine = [
                Row(number, f"{number} {self._moment}")
                for number in numbers
                if (number % KEYS + other) % self._count == shard
            ]
            tasks.append((shard, mine))
        running = {shard: self._attempt(task, shard, mine, results) for shard, mine in tasks}
        for shard, mine in tasks:
            if world.choices.chance(scene.lost):
                world.step(f"the executor of shard {shard} is lost")
                running[shard] = self._attempt(task, shard, mine, results)
        waits = world.choices.below(2) == 0

        def ended() -> bool:
            """Whether the job ends: with its first failed task, while others live on for a while, or with all."""
            failed = any(actor.error is not None for actor in running.values())
            return (failed and not waits) or not any(actor.lives for actor in running.values())

        while not ended():
            world.wait("wait for tasks", ended)
        for actor in running.values():
            if actor.error is not None:
                raise PySparkException(str(actor.error))
        return [SimpleNamespace(report=results[shard], deferred=b"") for shard in running]

    def _attempt(self, task: Task, shard: int, rows: Sequence[Row], results: dict[int, str]) -> Actor:
        process = self._process
        name, world = f"{process.name}.{process.cycle}.{shard}", process._world
        busy = [actor.worker for actor in world.actors if actor.process is process and actor.lives]
        free = [worker for worker in process._workers if not any(worker is one for one in busy)]
        worker = world.choices.one(free) if free else Worker()

        def run() -> None:
            results[shard] = _run_task(task, shard, rows, self._slices)

        actor = world.spawn(name, process, worker, run)
        actor.record = None if task.shards is None else task.shards.record
        actor.attempt = results
        return actor


@dataclasses.dataclass(frozen=True)
class Refreshed:
    """A refresh that has come to its end: how many slices it had."""

    slices: int


REFRESHED = f"{TOPIC}.refreshed"
"""The topic of a refresh's rows, here: its slices."""


class ModelRefresh(_Refresh):
    """`_Refresh`, whose slices are sent by tasks of the schedule, one after the other."""

    def __init__(self, scene: Scene, process: Any, state: State, recipe: Recipe) -> None:
        """Take what a refresh without a database has."""
        self._plan: Any = SimpleNamespace(recipe=recipe, channel=CHANNEL, topics=(TOPIC,))
        self._source: Any = SimpleNamespace(location=SimpleNamespace(model_dump=dict))
        self._options, self._state, self._scene, self._process = Options(), state, scene, process
        self._slices = [SliceOfRefresh(TOPIC, number, 2, "") for number in range(2)]
        self._tables = {TOPIC: None}
        self._ledger, self._log = Ledger(state.path), NO_LOG
        self._transactions = known(state.path, CHANNEL).name if recipe.send.exactly_once else None  # as on one machine

    def _send(self, run: RefreshRun) -> None:
        self._state.begin_turn(60.0)
        for part in self._slices:
            if self._ledger.completed(part):
                continue
            self._deliver_slice(part, run)
            self._ledger.mark(part, {"rows": 1})
        self._scene.refreshed.append(Refreshed(len(self._slices)))

    def _deliver_slice(self, part: SliceOfRefresh, run: RefreshRun) -> None:
        world = self._scene.world
        name = f"{self._transactions}-refresh-{part.table}-{part.number}"
        task = Task(self._plan.recipe, Senders.now(self._state.path), 1, Shards(name) if self._transactions else None)
        row = Row(part.number, f"{part.number} {run.started}", REFRESHED)
        results: list[str] = []
        work = partial(_run_task, task, 0, [row], range(1))
        actor = world.spawn(f"refresh.{part.number}", self._process, Worker(), lambda: results.append(work()))
        world.wait("wait for the slice", lambda: not actor.lives)
        error = str(actor.error) if actor.error is not None else Report.of_json(results[0]).error
        if error:
            raise DeliveryError(error)


def first_pass(_recipe: Recipe, before: Checkpoint, moment: object, _reader: object, **_: object) -> tuple[str, int]:
    """Stand in for the first pass: what its rows have beside their number, and which slices are sent."""
    return str(moment), before.ordinal


def in_order(frame: Any, count: int, _recipe: Recipe) -> Any:
    """Stand in for the shuffle."""
    return frame.divided(count)


class DriversBundler:
    """Stand in for the bundler of the messages that the driver sends."""

    def __init__(self, _recipe: Recipe) -> None:
        """Take the recipe."""

    def add(self, fragments: Any) -> Iterator[Messages]:
        """Yield the message of a cycle."""
        yield Row(0, fragments.text, ENDED).messages


def merged(_recipe: Recipe, parts: Sequence[bytes]) -> tuple[bytes, Any]:
    """Stand in for the counts of transactions: the driver has one message a cycle."""
    return b"", SimpleNamespace(num_rows=1, text=str(len(parts)))


def back_to(directory: Directory, choices: Callable[[Sequence[int]], int]) -> None:
    """Go back to one of the synced cycles, as the command does."""
    state = State(str(directory.path))
    state.lock(CHANNEL, 0, mends=[MOVING_BACK])
    try:
        cycles = state.marks.cycles()
        if cycles:
            rewind.move_back(state, choices(cycles))
    finally:
        state.unlock()


def export(directory: Directory, file: Path) -> None:
    """Make a backup."""
    backup.export(State(str(directory.path)), CHANNEL, file, replace=True)


def restore(directory: Directory, file: Path) -> None:
    """Import a backup over what is there."""
    backup.restore(State(str(directory.path)), CHANNEL, file, replace=True)
