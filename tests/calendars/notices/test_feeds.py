"""Runs that maintenance holds in feeds: where the calendar page shows them."""

import icalendar
import pytest
from django.urls import reverse

from calendars import feeds
from maintenance.models import Notice
from tests.calendars.job_runs import LATER, add_run
from tests.calendars.notices.reading import HOUR, THURSDAY, reboot_of, runs
from tests.conftest import utc
from tests.maintenance.notices import announce, holds

pytestmark = pytest.mark.django_db


@pytest.fixture
def told(client, owner):
    """The runs that a feed of everything tells on a day, in UTC: start, summary and description."""
    address = reverse("calendar:feed", args=[feeds.make(owner, "Phone", LATER, query={"runs": True})[1]])

    def told(day: str) -> list[tuple[str, str, str]]:
        events = icalendar.Calendar.from_ical(client.get(address).content).walk("VEVENT")
        of_day = [each for each in events if f"{each.start:%Y-%m-%d}" == day]
        assert len({each.uid for each in events}) == len(events)
        return sorted(
            (f"{each.start:%H:%M}", str(each["SUMMARY"]), str(each.get("DESCRIPTION", ""))) for each in of_day
        )

    return told


def test_a_run_that_will_be_held_is_told_as_held_and_where_it_is_moved_to(told, look, reboot, invoices):
    assert told(THURSDAY) == [
        ("17:00", "invoices: Held", "held by maintenance: Reboot of db-2"),
        ("17:30", "invoices: Planned", "once, after maintenance"),
    ]
    said = [each.split(" ")[:2] for each in runs(look(f"view=day&date={THURSDAY}&zone=UTC"))]
    assert said == [["held:", "17:00"], ["planned:", "17:30"]]


def test_a_run_that_is_held_already_is_told_where_it_will_run(told, look, db2, make_planned):
    job = make_planned().job
    holds(job, now=LATER)
    announce(db2, now=LATER - HOUR, has_started=True, duration_s=7200)
    add_run(job, LATER - 2 * HOUR, "held", hold_key=f"notice {Notice.objects.get().pk}", reason="held by maintenance")

    assert told("2026-10-21")[:2] == [
        ("10:32", "invoices: Held", "held by maintenance"),
        ("13:32", "invoices: Planned", "once, after maintenance"),
    ]


def test_what_is_dropped_is_not_told_again(told, reboot, make_planned):
    holds(make_planned().job, on_end="drop", now=LATER)

    assert [each[1] for each in told(THURSDAY)] == ["invoices: Held"]


def test_a_frequent_job_says_why_it_is_held(told, db2, make_planned):
    holds(make_planned("0 0/5 * * * ?", "poll").job, now=LATER)
    reboot_of(db2)

    assert [each[2] for each in told(THURSDAY)] == ["held by maintenance: Reboot of db-2"]


def test_others_are_told_nothing_of_maintenance(client, make_user, reboot, invoices):
    secret = feeds.make(make_user("eve", None), "Phone", LATER, query={"runs": True})[1]

    assert b"Reboot" not in client.get(reverse("calendar:feed", args=[secret])).content


def test_what_is_known_of_a_hold_is_as_of_now(told, db2, invoices, clock):
    reboot_of(db2)
    clock.move_to(utc(f"{THURSDAY}T17:40Z"))  # it goes on, longer than was expected

    assert told(THURSDAY) == [("17:00", "invoices: Held", "held by maintenance: Reboot of db-2")]
