"""Several channels in one process start, each time: `make faults` has four and twelve of them, twenty times."""

import pytest

from tests.faults.many_channels import run

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def test_several_channels_in_one_process_start_and_sync(broker, tmp_path):
    outcome = run(broker.servers, tmp_path, 4, 2, broker.create)
    assert (outcome.good, outcome.errors) == (2, {})
