"""Instants and spans of time as a page says them, in the viewer's zone."""

from datetime import datetime, timedelta

from django.utils import timezone

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
        return "1 day" if days == 1 else f"{days} days"
    months = days // 30
    return f"{months} months" if months < 24 else f"{days // 365} years"


def took(length: timedelta) -> str:
    """How long, at the precision one compares: 640 ms, 30.8 s, 30 s, 6 min 31 s, 1 h 09 min."""
    length = max(length, timedelta(0))
    if length < SECOND:
        return f"{length // timedelta(milliseconds=1)} ms"
    if length < MINUTE:
        return f"{length / SECOND:.1f}".removesuffix(".0") + " s"
    if length < HOUR:
        seconds = length % MINUTE // SECOND
        return f"{length // MINUTE} min" + (f" {seconds} s" if seconds else "")
    if length < DAY:
        return f"{length // HOUR} h {length % HOUR // MINUTE:02} min"
    return span(length)


def distance(instant: datetime, now: datetime) -> str:
    """in 3 h 28 min; 2 min ago."""
    return f"in {span(instant - now)}" if instant >= now else f"{span(now - instant)} ago"


def day(instant: datetime, now: datetime) -> str:
    """Thu 22 October, with its year when that is not this one."""
    local = timezone.localtime(instant)
    year = "" if local.year == timezone.localtime(now).year else f" {local.year}"
    return f"{local:%a} {local.day} {local:%B}{year}"


def moment(instant: datetime, now: datetime) -> str:
    """today 14:35, tomorrow 02:30, yesterday 18:00, Sun 25 October, 04:00."""
    local, today = timezone.localtime(instant), timezone.localtime(now).date()
    near = {-1: "yesterday", 0: "today", 1: "tomorrow"}.get((local.date() - today).days)
    return f"{near} {local:%H:%M}" if near else f"{day(instant, now)}, {local:%H:%M}"


def clock(instant: datetime) -> str:
    return f"{timezone.localtime(instant):%H:%M:%S}"


def precise_clock(instant: datetime) -> str:
    local = timezone.localtime(instant)
    return f"{local:%H:%M:%S}.{local.microsecond // 1000:03}"


def count(number: int, one: str, many: str | None = None) -> str:
    """1 job; 1,204 jobs."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
