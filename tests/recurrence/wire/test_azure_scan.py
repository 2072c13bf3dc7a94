"""The Azure format compared with a scan of all minutes, which does not use the engine."""

from calendar import monthrange
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from recurrence.schedules import between
from recurrence.wire import parse
from tests.recurrence.samples import CREATED_AT, WEEKDAYS, documents

ELAPSED = {"minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}


@given(documents(), st.integers(0, 3 * 365), st.integers(0, 86_400))
@settings(max_examples=120)
def test_fire_times_of_a_document_equal_a_scan_of_all_minutes(document, day, second):
    """The window starts at the creation or up to three years later; its length depends on the frequency."""
    days = {"minute": 3, "hour": 12, "day": 60, "week": 60, "month": 120}
    frequency = document.get("recurrence", {"frequency": "minute"})["frequency"]
    beginning = CREATED_AT + timedelta(days=day, seconds=second) if day % 2 else CREATED_AT
    end = beginning + timedelta(days=days[frequency])

    schedule = parse("azure", document, CREATED_AT).schedule

    assert list(between(schedule, beginning, end)) == scan(document, beginning, end)


def scan(document, beginning, end):
    start = document.get("startTime") and read(document["startTime"])
    recurrence = document.get("recurrence")
    first = start or CREATED_AT
    found = set()
    if start is None or (recurrence is None and start <= CREATED_AT):
        found.add(CREATED_AT)
    elif recurrence is None:
        found.add(start)
    if recurrence is not None:
        fires = minutes_of_days(beginning, end, recurrence, first)
        found |= {fire for fire in fires if fire >= max(first, CREATED_AT)}
    last = end if recurrence is None or "endTime" not in recurrence else read(recurrence["endTime"])
    return sorted(fire for fire in found if beginning <= fire < end and fire <= last)


def minutes_of_days(beginning, end, recurrence, first):
    midnight = beginning.replace(hour=0, minute=0, second=0, microsecond=0)
    while midnight < end:
        if matches_day(midnight, recurrence, first):
            for minute in range(1440):
                fire = midnight + timedelta(minutes=minute, seconds=first.second)
                if matches_minute(fire, recurrence, first):
                    yield fire
        midnight += timedelta(days=1)


def matches_day(day, recurrence, first):
    frequency, interval, plan = recurrence["frequency"], recurrence.get("interval", 1), recurrence.get("schedule", {})
    if frequency in ("minute", "hour"):
        return True
    if frequency == "day":
        return (day.date() - first.date()).days % interval == 0
    if frequency == "week":
        names = as_list(plan.get("weekDays", WEEKDAYS[first.weekday()]))
        weeks = (monday_of(day) - monday_of(first)).days // 7
        return weeks % interval == 0 and WEEKDAYS[day.weekday()] in names
    months = (day.year - first.year) * 12 + day.month - first.month
    return months % interval == 0 and matches_day_of_month(day, plan, first)


def matches_day_of_month(day, plan, first):
    length = monthrange(day.year, day.month)[1]
    if "monthlyOccurrences" in plan:
        from_start = (day.day + 6) // 7
        from_end = -((length - day.day + 7) // 7)
        return any(
            each["day"] == WEEKDAYS[day.weekday()] and each.get("occurrence") in (None, from_start, from_end)
            for each in plan["monthlyOccurrences"]
        )
    days = as_list(plan.get("monthDays", first.day))
    return day.day in days or day.day - length - 1 in days


def matches_minute(fire, recurrence, first):
    frequency, interval = recurrence["frequency"], recurrence.get("interval", 1)
    if "schedule" not in recurrence:
        if frequency == "month":
            return (fire.hour, fire.minute) == (first.hour, first.minute)
        return (fire - first).total_seconds() % (interval * ELAPSED[frequency]) == 0
    plan = recurrence["schedule"]
    if frequency in ("minute", "hour"):
        period = ELAPSED[frequency]
        if (fire.timestamp() // period - first.timestamp() // period) % interval:
            return False
    minutes = as_list(plan.get("minutes", range(60) if frequency == "minute" else first.minute))
    every_hour = frequency in ("minute", "hour") or "minutes" in plan
    hours = as_list(plan.get("hours", range(24) if every_hour else first.hour))
    return fire.hour in hours and fire.minute in minutes


def monday_of(instant):
    return (instant - timedelta(days=instant.weekday())).date()


def as_list(value):
    return [value] if isinstance(value, int | str) else value


def read(text):
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
