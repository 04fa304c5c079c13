"""Exactly once in random schedules; `make faults` runs a million. What they found has schedules of its own in test_found."""

import pytest

from tests.model.explore import as_text, explore, simplest
from tests.model.in_memory import installed
from tests.model.scenarios import SCENARIOS

SCHEDULES = 20_000
"""In `make test`, of all scenarios together."""
_PIECES = 4
_COUNT = SCHEDULES // len(SCENARIOS) // _PIECES + 1


@pytest.fixture(scope="module", autouse=True)
def _in_memory():
    with installed():
        yield


@pytest.mark.parametrize("piece", range(_PIECES))
@pytest.mark.parametrize("name", SCENARIOS)
def test_no_schedule_breaks_an_invariant(name, piece):
    """I1, I2, I3, I4, I8, I10: whatever is killed, copied, moved back, lost or late."""
    found = explore(SCENARIOS[name], range(piece * _COUNT, (piece + 1) * _COUNT), most_broken=1)
    for seed, outcome in found.broken:
        pytest.fail(as_text(name, seed, simplest(SCENARIOS[name], outcome)), pytrace=False)
    assert found.complete == found.schedules
