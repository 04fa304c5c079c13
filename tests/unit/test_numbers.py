"""Numbers as people read them."""

import pytest

from integrator.names.numbers import counted, ranges

pytestmark = [pytest.mark.engine, pytest.mark.engine_without_compiler]


@pytest.mark.parametrize(
    ("number", "words", "text"),
    [
        (1, ("table",), "1 table"),
        (0, ("table",), "0 tables"),
        (1200, ("dead letter",), "1,200 dead letters"),
        (2, ("query", "queries"), "2 queries"),
    ],
)
def test_how_many(number, words, text):
    assert counted(number, *words) == text


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([], ""),
        ([7], "7"),
        ([3, 4], "3, 4"),
        ([*range(99), 100], "0 to 98, 100"),
        ([9, 1, 2, 3, 7, 8], "1 to 3, 7 to 9"),
    ],
)
def test_which_ones(numbers, text):
    assert ranges(numbers) == text
