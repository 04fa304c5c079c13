"""Loops are compiled whatever becomes of the files in which their code is kept."""

import subprocess
import sys

import numpy as np
import pytest

from integrator.arrow.compiled import compiled

SOURCE = """
def total(numbers):
    result = 0
    for number in numbers:
        result += number
    return result
"""
PROCESS = """
import resource, sys
import numpy as np
from integrator.arrow.compiled import compiled
sys.path.insert(0, sys.argv[1])
from of_test import total
if len(sys.argv) > 2:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
total = compiled(total)
print(total(np.arange(5)), sum(total.stats.cache_hits.values()))
"""


def run(directory, *most_bytes):
    """What the function returned in a process of its own, and whether its code was there."""
    (directory / "of_test.py").exists() or (directory / "of_test.py").write_text(SOURCE)
    command = [sys.executable, "-c", PROCESS, str(directory), *map(str, most_bytes)]
    result, hits = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()
    return int(result), int(hits)


@pytest.mark.parametrize("suffix", [".nbc", ".nbi"])
@pytest.mark.parametrize("left", [b"", b"no code"])
def test_code_is_kept_and_made_again_where_it_was_cut_off(suffix, left, tmp_path):
    assert run(tmp_path) == (10, 0)
    assert run(tmp_path) == (10, 1)
    [kept] = tmp_path.glob(f"__pycache__/of_test.total*{suffix}")
    kept.write_bytes(left)
    assert run(tmp_path) == (10, 0)
    assert run(tmp_path) == (10, 1)


def test_code_for_which_there_is_no_room(tmp_path):
    assert run(tmp_path, 100) == (10, 0)


def test_code_for_which_there_is_no_place():
    found = {}
    exec(SOURCE, found)  # noqa: S102 - no file
    total = compiled(found["total"])
    assert total(np.arange(5)) == 10
    assert not total.stats.cache_path
