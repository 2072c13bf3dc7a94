"""A feed of ours that is imported: elsewhere it becomes what it was made of, and where it was made nothing changes."""

from collections import Counter
from datetime import timedelta
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calendars import editing
from calendars.editing import WallTime
from calendars.ics import exporting
from calendars.ics.import_report import Report, Status
from calendars.ics.importing import import_calendar
from calendars.models import Calendar, Event
from tests.calendars.conftest import day, times, wall
from tests.calendars.importing.files import TAKEN, UNCHANGED, everything_in
from tests.calendars.test_ics import LENGTHS, PATTERNS, RANGES, STARTS, ZONES, ours, touch
from tests.conftest import NOW, utc

SIX_PATTERNS = [
    {"type": "daily", "interval": 3},
    {"type": "weekly", "interval": 1, "daysOfWeek": ["monday", "thursday"], "firstDayOfWeek": "wednesday"},
    {"type": "absoluteMonthly", "interval": 12, "dayOfMonth": 31},
    {"type": "relativeMonthly", "interval": 1, "daysOfWeek": ["friday", "saturday"], "index": "last"},
    {"type": "absoluteYearly", "interval": 1, "dayOfMonth": 29, "month": 2},
    {"type": "relativeYearly", "interval": 1, "daysOfWeek": ["sunday"], "index": "second", "month": 5},
]
THREE_RANGES = [
    {"type": "noEnd"},
    {"type": "numbered", "numberOfOccurrences": 7},
    {"type": "endDate", "endDate": "2033-11-05"},  # which is a day of none of them
]


@pytest.fixture
def back(calendar, owner):
    """Import the feed of the calendar into it, or into another one."""

    def run(into: Calendar | None = None) -> Report:
        feed = exporting.render_calendar("One", "America/New_York", exporting.render_events([calendar], owner, NOW))
        return import_calendar(into or calendar, feed, NOW)

    return run


def statuses(report: Report) -> Counter[Status]:
    return Counter(line.status for line in report.lines)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC", "W. Europe Standard Time"])
@pytest.mark.parametrize("is_all_day", [False, True])
def test_each_pattern_and_range_comes_back_unchanged(calendar, make_event, back, zone, is_all_day):
    when = times("2026-01-05T00:00", "2026-01-06T00:00", zone) if is_all_day else times("2026-01-05T10:00", zone=zone)
    for pattern, limits in product(SIX_PATTERNS, THREE_RANGES):
        document = {"pattern": pattern, "range": {**limits, "startDate": "2026-01-05"}}
        make_event(**when, is_all_day=is_all_day, recurrence=document)
    before = everything_in(calendar)

    assert statuses(back()) == {UNCHANGED: 18}
    assert everything_in(calendar) == before


@pytest.mark.parametrize(
    "said",
    [
        {"attendees": [{"type": "required", "emailAddress": {"name": "Bob", "address": "bob@example.com"}}]},
        {"locations": [{"displayName": "Room 4", "address": {"city": "Berlin"}}, {"displayName": "Room 5"}]},
        {"locations": [{"displayName": ""}]},
        {"reminder_minutes": 90},
        {"is_reminder_on": True, "reminder_minutes": 0},
        {"show_as": "unknown"},
        {"subject": " Two  words\nand a line\x07"},
        {"body": "One\r\ntwo\r\n", "categories": ["a, b", "c"], "sensitivity": "private", "importance": "low"},
        {"body": "<p>One</p>\r\n", "body_type": "html"},
        {"body_type": "html"},
        {"start": wall("2026-01-05T10:00", "Tokyo Standard Time"), "end": wall("2026-01-05T17:00", "UTC")},
        times("2026-01-05T00:00", "2026-01-07T00:00", "Asia/Tokyo") | {"is_all_day": True},
        times("2026-01-05T10:00", "2026-01-05T10:00"),
    ],
)
def test_what_a_file_cannot_say_stays(calendar, make_event, back, said):
    make_event(**said)
    before = everything_in(calendar)

    assert statuses(back()) == {UNCHANGED: 1}
    assert everything_in(calendar) == before


def test_what_became_of_occurrences_comes_back_unchanged(calendar, weekly, back):
    editing.cancel_occurrence(weekly, day("2026-01-12"), NOW)
    attendees = [{"type": "required", "emailAddress": {"name": "Bob", "address": "bob@example.com"}}]
    editing.change_occurrence(weekly, day("2026-01-19"), {"attendees": attendees, **times("2026-01-20T12:00")}, NOW)
    before = everything_in(calendar)

    assert statuses(back()) == {UNCHANGED: 2}
    assert everything_in(calendar) == before


def test_a_series_that_begins_in_a_night_in_which_clocks_change_comes_back_unchanged(calendar, make_event, back):
    nights = {"pattern": {"type": "daily", "interval": 1}, "range": {"type": "noEnd", "startDate": "2026-03-28"}}
    make_event(**times("2026-03-28T22:00", "2026-03-29T06:00"), recurrence=nights)

    assert statuses(back()) == {UNCHANGED: 5}  # with four nights in which they change


def test_a_series_that_ends_on_another_day_is_changed(calendar, weekly, back):
    copy = Calendar.objects.create(owner=calendar.owner, name="Copy")
    back(copy)
    sooner = {**weekly.recurrence, "range": {**weekly.recurrence["range"], "numberOfOccurrences": 9}}
    editing.change(weekly, {"recurrence": sooner}, NOW)

    assert statuses(back(copy)) == {Status.CHANGED: 1}
    assert ours(copy) == ours(calendar)


@given(
    pattern=PATTERNS,
    range=RANGES,
    start=STARTS,
    length=LENGTHS,
    zone=st.sampled_from(ZONES),
    is_all_day=st.booleans(),
    touched=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), max_size=4),
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_feed_of_ours_is_taken_as_what_it_was_made_of(
    calendar, owner, back, pattern, range, start, length, zone, is_all_day, touched
):
    Event.objects.all().delete()
    copy, _ = Calendar.objects.get_or_create(owner=owner, name="Copy")
    if is_all_day:
        start, length = start.replace(hour=0, minute=0), timedelta(days=max(1, length.days))
    document = {"pattern": pattern, "range": {**range, "startDate": start.date().isoformat()}}
    ends = {"start": WallTime(start, zone), "end": WallTime(start + length, zone)}
    event, _ = editing.create(calendar, {"is_all_day": is_all_day, "recurrence": document, **ends}, NOW)
    days = [each.day for each in event.series.occurrences(utc("2025-11-01T00:00Z"), utc("2026-12-01T00:00Z"))][:31]
    for number, what in touched:
        if number < len(days) and not event.exceptions.filter(original_day=days[number]).exists():
            touch(event, days[number], what)

    assert set(statuses(back(copy))) == {TAKEN}
    assert ours(copy) == ours(calendar)
    assert copy.events.get().is_series
    assert set(statuses(back(copy))) == set(statuses(back())) == {UNCHANGED}
