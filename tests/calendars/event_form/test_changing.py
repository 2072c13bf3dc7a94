"""Changing events, occurrences and series on a page, also after changes by others."""

from datetime import timedelta

import pytest
from django.utils import timezone

from calendars import editing
from calendars.models import Event
from tests.admin.forms import submitted
from tests.calendars.conftest import day, recurrence, starts
from tests.calendars.event_form.filling import edit_url, errors

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("today")]


@pytest.fixture
def fields_of_series(make_event):
    """A series with exceptions.  Submitting its form unchanged must not change its values."""
    event = make_event(
        recurrence=recurrence("daily", count=10),
        body="<p>Bring <b>news</b></p>",
        body_type="html",
        locations=[{"displayName": "Room Spree", "locationType": "conferenceRoom"}],
        categories=["Team"],
        is_reminder_on=True,
        reminder_minutes=7,
    )
    editing.change_occurrence(event, day("2026-01-07"), {"subject": "Long stand-up"}, timezone.now())
    editing.cancel_occurrence(event, day("2026-01-08"), timezone.now())
    event.refresh_from_db()
    return event


@pytest.mark.parametrize("on, scope", [("", ""), ("2026-01-06", "occurrence"), ("2026-01-06", "series")])
def test_saving_an_unchanged_form_changes_nothing(fill, fields_of_series, on, scope):
    event = fields_of_series
    before = Event.objects.values().get(), list(event.exceptions.values())

    answer = fill(edit_url(event, on, scope))

    assert answer.status_code == 302
    assert (Event.objects.values().get(), list(event.exceptions.values())) == before


def test_stored_count_above_the_limit_is_kept_but_cannot_be_entered(fill, make_event):
    event = make_event(recurrence=recurrence("daily", count=10))
    event.recurrence["range"]["numberOfOccurrences"] = 2000
    event.save()

    unchanged = fill(edit_url(event), subject="Other")
    other = fill(edit_url(event), times="1500")

    assert unchanged.status_code == 302
    assert errors(other) == {"times": ["Must be 1 to 999, not 1500; a longer series has an end date"]}
    event.refresh_from_db()
    assert (event.subject, event.recurrence["range"]["numberOfOccurrences"]) == ("Other", 2000)


@pytest.mark.parametrize(
    "pattern",
    [
        {"type": "daily", "interval": 3},
        {"type": "weekly", "interval": 1, "daysOfWeek": ["monday", "tuesday", "wednesday", "thursday", "friday"]},
        {"type": "weekly", "interval": 2, "daysOfWeek": ["monday", "friday"], "firstDayOfWeek": "saturday"},
        {"type": "absoluteMonthly", "interval": 2, "dayOfMonth": 31},
        {"type": "relativeMonthly", "interval": 1, "index": "second", "daysOfWeek": ["thursday", "friday"]},
        {"type": "relativeMonthly", "interval": 1, "index": "last", "daysOfWeek": ["saturday", "sunday"]},
        {"type": "absoluteYearly", "interval": 4, "dayOfMonth": 29, "month": 2},
        {"type": "relativeYearly", "interval": 1, "index": "first", "daysOfWeek": ["monday"], "month": 1},
    ],
)
def test_form_does_not_change_a_recurrence(fill, make_event, pattern):
    event = make_event(recurrence=recurrence(pattern))
    before = event.recurrence

    fill(edit_url(event), subject="Renamed", start=f"{event.start + timedelta(hours=1):%Y-%m-%dT%H:%M}")

    event.refresh_from_db()
    assert event.recurrence["pattern"] | {"firstDayOfWeek": ""} == before["pattern"] | {"firstDayOfWeek": ""}
    assert event.recurrence["range"] == before["range"]


def test_moving_one_occurrence_does_not_change_the_series(fill, weekly):
    fill(edit_url(weekly, "2026-01-12"), start="2026-01-13T15:00", end="2026-01-13T16:00")

    assert starts(weekly)[:3] == ["2026-01-05T10:00", "2026-01-13T15:00", "2026-01-19T10:00"]
    assert Event.objects.get().subject == "Stand-up"


def test_move_across_a_neighbour_is_an_error_of_the_start(fill, weekly):
    answer = fill(edit_url(weekly, "2026-01-12"), start="2026-01-19T15:00", end="2026-01-19T16:00")

    assert "neighbouring occurrences" in errors(answer)["start"][0]
    assert not weekly.exceptions.exists()


def test_change_of_this_and_following_creates_a_new_series(fill, weekly):
    fill(
        edit_url(weekly, "2026-01-26", "following"),
        subject="New stand-up",
        start="2026-01-26T11:00",
        end="2026-01-26T12:00",
    )

    old, new = Event.objects.order_by("start")
    assert (old.subject, len(starts(old))) == ("Stand-up", 3)
    assert (new.subject, starts(new)[0], len(starts(new))) == ("New stand-up", "2026-01-26T11:00", 7)


def test_form_of_following_occurrences_shows_their_number(browser, weekly):
    form = browser.get(edit_url(weekly, "2026-01-26", "following")).context["form"]

    assert (form["range"].value(), form["times"].value()) == ("numbered", 7)


def test_first_and_following_occurrences_are_the_series(browser, weekly):
    page = browser.get(edit_url(weekly, "2026-01-05", "following"))

    assert page.context["form"].form_data.scope == "series"
    assert [each["name"] for each in page.context["scopes"]] == ["This occurrence", "The series"]


def test_scope_series_changes_the_whole_series(fill, weekly):
    fill(edit_url(weekly, "2026-01-26", "series"), subject="Weekly", pattern="weekly", weekly_days=["tuesday"])

    event = Event.objects.get()
    assert event.subject == "Weekly"
    assert starts(event)[:2] == ["2026-01-06T10:00", "2026-01-13T10:00"]


def test_a_series_becomes_a_single_event(fill, weekly):
    fill(edit_url(weekly, "", ""), pattern="none")

    assert not Event.objects.get().is_series


def test_form_shows_how_many_exceptions_a_change_deletes(browser, fields_of_series):
    consequences = {
        "series": browser.get(edit_url(fields_of_series, "2026-01-06", "series")).context["consequence"],
        "following": browser.get(edit_url(fields_of_series, "2026-01-06", "following")).context["consequence"],
    }

    assert consequences["series"] == (
        "10 occurrences, including past ones."
        " If you change its days or times, 2 changed or cancelled occurrences are reset."
    )
    assert consequences["following"].startswith(
        "From Tue 6 January on. This series ends before that day, and a new series begins. If"
    )


def test_form_can_move_and_change_an_event_at_once(fill, weekly, owner):
    team = editing.create_calendar(owner, "Team", "iris", timezone.now())

    fill(edit_url(weekly), subject="Moved", calendar=team.pk.hex)

    event = Event.objects.get()
    assert (event.calendar, event.subject) == (team, "Moved")


@pytest.mark.parametrize("scope, on", [("series", ""), ("occurrence", "2026-01-12"), ("following", "2026-01-12")])
def test_concurrent_change_is_shown_and_can_be_overwritten(browser, weekly, scope, on):
    address = edit_url(weekly, on, scope)
    values = submitted(browser.get(address).content.decode(), "event_form") | {"subject": "Mine"}
    editing.change(weekly, {"subject": "Theirs"}, timezone.now())

    refused = browser.post(address, values)

    assert refused.context["conflict"]
    assert b"Someone changed it while you were editing" in refused.content
    assert {each.subject for each in Event.objects.all()} == {"Theirs"}
    again = submitted(refused.content.decode(), "event_form")
    assert browser.post(address, again).status_code == 302
    exceptions = weekly.exceptions.values_list("changes__subject", flat=True)
    assert "Mine" in [*Event.objects.values_list("subject", flat=True), *exceptions]


def test_move_after_a_concurrent_change_is_refused(browser, weekly, owner):
    team = editing.create_calendar(owner, "Team", "iris", timezone.now())
    values = submitted(browser.get(edit_url(weekly)).content.decode(), "event_form") | {"calendar": team.pk.hex}
    editing.change(weekly, {"subject": "Theirs"}, timezone.now())

    assert browser.post(edit_url(weekly), values).context["conflict"]
    assert Event.objects.get().calendar == weekly.calendar


def test_form_of_a_cancelled_occurrence_redirects_to_its_page(browser, weekly):
    editing.cancel_occurrence(weekly, day("2026-01-12"), timezone.now())

    answer = browser.get(edit_url(weekly, "2026-01-12"))

    assert answer.url == f"/calendar/items/{weekly.pk.hex}_20260112"


def test_html_notes_are_shown_as_text_and_stay_html_if_unchanged(fill, browser, fields_of_series):
    page = browser.get(edit_url(fields_of_series))
    assert page.context["form"]["notes"].value() == "Bring news"

    fill(edit_url(fields_of_series), subject="Renamed")
    assert Event.objects.get().body == "<p>Bring <b>news</b></p>"

    fill(edit_url(fields_of_series), notes="Bring cake")
    event = Event.objects.get()
    assert (event.body, event.body_type) == ("Bring cake", "text")
