"""Expanding series in a time window: after any edit, all overlapping occurrences are found in two queries."""

import re
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from accounts.models import Role
from calendars import editing, expansion, sharing
from calendars.editing import WallTime
from calendars.errors import CalendarError
from calendars.models import Calendar, Event, EventException, Sensitivity
from recurrence.wire.zone_names import zone_of
from tests.calendars.conftest import day, expand, recurrence, times, wall_time
from tests.conftest import NOW, utc

BERLIN = ZoneInfo("Europe/Berlin")
SECOND = day("2026-01-12")


def expand_window(viewer, since: str, until: str, zone=BERLIN, **options):
    events = Event.objects.visible_to(viewer)
    return expansion.occurrences(events, utc(since), utc(until), zone, viewer=viewer, **options)


# Windows


@pytest.mark.parametrize(
    "since, until, is_in_window",
    [
        # the event lasts from 09:00 to 10:00 UTC
        ("2026-01-05T08:00Z", "2026-01-05T09:00Z", False),
        ("2026-01-05T08:00Z", "2026-01-05T09:00:01Z", True),
        ("2026-01-05T09:30Z", "2026-01-05T09:31Z", True),
        ("2026-01-05T09:59:59Z", "2026-01-05T11:00Z", True),
        ("2026-01-05T10:00Z", "2026-01-05T11:00Z", False),
    ],
)
@pytest.mark.parametrize("changes", [{}, {"recurrence": recurrence()}], ids=["single", "series"])
def test_window_is_half_open(owner, make_event, since, until, is_in_window, changes):
    make_event(**changes)

    assert bool(expand_window(owner, since, until)) is is_in_window


@pytest.mark.parametrize(
    "since, until, is_in_window",
    [
        ("2026-01-05T08:00Z", "2026-01-05T09:00Z", False),
        ("2026-01-05T09:00Z", "2026-01-05T09:00:01Z", True),
        ("2026-01-05T09:00:01Z", "2026-01-05T10:00Z", False),
    ],
)
@pytest.mark.parametrize("changes", [{}, {"recurrence": recurrence()}], ids=["single", "series"])
def test_event_of_zero_length_is_in_the_window_of_its_start(owner, make_event, since, until, is_in_window, changes):
    make_event(**times("2026-01-05T10:00", "2026-01-05T10:00"), **changes)

    assert bool(expand_window(owner, since, until)) is is_in_window


@pytest.mark.parametrize(
    "since, until", [("0001-01-01T00:00Z", "9999-12-31T23:59Z"), ("1899-12-31T00:00Z", "4501-01-01T00:00Z")]
)
def test_window_may_span_all_years(owner, make_event, since, until):
    make_event(recurrence=recurrence({"type": "absoluteYearly", "interval": 1, "month": 1, "dayOfMonth": 5}))
    make_event(**times("1900-01-01T00:00"))

    found = expand_window(owner, since, until)

    assert found[0].start.year == 1899  # Berlin's midnight
    assert found[-1].start.year == 4500


@pytest.mark.parametrize(
    "since, until", [("0001-01-01T00:00Z", "0001-01-01T00:01Z"), ("9999-12-31T23:00Z", "9999-12-31T23:59Z")]
)
def test_window_in_the_first_or_last_year_is_empty(owner, make_event, since, until):
    make_event(recurrence=recurrence())

    assert expand_window(owner, since, until) == []


def test_all_day_event_is_at_midnight_in_the_zone_of_the_viewer(owner, make_event):
    make_event(is_all_day=True, **times("2026-01-05T00:00", "2026-01-06T00:00"), recurrence=recurrence(count=1))

    for name in ("Pacific/Kiritimati", "Etc/GMT+12", "UTC"):
        zone = ZoneInfo(name)
        midnights = [datetime(2026, 1, n, tzinfo=zone) for n in (5, 6)]
        (found,) = expansion.occurrences(Event.objects.all(), *midnights, zone, viewer=owner)
        assert [found.start, found.end] == midnights
        assert found.days == (day("2026-01-05"), day("2026-01-06"))
        before = expansion.occurrences(
            Event.objects.all(), midnights[0] - timedelta(9), midnights[0], zone, viewer=owner
        )
        assert before == []


def test_moved_occurrence_is_in_the_window_of_its_current_time(owner, make_event):
    series = make_event(recurrence=recurrence({"type": "absoluteMonthly", "interval": 1, "dayOfMonth": 5}))
    editing.change_occurrence(series, day("2026-02-05"), times("2026-02-27T10:00"), NOW)

    assert expand_window(owner, "2026-02-05T00:00Z", "2026-02-06T00:00Z") == []
    assert [each.day for each in expand_window(owner, "2026-02-27T00:00Z", "2026-02-28T00:00Z")] == [day("2026-02-05")]


def test_moved_occurrence_is_in_all_windows_until_its_end(owner, make_event):
    series = make_event(recurrence=recurrence({"type": "absoluteYearly", "interval": 1, "month": 1, "dayOfMonth": 5}))
    editing.change_occurrence(series, day("2027-01-05"), times("2027-02-01T10:00", "2027-12-31T10:00"), NOW)

    assert len(expand_window(owner, "2027-12-31T08:00Z", "2028-01-01T00:00Z")) == 1


def test_occurrences_are_sorted(owner, make_event):
    make_event(subject="Long", **times("2026-01-05T10:00", "2026-01-05T12:00"))
    make_event(subject="B")
    make_event(subject="A")
    make_event(subject="Day", is_all_day=True, **times("2026-01-05T00:00", "2026-01-06T00:00"))
    make_event(subject="Night", **times("2026-01-05T00:00"))

    subjects = [each.details.subject for each in expand_window(owner, "2026-01-04T00:00Z", "2026-01-07T00:00Z")]

    assert subjects == ["Day", "Night", "Long", "A", "B"]


def test_window_takes_two_queries_for_any_number_of_events(owner, make_event, django_assert_num_queries):
    for n in range(20):
        series = make_event(subject=str(n), recurrence=recurrence("daily"))
        editing.change_occurrence(series, SECOND, {"subject": "Other"}, NOW)
        make_event()

    with django_assert_num_queries(2):
        found = expand_window(owner, "2026-01-01T00:00Z", "2026-02-01T00:00Z")
        assert {each.event.calendar.owner_id for each in found} == {owner.pk}


# Single occurrences


def test_occurrence_is_found_by_its_day(owner, weekly):
    editing.change_occurrence(weekly, SECOND, {"subject": "Other"}, NOW)

    for text, subject in (("2026-01-05", "Stand-up"), ("2026-01-12", "Other")):
        found = expansion.find_occurrence(weekly, day(text), UTC, viewer=owner)
        assert (found.details.subject, found.day) == (subject, day(text))


@pytest.mark.parametrize("text", ["2026-01-12", "2026-01-13", "2026-03-16", "0001-01-01", "9999-12-31"])
def test_cancelled_or_missing_occurrence_is_not_found(owner, weekly, text):
    editing.cancel_occurrence(weekly, SECOND, NOW)

    assert expansion.find_occurrence(weekly, day(text), UTC, viewer=owner) is None


def test_master_of_a_series_is_not_an_occurrence(owner, weekly, make_event):
    assert expansion.find_occurrence(weekly, None, UTC, viewer=owner) is None
    assert expansion.find_occurrence(make_event(), SECOND, UTC, viewer=owner) is None
    assert expansion.find_occurrence(make_event(), None, UTC, viewer=owner).start == utc("2026-01-05T09:00Z")


def test_found_occurrence_is_equal_to_the_one_in_a_window(owner, weekly):
    editing.change_occurrence(weekly, SECOND, times("2026-01-13T15:00"), NOW)
    editing.change_occurrence(weekly, day("2026-01-19"), {"subject": "Other"}, NOW)

    found = [expansion.find_occurrence(weekly, each.day, BERLIN, viewer=owner) for each in expand(weekly)]

    assert found == expand(weekly)


# Permissions


@pytest.fixture
def reader(make_user, calendar):
    user = make_user("grace")
    sharing.share(calendar, user, Role.READER)
    return user


@pytest.mark.parametrize("sensitivity", [Sensitivity.PRIVATE.value, Sensitivity.CONFIDENTIAL.value])
def test_others_see_only_the_time_of_a_private_event(owner, reader, make_event, sensitivity):
    values = {"subject": "Doctor", "body": "Bring papers", "locations": [{"displayName": "Room"}], "show_as": "oof"}
    make_event(**values, sensitivity=sensitivity, recurrence=recurrence(count=1))

    (seen_by_reader,) = expand_window(reader, "2026-01-01T00:00Z", "2026-02-01T00:00Z")
    (seen_by_owner,) = expand_window(owner, "2026-01-01T00:00Z", "2026-02-01T00:00Z")

    assert (seen_by_reader.details.subject, seen_by_reader.details.body, seen_by_reader.details.locations) == (
        "",
        "",
        [],
    )
    assert (seen_by_reader.details.show_as, seen_by_reader.start) == ("oof", seen_by_owner.start)
    assert seen_by_owner.details.subject == "Doctor"


def test_single_occurrence_can_be_private(reader, weekly):
    editing.change_occurrence(weekly, SECOND, {"subject": "Doctor", "sensitivity": "private"}, NOW)

    subjects = [each.details.subject for each in expand_window(reader, "2026-01-01T00:00Z", "2026-01-20T00:00Z")]
    found = expansion.find_occurrence(Event.objects.select_related("calendar").get(), SECOND, UTC, viewer=reader)

    assert subjects == ["Stand-up", "", "Stand-up"]
    assert found.details.subject == ""


def test_occurrence_of_a_private_series_can_be_public(reader, make_event):
    series = make_event(sensitivity="private", recurrence=recurrence(count=2))
    editing.change_occurrence(series, SECOND, {"subject": "Lunch", "sensitivity": "normal"}, NOW)

    assert [each.details.subject for each in expand_window(reader, "2026-01-01T00:00Z", "2026-02-01T00:00Z")] == [
        "",
        "Lunch",
    ]


def test_events_that_are_not_shared_are_not_seen(make_user, weekly):
    assert expand_window(make_user("eve"), "2026-01-01T00:00Z", "2026-02-01T00:00Z") == []


# Properties

ZONES = [
    "Europe/Berlin",
    "America/New_York",
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
    "Asia/Kolkata",
    "Pacific/Apia",  # had no 30 December 2011
    "UTC",
]
VIEWER_ZONES = [*ZONES, "Pacific/Kiritimati", "Etc/GMT+12"]
STARTS = [date(2011, 12, 26), date(2026, 3, 27), date(2026, 10, 23), date(2024, 1, 31)]
TIMES = [time(0), time(2, 30), time(10), time(23, 30)]
LENGTHS = [timedelta(minutes=n) for n in (0, 30, 60, 25 * 60, 3 * 24 * 60)]
PATTERNS = [
    {"type": "daily", "interval": 1},
    {"type": "daily", "interval": 4},
    {"type": "weekly", "interval": 1, "daysOfWeek": ["monday", "thursday", "saturday"]},
    {"type": "weekly", "interval": 2, "daysOfWeek": ["friday"]},
    {"type": "absoluteMonthly", "interval": 1, "dayOfMonth": 31},
    {"type": "relativeMonthly", "interval": 1, "daysOfWeek": ["friday"], "index": "last"},
]


@st.composite
def new_events(draw) -> dict:
    zone, first = draw(st.sampled_from(ZONES)), draw(st.sampled_from(STARTS))
    if draw(st.booleans()):
        start = datetime.combine(first, time())
        changes = {"is_all_day": True, "start": start, "end": start + timedelta(days=draw(st.integers(1, 3)))}
    else:
        start = datetime.combine(first, draw(st.sampled_from(TIMES)))
        changes = {"start": start, "end": start + draw(st.sampled_from(LENGTHS))}
    for name in ("start", "end"):
        changes[name] = WallTime(changes[name], zone)
    if draw(st.integers(0, 5)):
        count = draw(st.sampled_from([0, 1, 4, 12]))
        changes["recurrence"] = recurrence(draw(st.sampled_from(PATTERNS)), str(first), count=count)
    return changes


EDITS = st.tuples(
    st.sampled_from(["move", "say", "all-day", "hours", "cancel", "restore", "series", "later", "follow", "end"]),
    st.integers(0, 6),  # the number of the occurrence
    st.integers(-12, 12),  # days
    st.sampled_from([0, -90, 30, 25 * 60]),  # minutes
)


def edit(master: Event, kind: str, number: int, shift_days: int, shift_minutes: int) -> Event | None:
    """Make one edit; a refused edit changes nothing.  Return the event for the next edit."""
    master = Event.objects.select_related("calendar").get(pk=master.pk)
    start, end = master.start, master.end
    if master.is_series:
        unchanged = list(
            master.series.occurrences(master.covers_from - timedelta(40), master.covers_from + timedelta(400))
        )
        on = unchanged[number % len(unchanged)].day
        start = datetime.combine(on, master.start.time())
        end = start + (master.end - master.start)
    shift = timedelta(days=shift_days, minutes=shift_minutes)
    moved = {"start": WallTime(start + shift, master.zone), "end": WallTime(end + shift, master.zone)}
    midnight = datetime.combine(start.date(), time())
    all_day = {
        "is_all_day": True,
        "start": WallTime(midnight, master.zone),
        "end": WallTime(midnight + timedelta(days=2), master.zone),
    }
    try:
        if not master.is_series:
            return editing.change(master, all_day if kind == "all-day" else moved, NOW)
        match kind:
            case "move":
                editing.change_occurrence(master, on, moved, NOW)
            case "say":
                editing.change_occurrence(master, on, {"subject": str(shift)}, NOW)
            case "all-day":
                editing.change_occurrence(master, on, all_day, NOW)
            case "hours":
                editing.change_occurrence(master, on, {"is_all_day": False, **moved}, NOW)
            case "cancel":
                editing.cancel_occurrence(master, on, NOW)
            case "restore":
                editing.restore_occurrence(master, on, NOW)
            case "series":
                editing.change(master, {"subject": "All", "show_as": "free"}, NOW)
            case "later":
                editing.change(master, moved, NOW)
            case "follow":
                return editing.change_following(master, on, {"subject": "Rest"}, NOW)
            case "end":
                editing.truncate_series(master, on, NOW)
    except CalendarError as refused:
        event(f"{kind}: {refused.code}")
    return Event.objects.filter(pk=master.pk).first()


def as_tuples(found) -> list[tuple]:
    return [(str(each.id), each.start, each.end, each.days, each.details.subject) for each in found]


WINDOWS = st.tuples(
    st.integers(0, 20),  # the occurrence next to which the window is, with exceptions first
    st.sampled_from([-72, -30, -1, 0, 1, 30, 72]),  # hours from its start
    st.sampled_from([1, 24, 300]),  # hours
)


@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    new_events(), st.lists(EDITS, max_size=6), st.sampled_from(VIEWER_ZONES), st.lists(WINDOWS, min_size=1, max_size=8)
)
def test_window_has_all_overlapping_occurrences(calendar, changes, edits, reader, windows):
    Event.objects.all().delete()
    zone, seen_by_owner = zone_of(reader, "zone"), calendar.owner
    at = master = editing.create(calendar, changes, NOW)[0]
    for each in edits:
        at = (at and edit(at, *each)) or None

    def expanded(since, until):
        return expansion.occurrences(Event.objects.all(), since, until, zone, viewer=seen_by_owner)

    all_occurrences = expanded(master.covers_from - timedelta(400), master.covers_from + timedelta(700))
    exceptions_first = sorted(all_occurrences, key=lambda each: each.exception is None)
    for which, after, length in windows if all_occurrences else ():
        since = exceptions_first[which % len(exceptions_first)].start + timedelta(hours=after)
        until = since + timedelta(hours=length)
        touching = [
            each
            for each in all_occurrences
            if each.start < until and (each.end > since or each.start == each.end == since)
        ]
        assert as_tuples(expanded(since, until)) == as_tuples(touching)

    for row in Event.objects.all():
        check_covered_range(row, seen_by_owner)
        check_order(row)


def check_covered_range(row: Event, seen_by_owner) -> None:
    window = row.covers_from - timedelta(800), row.covers_from + timedelta(800)
    for each in expansion.occurrences(Event.objects.filter(pk=row.pk), *window, UTC, viewer=seen_by_owner):
        assert row.covers_from <= each.start
        assert row.covers_until is None or each.end <= row.covers_until


def check_order(row: Event) -> None:
    """Check that occurrences are on different days, in the original order of their series."""
    if not row.is_series:
        return
    cancelled_days = {each.original_day for each in row.exceptions.filter(is_cancelled=True)}
    changes = {each.original_day: each.changes for each in row.exceptions.all()}
    unchanged = row.series.occurrences(row.covers_from - timedelta(40), row.covers_from + timedelta(400))
    remaining_days = [each.day for each in unchanged if each.day not in cancelled_days]
    current_days = [expansion.wall_times(row, each, changes.get(each, {}))[0].date() for each in remaining_days]
    assert current_days == sorted(set(current_days))


# Query plans


def make_old_events(calendar: Calendar, count: int) -> None:
    rows = []
    for n in range(count):
        start = wall_time("2010-01-01T10:00") + timedelta(days=n)
        at = start.replace(tzinfo=UTC)
        seen_by_owner = {
            "zone": "UTC",
            "start_zone_name": "UTC",
            "end_zone_name": "UTC",
            "created_at": NOW,
            "updated_at": NOW,
        }
        rows.append(
            Event(calendar=calendar, uid=n, start=start, end=start, covers_from=at, covers_until=at, **seen_by_owner)
        )
    Event.objects.bulk_create(rows)


def make_old_exceptions(series: Event, count: int) -> None:
    rows = []
    for n in range(count):
        first = date(2011, 1, 1) + timedelta(days=n)
        at = datetime.combine(first, time(9), UTC)
        rows.append(
            EventException(event=series, original_day=first, changes={}, start_at=at, end_at=at, updated_at=NOW)
        )
    EventException.objects.bulk_create(rows)


def explain(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {'QUERY PLAN' if connection.vendor == 'sqlite' else ''} {sql}")
        return "\n".join(str(row[-1]) for row in cursor.fetchall())


def test_window_query_does_not_read_old_events(owner, calendar, make_event):
    series = make_event(**times("2011-01-01T10:00"), recurrence=recurrence("daily", "2011-01-01"))
    make_old_events(calendar, 3000)
    make_old_exceptions(series, 3000)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")

    with CaptureQueriesContext(connection) as queries:
        expand_window(owner, "2026-01-05T00:00Z", "2026-01-12T00:00Z")
    of_events, of_exceptions = (explain(query["sql"]) for query in queries.captured_queries)

    assert "event_time_bucket" in of_events
    assert "exception_start" in of_exceptions
    assert not re.search(r"(SCAN|Seq Scan on) \"?calendars_event", of_events + of_exceptions)
