"""Intervals of elapsed time as times of the day in UTC, and the other way round."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

from recurrence.bits import mask_of, members
from recurrence.cron import ALL_MONTHS, ALL_YEARS
from recurrence.times import ALL_HOURS, ALL_MINUTES
from recurrence.translation.pattern import (
    EVERY_DAY,
    Context,
    DaySets,
    Elapsed,
    Interval,
    Pattern,
    weekdays_mask,
)

SECOND, MINUTE, HOUR, DAY = 1, 60, 3600, 86_400
ALL_SECONDS = ALL_MINUTES
GRIDS = ((SECOND, 60, "seconds", "a minute"), (MINUTE, 60, "minutes", "an hour"), (HOUR, 24, "hours", "a day"))


def as_pattern(elapsed: Elapsed, context: Context) -> Pattern | None:
    """Return the times of the day at which an interval has passed.

    An interval that does not divide a day begins anew in each period, which is a loss.  None: it is too long for that.
    """
    path = elapsed.members.get("interval", "interval")
    if elapsed.first.microsecond:
        context.lose(f"{elapsed.members.get('start', 'startTime')}: a fraction of a second cannot be said")
    seconds, rest = divmod(elapsed.interval, timedelta(seconds=1))
    if rest:
        context.lose(f"{path}: an interval with a fraction of a second cannot be said")
        return None
    pattern = days_pattern(elapsed)
    if pattern is not None:
        return pattern
    at = (elapsed.first.second, elapsed.first.minute, elapsed.first.hour)
    place = next(place for place in (2, 1, 0) if seconds % GRIDS[place][0] == 0)
    unit, size, units, whole = GRIDS[place]
    step = seconds // unit
    if size % step:
        message = f"{path}: every {step} {units}, which do not divide {whole}, cannot be said"
        if step > size:
            context.lose(message)
            return None
        context.lose(f"{message}: the count begins anew in each {whole.split()[-1]}")
    masks = [1 << number for number in at[:place]]
    masks += [mask_of(range(at[place] % step, size, step))]
    masks += [ALL_SECONDS, ALL_MINUTES, ALL_HOURS][place + 1 :]
    return replace(_pattern(elapsed), seconds=masks[0], minutes=masks[1], hours=masks[2])


def days_pattern(elapsed: Elapsed) -> Pattern | None:
    """Return an interval of whole days or weeks as days at one time; None for another interval."""
    days, rest = divmod(elapsed.interval, timedelta(days=1))
    if rest:
        return None
    pattern = _pattern(elapsed)
    if days == 1:
        return pattern
    if days % 7:
        return replace(pattern, interval=Interval(days, "day"))
    interval = Interval(days // 7, "week") if days > 7 else None
    return replace(pattern, days=DaySets(weekdays=weekdays_mask([elapsed.first.weekday()])), interval=interval)


def _pattern(elapsed: Elapsed) -> Pattern:
    first = elapsed.first
    return Pattern(
        1 << first.hour,
        1 << first.minute,
        1 << first.second,
        start=elapsed.start,
        end=elapsed.end,
        count=elapsed.count,
        members=elapsed.members,
    )


def interval_of(pattern: Pattern) -> timedelta | None:
    """Return the elapsed time from each fire time of a pattern in UTC to the next; None: it varies."""
    is_unlimited = pattern.months == ALL_MONTHS and pattern.years == ALL_YEARS
    if pattern.zone != "UTC" or not is_unlimited:
        return None
    if pattern.days != EVERY_DAY or pattern.interval:
        return _interval_of_days(pattern) if pattern.has_one_time else None
    times = [
        hour * HOUR + minute * MINUTE + second
        for hour in members(pattern.hours)
        for minute in members(pattern.minutes)
        for second in members(pattern.seconds)
    ]
    steps = {later - earlier for earlier, later in pairwise([*times, times[0] + DAY])}
    return timedelta(seconds=steps.pop()) if len(steps) == 1 else None


def _interval_of_days(pattern: Pattern) -> timedelta | None:
    number = pattern.interval.number if pattern.interval else 1
    unit = pattern.interval.unit if pattern.interval else "week"
    if pattern.days == EVERY_DAY and unit == "day":
        return timedelta(days=number)
    if not isinstance(pattern.days, DaySets) or unit != "week":
        return None
    has_one_weekday = pattern.days.weekdays.bit_count() == 1 and not pattern.days.are_both_limited
    return timedelta(weeks=number) if has_one_weekday else None
