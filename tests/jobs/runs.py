"""Dispatch runs as a beat does, and read their states."""

from datetime import timedelta

from jobs.models import Run
from tests.jobs.conftest import START
from triggers.dispatch import dispatch_due

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
INTERVAL = timedelta(seconds=15)
ONCE = {"startTime": "2026-01-05T08:00:00Z"}
TWICE_MORE = {"retryType": "Fixed", "retryCount": 2, "retryInterval": "PT15S"}
NO_RETRY = {"retryType": "None"}


def dispatched(at=START):
    """Return the runs of a dispatch, earliest first."""
    ids = [run.id for run in dispatch_due(at)]
    return list(Run.objects.filter(pk__in=ids).order_by("fire_at", "job_name"))


def the_run(at=START):
    (run,) = dispatched(at)
    return run


def attempts_of(run):
    return list(run.attempts.order_by("number"))


def counters(job):
    job.refresh_from_db()
    return job.execution_count, job.failure_count, job.faulted_count


def states(*runs):
    for run in runs:
        run.refresh_from_db()
    return [run.state for run in runs]


def take(worker, *runs):
    return worker.start_runs([str(run.pk) for run in runs])
