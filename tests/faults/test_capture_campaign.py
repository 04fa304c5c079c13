import pytest

from tests.faults import capture_campaign
from tests.parts import brokers, mariadb, mysql, postgres

MISSING = {"postgres": postgres.missing(wal2json=False), "mysql": mysql.missing(), "mariadb": mariadb.missing()}
PRODUCTS = [
    pytest.param(product, marks=pytest.mark.skipif(bool(missing), reason=missing))
    for product, missing in MISSING.items()
]


@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.skipif(brokers.libraries() is None, reason="Apache Kafka from Maven Central")
@pytest.mark.real_broker
def test_i9_a_database_that_is_captured_is_in_the_topics_once_whatever_is_killed(product, tmp_path):
    counted = capture_campaign.run(tmp_path, rounds=3, seed=1, delivery="exactly_once", product=product)
    assert counted["statements"] > 1000
