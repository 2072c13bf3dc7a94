"""Addresses of the calendar page, and the part of it that script asks for."""

import html
import re

import pytest

from calendars.models import Calendar
from tests.calendars.page.reading import DAILY, WEDNESDAY

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("query, name", [("view=year", "view"), ("date=0001-01-01", "date"), ("zone=Nowhere", "zone")])
def test_an_address_that_means_nothing_is_refused_and_says_where(look, query, name):
    assert f"Its “{name}” is not as it should be" in look(query, status=400)


@pytest.mark.parametrize(
    "query", ["date=1900-01-01", "date=2199-12-31", "view=week&date=2199-12-31", "view=agenda&date=2199-12-31"]
)
def test_the_first_and_the_last_day_are_shown_in_every_zone(look, query, make_event):
    make_event(recurrence=DAILY)

    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        look(f"{query}&zone={zone}")


def test_the_list_of_the_chosen_day_is_named_after_it(look):
    assert '<section class="day-agenda" aria-label="5 March 2031">' in look("date=2031-03-05")


def test_a_switch_without_script_leads_to_an_address(client, look, viewer):
    calendar = Calendar.objects.default_of(viewer)

    response = client.get(f"/calendar/?layers=1&view=week&had={calendar.pk.hex}&hadruns=&skipped=1&maintenance=1")

    assert response.status_code == 302
    assert response["Location"] == f"/calendar/?view=week&off={calendar.pk.hex}"


def test_a_calendar_that_is_off_is_not_shown(look, make_event, viewer):
    event = make_event()

    assert "Stand-up" not in look(f"off={event.calendar.pk.hex}")


def test_script_gets_the_part_that_changes_and_the_address_it_has(client, look):
    response = client.get("/calendar/?view=week&date=2026-01-05&noruns=", headers={"HX-Request": "true"})

    assert response["HX-Push-Url"] == "/calendar/?view=week&date=2026-01-05"
    assert "HX-Request" in response["Vary"]
    page = response.content.decode()
    assert page.startswith("<title>5–11 January 2026, Week · Quando</title>")
    assert "<html" not in page
    assert 'class="week"' in page


def test_a_page_that_is_gone_back_to_is_whole(client, look):
    response = client.get("/calendar/", headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})

    assert response.content.decode().startswith("<!doctype html>")


def test_every_address_on_the_page_is_right(client, look, make_event, make_job):
    make_event(recurrence=DAILY)
    make_job(now=WEDNESDAY)
    found = {
        html.unescape(link)
        for query in ("", "view=week", "view=agenda", "q=stand")
        for link in re.findall(r'href="(/calendar/[^"]*)"', look(query))
    }

    refused = {link for link in found if client.get(link).status_code != 200}

    assert len(found) > 100
    assert not refused
