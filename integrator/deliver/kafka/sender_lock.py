"""The senders' lock: a successor of a killed process sends nothing before the tasks of that one have ended.

I3: without it, what a killed process still has on its way could arrive after what its successor sends. A task that
takes the lock only after its successor has begun a turn is of an earlier one, and sends nothing. A turn is begun by who
holds `integrating`: a daemon that starts while a refresh sends waits for it.
"""

from __future__ import annotations

import contextlib
import fcntl
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from integrator.errors import DeliveryError, EnvironmentFault

SENDERS = "senders"
_POLL_S = 0.1


@dataclass(frozen=True)
class Senders:
    """The tasks of one turn: those that are begun before the next one begins. path: the lock's."""

    path: str
    turn: bytes

    @staticmethod
    def now(state: Path) -> Senders:
        """Return those that are begun from now on, with a state directory. Called by the driver, between two turns."""
        path = state / SENDERS
        return Senders(str(path), path.read_bytes() if path.exists() else b"")

    @contextlib.contextmanager
    def sending(self) -> Iterator[None]:
        """Hold the lock (shared) while sending, where the executor sees the state directory.

        Raises DeliveryError where another turn has begun.
        """
        path = Path(self.path)
        if not path.exists():  # another machine of a cluster: its tasks end with the connection to their driver
            yield
            return
        with path.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            if lock.read() != self.turn:
                raise DeliveryError(f"a task of an earlier try came too late, and has sent nothing (lock {path})")
            yield


def begin_turn(path: Path, wait_s: float) -> None:
    """Wait until no task is sending, and have those of before send nothing more. Raises as `wait_for_senders`."""
    wait_for_senders(path, wait_s, begin=uuid.uuid4().hex.encode())


def wait_for_senders(path: Path, wait_s: float, *, begin: bytes = b"") -> None:
    """Wait until no task is sending. Raises EnvironmentFault after `wait_s` seconds. begin: a turn that begins then."""
    deadline = time.monotonic() + wait_s
    with path.open("r+b") as senders:
        while True:
            try:
                fcntl.flock(senders, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise EnvironmentFault(
                        f"tasks of an earlier process are still sending for this channel (lock {path}); end its Python "
                        "workers"
                    ) from None
                time.sleep(_POLL_S)
            else:
                if begin:  # a reader has to wait for the lock
                    senders.truncate()
                    senders.write(begin)
                    senders.flush()
                return
