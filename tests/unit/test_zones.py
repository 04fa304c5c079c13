"""The rules of time zones, before and after the years that tables of time zones have, against Python's own."""

import datetime
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from integrator.arrow import zones
from integrator.transform.cast import format_timestamp

UTC = datetime.timezone.utc
ZONES = [
    "Europe/Berlin",
    "America/New_York",
    "Africa/Casablanca",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "Europe/Dublin",
]
YEARS = [1971, 2026, 2036, 2037, 2038, 2050, 2080, 2099, 2100, 2101, 2499, 2500, 2501, 4000, 9998]


def moments():
    """Moments of all months, and of each hour around one change of clocks."""
    for year in YEARS:
        for month in range(1, 13):
            yield datetime.datetime(year, month, 17, month, 59, 59, 250_000, tzinfo=UTC)
    for hour in range(400):
        yield datetime.datetime(2041, 3, 20, tzinfo=UTC) + datetime.timedelta(hours=hour)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("unit", ["ms", "us"])
def test_what_clocks_show(zone, unit):
    given = [*moments(), None]
    shown = zones.clock(pa.array(given, pa.timestamp(unit, "UTC")), zone).to_pylist()
    assert shown == [one and one.astimezone(ZoneInfo(zone)).replace(tzinfo=None) for one in given]


@pytest.mark.parametrize("zone", ZONES)
def test_moments_of_what_clocks_show(zone):
    given = [*moments(), None]
    shown = [one and one.astimezone(ZoneInfo(zone)).replace(tzinfo=None) for one in given]
    once = [one for one in shown if one is None or _times(one, zone) == 1]
    got = zones.instants(pa.array(once, pa.timestamp("us")), zone)
    assert got.to_pylist() == [one and one.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC) for one in once]
    assert len(once) > len(shown) - 10


def _times(clock, zone):
    """How often clocks in a zone show this."""
    both = [clock.replace(tzinfo=ZoneInfo(zone), fold=fold).astimezone(UTC) for fold in (0, 1)]
    return len({one for one in both if one.astimezone(ZoneInfo(zone)).replace(tzinfo=None) == clock})


@pytest.mark.parametrize("year", [2026, 2041])
@pytest.mark.parametrize(
    ("day", "how"), [("03-{last_of_march} 02:30:00", "doesn't exist"), ("10-{last_of_october} 02:30:00", "ambiguous")]
)
def test_what_clocks_never_show_or_twice_is_refused(year, day, how):
    sundays = {2026: {"last_of_march": 29, "last_of_october": 25}, 2041: {"last_of_march": 31, "last_of_october": 27}}
    shown = pa.array([f"{year}-01-01 00:00:00", f"{year}-{day.format(**sundays[year])}"]).cast(pa.timestamp("us"))
    with pytest.raises(pa.ArrowInvalid, match=how):
        zones.instants(shown, "Europe/Berlin")


def test_the_last_moments_of_64_bits_in_local_time():
    last = pa.array([2**63 - 1, None], pa.int64()).cast(pa.timestamp("ns", "UTC"))
    shown = format_timestamp(last, "%[localtime] %Y-%m-%d %H:%M:%S", "Europe/Berlin")
    assert shown.to_pylist() == ["2262-04-12 01:47:16", None]
