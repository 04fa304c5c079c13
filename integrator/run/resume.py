"""Channels that wait: suspended, or after a failure in a process whose other channels continue; and how these do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from integrator import durable
from integrator.errors import ConfigurationError, EnvironmentFault
from integrator.run.seen import failure as failures
from integrator.run.seen.heartbeat import Beat, Heartbeat
from integrator.run.state import aside
from integrator.run.state.directory import State

POLL_S = 0.5
_WAIT_S = 30.0
"""How long `resume` waits to see that the process has taken note."""
_REQUEST = "resume"
"""In the state directory: a failed channel is asked to start again."""


@dataclass(frozen=True)
class Waiting:
    """What a channel's thread needs to wait and to be seen."""

    state: State
    heart: Heartbeat
    stopping: threading.Event
    channel: str

    def while_suspended(self) -> None:
        """Wait until the channel is resumed, or the end is asked for."""
        log, reported = structlog.get_logger().bind(channel=self.channel), False
        while (reason := self.state.suspended) is not None and not self.stopping.is_set():
            if not reported:
                log.info("suspended", reason=reason)
            reported = True
            self.heart.rest(POLL_S, self.stopping, "suspended", reason)
        if reported and not self.stopping.is_set():
            log.info("resumed")

    def after_failure(self, alone: Callable[[], bool]) -> bool:
        """Wait until the failed channel is resumed, and return True; False if the end is asked for before.

        The end is also when no other channel of the process continues (`alone`): then the process ends with the error.
        """
        forget_request(self.state)
        while not alone() and not self.heart.rest(POLL_S, self.stopping, "failed"):
            if forget_request(self.state):
                structlog.get_logger().info("resumed", channel=self.channel)
                return True
        self.heart.beat("failed")
        return False


def forget_request(state: State) -> bool:
    """Remove the request to start a failed channel again; return whether there was one."""
    path = state.path / _REQUEST
    there = path.exists()
    durable.remove([path] if there else [])
    return there


def resume(state: State, channel: str, wait_s: float = _WAIT_S) -> str:
    """Have a suspended or failed channel continue; return what it does then, as was seen.

    Raises EnvironmentFault if no process integrates the channel and none was suspended: there is nothing to resume.
    """
    reason, holder, last = state.suspended, state.holder(), failures.read(state.path)
    state.resume()
    failed = last is not None and not last.mended and last.again_in is None
    if holder is None:
        if reason is not None:
            return f"channel {channel} is no longer suspended ({reason}); no process integrates it now: start one"
        why = f"; the last one failed at {last.time}: {last.error} ({last.action})" if last and failed else ""
        raise EnvironmentFault(f"no process integrates channel {channel}, which is not suspended: start one{why}")
    doing = _doing(state)
    if doing == "failed" and last is not None:
        durable.replace(state.path / _REQUEST, b"")
        now = _until_not(state, "failed", wait_s)
        if now == "failed":
            forget_request(state)
            raise EnvironmentFault(
                f"process {holder} has not reacted within {wait_s:.0f} s that channel {channel} is to start again: "
                "see its log; if the process ends, start it again"
            )
        return f"channel {channel}, which had failed ({last.kind}), starts again in process {holder}: {now}"
    if reason is not None:
        now = _until_not(state, "suspended", wait_s)
        continued = "continues" if now != "suspended" else "is to continue, and has not yet: see the log"
        return f"channel {channel} was suspended ({reason}) and {continued} in process {holder}: {now}"
    return f"channel {channel} was neither suspended nor failed; process {holder} continues with it: {doing}"


def resume_tables(state: State, channel: str, tables: Sequence[str]) -> str:
    """Have tables that are set aside be tried again, now or at the next start; return what happens.

    Raises ConfigurationError for tables that are not set aside.
    """
    there = aside.read(state.path)
    in_database = {at_source: name for name, one in there.items() for at_source in one.names}
    tables = [in_database.get(name, name) for name in tables]
    if others := [name for name in tables if name not in there]:
        known = f"set aside: {', '.join(there)}" if there else "no table is"
        raise ConfigurationError(f"channel {channel}: not set aside: {', '.join(others)}; {known}")
    names = ", ".join(tables)
    if (holder := state.holder()) is None:
        return (
            f"no process integrates channel {channel}; at the next start all tables that are set aside are tried again"
        )
    aside.request(state.path, tables)
    return f"channel {channel}: process {holder} tries again: {names}; what is held of it is sent, if it can be now"


def _doing(state: State) -> str:
    beat = Beat.read(state.path)
    return beat.doing if beat else "unknown"


def _until_not(state: State, doing: str, wait_s: float) -> str:
    until = time.monotonic() + wait_s
    while (now := _doing(state)) == doing and time.monotonic() < until:
        time.sleep(POLL_S / 5)
    return now
