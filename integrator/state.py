"""A channel's state directory: who holds it, and what was synced.

lock            held by the one process that integrates the channel
senders         held (shared) by each task that is sending: a successor waits until those of a killed process have ended
files.jsonl     the journal of change files, see sources.journal
checkpoint/     Spark's: which cycle has which files
synced/N.json   one a synced cycle: counts, and where the next cycle begins
integrating     held while rows are sent, by the daemon's stream or by a refresh
suspended       why the daemon waits, while it is there
refresh/        slices of a refresh that are through, see refresh.ledger
refreshed.json  tables that were refreshed online, and up to which commit
spool/          lines that came through sockets, see sources.spool
heartbeat.json  that the daemon lives, and what it does
coerced.jsonl   values that were made to fit, where the channel wants them written down
synced/N.held   the rows that wait for the rest of their transaction, where there are any
"""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from integrator.added import Added
from integrator.changes import OpenTransaction
from integrator.errors import ConfigurationError, EnvironmentFault, Problem
from integrator.fragments import Carry
from integrator.produce.senders import SENDERS, wait_for_senders
from integrator.sync import Cycle

KEPT_CYCLES = 100
_POLL_S = 0.2


class State:
    """The state directory of one channel, on the driver."""

    def __init__(self, directory: str) -> None:
        self.path = Path(directory).absolute()
        self._lock: IO[bytes] | None = None

    @property
    def checkpoint(self) -> str:
        """Where Spark keeps its offsets and commits."""
        return str(self.path / "checkpoint")

    def make(self) -> None:
        """Make the directory, if it is not there. Raises EnvironmentFault if it cannot be used."""
        try:
            (self.path / "synced").mkdir(parents=True, exist_ok=True)
            for name in (SENDERS, "lock"):
                (self.path / name).touch()
        except OSError as error:
            raise EnvironmentFault(f"{self.path}: the state directory cannot be used: {error}") from error

    def lock(self, channel: str, wait_s: float) -> None:
        """Take the channel. Raises EnvironmentFault if another process has it, or `wait_s` is over.

        `wait_s` is for the tasks of a process that was killed: they end by themselves.
        """
        self.make()
        self._lock = (self.path / "lock").open("a+b")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.seek(0)
            holder = self._lock.read().decode() or "unknown"
            self.unlock()
            raise EnvironmentFault(
                f"channel {channel} is being integrated already, by process {holder} (lock {self.path / 'lock'}); "
                "stop that one first"
            ) from None
        self._lock.seek(0)
        self._lock.truncate()
        self._lock.write(str(os.getpid()).encode())
        self._lock.flush()
        try:
            self.wait_for_senders(wait_s)
        except EnvironmentFault:
            self.unlock()
            raise

    def wait_for_senders(self, wait_s: float) -> None:
        """Wait until no task is sending for this channel. Raises EnvironmentFault after `wait_s` seconds."""
        wait_for_senders(self.path / SENDERS, wait_s)

    @contextmanager
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
            return (self.path / "suspended").read_text(encoding="utf-8").strip() or "no reason given"
        except FileNotFoundError:
            return None

    def refreshed(self) -> tuple[tuple[str, str], ...]:
        """Return the tables that were refreshed online, and up to which commit their rows have all changes."""
        path = self.path / "refreshed.json"
        return tuple(json.loads(path.read_text(encoding="utf-8")).items()) if path.exists() else ()

    def mark_refreshed(self, tables: dict[str, str]) -> None:
        """Write down that tables were refreshed, and up to which commit."""
        known = {**dict(self.refreshed()), **tables}
        temporary = self.path / "refreshed.tmp"
        temporary.write_text(json.dumps(known), encoding="utf-8")
        temporary.replace(self.path / "refreshed.json")

    def mark_added(self, columns: Added) -> None:
        """Write down the columns that came while the channel ran, all of them."""
        self._write("added.json", json.dumps(columns).encode(), ".")

    def suspend(self, reason: str) -> None:
        """Have the daemon end its stream behind the cycle it is in, and wait."""
        self.path.mkdir(parents=True, exist_ok=True)
        temporary = self.path / "suspended.tmp"
        temporary.write_text(reason, encoding="utf-8")
        temporary.replace(self.path / "suspended")

    def resume(self) -> None:
        """Have the daemon go on."""
        (self.path / "suspended").unlink(missing_ok=True)

    def unlock(self) -> None:
        """Give the channel back."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def mark(self, cycle: Cycle, made_by: str = "") -> None:
        """Write that `cycle` is synced. I1: called only after every acknowledgement, before Spark's commit.

        made_by: the fingerprint of the recipe that made the rows which wait for the next cycle.
        """
        held = cycle.carry.held
        if held:  # before the mark, which says that it is there
            self._write(f"{cycle.cycle}.held", held)
        if cycle.details:
            self._say_coerced(cycle)
        told = dataclasses.asdict(cycle)
        del told["details"]
        told["carry"] |= {"held": len(held), "made_by": made_by}
        self._write(f"{cycle.cycle}.json", json.dumps(told).encode())
        for old in (self.path / "synced").glob(f"{cycle.cycle - KEPT_CYCLES}.*"):
            old.unlink(missing_ok=True)

    def _say_coerced(self, cycle: Cycle) -> None:
        """Add to coerced.jsonl what CoerceErrorPolicy WARNING_FILE says of values."""
        with (self.path / "coerced.jsonl").open("a", encoding="utf-8") as file:
            for said in cycle.details:
                file.write(json.dumps({"cycle": cycle.cycle, **said}, ensure_ascii=False) + "\n")

    def _write(self, name: str, data: bytes, directory: str = "synced") -> None:
        temporary = self.path / directory / f".{name}.tmp"
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(self.path / directory / name)

    def check_whole(self) -> None:
        """Raise EnvironmentFault if Spark's checkpoint is gone and the synced cycles are not.

        I4: a new checkpoint counts its cycles from 0 with other files in them, which would be taken for synced ones.
        """
        if any((self.path / "synced").glob("[0-9]*.json")) and not (self.path / "checkpoint" / "offsets").exists():
            raise EnvironmentFault(
                f"{self.checkpoint}: is gone, but {self.path / 'synced'} has synced cycles; restore it, or remove the "
                "whole state directory to send everything again"
            )

    def synced(self, cycle: int) -> bool:
        """Say whether `cycle` is synced."""
        return (self.path / "synced" / f"{cycle}.json").exists()

    def last_file(self) -> int:
        """Return the number of the last file that is in a synced cycle; 0 before the first."""
        cycles = [int(path.stem) for path in (self.path / "synced").glob("[0-9]*.json")]
        return self.carry(max(cycles) + 1).ordinal if cycles else 0

    def carry(self, cycle: int, made_by: str = "") -> Carry:
        """Return where `cycle` begins: where the cycle before it ended. Raises EnvironmentFault if that is lost.

        made_by: the recipe's fingerprint. Raises ConfigurationError if rows wait that another recipe made.
        """
        if cycle == 0:
            return Carry()
        path = self.path / "synced" / f"{cycle - 1}.json"
        try:
            carry = json.loads(path.read_text(encoding="utf-8"))["carry"]
            held = path.with_suffix(".held").read_bytes() if carry.get("held") else b""
        except (OSError, ValueError, KeyError) as error:
            raise EnvironmentFault(
                f"{path}: cannot be read ({error}), and says where cycle {cycle} begins; restore it, or remove the "
                "whole state directory to send everything again"
            ) from error
        if held and made_by and carry.get("made_by", made_by) != made_by:
            text = (
                f"{path.with_suffix('.held')}: rows of a transaction that is not at its end wait there, made by the "
                "channel (or the version) as it was; run that until the end has come: then it can change"
            )
            raise ConfigurationError([Problem(str(path), 0, "", text)])
        streams = {name: OpenTransaction(**state) for name, state in carry.get("streams", {}).items()}
        return Carry(carry["ordinal"], OpenTransaction(**carry["open"]), carry.get("integ_key", 0), held, streams)
