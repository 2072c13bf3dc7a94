"""Runs that come while another one is going on with which they must not overlap: skipped, or one after the other.

Runs with one lock key exclude each other.  A job's runs have a key of the job, unless they may run side by side; those
of a trigger that names a key have that instead, and whichever finds it taken is skipped.

That they never overlap where they must not is a constraint of the database (`run_lock`); here is decided who starts.
"""

import uuid
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

from jobs.finishing import finish_jobs
from jobs.models import Job, Run

QUEUE_LIMIT = 100  # runs of a job that wait with the policy queue_all
QUEUE_CHECK = timedelta(seconds=10)  # a queued run looks again; it is told earlier when its turn has come

PLACES: dict[str, int] = {
    Job.Overlap.ALLOW: 0,
    Job.Overlap.SKIP: 0,
    Job.Overlap.QUEUE_ONE: 1,
    Job.Overlap.QUEUE_ALL: QUEUE_LIMIT,
}
QUEUEING = (Job.Overlap.QUEUE_ONE, Job.Overlap.QUEUE_ALL)

BUSY = "another run of this job was still going"
TAKEN = "another run held its lock key"
NAMED = "key:"  # begins a key that a trigger names
ORGANIZATION = "__ORG_ID__"  # within such a key: stands for the subscription


def job_lock_key(job_id: int, policy: str) -> str | None:
    return None if policy == Job.Overlap.ALLOW else f"job:{job_id}"


def named_lock_key(key: str, subscription_id: uuid.UUID) -> str:
    """Keys never reach beyond a subscription, whether they name it or not."""
    return f"{NAMED}{subscription_id}:{key.replace(ORGANIZATION, str(subscription_id))}"


def admit(runs: Sequence[Run], now: datetime) -> list[Run]:
    """Those that the overlap policy lets start now.  Of the others, some wait for their turn, the rest are skipped."""
    contested = [run for run in runs if run.lock_key and run.state == Run.State.WAITING]
    if not contested:
        return list(runs)
    lines = _lines(contested)
    holders = Run.objects.filter(lock_key__in=lines, state__in=Run.BEGUN)
    held = set(holders.values_list("lock_key", flat=True))
    starting = {line.pop(0) for key, line in lines.items() if key not in held}
    blocked = [run for run in contested if run.pk not in starting]
    skipped = [run for run in blocked if lines[run.lock_key].index(run.pk) >= PLACES[_policy(run)]]
    queued = [run for run in blocked if run not in skipped]
    Run.objects.filter(pk__in=[run.pk for run in queued]).update(publish_after=now + QUEUE_CHECK)
    for reason, is_named in ((BUSY, False), (TAKEN, True)):
        ids = [run.pk for run in skipped if _is_named(run) is is_named]
        Run.objects.filter(pk__in=ids).update(state=Run.State.SKIPPED, reason=reason, finished_at=now)
    finish_jobs([run.job_id for run in skipped if run.is_last], Job.State.COMPLETED, now)
    return [run for run in runs if run not in blocked]


def call_next(ended: Sequence[Run], now: datetime) -> None:
    """Let those look again that wait for the end of one of these runs."""
    freed = [run for run in ended if run.lock_key and _policy(run) in QUEUEING]
    if freed:
        keys = {run.lock_key for run in freed}
        waiting = Run.objects.filter(
            job_id__in={run.job_id for run in freed}, lock_key__in=keys, state=Run.State.WAITING
        )
        # not those that a gate is about to hold, which may wait for the runs that ended; they look again by themselves
        ids = list(waiting.select_for_update(no_key=True, skip_locked=True).values_list("pk", flat=True))
        Run.objects.filter(pk__in=ids).update(publish_after=now)


def _is_named(run: Run) -> bool:
    return (run.lock_key or "").startswith(NAMED)


def _policy(run: Run) -> str:
    if _is_named(run):
        return Job.Overlap.SKIP
    return run.job.overlap if run.job else Job.Overlap.ALLOW


def _lines(contested: Sequence[Run]) -> dict[str | None, list[uuid.UUID]]:
    """By lock key, the runs that wait for it, first come first: all there are where a job's runs queue, else these."""
    lines: dict[str | None, list[uuid.UUID]] = defaultdict(list)
    for run in contested:
        lines[run.lock_key].append(run.pk)
    if queueing := [run for run in contested if _policy(run) in QUEUEING]:
        keys = {run.lock_key for run in queueing}
        waiting = Run.objects.filter(
            job_id__in={run.job_id for run in queueing}, lock_key__in=keys, state=Run.State.WAITING
        )
        lines.update({key: [] for key in keys})
        for key, run_id in waiting.order_by("fire_at", "priority", "id").values_list("lock_key", "pk"):
            lines[key].append(run_id)
    return lines
