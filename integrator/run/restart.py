"""The integrate job goes on after failures that time may mend, later each time, until too many come in a row."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    stop_after_delay,
    stop_never,
    stop_when_event_set,
    wait_exponential,
)

from integrator.channel.model import Restart
from integrator.errors import IntegratorError


class _WentOn(Exception):
    """It failed after cycles were synced: the count of failures is reset."""


def run_with_restarts(
    run: Callable[[], None],
    policy: Restart,
    synced: Callable[[], int],
    stopping: threading.Event,
    rest: Callable[[float], None],
    failed: Callable[[BaseException, float], None],
) -> None:
    """Run until it ends, again after each failure of a kind that time may mend, or until `stopping` is set.

    synced: the last synced cycle; failures count as in a row while it stays the same. rest: waits so many
    seconds. failed: is called with each failure and the seconds until the next start. Raises IntegratorError when there
    are more of them than the policy has tries, or for one of another kind.
    """

    def report(state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if error is not None:
            failed(error, state.next_action.sleep if state.next_action else 0.0)

    def attempt(before: int) -> None:
        try:
            run()
        except IntegratorError as error:
            tried = policy.tries if policy.timeout_seconds is None else policy.timeout_seconds
            if stopping.is_set() or synced() == before or not error.kind.retriable or not tried:
                raise
            failed(error, 0.0)
            raise _WentOn from error

    retrying = Retrying(
        retry=retry_if_exception(lambda error: isinstance(error, IntegratorError) and error.kind.retriable),
        wait=wait_exponential(multiplier=policy.first_seconds, max=policy.most_seconds),
        stop=_stop(policy) | stop_when_event_set(stopping),
        sleep=rest,
        before_sleep=report,
        reraise=True,
    )
    while True:
        try:
            return retrying(attempt, synced())
        except _WentOn:
            continue


def _stop(policy: Restart) -> Any:
    """Return what ends the tries: their number, or the time since the first failure."""
    if policy.timeout_seconds is None:
        return stop_after_attempt(policy.tries + 1)
    return stop_never if policy.timeout_seconds < 0 else stop_after_delay(policy.timeout_seconds)
