"""The panel next to the form of a schedule: frequency, zones, closed days, jitter, and what a change changes."""

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from recurrence.comparison import LIMIT
from tests.admin.forms import submitted
from tests.admin.trigger_pages import PREVIEW, add_url, trigger_url
from tests.conftest import WEDNESDAY
from triggers import closed_days
from triggers.models import Trigger

DAILY = {"startTime": "2026-11-05T08:00:00Z", "recurrence": {"frequency": "Day"}}


@pytest.fixture(autouse=True)
def frozen_clock():
    """Stop the clock."""
    with time_machine.travel(WEDNESDAY, tick=False):
        yield


@pytest.fixture
def office(subscription):
    """A calendar that closes 5 November 2026, the day after the frozen clock, and weekends."""
    document = {"weekend": ["saturday", "sunday"], "dates": [{"date": "2026-11-05", "name": "Guy Fawkes"}]}
    return closed_days.create(subscription, "office", document, WEDNESDAY)


@pytest.fixture
def preview_of(browser, job, make_trigger):
    """Return a function that opens the form of a trigger with this schedule."""

    def preview_of(definition: dict, format: str = "azure"):
        Trigger.objects.all().delete()
        trigger = make_trigger(job, format=format, definition=definition, now=WEDNESDAY)
        return browser.get(trigger_url(trigger, "change"))

    return preview_of


def texts(page) -> list[list[str]]:
    return [[mark.text for mark in row["marks"]] for row in page.context["preview"].rows]


def closed(rule: str) -> dict:
    return {"closedDays": {"calendar": "office", "rule": rule}}


def test_preview_says_how_often_it_runs(preview_of):
    assert "24 runs a day." in preview_of({"expression": "@hourly"}, "cron").text


def test_preview_of_a_single_run_has_no_frequency(preview_of):
    page = preview_of({"at": "2026-11-06T00:00:00Z"}, "once")

    assert page.context["preview"].frequency == ""


def test_times_of_the_same_zone_have_one_column(preview_of):
    page = preview_of({"expression": "0 9 * * *"}, "cron")

    assert page.context["preview"].zones is None
    assert 'class="zone"' not in page.text.partition('id="preview"')[2]


def test_times_of_two_zones_have_the_day_of_the_other_zone_where_it_differs(preview_of, owner):
    type(owner).objects.update(time_zone="America/New_York")

    page = preview_of({"expression": "0 3 * * *", "timeZone": "Asia/Tokyo"}, "cron")

    row = page.context["preview"].rows[0]
    assert page.context["preview"].zones == ("New York", "Tokyo")
    assert (row["day"], row["clock"], row["own_day"], row["own_clock"]) == (
        "Wed 4 November",
        "13:00",
        "Thu 5 Nov",
        "03:00",
    )
    assert "New York, your time" in page.text


def test_moved_runs_name_the_closed_day(preview_of, office):
    page = preview_of(DAILY | closed("after"))

    assert texts(page)[0] == ["moved from Thu 5 Nov, Guy Fawkes"]
    assert texts(page)[1] == ["moved from Sat 7 Nov, weekend; Sun 8 Nov, weekend"]


def test_runs_left_out_are_named_at_the_next_run(preview_of, office):
    page = preview_of(DAILY | closed("skip") | {"skips": ["2026-11-06"]})

    assert texts(page)[0] == [
        "left out before: Thu 5 Nov, Guy Fawkes; Fri 6 Nov, skipped; Sat 7 Nov, weekend and more days"
    ]


def test_added_runs_are_marked(preview_of):
    page = preview_of(DAILY | {"extras": ["2026-11-05T20:00:00Z"]})

    assert texts(page)[:2] == [[], ["added"]]


def test_jitter_is_shown_as_a_window_in_the_zone_of_the_viewer(preview_of, owner):
    type(owner).objects.update(time_zone="Europe/Berlin")

    assert texts(preview_of(DAILY | {"jitter": "PT10M"}))[0] == ["starts between 09:00 and 09:10"]
    assert texts(preview_of(DAILY | {"jitter": "PT16H"}))[0] == ["starts between 09:00 and 01:00 the next day"]


# What a change changes


@pytest.fixture
def change(submit_form, job, make_trigger):
    """Return a function that previews a changed daily trigger."""
    trigger = make_trigger(job, now=WEDNESDAY, format="quartz", definition={"expression": "0 0 9 * * ?"})

    def change(**fields):
        return submit_form(trigger_url(trigger, "change"), to=f"{PREVIEW}?trigger={trigger.pk}", **fields)

    return change


def changes_in(page) -> list[tuple[str, int, str]]:
    return [(each.name, each.count, each.first) for each in page.context["preview"].changes.changes]


def test_unchanged_schedule_has_no_changes(change):
    assert change().context["preview"].changes is None


def test_moved_runs_are_counted(change):
    page = change(expression="0 0 10 * * ?")

    assert changes_in(page) == [("Moved", 30, "tomorrow 09:00 to 10:00")]
    assert "30 runs" in page.text


def test_added_and_removed_runs_are_counted(change):
    page = change(expression="0 0 9,17 ? * MON-FRI")

    assert changes_in(page) == [("Added", 22, "today 17:00"), ("Removed", 8, "Sat 7 November, 09:00")]
    assert page.context["preview"].changes.unchanged_count == 22


@pytest.mark.parametrize("days, count", [("30", 30), ("90", 90), ("365", 365), ("1000000", 30), ("x", 30)])
def test_number_of_days_is_chosen_among_three(change, days, count):
    page = change(expression="0 0 10 * * ?", compare_days=days)

    assert changes_in(page)[0][1] == count
    assert f'value="{count}" id="compare_days_{count}"\n         checked' in page.text


def test_another_spelling_of_the_same_times_changes_no_run(change):
    assert "No run changes." in change(expression="0 0 9 1-31 * ?").text


def test_comparison_is_bounded(change):
    page = change(expression="* * * * * ?", compare_days="365")

    assert page.context["preview"].changes.until == "today 13:55"
    assert f"at most {LIMIT} runs are compared" in page.text


def test_changes_continue_the_count_of_the_stored_schedule(change):
    Trigger.objects.update(fires_left=3)

    assert changes_in(change(expression="0 0 10 * * ?"))[0] == ("Moved", 3, "tomorrow 09:00 to 10:00")


def test_stopped_trigger_is_compared_by_its_rule(change):
    Trigger.objects.update(next_fire_at=None)

    assert changes_in(change(expression="0 0 10 * * ?")) == [("Moved", 30, "tomorrow 09:00 to 10:00")]


def test_stored_schedule_that_cannot_be_read_is_not_compared(change):
    Trigger.objects.update(definition={"expression": "nonsense"}, next_fire_at=None)

    assert change(expression="0 0 10 * * ?").context["preview"].changes is None


def test_choice_of_days_is_sent_with_the_preview(browser, job, make_job, make_trigger):
    for address in (add_url(job), "/admin/jobs/job/add/"):
        assert "compare_days" in browser.get(address).context["form"].preview_field_names.split(",")


def test_preview_button_compares_without_javascript(submit_form, job, make_trigger):
    trigger = make_trigger(job, now=WEDNESDAY, format="quartz", definition={"expression": "0 0 9 * * ?"})

    fields = {"expression": "0 0 10 * * ?", "compare_days": "90", "_preview": "1"}
    page = submit_form(trigger_url(trigger, "change"), **fields)

    assert changes_in(page)[0][1] == 90
    trigger.refresh_from_db()
    assert trigger.definition["expression"] == "0 0 9 * * ?"


def test_comparison_needs_no_further_queries(change):
    change(expression="0 0 10 * * ?")

    with CaptureQueriesContext(connection) as unchanged:
        change()
    with CaptureQueriesContext(connection) as changed:
        change(expression="0 0 10 * * ?", compare_days="365")

    assert len(changed) == len(unchanged)


def test_removed_schedule_of_a_job_names_the_runs_that_are_removed(browser, make_job, collection):
    job = make_job(schedule=DAILY, now=WEDNESDAY)
    form = submitted(browser.get(f"/admin/jobs/job/{job.pk}/change/").text, "job_form")

    page = browser.post(f"/admin/jobs/job/preview/?job={job.pk}", form | {"frequency": "None", "tab": "none"})

    assert changes_in(page) == [("Removed", 30, "tomorrow 08:00")]


def test_correction_is_offered_in_the_preview_while_typing(browser, job):
    fields = submitted(browser.get(f"{add_url(job)}&tab=quartz").text, "trigger_form")

    typed = browser.post(f"{PREVIEW}?job={job.pk}", fields | {"expression": "0 15 10 * * *"}).text
    misspelt = browser.post(f"{PREVIEW}?job={job.pk}", fields | {"time_zone": "Europe/Berln"}).text
    other = browser.post("/admin/jobs/job/preview/", {"tab": "cron", "expression": "0 15 10 ? * MON"}).text

    assert 'value="expression:0 15 10 * * ?"' in typed
    assert 'value="time_zone:Europe/Berlin"' in misspelt
    assert 'name="_recognize"' in other
    assert 'hx-post="/admin/triggers/trigger/schedule/' in typed
