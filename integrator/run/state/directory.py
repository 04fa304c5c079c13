"""A channel's state directory: who holds it, and what was synced.

lock            held by the one process that integrates the channel
senders         held (shared) by each task that is sending: a successor waits until those of a killed process have ended
files.jsonl     the journal of change files, see sources.journal
files.N….known  its first N files, in cycles long synced, see sources.compacted
checkpoint/     Spark's: which cycle has which files
synced/N.json   one a synced cycle: counts, and where the next cycle begins
integrating     held while rows are sent, by the daemon's stream or by a refresh
suspended       why the daemon waits, while it is there
shards.json     the ids and the number of transactions, see shards
refresh/        slices of a refresh that are completed, see refresh.ledger
refreshed.json  tables that were refreshed online, and up to which commit
replay/         the same of replays, and the records that they were given, see integrator.replay.job
spool/          lines that came through sockets, see sources.spool
identity        what this state's rows have in their UUIDs, see State.identity
importing       a backup is being imported: nothing starts, see backup
moving_back     the channel is being moved back, to the cycle that is in it: nothing starts, see rewind
heartbeat.json  that the daemon lives, and what it does
failure.json    the last failure, and when it was mended, see failure
resume          a failed channel is to start again, see resume
added.json      columns that came while the channel ran, and were added, see tables.discovered_columns
schemas.json    schemas that records of topics were written with, see sources.kafka.schemas
sub_cycle.json  the sub-cycle that was begun last, see begun_sub_cycle
compared.json   when tables were compared with topics, and what came of it, see compare.kept
aside.json      tables that are set aside, see aside; aside/ has their changes, see sources.capture.held
cores           how many cores Spark had in the last cycle, see sources.files
jvm             held by Spark's JVM as long as it lives, see session
coerced.jsonl   coerced values, with CoerceErrorPolicy WARNING_FILE
synced/N.held   the rows that wait for the rest of their transaction, where there are any
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import time
import uuid
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO

from integrator import durable
from integrator.contracts.fragments import Checkpoint
from integrator.deliver.kafka.sender_lock import SENDERS, begin_turn, wait_for_senders
from integrator.durable import Damaged
from integrator.errors import ConfigurationError, EnvironmentFault, Problem, command, shown
from integrator.run.state import begun_sub_cycle, mounts, shards
from integrator.run.state.marks import CycleMark, CycleMarks
from integrator.run.state.spark_checkpoint import SparkCheckpoint
from integrator.run.state.sync import Cycle
from integrator.sources.journal.digests import Beginning
from integrator.tables.discovered_columns import Added

IMPORTING, MOVING_BACK = "importing", "moving_back"
_UNFINISHED = {
    IMPORTING: "the import of a backup did not come to its end; do it again "
    "({command} state --channel FILE --import FILE --replace)",
    MOVING_BACK: "moving back did not come to its end; do it again "
    "({command} state --channel FILE --back-to {content})",
}
"""Files that commands which are not finished leave, and what they mean."""
_IDENTITY = "identity"
_POLL_S = 0.2


class State:
    """The state directory of one channel, on the driver."""

    def __init__(self, directory: str) -> None:
        self.path = Path(directory).absolute()
        self._lock: IO[bytes] | None = None
        self.marks = CycleMarks(self.path / "synced")
        self.journal = self.path / "files.jsonl"
        self.spool = self.path / "spool"
        self._beginning = Beginning(self.journal)

    @property
    def spark_checkpoint(self) -> str:
        """Where Spark keeps its offsets and commits."""
        return str(self.path / "checkpoint")

    @property
    def spark_checkpoint_uri(self) -> str:
        """The same for Spark, which takes a path for one of fs.defaultFS: that of a Hadoop cluster is no local disk.

        Not percent-encoded: Hadoop does not decode paths.
        """
        return f"file://{self.spark_checkpoint}"

    def make(self) -> None:
        """Make the directory, if it is not there. Raises EnvironmentFault if it cannot be used."""
        try:
            durable.make_directory(self.path / "synced")
            for name in (SENDERS, "lock"):
                (self.path / name).touch()
        except OSError as error:
            raise EnvironmentFault(f"{self.path}: the state directory cannot be used: {error}") from error

    def lock(self, channel: str, wait_s: float, *, mends: Collection[str] = ()) -> None:
        """Take the channel. Raises EnvironmentFault if another process has it, or `wait_s` is over.

        `wait_s` is for the tasks of a process that was killed: they end by themselves. mends: which unfinished commands
        the caller finishes, by their files.
        """
        self.make()
        if reason := mounts.lock_problem(self.path):
            raise EnvironmentFault(reason)
        self._lock = (self.path / "lock").open("a+b")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.unlock()
            self.check_free(channel)
            raise EnvironmentFault(f"{self.path / 'lock'}: was held until now; start again") from None
        self._lock.seek(0)
        self._lock.truncate()
        self._lock.write(str(os.getpid()).encode())
        self._lock.flush()
        try:
            self.check_finished(mends)
            self.wait_for_senders(wait_s)
        except EnvironmentFault:
            self.unlock()
            raise

    def producer_name(self, channel: str) -> str:
        """Return what transactional ids of the channel begin with, made when it is asked for first."""
        return shards.known(self.path, channel).name

    def identity(self) -> str:
        """Return a random text that the state has for ever, made when it is asked for first: see `transform.row_uuid`.

        Raises EnvironmentFault where it is damaged.
        """
        path = self.path / _IDENTITY
        if not path.exists():
            durable.replace(path, uuid.uuid4().hex.encode())
        found = path.read_text(encoding="utf-8", errors="backslashreplace")
        if not re.fullmatch(r"[0-9a-f]{32}", found):
            raise EnvironmentFault(
                f"{path}: is damaged ({shown(found)}), and has 32 hexadecimal digits else; restore it, or remove it: "
                "then rows that are sent again have other UUIDs ({hvr_row_uuid})"
            )
        return found

    def holder(self) -> str | None:
        """Return the id of the process that integrates the channel; None if there is none."""
        if not (self.path / "lock").exists():
            return None
        with (self.path / "lock").open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return lock.read().decode(errors="backslashreplace") or "unknown"
        return None

    def check_free(self, channel: str) -> None:
        """Raise EnvironmentFault if another process has the channel."""
        if (holder := self.holder()) is not None:
            raise EnvironmentFault(
                f"channel {channel} is being integrated already, by process {holder} (lock {self.path / 'lock'}); "
                "stop that one first"
            )

    def wait_for_senders(self, wait_s: float) -> None:
        """Wait until no task is sending for this channel. Raises EnvironmentFault after `wait_s` seconds."""
        wait_for_senders(self.path / SENDERS, wait_s)

    def begin_turn(self, wait_s: float) -> None:
        """Have tasks that were begun before send nothing more, while `integrating` is held. Raises EnvironmentFault."""
        begin_turn(self.path / SENDERS, wait_s)

    @contextlib.contextmanager
    def integrating(self, wait_s: float = 60.0) -> Iterator[None]:
        """Hold what says that rows are sent: by a running stream, or by a refresh; never by both.

        Raises EnvironmentFault if another process holds it for longer than `wait_s` seconds.
        """
        deadline = time.monotonic() + wait_s
        with (self.path / "integrating").open("ab") as held:
            while True:
                try:
                    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise EnvironmentFault(
                            f"{self.path / 'integrating'}: another process sends rows of this channel; wait for it"
                        ) from None
                    time.sleep(_POLL_S)
            yield

    @property
    def suspended(self) -> str | None:
        """Why the channel is suspended; None if it is not."""
        try:
            reason = (self.path / "suspended").read_text(encoding="utf-8", errors="backslashreplace")
        except FileNotFoundError:
            return None
        return reason.strip() or "no reason given"

    def refreshed(self) -> tuple[tuple[str, str], ...]:
        """Return the tables that were refreshed online, and up to which commit their rows have all changes."""
        path = self.path / "refreshed.json"
        if not path.exists():
            return ()
        try:
            moments = json.loads(path.read_text(encoding="utf-8"))
            valid = all(isinstance(moment, str) for moment in moments.values())
        except (ValueError, AttributeError):
            valid = False
        if not valid:
            raise EnvironmentFault(
                f"{path}: is damaged: expected is an object with a text for each table; restore it, or remove it: "
                "then changes that the rows of a refresh contain already are sent again"
            )
        return tuple(moments.items())

    def mark_refreshed(self, tables: dict[str, str]) -> None:
        """Write down that tables were refreshed, and up to which commit."""
        known = {**dict(self.refreshed()), **tables}
        durable.replace(self.path / "refreshed.json", json.dumps(known).encode())

    def mark_added(self, columns: Added) -> None:
        """Write down the columns that came while the channel ran, all of them."""
        durable.replace(self.path / "added.json", json.dumps(columns).encode())

    def suspend(self, reason: str) -> None:
        """Have the daemon end its stream after the cycle it is in, and wait."""
        durable.make_directory(self.path)
        durable.replace(self.path / "suspended", reason.encode())

    def resume(self) -> None:
        """Have the daemon continue."""
        if (self.path / "suspended").exists():
            durable.remove([self.path / "suspended"])

    def unlock(self) -> None:
        """Give the channel back."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def mark(self, cycle: Cycle, made_by: str = "") -> None:
        """Write that `cycle` is synced. I1: called only after every acknowledgement, before Spark's commit.

        made_by: the fingerprint of the recipe that made the rows which wait for the next cycle.
        """
        self._keep_details(cycle)
        self.marks.write(cycle, made_by, self.digest(cycle.checkpoint.ordinal))

    def mark_more(self, done: Cycle, made_by: str) -> None:
        """Write that a sub-cycle is synced, as `mark`: the mark of its cycle has both. Raises Damaged."""
        self._keep_details(done)
        self.marks.add(done, made_by, self.digest(done.checkpoint.ordinal))

    def _keep_details(self, done: Cycle) -> None:
        if done.details:
            lines = (json.dumps({"cycle": done.cycle, **detail}, ensure_ascii=False) for detail in done.details)
            durable.append(self.path / "coerced.jsonl", "".join(f"{line}\n" for line in lines).encode())

    def digest(self, slices: int) -> str:
        """Return the digest of the journal's first `slices` entries; "" if it does not have so many."""
        return self._beginning.of(slices) or ""

    def check_finished(self, mends: Collection[str] = ()) -> None:
        """Raise EnvironmentFault if a command did not come to its end: the files belong to two times.

        mends: the files of commands that are finished now.
        """
        for name, text in _UNFINISHED.items():
            path = self.path / name
            if name not in mends and path.exists():
                content = path.read_text(encoding="utf-8", errors="backslashreplace")
                raise EnvironmentFault(f"{path}: {text.format(command=command(), content=content)}")

    def last_mark(self) -> CycleMark | None:
        """Return the mark of the last synced cycle; None before the first. Raises Damaged."""
        cycles = self.marks.cycles()
        return self.marks.read(cycles[-1]) if cycles else None

    @property
    def begun(self) -> int:
        """The number of the last cycle that was begun; -1 before the first."""
        return max(SparkCheckpoint(Path(self.spark_checkpoint)).begun(), default=-1)

    @property
    def is_in_cycle(self) -> bool:
        """Whether a cycle, or a sub-cycle, is begun, and not synced."""
        return self.begun >= 0 and (not self.marks.has(self.begun) or self.is_in_sub_cycle)

    @property
    def is_in_sub_cycle(self) -> bool:
        """Whether a sub-cycle is begun, and not synced. What is damaged, the next cycle reports."""
        with contextlib.suppress(Damaged):
            begun = begun_sub_cycle.read(self.sub_cycle)
            return begun is not None and begun.after == self.last_slice()
        return False

    @property
    def sub_cycle(self) -> Path:
        """The file that has the sub-cycle that was begun last."""
        return self.path / "sub_cycle.json"

    def last_slice(self) -> int:
        """Return the number of the last file that is in a synced cycle; 0 before the first. Raises Damaged."""
        last = self.last_mark()
        return last.last_slice if last else 0

    def ends(self) -> list[int]:
        """Return the number of the last slice of each cycle that can be gone back to: whose mark is not damaged."""
        found = []
        for cycle in self.marks.cycles():
            with contextlib.suppress(Damaged):
                found.append(self.marks.read(cycle).last_slice)
        return found

    def compactable(self) -> int:
        """Return how many slices no kept cycle can need again: it can be gone back to the first one, not before it.

        A damaged mark is none that can be gone back to. Spark may ask for the slices of the last cycle again, and for
        those of sub-cycles, which it plans later.
        """
        for cycle in self.marks.cycles()[:-1]:
            with contextlib.suppress(Damaged):
                return self.marks.read(cycle).planned
        return 0

    def checkpoint(self, cycle: int, made_by: str = "") -> Checkpoint:
        """Return where `cycle` begins: where the cycle before it ended. Raises Damaged if that is lost.

        made_by: the recipe's fingerprint. Raises ConfigurationError if rows wait that another recipe made.
        """
        if cycle == 0:
            return Checkpoint()
        mark = self.marks.read(cycle - 1)
        checkpoint = self.marks.checkpoint(mark)
        if made_by and (mark.made_by or made_by) != made_by and checkpoint.waiting:
            text = (
                f"{mark.path.with_suffix('.held')}: deferred rows of an unfinished transaction were encoded by "
                "an earlier channel or version; run that one until the transaction has ended, then change it"
            )
            raise ConfigurationError([Problem(str(mark.path), 0, "", text)])
        return checkpoint
