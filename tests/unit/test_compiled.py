"""Loops are compiled also where their code cannot be kept."""

import numpy as np

from integrator.compiled import compiled

SOURCE = """
def total(numbers):
    result = 0
    for number in numbers:
        result += number
    return result
"""


def test_what_cannot_be_kept_is_compiled_all_the_same():
    found = {}
    exec(SOURCE, found)  # noqa: S102 - no file, so no place for it
    total = compiled(found["total"])
    assert total(np.arange(5)) == 10
    assert total.signatures
    assert not total.stats.cache_path
