import pytest

from tests.faults import capture_campaign
from tests.parts import brokers, mariadb, mysql, postgres

MISSING = {"postgres": lambda: postgres.missing(wal2json=False), "mysql": mysql.missing, "mariadb": mariadb.missing}


@pytest.mark.parametrize("product", MISSING)
@pytest.mark.real_broker
def test_i9_a_database_that_is_captured_is_in_the_topics_once_whatever_is_killed(product, tmp_path):
    if lacks := MISSING[product]() or ("" if brokers.libraries() else "Apache Kafka from Maven Central"):
        pytest.skip(lacks)
    counted = capture_campaign.run(tmp_path, rounds=2, seed=1, delivery="exactly_once", product=product)
    assert counted["statements"] > 1000


@pytest.mark.parametrize("product", MISSING)
@pytest.mark.real_broker
def test_i1_tables_that_are_defined_otherwise_all_the_time_are_in_the_topics(product, tmp_path):
    """A minute of it; `make faults` has an hour."""
    if lacks := MISSING[product]() or ("" if brokers.libraries() else "Apache Kafka from Maven Central"):
        pytest.skip(lacks)
    how = {"product": product, "defines": True, "minutes": 1.0}
    counted = capture_campaign.run(tmp_path, rounds=0, seed=2, delivery="exactly_once", **how)
    assert counted["statements"] > 1000
    assert counted["definition"]
