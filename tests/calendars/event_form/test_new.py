"""Creating events on a page: each choice of the form is stored, and errors are shown at their fields."""

import pytest
from django.utils import timezone

from accounts.models import Role
from calendars import editing
from calendars.models import Calendar, Event, Share
from tests.calendars.conftest import starts
from tests.calendars.event_form.filling import NO_RECURRENCE, START, errors

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("today")]


@pytest.mark.parametrize(
    "form_values, pattern, first_days",
    [
        ({"pattern": "daily", "daily_interval": 3}, {"type": "daily", "interval": 3}, ["20", "23", "26"]),
        (
            {"pattern": "workdays"},
            {"type": "weekly", "daysOfWeek": ["monday", "tuesday", "wednesday", "thursday", "friday"]},
            ["20", "21", "22", "23", "26"],
        ),
        (
            {
                "pattern": "weekly",
                "weekly_interval": 2,
                "weekly_days": ["tuesday", "thursday"],
                "weekly_first": "sunday",
            },
            {"type": "weekly", "interval": 2, "daysOfWeek": ["tuesday", "thursday"], "firstDayOfWeek": "sunday"},
            ["20", "22", "03", "05"],
        ),
        (
            {"pattern": "absoluteMonthly", "monthly_day": 31, "monthly_interval": 1},
            {"type": "absoluteMonthly", "dayOfMonth": 31, "interval": 1},
            ["31", "30", "31", "31", "28"],  # the last day of a month that is shorter
        ),
        (
            {"pattern": "relativeMonthly", "monthly_index": "third", "monthly_weekday": "tuesday"},
            {"type": "relativeMonthly", "index": "third", "daysOfWeek": ["tuesday"]},
            ["20", "17", "15"],
        ),
        (
            {"pattern": "relativeMonthly", "monthly_index": "last", "monthly_weekday": "weekday"},
            {"index": "last", "daysOfWeek": ["monday", "tuesday", "wednesday", "thursday", "friday"]},
            ["30", "30", "31"],
        ),
        (
            {"pattern": "relativeMonthly", "monthly_index": "first", "monthly_weekday": "weekendDay"},
            {"index": "first", "daysOfWeek": ["sunday", "saturday"]},
            ["01", "05", "02"],
        ),
        (
            {"pattern": "relativeMonthly", "monthly_index": "fourth", "monthly_weekday": "day"},
            {"index": "fourth"},
            ["04", "04"],
        ),
        (
            {"pattern": "absoluteYearly", "yearly_day": 29, "yearly_month": 2, "yearly_interval": 1},
            {"type": "absoluteYearly", "dayOfMonth": 29, "month": 2},
            ["28", "29"],  # 2028 is a leap year
        ),
        (
            {
                "pattern": "relativeYearly",
                "yearly_index": "last",
                "yearly_weekday": "friday",
                "yearly_weekday_month": 10,
            },
            {"type": "relativeYearly", "index": "last", "daysOfWeek": ["friday"], "month": 10},
            ["30", "29"],
        ),
    ],
)
def test_each_pattern_of_the_form_creates_its_series(fill, form_values, pattern, first_days):
    answer = fill(**START, subject="Ledger review", **form_values)

    assert answer.status_code == 302
    event = Event.objects.get()
    assert pattern.items() <= event.recurrence["pattern"].items()
    assert event.recurrence["range"]["type"] == "noEnd"
    found = starts(event, until="2029-01-01")[: len(first_days)]
    assert [each[8:10] for each in found] == first_days


@pytest.mark.parametrize(
    "form_values, limits, count",
    [
        ({"range": "noEnd"}, {"type": "noEnd"}, 12),
        ({"range": "endDate", "until": "2026-11-03"}, {"type": "endDate", "endDate": "2026-11-03"}, 3),
        ({"range": "numbered", "times": 2}, {"type": "numbered", "numberOfOccurrences": 2}, 2),
    ],
)
def test_each_range_of_the_form_ends_its_series(fill, form_values, limits, count):
    fill(**START, subject="Ledger review", pattern="weekly", weekly_days=["tuesday"], **form_values)

    event = Event.objects.get()
    assert limits.items() <= event.recurrence["range"].items()
    assert len(starts(event, until="2027-01-12")) == count


def test_all_values_of_the_form_are_stored(fill, owner):
    team = editing.create_calendar(owner, "Team", "iris", timezone.now())
    details = {
        "subject": "Ledger review",
        "place": "Room Spree",
        "show_as": "oof",
        "sensitivity": "private",
        "importance": "high",
        "reminder": "30",
        "categories": "Finance, month end,Finance",
        "notes": "Bring the books.\r\nAll of them.",
        "calendar": team.pk.hex,
    }

    fill(**START, **NO_RECURRENCE, **details)

    event = Event.objects.get()
    assert (event.calendar, event.subject, event.details.location_name) == (team, "Ledger review", "Room Spree")
    assert (event.show_as, event.sensitivity, event.importance) == ("oof", "private", "high")
    assert (event.is_reminder_on, event.reminder_minutes) == (True, 30)
    assert event.categories == ["Finance", "month end"]
    assert (event.body_type, event.body) == ("text", "Bring the books.\nAll of them.")
    assert (str(event.start), event.zone) == ("2026-10-20 10:00:00", "Europe/Berlin")


def test_all_day_event_is_entered_by_its_days(fill):
    fill(is_all_day="on", first_day="2026-10-20", last_day="2026-10-22", subject="Holidays", **NO_RECURRENCE)

    event = Event.objects.get()
    assert event.is_all_day
    assert (str(event.start), str(event.end)) == ("2026-10-20 00:00:00", "2026-10-23 00:00:00")


def test_new_event_form_starts_with_the_day_and_zone_of_the_view(browser):
    page = browser.get("/calendar/events/new?view=week&date=2026-12-24&zone=Asia/Tokyo")

    form = page.context["form"]
    assert str(form["start"].value()) == "2026-12-24T09:00"
    assert form["zone"].value() == "Asia/Tokyo"


@pytest.mark.parametrize(
    "address, start, end",
    [
        ("?start=2026-12-24T13:30", "2026-12-24T13:30", "2026-12-24T14:30"),
        ("?start=2026-12-24T13:30&end=2026-12-24T13:45", "2026-12-24T13:30", "2026-12-24T13:45"),
        ("?start=2026-12-24", "2026-12-24T09:00", "2026-12-24T10:00"),
    ],
)
def test_query_of_the_new_event_page_sets_start_and_end(browser, address, start, end):
    form = browser.get(f"/calendar/events/new{address}").context["form"]

    assert (form["start"].value(), form["end"].value()) == (start, end)


@pytest.mark.parametrize(
    "form_values, field, message",
    [
        ({"subject": ""}, "subject", "required"),
        ({"subject": "x" * 256}, "subject", "255"),
        ({"subject": "a\0b"}, "subject", "Null characters"),
        ({"start": ""}, "start", "Enter a date and a time"),
        ({"start": "yesterday"}, "start", "Enter a date and a time"),
        ({"start": "0001-01-01T00:00"}, "start", "1900"),
        ({"start": "9999-12-31T23:00", "end": "9999-12-31T23:59"}, "start", "4500"),
        ({"end": "2026-10-20T09:59"}, "end", "The end is before the start"),
        ({"end": "2036-10-20T09:59"}, "end", "at most"),
        ({"zone": "Mars/Olympus"}, "zone", "Mars/Olympus"),
        ({"zone": ""}, "zone", "Choose a time zone"),
        ({"pattern": "hourly"}, "pattern", "hourly"),
        ({"pattern": "daily", "daily_interval": "0"}, "daily_interval", "1 or more"),
        ({"pattern": "daily", "daily_interval": "9" * 5000}, "daily_interval", "1 or more"),
        ({"pattern": "daily", "daily_interval": str(2**63)}, "daily_interval", "1 or more"),
        ({"pattern": "daily", "daily_interval": ""}, "daily_interval", "Enter a number"),
        ({"pattern": "weekly", "weekly_days": []}, "weekly_days", "at least one"),
        ({"pattern": "weekly", "weekly_days": ["someday"]}, "weekly_days", "someday"),
        ({"pattern": "absoluteMonthly", "monthly_day": "32"}, "monthly_day", "1 to 31"),
        ({"pattern": "relativeMonthly", "monthly_index": "fifth"}, "monthly_index", "fifth"),
        ({"pattern": "absoluteYearly", "yearly_month": "13"}, "yearly_month", "13"),
        ({"pattern": "weekly", "range": "endDate", "until": ""}, "until", "Enter the last day"),
        ({"pattern": "weekly", "range": "endDate", "until": "2026-10-01"}, "until", "first occurrence"),
        ({"pattern": "weekly", "range": "endDate", "until": "9999-12-31"}, "until", "4500"),
        ({"pattern": "weekly", "range": "numbered", "times": "-1"}, "times", "1 to 999"),
        ({"pattern": "weekly", "range": "numbered", "times": "1000"}, "times", "1 to 999"),
        ({"pattern": "weekly", "range": "forever"}, "range", "forever"),
        ({"show_as": "asleep"}, "show_as", "asleep"),
        ({"reminder": "soon"}, "reminder", "soon"),
        ({"categories": "x" * 256}, "categories", "255"),
        ({"calendar": "nobody's"}, "calendar", "Choose one of the calendars"),
        (
            {"is_all_day": "on", "first_day": "2026-10-20", "last_day": "2026-10-19"},
            "last_day",
            "The end is before the start",
        ),
        ({"is_all_day": "on", "first_day": "20.10.2026"}, "first_day", "2026-10-20"),
        (
            {"is_all_day": "on", "first_day": "9999-12-31", "last_day": "9999-12-31"},
            "last_day",
            "the last possible day",
        ),
    ],
)
def test_error_is_shown_at_its_field_and_nothing_is_saved(fill, form_values, field, message):
    answer = fill(**{**START, **NO_RECURRENCE, "subject": "Ledger review", **form_values})

    assert answer.status_code == 200
    assert list(errors(answer)) == [field]
    assert message in errors(answer)[field][0]
    assert b"Nothing was saved" in answer.content
    assert not Event.objects.exists()


def test_form_values_of_other_patterns_are_ignored(fill):
    fill(**START, subject="Ledger review", pattern="daily", monthly_day="99", until="never", weekly_days=[])

    assert Event.objects.get().recurrence["pattern"]["type"] == "daily"


def test_form_offers_only_calendars_that_the_user_may_change(browser, make_user):
    joao = make_user("joao", first_name="João", last_name="Prado")
    for name, role in (("Seen", Role.READER), ("Written", Role.OPERATOR), ("Hidden", None)):
        calendar = Calendar.objects.create(owner=joao, name=name)
        if role:
            Share.objects.create(calendar=calendar, user_id=int(browser.session["_auth_user_id"]), role=role)

    form = browser.get("/calendar/events/new").context["form"]

    assert [label for _, label in form.fields["calendar"].choices] == ["Calendar", "Written, of João Prado"]
