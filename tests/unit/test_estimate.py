"""How long the rest of a refresh takes: by the rows of completed slices, or those that the database has statistics of."""

import pytest

from integrator.refresh.estimate import Estimate
from integrator.refresh.slices import Slice

SLICES = [Slice("a", number, 4, "") for number in range(4)] + [Slice("b", 0, 1, "")]
A1, A2, A3, A4, B = SLICES

CASES = {
    # rows by statistics, rows of completed slices, of those in an earlier run, rows sent so far; all rows, seconds left
    "nothing is known": ({}, {}, {}, {}, None, None),
    "rows, and no end of them": ({}, {}, {}, {A1: 50}, None, None),
    "one of five is completed": ({}, {A1: 100}, {}, {}, 500, 40.0),
    "one, and half of another": ({}, {A1: 100}, {}, {A2: 50}, 500, 10 * 350 / 150),
    "one that is larger than thought": ({}, {A1: 100}, {}, {A2: 300}, 700, 10 * 300 / 400),
    "the other table is as large as it is": ({}, {A1: 100, A2: 100, B: 1000}, {}, {}, 1400, 10 * 200 / 1200),
    "by statistics": ({"a": 4000, "b": 1000}, {}, {}, {A1: 500}, 5000, 90.0),
    "statistics are too low": ({"a": 40, "b": 10}, {}, {}, {A1: 90}, 130, 10 * 40 / 90),
    "statistics of one table": ({"a": 400}, {A1: 100}, {}, {B: 50}, 500, 10 * 350 / 150),
    "an earlier run was of another speed": ({}, {A1: 100}, {A2: 100, A3: 100}, {}, 500, 20.0),
    "the earlier run alone": ({}, {}, {A1: 100}, {}, 500, None),
    "empty tables": ({}, {A1: 0, A2: 0}, {}, {}, 0, None),
    "all is sent": ({"a": 9000, "b": 1}, dict.fromkeys(SLICES, 7), {}, {}, 35, 0.0),
}


@pytest.mark.parametrize(("expected", "completed", "earlier", "sent", "total", "left"), CASES.values(), ids=CASES)
def test_rows_and_the_time_left_after_ten_seconds(expected, completed, earlier, sent, total, left):
    estimate = Estimate(SLICES, expected)
    for part, rows in earlier.items():
        estimate.complete(part, rows, earlier=True)
    for part, rows in completed.items():
        estimate.complete(part, rows)
    for part, rows in sent.items():
        estimate.send(part, rows)
    assert estimate.rows == sum([*earlier.values(), *completed.values(), *sent.values()])
    assert (estimate.total, estimate.seconds_left(10.0)) == (total, left if left is None else pytest.approx(left))


def test_what_comes_late_of_a_completed_slice_does_not_count():
    estimate = Estimate(SLICES)
    estimate.complete(A1, 100)
    estimate.send(A1, 90)
    assert estimate.rows == 100
