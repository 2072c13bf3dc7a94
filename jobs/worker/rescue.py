"""Release runs whose attempts cannot end: their worker is being stopped, or has vanished.

A cancelled poll is made again, whatever the job's delivery is: a poll changes nothing.
"""

import logging
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F

from jobs.locking import lock_jobs
from jobs.models import AsyncOperation, Attempt, Job, Run
from jobs.worker import polling
from jobs.worker.leasing import LOCK, Leased, with_related
from jobs.worker.results import (
    CounterUpdates,
    fail,
    finish_jobs_and_release_next,
    lock_owned,
    release,
    retry,
    set_reason,
    wait_for_poll,
)

logger = logging.getLogger(__name__)

RESCUE_BATCH = 500

STOPPED_ATTEMPT = "The worker was stopped during the call; whether the target was reached is not known."
LOST_ATTEMPT = "The worker vanished during the call; whether the target was reached is not known."
STOPPED_POLL = "The worker was stopped during the poll, which is made again."
LOST_POLL = "The worker vanished during the poll."


def release_leases(leased: Sequence[Leased], now: datetime) -> None:
    """Release runs whose calls a shutdown has cancelled.  This counts neither as an attempt nor as a failure."""
    with transaction.atomic():
        owned = lock_owned(leased)
        polled = [item for item in leased if item.poll and item.run.pk in owned]
        polling.end_unfinished_polls([item.attempt.pk for item in polled], STOPPED_POLL, now)
        wait_for_poll({owned.pop(item.run.pk).pk: now for item in polled})
        cut_off = [item.attempt.pk for item in leased if not item.poll]
        own_attempts = Attempt.objects.filter(pk__in=cut_off, state=Attempt.State.RUNNING)
        own_attempts.update(state=Attempt.State.LOST, finished_at=now, message=STOPPED_ATTEMPT)
        not_repeatable = [run for run in owned.values() if is_at_most_once(run)]
        repeatable = [run for run in owned.values() if not is_at_most_once(run)]
        release(repeatable, state=Run.State.RETRYING, not_before=now, publish_after=now)
        _mark_lost(not_repeatable, "its worker was stopped during the call", now)


def rescue_all(now: datetime) -> None:
    """Take all runs back whose leases have expired, in short transactions."""
    while rescue_expired(now) == RESCUE_BATCH:
        pass


def rescue_expired(now: datetime) -> int:
    """Take runs back from workers that did not renew their leases in time; return how many there were.

    The lost attempt counts as failed, so that a job that crashes its workers comes to an end.
    """
    with transaction.atomic():
        expired = with_related(Run.objects.expired(now)).order_by("leased_until").select_for_update(**LOCK)
        runs = list(expired[:RESCUE_BATCH])
        if not runs:
            return 0
        rescued_count = len(runs)
        lock_jobs(run.job_id for run in runs)
        counters = CounterUpdates()
        polled = _rescue_polls(runs, counters, now)
        runs = [run for run in runs if run.pk not in polled]
        open_attempts = Attempt.objects.filter(run__in=[run.pk for run in runs], state=Attempt.State.RUNNING)
        open_attempts.update(state=Attempt.State.LOST, finished_at=now, message=LOST_ATTEMPT)
        for run in runs:
            counters.add(run, executions=1, failures=1, faulted=int(is_at_most_once(run)))
        _mark_lost([run for run in runs if is_at_most_once(run)], "its worker vanished during the call", now)
        repeatable = [run for run in runs if not is_at_most_once(run)]
        fail(retry(repeatable, now, {}, at_once=True), counters, now)
        counters.write()
    logger.warning("took %s runs back from workers that vanished", rescued_count)
    return rescued_count


def _rescue_polls(runs: Sequence[Run], counters: CounterUpdates, now: datetime) -> set[UUID]:
    """Poll again for the runs that follow an operation; return their ids.

    A run fails if so many workers in a row vanished during its poll that the poll may be the cause.
    """
    followed = {
        operation.run_id: operation for operation in AsyncOperation.objects.filter(run__in=runs).defer("secrets")
    }
    if not followed:
        return set()
    polling.end_unfinished_polls([operation.attempt_id for operation in followed.values()], LOST_POLL, now)
    AsyncOperation.objects.filter(run__in=list(followed)).update(failed_poll_count=F("failed_poll_count") + 1)
    given_up = [run for run in runs if run.pk in followed and polling.has_exhausted_polls(followed[run.pk])]
    wait_for_poll(dict.fromkeys(followed.keys() - {run.pk for run in given_up}, now))
    if given_up:
        for run in given_up:
            counters.add(run, executions=1, failures=1)
        polling.stop_polling([run.pk for run in given_up], now)
        fail(given_up, counters, now)
        set_reason(given_up, {run.pk: LOST_POLL for run in given_up})
    return set(followed)


def is_at_most_once(run: Run) -> bool:
    return run.job is not None and run.job.delivery == Job.Delivery.AT_MOST_ONCE


def _mark_lost(runs: Sequence[Run], reason: str, now: datetime) -> None:
    release(runs, state=Run.State.LOST, reason=reason, finished_at=now)
    finish_jobs_and_release_next(runs, Job.State.FAULTED, now)
