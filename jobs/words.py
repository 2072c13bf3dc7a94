"""Instants and spans of time as a page says them, in the viewer's zone and language."""

from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext, ngettext, npgettext

from accounts.clock import time_words

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
FAR = 60 * DAY  # from here on the distance is said in months


def span(length: timedelta) -> str:
    """How long, at the precision one acts on: 38 s, 13 min, 3 h 28 min, 4 days.  Negative counts as none."""
    if length < DAY:
        return _within_a_day(length)
    days = length // DAY
    if length < FAR:
        return ngettext("%d day", "%d days", days) % days
    months, years = days // 30, days // 365
    if months < 24:
        return ngettext("%d month", "%d months", months) % months
    return ngettext("%d year", "%d years", years) % years


def _within_a_day(length: timedelta) -> str:
    if length < MINUTE:
        return _seconds(max(length, timedelta(0)) // SECOND)
    if length < HOUR:
        return _minutes(length // MINUTE)
    minutes = length % HOUR // MINUTE
    return f"{_hours(length // HOUR)} {_minutes(minutes)}" if minutes else _hours(length // HOUR)


def _hours(number: int) -> str:
    return gettext("%s h") % number


def _minutes(number: int | str) -> str:
    return gettext("%s min") % number


def _seconds(number: int | str) -> str:
    return gettext("%s s") % number


def took(length: timedelta) -> str:
    """How long, at the precision one compares: 640 ms, 30.8 s, 30 s, 6 min 31 s, 1 h 09 min."""
    length = max(length, timedelta(0))
    if length < SECOND:
        return f"{length // timedelta(milliseconds=1)} ms"
    if length < MINUTE:
        seconds = round(length / SECOND, 1)
        return _seconds(number_format(seconds, decimal_pos=0 if seconds.is_integer() else 1))
    if length < HOUR:
        rest = length % MINUTE // SECOND
        return f"{_minutes(length // MINUTE)} {_seconds(rest)}" if rest else _minutes(length // MINUTE)
    if length < DAY:
        return f"{_hours(length // HOUR)} {_minutes(f'{length % HOUR // MINUTE:02}')}"
    return span(length)


def distance(instant: datetime, now: datetime) -> str:
    """in 3 h 28 min; 2 min ago."""
    if instant >= now:
        return gettext("in %s") % _from_now(instant - now)
    return gettext("%s ago") % _from_now(now - instant)


def _from_now(length: timedelta) -> str:
    """As `span`, in the case that the words for "in" and "ago" take."""
    if length < DAY:
        return _within_a_day(length)
    days = length // DAY
    if length < FAR:
        return npgettext("in or ago", "%d day", "%d days", days) % days
    months, years = days // 30, days // 365
    if months < 24:
        return npgettext("in or ago", "%d month", "%d months", months) % months
    return npgettext("in or ago", "%d year", "%d years", years) % years


def day(instant: datetime, now: datetime) -> str:
    """Thu 22 October, with its year when that is not this one."""
    local = timezone.localtime(instant)
    return date_format(local, "DAY_FORMAT" if local.year == timezone.localtime(now).year else "DATE_FORMAT")


def moment(instant: datetime, now: datetime, hour_cycle: int = 24) -> str:
    """today 14:35, tomorrow 02:30, yesterday 18:00, Sun 25 October, 04:00; with the hour cycle 12, today 2:35 pm."""
    local, today = timezone.localtime(instant), timezone.localtime(now).date()
    near = {-1: gettext("yesterday"), 0: gettext("today"), 1: gettext("tomorrow")}.get((local.date() - today).days)
    clock_time = time_words(local, hour_cycle)
    return f"{near} {clock_time}" if near else f"{day(instant, now)}, {clock_time}"


def clock(instant: datetime) -> str:
    return f"{timezone.localtime(instant):%H:%M:%S}"


def precise_clock(instant: datetime) -> str:
    local = timezone.localtime(instant)
    return f"{local:%H:%M:%S}.{local.microsecond // 1000:03}"


def count(number: int, one: str, many: str | None = None) -> str:
    """1 job; 1,204 jobs."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
