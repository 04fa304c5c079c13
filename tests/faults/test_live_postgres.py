"""A live PostgreSQL, refreshed online while it is changed and the daemon is killed; longer by `python -m tests.faults.live_postgres`."""

import pytest

from tests.faults import live_postgres
from tests.parts import jdbc, postgres

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def test_what_a_consumer_has_at_the_end_is_what_postgresql_has(real_broker, tmp_path, name):
    """With a truncate record, behind which changes up to the moment are passed over; the script does it without."""
    lacks = postgres.missing() or ("" if jdbc.driver() else "PostgreSQL's JDBC driver from Maven Central")
    if lacks:
        pytest.skip(f"a live PostgreSQL needs {lacks}")
    counted = live_postgres.run(real_broker.servers, tmp_path, name, 2_000, 12, 1, 3, "--truncate-record")
    assert counted["accounts rows"] > 1_000
