"""Going back to an earlier synced cycle: what came after it is sent again, byte for byte."""

import pytest

from integrator.errors import EnvironmentFault
from integrator.run.state import rewind
from integrator.run.state.directory import State
from tests.broker.test_actions import channel
from tests.parts import kafka_io, pure

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def values(broker, topic):
    return [(message.key, message.value) for message in kafka_io.read_all(broker.servers, [topic])]


def test_what_came_after_a_cycle_is_sent_again_and_is_the_same(broker, tmp_path, name, integrate_once):
    broker.create([name], 1)
    said = (
        "{action: ColumnProperties, Name: seq, Extra: true, Datatype: varchar, IntegrateExpression: '{hvr_integ_seq}'}"
    )
    path = channel(tmp_path, broker, name, said)
    for cycle in range(4):
        rows = [{"k": 10 * cycle + k, "hvr_tx_seq": f"{cycle + 1}"} for k in range(3)]
        pure.hvr(tmp_path / "in", *({"name": "", "region": "", "n": 0, **row} for row in rows), name=f"{cycle}.jsonl")
        integrate_once(path)
    state = State(str(tmp_path / "state" / "pure"))
    assert [(one.cycle, one.last_slice, one.rows) for one in rewind.history(state)] == [(n, n + 1, 3) for n in range(4)]
    state.lock("pure", 5)
    assert rewind.move_back(state, 1) == [3, 2]
    state.unlock()
    first = values(broker, name)
    integrate_once(path)
    again = values(broker, name)
    assert again[:12] == first
    assert again[12:] == first[6:]
    assert [(one.cycle, one.last_slice) for one in rewind.history(state)] == [(0, 1), (1, 2), (2, 4)]


def test_a_cycle_that_is_not_kept_cannot_be_gone_back_to(broker, tmp_path, name, integrate_once):
    broker.create([name], 1)
    path = channel(tmp_path, broker, name)
    pure.hvr(tmp_path / "in", {"k": 1, "name": "", "region": "", "n": 0})
    integrate_once(path)
    state = State(str(tmp_path / "state" / "pure"))
    with pytest.raises(EnvironmentFault, match="cycle 7 cannot be gone back to: the synced cycles that are kept are 0"):
        rewind.move_back(state, 7)
    assert rewind.move_back(state, 0) == []
