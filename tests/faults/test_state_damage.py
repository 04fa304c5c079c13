"""Damage to the state directory, with real Spark and a real Kafka; `make faults` does 200 rounds."""

import pytest

from tests.faults import state_damage


@pytest.mark.spark
@pytest.mark.broker
@pytest.mark.real_broker
def test_i4_no_damage_to_the_state_loses_rows_without_a_word(real_broker, spark, tmp_path):
    counted = state_damage.run(real_broker.servers, tmp_path, spark, real_broker.create, rounds=8, seed=5)
    assert counted["complete at once"] + counted["brought back"] == counted["rounds"] == 8
    assert counted["refused"] == counted["brought back"] > 0
