"""Runs held by maintenance in feeds: the same times as on the calendar page."""

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
def list_feed_runs(client, owner):
    """Return a function that lists the runs of a day in a feed, in UTC: start, summary and description."""
    address = reverse("calendar:feed", args=[feeds.make(owner, "Phone", LATER, query={"runs": True})[1]])

    def list_feed_runs(day: str) -> list[tuple[str, str, str]]:
        events = icalendar.Calendar.from_ical(client.get(address).content).walk("VEVENT")
        of_day = [each for each in events if f"{each.start:%Y-%m-%d}" == day]
        assert len({each.uid for each in events}) == len(events)
        return sorted(
            (f"{each.start:%H:%M}", str(each["SUMMARY"]), str(each.get("DESCRIPTION", ""))) for each in of_day
        )

    return list_feed_runs


def test_feed_shows_a_run_that_will_be_held_at_both_times(list_feed_runs, load_page, reboot, invoices):
    assert list_feed_runs(THURSDAY) == [
        ("17:00", "invoices: Held", "held by maintenance: Reboot of db-2"),
        ("17:30", "invoices: Planned", "once, after maintenance"),
    ]
    shown_runs = [each.split(" ")[:2] for each in runs(load_page(f"view=day&date={THURSDAY}&zone=UTC"))]
    assert shown_runs == [["held:", "17:00"], ["planned:", "17:30"]]


def test_feed_shows_when_a_held_run_will_start(list_feed_runs, load_page, db2, make_planned):
    job = make_planned().job
    holds(job, now=LATER)
    announce(db2, now=LATER - HOUR, has_started=True, duration_s=7200)
    add_run(job, LATER - 2 * HOUR, "held", hold_key=f"notice {Notice.objects.get().pk}", reason="held by maintenance")

    assert list_feed_runs("2026-10-21")[:2] == [
        ("10:32", "invoices: Held", "held by maintenance"),
        ("13:32", "invoices: Planned", "once, after maintenance"),
    ]


def test_feed_shows_a_dropped_run_only_once(list_feed_runs, reboot, make_planned):
    holds(make_planned().job, on_end="drop", now=LATER)

    assert [each[1] for each in list_feed_runs(THURSDAY)] == ["invoices: Held"]


def test_feed_shows_why_a_frequent_job_is_held(list_feed_runs, db2, make_planned):
    holds(make_planned("0 0/5 * * * ?", "poll").job, now=LATER)
    reboot_of(db2)

    assert [each[2] for each in list_feed_runs(THURSDAY)] == ["held by maintenance: Reboot of db-2"]


def test_feed_of_others_shows_no_maintenance(client, make_user, reboot, invoices):
    secret = feeds.make(make_user("eve", None), "Phone", LATER, query={"runs": True})[1]

    assert b"Reboot" not in client.get(reverse("calendar:feed", args=[secret])).content


def test_feed_shows_holds_as_known_at_the_current_time(list_feed_runs, db2, invoices, clock):
    reboot_of(db2)
    clock.move_to(utc(f"{THURSDAY}T17:40Z"))  # the maintenance lasts longer than expected

    assert list_feed_runs(THURSDAY) == [("17:00", "invoices: Held", "held by maintenance: Reboot of db-2")]
