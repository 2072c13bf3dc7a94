"""A schedule that is pasted into the form of an event fills its times, zone and recurrence."""

import json
from datetime import datetime, timedelta

import pytest

from calendars.models import Event
from calendars.pages.pasted_rules import EventTimes, NotTranslated, times_of_text
from tests.admin.forms import submitted
from tests.calendars.event_form.filling import START, errors

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("today")]

TEN = datetime.fromisoformat("2026-10-20T10:00")
OLD = EventTimes(TEN, TEN + timedelta(hours=1), "Europe/Berlin", None)
GRAPH_EVENT = {
    "start": {"dateTime": "2026-11-05T09:30:00", "timeZone": "Pacific Standard Time"},
    "end": {"dateTime": "2026-11-05T10:00:00", "timeZone": "Pacific Standard Time"},
    "recurrence": {
        "pattern": {"type": "weekly", "interval": 2, "daysOfWeek": ["thursday"], "firstDayOfWeek": "sunday"},
        "range": {"type": "noEnd", "startDate": "2026-11-05"},
    },
}
AZURE = {
    "startTime": "2026-01-05T08:00:00Z",
    "recurrence": {
        "frequency": "Week",
        "schedule": {"weekDays": ["Monday"], "hours": [9], "minutes": [0]},
        "endTime": "2027-01-05T08:00:00Z",
    },
}


@pytest.mark.parametrize(
    "text, start, end, zone, members",
    [
        # the texts of cron and Quartz mean the clocks of the event unless they name others
        ("0 9 * * 1-5", "2026-10-20T09:00", "2026-10-20T10:00", "Europe/Berlin", {"type": "weekly"}),
        ("@daily", "2026-10-20T00:00", "2026-10-20T01:00", "Europe/Berlin", {"type": "daily"}),
        (
            "CRON_TZ=America/New_York\n30 8 1 * *",
            "2026-11-01T08:30",
            "2026-11-01T09:30",
            "America/New_York",
            {"type": "absoluteMonthly", "dayOfMonth": 1},
        ),
        (
            "0 15 10 ? * 6L",
            "2026-10-30T10:15",
            "2026-10-30T11:15",
            "Europe/Berlin",
            {"type": "relativeMonthly", "index": "last", "daysOfWeek": ["friday"]},
        ),
        (
            "DTSTART;TZID=Europe/Paris:20261102T083000\nDTEND;TZID=Europe/Paris:20261102T084500\nRRULE:FREQ=DAILY",
            "2026-11-02T08:30",
            "2026-11-02T08:45",
            "Europe/Paris",
            {"type": "daily"},
        ),
        (
            json.dumps(GRAPH_EVENT),
            "2026-11-05T09:30",
            "2026-11-05T10:00",
            "America/Los_Angeles",
            {"type": "weekly", "interval": 2},
        ),
        (
            json.dumps(AZURE),
            "2026-10-26T09:00",
            "2026-10-26T10:00",
            "UTC",
            {"type": "endDate", "endDate": "2027-01-04"},
        ),
        ("PT48H", "2026-10-20T08:00", "2026-10-20T09:00", "UTC", {"type": "daily", "interval": 2}),
    ],
)
def test_texts_with_times_change_start_end_and_zone(text, start, end, zone, members):
    found = times_of_text(text, OLD)

    assert (found.start, found.end, found.zone) == (datetime.fromisoformat(start), datetime.fromisoformat(end), zone)
    part = found.recurrence["range" if "endDate" in members else "pattern"]
    assert members.items() <= part.items()
    assert found.has_times


@pytest.mark.parametrize(
    "text, start",
    [
        ("RRULE:FREQ=WEEKLY;BYDAY=MO,WE", "2026-10-21T10:00"),
        ("FREQ=DAILY;INTERVAL=2", "2026-10-20T10:00"),
        (json.dumps(GRAPH_EVENT["recurrence"]), "2026-11-05T10:00"),
    ],
)
def test_texts_without_times_keep_the_time_of_the_event(text, start):
    found = times_of_text(text, OLD)

    assert (found.start, found.zone, found.has_times) == (datetime.fromisoformat(start), "Europe/Berlin", False)


def test_single_time_is_no_series():
    found = times_of_text("2026-11-11T10:00:00Z", OLD)

    assert (found.start, found.recurrence) == (datetime.fromisoformat("2026-11-11T10:00"), None)


@pytest.mark.parametrize(
    "text, message",
    [
        ("hello", "This is no rule"),
        ("@hourly", "more than one time of the day"),
        ("FREQ=HOURLY", "more than one time of the day"),
        ("FREQ=YEARLY;BYWEEKNO=3", "BYWEEKNO"),
        ("0 9 29 2 *", "day 29 only of the months that have it"),
        ("1999-01-01T00:00:00Z" * 2000, "This is no rule"),
    ],
)
def test_text_that_an_event_cannot_express_is_refused(text, message):
    with pytest.raises(NotTranslated, match=message):
        times_of_text(text, OLD)


def test_members_that_an_event_lacks_are_named():
    text = {"format": "cron", "expression": "0 9 * * *", "skips": ["2026-11-01"], "jitter": "PT5M"}

    assert times_of_text(json.dumps(text), OLD).losses == (
        "jitter: an event does not have this",
        "skips: an event does not have this",
    )


# The form


def test_pasted_crontab_line_fills_the_form_and_saves_nothing(fill):
    page = fill(**START, subject="Review", paste="30 8 * * 1-5", _paste="1")

    form = page.context["form"]
    values = {name: form[name].value() for name in ("start", "end", "zone", "pattern", "subject", "paste")}
    assert values == {
        "start": "2026-10-20T08:30",
        "end": "2026-10-20T09:30",
        "zone": "Europe/Berlin",
        "pattern": "workdays",
        "subject": "Review",
        "paste": "",
    }
    assert page.context["preview"].text.startswith("Every week from Monday to Friday")
    assert not form.errors
    assert not Event.objects.exists()


@pytest.mark.parametrize("tab", ["rrule", "json"])
def test_pasted_text_opens_the_patterns(fill, tab):
    page = fill(f"/calendar/events/new?tab={tab}", to="/calendar/events/new", **START, paste="@daily", _paste="1")

    assert page.context["form"].chosen_tab == "outlook"
    assert page.context["form"]["pattern"].value() == "daily"


def test_pasted_time_turns_an_all_day_event_into_one_with_times(fill):
    fields = {"is_all_day": "on", "first_day": "2026-10-20", "last_day": "2026-10-20", "_paste": "1"}

    with_time = fill(**fields, paste="0 9 * * *").context["form"]
    without_time = fill(**fields, paste="FREQ=DAILY;COUNT=3").context["form"]

    assert not with_time["is_all_day"].value()
    assert without_time["is_all_day"].value()
    assert str(without_time["last_day"].value()) == "2026-10-20"


@pytest.mark.parametrize(
    "text, message",
    [("", "Paste a text first"), ("hello", "This is no rule"), ("@hourly", "more than one time of the day")],
)
def test_error_stands_at_the_pasted_text(fill, text, message):
    page = fill(**START, pattern="daily", paste=text, _paste="1")

    assert message in errors(page)["paste"][0]
    assert page.context["form"]["pattern"].value() == "daily"


def test_losses_are_shown_above_the_fields(fill):
    text = json.dumps({"format": "cron", "expression": "0 9 * * *", "skips": ["2026-11-01"]})

    page = fill(**START, paste=text, _paste="1")

    assert "Left out: skips: an event does not have this." in page.text


def test_form_with_a_pasted_rule_is_saved_afterwards(fill, browser):
    page = fill(**START, subject="Review", paste="30 8 * * 1-5", _paste="1").text
    answer = browser.post("/calendar/events/new", submitted(page, "event_form"))

    assert answer.status_code == 302
    assert Event.objects.get().recurrence["pattern"]["type"] == "weekly"


def test_forgotten_paste_does_not_stop_saving(fill):
    assert fill(**START, subject="Review", paste="hello").status_code == 302


@pytest.mark.parametrize(
    "text", ["\0", "x" * 30_000, "{" * 5000, "9" * 5000, '{"format": 1}', '{"recurrence": {"pattern": 1}}']
)
def test_hostile_text_is_an_error_at_the_field(fill, text):
    page = fill(**START, paste=text, _paste="1")

    assert page.status_code == 200
    assert "paste" in errors(page)
