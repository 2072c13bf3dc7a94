"""Where the form of an event leads when it is saved, and who may open it."""

import pytest
from django.test import Client

from accounts.models import Role
from calendars.models import Share
from tests.calendars.event_form.filling import NEVER, START, edit

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("today")]


def test_saving_leads_back_to_the_view(fill):
    answer = fill("/calendar/events/new?view=week&date=2026-10-21&zone=UTC", **START, **NEVER, subject="Ledger review")

    assert answer.url == "/calendar/?view=week&date=2026-10-21&zone=UTC"


def test_without_a_view_saving_leads_to_the_day_of_the_event(fill):
    assert fill(**START, **NEVER, subject="Ledger review").url == "/calendar/?date=2026-10-20"


@pytest.mark.parametrize(
    "parameter", ["next=https://evil.example/", "view=//evil.example", "date=https://evil.example"]
)
def test_no_address_leads_elsewhere(fill, parameter):
    answer = fill(f"/calendar/events/new?{parameter}", **START, **NEVER, subject="Ledger review")

    assert answer.url.startswith("/calendar/")
    assert "evil" not in answer.url


@pytest.mark.parametrize("role, status", [(None, 404), (Role.READER, 403), (Role.OPERATOR, 200)])
@pytest.mark.parametrize("page", ["edit", "delete"])
def test_only_who_may_change_an_event_gets_its_form(client, make_user, weekly, calendar, role, status, page):
    olga = make_user("olga")
    if role:
        Share.objects.create(calendar=calendar, user=olga, role=role)
    client.force_login(olga)

    assert client.get(f"/calendar/events/{weekly.pk.hex}/{page}").status_code == status


def test_what_somebody_keeps_to_themselves_is_not_for_others_to_change(client, make_user, make_event, calendar):
    event = make_event(sensitivity="private")
    olga = make_user("olga")
    Share.objects.create(calendar=calendar, user=olga, role=Role.OPERATOR)
    client.force_login(olga)

    assert client.get(edit(event)).status_code == 403
    assert client.post(edit(event), {"subject": "Found out"}).status_code == 403
    assert client.post(f"/calendar/events/{event.pk.hex}/delete").status_code == 403


def test_the_form_asks_who_is_there(client):
    assert client.get("/calendar/events/new").url.startswith("/sign-in/")


def test_a_form_of_another_site_is_refused(weekly, owner):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(owner)

    assert strict.post("/calendar/events/new", START).status_code == 403
    assert strict.post(f"/calendar/items/{weekly.pk.hex}_20260112/cancel").status_code == 403
