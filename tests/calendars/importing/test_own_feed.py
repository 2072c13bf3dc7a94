"""Importing Quando's own feed: another calendar gets the same events, and the same calendar does not change."""

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
from tests.calendars.importing.files import TAKEN, UNCHANGED, dump_calendar
from tests.calendars.test_ics import (
    LENGTHS,
    PATTERNS,
    RANGES,
    STARTS,
    ZONES,
    change_occurrence,
    occurrences_in_calendar,
)
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
    {"type": "endDate", "endDate": "2033-11-05"},  # no pattern has an occurrence on this day
]


@pytest.fixture
def import_feed(calendar, owner):
    """Return a function that imports the feed of the calendar into `into`, or into the calendar itself."""

    def run(into: Calendar | None = None) -> Report:
        feed = exporting.render_calendar("One", "America/New_York", exporting.render_events([calendar], owner, NOW))
        return import_calendar(into or calendar, feed, NOW)

    return run


def statuses(report: Report) -> Counter[Status]:
    return Counter(line.status for line in report.lines)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC", "W. Europe Standard Time"])
@pytest.mark.parametrize("is_all_day", [False, True])
def test_each_pattern_and_range_is_unchanged_after_import(calendar, make_event, import_feed, zone, is_all_day):
    when = times("2026-01-05T00:00", "2026-01-06T00:00", zone) if is_all_day else times("2026-01-05T10:00", zone=zone)
    for pattern, limits in product(SIX_PATTERNS, THREE_RANGES):
        document = {"pattern": pattern, "range": {**limits, "startDate": "2026-01-05"}}
        make_event(**when, is_all_day=is_all_day, recurrence=document)
    before = dump_calendar(calendar)

    assert statuses(import_feed()) == {UNCHANGED: 18}
    assert dump_calendar(calendar) == before


@pytest.mark.parametrize(
    "values",
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
def test_values_that_a_file_cannot_express_are_not_changed(calendar, make_event, import_feed, values):
    make_event(**values)
    before = dump_calendar(calendar)

    assert statuses(import_feed()) == {UNCHANGED: 1}
    assert dump_calendar(calendar) == before


def test_exceptions_and_cancellations_are_unchanged_after_import(calendar, weekly, import_feed):
    editing.cancel_occurrence(weekly, day("2026-01-12"), NOW)
    attendees = [{"type": "required", "emailAddress": {"name": "Bob", "address": "bob@example.com"}}]
    editing.change_occurrence(weekly, day("2026-01-19"), {"attendees": attendees, **times("2026-01-20T12:00")}, NOW)
    before = dump_calendar(calendar)

    assert statuses(import_feed()) == {UNCHANGED: 2}
    assert dump_calendar(calendar) == before


def test_series_that_starts_in_the_night_of_a_clock_change_is_unchanged_after_import(calendar, make_event, import_feed):
    nights = {"pattern": {"type": "daily", "interval": 1}, "range": {"type": "noEnd", "startDate": "2026-03-28"}}
    make_event(**times("2026-03-28T22:00", "2026-03-29T06:00"), recurrence=nights)

    assert statuses(import_feed()) == {UNCHANGED: 5}  # the series and its exceptions in four nights with a clock change


def test_series_with_another_end_is_changed_by_import(calendar, weekly, import_feed):
    copy = Calendar.objects.create(owner=calendar.owner, name="Copy")
    import_feed(copy)
    sooner = {**weekly.recurrence, "range": {**weekly.recurrence["range"], "numberOfOccurrences": 9}}
    editing.change(weekly, {"recurrence": sooner}, NOW)

    assert statuses(import_feed(copy)) == {Status.CHANGED: 1}
    assert occurrences_in_calendar(copy) == occurrences_in_calendar(calendar)


@given(
    pattern=PATTERNS,
    range=RANGES,
    start=STARTS,
    length=LENGTHS,
    zone=st.sampled_from(ZONES),
    is_all_day=st.booleans(),
    changed_occurrences=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), max_size=4),
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_imported_feed_is_equal_to_the_exported_calendar(
    calendar, owner, import_feed, pattern, range, start, length, zone, is_all_day, changed_occurrences
):
    Event.objects.all().delete()
    copy, _ = Calendar.objects.get_or_create(owner=owner, name="Copy")
    if is_all_day:
        start, length = start.replace(hour=0, minute=0), timedelta(days=max(1, length.days))
    document = {"pattern": pattern, "range": {**range, "startDate": start.date().isoformat()}}
    ends = {"start": WallTime(start, zone), "end": WallTime(start + length, zone)}
    event, _ = editing.create(calendar, {"is_all_day": is_all_day, "recurrence": document, **ends}, NOW)
    days = [each.day for each in event.series.occurrences(utc("2025-11-01T00:00Z"), utc("2026-12-01T00:00Z"))][:31]
    for number, change in changed_occurrences:
        if number < len(days) and not event.exceptions.filter(original_day=days[number]).exists():
            change_occurrence(event, days[number], change)

    assert set(statuses(import_feed(copy))) == {TAKEN}
    assert occurrences_in_calendar(copy) == occurrences_in_calendar(calendar)
    assert copy.events.get().is_series
    assert set(statuses(import_feed(copy))) == set(statuses(import_feed())) == {UNCHANGED}
