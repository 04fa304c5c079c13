"""A replica or a standby takes the place of the server that is captured, under load; `make faults` has ten times."""

import pytest

from tests.faults import failover_campaign
from tests.parts import brokers, postgres, replicas

MISSING = {"postgres": lambda: postgres.missing(wal2json=False)} | {
    product: parts.missing for product, parts in replicas.PARTS.items()
}


@pytest.mark.parametrize("product", MISSING)
@pytest.mark.real_broker
def test_i8_a_database_that_fails_over_is_in_the_topics_and_each_change_once(product, tmp_path):
    if lacks := MISSING[product]() or ("" if brokers.libraries() else "Apache Kafka from Maven Central"):
        pytest.skip(lacks)
    counted = failover_campaign.run(tmp_path, rounds=1, seed=1, product=product)
    assert counted["promotions"] == 1
    assert counted["statements"] > 100
