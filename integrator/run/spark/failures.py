"""What Spark fails with, understood: an error of a worker that crossed as text, a process that was lost, a full disk.

It is asked here alone, and whether a failure is retried follows from its kind (`errors.Kind.retriable`).
"""

from __future__ import annotations

import re
import traceback

from py4j.protocol import Py4JError, Py4JNetworkError

from integrator.errors import EnvironmentFault, IntegratorError, ProcessLate, ProcessLost, from_wire

_LOST = re.compile(
    r"ExecutorLostFailure|Executor heartbeat timed out|Remote RPC client disassociated|MetadataFetchFailed|FetchFailed|"
    r"Master removed our application|All masters are unresponsive|Could not find CoarseGrainedScheduler|"
    r"Python worker exited unexpectedly|"
    r"EOFException|Connection reset|Broken pipe|Stream closed"
)
"""What Spark says when an executor is lost, or the other end of a connection between its processes is gone."""
_LATE = "Python worker failed to connect back"
"""What Spark says when a Python process that it has started is late, or has ended before it could connect."""


def is_late(failure: BaseException | None) -> bool:
    """Return whether Spark failed because a Python process did not begin in time."""
    return failure is not None and _LATE in _text(failure)


def _text(failure: BaseException) -> str:
    text, cause = str(failure), getattr(failure, "_cause", None)
    while cause is not None:  # an EOFException has no message of its own
        text += f"\n{cause}\n{getattr(cause, '_stackTrace', '')}"
        cause = getattr(cause, "_cause", None)
    return text


_ABSENT = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
"""What Python says in a process of Spark's that does not have the package, or what that needs."""


_NO_JVM = re.compile(r"Answer from Java side is empty|trying to connect to the Java server")
"""What py4j says when the JVM is gone."""


def _is_py4js(failure: BaseException) -> bool:
    """Return whether the connection to the JVM failed: py4j says so, or a connection did that py4j had opened."""
    if isinstance(failure, Py4JNetworkError):
        return True
    if type(failure) is Py4JError and "Trace:" not in str(failure):  # the JVM ended in the middle of its answer
        return True
    return isinstance(failure, ConnectionError) and any(
        frame.f_globals.get("__name__", "").startswith("py4j.") for frame, _ in traceback.walk_tb(failure.__traceback__)
    )


def classify(failure: BaseException) -> IntegratorError | None:
    """Return the error that a failure is: its own, a worker's, or Spark's; None where it is none that is known."""
    crossed = failure if isinstance(failure, IntegratorError) else from_wire(str(failure))
    if crossed is not None:
        return crossed
    text = _text(failure)
    if "No space left on device" in text:
        return EnvironmentFault("a disk is full (No space left on device): the state, the spool, or Spark's directory")
    absent = _ABSENT.search(text)
    if absent:
        return EnvironmentFault(
            f"Python processes of Spark's have no package {absent[1]}: give spark-submit the integrator's wheel with "
            "--py-files, and have its requirements installed in the Python that PYSPARK_PYTHON names on each machine"
        )
    if _LATE in text:
        return ProcessLate(
            f"a Python process of Spark's did not begin ({_LATE}; Spark waits 10 seconds): too many processes for "
            "the cores here, or Python cannot start; give it more cores, or less to do at once"
        )
    if _is_py4js(failure) or _NO_JVM.search(text):
        return EnvironmentFault(
            "Spark's JVM has ended: killed, or out of memory (spark.driver.memory); start this process again: "
            "the cycle that was under way is sent then"
        )
    lost = _LOST.search(text)
    return ProcessLost(f"a process that Spark needs was lost ({lost[0]}): killed or out of memory") if lost else None
