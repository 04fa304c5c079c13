"""What is logged of synced cycles: the first one at once, then a line a minute with sums."""

import pytest
from structlog.testing import capture_logs

from integrator.contracts.fragments import Checkpoint
from integrator.run.seen import cycle_log
from integrator.run.seen.cycle_log import CycleLog
from integrator.run.state.sync import Cycle


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand, in seconds."""
    found = [1000.0]
    monkeypatch.setattr(cycle_log.time, "monotonic", lambda: found[0])
    monkeypatch.delenv(cycle_log.EACH, raising=False)
    return found


def cycle(number, rows, operations, **more):
    return Cycle(number, 1, rows, rows, 10 * rows, None, operations, {}, Checkpoint(), seconds=0.5, **more)


def test_the_cycles_of_a_minute_are_one_line(clock):
    log = CycleLog("c")
    with capture_logs() as logs:
        log.synced(cycle(1, 1, {"t 1": 1}))
        for number in range(2, 12):
            clock[0] += 5
            log.write_due()
            log.synced(cycle(number, 2, {"t 1": 1, "u 2": 1}, warnings={"w": 1}))
        assert len(logs) == 1
        clock[0] += 15
        log.write_due()
        log.close()
    assert [one["event"] for one in logs] == ["cycle synced", "cycles synced"]
    assert "cycles" not in logs[0]
    assert "warnings" not in logs[0]
    found = {
        name: logs[1][name]
        for name in ("cycle", "cycles", "files", "rows", "bytes", "seconds", "operations", "warnings")
    }
    assert found == {
        "cycle": 11, "cycles": 10, "files": 10, "rows": 20, "bytes": 200, "seconds": 5.0,
        "operations": {"t 1": 10, "u 2": 10}, "warnings": {"w": 10},
    }  # fmt: skip
    assert logs[1]["rows_per_second"] == 4


def test_what_waits_is_logged_at_the_end(clock):
    log = CycleLog("c")
    with capture_logs() as logs:
        log.synced(cycle(1, 1, {}))
        log.synced(cycle(2, 3, {}))
        log.close()
        log.close()
    assert [one["rows"] for one in logs] == [1, 3]


def test_a_variable_has_a_line_for_each(clock, monkeypatch):
    monkeypatch.setenv(cycle_log.EACH, "1")
    log = CycleLog("c")
    with capture_logs() as logs:
        for number in range(3):
            log.synced(cycle(number, 1, {}))
    assert len(logs) == 3
