"""Lists and pages of jobs and triggers that maintenance holds, or that have no next run."""

import re
from datetime import timedelta

import pytest
import time_machine

from jobs.models import Run
from jobs.pages.next_runs import next_run_in_words, no_run_reason
from scheduler_site import dashboard
from tests.calendars.notices.reading import words
from tests.maintenance.notices import EIGHT, HOURLY, MINUTE, T0, announce, dispatch, holds, resource
from triggers.definitions import TriggerDefinition
from triggers.models import Trigger
from triggers.scheduling import save_trigger, set_job_state

pytestmark = pytest.mark.django_db

JOBS, TRIGGERS = "/admin/jobs/job/", "/admin/triggers/trigger/"
OFF = TriggerDefinition(format="quartz", definition={"expression": "0 0 12 * * ?"}, enabled=False)


@pytest.fixture(autouse=True)
def clock(fixed_start):
    """Stop the clock half an hour before the first fire time."""
    with time_machine.travel(T0, tick=False) as clock:
        yield clock


@pytest.fixture
def job(make_job):
    job = make_job(schedule=HOURLY, now=T0)
    holds(job)
    return job


@pytest.fixture
def db2(subscription):
    return resource(subscription)


def cell(page: str, label: str = "Next run") -> str:
    return words(re.search(rf'<td[^>]*data-label="{label}"[^>]*>(.*?)</td>', page, re.DOTALL)[1])


def test_job_list_shows_the_next_run_after_maintenance(browser, job, db2):
    notice = announce(db2, not_before=EIGHT - MINUTE, duration_s=600)

    page = browser.get(JOBS).text

    expected = "in 39 min today 08:09 Held by maintenance: Reboot of db-2 , planned today 08:00"
    assert cell(page) == expected
    assert f'href="/maintenance/notices/{notice.pk}/"' in page


def test_job_list_shows_that_the_end_of_maintenance_is_unknown(browser, job, db2):
    announce(db2, has_started=True)

    assert cell(browser.get(JOBS).text).startswith("time unknown Held by maintenance: Reboot of db-2")


def test_job_list_shows_a_held_run(browser, job, db2, clock):
    announce(db2, not_before=EIGHT - MINUTE, duration_s=600)
    dispatch(EIGHT)
    clock.move_to(EIGHT + MINUTE)

    assert Run.objects.get().state == Run.State.HELD
    assert cell(browser.get(JOBS).text).startswith("in 8 min today 08:09 Held by maintenance")


def test_job_list_shows_the_next_run_without_maintenance(browser, job):
    assert cell(browser.get(JOBS).text) == "in 30 min today 08:00"


@pytest.mark.parametrize(
    "triggers, expected",
    [
        ([False], "its trigger is disabled"),
        ([False, False], "its triggers are disabled"),
        ([], "manual only"),
    ],
)
def test_job_list_shows_why_there_is_no_next_run(browser, make_job, triggers, expected):
    job = make_job(schedule=None, now=T0)
    for number, _ in enumerate(triggers):
        save_trigger(job, f"off-{number}", OFF, T0)

    assert cell(browser.get(JOBS).text) == expected
    assert no_run_reason(job, job.triggers.all()).short == expected


def test_job_list_shows_that_no_fire_times_are_left(browser, make_job):
    job = make_job(schedule=None, now=T0)
    once = TriggerDefinition(format="once", definition={"at": "2026-01-05T07:30:00Z"})
    save_trigger(job, "once", once, T0)
    dispatch(T0)
    assert cell(browser.get(JOBS).text) == "no more runs"

    save_trigger(job, "off", OFF, T0)

    assert cell(browser.get(JOBS).text) == "only disabled triggers left"


def test_job_page_shows_the_hold_of_each_fire_time(browser, job, db2):
    announce(db2, not_before=EIGHT - MINUTE, duration_s=7200)

    page = words(browser.get(f"{JOBS}{job.pk}/").text)

    assert "Next ten runs in 2 h 29 min" in page
    assert "Held by maintenance: Reboot of db-2; a later fire time runs instead" in page
    assert "Held by maintenance: Reboot of db-2; it runs once afterwards, at about today 09:59" in page
    assert "Held by maintenance: Reboot of db-2 , until today 09:59" in page


def test_trigger_list_shows_the_hold_of_the_next_run(browser, job, db2):
    announce(db2, not_before=EIGHT - MINUTE, duration_s=600)

    expected = "in 30 min today 08:00 Held by maintenance: Reboot of db-2 , until today 08:09"
    assert cell(browser.get(TRIGGERS).text, "Next run") == expected


def test_home_shows_the_start_after_maintenance(owner, job, db2):
    announce(db2, not_before=EIGHT - MINUTE, duration_s=3720)

    outlook = dashboard.next_hours(owner, T0)

    assert [f"{fire:%H:%M}" for fire in outlook["fires"]] == ["09:01"]
    assert [f"{line['at']:%H:%M}" for line in outlook["lines"]] == ["09:01"]


@pytest.mark.parametrize("members", [{"has_started": True}, {"not_before": EIGHT - MINUTE, "duration_s": 9000}])
def test_home_shows_no_start_if_the_hold_lasts_longer(owner, job, db2, members):
    announce(db2, **members)

    assert dashboard.next_hours(owner, T0)["fires"] == []


def test_home_shows_the_start_of_a_held_run(owner, make_job, db2):
    job = make_job(schedule={"startTime": "2026-01-05T08:00:00Z", "recurrence": {"frequency": "Day"}}, now=T0)
    holds(job)
    announce(db2, not_before=EIGHT - MINUTE, duration_s=600)
    dispatch(EIGHT)

    outlook = dashboard.next_hours(owner, EIGHT + MINUTE)

    expected = [(f"{line['at']:%H:%M}", line["job"], line["words"]) for line in outlook["lines"]]
    assert expected == [("08:09", job, "held by maintenance: Reboot of db-2 until then")]
    assert [f"{fire:%H:%M}" for fire in outlook["fires"]] == ["08:09"]
    assert outlook["summary"] == "1 run of 1 job"


def test_home_shows_one_start_of_runs_released_at_the_same_time(owner, job, db2):
    announce(db2, not_before=EIGHT - MINUTE, duration_s=62 * 60)
    dispatch(EIGHT)

    outlook = dashboard.next_hours(owner, EIGHT + MINUTE)

    assert [f"{fire:%H:%M}" for fire in outlook["fires"]] == ["09:01", "10:00"]


@pytest.mark.parametrize("members", [{"has_started": True}, {"not_before": EIGHT - MINUTE, "duration_s": 3 * 3600}])
def test_home_shows_no_start_of_a_run_that_is_held_for_longer(owner, job, db2, members):
    announce(db2, **members)
    dispatch(EIGHT)

    assert dashboard.next_hours(owner, EIGHT + MINUTE)["fires"] == []


def test_message_after_saving_names_the_next_run(job, db2):
    assert next_run_in_words(job, T0) == "The next run is today 08:00 UTC."

    announce(db2, not_before=EIGHT - MINUTE, duration_s=600)
    expected = "The next run is today 08:09 UTC, held by maintenance: Reboot of db-2 until then."
    assert next_run_in_words(job, T0) == expected

    announce(db2, has_started=True)
    expected = "The next run is held by maintenance: Reboot of db-2; its time is unknown."
    assert next_run_in_words(job, T0) == expected


def test_lists_take_the_same_number_of_queries_for_any_number_of_held_jobs(
    browser, make_job, subscription, django_assert_max_num_queries, django_assert_num_queries
):
    def add(count: int) -> None:
        for number in range(count):
            name = f"db-{count}-{number}"
            holds(make_job(name, schedule=HOURLY, now=T0), name)
            announce(resource(subscription, name), not_before=EIGHT - MINUTE, duration_s=600)

    for address in (JOBS, TRIGGERS):
        add(1)
        browser.get(address)
        with django_assert_max_num_queries(14) as one:
            browser.get(address)
        add(9)
        with django_assert_num_queries(len(one)):
            assert browser.get(address).text.count("Held by maintenance") >= 10
        Trigger.objects.all().delete()
        subscription.notices.all().delete()
        subscription.resources.all().delete()
        subscription.collections.get().jobs.all().delete()


def test_disabled_job_is_not_shown_as_held(browser, job, db2):
    announce(db2, has_started=True)
    set_job_state(job, "disabled", T0 + timedelta(seconds=1))

    assert cell(browser.get(JOBS).text) == "Disabled"


def test_disabled_trigger_is_not_shown_as_held(browser, make_job, db2):
    job = make_job(schedule=None, now=T0)
    holds(job)
    save_trigger(job, "off", OFF, T0)
    announce(db2, has_started=True)

    assert cell(browser.get(TRIGGERS).text, "Next run") == "disabled"
