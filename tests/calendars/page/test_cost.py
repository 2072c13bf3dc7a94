"""What the calendar page costs, and what of it is kept."""

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


def test_what_was_laid_out_before_holds_until_something_changes(look, make_event, viewer):
    series = make_event(recurrence=DAILY)
    other = Calendar.objects.create(owner=viewer, name="Other")
    day = date(2026, 1, 12)

    def shown() -> list[str]:
        return items(cell(look("cancelled=1"), "2026-01-12"))

    assert shown() == shown() == ["10:00 Stand-up , repeats"]
    editing.change_occurrence(series, day, {"subject": "Stand-down"}, NOW)
    assert shown() == ["10:00 Stand-down , changed"]
    editing.cancel_occurrence(series, day, NOW)
    assert shown() == ["10:00 Stand-down , repeats, cancelled"]
    editing.restore_occurrence(series, day, NOW)
    assert shown() == ["10:00 Stand-up , repeats"]
    editing.change_calendar(series.calendar, {"name": "Team", "hue": "plum"}, NOW)
    assert 'data-hue="plum"' in cell(look(), "2026-01-12")
    editing.move(series, other, NOW)
    assert shown() == ["10:00 Stand-up , repeats"]
    assert items(cell(look(f"off={other.pk.hex}"), "2026-01-12")) == []
    editing.delete(Event.objects.get(), NOW)
    assert shown() == []


def test_what_is_kept_for_its_owner_is_not_shown_to_others(client, look, make_user, make_event, viewer):
    grace = make_user("grace")
    calendar = Calendar.objects.default_of(grace)
    make_event(calendar, subject="Doctor", sensitivity="private")
    share = Share.objects.create(calendar=calendar, user=viewer, role=Role.READER)
    client.force_login(grace)
    assert "Doctor" in look()

    client.force_login(viewer)
    assert "Doctor" not in look()
    assert "Private" in look()
    share.delete()
    assert "Private" not in look()


def test_the_queries_of_a_month_are_as_many_whatever_is_in_it(
    client, look, make_event, make_job, django_assert_max_num_queries
):
    def add(count: int) -> None:
        for number in range(count):
            series = make_event(subject=f"Series {number}", recurrence=DAILY)
            editing.cancel_occurrence(series, date(2026, 1, 12), NOW)
            add_run(make_job(f"job-{number}-{count}", now=WEDNESDAY), datetime(2026, 1, 6, 8, tzinfo=UTC))

    own, of_every_page = 9, 3  # layers, events, exceptions, maintenance, outages, and four for runs
    for count in (1, 30):
        add(count)
        with django_assert_max_num_queries(own + of_every_page):
            client.get("/calendar/")


def test_a_month_of_a_thousand_series_takes_seven_queries_at_most(
    client, viewer, calendar, django_assert_max_num_queries
):
    def add(count: int) -> None:
        said = {"subject": "One", **times("2026-01-05T10:00"), "recurrence": DAILY}
        series = editing.create(calendar, said, NOW)[0]
        rows = [copy(series) for _ in range(count - 1)]
        for each in rows:
            each.pk = each.uid = uuid.uuid4()
        Event.objects.bulk_create(rows)
        editing.cancel_occurrence(series, date(2026, 1, 12), NOW)

    client.force_login(viewer)
    for count in (10, 990):  # with those of every page: the session, the user, and how many notices wait
        add(count)
        with django_assert_max_num_queries(7):
            assert client.get("/calendar/").status_code == 200
    assert Event.objects.count() == 1_000


def test_nothing_is_laid_out_beyond_the_window(look, make_event, monkeypatch):
    make_event(recurrence=DAILY)
    laid_out = []
    whole = Series.occurrences
    monkeypatch.setattr(
        Series, "occurrences", lambda self, start, end: laid_out.append((start, end)) or whole(self, start, end)
    )

    look("view=week")

    assert laid_out == [(datetime(2026, 1, 4, 23, tzinfo=UTC), datetime(2026, 1, 11, 23, tzinfo=UTC))]
