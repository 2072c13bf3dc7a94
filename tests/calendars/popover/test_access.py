"""Permissions for the popover of an event."""

import pytest
from django.utils import timezone

from accounts.models import Role
from calendars import editing
from calendars.models import Share
from tests.calendars.conftest import day, recurrence
from tests.calendars.popover.items import address, popover_item

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("today")]


@pytest.mark.parametrize(
    "role, status, may_change", [(None, 404, None), (Role.READER, 200, False), (Role.OPERATOR, 200, True)]
)
def test_popover_is_only_for_users_of_the_calendar(client, make_user, weekly, calendar, role, status, may_change):
    olga = make_user("olga")
    if role:
        Share.objects.create(calendar=calendar, user=olga, role=role)
    client.force_login(olga)

    answer = client.get(address(weekly, "2026-01-12"))

    assert answer.status_code == status
    if role:
        assert popover_item(answer)["may_change"] is may_change
        assert (b"Delete" in answer.content) is may_change
        assert popover_item(answer)["calendar"] == "Calendar, of ada"


@pytest.mark.parametrize("role", [Role.READER, Role.OPERATOR])
def test_popover_shows_others_no_content_of_a_private_event(client, make_user, make_event, calendar, role):
    event = make_event(
        recurrence=recurrence(), subject="Interview", body="secret", sensitivity="private", categories=["salary"]
    )
    editing.cancel_occurrence(event, day("2026-01-19"), timezone.now())
    olga = make_user("olga")
    Share.objects.create(calendar=calendar, user=olga, role=role)
    client.force_login(olga)

    for on in ("2026-01-12", "2026-01-19"):
        answer = client.get(address(event, on))
        assert popover_item(answer)["title"] == "Private"
        assert not any(word in answer.content for word in (b"Interview", b"secret", b"salary", b"Edit", b"Delete"))


def test_private_occurrence_can_be_changed_only_by_its_owner(client, make_user, weekly, calendar):
    for on in ("2026-01-12", "2026-01-19"):
        editing.change_occurrence(weekly, day(on), {"sensitivity": "private"}, timezone.now())
    editing.cancel_occurrence(weekly, day("2026-01-19"), timezone.now())
    olga = make_user("olga")
    Share.objects.create(calendar=calendar, user=olga, role=Role.OPERATOR)
    client.force_login(olga)

    answers = [client.post(address(weekly, "2026-01-12", then)) for then in ("/cancel", "/restore")]
    answers += [client.post(address(weekly, "2026-01-19", "/restore"))]
    answers += [client.get(f"/calendar/events/{weekly.pk.hex}_20260112/delete")]

    assert {answer.status_code for answer in answers} == {403}
    assert weekly.exceptions.count() == 2


def test_popover_requires_sign_in(client, weekly):
    assert client.get(address(weekly, "2026-01-12")).url.startswith("/sign-in/")
