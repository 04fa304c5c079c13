"""The senders' lock: a successor of a killed process sends nothing before the tasks of that one have ended.

I3: without it, what a killed process still has on its way could arrive after what its successor sends.
"""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections.abc import Iterator
from pathlib import Path

from integrator.errors import EnvironmentFault

SENDERS = "senders"
_POLL_S = 0.1


@contextlib.contextmanager
def sending(state: str) -> Iterator[None]:
    """Hold the lock (shared) while sending, where the executor sees the state directory."""
    path = Path(state) / SENDERS
    if not path.exists():  # another machine of a cluster: its tasks end with the connection to their driver
        yield
        return
    with path.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def wait_for_senders(path: Path, wait_s: float) -> None:
    """Wait until no task is sending. Raises EnvironmentFault after `wait_s` seconds."""
    deadline = time.monotonic() + wait_s
    with path.open("rb") as senders:
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
                return
