"""Permissions on the calendar page."""

import pytest

from accounts.models import Role
from calendars.models import Calendar, Share
from tests.calendars.page.reading import WEDNESDAY, cell, items

pytestmark = pytest.mark.django_db


def test_events_of_others_are_not_shown(load_page, make_user, make_event):
    other = make_user("mallory", role=None)
    make_event(Calendar.objects.default_of(other), subject="Secret plan")

    for query in ("", "view=week", "view=agenda&date=2026-01-05", "q=secret"):
        assert "Secret plan" not in load_page(query)


def test_private_event_in_a_shared_calendar_shows_only_its_time(load_page, make_user, make_event, viewer):
    calendar = Calendar.objects.default_of(make_user("grace"))
    Share.objects.create(calendar=calendar, user=viewer, role=Role.READER)
    make_event(calendar, subject="Doctor", sensitivity="private")

    assert items(cell(load_page(), "2026-01-05")) == ["10:00 Private , private"]
    assert "Doctor" not in load_page() + load_page("view=day&date=2026-01-05") + load_page(
        "view=agenda&date=2026-01-05"
    )
    assert "No results" in load_page("q=doctor")


def test_runs_of_other_subscriptions_are_not_shown(load_page, make_job, viewer, make_user):
    make_job(now=WEDNESDAY)
    viewer.is_superuser = viewer.is_staff = False
    viewer.save()
    viewer.membership_set.all().delete()

    page = load_page()

    assert "backup" not in page
    assert "Runs of jobs" not in page


def test_calendar_page_requires_sign_in(client):
    assert client.get("/calendar/").status_code == 302
