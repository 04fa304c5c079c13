"""The gate before each cycle."""

import pytest

from integrator.job import _Ended, _Gate


class Query:
    """A query that has ended."""

    isActive = False

    def stop(self):
        self.stopped = True


def test_a_stream_that_is_being_ended_begins_no_cycle_though_the_reason_is_gone(tmp_path):
    """Suspended, and resumed before the cycle was through: the stop may not come in the middle of the next."""
    suspended, done = [True], []
    gate = _Gate(lambda: suspended[0])
    integrate = gate.around(lambda _batch, number: done.append(number))
    gate.end_between_cycles(Query(), tmp_path)
    suspended[0] = False
    with pytest.raises(_Ended):
        integrate(None, 1)
    assert not done
    assert isinstance(gate.error, _Ended)
