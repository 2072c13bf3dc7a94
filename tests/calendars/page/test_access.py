"""For whom the calendar page shows what."""

import pytest

from accounts.models import Role
from calendars.models import Calendar, Share
from tests.calendars.page.reading import WEDNESDAY, cell, items

pytestmark = pytest.mark.django_db


def test_nobody_sees_what_is_not_theirs(look, make_user, make_event):
    other = make_user("mallory", role=None)
    make_event(Calendar.objects.default_of(other), subject="Secret plan")

    for query in ("", "view=week", "view=agenda&date=2026-01-05", "q=secret"):
        assert "Secret plan" not in look(query)


def test_what_others_keep_private_is_a_time_without_a_name(look, make_user, make_event, viewer):
    calendar = Calendar.objects.default_of(make_user("grace"))
    Share.objects.create(calendar=calendar, user=viewer, role=Role.READER)
    make_event(calendar, subject="Doctor", sensitivity="private")

    assert items(cell(look(), "2026-01-05")) == ["10:00 Private , private"]
    assert "Doctor" not in look() + look("view=day&date=2026-01-05") + look("view=agenda&date=2026-01-05")
    assert "Nothing is called that" in look("q=doctor")


def test_runs_of_other_subscriptions_are_not_shown(look, make_job, viewer, make_user):
    make_job(now=WEDNESDAY)
    viewer.is_superuser = viewer.is_staff = False
    viewer.save()
    viewer.membership_set.all().delete()

    page = look()

    assert "backup" not in page
    assert "Runs of jobs" not in page


def test_the_page_asks_who_one_is(client):
    assert client.get("/calendar/").status_code == 302
