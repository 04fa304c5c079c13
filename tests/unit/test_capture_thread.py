"""The thread that captures: it connects again for as long as that takes."""

import threading

from integrator.errors import SourceAway
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
