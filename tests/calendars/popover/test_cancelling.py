"""Cancelling and restoring occurrences in the popover."""

import pytest
from django.utils import timezone

from accounts.models import Role
from calendars import editing
from calendars.models import Share
from tests.calendars.conftest import day, starts, times
from tests.calendars.popover.items import address, popover_item

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("today")]


def test_occurrence_is_cancelled_and_restored(browser, weekly):
    answer = browser.post(address(weekly, "2026-01-12", "/cancel?view=week&date=2026-01-12"))
    assert answer.url == "/calendar/?view=week&date=2026-01-12"
    assert "2026-01-12T10:00" not in starts(weekly)

    cancelled = browser.get(address(weekly, "2026-01-12"))
    assert popover_item(cancelled)["is_cancelled"]
    assert b"Restore" in cancelled.content
    assert b"Edit" not in cancelled.content

    browser.post(address(weekly, "2026-01-12", "/restore"))
    assert "2026-01-12T10:00" in starts(weekly)


def test_changed_occurrence_is_restored(browser, weekly):
    editing.change_occurrence(weekly, day("2026-01-12"), {"subject": "Long"}, timezone.now())

    browser.post(address(weekly, "2026-01-12", "/restore"))

    assert not weekly.exceptions.exists()


def test_refused_restore_shows_the_reason(browser, weekly):
    editing.cancel_occurrence(weekly, day("2026-01-12"), timezone.now())
    editing.change_occurrence(
        weekly, day("2026-01-19"), times("2026-01-09T10:00"), timezone.now()
    )  # across the cancelled occurrence

    answer = browser.post(address(weekly, "2026-01-12", "/restore"), follow=True)

    assert "neighbouring occurrences" in answer.content.decode()
    assert popover_item(answer)["is_cancelled"]


def test_second_cancel_shows_a_message(browser, weekly):
    browser.post(address(weekly, "2026-01-12", "/cancel"))

    answer = browser.post(address(weekly, "2026-01-12", "/cancel"), follow=True)

    assert b"It is already cancelled." in answer.content


def test_a_single_event_has_no_occurrence_to_cancel(browser, make_event):
    assert browser.post(address(make_event(), then="/cancel")).status_code == 404


@pytest.mark.parametrize("action", ["/cancel", "/restore"])
@pytest.mark.parametrize("role, status", [(None, 404), (Role.READER, 403)])
def test_cancel_and_restore_require_permission_to_change(client, make_user, weekly, calendar, role, status, action):
    olga = make_user("olga")
    if role:
        Share.objects.create(calendar=calendar, user=olga, role=role)
    client.force_login(olga)

    assert client.post(address(weekly, "2026-01-12", action)).status_code == status
    assert client.get(address(weekly, "2026-01-12", action)).status_code == 405
    assert "2026-01-12T10:00" in starts(weekly)
