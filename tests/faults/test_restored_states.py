"""I8 where the state is a copy of an earlier one and the cores are others; `make faults` has the campaign long."""

import pytest

from tests.faults import frozen_states, restored_states
from tests.faults.restored_states import STEPS

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.real_broker]

CORES = [(2, 4), (4, 1), (1, 5), (4, 2), (5, 4), (2, 1), (2, 4)]


@pytest.mark.parametrize(("step", "cores"), list(zip(STEPS, CORES, strict=True)))
def test_each_change_comes_once_from_a_copy_of_the_state(step, cores, real_broker, tmp_path, integrate_once):
    restored_states.one_round(tmp_path, real_broker.servers, integrate_once, step, *cores, restored=True)


def test_a_frozen_process_sends_nothing_twice_and_marks_no_cycle(real_broker, tmp_path, integrate_once):
    """On a volume without locks it begins where another process has gone on since."""
    step = "before its shards are sent"
    frozen_states.one_round(tmp_path, real_broker.servers, integrate_once, step, 2, 1, copied=False, later=True)


def test_a_cycle_that_was_not_synced_is_the_same_on_other_cores(real_broker, tmp_path, integrate_once):
    step = "when some shards are committed"
    restored_states.one_round(tmp_path, real_broker.servers, integrate_once, step, 5, 2, restored=False)
