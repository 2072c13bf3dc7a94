"""Texts in the schedule editor: corrections of wrong ones, and schedules that are pasted."""

import json
from urllib.parse import urlencode

import pytest
import time_machine

from tests.admin.schedule_forms import ADD, BERLIN, SCHEDULE, SUNSET, form_of
from tests.conftest import WEDNESDAY
from tests.site.test_previews import GARBAGE
from triggers.editor.tabs import TABS


@pytest.fixture(autouse=True)
def frozen_clock():
    """Stop the clock."""
    with time_machine.travel(WEDNESDAY, tick=False):
        yield


CRON = {"tab": "cron", "expression": "0 9 * * *"}


@pytest.mark.parametrize(
    "fields, field, value",
    [
        ({"times": "9am; 17h00"}, "times", "09:00, 17:00"),
        (CRON | {"jitter": "10 min"}, "jitter", "PT10M"),
        (CRON | {"jitter": "1h 30m"}, "jitter", "PT1H30M"),
        (CRON | {"skips": "24.12.2026, 12/31/2026"}, "skips", "2026-12-24, 2026-12-31"),
        (CRON | {"skips": "3/4/2026"}, "skips", None),  # March or April
        (CRON | {"extras": "24.12.2026 9.30"}, "extras", "2026-12-24 09:30"),
        (CRON | {"extras": "24.12.2026"}, "extras", None),
        (CRON | {"start": "2027/1/31 8 pm"}, "start", "2027-01-31 20:00"),
        (CRON | {"end": "31.2.2027 8:00"}, "end", None),
        ({"tab": "once", "at": "31.1.2027, 8:00"}, "at", "2027-01-31 08:00"),
        (SUNSET | {"offset": "-45 minutes"}, "offset", "-PT45M"),
    ],
)
def test_texts_of_dates_times_and_durations_are_corrected(browser, collection, fields, field, value):
    posted = form_of(browser, f"{ADD}?tab={fields.get('tab', 'simple')}") | fields

    form = browser.post(ADD, posted).context["form"]

    expected = [] if value is None else [(field, "_use", f"{field}:{value}", f"Use {value}")]
    assert [(each.field, each.button, each.value, each.label) for each in form.offers] == expected
    if value:
        applied = browser.post(SCHEDULE, posted | {"_use": f"{field}:{value}"}).context["form"]
        assert (field in applied.errors, applied[field].value()) == (False, value)


@pytest.mark.parametrize(
    "text, label, corrected",
    [
        (
            '{"format": "quartz", "expression": "0 15 10 * * *", "jitter": "PT1M"}',
            "Use 0 15 10 * * ? as expression",
            {"format": "quartz", "expression": "0 15 10 * * ?", "jitter": "PT1M"},
        ),
        (
            '{"recurrence": {"frequency": "Week", "schedule": {"weekDays": ["Mondays"]}}}',
            "Use Monday as recurrence.schedule.weekDays[0]",
            {"format": "azure", "recurrence": {"frequency": "Week", "schedule": {"weekDays": ["Monday"]}}},
        ),
        (
            '{"format": "crom", "expressions": "@daily"}',
            "Use the names that are known",
            {"format": "cron", "expression": "@daily"},
        ),
        ('{"format": "sundial"}', None, None),
        ('{"format": "cron", "expression": "@daily", "colour": 1}', None, None),
    ],
)
def test_json_is_corrected(browser, collection, text, label, corrected):
    posted = form_of(browser, f"{ADD}?tab=json") | {
        "name": "extra",
        "uri": "http://127.0.0.1:9/",
        "schedule_json": text,
    }

    form = browser.post(ADD, posted).context["form"]

    assert "schedule_json" in form.errors
    assert [each.label for each in form.offers] == ([label] if label else [])
    for offer in form.offers:
        applied = browser.post(SCHEDULE, posted | {offer.button: offer.value}).context["form"]
        assert json.loads(applied["schedule_json"].value()) == corrected


# Pasted texts


@pytest.mark.parametrize(
    "text, tab, values, note",
    [
        ("*/5 * * * *", "cron", {"expression": "*/5 * * * *"}, "Recognized a crontab line: */5 * * * *"),
        ("@daily", "cron", {"expression": "@daily"}, "Recognized a crontab line: @daily"),
        ("0 15 10 ? * MON-FRI", "quartz", {"expression": "0 15 10 ? * MON-FRI"}, "Recognized a Quartz expression: "),
        ("RRULE:FREQ=DAILY;COUNT=3", "rrule", {"rrule": "FREQ=DAILY;COUNT=3"}, "Recognized a rule of iCalendar: "),
        (
            '{"recurrence": {"frequency": "Day", "count": 4}}',
            "simple",
            {"count": "4"},
            "Recognized a recurrence of Azure: ",
        ),
    ],
)
def test_pasted_schedule_opens_its_tab_and_keeps_the_zone(browser, collection, text, tab, values, note):
    before = "sun" if tab != "sun" else "cron"
    form = browser.post(SCHEDULE, form_of(browser, f"{ADD}?tab={before}") | BERLIN | {"_pasted": text}).context["form"]

    assert form["tab"].value() == tab
    assert {name: form[name].value() for name in values} == values
    assert form["time_zone"].value() == "Europe/Berlin"
    assert form.opened.note.startswith(note)


@pytest.mark.parametrize(
    "text", ["Europe/Berlin", "2027-01-01T09:00:00Z", "PT10M", "x" * 30_000, "0 15 10 ? * MON-FRI"]
)
def test_other_pasted_text_changes_nothing(browser, collection, text):
    response = browser.post(SCHEDULE, form_of(browser, f"{ADD}?tab=quartz") | {"_pasted": text})

    assert (response.status_code, response.content) == (204, b"")


AZURE = '{"recurrence": {"frequency": "Week", "schedule": {"weekDays": ["Monday"], "hours": [9], "minutes": [30]}}}'
LINES = "DTSTART;TZID=Europe/Berlin:20270607T100000\nRRULE:FREQ=DAILY"


@pytest.mark.parametrize(
    "tab, name, text, values",
    [
        ("simple", "times", AZURE, {"frequency": "Week", "times": "09:30", "week_days": ["Monday"]}),
        ("cron", "skips", "30 9 * * 1-5", {"expression": "30 9 * * 1-5", "skips": ""}),
        ("cron", "expression", "0 3 * * * /usr/bin/backup", {"expression": "0 3 * * *"}),
        ("cron", "expression", "CRON_TZ=Europe/Berlin\n@daily", {"expression": "@daily", **BERLIN}),
        ("rrule", "rrule", LINES, {"rrule": "FREQ=DAILY", "event_start": "2027-06-07T10:00:00", **BERLIN}),
    ],
)
def test_schedule_pasted_into_its_own_tab_fills_the_fields(browser, collection, tab, name, text, values):
    posted = form_of(browser, f"{ADD}?tab={tab}") | {"_pasted": text, "_pasted_into": name}

    form = browser.post(SCHEDULE, posted).context["form"]

    assert form["tab"].value() == tab
    assert {each: form[each].value() or "" for each in values} == values
    assert form.opened.note.startswith("Recognized ")


@pytest.mark.parametrize("tab, text", [("cron", "30 9  * * MON-FRI"), ("rrule", "FREQ=DAILY"), ("cron", "@Daily")])
def test_value_pasted_into_its_own_field_is_only_inserted(browser, collection, tab, text):
    name = TABS[tab].main

    response = browser.post(SCHEDULE, form_of(browser, f"{ADD}?tab={tab}") | {"_pasted": text, "_pasted_into": name})

    assert response.status_code == 204


def test_pasted_rule_without_a_start_begins_today(browser, collection):
    posted = form_of(browser, ADD) | {"time_zone": "Pacific/Auckland", "_pasted": "RRULE:FREQ=DAILY;BYHOUR=9"}

    form = browser.post(SCHEDULE, posted).context["form"]

    assert form["event_start"].value() == "2026-11-05T00:00:00"
    assert form.opened.note.endswith("The text has no first occurrence: check it.")
    assert form.is_valid() or not set(form.errors) & set(form.tab_form.fields)


def test_recognized_text_is_undone(browser, collection):
    typed = {"frequency": "Week", "week_days": ["Monday", "Friday"], "times": "09:30", "skips": "2026-12-24", **BERLIN}
    posted = form_of(browser, ADD) | typed

    pasted = browser.post(SCHEDULE, posted | {"_pasted": "CRON_TZ=Asia/Tokyo\n@daily"})
    form = pasted.context["form"]
    changed = posted | {"tab": "cron", "expression": "@hourly", "time_zone": "UTC", "_undo": form.fields_before}
    undone = browser.post(SCHEDULE, changed).context["form"]

    assert 'name="_undo"' in pasted.text
    assert undone["tab"].value() == "simple"
    assert {name: undone[name].value() for name in typed} == typed
    assert undone.opened.note == "" == undone.fields_before


@pytest.mark.parametrize("text", [*GARBAGE, "[]", '{"tab": 5}', '{"tab": ["simple", 5], "times": {}}', "[" * 9_999])
def test_damaged_text_to_undo_opens_a_tab(browser, collection, text):
    fields = urlencode({"tab": "cron", "expression": "@daily", "_undo": text}, errors="surrogatepass").encode()

    response = browser.post(SCHEDULE, fields, content_type="application/x-www-form-urlencoded")

    assert response.status_code == 200
