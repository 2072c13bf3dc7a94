"""The repeat section of the event form: patterns, a rule of iCalendar, and JSON are the same recurrence."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from calendars import editing
from calendars.models import Calendar, Event
from tests.calendars.conftest import recurrence, times
from tests.calendars.event_form.filling import START, edit_url, errors
from tests.conftest import NOW

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("today")]

NEW = "/calendar/events/new"
DAILY = {"pattern": {"type": "daily", "interval": 3}, "range": {"type": "noEnd", "startDate": "2026-10-20"}}


@pytest.fixture
def make_series(owner):
    def make(pattern, **limits) -> Event:
        values = {**times("2026-01-05T09:00"), "recurrence": recurrence(pattern, **limits)}
        return editing.create(Calendar.objects.default_of(owner), {"subject": "Stand-up", **values}, NOW)[0]

    return make


def tab_of(event: Event, tab: str) -> str:
    return f"{edit_url(event)}?scope=series&tab={tab}"


@pytest.mark.parametrize("tab", ["outlook", "rrule", "json"])
def test_tabs_are_links_that_show_the_stored_recurrence(browser, make_series, tab):
    page = browser.get(tab_of(make_series("weekly"), tab))

    assert page.context["form"].chosen_tab == tab
    assert f'tab={tab}" aria-current="page"' in page.text
    names = {"outlook": "pattern", "rrule": "rrule", "json": "recurrence_json"}
    assert {name for name in names if f'name="{names[name]}"' in page.text} == {tab}


@pytest.mark.parametrize(
    "limits, rule",
    [
        ({}, "FREQ=WEEKLY;BYDAY=MO"),
        ({"type": "numbered", "numberOfOccurrences": 4}, "FREQ=WEEKLY;BYDAY=MO;COUNT=4"),
        ({"type": "endDate", "endDate": "2026-02-02"}, "FREQ=WEEKLY;UNTIL=20260202;BYDAY=MO"),
    ],
)
def test_rule_of_a_series_is_saved_without_a_change(browser, fill, make_series, limits, rule):
    event = make_series("weekly", **limits)
    stored = Event.objects.values().get()
    address = tab_of(event, "rrule")

    assert browser.get(address).context["form"]["rrule"].value() == rule
    assert fill(address).status_code == 302
    assert {**Event.objects.values().get(), "revision": 0, "updated_at": 0} == {
        **stored,
        "revision": 0,
        "updated_at": 0,
    }


def test_document_of_a_series_is_saved_without_a_change(fill, make_series):
    event = make_series("weekly")
    fill(tab_of(event, "json"), subject="Renamed")

    saved = Event.objects.get()
    assert (saved.subject, saved.recurrence) == ("Renamed", event.recurrence)


@pytest.mark.parametrize("rule", ["FREQ=WEEKLY;BYDAY=TU,TH;COUNT=4", "RRULE:freq=weekly;byday=TU,TH;count=4\n"])
def test_rule_creates_a_series(fill, rule):
    answer = fill(f"{NEW}?tab=rrule", to=NEW, **START, subject="Review", rrule=rule)

    assert answer.status_code == 302
    document = Event.objects.get().recurrence
    assert document["pattern"]["daysOfWeek"] == ["tuesday", "thursday"]
    assert document["range"]["numberOfOccurrences"] == 4


def test_document_creates_a_series_that_begins_with_the_event(fill):
    document = {**DAILY, "range": {"type": "noEnd", "startDate": "2020-01-01"}}

    fill(f"{NEW}?tab=json", to=NEW, **START, subject="Review", recurrence_json=json.dumps(document))

    stored = Event.objects.get().recurrence
    assert (stored["pattern"]["interval"], stored["range"]["startDate"]) == (3, "2026-10-20")


@pytest.mark.parametrize("tab, name", [("rrule", "rrule"), ("json", "recurrence_json")])
def test_empty_field_is_a_single_event(fill, tab, name):
    fill(f"{NEW}?tab={tab}", to=NEW, **START, subject="Review", **{name: ""})

    assert not Event.objects.get().is_series


def test_emptied_rule_ends_the_repetition(fill, make_series):
    fill(tab_of(make_series("weekly"), "rrule"), rrule="")

    assert not Event.objects.get().is_series


@pytest.mark.parametrize(
    "tab, name, value, message",
    [
        ("rrule", "rrule", "FREQ=HOURLY", "FREQ"),
        ("rrule", "rrule", "FREQ=YEARLY;BYWEEKNO=3", "An event cannot express this rule"),
        ("rrule", "rrule", "every day", "is none of FREQ"),
        ("rrule", "rrule", "FREQ=DAILY;BYHOUR=9", "BYHOUR"),
        ("rrule", "rrule", "x" * 1001, "at most 1000"),
        ("json", "recurrence_json", "{", "line 1"),
        ("json", "recurrence_json", "[]", "object"),
        ("json", "recurrence_json", '{"pattern": {"type": "hourly"}, "range": {"type": "noEnd"}}', "hourly"),
        ("json", "recurrence_json", '{"pattern": {"type": "daily", "interval": 1}, "range": 3}', "ust be an object"),
        ("json", "recurrence_json", '{"pattern": 1}', "ust be an object"),
    ],
)
def test_error_stands_at_the_field_of_the_tab(fill, tab, name, value, message):
    answer = fill(f"{NEW}?tab={tab}", to=NEW, **START, subject="Review", **{name: value})

    assert answer.status_code == 200
    assert message in errors(answer)[name][0]
    assert not Event.objects.exists()


def test_posted_form_is_translated_into_the_tab_of_the_address(fill):
    values = {**START, "subject": "Review", "pattern": "weekly", "weekly_days": ["tuesday"]}

    page = fill(to=f"{NEW}?tab=rrule", **values)

    form = page.context["form"]
    assert (form["rrule"].value(), form["subject"].value()) == ("FREQ=WEEKLY;BYDAY=TU", "Review")
    assert page.context["preview"].text.startswith("Every week on Tuesday")
    assert not Event.objects.exists()


def test_rule_is_translated_into_patterns(fill):
    page = fill(f"{NEW}?tab=rrule", to=f"{NEW}?tab=outlook", **START, rrule="FREQ=MONTHLY;BYDAY=-1FR;COUNT=7")

    form = page.context["form"]
    assert form["pattern"].value() == "relativeMonthly"
    assert (form["monthly_index"].value(), form["monthly_weekday"].value(), form["times"].value()) == (
        "last",
        "friday",
        "7",
    )


def test_field_that_cannot_be_translated_is_named(fill):
    page = fill(f"{NEW}?tab=rrule", to=f"{NEW}?tab=outlook", **START, rrule="FREQ=YEARLY;BYWEEKNO=3")

    assert "Not translated: An event cannot express this rule." in page.text
    assert page.context["form"]["pattern"].value() == "none"


def test_preview_reads_the_tab(browser, fill):
    page = fill(f"{NEW}?tab=rrule", to="/calendar/events/preview", **START, rrule="FREQ=DAILY;INTERVAL=2")

    assert page.context["preview"].text.startswith("Every 2 days")


def test_tab_that_does_not_exist_is_ignored(browser, fill):
    assert browser.get(f"{NEW}?tab=sun").context["form"].chosen_tab == "outlook"
    assert fill(**START, subject="Review", tab="sun").status_code == 302


def test_one_occurrence_has_no_tabs(browser, make_series):
    page = browser.get(f"{edit_url(make_series('weekly'), '2026-01-12')}?tab=rrule")

    assert page.status_code == 200
    assert 'name="rrule"' not in page.text


def test_tab_of_a_new_event_keeps_the_proposed_times(browser):
    page = browser.get(f"{NEW}?start=2026-10-22T08:00&tab=json")

    assert "start=2026-10-22T08%3A00&amp;tab=rrule" in page.text
    assert page.context["form"]["start"].value() == "2026-10-22T08:00"


def test_tabs_need_the_same_number_of_queries(browser, make_series):
    event = make_series("weekly")
    counts = set()
    for tab in ("outlook", "rrule", "json"):
        browser.get(tab_of(event, tab))
        with CaptureQueriesContext(connection) as queries:
            browser.get(tab_of(event, tab))
        counts.add(len(queries))

    assert len(counts) == 1
