"""The preview of an event before it is saved."""

import pytest
from django.utils import timezone

from calendars import editing
from calendars.models import Event
from tests.admin.forms import submitted
from tests.calendars.conftest import day
from tests.calendars.event_form.filling import START

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("today")]


@pytest.fixture
def preview(browser):
    def preview_(address="/calendar/events/preview", **values):
        page = browser.get("/calendar/events/new").content.decode()
        return browser.post(address, submitted(page, "event_form") | START | values)

    return preview_


def test_preview_describes_the_series_and_lists_ten_occurrences(preview):
    answer = preview(start="2099-10-20T10:00", end="2099-10-20T11:00", pattern="weekly", weekly_days=["tuesday"])

    summary = answer.context["preview"]
    assert summary.text == "Every week on Tuesday from 10:00 to 11:00 Europe/Berlin."
    assert (summary.heading, len(summary.rows)) == ("Next ten occurrences", 10)
    assert [(row.day, row.clock, row.utc_text) for row in summary.rows[:2]] == [
        ("Tue 20 October 2099", "10:00", "08:00 UTC"),
        ("Tue 27 October 2099", "10:00", "09:00 UTC"),
    ]
    assert summary.rows[1].notes == ["Clock went back on 25 October"]
    assert summary.note == "When the clock changes, the time stays 10:00 in Berlin and moves by 1 h in UTC."


@pytest.mark.parametrize(
    "start, clock_note",
    [
        ("2099-03-29T02:30", "Moved from 02:30, which clocks skip"),
        ("2099-10-25T02:30", "02:30 happens twice; this is the first"),
    ],
)
def test_preview_notes_clock_changes(preview, start, clock_note):
    single = preview(start=start, end=start, pattern="none").context["preview"]
    series = preview(start=start, end=start, pattern="daily", daily_interval=1).context["preview"]

    assert single.rows[0].notes == [clock_note]
    assert clock_note in series.rows[0].notes


def test_preview_of_a_counted_series_lists_all_occurrences(preview):
    summary = preview(start="2099-01-01T10:00", end="2099-01-01T11:00", pattern="daily", range="numbered", times=3)
    summary = summary.context["preview"]

    assert (summary.heading, len(summary.rows)) == ("Remaining occurrences", 3)
    assert summary.text.endswith("until 3 January 2099, 3 times.")


def test_a_preview_shows_the_first_error_and_saves_nothing(preview):
    answer = preview(pattern="daily", daily_interval="0")

    assert "Days between: Enter a whole number" in answer.content.decode()
    assert not Event.objects.exists()


def test_preview_of_an_all_day_series_shows_no_time(preview):
    summary = preview(is_all_day="on", first_day="2099-10-20", last_day="2099-10-21", pattern="daily", daily_interval=7)
    summary = summary.context["preview"]

    assert summary.text == "Every 7 days for 2 days."
    assert (summary.rows[0].day, summary.rows[0].clock) == ("Tue 20 October 2099 – Wed 21 October 2099", "")


def test_preview_button_works_without_javascript(fill):
    answer = fill(**START, pattern="daily", _preview="1")

    assert answer.context["preview"].text == "Every day from 10:00 to 11:00 Europe/Berlin."
    assert not answer.context["form"].errors
    assert not Event.objects.exists()


def test_preview_of_a_cancelled_occurrence_shows_an_error(preview, weekly):
    editing.cancel_occurrence(weekly, day("2026-01-12"), timezone.now())

    answer = preview(f"/calendar/events/preview?event={weekly.pk.hex}_20260112")

    assert answer.context["preview"].error == "This occurrence no longer exists."
