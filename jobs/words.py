"""Instants and spans of time as a page says them, in the viewer's zone and language."""

from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext, ngettext

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
FAR = 60 * DAY  # from here on the distance is said in months


def span(length: timedelta) -> str:
    """How long, at the precision one acts on: 38 s, 13 min, 3 h 28 min, 4 days.  Negative counts as none."""
    length = max(length, timedelta(0))
    if length < MINUTE:
        return f"{length // SECOND} s"
    if length < HOUR:
        return f"{length // MINUTE} min"
    if length < DAY:
        minutes = length % HOUR // MINUTE
        return f"{length // HOUR} h" + (f" {minutes} min" if minutes else "")
    days = length // DAY
    if length < FAR:
        return ngettext("%d day", "%d days", days) % days
    months, years = days // 30, days // 365
    if months < 24:
        return ngettext("%d month", "%d months", months) % months
    return ngettext("%d year", "%d years", years) % years


def took(length: timedelta) -> str:
    """How long, at the precision one compares: 640 ms, 30.8 s, 30 s, 6 min 31 s, 1 h 09 min."""
    length = max(length, timedelta(0))
    if length < SECOND:
        return f"{length // timedelta(milliseconds=1)} ms"
    if length < MINUTE:
        seconds = round(length / SECOND, 1)
        return f"{number_format(seconds, decimal_pos=0 if seconds.is_integer() else 1)} s"
    if length < HOUR:
        seconds = length % MINUTE // SECOND
        return f"{length // MINUTE} min" + (f" {seconds} s" if seconds else "")
    if length < DAY:
        return f"{length // HOUR} h {length % HOUR // MINUTE:02} min"
    return span(length)


def distance(instant: datetime, now: datetime) -> str:
    """in 3 h 28 min; 2 min ago."""
    if instant >= now:
        return gettext("in %s") % span(instant - now)
    return gettext("%s ago") % span(now - instant)


def day(instant: datetime, now: datetime) -> str:
    """Thu 22 October, with its year when that is not this one."""
    local = timezone.localtime(instant)
    return date_format(local, "DAY_FORMAT" if local.year == timezone.localtime(now).year else "DATE_FORMAT")


def moment(instant: datetime, now: datetime) -> str:
    """today 14:35, tomorrow 02:30, yesterday 18:00, Sun 25 October, 04:00."""
    local, today = timezone.localtime(instant), timezone.localtime(now).date()
    near = {-1: gettext("yesterday"), 0: gettext("today"), 1: gettext("tomorrow")}.get((local.date() - today).days)
    return f"{near} {local:%H:%M}" if near else f"{day(instant, now)}, {local:%H:%M}"


def clock(instant: datetime) -> str:
    return f"{timezone.localtime(instant):%H:%M:%S}"


def precise_clock(instant: datetime) -> str:
    local = timezone.localtime(instant)
    return f"{local:%H:%M:%S}.{local.microsecond // 1000:03}"


def count(number: int, one: str, many: str | None = None) -> str:
    """1 job; 1,204 jobs."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
