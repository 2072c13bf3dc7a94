"""Remove what nobody needs any more: old history, jobs that ended long ago, versions of actions nothing points at.

Rows go in batches of their own transactions, so that nobody waits long; what is left after BATCHES of them goes at
the next time.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q

from jobs.models import Action, Job, Process, Run

BATCH = 500
BATCHES = 200
LONE = Q(error_run=None)  # a run goes after its error action, which may be open still, or in somebody's hands
DEAD_AFTER = timedelta(days=1)  # a process that has been silent for so long is not coming back


def prune(now: datetime) -> None:
    """Keep RETENTION_DAYS of history and at most RETENTION_RUNS runs of a job; runs that are open stay."""
    cutoff = now - timedelta(days=settings.RETENTION_DAYS)
    remove(Run, Run.objects.filter(LONE, finished_at__lt=cutoff).order_by("finished_at"))
    for job_id in crowded_jobs():
        remove(Run, surplus(job_id))
    ended = Job.objects.filter(finished_at__lt=cutoff, state__in=Job.FINAL)
    remove(Job, ended.order_by("finished_at"), lock="collection")  # as whoever writes a job, see jobs/locking.py
    remove(Action, orphans())
    Process.objects.filter(seen_at__lt=now - DEAD_AFTER).delete()


def remove(model, rows, lock: str = "self") -> None:
    """Delete `rows`, a queryset, in its order, except those that somebody else has locked, so that it waits for none.

    With `lock` it is not they that are to be free, but the rows to which that foreign key leads.
    """
    rows = rows.only("pk") if lock == "self" else rows.select_related(lock).only(lock)
    rows = rows.select_for_update(of=(lock,), skip_locked=True, no_key=lock != "self")
    for _ in range(BATCHES):
        with transaction.atomic():
            ids = [row.pk for row in rows[:BATCH]]
            model.objects.filter(pk__in=ids).delete()
        if not ids:
            return


def crowded_jobs() -> Iterable[int]:
    """The jobs with more runs than are kept of one."""
    counted = Run.objects.exclude(job=None).order_by().values("job_id").annotate(runs=Count("pk"))
    return list(counted.filter(runs__gt=settings.RETENTION_RUNS).values_list("job_id", flat=True))


def surplus(job_id: int):
    """The finished runs of a job that are older than the newest RETENTION_RUNS."""
    runs = Run.objects.filter(job_id=job_id).order_by("-fire_at")
    newest_surplus = runs.values_list("fire_at", flat=True)[settings.RETENTION_RUNS]
    return runs.filter(LONE, fire_at__lte=newest_surplus, finished_at__isnull=False)


def orphans():
    """Versions of actions that neither a job nor a run points at."""
    in_use_by = (Exists(model.objects.filter(action=OuterRef("pk"))) for model in (Job, Run))
    return Action.objects.exclude(next(in_use_by)).exclude(next(in_use_by)).order_by("pk")
