"""The number of queries of the calendar page, and its cache."""

import uuid
from copy import copy
from datetime import UTC, date, datetime

import pytest

from accounts.models import Role
from calendars import editing
from calendars.models import Calendar, Event, Share
from recurrence.series import Series
from tests.calendars.conftest import times
from tests.calendars.page.reading import DAILY, WEDNESDAY, add_run, cell, items
from tests.conftest import NOW

pytestmark = pytest.mark.django_db


def test_cached_occurrences_are_used_until_a_change(load_page, make_event, viewer):
    series = make_event(recurrence=DAILY)
    other = Calendar.objects.create(owner=viewer, name="Other")
    day = date(2026, 1, 12)

    def load_items() -> list[str]:
        return items(cell(load_page("cancelled=1"), "2026-01-12"))

    assert load_items() == load_items() == ["10:00 Stand-up , repeats"]
    editing.change_occurrence(series, day, {"subject": "Stand-down"}, NOW)
    assert load_items() == ["10:00 Stand-down , changed"]
    editing.cancel_occurrence(series, day, NOW)
    assert load_items() == ["10:00 Stand-down , repeats, cancelled"]
    editing.restore_occurrence(series, day, NOW)
    assert load_items() == ["10:00 Stand-up , repeats"]
    editing.change_calendar(series.calendar, {"name": "Team", "hue": "plum"}, NOW)
    assert 'data-hue="plum"' in cell(load_page(), "2026-01-12")
    editing.move(series, other, NOW)
    assert load_items() == ["10:00 Stand-up , repeats"]
    assert items(cell(load_page(f"off={other.pk.hex}"), "2026-01-12")) == []
    editing.delete(Event.objects.get(), NOW)
    assert load_items() == []


def test_occurrences_cached_for_the_owner_are_not_shown_to_others(client, load_page, make_user, make_event, viewer):
    grace = make_user("grace")
    calendar = Calendar.objects.default_of(grace)
    make_event(calendar, subject="Doctor", sensitivity="private")
    share = Share.objects.create(calendar=calendar, user=viewer, role=Role.READER)
    client.force_login(grace)
    assert "Doctor" in load_page()

    client.force_login(viewer)
    assert "Doctor" not in load_page()
    assert "Private" in load_page()
    share.delete()
    assert "Private" not in load_page()


def test_month_takes_the_same_number_of_queries_for_any_number_of_items(
    client, load_page, make_event, make_job, django_assert_max_num_queries
):
    def add(count: int) -> None:
        for number in range(count):
            series = make_event(subject=f"Series {number}", recurrence=DAILY)
            editing.cancel_occurrence(series, date(2026, 1, 12), NOW)
            add_run(make_job(f"job-{number}-{count}", now=WEDNESDAY), datetime(2026, 1, 6, 8, tzinfo=UTC))

    page_queries, layout_queries = 9, 3  # layers, events, exceptions, maintenance, outages, and four for runs
    for count in (1, 30):
        add(count)
        with django_assert_max_num_queries(page_queries + layout_queries):
            client.get("/calendar/")


def test_month_with_a_thousand_series_takes_at_most_seven_queries(
    client, viewer, calendar, django_assert_max_num_queries
):
    def add(count: int) -> None:
        values = {"subject": "One", **times("2026-01-05T10:00"), "recurrence": DAILY}
        series = editing.create(calendar, values, NOW)[0]
        rows = [copy(series) for _ in range(count - 1)]
        for each in rows:
            each.pk = each.uid = uuid.uuid4()
        Event.objects.bulk_create(rows)
        editing.cancel_occurrence(series, date(2026, 1, 12), NOW)

    client.force_login(viewer)
    for count in (10, 990):  # including the queries of each page: session, user and number of waiting notices
        add(count)
        with django_assert_max_num_queries(7):
            assert client.get("/calendar/").status_code == 200
    assert Event.objects.count() == 1_000


def test_series_are_not_expanded_beyond_the_window(load_page, make_event, monkeypatch):
    make_event(recurrence=DAILY)
    expanded = []
    original = Series.occurrences
    monkeypatch.setattr(
        Series, "occurrences", lambda self, start, end: expanded.append((start, end)) or original(self, start, end)
    )

    load_page("view=week")

    assert expanded == [(datetime(2026, 1, 4, 23, tzinfo=UTC), datetime(2026, 1, 11, 23, tzinfo=UTC))]
