"""Streams of several channels start one after another, each from a data source of its own."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JNetworkError

from integrator.errors import EnvironmentFault, ProcessLate, ProcessLost
from integrator.run.spark import starting
from integrator.run.spark.failures import classify
from integrator.sources.files.listing import Listing
from integrator.sources.stream import _source_of
from tests.parts.waiting import PATIENCE_S, until

LISTING = Listing(".", "*", (), "name")


class Query:
    """A query that initializes until it is told otherwise."""

    def __init__(self) -> None:
        self.isActive = True
        self.status = {"message": "Initializing sources"}

    def exception(self) -> Exception | None:
        return None


class Starts:
    """Threads that start a query each."""

    def __init__(self, count: int) -> None:
        self.queries: list[Query] = []
        self.returned: list[object] = []
        self.ending = False
        self.beats = 0
        self.threads = [threading.Thread(target=self._run, daemon=True) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def _run(self) -> None:
        self.returned.append(starting.start(self._stream, lambda: self.ending, self._beat))  # type: ignore[arg-type]

    def _stream(self) -> Query:
        self.queries.append(Query())
        return self.queries[-1]

    def _beat(self) -> None:
        self.beats += 1

    def wait_for(self, queries: int) -> None:
        until(lambda: len(self.queries) >= queries)
        time.sleep(0.3)  # another one would start now
        assert len(self.queries) == queries

    def join(self) -> None:
        for thread in self.threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()


def test_no_more_streams_than_that_start_at_once() -> None:
    starts = Starts(starting.AT_ONCE + 2)
    starts.wait_for(starting.AT_ONCE)
    assert starts.beats
    starts.queries[0].status = {"message": "Waiting for data to arrive"}
    starts.wait_for(starting.AT_ONCE + 1)
    starts.queries[starting.AT_ONCE].isActive = False  # it failed
    starts.wait_for(starting.AT_ONCE + 2)
    for query in starts.queries:
        query.isActive = False
    starts.join()
    assert set(starts.returned) == set(starts.queries)


def test_a_stream_whose_end_is_asked_for_while_it_waits_is_not_started() -> None:
    starts = Starts(starting.AT_ONCE + 1)
    starts.wait_for(starting.AT_ONCE)
    starts.ending = True
    until(lambda: starts.returned)
    assert starts.returned == [None]
    for query in starts.queries:
        query.isActive = False
    starts.join()
    assert len(starts.queries) == starting.AT_ONCE


def test_a_stream_that_cannot_be_made_gives_its_turn_back() -> None:
    def fail() -> None:
        raise ValueError("no stream")

    for _ in range(starting.AT_ONCE + 1):
        with pytest.raises(ValueError, match="no stream"):
            starting.start(fail, lambda: False, lambda: None)  # type: ignore[arg-type]


def test_each_channel_has_a_data_source_of_its_own() -> None:
    """Tasks of one were serialised while the start of another changed what they shared: OptionalDataException."""
    one, other = _source_of(Path("a/files.jsonl"), LISTING), _source_of(Path("b/files.jsonl"), LISTING)
    assert one.name() != other.name()
    assert one.name() == _source_of(Path("a/files.jsonl"), LISTING).name()  # a restart replaces it, and adds none


class Late(Query):
    """A query that ends because a Python process was late."""

    def __init__(self, failure: str) -> None:
        super().__init__()
        self.isActive = False
        self.failure = RuntimeError(failure)

    def exception(self) -> Exception:
        return self.failure


LATE = "org.apache.spark.SparkException: Python worker failed to connect back."


@pytest.mark.parametrize(
    ("failure", "late", "started"),
    [(LATE, 2, 3), (LATE, starting.TRIES, starting.TRIES), ("java.io.OptionalDataException", 1, 1)],
)
def test_a_start_for_which_a_process_was_late_is_tried_again(failure: str, late: int, started: int) -> None:
    """Before, it ended a channel that was started with --once."""
    queries: list[Query] = []

    def stream() -> Query:
        queries.append(Late(failure) if len(queries) < late else Query())
        queries[-1].status = {"message": "Waiting for data to arrive"}
        return queries[-1]

    query = starting.start(stream, lambda: False, lambda: None)  # type: ignore[arg-type]
    assert len(queries) == started
    assert query is queries[-1]  # type: ignore[comparison-overlap]


FAILURES = [
    ("Python worker failed to connect back.", ProcessLate, "Spark waits 10 seconds): too many processes"),
    ("java.io.EOFException", ProcessLost, "a process that Spark needs was lost (EOFException)"),
    ("Python worker exited unexpectedly (crashed)", ProcessLost, "was lost (Python worker exited unexpectedly)"),
    ("java.io.IOException: No space left on device", EnvironmentFault, "a disk is full"),
]


@pytest.mark.parametrize(("text", "kind", "told"), FAILURES)
def test_what_is_told_of_sparks_processes(text: str, kind: type[Exception], told: str) -> None:
    """A worker that was late on a busy machine was told as killed, out of memory."""
    cause = SimpleNamespace(_stackTrace="", _cause=None, __str__=lambda: "")
    failure = RuntimeError(text)
    failure._cause = cause  # type: ignore[attr-defined]
    error = classify(failure)
    assert isinstance(error, kind)
    assert told in str(error)
    assert ("out of memory" in str(error)) == ("was lost" in told)


def test_a_failure_of_another_kind_is_none_of_sparks_processes() -> None:
    assert classify(RuntimeError("java.io.OptionalDataException")) is None


def test_a_connection_that_is_not_to_the_jvm_is_none_of_sparks_processes() -> None:
    """Any ConnectionError, such as a registry's, was told as the end of Spark's JVM."""
    with pytest.raises(ConnectionRefusedError) as raised:
        raise ConnectionRefusedError("the registry's")
    assert classify(raised.value) is None


def test_a_connection_of_py4js_is_to_the_jvm() -> None:
    reset = ConnectionResetError("a read of py4j's")
    with pytest.raises(ConnectionResetError) as raised:  # in a frame of py4j's
        exec("raise reset", {"__name__": "py4j.clientserver", "reset": reset})  # noqa: S102
    for failure in (raised.value, Py4JNetworkError("Error while sending or receiving")):
        error = classify(failure)
        assert isinstance(error, EnvironmentFault)
        assert "Spark's JVM has ended" in str(error)
