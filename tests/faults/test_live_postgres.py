"""A live PostgreSQL, refreshed online while it is changed and the daemon is killed; longer by `python -m tests.faults.live_postgres`."""

import pytest

from tests.faults import live_postgres
from tests.parts import jdbc, postgres

pytestmark = [pytest.mark.broker, pytest.mark.spark]


@pytest.mark.parametrize("words", [[], ["--truncate-record"]], ids=["", "consumers begin anew"])
def test_what_a_consumer_has_at_the_end_is_what_postgresql_has(words, real_broker, tmp_path, name):
    lacks = postgres.missing() or ("" if jdbc.driver() else "PostgreSQL's JDBC driver from Maven Central")
    if lacks:
        pytest.skip(f"a live PostgreSQL needs {lacks}")
    counted = live_postgres.run(real_broker.servers, tmp_path, name, 2_000, 12, 1, 3, *words)
    assert counted["accounts rows"] > 1_000
