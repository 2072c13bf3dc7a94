"""The popover of an event."""

import pytest
from django.utils import timezone

from calendars import editing
from calendars.models import Event
from tests.calendars.conftest import day, recurrence, times
from tests.calendars.popover.items import address, popover_item

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("today")]


WORKDAYS = {"type": "weekly", "interval": 1, "daysOfWeek": ["monday", "tuesday", "wednesday", "thursday", "friday"]}


def test_popover_shows_all_values_of_an_event(browser, make_event):
    event = make_event(
        subject="Ledger review",
        locations=[{"displayName": "Room Spree"}],
        body="Bring the books",
        categories=["Finance"],
        show_as="tentative",
        importance="high",
        is_reminder_on=True,
        reminder_minutes=60,
    )

    item = popover_item(browser.get(address(event)))

    assert item["title"] == "Ledger review"
    assert (item["when"], item["place_of_zone"], item["other_zones"]) == (
        "Mon 5 January, 10:00–11:00",
        "Berlin",
        "09:00 UTC",
    )
    assert (item["where"], item["notes"], item["categories"]) == ("Room Spree", "Bring the books", ["Finance"])
    assert (item["shows_as"], item["importance"], item["reminder"]) == ("tentative", "high", "1 h before")
    assert (item["calendar"], item["repeats"], item["moved_from"]) == ("Calendar", "", "")


def test_popover_shows_the_zones_of_page_and_event_and_utc(browser, make_event):
    event = make_event(**times("2026-01-05T22:00", zone="America/Sao_Paulo"))

    item = popover_item(browser.get(address(event) + "?zone=Asia/Tokyo"))

    assert (item["when"], item["place_of_zone"]) == ("Tue 6 January, 10:00–11:00", "Tokyo")
    assert item["other_zones"] == "Mon 5 January, 22:00 Sao Paulo · 01:00 UTC"


def test_popover_times_use_the_hour_cycle_of_the_user(browser, owner, make_event):
    owner.hour_cycle = 12
    owner.save()

    assert popover_item(browser.get(address(make_event())))["when"] == "Mon 5 January, 10:00 am–11:00 am"


def test_popover_of_an_all_day_event_shows_days_and_no_zone(browser, make_event):
    event = make_event(is_all_day=True, **times("2026-01-05T00:00", "2026-01-08T00:00"))

    item = popover_item(browser.get(address(event) + "?zone=Pacific/Apia"))

    assert item["when"] == "Mon 5 January – Wed 7 January, all day"
    assert (item["at"], item["other_zones"], item["place_of_zone"]) == ("", "", "")


def test_popover_describes_the_recurrence(browser, make_event):
    event = make_event(recurrence=recurrence(WORKDAYS))

    item = popover_item(browser.get(address(event, "2026-01-06")))

    assert item["repeats"] == "Every week from Monday to Friday from 10:00 to 11:00 Europe/Berlin"


@pytest.mark.parametrize(
    "start, end, original_time",
    [
        ("2026-01-12T12:00", "2026-01-12T13:00", "10:00"),
        ("2026-01-13T10:00", "2026-01-13T11:00", "Mon 12 January, 10:00"),
    ],
)
def test_popover_of_a_moved_occurrence_shows_its_original_time(browser, weekly, start, end, original_time):
    editing.change_occurrence(weekly, day("2026-01-12"), times(start, end), timezone.now())

    answer = browser.get(address(weekly, "2026-01-12"))

    assert popover_item(answer)["moved_from"] == original_time
    assert f"moved from {original_time}" in answer.content.decode()


def test_popover_of_a_changed_occurrence_shows_no_original_time(browser, weekly):
    editing.change_occurrence(weekly, day("2026-01-12"), {"subject": "Long"}, timezone.now())

    answer = browser.get(address(weekly, "2026-01-12"))

    assert (popover_item(answer)["moved_from"], popover_item(answer)["title"]) == ("", "Long")
    assert "changed occurrence" in answer.content.decode()


def test_series_redirects_to_its_next_occurrence(browser, make_event):
    event = make_event(**times("2025-12-01T10:00"), recurrence=recurrence(start="2025-12-01"))

    assert browser.get(address(event)).url == address(event, "2026-01-05")


def test_ended_series_redirects_to_its_last_occurrence(browser, make_event):
    event = make_event(**times("2025-01-06T10:00"), recurrence=recurrence(start="2025-01-06", count=10))

    assert browser.get(address(event)).url == address(event, "2025-03-10")


@pytest.mark.parametrize("then", ["_20260113", "_20990101", "_20260230", "x", "_"])
def test_unknown_occurrence_is_not_found(browser, weekly, then):
    assert browser.get(address(weekly) + then).status_code == 404


@pytest.mark.parametrize("item_id", ["x", "0" * 32, "%00", "OID.x", "é", "0" * 500])
def test_unknown_item_id_is_not_found(browser, item_id):
    for path in ("", "/cancel", "/restore"):
        method = browser.post if path else browser.get
        assert method(f"/calendar/items/{item_id}{path}").status_code == 404
    assert browser.get(f"/calendar/events/{item_id}/edit").status_code == 404
    assert browser.get(f"/calendar/events/{item_id}/delete").status_code == 404


def test_notes_are_escaped(browser, make_event):
    event = make_event(body='<p>Hello</p><script>alert(1)</script><img src="x">', body_type="html")
    plain = make_event(body="<b>as it is</b>")

    html = browser.get(address(event)).content.decode()
    assert "Hello" in html
    assert "alert(1)" not in html
    assert "<img" not in html
    assert "&lt;b&gt;as it is&lt;/b&gt;" in browser.get(address(plain)).content.decode()


def test_addresses_in_notes_become_links(browser, make_event):
    html = browser.get(address(make_event(body="See https://example.org/a?b=1&c=2\n<b>"))).content.decode()

    assert '<a href="https://example.org/a?b=1&amp;c=2" rel="nofollow">' in html
    assert "<br>&lt;b&gt;" in html


def test_notes_with_a_long_character_reference_are_not_changed(browser, make_event):
    reference = "https://example.org/&#" + "9" * 5000 + ";"

    assert reference.replace("&", "&amp;") in browser.get(address(make_event(body=reference))).content.decode()


def test_popover_is_a_fragment_for_htmx_and_a_page_otherwise(browser, make_event):
    whole = browser.get(address(make_event()))
    part = browser.get(address(Event.objects.get()), headers={"HX-Request": "true"})

    assert b"<html" in whole.content
    assert b'role="dialog"' not in whole.content
    assert b"<html" not in part.content
    assert b'role="dialog"' in part.content


def test_popover_closes_to_the_previous_view(browser, make_event):
    event = make_event()

    assert popover_item(browser.get(address(event) + "?view=week&date=2026-01-07"))["close_url"] == (
        "/calendar/?view=week&date=2026-01-07"
    )
    assert popover_item(browser.get(address(event)))["close_url"] == "/calendar/?date=2026-01-05"
    there = {"HX-Request": "true", "HX-Current-URL": "http://testserver/calendar/?view=day&date=2026-01-05"}
    assert (
        popover_item(browser.get(address(event), headers=there))["close_url"] == "/calendar/?view=day&date=2026-01-05"
    )
    referer = {"Referer": "https://evil.example/calendar/?view=evil"}
    assert popover_item(browser.get(address(event), headers=referer))["close_url"] == "/calendar/?date=2026-01-05"
