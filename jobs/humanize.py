"""Format instants and durations for pages, in the viewer's zone and language."""

from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext, ngettext, npgettext

from accounts.time_format import time_words

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
EXACT_DAYS = 10 * DAY  # shorter durations have days and hours; static/js/clock.js does the same
FAR = 60 * DAY  # durations from this length on are in months


def format_duration(length: timedelta) -> str:
    """Return a rounded duration: 38 s, 3 h 28 min, 1 day 5 h, 14 days.  A negative one counts as 0."""
    if length < DAY:
        return _within_a_day(length)
    days = length // DAY
    if length < FAR:
        return _with_hours(ngettext("%d day", "%d days", days) % days, length)
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


def _with_hours(days: str, length: timedelta) -> str:
    hours = length % DAY // HOUR if length < EXACT_DAYS else 0
    return f"{days} {_hours(hours)}" if hours else days


def _hours(number: int) -> str:
    return gettext("%s h") % number


def _minutes(number: int | str) -> str:
    return gettext("%s min") % number


def _seconds(number: int | str) -> str:
    return gettext("%s s") % number


def format_elapsed(length: timedelta) -> str:
    """Return an elapsed time, precise enough for comparisons: 640 ms, 30.8 s, 30 s, 6 min 31 s, 1 h 09 min."""
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
    return format_duration(length)


def format_relative(instant: datetime, now: datetime) -> str:
    """Return a text such as "in 3 h 28 min" or "2 min ago"."""
    if instant >= now:
        return gettext("in %s") % _from_now(instant - now)
    return gettext("%s ago") % _from_now(now - instant)


def _from_now(length: timedelta) -> str:
    """Do the same as `format_duration`, in the grammatical case that "in" and "ago" need."""
    if length < DAY:
        return _within_a_day(length)
    days = length // DAY
    if length < FAR:
        return _with_hours(npgettext("in or ago", "%d day", "%d days", days) % days, length)
    months, years = days // 30, days // 365
    if months < 24:
        return npgettext("in or ago", "%d month", "%d months", months) % months
    return npgettext("in or ago", "%d year", "%d years", years) % years


def format_date(instant: datetime, now: datetime) -> str:
    """Return a text such as "Thu 22 October", with the year if it is not the current year."""
    local = timezone.localtime(instant)
    return date_format(local, "DAY_FORMAT" if local.year == timezone.localtime(now).year else "DATE_FORMAT")


def format_datetime(instant: datetime, now: datetime, hour_cycle: int = 24) -> str:
    """Return a text such as "today 14:35", "tomorrow 02:30", "yesterday 18:00" or "Sun 25 October, 04:00".

    With the hour cycle 12 it is "today 2:35 pm".
    """
    local, today = timezone.localtime(instant), timezone.localtime(now).date()
    near = {-1: gettext("yesterday"), 0: gettext("today"), 1: gettext("tomorrow")}.get((local.date() - today).days)
    clock_time = time_words(local, hour_cycle)
    return f"{near} {clock_time}" if near else f"{format_date(instant, now)}, {clock_time}"


def format_time(instant: datetime) -> str:
    return f"{timezone.localtime(instant):%H:%M:%S}"


def format_precise_time(instant: datetime) -> str:
    local = timezone.localtime(instant)
    return f"{local:%H:%M:%S}.{local.microsecond // 1000:03}"


def format_count(number: int, one: str, many: str | None = None) -> str:
    """Return a text such as "1 job" or "1,204 jobs"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
