"""Addresses of the calendar page, and the fragment that JavaScript requests."""

import html
import re
from collections import defaultdict

import pytest

from calendars.models import Calendar
from tests.calendars.page.reading import DAILY, WEDNESDAY

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("query, name", [("view=year", "view"), ("date=0001-01-01", "date"), ("zone=Nowhere", "zone")])
def test_error_names_the_invalid_query_parameter(load_page, query, name):
    assert f"The parameter “{name}” is invalid" in load_page(query, status=400)


@pytest.mark.parametrize(
    "query", ["date=1900-01-01", "date=2199-12-31", "view=week&date=2199-12-31", "view=agenda&date=2199-12-31"]
)
def test_first_and_last_day_are_shown_in_each_zone(load_page, query, make_event):
    make_event(recurrence=DAILY)

    for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago"):
        load_page(f"{query}&zone={zone}")


def test_list_of_the_selected_day_is_labelled_with_the_date(load_page):
    assert '<section class="day-agenda" aria-label="5 March 2031">' in load_page("date=2031-03-05")


def test_switches_without_javascript_redirect_to_an_address(client, load_page, viewer):
    calendar = Calendar.objects.default_of(viewer)

    response = client.get(f"/calendar/?layers=1&view=week&had={calendar.pk.hex}&hadruns=&skipped=1&maintenance=1")

    assert response.status_code == 302
    assert response["Location"] == f"/calendar/?view=week&off={calendar.pk.hex}"


def test_events_of_a_switched_off_calendar_are_not_shown(load_page, make_event, viewer):
    event = make_event()

    assert "Stand-up" not in load_page(f"off={event.calendar.pk.hex}")


def test_htmx_request_gets_the_fragment_and_its_address(client, load_page):
    response = client.get("/calendar/?view=week&date=2026-01-05&noruns=", headers={"HX-Request": "true"})

    assert response["HX-Push-Url"] == "/calendar/?view=week&date=2026-01-05"
    assert "HX-Request" in response["Vary"]
    page = response.content.decode()
    assert page.startswith("<title>5–11 January 2026, Week · Quando</title>")
    assert "<html" not in page
    assert 'class="week"' in page


def test_htmx_history_request_gets_the_whole_page(client, load_page):
    response = client.get("/calendar/", headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})

    assert response.content.decode().startswith("<!doctype html>")


def test_all_links_of_the_page_work(client, load_page, make_event, make_job):
    make_event(recurrence=DAILY)
    make_job(now=WEDNESDAY)
    found = {
        html.unescape(link)
        for query in ("", "view=week", "view=agenda", "q=stand")
        for link in re.findall(r'href="(/calendar/[^"]*)"', load_page(query))
    }

    by_kind = defaultdict(list)
    for link in sorted(found):
        by_kind[re.sub("[0-9a-f]{32}|[0-9]+", "0", link)].append(link)
    chosen = {link for links in by_kind.values() for link in (links[0], links[len(links) // 2], links[-1])}

    refused = {link for link in chosen if client.get(link).status_code != 200}

    assert len(found) > 100
    assert not refused
