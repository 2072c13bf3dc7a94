"""The page of a run that something held, or that another run blocked."""

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


def page_of(browser, run: Run):
    return browser.get(f"/admin/jobs/run/{run.pk}/change/")


def activity(page) -> list[str]:
    part = re.search(r'<ol class="activity">(.*?)</ol>', page.text, re.DOTALL)[1]
    return [words(step) for step in re.findall(r"<li.*?</li>", part, re.DOTALL)]


def carry_out(run: Run, at) -> None:
    record([(item, AttemptResult(True, "200 OK")) for item in lease([str(run.pk)], "worker", at)], at + SECOND)
    run.refresh_from_db()


def test_the_hold_stays_on_the_run_when_it_is_over(browser, job, db2):
    notice = announce(db2, has_started=True)
    dispatch(EIGHT)
    complete(notice, EIGHT + 30 * MINUTE)
    run = Run.objects.get()
    carry_out(run, EIGHT + 30 * MINUTE)

    page = page_of(browser, run)

    assert activity(page)[:3] == [
        "08:00:00 Due by the schedule occurrence 1",
        "08:00:00 Held by maintenance: Reboot of db-2 until 08:30:00",
        "08:30:00 Released after 30 min",
    ]
    assert f'<a href="/maintenance/notices/{notice.pk}/">Held by maintenance: Reboot of db-2</a>' in page.text
    assert [stage["name"] for stage in page.context["timeline"]][:3] == ["Planned", "Held", "Started"]
    assert page.context["timeline"][2]["note"] == "after 30 min, held for 30 min"
    assert activity(page)[-1].endswith("started 30 min late, held for 30 min")


def test_the_legend_of_the_outcomes_has_held(browser, job, db2):
    announce(db2, has_started=True)
    dispatch(EIGHT)

    page = browser.get(f"/admin/jobs/job/{job.pk}/").text

    assert re.search(r'<a href="[^"]*" data-state="held"', page)
    legend = re.search(r'<p class="legend".*?</p>', page, re.DOTALL)[0]
    assert '<i data-state="held"></i></span>held' in legend


def test_a_run_that_is_still_held_says_for_how_long(browser, job, db2):
    announce(db2, has_started=True)
    dispatch(EIGHT)

    steps = activity(page_of(browser, Run.objects.get()))

    assert steps[1] == "08:00:00 Held by maintenance: Reboot of db-2 for 2 h 00 min now"
    assert len(steps) == 2


def test_a_notice_that_is_forgotten_is_named_and_leads_nowhere(browser, job, db2):
    notice = announce(db2, has_started=True)
    dispatch(EIGHT)
    complete(notice, EIGHT + MINUTE)
    notice.delete()

    page = page_of(browser, Run.objects.get())

    assert "Held by maintenance: Reboot of db-2" in page.text
    assert "/maintenance/notices/" not in page.text


def test_a_run_that_was_skipped_leads_to_the_one_that_was_still_going(browser, make_job):
    make_job(schedule=HOURLY, now=T0)
    dispatch(EIGHT)
    dispatch(EIGHT + HOUR)
    first, second = Run.objects.order_by("fire_at")
    lease([str(first.pk)], "worker", EIGHT)
    lease([str(second.pk)], "worker", EIGHT + HOUR)

    page = page_of(browser, second)

    assert activity(page)[1:] == [
        "09:00:00 An earlier run was still going that of today 08:00",
        "09:00:00 Skipped another run of this job was still going",
    ]
    assert f'<a href="/admin/jobs/run/{first.pk}/change/">that of today 08:00</a>' in page.text


def test_a_run_that_waits_says_for_which_and_goes_on_to_say_so(browser, make_job):
    make_job(schedule=HOURLY, now=T0, overlap="queue_one")
    dispatch(EIGHT)
    dispatch(EIGHT + HOUR)
    first, second = Run.objects.order_by("fire_at")
    [going] = lease([str(first.pk)], "worker", EIGHT)
    lease([str(second.pk)], "worker", EIGHT + HOUR)
    assert activity(page_of(browser, second))[1] == "09:00:00 Waits for an earlier run that of today 08:00"

    record([(going, AttemptResult(True, "200 OK"))], EIGHT + HOUR + MINUTE)
    carry_out(second, EIGHT + HOUR + MINUTE)

    assert activity(page_of(browser, second))[1] == "09:01:00 Waited for an earlier run that of today 08:00"


def test_a_run_whose_history_is_gone_is_said_to_be(browser, make_job):
    make_job(schedule=HOURLY, now=T0)
    dispatch(EIGHT)
    dispatch(EIGHT + HOUR)
    first, second = Run.objects.order_by("fire_at")
    lease([str(first.pk)], "worker", EIGHT)
    lease([str(second.pk)], "worker", EIGHT + HOUR)
    first.delete()

    assert activity(page_of(browser, second))[1].endswith("its history is gone")


def test_a_run_that_waited_for_nothing_says_so_by_saying_nothing(browser, make_job):
    make_job(schedule=HOURLY, now=T0)
    dispatch(EIGHT)
    run = Run.objects.get()
    carry_out(run, EIGHT)

    assert [step.split(" ", 1)[1] for step in activity(page_of(browser, run))] == [
        "Due by the schedule occurrence 1",
        "Attempt 1 succeeded 200 OK",
        "Succeeded",
    ]
