"""The oldest and the newest Kafka that can be had: the path from end to end, exactly once, topics made and read."""

import pytest

from tests.broker.test_end_to_end import (  # noqa: F401 - collected here, too, with the broker of this module
    messages,
    test_i3_each_key_is_in_one_partition_in_source_order,
    test_the_rebuilt_tables_equal_the_final_ones,
)
from tests.broker.test_exactly_once import (  # noqa: F401
    path,
    test_a_cycle_that_is_repeated_after_its_commit_is_not_sent_again,
    test_several_shards_are_recognized_each,
)
from tests.broker.test_kafka_source import (  # noqa: F401
    ends,
    looked_for_at_once,
    test_exactly_once_over_a_kill,
    test_offsets_are_committed_after_a_cycle_where_that_is_asked_for,
)
from tests.parts.kafka_versions import VERSIONS, broker_of

pytestmark = [pytest.mark.broker, pytest.mark.spark]


@pytest.fixture(scope="module", params=VERSIONS)
def broker(request):
    with broker_of(VERSIONS[request.param]) as found:
        if found is None:
            pytest.skip(f"Apache Kafka {VERSIONS[request.param]} needs mvn and Java")
        yield found
