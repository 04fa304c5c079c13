"""The campaign of faults in short: `make faults` has it long."""

import pytest

from tests.faults import campaign
from tests.parts import brokers

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.real_broker]

ROUNDS = 4


@pytest.mark.parametrize(("delivery", "seed"), [("at_least_once", 11), ("exactly_once", 12)])
def test_nothing_is_lost_and_order_is_kept_whatever_is_killed_frozen_or_cut(delivery, seed, tmp_path):
    if brokers.libraries() is None:
        pytest.skip("three brokers need mvn and Java 17")
    counted = campaign.run(tmp_path, ROUNDS, seed, delivery)
    print(counted)
    assert counted["rows"] > 0
