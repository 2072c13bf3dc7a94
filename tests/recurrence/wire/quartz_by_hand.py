"""Evaluate Quartz expressions by a scan of all days and seconds, without the engine."""

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from functools import cache

MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
LAST_DAY = date(2099, 12, 31)


class ScannedExpression:
    """A valid expression that is evaluated by a scan."""

    def __init__(self, text):
        second, minute, hour, self.day_of_month, month, self.day_of_week, year = ([*text.upper().split(), "*"])[:7]
        self.seconds, self.minutes, self.hours = numbers(second, 0, 59), numbers(minute, 0, 59), numbers(hour, 0, 23)
        self.months, self.years = numbers(month, 1, 12, MONTHS), numbers(year, 1970, 2099)
        self.is_interval = any(sign in second + minute + hour for sign in "*-/")

    def has(self, wall):
        return self.has_time(wall) and self.has_day(wall.date())

    def has_time(self, wall):
        return wall.second in self.seconds and wall.minute in self.minutes and wall.hour in self.hours

    def has_day(self, day):
        if day.year not in self.years or day.month not in self.months:
            return False
        return self.has_day_of_month(day) if self.day_of_week == "?" else self.has_day_of_week(day)

    def has_day_of_month(self, day):
        text, length = self.day_of_month, monthrange(day.year, day.month)[1]
        if text.endswith("W"):
            wanted = day_from_the_end(text[:-1], length) if text.startswith("L") else int(text[:-1])
            return 1 <= wanted <= length and day.day == nearest_weekday(day.year, day.month, wanted)
        if text.startswith("L"):
            return day.day == day_from_the_end(text, length)
        return day.day in numbers(text, 1, 31)

    def has_day_of_week(self, day):
        text, weekday = self.day_of_week, day.isoweekday() % 7 + 1
        if text == "L":
            return weekday == 7
        if text.endswith("L"):
            return weekday == number(text[:-1], WEEKDAYS) and day.day + 7 > monthrange(day.year, day.month)[1]
        if "#" in text:
            name, _, count = text.partition("#")
            return weekday == number(name, WEEKDAYS) and (day.day + 6) // 7 == int(count)
        return weekday in numbers(text, 1, 7, WEEKDAYS)

    def after(self, instant):
        """Return the next fire time in UTC, by a scan of days and then of seconds."""
        at = instant.replace(microsecond=0) + SECOND
        while at.date() <= LAST_DAY:
            day = at.date()
            if day.year not in self.years:
                at = datetime(day.year + 1, 1, 1, tzinfo=UTC)
                continue
            while self.has_day(day) and at.date() == day:
                if self.has_time(at):
                    return at
                at += SECOND
            at = max(at, datetime(day.year, day.month, day.day, tzinfo=UTC) + DAY)
        return None

    def fires_in_zone(self, zone, start, end):
        """Yield the fire times in [start, end) by a scan of seconds, with the clock change rule of Cronos."""
        at, earlier = start, (start - SECOND).astimezone(zone)
        while at < end:
            wall = at.astimezone(zone)
            counts = self.is_interval or not wall.fold
            if (counts and self.has(wall)) or any(map(self.has, skipped_wall_times(earlier, wall))):
                yield at
            at, earlier = at + SECOND, wall

    def after_as_quartz(self, zone, instant, end):
        """Return the next fire time before `end` as Quartz finds it: for a repeated wall time, the second instant."""
        at = instant.replace(microsecond=0) + SECOND
        if is_repeated(at.astimezone(zone)):
            at = at.astimezone(zone).replace(fold=1).astimezone(UTC)
        while at < end:
            wall = at.astimezone(zone)
            if self.has(wall) and not (is_repeated(wall) and not wall.fold):
                return at
            at += SECOND
        return None


@cache
def numbers(text, low, high, names=()):
    found = set()
    for item in text.split(","):
        base, slash, step = item.partition("/")
        first, dash, last = base.partition("-")
        if base in ("", "*"):
            some = [*range(low, high + 1)]
        elif dash:
            some = [number(first, names)]
            while some[-1] != number(last, names):
                some.append(some[-1] + 1 if some[-1] < high else low)
        else:
            some = [*range(number(first, names), high + 1)] if slash else [number(first, names)]
        found |= {*some[:: int(step or 1)]}
    return found


def number(text, names):
    return names.index(text) + 1 if text in names else int(text)


def day_from_the_end(text, length):
    return length - int(text[2:] or 0)


def nearest_weekday(year, month, wanted):
    days = [date(year, month, day) for day in range(1, monthrange(year, month)[1] + 1)]
    return min((day.day for day in days if day.isoweekday() < 6), key=lambda day: abs(day - wanted))


def skipped_wall_times(earlier, later):
    """Yield the wall times that clocks skip between two consecutive seconds."""
    wall = earlier.replace(tzinfo=None) + SECOND
    while wall < later.replace(tzinfo=None):
        yield wall
        wall += SECOND


def is_repeated(wall):
    return wall.replace(fold=0).utcoffset() != wall.replace(fold=1).utcoffset()
