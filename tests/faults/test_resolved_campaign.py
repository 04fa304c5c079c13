import pytest

from tests.faults import resolved_campaign
from tests.parts import brokers, mariadb, mysql, postgres

MISSING = {"postgres": lambda: postgres.missing(wal2json=False), "mysql": mysql.missing, "mariadb": mariadb.missing}


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
@pytest.mark.parametrize("product", MISSING)
@pytest.mark.real_broker
def test_i12_after_a_resolved_position_nothing_at_or_below_it_comes_whatever_is_killed(product, delivery, tmp_path):
    if lacks := MISSING[product]() or ("" if brokers.libraries() else "Apache Kafka from Maven Central"):
        pytest.skip(lacks)
    with resolved_campaign.running(tmp_path, product, 1, {"delivery": delivery}) as campaign:
        for number in range(2):
            campaign.round(number)
    assert len(campaign.commits) > 20
