"""Whether the parts of a state directory belong together: the journal, Spark's checkpoint, and the marks.

Cycles and files are known by their numbers. If one part is gone, damaged, or of another time (from a backup), numbers
mean other files there, and rows would be skipped silently (I4). So the parts are compared before a stream
starts and before each cycle, and what does not fit is refused with what to do about it:

* journal: has every file that a mark or the checkpoint speaks of, and the files up to the last mark are those it had;
* checkpoint: ends with the last synced cycle, or with the one after it;
* marks: none is missing between the kept ones; each has the files that the checkpoint has for its cycle, and those of
  its sub-cycles, of which Spark knows nothing, and which are in the journal after them.

A whole state directory that is older is consistent: then rows are sent again, which at-least-once delivery allows.
"""

from __future__ import annotations

import re
from pathlib import Path

from integrator.durable import Damaged
from integrator.errors import EnvironmentFault, command
from integrator.names.numbers import counted
from integrator.run.state.directory import State
from integrator.run.state.marks import KEPT_CYCLES, CycleMark
from integrator.run.state.spark_checkpoint import SparkCheckpoint
from integrator.sources.journal.journal import Journal
from integrator.sources.spool import SPOOL, is_segment

_SPARK_SAYS = re.compile(
    r"(ChecksumException|Checksum error|Incomplete log file|unsupported log version|malformed log file|"
    r"batch \d+ doesn't exist|STREAMING_CHECKPOINT|CHECKPOINT_LOCATION_NOT_EMPTY|"
    r"CONCURRENT_STREAM_LOG_UPDATE|concurrently using)",
    re.IGNORECASE,
)


def check(state: State) -> Journal:
    """Return the journal. The channel is locked.

    Raises EnvironmentFault if the parts of the state directory do not belong together.
    """
    state.check_finished()
    try:
        return _check(state)
    except Damaged as damaged:
        raise fault(state, str(damaged)) from damaged


def check_cycle(state: State, cycle: int) -> int:
    """Return the number of the last file of `cycle`, which Spark is about to have integrated.

    Raises EnvironmentFault if it is marked as synced with other files, or does not begin where the one before it ended.
    """
    spark_checkpoint = SparkCheckpoint(Path(state.spark_checkpoint))
    try:
        last, before = spark_checkpoint.last_slice(cycle), spark_checkpoint.last_slice(cycle - 1) if cycle else 0
        if state.marks.has(cycle):
            _compare(state, state.marks.read(cycle), before, last)
        elif cycle > 0:
            _compare(state, state.marks.read(cycle - 1), None, before)
    except Damaged as damaged:
        raise fault(state, str(damaged)) from damaged
    return last


def of_checkpoint(state: State, failure: BaseException) -> EnvironmentFault | None:
    """Return the error for what Spark failed with, if that is a file of its checkpoint."""
    line = next((line for line in str(failure).split("\n") if _SPARK_SAYS.search(line)), None)
    return None if line is None else fault(state, f"{state.spark_checkpoint}: Spark cannot read its checkpoint: {line}")


def fault(state: State, problem: str) -> EnvironmentFault:
    """Return the error for a damaged state directory: the problem, and each way that mends it."""
    cycle = last_whole(state)
    ways = []
    if cycle is not None:
        ways.append(
            f"go back to cycle {cycle}, the last intact one ({command()} state --channel FILE --back-to {cycle}; "
            "the files that came after it are sent again)"
        )
    ways.append(f"import a backup ({command()} state --channel FILE --import BACKUP --replace)")
    spool = " but spool, which has lines that were received and may not be sent yet," if state.spool.exists() else ""
    ways.append(
        f"remove everything in {state.path}{spool} to send all files that are there again (rows of a transaction that "
        "waited for its end are in their files only)"
    )
    return EnvironmentFault(f"{problem}. Do one of these: " + "; or ".join(ways))


def last_whole(state: State) -> int | None:
    """Return the last synced cycle that the channel can be gone back to; None if there is none."""
    try:
        journal = Journal(state.journal)
    except Damaged:
        return None
    return next((cycle for cycle in reversed(state.marks.cycles()) if _is_whole(state, cycle, journal)), None)


def check_whole(state: State, cycle: int) -> None:
    """Raise Damaged if `cycle` cannot be gone back to: a part of the state up to it is gone or damaged."""
    _check_whole(state, cycle, Journal(state.journal))


def _is_whole(state: State, cycle: int, journal: Journal) -> bool:
    try:
        _check_whole(state, cycle, journal)
    except Damaged:
        return False
    return True


def _check_whole(state: State, cycle: int, journal: Journal) -> None:
    spark_checkpoint = SparkCheckpoint(Path(state.spark_checkpoint))
    spark_checkpoint.check_commit(cycle)
    _check_gap(state, [one for one in state.marks.cycles() if one <= cycle])
    mark = state.marks.read(cycle)
    state.marks.checkpoint(mark)
    _compare(state, mark, spark_checkpoint.last_slice(cycle - 1) if cycle else 0, spark_checkpoint.last_slice(cycle))
    _compare_journal(state, mark, journal)
    _check_spool(state, mark, journal)


def _check_spool(state: State, mark: CycleMark, journal: Journal) -> None:
    """Raise Damaged where a segment of the spool is gone that cycles after `mark` have: not all of them are kept."""
    for _, one in journal.between(mark.last_slice, len(journal)):
        path = state.path / SPOOL / Path(one.path).name
        if Path(one.path).parent.name == SPOOL and is_segment(path.name) and not path.exists():
            raise Damaged(f"{path}: is not there any more: of synced cycles as many bytes are kept as spool_bytes says")


def _check(state: State) -> Journal:
    spark_checkpoint, marks = SparkCheckpoint(Path(state.spark_checkpoint)), state.marks.cycles()
    begun, committed = spark_checkpoint.begun(), spark_checkpoint.committed()
    spark_checkpoint.remove_unfinished()
    if not begun:
        if marks or committed:
            raise Damaged(
                f"{spark_checkpoint.path / 'offsets'}: the checkpoint is gone, but {state.marks.path} has "
                f"{counted(len(marks), 'synced cycle')}, and {spark_checkpoint.path / 'commits'} has {len(committed)}"
            )
        return Journal(state.journal)
    spark_checkpoint.check_metadata()
    latest = begun[-1]
    ends = {cycle: spark_checkpoint.last_slice(cycle) for cycle in range(max(latest - 1, 0), latest + 1)}
    if committed:
        spark_checkpoint.check_commit(committed[-1])
    _check_cycles(state, latest, committed[-1] if committed else -1, marks)
    for cycle, end in ends.items():
        if cycle in marks:
            _compare(state, state.marks.read(cycle), ends.get(cycle - 1) if cycle else 0, end)
    if not marks:
        return Journal(state.journal, ends[latest])
    last = state.marks.read(marks[-1])
    state.marks.checkpoint(last)
    journal = Journal(state.journal, max(ends[latest], last.last_slice))
    _compare_journal(state, last, journal)
    return journal


def _check_cycles(state: State, latest: int, committed: int, marks: list[int]) -> None:
    """Raise Damaged unless the checkpoint ends with the last synced cycle or the next one, and no mark is missing."""
    last = marks[-1] if marks else -1
    if max(last, committed) > latest:
        raise Damaged(
            f"{Path(state.spark_checkpoint) / 'offsets'}: ends with cycle {latest}, but cycle {max(last, committed)} "
            "was synced: the checkpoint is older than the marks"
        )
    if last < max(latest - 1, committed):
        raise Damaged(
            f"{state.marks.path / f'{max(latest - 1, committed)}.json'}: the mark of a cycle that Spark's checkpoint "
            f"has as done is gone; the last one that is there is of cycle {last}"
            if marks
            else f"{state.marks.path}: has no marks of synced cycles, and Spark's checkpoint is at cycle {latest}"
        )
    _check_gap(state, marks)


def _check_gap(state: State, marks: list[int]) -> None:
    """Raise Damaged if a mark is missing between the given ones. An older one may have been left by a crash."""
    kept = [cycle for cycle in marks if cycle > marks[-1] - KEPT_CYCLES]
    missing = set(range(kept[0], kept[-1])) - set(kept) if kept else set()
    if missing:
        raise Damaged(
            f"{state.marks.path / f'{max(missing)}.json'}: is gone, and there are marks of cycles before it and "
            f"after it; restore it, or remove those before it (up to {max(missing) - 1}.json), which --back-to "
            "can then no longer reach"
        )


def _compare(state: State, mark: CycleMark, begin: int | None, end: int) -> None:
    """Raise Damaged if a cycle's mark has other files than the checkpoint, where it has those after `begin` to `end`.

    begin: None where the checkpoint need not have the cycle before.
    """
    if end != mark.planned or (begin is not None and begin > mark.begins_after):
        first = "?" if begin is None else begin + 1
        raise Damaged(
            f"{mark.path}: cycle {mark.cycle} was synced with files {mark.begins_after + 1} to {mark.planned} of "
            f"the journal, and in {Path(state.spark_checkpoint) / 'offsets'} it has files {first} to {end}: the two "
            "are from different points in time"
        )


def _compare_journal(state: State, mark: CycleMark, journal: Journal) -> None:
    """Raise Damaged if the files up to a mark are not those that it was written for."""
    if len(journal) < mark.last_slice:
        raise Damaged(
            f"{state.journal}: has {counted(len(journal), 'change file')}, and cycle {mark.cycle} ends with "
            f"{mark.last_slice}"
        )
    if journal.digest(mark.last_slice) != mark.journal:
        raise Damaged(
            f"{state.journal}: its change files up to number {mark.last_slice} are not those that were synced up to "
            f"cycle {mark.cycle} ({mark.path}): it is damaged, or of another time"
        )
