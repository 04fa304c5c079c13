"""A transaction that is larger than any memory should be: sent by parts, every row once and in order."""

import pytest

from tests.faults.long_transaction import run

pytestmark = [pytest.mark.broker, pytest.mark.spark]

CASES = [
    # rows, files, cores, with its end marked, bytes of a cycle
    (1_000_000, 1, 2, False, 0),
    (200_000, 8, 4, True, 0),  # several tasks, and a shuffle
    (200_000, 8, 2, True, 10_000_000),  # over several cycles
]


@pytest.mark.parametrize(("rows", "files", "cores", "marked", "cycle"), CASES)
def test_a_long_transaction_passes_with_bounded_executors(rows, files, cores, marked, cycle, broker, tmp_path):
    seen = run(broker.servers, broker.create, tmp_path, rows, files, cores, "1200m", marked=marked, cycle_bytes=cycle)
    assert seen.split >= 1
    assert (seen.cycles > 1) == bool(cycle)
