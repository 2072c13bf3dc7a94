"""What an event will be, told before it is saved."""

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
    def preview_(address="/calendar/events/preview", **written):
        page = browser.get("/calendar/events/new").content.decode()
        return browser.post(address, submitted(page, "event_form") | START | written)

    return preview_


def test_the_preview_says_it_in_words_with_the_next_ten(preview):
    answer = preview(start="2099-10-20T10:00", end="2099-10-20T11:00", pattern="weekly", weekly_days=["tuesday"])

    meaning = answer.context["preview"]
    assert meaning.text == "Every week on Tuesday from 10:00 to 11:00 Europe/Berlin."
    assert (meaning.heading, len(meaning.rows)) == ("The next ten", 10)
    assert [(row.day, row.clock, row.utc_text) for row in meaning.rows[:2]] == [
        ("Tue 20 October 2099", "10:00", "08:00 UTC"),
        ("Tue 27 October 2099", "10:00", "09:00 UTC"),
    ]
    assert meaning.rows[1].notes == ["Clock went back on 25 October"]
    assert meaning.note == "10:00 stays 10:00 in Berlin when its clock changes; in UTC it moves by 1 h."


@pytest.mark.parametrize(
    "start, aside",
    [
        ("2099-03-29T02:30", "Moved from 02:30, which clocks skip"),
        ("2099-10-25T02:30", "02:30 happens twice; this is the first"),
    ],
)
def test_the_preview_tells_what_clocks_do_to_a_time(preview, start, aside):
    single = preview(start=start, end=start, pattern="none").context["preview"]
    series = preview(start=start, end=start, pattern="daily", daily_interval=1).context["preview"]

    assert single.rows[0].notes == [aside]
    assert aside in series.rows[0].notes


def test_the_preview_of_a_count_lists_what_is_left(preview):
    meaning = preview(start="2099-01-01T10:00", end="2099-01-01T11:00", pattern="daily", range="numbered", times=3)
    meaning = meaning.context["preview"]

    assert (meaning.heading, len(meaning.rows)) == ("All that are left", 3)
    assert meaning.text.endswith("until 3 January 2099, 3 times.")


def test_a_preview_shows_the_first_error_and_saves_nothing(preview):
    answer = preview(pattern="daily", daily_interval="0")

    assert "Days between: Take a whole number" in answer.content.decode()
    assert not Event.objects.exists()


def test_a_preview_in_days_has_no_clock(preview):
    meaning = preview(is_all_day="on", first_day="2099-10-20", last_day="2099-10-21", pattern="daily", daily_interval=7)
    meaning = meaning.context["preview"]

    assert meaning.text == "Every 7 days for 2 days."
    assert (meaning.rows[0].day, meaning.rows[0].clock) == ("Tue 20 October 2099 – Wed 21 October 2099", "")


def test_without_script_a_button_previews(fill):
    answer = fill(**START, pattern="daily", _preview="1")

    assert answer.context["preview"].text == "Every day from 10:00 to 11:00 Europe/Berlin."
    assert not answer.context["form"].errors
    assert not Event.objects.exists()


def test_the_preview_of_an_occurrence_that_is_gone_says_so(preview, weekly):
    editing.cancel_occurrence(weekly, day("2026-01-12"), timezone.now())

    answer = preview(f"/calendar/events/preview?event={weekly.pk.hex}_20260112")

    assert answer.context["preview"].error == "This occurrence is not there any more."
