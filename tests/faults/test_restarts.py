"""Failures of one process, again and again, in short: `make faults` has 200."""

import pytest

from tests.faults import restarts
from tests.parts import brokers

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.real_broker]


def test_failures_leave_nothing_open_and_few_lines_in_the_log(tmp_path):
    if brokers.libraries() is None:
        pytest.skip("a broker that can be frozen needs mvn and Java 17")
    first, *_, last = restarts.run(tmp_path, 30)
    assert last.restarts >= first.restarts + 20
    assert last.driver_descriptors <= first.driver_descriptors + 2
    assert last.driver_threads <= first.driver_threads + 2
    assert last.jvm_descriptors <= first.jvm_descriptors + 15  # one a restart would be 20
    assert last.listening <= first.listening + 4  # while a process of Spark's starts
    assert last.log_lines - first.log_lines <= 3 * (last.restarts - first.restarts)
