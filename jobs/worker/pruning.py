"""Remove old rows: history, jobs that ended long ago, and versions of actions without a reference.

Rows are removed in batches, each in its own short transaction.  After each batch pruning waits as long as the batch
took.  So it uses at most half of the time of a database that has one writer at a time.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet, Subquery

from accounts.models import IdempotencyKey, SignInCounter
from jobs.models import Action, Job, Outage, Process, PruningProgress, Run

BATCH = 500  # rows in one transaction
JOBS_BATCH = 20  # jobs in one transaction, which also changes their runs and attempts
RUNS_PER_SCAN = 10_000  # ended runs whose jobs are checked together
ACTIONS_PER_SCAN = 5_000
ACTION_SCANS = 10  # in one pruning; the next pruning continues after them
DEAD_AFTER = timedelta(days=1)  # a process that has not reported for so long does not come back
# a run is removed after its error action, which may be open or locked; a join would read all runs
WITHOUT_ERROR_RUN = ~Exists(Run.objects.filter(parent=OuterRef("pk")))

IsOver = Callable[[], bool]


def never() -> bool:
    return False


def prune(now: datetime, is_over: IsOver = never) -> bool:
    """Keep RETENTION_DAYS of history and at most RETENTION_RUNS runs of each job; open runs stay.

    Return True if everything is done; False if `is_over` returned True after a batch.
    """
    cutoff = now - timedelta(days=settings.RETENTION_DAYS)
    Process.objects.filter(seen_at__lt=now - DEAD_AFTER).delete()
    outages = Outage.objects.filter(ended_at__lt=cutoff).order_by("ended_at")
    counters = SignInCounter.objects.filter(ends_at__lt=now).order_by("ends_at")
    keys = IdempotencyKey.objects.filter(ends_at__lt=now).order_by("ends_at")
    old = Run.objects.filter(WITHOUT_ERROR_RUN, finished_at__lt=cutoff).order_by("finished_at")
    return (
        remove(counters, is_over)
        and remove(keys, is_over)
        and remove(outages, is_over)
        and remove(old, is_over)
        and remove_surplus_runs(is_over)
        and remove_ended_jobs(cutoff, is_over)
        and remove_orphans(is_over)
    )


def remove(rows: QuerySet, is_over: IsOver, lock: str = "self", batch: int | None = None) -> bool:
    """Delete `rows` in their order, except rows that another transaction has locked; never wait for a lock.

    If `lock` names a foreign key, the rows that it points to are locked instead.  Return True if no row is left;
    False if `is_over` returned True first.
    """
    rows = rows.only("pk") if lock == "self" else rows.select_related(lock).only(lock)
    rows = rows.select_for_update(of=(lock,), skip_locked=True, no_key=lock != "self")
    while True:
        started = time.monotonic()
        with transaction.atomic():
            ids = [row.pk for row in rows[: batch or BATCH]]
            rows.model._default_manager.filter(pk__in=ids).delete()
        if not ids:
            return True
        if is_over():
            return False
        time.sleep(time.monotonic() - started)


def remove_ended_jobs(cutoff: datetime, is_over: IsOver) -> bool:
    ended = Job.objects.filter(finished_at__lt=cutoff, state__in=Job.FINAL).order_by("finished_at")
    # like every writer of a job, see jobs/locking.py
    return remove(ended, is_over, lock="collection", batch=JOBS_BATCH)


# Runs of a job beyond RETENTION_RUNS


def remove_surplus_runs(is_over: IsOver) -> bool:
    """Check the jobs whose runs ended since the last pruning: no other job can have too many runs."""
    limit = settings.RETENTION_RUNS
    progress = PruningProgress.current()
    since = progress.runs_until if progress.runs_kept is not None and progress.runs_kept <= limit else None
    while (until := end_of_scan(since)) is not None:
        for job_id in crowded_jobs(since, until):
            if not remove(surplus(job_id), is_over):
                return False
        PruningProgress.objects.update(runs_until=until, runs_kept=limit)
        since = until
        if is_over():
            return False
    return True


def ended_runs(since: datetime | None) -> QuerySet[Run]:
    return Run.objects.filter(finished_at__isnull=False) if since is None else Run.objects.filter(finished_at__gt=since)


def end_of_scan(since: datetime | None) -> datetime | None:
    """Return when the RUNS_PER_SCAN-th run after `since` ended, or the last one of fewer; None without any."""
    times = ended_runs(since).order_by("finished_at").values_list("finished_at", flat=True)
    return times[RUNS_PER_SCAN - 1 : RUNS_PER_SCAN].first() or times.reverse().first()


def crowded_jobs(since: datetime | None, until: datetime) -> list[int]:
    """Return the jobs with runs that ended in (since, until] and with more than RETENTION_RUNS runs."""
    limit = settings.RETENTION_RUNS
    beyond = Run.objects.filter(job=OuterRef("pk"))[limit : limit + 1]
    active = ended_runs(since).filter(finished_at__lte=until).values("job_id")
    return list(Job.objects.filter(Exists(beyond), pk__in=active).values_list("pk", flat=True))


def surplus(job_id: int) -> QuerySet[Run]:
    """Return the finished runs of a job that are older than its newest RETENTION_RUNS."""
    limit = settings.RETENTION_RUNS
    runs = Run.objects.filter(job_id=job_id).order_by("-fire_at")
    newest_surplus = Subquery(runs.values("fire_at")[limit : limit + 1])
    return runs.filter(WITHOUT_ERROR_RUN, fire_at__lte=newest_surplus, finished_at__isnull=False)


# Versions of actions without a reference


def remove_orphans(is_over: IsOver) -> bool:
    """Check the versions after those that the last pruning checked; after the last one, begin again at the first."""
    since = PruningProgress.current().actions_until
    for _ in range(ACTION_SCANS):
        later = Action.objects.filter(pk__gt=since).order_by("pk")
        last = later.values_list("pk", flat=True)[ACTIONS_PER_SCAN - 1 : ACTIONS_PER_SCAN].first()
        checked = later if last is None else later.filter(pk__lte=last)
        if not remove(orphans(checked), is_over):
            return False
        since = last or 0
        PruningProgress.objects.update(actions_until=since)
        if last is None:
            return True
        if is_over():
            return False
    return True


def orphans(actions: QuerySet[Action]) -> QuerySet[Action]:
    """Return the versions that no job and no run refers to."""
    of_job, of_run = (Exists(model.objects.filter(action=OuterRef("pk"))) for model in (Job, Run))
    return actions.filter(~of_job, ~of_run)
