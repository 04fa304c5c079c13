"""Synced cycles, listed, and gone back to: what came after one is sent again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from integrator import durable
from integrator.durable import Damaged
from integrator.errors import EnvironmentFault
from integrator.names.numbers import ranges
from integrator.run.state import aside, consistency, shards
from integrator.run.state.directory import MOVING_BACK, State
from integrator.run.state.spark_checkpoint import SparkCheckpoint


@dataclass(frozen=True)
class Synced:
    """A synced cycle: when, and how many files, rows read, messages and their bytes, and rows that wait after it.

    last_slice: the number in the journal of the last change file that it took.
    """

    cycle: int
    at: datetime
    files: int
    rows: int
    messages: int
    bytes: int
    deferred: int
    last_slice: int


def history(state: State) -> list[Synced | Damaged]:
    """Return the synced cycles that the state directory still knows, the earliest first, or why one cannot be read.

    A cycle before the last ones is of no use but to be gone back to, so that its damage does not stop the channel.
    """
    return [_synced(state, cycle) for cycle in state.marks.cycles()]


def _synced(state: State, cycle: int) -> Synced | Damaged:
    try:
        mark = state.marks.read(cycle)
    except Damaged as damaged:
        return damaged
    return Synced(cycle, mark.at, mark.files, mark.rows, mark.messages, mark.bytes, mark.deferred, mark.last_slice)


def move_back(state: State, cycle: int) -> list[int]:
    """Have the next start continue after the synced `cycle`; return the cycles that are no longer synced.

    The channel must be locked. What a crash leaves half done has the file `moving_back`: no start takes it, and going
    back again mends it. Raises EnvironmentFault where the cycle is not there any more, or is not whole.
    """
    known = state.marks.cycles()
    spark_checkpoint = SparkCheckpoint(Path(state.spark_checkpoint))
    if cycle not in known:
        raise _cannot(state, cycle, f"the synced cycles that are kept are {ranges(known) or 'none'}")
    try:
        consistency.check_whole(state, cycle)
    except Damaged as damaged:
        raise _cannot(state, cycle, str(damaged)) from damaged
    durable.replace(state.path / MOVING_BACK, str(cycle).encode())
    later = sorted((one for one in known if one > cycle), reverse=True)
    durable.remove(path for one in later for path in state.marks.path.glob(f"{one}.*"))
    for part, numbers in (("commits", spark_checkpoint.committed()), ("offsets", spark_checkpoint.begun())):
        directory = spark_checkpoint.path / part
        gone = [number for number in reversed(numbers) if number > cycle]
        durable.remove(directory / name for number in gone for name in (str(number), f".{number}.crc"))
    try:
        spark_checkpoint.check_metadata()
    except Damaged:
        spark_checkpoint.renew_metadata()
    state.sub_cycle.unlink(missing_ok=True)  # of a cycle that is no more
    aside.move_back(state.path, state.last_slice())
    shards.renew_generation(state.path)
    durable.remove([state.path / MOVING_BACK])
    return later


def _cannot(state: State, cycle: int, reason: str) -> EnvironmentFault:
    return consistency.fault(state, f"{state.path}: cycle {cycle} cannot be gone back to: {reason}")
