"""What is removed when it is no longer kept, and what stays."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs import pruning
from jobs.models import Action, Attempt, Job, Process, Run
from jobs.pruning import prune
from jobs.run_now import run_now
from tests.conftest import NOW
from triggers.models import Trigger

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
LATER = NOW + 100 * DAY


@pytest.fixture
def make_run():
    """Make a run of a job that ended so long before LATER."""

    def make(job, age, state=Run.State.SUCCEEDED, **fields):
        run = run_now(job, LATER - age)
        Run.objects.filter(pk=run.pk).update(state=state, finished_at=LATER - age, **fields)
        Attempt.objects.create(run=run, job=job, number=1, started_at=LATER - age)
        return run

    return make


def test_history_is_kept_for_sixty_days(make_job, make_run):
    job = make_job()
    old, young = make_run(job, 60 * DAY + timedelta(seconds=1)), make_run(job, 59 * DAY)

    prune(LATER)

    assert list(Run.objects.all()) == [young]
    assert [attempt.run_id for attempt in Attempt.objects.all()] == [young.pk]
    assert not Run.objects.filter(pk=old.pk).exists()


def test_an_open_run_stays_however_old(make_job, make_run):
    run = make_run(make_job(), 99 * DAY)
    Run.objects.update(state=Run.State.RETRYING, finished_at=None)

    prune(LATER)

    assert list(Run.objects.all()) == [run]


def test_an_error_action_goes_with_its_run(make_job, make_run):
    job = make_job()
    run = make_run(job, 90 * DAY)
    make_run(job, 90 * DAY, parent=run)

    prune(LATER)

    assert not Run.objects.exists()


def test_a_run_stays_as_long_as_its_error_action(make_job, make_run):
    job = make_job()
    run = make_run(job, 90 * DAY)
    error_run = make_run(job, 89 * DAY, parent=run)
    Run.objects.filter(pk=error_run.pk).update(state=Run.State.RETRYING, finished_at=None)

    prune(LATER)

    assert set(Run.objects.all()) == {run, error_run}


def test_only_the_newest_runs_of_a_job_are_kept(make_job, make_run, settings):
    settings.RETENTION_RUNS = 3
    busy, quiet = make_job("busy"), make_job("quiet")
    runs = [make_run(busy, age * DAY) for age in range(6)]
    other = make_run(quiet, 10 * DAY)

    prune(LATER)

    assert set(Run.objects.all()) == {*runs[:3], other}


def test_an_open_run_beyond_the_newest_stays(make_job, make_run, settings):
    settings.RETENTION_RUNS = 1
    job = make_job()
    waiting = run_now(job, LATER - 5 * DAY)
    newest = make_run(job, DAY)
    make_run(job, 2 * DAY)

    prune(LATER)

    assert set(Run.objects.all()) == {waiting, newest}


@pytest.mark.parametrize(
    "state, age, stays", [("completed", 61, False), ("faulted", 61, False), ("completed", 59, True)]
)
def test_jobs_that_ended_long_ago_are_removed(make_job, state, age, stays):
    job = make_job()
    Job.objects.filter(pk=job.pk).update(state=state, finished_at=LATER - age * DAY)

    prune(LATER)

    assert Job.objects.exists() is stays
    assert Trigger.objects.exists() is stays


def test_the_history_of_a_removed_job_stays_for_its_own_time(make_job, make_run):
    job = make_job()
    run = make_run(job, 30 * DAY)
    Job.objects.filter(pk=job.pk).update(state="completed", finished_at=LATER - 61 * DAY)

    prune(LATER)

    run.refresh_from_db()
    assert (run.job, run.job_name) == (None, "backup")


def test_versions_of_actions_are_removed_when_nothing_points_at_them(make_job, make_run):
    job = make_job()
    run = make_run(job, DAY)
    of_the_run = job.action
    make_job(action={"type": "Http", "request": {"uri": "http://127.0.0.1:9/new", "method": "GET"}})
    orphan = Action.objects.create(document={})

    prune(LATER)

    job.refresh_from_db()
    run.refresh_from_db()
    assert run.action == of_the_run != job.action
    assert not Action.objects.filter(pk=orphan.pk).exists()
    assert Action.objects.count() == 2


def test_processes_that_are_long_silent_are_removed(db):
    for name, age in (("dead", 2 * DAY), ("silent", timedelta(hours=1))):
        Process.objects.create(kind="worker", name=name, started_at=NOW, seen_at=LATER - age)

    prune(LATER)

    assert [process.name for process in Process.objects.all()] == ["silent"]


def test_rows_go_in_batches(make_job, make_run, monkeypatch):
    monkeypatch.setattr(pruning, "BATCH", 2)
    job = make_job()
    for age in range(70, 75):
        make_run(job, age * DAY)

    prune(LATER)

    assert not Run.objects.exists()


def test_what_is_left_after_many_batches_goes_next_time(make_job, make_run, monkeypatch):
    monkeypatch.setattr(pruning, "BATCH", 1)
    monkeypatch.setattr(pruning, "BATCHES", 2)
    job = make_job()
    for age in range(70, 73):
        make_run(job, age * DAY)

    prune(LATER)
    assert Run.objects.count() == 1
    prune(LATER)

    assert not Run.objects.exists()


def test_jobs_with_little_history_cost_nothing_each(make_job, make_run):
    make_run(make_job("one"), DAY)
    with CaptureQueriesContext(connection) as for_one:
        prune(LATER)
    for number in range(10):
        make_run(make_job(f"job-{number}"), DAY)

    with CaptureQueriesContext(connection) as for_many:
        prune(LATER)

    assert len(for_many) == len(for_one)
