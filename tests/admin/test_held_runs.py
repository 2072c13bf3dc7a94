"""The page of a run that was held by maintenance or blocked by another run."""

import re
from datetime import timedelta

import pytest
import time_machine

from jobs.actions import AttemptResult
from jobs.models import Run
from jobs.worker.leasing import lease
from jobs.worker.results import record
from tests.calendars.notices.reading import words
from tests.maintenance.notices import EIGHT, HOUR, HOURLY, MINUTE, T0, announce, complete, dispatch, holds, resource

pytestmark = pytest.mark.django_db

SECOND = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def clock(fixed_start):
    with time_machine.travel(EIGHT + 2 * HOUR, tick=False) as clock:
        yield clock


@pytest.fixture
def job(make_job):
    job = make_job(schedule=HOURLY, now=T0)
    holds(job)
    return job


@pytest.fixture
def db2(subscription):
    return resource(subscription)


def get_run_page(browser, run: Run):
    return browser.get(f"/admin/jobs/run/{run.pk}/change/")


def parse_activity(page) -> list[str]:
    part = re.search(r'<ol class="activity">(.*?)</ol>', page.text, re.DOTALL)[1]
    return [words(step) for step in re.findall(r"<li.*?</li>", part, re.DOTALL)]


def execute(run: Run, at) -> None:
    record([(item, AttemptResult(True, "200 OK")) for item in lease([str(run.pk)], "worker", at)], at + SECOND)
    run.refresh_from_db()


def test_run_page_shows_a_past_hold(browser, job, db2):
    notice = announce(db2, has_started=True)
    dispatch(EIGHT)
    complete(notice, EIGHT + 30 * MINUTE)
    run = Run.objects.get()
    execute(run, EIGHT + 30 * MINUTE)

    page = get_run_page(browser, run)

    assert parse_activity(page)[:3] == [
        "08:00:00 Due by schedule occurrence 1",
        "08:00:00 Held by maintenance: Reboot of db-2 until 08:30:00",
        "08:30:00 Released after 30 min",
    ]
    assert f'<a href="/maintenance/notices/{notice.pk}/">Held by maintenance: Reboot of db-2</a>' in page.text
    assert [stage["name"] for stage in page.context["timeline"]][:3] == ["Planned", "Held", "Started"]
    assert page.context["timeline"][2]["note"] == "after 30 min, held for 30 min"
    assert parse_activity(page)[-1].endswith("started 30 min late, held for 30 min")


def test_legend_of_outcomes_contains_held_runs(browser, job, db2):
    announce(db2, has_started=True)
    dispatch(EIGHT)

    page = browser.get(f"/admin/jobs/job/{job.pk}/").text

    assert re.search(r'<a href="[^"]*" data-state="held"', page)
    legend = re.search(r'<p class="legend".*?</p>', page, re.DOTALL)[0]
    assert '<i data-state="held"></i></span>held' in legend


def test_run_page_shows_how_long_a_run_has_been_held(browser, job, db2):
    announce(db2, has_started=True)
    dispatch(EIGHT)

    steps = parse_activity(get_run_page(browser, Run.objects.get()))

    assert steps[1] == "08:00:00 Held by maintenance: Reboot of db-2 for 2 h 00 min so far"
    assert len(steps) == 2


def test_run_page_names_a_deleted_notice_without_a_link(browser, job, db2):
    notice = announce(db2, has_started=True)
    dispatch(EIGHT)
    complete(notice, EIGHT + MINUTE)
    notice.delete()

    page = get_run_page(browser, Run.objects.get())

    assert "Held by maintenance: Reboot of db-2" in page.text
    assert "/maintenance/notices/" not in page.text


def test_skipped_run_links_to_the_run_that_blocked_it(browser, make_job):
    make_job(schedule=HOURLY, now=T0)
    dispatch(EIGHT)
    dispatch(EIGHT + HOUR)
    first, second = Run.objects.order_by("fire_at")
    lease([str(first.pk)], "worker", EIGHT)
    lease([str(second.pk)], "worker", EIGHT + HOUR)

    page = get_run_page(browser, second)

    assert parse_activity(page)[1:] == [
        "09:00:00 An earlier run was still running the run of today 08:00",
        "09:00:00 Skipped another run of this job was still going",
    ]
    assert f'<a href="/admin/jobs/run/{first.pk}/change/">the run of today 08:00</a>' in page.text


def test_run_page_shows_for_which_run_it_waits_or_waited(browser, make_job):
    make_job(schedule=HOURLY, now=T0, overlap="queue_one")
    dispatch(EIGHT)
    dispatch(EIGHT + HOUR)
    first, second = Run.objects.order_by("fire_at")
    [leased] = lease([str(first.pk)], "worker", EIGHT)
    lease([str(second.pk)], "worker", EIGHT + HOUR)
    assert (
        parse_activity(get_run_page(browser, second))[1] == "09:00:00 Waits for an earlier run the run of today 08:00"
    )

    record([(leased, AttemptResult(True, "200 OK"))], EIGHT + HOUR + MINUTE)
    execute(second, EIGHT + HOUR + MINUTE)

    assert (
        parse_activity(get_run_page(browser, second))[1] == "09:01:00 Waited for an earlier run the run of today 08:00"
    )


def test_run_page_says_that_the_blocking_run_was_deleted(browser, make_job):
    make_job(schedule=HOURLY, now=T0)
    dispatch(EIGHT)
    dispatch(EIGHT + HOUR)
    first, second = Run.objects.order_by("fire_at")
    lease([str(first.pk)], "worker", EIGHT)
    lease([str(second.pk)], "worker", EIGHT + HOUR)
    first.delete()

    assert parse_activity(get_run_page(browser, second))[1].endswith("its history was deleted")


def test_run_page_without_waiting_shows_no_waiting_step(browser, make_job):
    make_job(schedule=HOURLY, now=T0)
    dispatch(EIGHT)
    run = Run.objects.get()
    execute(run, EIGHT)

    assert [step.split(" ", 1)[1] for step in parse_activity(get_run_page(browser, run))] == [
        "Due by schedule occurrence 1",
        "Attempt 1 succeeded 200 OK",
        "Succeeded",
    ]
