"""Decide what happens to runs that must not overlap with a run that is still going: they are skipped or queued.

Runs with the same lock key exclude each other.  The runs of a job have the key of the job, unless they may run at the
same time.  The runs of a trigger that names a key have that key instead; a run that finds it taken is skipped.

Runs that make up for missed fire times always have a lock key.  They queue for it in the order of their fire times,
whatever the overlap policy says about other runs.

A constraint of the database (`run_lock`) guarantees that runs with the same key never overlap.  This module decides
which run starts.
"""

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any, NamedTuple

from django.db.models import BigIntegerField, Q

from jobs import bulk_sql
from jobs.finishing import finish_jobs
from jobs.models import Job, Run, Unindexed

QUEUE_LIMIT = 100  # runs of a job that may wait with the policy queue_all
QUEUE_CHECK = timedelta(seconds=10)  # a queued run checks again after this time; `release_next` wakes it earlier

PLACES: dict[str, int] = {
    Job.Overlap.ALLOW: 0,
    Job.Overlap.SKIP: 0,
    Job.Overlap.QUEUE_ONE: 1,
    Job.Overlap.QUEUE_ALL: QUEUE_LIMIT,
}
IN_LINE = ("fire_at", "priority", "id")
QUEUEING = (Job.Overlap.QUEUE_ONE, Job.Overlap.QUEUE_ALL)

BUSY = "another run of this job was still going"
TAKEN = "another run held its lock key"
MADE_UP = "made up for, after the runs before it"
NAMED = "key:"  # prefix of a key that a trigger names
ORGANIZATION = "__ORG_ID__"  # placeholder for the subscription in such a key


def job_lock_key(job_id: int, policy: str, is_made_up: bool = False) -> str | None:
    return None if policy == Job.Overlap.ALLOW and not is_made_up else f"job:{job_id}"


def named_lock_key(key: str, subscription_id: uuid.UUID) -> str:
    """Return the lock key of a trigger that names `key`.

    It is valid within its subscription only, whether or not `key` contains the placeholder.
    """
    return f"{NAMED}{subscription_id}:{key.replace(ORGANIZATION, str(subscription_id))}"


def admit(runs: Sequence[Run], now: datetime) -> list[Run]:
    """Return the runs that may start now.  Of the others, some wait in the queue, the rest are skipped."""
    contested = [run for run in runs if run.lock_key and run.state == Run.State.WAITING]
    if not contested:
        return list(runs)
    queues, active = _queues_for(contested, now)
    starting = {key: queue.pop(0).id for key, queue in queues.items() if key not in active}
    blocked = [run for run in contested if run.pk != starting.get(run.lock_key)]
    queued = [run for run in blocked if _may_wait(run, queues[run.lock_key])]
    skipped = [run for run in blocked if run not in queued]
    blocking = {**starting, **active}
    _block(queued, blocking, publish_after=[now + QUEUE_CHECK] * len(queued))
    _block(
        skipped,
        blocking,
        state=[Run.State.SKIPPED] * len(skipped),
        reason=[TAKEN if _is_named(run) else BUSY for run in skipped],
        finished_at=[now] * len(skipped),
    )
    finish_jobs([run.job_id for run in skipped if run.is_last], Job.State.COMPLETED, now)
    return [run for run in runs if run not in blocked]


def _block(runs: Sequence[Run], blocking: Mapping[str | None, uuid.UUID], **changes: Sequence[Any]) -> None:
    """Save `changes` of runs that cannot start, and the run that has their lock key as `blocked_by`."""
    if runs:
        blocked_by = [blocking[run.lock_key] for run in runs]
        bulk_sql.update(Run, [run.pk for run in runs], {**changes, "blocked_by": blocked_by})


def release_next(ended: Sequence[Run], now: datetime) -> None:
    """Publish the first run of each queue that waits for the end of one of these runs."""
    releasing = [run for run in ended if run.lock_key and _can_queue(run)]
    if releasing:
        keys = {run.lock_key for run in releasing}
        waiting = Run.objects.filter(
            may_begin(now), job_id__in={run.job_id for run in releasing}, lock_key__in=keys, state=Run.State.WAITING
        )
        # skip runs that a gate is about to hold, which may wait for the ended runs; skipped runs check again later
        unlocked = waiting.order_by(*IN_LINE).select_for_update(no_key=True, skip_locked=True)
        first: dict[str | None, uuid.UUID] = {}
        for key, run_id in unlocked.values_list("lock_key", "pk"):
            first.setdefault(key, run_id)
        Run.objects.filter(pk__in=list(first.values())).publish(now)


def may_begin(now: datetime) -> Q:
    """Return the condition that the jitter of a waiting run is over."""
    return Q(not_before=None) | Q(not_before__lte=now)


def _is_named(run: Run) -> bool:
    return (run.lock_key or "").startswith(NAMED)


def _policy(run: Run) -> str:
    if _is_named(run):
        return Job.Overlap.SKIP
    return run.job.overlap if run.job else Job.Overlap.ALLOW


def _can_queue(run: Run) -> bool:
    return bool(run.is_made_up) or _policy(run) in QUEUEING


def _may_wait(run: Run, queue: Sequence["Waiting"]) -> bool:
    """Return True if a run that cannot start waits.  Made-up runs take no place in the queue of other runs."""
    if run.is_made_up:
        return True
    ahead = [other for other in takewhile(lambda other: other.id != run.pk, queue) if not other.is_made_up]
    return len(ahead) < PLACES[_policy(run)]


class Waiting(NamedTuple):
    """A run in the queue for a lock key.  The order of its fields is the order of the queue."""

    fire_at: datetime
    priority: int
    id: uuid.UUID
    is_made_up: bool | None


Lines = dict[str | None, list[Waiting]]


def _queues_for(contested: Sequence[Run], now: datetime) -> tuple[Lines, dict[str | None, uuid.UUID]]:
    """Return the queues and the runs that have the lock, both by lock key.  Each queue is in starting order.

    A queue has all waiting runs if the job's policy queues.  Otherwise it has the contested runs and the made-up runs:
    a new run must not start between two made-up runs.  A run that waits for its jitter is in no queue yet.
    """
    keys, jobs = {run.lock_key for run in contested}, [run.job_id for run in contested if run.job_id]
    columns = ("lock_key", "state", *Waiting._fields)
    of_keys = Run.objects.filter(lock_key__in=keys).order_by()
    of_job = Unindexed("job_id", output_field=BigIntegerField())  # the index by job contains its whole history
    made_up = of_keys.alias(of_job=of_job).filter(
        may_begin(now), of_job__in=jobs, is_made_up=True, state=Run.State.WAITING
    )
    active: dict[str | None, uuid.UUID] = {}
    queues: dict[str | None, set[Waiting]] = defaultdict(set)
    for run in contested:
        queues[run.lock_key].add(Waiting(run.fire_at, run.priority, run.pk, run.is_made_up))
    rows = of_keys.filter(state__in=Run.BEGUN).values_list(*columns).union(made_up.values_list(*columns), all=True)
    for key, state, *fields in rows:
        waiting = Waiting(*fields)
        if state == Run.State.WAITING:
            queues[key].add(waiting)
        else:
            active[key] = waiting.id
    if queueing := [run for run in contested if _can_queue(run)]:
        keys = {run.lock_key for run in queueing}
        jobs = [run.job_id for run in contested if run.lock_key in keys and run.job_id]
        of_jobs = Run.objects.filter(may_begin(now), job_id__in=jobs, lock_key__in=keys, state=Run.State.WAITING)
        for key, *fields in of_jobs.values_list("lock_key", *Waiting._fields):
            queues[key].add(Waiting(*fields))
    return {key: sorted(queue) for key, queue in queues.items()}, active
