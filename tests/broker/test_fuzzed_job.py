"""Wrong lines of all dialects through the whole job, in short: `make fuzz` has 100,000."""

import pytest

from tests.fuzz import whole_job
from tests.fuzz.rejected import OF_LINES

pytestmark = [pytest.mark.broker, pytest.mark.spark]

LINES, SEED = 30 * len(OF_LINES), 3


def test_each_line_is_sent_or_a_dead_letter_or_counted_and_again_the_same(broker, tmp_path):
    counts, wrong = whole_job.run(broker, tmp_path, LINES, SEED, OF_LINES)
    assert wrong == []
    assert counts["dead letters"] > LINES // 10
