"""The campaign from topic to topic in short: `make faults` has it long."""

import pytest

from tests.faults import topics_campaign

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.real_broker]

ROUNDS = 2
"""One reads Avro, without definitions of tables."""


def test_tables_of_debeziums_topics_are_the_databases_whatever_is_killed_or_changed(spark, tmp_path):
    lacks = topics_campaign.missing()
    if lacks:
        pytest.skip(f"Debezium's topics need {lacks}")
    counted = topics_campaign.run(tmp_path, spark, ROUNDS, seed=13)
    print(counted)
    assert counted["rows"] > 0
