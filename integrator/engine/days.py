"""Days of the calendar as numbers."""

from __future__ import annotations

from integrator.engine.compiled import compiled

_DAYS_IN_400 = 146_097
_DAYS_TO_1970 = 719_468
"""From the first of March of year 0."""
NO_DAY = -(1 << 63)


@compiled
def days_of(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01 of a day of the years 1 to 9999; NO_DAY where there is no such day."""
    if year < 1 or year > 9999 or month < 1 or month > 12 or day < 1 or day > 31:
        return NO_DAY
    if day > 28:
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        longest = (29 if leap else 28) if month == 2 else 30 if month in (4, 6, 9, 11) else 31
        if day > longest:
            return NO_DAY
    # The year begins in March, so that a leap day is its last: https://howardhinnant.github.io/date_algorithms.html
    year -= month <= 2
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    in_400 = year % 400
    return year // 400 * _DAYS_IN_400 + in_400 * 365 + in_400 // 4 - in_400 // 100 + of_year - _DAYS_TO_1970


@compiled
def civil_of(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a day since 1970-01-01 that is not before it."""
    shifted = days + _DAYS_TO_1970
    in_400 = shifted % _DAYS_IN_400
    year_of = (in_400 - in_400 // 1460 + in_400 // 36_524 - in_400 // 146_096) // 365
    of_year = in_400 - (365 * year_of + year_of // 4 - year_of // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    return shifted // _DAYS_IN_400 * 400 + year_of + (month <= 2), month, day
