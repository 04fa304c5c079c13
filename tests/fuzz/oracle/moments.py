"""Text -> dates, times, moments and intervals, as the integers that Arrow has for them."""

from __future__ import annotations

import datetime
import re
from zoneinfo import ZoneInfo

from tests.fuzz.oracle.verdict import Wrong

Notes = set[str]
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_CLOCK = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?", re.ASCII)
_ZONE = r"(Z|z|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?"
_MOMENT = re.compile(rf"(\d{{4}}-\d\d-\d\d)(?:([ Tt])([\d:.]+){_ZONE})?", re.ASCII)


def date(text: str, notes: Notes) -> int:
    """Return days since 1970."""
    found = _DATE.fullmatch(text)
    if found and found[1] == "0000":
        found = None  # a year BC, or MySQL's zero date
    try:
        if found:
            return datetime.date(*map(int, found.groups())).toordinal() - _EPOCH
    except ValueError:
        pass
    raise Wrong("no date")


def clock(text: str, digits: int, notes: Notes) -> int:
    """Return a time of day in units of 10^-digits seconds."""
    found = _CLOCK.fullmatch(text)
    if not found:
        raise Wrong("no time")
    hours, minutes, seconds, fraction = int(found[1]), int(found[2]), int(found[3] or 0), found[4] or ""
    if hours > 23 or minutes > 59 or seconds > 59:
        raise Wrong("no time")
    if found[3] is None:
        notes.add("a time without seconds")
    if len(fraction) > digits:
        if fraction[digits:].strip("0"):
            raise Wrong("a time finer than its column")
        notes.add("a time with more zeros than its column has")
    return (hours * 3600 + minutes * 60 + seconds) * 10**digits + int(fraction[:digits].ljust(digits, "0"))


def _offset(zone: str) -> int:
    if zone in ("Z", "z"):
        return 0
    parts = [int(part) for part in re.findall(r"\d\d", zone)] + [0, 0]
    if parts[0] > 23 or parts[1] > 59 or parts[2] > 59:
        raise Wrong("no zone")
    return (parts[0] * 3600 + parts[1] * 60 + parts[2]) * (-1 if zone[0] == "-" else 1)


def timestamp(text: str, digits: int, notes: Notes, *, zone: str = "refused") -> int:
    """Return a wall clock reading. zone: whether Z and +00 after it are `refused`, `loose`, or `read`."""
    value, found = _moment(text, digits, notes)
    if found:
        if zone == "refused" or _offset(found):
            raise Wrong("a zone where the column has none")
        if zone == "loose" or found != "Z":
            notes.add("a zone of UTC where the column has none")
    return value


def timestamptz(text: str, digits: int, notes: Notes, *, bare: str = "refused") -> int:
    """Return an instant. bare: whether one without a zone is `refused`, or of `utc`, or of the zone of that name."""
    value, found = _moment(text, digits, notes)
    if not found:
        if bare == "refused":
            raise Wrong("a moment without a zone")
        return value if bare == "utc" else value - _offset_in(ZoneInfo(bare), value // 10**digits) * 10**digits
    if found.count(":") < len(found) // 3 - 1 or abs(_offset(found)) >= 16 * 3600 or found == "z":
        notes.add("a zone without colons between minutes and seconds, far out, or in small letters")
    value -= _offset(found) * 10**digits
    if digits == 9 and not -(2**63) <= value < 2**63:
        raise Wrong("a moment out of range")
    first, after = (
        (datetime.date(*day).toordinal() - _EPOCH) * 86400 * 10**digits for day in ((1, 1, 1), (9999, 12, 31))
    )
    if not first <= value < after + 86400 * 10**digits:
        raise Wrong("a moment that its zone moves out of the years 1 to 9999")
    return value


def _offset_in(zone: ZoneInfo, second: int) -> int:
    """Return the offset of a zone where its clocks show this second, in seconds. Raises Wrong for none, or two."""
    clock = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=second)
    try:
        both = {round(clock.replace(tzinfo=zone, fold=fold).utcoffset().total_seconds()) for fold in (0, 1)}
    except OverflowError:
        raise Wrong("a moment that its zone moves out of the years 1 to 9999") from None
    if len(both) > 1:
        raise Wrong("an hour that clocks show twice, or never")
    return both.pop()


def _moment(text: str, digits: int, notes: Notes) -> tuple[int, str | None]:
    found = _MOMENT.fullmatch(text)
    if not found:
        raise Wrong("no moment")
    day, separator, time, zone = found.groups()
    value = date(day, notes) * 86400 * 10**digits
    if separator is None:
        notes.add("a moment without a time of day")
    else:
        if separator == "t":
            notes.add("a small t between date and time")
        value += clock(time, digits, notes)
    if digits == 9 and not -(2**63) <= value < 2**63:
        raise Wrong("a moment out of range")
    if value == -(2**63):
        notes.add("the least number of 64 bits")
    return value, zone


_SIGNED = r"([+-]?\d+)"
_VERBOSE = re.compile(
    rf"(?:{_SIGNED} years?\s*)?(?:{_SIGNED} mons?\s*)?(?:{_SIGNED} days?)?(?:\s*([+-])?(\d+):(\d\d)(?::(\d\d)(?:\.(\d{{1,9}}))?)?)?",
    re.ASCII,
)
_ISO = re.compile(
    rf"P(?:{_SIGNED}Y)?(?:{_SIGNED}M)?(?:{_SIGNED}W)?(?:{_SIGNED}D)?"
    rf"(?:T(?:{_SIGNED}H)?(?:{_SIGNED}M)?(?:([+-]?)(\d+)(?:\.(\d{{1,9}}))?S)?)?",
    re.ASCII,
)
_YEAR_MONTH = re.compile(r"([+-]?)(\d+)-(\d+)", re.ASCII)
_DAY_TIME = re.compile(r"([+-]?)(\d+)\s+(\d+):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?", re.ASCII)
_GIGA = 10**9


def _int(text: str | None) -> int:
    return int(text or 0) if len(text or "") < 100 else 10**100


def interval(text: str, notes: Notes) -> tuple[int, int, int]:
    """Return months, days and nanoseconds."""
    result = _parts(text, notes)
    if abs(result[0]) >= 2**31 or abs(result[1]) >= 2**31 or abs(result[2]) > 9_223_372_036 * _GIGA:
        raise Wrong("an interval out of range")
    return result


def _parts(text: str, notes: Notes) -> tuple[int, int, int]:
    if not text or text.strip() != text:
        raise Wrong("no interval")
    if found := _VERBOSE.fullmatch(text):
        years, months, days, sign, hours, minutes, seconds, fraction = found.groups()
        if int(minutes or 0) > 59 or int(seconds or 0) > 59:
            notes.add("an interval with 60 minutes or seconds")
        nanos = (_int(hours) * 3600 + _int(minutes) * 60 + _int(seconds)) * _GIGA + int((fraction or "").ljust(9, "0"))
        return _int(years) * 12 + _int(months), _int(days), -nanos if sign == "-" else nanos
    if found := _ISO.fullmatch(text):
        years, months, weeks, days, hours, minutes, sign, seconds, fraction = found.groups()
        if not any(part is not None for part in found.groups()) or text.endswith("T"):
            notes.add("an interval of ISO 8601 without parts")
        nanos = _int(seconds) * _GIGA + int((fraction or "").ljust(9, "0"))
        nanos = (_int(hours) * 3600 + _int(minutes) * 60) * _GIGA + (-nanos if sign == "-" else nanos)
        return _int(years) * 12 + _int(months), _int(weeks) * 7 + _int(days), nanos
    if found := _YEAR_MONTH.fullmatch(text):
        months = _int(found[2]) * 12 + _int(found[3])
        if _int(found[3]) > 11:
            notes.add("an interval with twelve months")
        return -months if found[1] == "-" else months, 0, 0
    if found := _DAY_TIME.fullmatch(text):
        sign = -1 if found[1] == "-" else 1
        if int(found[4]) > 59 or int(found[5] or 0) > 59:
            notes.add("an interval with 60 minutes or seconds")
        nanos = (_int(found[3]) * 3600 + _int(found[4]) * 60 + _int(found[5])) * _GIGA
        return 0, sign * _int(found[2]), sign * (nanos + int((found[6] or "").ljust(9, "0")))
    raise Wrong("no interval")
