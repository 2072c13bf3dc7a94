"""Writing events on a page: every choice of the form reaches the core, and what is refused stands beside its field."""

import re
from datetime import timedelta

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from accounts.models import Role
from calendars import editing
from calendars.models import Calendar, Event, Share
from tests.admin.forms import submitted
from tests.calendars.conftest import day, recurrence, starts

pytestmark = pytest.mark.django_db

START = {"start": "2026-10-20T10:00", "end": "2026-10-20T11:00", "zone": "Europe/Berlin"}
NEVER = {"pattern": "none"}


@pytest.fixture(autouse=True)
def today():
    """A page leaves out the year while it is this one."""
    with time_machine.travel("2026-01-01T12:00Z"):
        yield


@pytest.fixture
def browser(client, owner):
    owner.time_zone = "Europe/Berlin"
    owner.save()
    client.force_login(owner)
    return client


@pytest.fixture
def fill(browser):
    """Open a page with the form, write into it as a person would, and send it."""

    def fill_(address="/calendar/events/new", to=None, **written):
        page = browser.get(address).content.decode()
        values = submitted(page, "event_form") | written
        target = to or re.search(r'action="([^"]+)" novalidate', page)[1].replace("&amp;", "&")
        return browser.post(target, values)

    return fill_


def errors(answer) -> dict[str, list[str]]:
    return dict(answer.context["form"].errors)


@pytest.mark.parametrize(
    "written, pattern, first_days",
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
def test_every_pattern_makes_its_series(fill, written, pattern, first_days):
    answer = fill(**START, subject="Ledger review", **written)

    assert answer.status_code == 302
    event = Event.objects.get()
    assert pattern.items() <= event.recurrence["pattern"].items()
    assert event.recurrence["range"]["type"] == "noEnd"
    found = starts(event, until="2029-01-01")[: len(first_days)]
    assert [each[8:10] for each in found] == first_days


@pytest.mark.parametrize(
    "written, limits, count",
    [
        ({"range": "noEnd"}, {"type": "noEnd"}, 12),
        ({"range": "endDate", "until": "2026-11-03"}, {"type": "endDate", "endDate": "2026-11-03"}, 3),
        ({"range": "numbered", "times": 2}, {"type": "numbered", "numberOfOccurrences": 2}, 2),
    ],
)
def test_every_range_ends_its_series(fill, written, limits, count):
    fill(**START, subject="Ledger review", pattern="weekly", weekly_days=["tuesday"], **written)

    event = Event.objects.get()
    assert limits.items() <= event.recurrence["range"].items()
    assert len(starts(event, until="2027-01-12")) == count


def test_all_that_an_event_says_is_kept(fill, owner):
    team = editing.create_calendar(owner, "Team", "iris", timezone.now())
    said = {
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

    fill(**START, **NEVER, **said)

    event = Event.objects.get()
    assert (event.calendar, event.subject, event.details.place) == (team, "Ledger review", "Room Spree")
    assert (event.show_as, event.sensitivity, event.importance) == ("oof", "private", "high")
    assert (event.is_reminder_on, event.reminder_minutes) == (True, 30)
    assert event.categories == ["Finance", "month end"]
    assert (event.body_type, event.body) == ("text", "Bring the books.\nAll of them.")
    assert (str(event.start), event.zone) == ("2026-10-20 10:00:00", "Europe/Berlin")


def test_an_all_day_event_is_written_in_days(fill):
    fill(is_all_day="on", first_day="2026-10-20", last_day="2026-10-22", subject="Holidays", **NEVER)

    event = Event.objects.get()
    assert event.is_all_day
    assert (str(event.start), str(event.end)) == ("2026-10-20 00:00:00", "2026-10-23 00:00:00")


def test_a_new_event_begins_on_the_day_and_in_the_zone_of_the_view(browser):
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
def test_an_address_may_say_when_a_new_event_is(browser, address, start, end):
    form = browser.get(f"/calendar/events/new{address}").context["form"]

    assert (form["start"].value(), form["end"].value()) == (start, end)


@pytest.mark.parametrize(
    "written, field, message",
    [
        ({"subject": ""}, "subject", "required"),
        ({"subject": "x" * 256}, "subject", "255"),
        ({"subject": "a\0b"}, "subject", "Null characters"),
        ({"start": ""}, "start", "Write when"),
        ({"start": "yesterday"}, "start", "Write a day and a time"),
        ({"start": "0001-01-01T00:00"}, "start", "1900"),
        ({"start": "9999-12-31T23:00", "end": "9999-12-31T23:59"}, "start", "4500"),
        ({"end": "2026-10-20T09:59"}, "end", "end before it starts"),
        ({"end": "2036-10-20T09:59"}, "end", "at most"),
        ({"zone": "Mars/Olympus"}, "zone", "Mars/Olympus"),
        ({"zone": ""}, "zone", "Choose a zone"),
        ({"pattern": "hourly"}, "pattern", "hourly"),
        ({"pattern": "daily", "daily_interval": "0"}, "daily_interval", "1 or more"),
        ({"pattern": "daily", "daily_interval": "9" * 5000}, "daily_interval", "1 or more"),
        ({"pattern": "daily", "daily_interval": str(2**63)}, "daily_interval", "1 or more"),
        ({"pattern": "daily", "daily_interval": ""}, "daily_interval", "Write a number"),
        ({"pattern": "weekly", "weekly_days": []}, "weekly_days", "at least one"),
        ({"pattern": "weekly", "weekly_days": ["someday"]}, "weekly_days", "someday"),
        ({"pattern": "absoluteMonthly", "monthly_day": "32"}, "monthly_day", "1 to 31"),
        ({"pattern": "relativeMonthly", "monthly_index": "fifth"}, "monthly_index", "fifth"),
        ({"pattern": "absoluteYearly", "yearly_month": "13"}, "yearly_month", "13"),
        ({"pattern": "weekly", "range": "endDate", "until": ""}, "until", "Write the last day"),
        ({"pattern": "weekly", "range": "endDate", "until": "2026-10-01"}, "until", "first occurrence"),
        ({"pattern": "weekly", "range": "endDate", "until": "9999-12-31"}, "until", "4500"),
        ({"pattern": "weekly", "range": "numbered", "times": "-1"}, "times", "1 or more"),
        ({"pattern": "weekly", "range": "forever"}, "range", "forever"),
        ({"show_as": "asleep"}, "show_as", "asleep"),
        ({"reminder": "soon"}, "reminder", "soon"),
        ({"categories": "x" * 256}, "categories", "255"),
        ({"calendar": "nobody's"}, "calendar", "Choose one of the calendars"),
        ({"is_all_day": "on", "first_day": "2026-10-20", "last_day": "2026-10-19"}, "last_day", "end before it starts"),
        ({"is_all_day": "on", "first_day": "20.10.2026"}, "first_day", "2026-10-20"),
        ({"is_all_day": "on", "first_day": "9999-12-31", "last_day": "9999-12-31"}, "last_day", "no day after"),
    ],
)
def test_what_is_refused_stands_beside_its_field_and_nothing_is_saved(fill, written, field, message):
    answer = fill(**{**START, **NEVER, "subject": "Ledger review", **written})

    assert answer.status_code == 200
    assert list(errors(answer)) == [field]
    assert message in errors(answer)[field][0]
    assert b"Nothing was saved" in answer.content
    assert not Event.objects.exists()


def test_what_does_not_go_with_the_choice_does_not_count(fill):
    fill(**START, subject="Ledger review", pattern="daily", monthly_day="99", until="never", weekly_days=[])

    assert Event.objects.get().recurrence["pattern"]["type"] == "daily"


def test_only_calendars_that_the_viewer_may_change_are_offered(browser, make_user):
    joao = make_user("joao", first_name="João", last_name="Prado")
    for name, role in (("Seen", Role.READER), ("Written", Role.OPERATOR), ("Hidden", None)):
        calendar = Calendar.objects.create(owner=joao, name=name)
        if role:
            Share.objects.create(calendar=calendar, user_id=int(browser.session["_auth_user_id"]), role=role)

    form = browser.get("/calendar/events/new").context["form"]

    assert [label for _, label in form.fields["calendar"].choices] == ["Calendar", "Written, of João Prado"]


# Changing


def edit(event, day: str = "", scope: str = "") -> str:
    named = event.pk.hex + (f"_{day.replace('-', '')}" if day else "")
    return f"/calendar/events/{named}/edit" + (f"?scope={scope}" if scope else "")


@pytest.fixture
def fields_of_series(make_event):
    """A series with exceptions: its fields must come back as they are."""
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
def test_saving_an_untouched_form_changes_nothing(fill, fields_of_series, on, scope):
    event = fields_of_series
    before = Event.objects.values().get(), list(event.exceptions.values())

    answer = fill(edit(event, on, scope))

    assert answer.status_code == 302
    assert (Event.objects.values().get(), list(event.exceptions.values())) == before


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
def test_any_recurrence_comes_back_from_the_form_as_it_went_in(fill, make_event, pattern):
    event = make_event(recurrence=recurrence(pattern))
    before = event.recurrence

    fill(edit(event), subject="Renamed", start=f"{event.start + timedelta(hours=1):%Y-%m-%dT%H:%M}")

    event.refresh_from_db()
    assert event.recurrence["pattern"] | {"firstDayOfWeek": ""} == before["pattern"] | {"firstDayOfWeek": ""}
    assert event.recurrence["range"] == before["range"]


def test_one_occurrence_is_moved_and_the_series_stays(fill, weekly):
    fill(edit(weekly, "2026-01-12"), start="2026-01-13T15:00", end="2026-01-13T16:00")

    assert starts(weekly)[:3] == ["2026-01-05T10:00", "2026-01-13T15:00", "2026-01-19T10:00"]
    assert Event.objects.get().subject == "Stand-up"


def test_a_move_onto_a_neighbour_is_told_at_the_start(fill, weekly):
    answer = fill(edit(weekly, "2026-01-12"), start="2026-01-19T15:00", end="2026-01-19T16:00")

    assert "neighbouring occurrences" in errors(answer)["start"][0]
    assert not weekly.exceptions.exists()


def test_this_and_following_begin_another_series(fill, weekly):
    fill(
        edit(weekly, "2026-01-26", "following"),
        subject="New stand-up",
        start="2026-01-26T11:00",
        end="2026-01-26T12:00",
    )

    old, new = Event.objects.order_by("start")
    assert (old.subject, len(starts(old))) == ("Stand-up", 3)
    assert (new.subject, starts(new)[0], len(starts(new))) == ("New stand-up", "2026-01-26T11:00", 7)


def test_the_form_of_the_rest_counts_what_is_left(browser, weekly):
    form = browser.get(edit(weekly, "2026-01-26", "following")).context["form"]

    assert (form["range"].value(), form["times"].value()) == ("numbered", 7)


def test_from_the_first_occurrence_on_it_is_the_series(browser, weekly):
    page = browser.get(edit(weekly, "2026-01-05", "following"))

    assert page.context["form"].written.scope == "series"
    assert [each["name"] for each in page.context["scopes"]] == ["This occurrence", "The series"]


def test_the_series_is_changed_whole(fill, weekly):
    fill(edit(weekly, "2026-01-26", "series"), subject="Weekly", pattern="weekly", weekly_days=["tuesday"])

    event = Event.objects.get()
    assert event.subject == "Weekly"
    assert starts(event)[:2] == ["2026-01-06T10:00", "2026-01-13T10:00"]


def test_a_series_becomes_a_single_event(fill, weekly):
    fill(edit(weekly, "", ""), pattern="none")

    assert not Event.objects.get().is_series


def test_a_form_tells_what_a_change_takes_away(browser, fields_of_series):
    said = {
        "series": browser.get(edit(fields_of_series, "2026-01-06", "series")).context["consequence"],
        "following": browser.get(edit(fields_of_series, "2026-01-06", "following")).context["consequence"],
    }

    assert said["series"] == (
        "10 occurrences, past ones too. If its days or times change, 2 that differ or are cancelled come afresh."
    )
    assert said["following"].startswith("From Tue 6 January on. The series ends before, and another one begins. If")


def test_an_event_moves_to_another_calendar_with_its_changes(fill, weekly, owner):
    team = editing.create_calendar(owner, "Team", "iris", timezone.now())

    fill(edit(weekly), subject="Moved", calendar=team.pk.hex)

    event = Event.objects.get()
    assert (event.calendar, event.subject) == (team, "Moved")


@pytest.mark.parametrize("scope, on", [("series", ""), ("occurrence", "2026-01-12"), ("following", "2026-01-12")])
def test_a_change_in_the_meantime_is_told_and_may_be_overwritten(browser, weekly, scope, on):
    address = edit(weekly, on, scope)
    values = submitted(browser.get(address).content.decode(), "event_form") | {"subject": "Mine"}
    editing.change(weekly, {"subject": "Theirs"}, timezone.now())

    refused = browser.post(address, values)

    assert refused.context["conflict"]
    assert b"Somebody changed it while you were writing" in refused.content
    assert {each.subject for each in Event.objects.all()} == {"Theirs"}
    again = submitted(refused.content.decode(), "event_form")
    assert browser.post(address, again).status_code == 302
    exceptions = weekly.exceptions.values_list("changes__subject", flat=True)
    assert "Mine" in [*Event.objects.values_list("subject", flat=True), *exceptions]


def test_a_move_with_a_change_in_the_meantime_is_refused_whole(browser, weekly, owner):
    team = editing.create_calendar(owner, "Team", "iris", timezone.now())
    values = submitted(browser.get(edit(weekly)).content.decode(), "event_form") | {"calendar": team.pk.hex}
    editing.change(weekly, {"subject": "Theirs"}, timezone.now())

    assert browser.post(edit(weekly), values).context["conflict"]
    assert Event.objects.get().calendar == weekly.calendar


def test_an_occurrence_that_was_cancelled_meanwhile_leads_to_what_it_is(browser, weekly):
    editing.cancel_occurrence(weekly, day("2026-01-12"), timezone.now())

    answer = browser.get(edit(weekly, "2026-01-12"))

    assert answer.url == f"/calendar/items/{weekly.pk.hex}_20260112"


def test_notes_in_html_are_shown_as_text_and_stay_while_nobody_touches_them(fill, browser, fields_of_series):
    page = browser.get(edit(fields_of_series))
    assert page.context["form"]["notes"].value() == "Bring news"

    fill(edit(fields_of_series), subject="Renamed")
    assert Event.objects.get().body == "<p>Bring <b>news</b></p>"

    fill(edit(fields_of_series), notes="Bring cake")
    event = Event.objects.get()
    assert (event.body, event.body_type) == ("Bring cake", "text")


# Where it leads, and who may


def test_saving_leads_back_to_the_view(fill):
    answer = fill("/calendar/events/new?view=week&date=2026-10-21&zone=UTC", **START, **NEVER, subject="Ledger review")

    assert answer.url == "/calendar/?view=week&date=2026-10-21&zone=UTC"


def test_without_a_view_saving_leads_to_the_day_of_the_event(fill):
    assert fill(**START, **NEVER, subject="Ledger review").url == "/calendar/?date=2026-10-20"


@pytest.mark.parametrize(
    "parameter", ["next=https://evil.example/", "view=//evil.example", "date=https://evil.example"]
)
def test_no_address_leads_elsewhere(fill, parameter):
    answer = fill(f"/calendar/events/new?{parameter}", **START, **NEVER, subject="Ledger review")

    assert answer.url.startswith("/calendar/")
    assert "evil" not in answer.url


@pytest.mark.parametrize("role, status", [(None, 404), (Role.READER, 403), (Role.OPERATOR, 200)])
@pytest.mark.parametrize("page", ["edit", "delete"])
def test_only_who_may_change_an_event_gets_its_form(client, make_user, weekly, calendar, role, status, page):
    olga = make_user("olga")
    if role:
        Share.objects.create(calendar=calendar, user=olga, role=role)
    client.force_login(olga)

    assert client.get(f"/calendar/events/{weekly.pk.hex}/{page}").status_code == status


def test_what_somebody_keeps_to_themselves_is_not_for_others_to_change(client, make_user, make_event, calendar):
    event = make_event(sensitivity="private")
    olga = make_user("olga")
    Share.objects.create(calendar=calendar, user=olga, role=Role.OPERATOR)
    client.force_login(olga)

    assert client.get(edit(event)).status_code == 403
    assert client.post(edit(event), {"subject": "Found out"}).status_code == 403
    assert client.post(f"/calendar/events/{event.pk.hex}/delete").status_code == 403


def test_the_form_asks_who_is_there(client):
    assert client.get("/calendar/events/new").url.startswith("/sign-in/")


def test_a_form_of_another_site_is_refused(weekly, owner):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(owner)

    assert strict.post("/calendar/events/new", START).status_code == 403
    assert strict.post(f"/calendar/items/{weekly.pk.hex}_20260112/cancel").status_code == 403


# The preview


@pytest.fixture
def preview(browser):
    def preview_(address="/calendar/events/preview", **written):
        page = browser.get("/calendar/events/new").content.decode()
        return browser.post(address, submitted(page, "event_form") | START | written)

    return preview_


def test_the_preview_says_it_in_words_with_the_next_ten(preview):
    answer = preview(start="2099-10-20T10:00", end="2099-10-20T11:00", pattern="weekly", weekly_days=["tuesday"])

    meaning = answer.context["meaning"]
    assert meaning.words == "Every week on Tuesday from 10:00 to 11:00 Europe/Berlin."
    assert (meaning.heading, len(meaning.rows)) == ("The next ten", 10)
    assert [(row.day, row.clock, row.beside) for row in meaning.rows[:2]] == [
        ("Tue 20 October 2099", "10:00", "08:00 UTC"),
        ("Tue 27 October 2099", "10:00", "09:00 UTC"),
    ]
    assert meaning.rows[1].asides == ["Clock went back on 25 October"]
    assert meaning.note == "10:00 stays 10:00 in Berlin when its clock changes; in UTC it moves by 1 h."


@pytest.mark.parametrize(
    "start, aside",
    [
        ("2099-03-29T02:30", "Moved from 02:30, which clocks skip"),
        ("2099-10-25T02:30", "02:30 happens twice; this is the first"),
    ],
)
def test_the_preview_tells_what_clocks_do_to_a_time(preview, start, aside):
    single = preview(start=start, end=start, pattern="none").context["meaning"]
    series = preview(start=start, end=start, pattern="daily", daily_interval=1).context["meaning"]

    assert single.rows[0].asides == [aside]
    assert aside in series.rows[0].asides


def test_the_preview_of_a_count_lists_what_is_left(preview):
    meaning = preview(start="2099-01-01T10:00", end="2099-01-01T11:00", pattern="daily", range="numbered", times=3)
    meaning = meaning.context["meaning"]

    assert (meaning.heading, len(meaning.rows)) == ("All that are left", 3)
    assert meaning.words.endswith("until 3 January 2099, 3 times.")


def test_a_preview_shows_the_first_error_and_saves_nothing(preview):
    answer = preview(pattern="daily", daily_interval="0")

    assert "Days between: Take a whole number" in answer.content.decode()
    assert not Event.objects.exists()


def test_a_preview_in_days_has_no_clock(preview):
    meaning = preview(is_all_day="on", first_day="2099-10-20", last_day="2099-10-21", pattern="daily", daily_interval=7)
    meaning = meaning.context["meaning"]

    assert meaning.words == "Every 7 days for 2 days."
    assert (meaning.rows[0].day, meaning.rows[0].clock) == ("Tue 20 October 2099 – Wed 21 October 2099", "")


def test_without_script_a_button_previews(fill):
    answer = fill(**START, pattern="daily", _preview="1")

    assert answer.context["meaning"].words == "Every day from 10:00 to 11:00 Europe/Berlin."
    assert not answer.context["form"].errors
    assert not Event.objects.exists()


def test_the_preview_of_an_occurrence_that_is_gone_says_so(preview, weekly):
    editing.cancel_occurrence(weekly, day("2026-01-12"), timezone.now())

    answer = preview(f"/calendar/events/preview?event={weekly.pk.hex}_20260112")

    assert answer.context["meaning"].error == "This occurrence is not there any more."
