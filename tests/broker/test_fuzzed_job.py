"""Wrong lines of all dialects through the whole job, in short: `make fuzz` has 100,000."""

import pytest

from tests.fuzz import whole_job
from tests.fuzz.rejected import OF_LINES
from tests.parts import in_process

pytestmark = [pytest.mark.broker, pytest.mark.spark]

LINES = 30 * len(OF_LINES)


def test_each_line_is_sent_or_a_dead_letter_or_counted_and_again_the_same(broker, spark, tmp_path):
    if not broker.real:
        pytest.skip("its topics are made by the channel, which needs a real Apache Kafka")
    with in_process.sharing(spark):
        counts, wrong = whole_job.run(broker, tmp_path, LINES, 3, OF_LINES)
    assert wrong == []
    assert counts["dead letters"] > LINES // 10
