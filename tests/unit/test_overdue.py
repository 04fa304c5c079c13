"""A cycle that is under way for long is reported, later each time."""

from structlog.testing import capture_logs

from integrator.run.seen.progress import Overdue


def test_a_cycle_that_takes_long_is_reported_after_five_ten_and_twenty_minutes():
    overdue = Overdue("shop")
    with capture_logs() as logs:
        for seconds in (0, 10, 299, 300, 301, 599, 600, 1199, 1200.4, 0, 5, 310):
            overdue.check(seconds)
    assert [(log["event"], log["seconds"]) for log in logs] == [
        ("cycle not synced for long", seconds) for seconds in (300, 600, 1200, 310)
    ]
