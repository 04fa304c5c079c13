"""A socket under kills on both sides; `python -m tests.faults.socket_kills` does it with a million lines."""

import pytest

from tests.faults import socket_kills

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def test_no_line_is_lost_when_the_daemon_and_agents_are_killed(real_broker, tmp_path, name):
    counted = socket_kills.run(real_broker.servers, tmp_path, name, 20_000, 3, 5)
    assert counted["lines"] == 40_000
    assert counted["messages"] - counted["repeats"] == 40_000
