"""Functions between timestamps and dates: years, months, days, hours, and their texts.

A zone is an IANA name (`Europe/Berlin`) or in POSIX form, where `UTC-7` is seven hours *ahead* of UTC.
"""

from __future__ import annotations

import re
import time as clock
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from penstock.expr.emit.numbers import NANOSECONDS as SECOND_NS
from penstock.expr.emit.numbers import checked
from penstock.expr.errors import EvaluationError
from penstock.expr.functions.registry import function

TM = (
    "tuple<int32 sec, int32 min, int32 hour, int32 mday, int32 mon, int32 year, int32 wday, int32 yday, int32 isdst, "
    "int32 gmtoff, rstring zone>"
)
"""`Sys.tm`: a date as C has it; months from 0, years from 1900, weekdays from Sunday, days of the year from 0."""

Tm = tuple[int, int, int, int, int, int, int, int, int, int, str]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAYS = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _date(time: int, zone: tzinfo = UTC) -> datetime:
    return (_EPOCH + timedelta(seconds=time // SECOND_NS)).astimezone(zone)


def _weekday(date: datetime) -> int:
    return date.isoweekday() % 7


_PARTS: dict[str, tuple[str, Callable[[datetime], int]]] = {
    "year": ("The year.", lambda date: date.year),
    "month": ("The month, from 0 for January.", lambda date: date.month - 1),
    "day": ("The day of the month, from 1.", lambda date: date.day),
    "hour": ("The hour.", lambda date: date.hour),
    "minute": ("The minute.", lambda date: date.minute),
    "second": ("The second.", lambda date: date.second),
    "dayOfWeek": ("The day of the week, from 0 for Sunday.", _weekday),
    "dayOfYear": ("The day of the year, from 0.", lambda date: date.timetuple().tm_yday - 1),
}


def _declare_part(name: str, doc: str, part: Callable[[datetime], int]) -> None:
    def of_time(time: int) -> int:
        return part(_date(time))

    of_time.__doc__ = doc
    function(f"uint32 {name}(timestamp time)", f"uint32 gm{name}(timestamp time)")(of_time)


for _name, (_doc, _part) in _PARTS.items():
    _declare_part(_name, _doc, _part)


_POSIX_ZONE = re.compile(r"[A-Za-z]{3,}([+-]?)(\d{1,2})(?::(\d{2}))?(?::(\d{2}))?")


@lru_cache(maxsize=256)
def _zone(name: str) -> tzinfo:
    if name in ("", "UTC", "GMT"):
        return UTC
    match = _POSIX_ZONE.fullmatch(name)
    if match is not None:
        sign, hours, minutes, seconds = match.groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0))
        return timezone(offset if sign == "-" else -offset, name)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise EvaluationError(f"there is no time zone `{name}`") from error


@function("rstring ctime(timestamp time)")
def ctime(time: int) -> str:
    """The date as text, such as `Wed Jun 30 21:49:08 1993`."""
    date = _date(time)
    return f"{_DAYS[_weekday(date)]} {_MONTHS[date.month - 1]} {date.day:2d} {date:%H:%M:%S} {date.year}"


def _tm(date: datetime) -> Tm:
    offset = date.utcoffset() or timedelta()
    return (
        *(date.second, date.minute, date.hour, date.day, date.month - 1, date.year - 1900),
        *(_weekday(date), date.timetuple().tm_yday - 1, int(bool(date.dst())), int(offset.total_seconds())),
        date.tzname() or "",
    )


@function(f"void time(timestamp time, mutable {TM} result)", f"void gmtime(timestamp time, mutable {TM} result)")
def break_down(time: int, result: Tm) -> tuple[None, Tm]:
    """The parts of the date."""
    return None, _tm(_date(time))


@function(f"void time(timestamp time, rstring zone, mutable {TM} result)")
def break_down_in_zone(time: int, zone: str, result: Tm) -> tuple[None, Tm]:
    """The parts of the date in a zone."""
    return None, _tm(_date(time, _zone(zone)))


@function(f"timestamp toTimestamp({TM} time)", f"timestamp toTimestamp({TM} time, boolean defaultZone)")
def from_tm(time: Tm, default_zone: bool = False) -> int:
    """The time of a date given in parts; parts beyond their range carry over."""
    second, minute, hour, day, month, year, _, _, _, offset, zone = time
    carried, month = divmod(month, 12)
    try:
        date = datetime(1900 + year + carried, month + 1, 1, tzinfo=_zone(zone))
        date += timedelta(days=day - 1, hours=hour, minutes=minute, seconds=second)
    except (ValueError, OverflowError) as error:
        raise EvaluationError(f"timestamp out of range: {error}") from error
    ahead = offset if zone in ("", "UTC", "GMT") else 0
    return _to_ns(date - timedelta(seconds=ahead))


def _to_ns(date: datetime, nanoseconds: int = 0) -> int:
    since = date - _EPOCH
    return checked((since.days * 86_400 + since.seconds) * SECOND_NS + nanoseconds)


@function(f"rstring strftime({TM} time, rstring format)")
def strftime(time: Tm, form: str) -> str:
    """The date as text in a format of C's `strftime`."""
    second, minute, hour, day, month, year, weekday, year_day, is_dst, offset, zone = time
    parts = (year + 1900, month + 1, day, hour, minute, second, (weekday - 1) % 7, year_day + 1, is_dst, zone, offset)
    try:
        return clock.strftime(form, clock.struct_time(parts))
    except ValueError as error:
        raise EvaluationError(f"strftime: {error}") from error


@function(f"void strptime(rstring text, rstring format, mutable {TM} result, mutable uint32 charactersRead)")
def strptime(text: str, form: str, result: Tm, read: int) -> tuple[None, Tm, int]:
    """Read a date in a format of C's `strptime`; 0 characters are read where the text does not follow it."""
    try:
        date = datetime.strptime(text, form)
    except ValueError:
        return None, result, 0
    return None, _tm(date), len(text)


_DAY_MONTH_YEAR = re.compile(r"\s*(\d{1,2})-([A-Za-z]{3})-(\d{4})\s*")
_CLOCK_TIME = re.compile(r"\s*(\d{1,2}):(\d{2}):(\d{2})(?:[.,](\d{1,9}))?\s*")


@function(
    "<string T> timestamp timeStringToTimestamp(T date, T time, boolean useLocaleMonth)",
    "<string T> timestamp timeStringtoTimestamp(T date, T time, boolean useLocaleMonth)",
)
def from_time_string(date: str, time: str, use_locale: bool) -> int:
    """The time of a date such as `04-OCT-2005` and a time such as `14:18:19.324`; months in English."""
    return from_time_string_in_zone(date, time, "UTC", use_locale)


@function(
    "<string T> timestamp timeStringToTimestamp(T date, T time, T zone, boolean useLocaleMonth)",
    "<string T> timestamp timeStringtoTimestamp(T date, T time, T zone, boolean useLocaleMonth)",
)
def from_time_string_in_zone(date: str, time: str, zone: str, use_locale: bool) -> int:
    """The time of a date such as `04-OCT-2005` and a time such as `14:18:19.324` in a zone."""
    day, hour = _DAY_MONTH_YEAR.fullmatch(date), _CLOCK_TIME.fullmatch(time)
    month = day[2].title() if day else ""
    if day is None or hour is None or month not in _MONTHS:
        raise EvaluationError(f"`{date}` `{time}` is not a time such as 04-OCT-2005 14:18:19.324")
    return _from_parts(
        (int(day[3]), _MONTHS.index(month) + 1, int(day[1]), int(hour[1]), int(hour[2]), int(hour[3])),
        hour[4] or "0",
        zone,
    )


def _from_parts(parts: tuple[int, int, int, int, int, int], fraction: str, zone: str) -> int:
    year, month, day, hour, minute, second = parts
    try:
        date = datetime(year, month, day, hour, minute, second, tzinfo=_zone(zone))
    except ValueError as error:
        raise EvaluationError(f"there is no such time: {error}") from error
    return _to_ns(date, int(fraction.ljust(9, "0")))


_FORMATS = (
    "YYYYMMDDhhmmss",
    "YYYY_MM_DD_hh_mm_ss",
    "MM_DD_YYYY_hh_mm_ss",
    "DD_MM_YYYY_hh_mm_ss",
    "YYYY_MM_DD_hh_mm_ss_mmm",
    "MM_DD_YYYY_hh_mm_ss_mmm",
    "DD_MM_YYYY_hh_mm_ss_mmm",
)
TIMESTAMP_FORMAT = f"enum{{{', '.join(_FORMATS)}}}"
"""`Sys.TimestampFormat`: the layouts of dates that `toTimestamp` reads; `_` stands for any separator."""


@lru_cache(maxsize=16)
def _layout(form: str) -> re.Pattern[str]:
    pattern = re.sub("_", r"[^0-9]", form)
    for part in ("YYYY", "MM", "DD", "hh", "mmm", "mm", "ss"):
        pattern = pattern.replace(part, rf"(?P<{part}>\d{{{len(part)}}})", 1)
    return re.compile(pattern)


@function(f"<string T> timestamp toTimestamp({TIMESTAMP_FORMAT} format, T str)")
def from_text(form: str, text: str) -> int:
    """The time of a date written in a layout such as `Sys.YYYY_MM_DD_hh_mm_ss`."""
    return from_text_in_zone(form, text, "UTC")


@function(f"<string T> timestamp toTimestamp({TIMESTAMP_FORMAT} format, T str, T zone)")
def from_text_in_zone(form: str, text: str, zone: str) -> int:
    """The time of a date written in a layout such as `Sys.YYYY_MM_DD_hh_mm_ss`, in a zone."""
    match = _layout(form).fullmatch(text)
    if match is None:
        raise EvaluationError(f"`{text}` is not a time in the form {form}")
    found = match.groupdict()
    year, month, day, hour, minute, second = (int(found[part]) for part in ("YYYY", "MM", "DD", "hh", "mm", "ss"))
    return _from_parts((year, month, day, hour, minute, second), found.get("mmm", "0"), zone)
