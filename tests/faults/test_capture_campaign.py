import pytest

from tests.faults import capture_campaign
from tests.parts import brokers, mariadb, postgres

PRODUCTS = [
    pytest.param(product, marks=pytest.mark.skipif(bool(missing), reason=missing))
    for product, missing in (("postgres", postgres.missing(wal2json=False)), ("mariadb", mariadb.missing()))
]


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.skipif(brokers.libraries() is None, reason="Apache Kafka from Maven Central")
@pytest.mark.real_broker
def test_i9_a_database_that_is_captured_is_in_the_topics_once_whatever_is_killed(product, tmp_path):
    counted = capture_campaign.run(tmp_path, rounds=3, seed=1, delivery="exactly_once", product=product)
    assert counted["statements"] > 1000
