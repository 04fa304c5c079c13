"""A sink for Spark's streams: a batch is a change file of the channel, and is synced before Spark continues.

A batch that Spark repeats has its file already, so that the same is sent, in the same order; and what is sent, and how
often, is what the channel's cycles say (I2).
"""

from __future__ import annotations

import os
import re
import threading
import time
import uuid
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from types import TracebackType

import pyarrow.parquet
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from typing_extensions import Self

from integrator import durable
from integrator.api.batch_file import LEFT, POSITION, ROWS, writer_of
from integrator.api.channel import Channel, hidden, integrate
from integrator.channel.sources import FilesLocation
from integrator.durable import Damaged
from integrator.errors import ConfigurationError, DataError, EnvironmentFault
from integrator.names.numbers import counted
from integrator.plan import Plan
from integrator.run.spark import session  # noqa: F401 - with which mapInArrow needs no pandas
from integrator.run.spark.failures import classify
from integrator.run.state.directory import State
from integrator.run.state.marks import KEPT_CYCLES
from integrator.sources.files.listing import GLOB
from integrator.sources.journal.journal import Journal

_POLL_S = 0.05
_PLACE = "__integrator_place"
_NAME = re.compile(r"(\d{20})\.([0-9a-f-]{36})\.parquet")
"""A batch's number, and the id of its query, which its checkpoint has."""
_QUERY = "sql.streaming.queryId"
"""The local property that Spark's streams set (StreamExecution.QUERY_ID_KEY)."""
_TRANSACTION = "hvr_tx_seq"
_OPERATIONS = ("hvr_op", "_change_type")
_locks: dict[str, threading.Lock] = {}
"""By state directory: held while a batch is sent."""
_POSITIONS = frozenset({POSITION, _TRANSACTION})


def sink(path: str | os.PathLike[str], environment: Mapping[str, str] | None = None) -> Sink:
    """Return what sends the batches of a stream through the channel in a file: `foreachBatch(integrator.sink(…))`.

    The channel's source is a directory of change files that is this sink's alone. environment: as of `Channel.load`.
    Raises ConfigurationError.
    """
    channel = Channel.load(path, environment)
    with hidden(channel.made.secrets):
        return Sink(channel.made)


class Sink:
    """Sends batches. It has the channel from the first batch on until it is closed, or the process ends."""

    def __init__(self, plan: Plan) -> None:
        """Take the channel's plan. Raises ConfigurationError where its source is no directory of change files."""
        at = "locations", plan.recipe.messages.cap_loc
        location = plan.changes.location
        if not isinstance(location, FilesLocation) or "://" in location.path or GLOB & set(location.path):
            text = (
                "integrator.sink writes batches as change files: the source is {class: files, path: DIRECTORY}, "
                "a directory of this machine, or one that all of Spark's machines have"
            )
            raise ConfigurationError([plan.problem(at, text)])
        file = f"{0:020d}.{uuid.UUID(int=0)}.parquet"
        ignored = any(fnmatchcase(file, one) for one in location.ignore)
        for key, is_excluded in (("pattern", not fnmatchcase(file, location.pattern)), ("ignore", ignored)):
            if is_excluded:
                text = f"excludes the files of batches, which are called as {file}: leave {key} out"
                raise ConfigurationError([plan.problem((*at, key), text)])
        self._plan, self._directory = plan, Path(plan.recipe.read.path)
        self._state = State(plan.state)
        self._cycles: _Cycles | None = None

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Send a batch; return when all of it is synced. Raises IntegratorError, and Spark repeats the batch."""
        lock = _locks.setdefault(self._plan.state, threading.Lock())  # a query that is stopped leaves its batch running
        with lock, hidden(self._plan.secrets):
            durable.make_directory(self._directory)
            if self._cycles is None or self._cycles.ended:
                self._cycles = None
                _Cycles.end_of(self._plan.state)  # of a sink whose query was stopped
                self._state.check_free(self._plan.channel)
            path = self._file(batch, number)
            if path is not None:
                self._cycles = self._cycles or _Cycles(self._plan, batch.sparkSession)
                self._sync(path, self._cycles)
                durable.remove(self._files()[: -KEPT_CYCLES - 1])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the channel back, when the cycle that is under way is synced. A batch after it takes it again."""
        if self._cycles is not None:
            self._cycles.end()

    def _files(self) -> list[Path]:
        """Return the files of batches, the last one last."""
        return sorted(path for path in self._directory.iterdir() if _NAME.fullmatch(path.name))

    def _file(self, batch: DataFrame, number: int) -> Path | None:
        """Return the file of a batch, written if it is not there; None where the batch has no rows."""
        query = batch.sparkSession.sparkContext.getLocalProperty(_QUERY)
        if query is None:
            raise EnvironmentFault("no streaming query calls the sink: give it to writeStream.foreachBatch")
        path = self._directory / f"{number:020d}.{query}.parquet"
        if files := self._files():
            self._check_follows(path, files[-1])
        if not path.exists():
            durable.remove(self._directory.glob(".*.parquet.*.tmp"))  # of processes that were killed
            temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
            if not _written(batch, temporary, number):
                return None
            durable.rename(temporary, path)
        elif (count := batch.count()) != (had := pyarrow.parquet.read_metadata(path).num_rows):
            raise EnvironmentFault(
                f"channel {self._plan.channel}: batch {number} is repeated with {counted(count, 'row')}, and {path} "
                f"has {had}: the query's checkpoint is older than the channel's state, or its rows depend on "
                "more than its sources; restore the two as of one time"
            )
        return path

    def _check_follows(self, path: Path, last: Path) -> None:
        """Raise EnvironmentFault for a batch that is neither the last one again, nor after it in the same query."""
        (number, query), (before, known) = (one.name.split(".")[:2] for one in (path, last))
        if query != known:
            raise EnvironmentFault(
                f"channel {self._plan.channel}: batch {int(number)} is of the query {query}, and {self._directory} has "
                f"batches of {known}: start that one, with its checkpointLocation; or, to send all that the new query "
                f"has, give the channel another name, path and topics"
            )
        if number < before:
            raise EnvironmentFault(
                f"channel {self._plan.channel}: batch {int(number)} comes after batch {int(before)}, which was sent: "
                "the query's checkpoint is older than the channel's state; restore the two as of one moment"
            )

    def _sync(self, path: Path, cycles: _Cycles) -> None:
        """Return when a file is synced. Raises IntegratorError, the one that ends the channel's cycles."""
        seen = 0
        while True:
            has_ended = cycles.ended
            if (last := self._state.last_slice()) != seen:
                seen = last
                if self._is_synced(path, last):
                    return
            if has_ended:
                cycles.raise_failure()
            time.sleep(_POLL_S)

    def _is_synced(self, path: Path, last: int) -> bool:
        try:
            taken = Journal(self._state.journal).number(str(path))
        except Damaged:  # or just being compacted; a cycle of a damaged one fails
            return False
        return taken is not None and taken <= last


class _Cycles:
    """The cycles of a channel in a thread of this process, and its Spark; of each state directory one at a time."""

    _of_states: dict[str, _Cycles] = {}  # noqa: RUF012 - of the process

    def __init__(self, plan: Plan, spark: SparkSession) -> None:
        self._channel, self._stopping = plan.channel, threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(plan, spark), name=f"sink {plan.channel}", daemon=True)
        self._of_states[plan.state] = self
        self._thread.start()

    def _run(self, plan: Plan, spark: SparkSession) -> None:
        try:
            integrate(plan, once=False, spark=spark, stopping=self._stopping)
        except BaseException as failure:  # noqa: BLE001 - raised where a batch waits
            self._failure = failure

    @classmethod
    def end_of(cls, state: str) -> None:
        """Have those of a state directory end, if there are any."""
        if state in cls._of_states:
            cls._of_states[state].end()

    @property
    def ended(self) -> bool:
        return not self._thread.is_alive()

    def end(self) -> None:
        """Have them end after the cycle that is under way."""
        self._stopping.set()
        self._thread.join()

    def raise_failure(self) -> None:
        """Raise why they ended."""
        raise self._failure or EnvironmentFault(f"channel {self._channel}: its sink was closed while a batch waited")


def _written(batch: DataFrame, path: Path, number: int) -> bool:
    """Write a batch to a file, in the order of its partitions; return whether it has rows. Raises IntegratorError."""
    columns = set(batch.columns)
    if not columns & set(_OPERATIONS):
        raise DataError(
            f"the columns of a batch are {', '.join(batch.columns)}: it is to have hvr_op (0 delete, 1 insert, 2 "
            "update), and hvr_tbl_name where the channel has several tables; or those of Delta's change data feed, "
            "of which _change_type is one"
        )
    own = "hvr_op" in columns and not columns & _POSITIONS
    if own and LEFT in columns:
        raise DataError(f"a batch that has {LEFT} is to have {_TRANSACTION}, too")
    rows = batch.withColumn(_PLACE, f.monotonically_increasing_id()).repartition(1).sortWithinPartitions(_PLACE)
    try:
        found = rows.mapInArrow(writer_of(str(path), number if own else None, _PLACE), f"{ROWS} long").collect()
    except PySparkException as error:
        raise classify(error) or error from None
    return any(one[ROWS] for one in found)  # Spark has no task for what it knows to be empty
