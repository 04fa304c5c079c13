"""The thread that captures: it connects again for as long as that takes."""

import threading
import time
from types import SimpleNamespace
from unittest import mock

import pytest

from integrator.errors import SourceAway
from integrator.sources.capture.stream import SEGMENT_BYTES, SpoolingStream
from integrator.sources.capture.thread import Capture


def test_why_a_database_is_not_captured_now_is_known_until_it_is():
    """`state` and the page say it: the process integrates, and nothing comes."""
    known, received = [], threading.Event()

    class Stream:
        streamed = False

        def __init__(self, capture):
            self._capture = capture

        def capture(self):
            known.append(self._capture.away)
            if len(known) == 1:
                raise SourceAway("the database shuts down")
            self._capture.connected()
            received.set()

    capture = Capture(lambda one, _: Stream(one), "ch", "db")
    capture.start()
    assert received.wait(10)
    capture.close()
    assert known[:2] == ["", "the database shuts down"]
    assert capture.away == ""


@pytest.mark.parametrize(
    ("size", "waited_s", "ahead", "is_sealed"),
    [
        (0, 9.0, 0, False),
        (1, 0.0, 0, True),
        (1, 0.01, 1, False),
        (1, 0.1, 1, True),
        (1, 0.1, SEGMENT_BYTES, False),
        (1, 1.1, SEGMENT_BYTES, True),
        (SEGMENT_BYTES, 0.0, SEGMENT_BYTES, True),
    ],
)
def test_what_is_received_is_sealed_at_once_unless_other_changes_wait(size, waited_s, ahead, is_sealed):
    seal, intake = mock.Mock(), SimpleNamespace(size=size, sealed=time.monotonic() - waited_s)
    SpoolingStream.seal_where_due(
        SimpleNamespace(_intake=intake, _spool=SimpleNamespace(waiting_bytes=ahead), seal=seal)
    )
    assert seal.called == is_sealed
