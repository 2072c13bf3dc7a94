"""Occurrences that are cancelled and put back at once."""

import pytest
from django.utils import timezone

from accounts.models import Role
from calendars import editing
from calendars.models import Share
from tests.calendars.conftest import day, starts, times
from tests.calendars.popover.items import address, shown

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("today")]


def test_one_occurrence_is_cancelled_and_put_back(browser, weekly):
    answer = browser.post(address(weekly, "2026-01-12", "/cancel?view=week&date=2026-01-12"))
    assert answer.url == "/calendar/?view=week&date=2026-01-12"
    assert "2026-01-12T10:00" not in starts(weekly)

    cancelled = browser.get(address(weekly, "2026-01-12"))
    assert shown(cancelled)["is_cancelled"]
    assert b"Put back" in cancelled.content
    assert b"Edit" not in cancelled.content

    browser.post(address(weekly, "2026-01-12", "/restore"))
    assert "2026-01-12T10:00" in starts(weekly)


def test_what_was_changed_is_put_back(browser, weekly):
    editing.change_occurrence(weekly, day("2026-01-12"), {"subject": "Long"}, timezone.now())

    browser.post(address(weekly, "2026-01-12", "/restore"))

    assert not weekly.exceptions.exists()


def test_what_cannot_be_put_back_says_why(browser, weekly):
    editing.cancel_occurrence(weekly, day("2026-01-12"), timezone.now())
    editing.change_occurrence(
        weekly, day("2026-01-19"), times("2026-01-09T10:00"), timezone.now()
    )  # over the cancelled one

    answer = browser.post(address(weekly, "2026-01-12", "/restore"), follow=True)

    assert "neighbouring occurrences" in answer.content.decode()
    assert shown(answer)["is_cancelled"]


def test_cancelling_twice_is_told(browser, weekly):
    browser.post(address(weekly, "2026-01-12", "/cancel"))

    answer = browser.post(address(weekly, "2026-01-12", "/cancel"), follow=True)

    assert b"It is cancelled already." in answer.content


def test_a_single_event_has_no_occurrence_to_cancel(browser, make_event):
    assert browser.post(address(make_event(), then="/cancel")).status_code == 404


@pytest.mark.parametrize("order", ["/cancel", "/restore"])
@pytest.mark.parametrize("role, status", [(None, 404), (Role.READER, 403)])
def test_who_may_not_change_it_may_not_cancel_it(client, make_user, weekly, calendar, role, status, order):
    olga = make_user("olga")
    if role:
        Share.objects.create(calendar=calendar, user=olga, role=role)
    client.force_login(olga)

    assert client.post(address(weekly, "2026-01-12", order)).status_code == status
    assert client.get(address(weekly, "2026-01-12", order)).status_code == 405
    assert "2026-01-12T10:00" in starts(weekly)
