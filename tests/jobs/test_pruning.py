"""Pruning: which old rows are removed, and which stay."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.models import Action, Attempt, Job, Process, PruningProgress, Run
from jobs.run_now import run_now
from jobs.worker import pruning
from jobs.worker.pruning import prune
from tests.conftest import NOW
from triggers.models import Trigger

pytestmark = [pytest.mark.django_db, pytest.mark.database]

DAY = timedelta(days=1)
LATER = NOW + 100 * DAY


@pytest.fixture
def make_run():
    """Return a function that creates a run that ended `age` before LATER."""

    def make(job, age, state=Run.State.SUCCEEDED, **fields):
        run = run_now(job, LATER - age)
        Run.objects.filter(pk=run.pk).update(state=state, finished_at=LATER - age, **fields)
        Attempt.objects.create(run=run, job=job, number=1, started_at=LATER - age)
        return run

    return make


def test_history_is_stored_for_sixty_days(make_job, make_run):
    job = make_job()
    old, young = make_run(job, 60 * DAY + timedelta(seconds=1)), make_run(job, 59 * DAY)

    prune(LATER)

    assert list(Run.objects.all()) == [young]
    assert [attempt.run_id for attempt in Attempt.objects.all()] == [young.pk]
    assert not Run.objects.filter(pk=old.pk).exists()


def test_open_run_is_not_pruned_at_any_age(make_job, make_run):
    run = make_run(make_job(), 99 * DAY)
    Run.objects.update(state=Run.State.RETRYING, finished_at=None)

    prune(LATER)

    assert list(Run.objects.all()) == [run]


def test_error_action_is_pruned_with_its_run(make_job, make_run):
    job = make_job()
    run = make_run(job, 90 * DAY)
    make_run(job, 90 * DAY, parent=run)

    prune(LATER)

    assert not Run.objects.exists()


def test_run_is_not_pruned_before_its_error_action(make_job, make_run):
    job = make_job()
    run = make_run(job, 90 * DAY)
    error_run = make_run(job, 89 * DAY, parent=run)
    Run.objects.filter(pk=error_run.pk).update(state=Run.State.RETRYING, finished_at=None)

    prune(LATER)

    assert set(Run.objects.all()) == {run, error_run}


def test_only_the_newest_runs_of_a_job_stay(make_job, make_run, settings):
    settings.RETENTION_RUNS = 3
    busy, quiet = make_job("busy"), make_job("quiet")
    runs = [make_run(busy, age * DAY) for age in range(6)]
    other = make_run(quiet, 10 * DAY)

    prune(LATER)

    assert set(Run.objects.all()) == {*runs[:3], other}


def test_open_run_beyond_the_newest_is_not_pruned(make_job, make_run, settings):
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


def test_history_of_a_pruned_job_stays_until_it_is_old_itself(make_job, make_run):
    job = make_job()
    run = make_run(job, 30 * DAY)
    Job.objects.filter(pk=job.pk).update(state="completed", finished_at=LATER - 61 * DAY)

    prune(LATER)

    run.refresh_from_db()
    assert (run.job, run.job_name) == (None, "backup")


def test_actions_are_pruned_when_no_row_refers_to_them(make_job, make_run):
    job = make_job()
    run = make_run(job, DAY)
    action_of_run = job.action
    make_job(action={"type": "Http", "request": {"uri": "http://127.0.0.1:9/new", "method": "GET"}})
    orphan = Action.objects.create(document={})

    prune(LATER)

    job.refresh_from_db()
    run.refresh_from_db()
    assert run.action == action_of_run != job.action
    assert not Action.objects.filter(pk=orphan.pk).exists()
    assert Action.objects.count() == 2


def test_processes_without_reports_for_long_are_pruned(db):
    for name, age in (("dead", 2 * DAY), ("silent", timedelta(hours=1))):
        Process.objects.create(kind="worker", name=name, started_at=NOW, seen_at=LATER - age)

    prune(LATER)

    assert [process.name for process in Process.objects.all()] == ["silent"]


def test_rows_are_pruned_in_batches(make_job, make_run, monkeypatch):
    monkeypatch.setattr(pruning, "BATCH", 2)
    job = make_job()
    for age in range(70, 75):
        make_run(job, age * DAY)

    prune(LATER)

    assert not Run.objects.exists()


def test_pruning_stops_after_a_batch_when_its_time_is_over_and_continues_later(make_job, make_run, monkeypatch):
    monkeypatch.setattr(pruning, "BATCH", 1)
    job = make_job()
    for age in range(70, 73):
        make_run(job, age * DAY)

    assert not prune(LATER, is_over=lambda: Run.objects.count() < 2)
    assert Run.objects.count() == 1
    assert prune(LATER)

    assert not Run.objects.exists()


def test_surplus_runs_are_found_in_several_scans(make_job, make_run, settings, monkeypatch):
    monkeypatch.setattr(pruning, "RUNS_PER_SCAN", 2)
    settings.RETENTION_RUNS = 1
    jobs = [make_job(f"job-{number}") for number in range(3)]
    newest = {make_run(job, DAY) for job in jobs}
    for age in range(2, 6):
        make_run(jobs[age % 2], age * DAY)

    prune(LATER)

    assert set(Run.objects.all()) == newest


def test_pruning_does_not_scan_runs_again(make_job, make_run, settings):
    settings.RETENTION_RUNS = 2
    quiet, busy = make_job("quiet"), make_job("busy")
    make_run(quiet, 5 * DAY)
    prune(LATER)
    busy_runs = [make_run(busy, age * DAY) for age in (3, 2, 1)]

    since = PruningProgress.current().runs_until

    assert pruning.crowded_jobs(since, LATER) == [busy.pk]
    assert list(pruning.ended_runs(since).order_by("finished_at")) == busy_runs


def test_lower_limit_of_runs_scans_all_jobs_again(make_job, make_run, settings):
    job = make_job()
    runs = [make_run(job, age * DAY) for age in (1, 2, 3)]
    prune(LATER)

    settings.RETENTION_RUNS = 1
    prune(LATER)

    assert list(Run.objects.all()) == runs[:1]


def test_actions_are_scanned_in_turns(monkeypatch):
    monkeypatch.setattr(pruning, "ACTIONS_PER_SCAN", 1)
    monkeypatch.setattr(pruning, "ACTION_SCANS", 2)
    for _ in range(3):
        Action.objects.create(document={})

    prune(LATER)
    assert Action.objects.count() == 1
    prune(LATER)
    Action.objects.create(document={})
    prune(LATER)

    assert not Action.objects.exists()


def test_two_concurrent_prunings_remove_the_same_rows_as_one(make_job, make_run, settings, monkeypatch):
    """The second one finds its jobs just before the first one removes their surplus runs."""
    settings.RETENTION_RUNS = 1
    job = make_job()
    newest = make_run(job, DAY)
    make_run(job, 2 * DAY)
    find_jobs = pruning.crowded_jobs

    def find_jobs_twice(since, until):
        jobs = find_jobs(since, until)
        monkeypatch.setattr(pruning, "crowded_jobs", find_jobs)
        prune(LATER)
        return jobs

    monkeypatch.setattr(pruning, "crowded_jobs", find_jobs_twice)
    prune(LATER)

    assert list(Run.objects.all()) == [newest]


def test_batches_of_old_runs_are_read_from_an_index(make_job, make_run):
    one = make_run(make_job(), 70 * DAY)
    copied = ("subscription_id", "job_name", "collection_name", "publish_after", "state")
    Run.objects.bulk_create(
        Run(fire_at=LATER, finished_at=LATER - 90 * DAY, **{name: getattr(one, name) for name in copied})
        for _ in range(3000)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")

    with CaptureQueriesContext(connection) as queries:
        prune(LATER)

    reading = next(query["sql"] for query in queries if 'ORDER BY "jobs_run"."finished_at"' in query["sql"])
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {'' if connection.vendor == 'postgresql' else 'QUERY PLAN'} {reading}")
        plan = "\n".join(str(line[-1]) for line in cursor.fetchall())
    assert "run_finished" in plan
    assert not re.search("Seq Scan|SCAN jobs_run|SCAN U0|Sort|TEMP B-TREE", plan), plan
    assert not Run.objects.exists()


def test_number_of_queries_does_not_depend_on_the_number_of_jobs_with_little_history(make_job, make_run):
    prune(LATER)  # the first pruning creates the row of its progress
    make_run(make_job("one"), DAY)
    with CaptureQueriesContext(connection) as for_one:
        prune(LATER)
    for number in range(10):
        make_run(make_job(f"job-{number}"), DAY / 2)

    with CaptureQueriesContext(connection) as for_many:
        prune(LATER)

    assert len(for_many) == len(for_one)
