"""With errors.tolerance: all, the lines of a file that are wrong are rejected, and the others are read as if alone."""

import pytest

from tests.fuzz.rejected import OF_LINES, check

SEED, LINES = 20261124, 150


@pytest.mark.parametrize("setup", OF_LINES, ids=lambda setup: setup.name)
def test_wrong_lines_are_rejected_and_others_are_read(setup, tmp_path):
    odd, counts = check(setup, tmp_path, SEED, range(LINES))
    assert odd == []
    assert counts["rejected"] > LINES // 10
