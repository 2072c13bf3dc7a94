"""Expand Graph's recurring events by a scan of all days, without the engine.

Instants are computed with `datetime` and `zoneinfo`, which interpret wall times as RFC 5545 does.
"""

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
INDEXES = ("first", "second", "third", "fourth", "last")
ONE_DAY = timedelta(days=1)


def scan_occurrences(event, beyond):
    """Return the occurrences of a valid event before the day `beyond`, as (day, start in UTC, end in UTC)."""
    pattern, limits = event["recurrence"]["pattern"], event["recurrence"]["range"]
    own_zone = ZoneInfo(event["start"]["timeZone"])
    zone = ZoneInfo(limits.get("recurrenceTimeZone") or own_zone.key)
    start, end = (wall(event[name]["dateTime"], own_zone, zone) for name in ("start", "end"))
    end = max(start, end)
    found, first, day = [], None, date.fromisoformat(limits["startDate"])
    while day < beyond and not is_over(limits, day, len(found)):
        if fits(pattern, day) and exists(day, zone):
            first = first or day
            if matches_interval(pattern, first, day):
                begins = instant(datetime.combine(day, start.time()), zone)
                ends = instant(datetime.combine(day, start.time()) + (end - start), zone)
                found.append((day, begins, max(begins, ends)))
        day += ONE_DAY
    return found


def wall(text, zone, other):
    """Return the wall time in the other zone.  In the same zone, the text is not changed, even if it is skipped."""
    if other is zone:
        return datetime.fromisoformat(text)
    return datetime.fromisoformat(text).replace(tzinfo=zone).astimezone(UTC).astimezone(other).replace(tzinfo=None)


def instant(wall, zone):
    return wall.replace(tzinfo=zone).astimezone(UTC)


def exists(day, zone):
    """Return True if the zone did not skip this day."""
    hours = (datetime(day.year, day.month, day.day, hour, tzinfo=zone) for hour in range(24))
    return any(hour.astimezone(UTC).astimezone(zone).date() == day for hour in hours)


def is_over(limits, day, count):
    match limits["type"].lower():
        case "enddate":
            return day > date.fromisoformat(limits["endDate"])
        case "numbered":
            return count == limits["numberOfOccurrences"]
    return False


def fits(pattern, day):
    """Return True if the day matches the pattern, without regard to the interval."""
    type, length = pattern["type"].lower(), monthrange(day.year, day.month)[1]
    weekdays = {name.lower() for name in pattern.get("daysOfWeek") or ()}
    if type.endswith("yearly") and day.month != pattern["month"]:
        return False
    if type.startswith("absolute"):
        return day.day == pattern["dayOfMonth"] or (day.day == length and pattern["dayOfMonth"] > length)
    if type.startswith("relative"):
        choice = [n for n in range(1, length + 1) if WEEKDAYS[day.replace(day=n).weekday()] in weekdays]
        number = INDEXES.index((pattern.get("index") or "first").lower())
        return day.day == (choice[-1] if number == 4 else choice[number])
    return type == "daily" or WEEKDAYS[day.weekday()] in weekdays


def matches_interval(pattern, first, day):
    """Return True if the period of the day matches the interval, counted from the first occurrence."""
    match pattern["type"].lower():
        case "daily":
            periods = (day - first).days
        case "weekly":
            week_starts = [week_start(each, pattern.get("firstDayOfWeek") or "sunday") for each in (first, day)]
            periods = (week_starts[1] - week_starts[0]).days // 7
        case "absolutemonthly" | "relativemonthly":
            periods = (day.year - first.year) * 12 + day.month - first.month
        case _:
            periods = day.year - first.year
    return periods % pattern["interval"] == 0


def week_start(day, first_day):
    while WEEKDAYS[day.weekday()] != first_day.lower():
        day -= ONE_DAY
    return day
