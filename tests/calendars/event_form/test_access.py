"""The redirect after saving the form of an event, and the permissions for the form."""

import pytest
from django.test import Client

from accounts.models import Role
from calendars.models import Share
from tests.calendars.event_form.filling import NO_RECURRENCE, START, edit_url

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("today")]


def test_saving_an_event_redirects_to_the_previous_view(fill):
    answer = fill(
        "/calendar/events/new?view=week&date=2026-10-21&zone=UTC", **START, **NO_RECURRENCE, subject="Ledger review"
    )

    assert answer.url == "/calendar/?view=week&date=2026-10-21&zone=UTC"


def test_saving_an_event_without_a_view_redirects_to_its_day(fill):
    assert fill(**START, **NO_RECURRENCE, subject="Ledger review").url == "/calendar/?date=2026-10-20"


@pytest.mark.parametrize(
    "parameter", ["next=https://evil.example/", "view=//evil.example", "date=https://evil.example"]
)
def test_event_form_never_redirects_to_another_site(fill, parameter):
    answer = fill(f"/calendar/events/new?{parameter}", **START, **NO_RECURRENCE, subject="Ledger review")

    assert answer.url.startswith("/calendar/")
    assert "evil" not in answer.url


@pytest.mark.parametrize("role, status", [(None, 404), (Role.READER, 403), (Role.OPERATOR, 200)])
@pytest.mark.parametrize("page", ["edit", "delete"])
def test_event_form_is_only_for_users_who_may_change_the_event(client, make_user, weekly, calendar, role, status, page):
    olga = make_user("olga")
    if role:
        Share.objects.create(calendar=calendar, user=olga, role=role)
    client.force_login(olga)

    assert client.get(f"/calendar/events/{weekly.pk.hex}/{page}").status_code == status


def test_private_event_cannot_be_changed_by_others(client, make_user, make_event, calendar):
    event = make_event(sensitivity="private")
    olga = make_user("olga")
    Share.objects.create(calendar=calendar, user=olga, role=Role.OPERATOR)
    client.force_login(olga)

    assert client.get(edit_url(event)).status_code == 403
    assert client.post(edit_url(event), {"subject": "Found out"}).status_code == 403
    assert client.post(f"/calendar/events/{event.pk.hex}/delete").status_code == 403


def test_event_form_requires_sign_in(client):
    assert client.get("/calendar/events/new").url.startswith("/sign-in/")


def test_event_form_without_a_csrf_token_is_refused(weekly, owner):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(owner)

    assert strict.post("/calendar/events/new", START).status_code == 403
    assert strict.post(f"/calendar/items/{weekly.pk.hex}_20260112/cancel").status_code == 403
