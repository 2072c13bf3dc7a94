"""Give runs back whose attempts come to no end: their worker is being stopped, or has vanished."""

import logging
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from jobs.leasing import LOCK, Leased, with_job
from jobs.models import Attempt, Job, Run
from jobs.recording import Tallies, fail, follow_up, own, release, retry

logger = logging.getLogger(__name__)

REAP_BATCH = 500

STOPPED_ATTEMPT = "The worker was stopped during the call; whether the target was reached is not known."
LOST_ATTEMPT = "The worker vanished during the call; whether the target was reached is not known."


def hand_back(leased: Sequence[Leased], now: datetime) -> None:
    """Return runs whose calls a shutdown cut off; that counts neither as an attempt nor as a failure."""
    with transaction.atomic():
        owned = own(leased)
        mine = Attempt.objects.filter(pk__in=[item.attempt.pk for item in leased], state=Attempt.State.RUNNING)
        mine.update(state=Attempt.State.LOST, finished_at=now, message=STOPPED_ATTEMPT)
        unsure = [run for run in owned.values() if is_at_most_once(run)]
        again = [run for run in owned.values() if not is_at_most_once(run)]
        release(again, state=Run.State.RETRYING, not_before=now, publish_after=now)
        _lose(unsure, "its worker was stopped during the call", now)


def reap(now: datetime) -> int:
    """Take runs away from workers that did not renew their leases in time; return how many there were.

    The attempt that was lost counts as failed, so that a job that brings its workers down comes to an end.
    """
    with transaction.atomic():
        expired = with_job(Run.objects.expired(now)).order_by("leased_until").select_for_update(**LOCK)
        runs = list(expired[:REAP_BATCH])
        if not runs:
            return 0
        open_attempts = Attempt.objects.filter(run__in=[run.pk for run in runs], state=Attempt.State.RUNNING)
        open_attempts.update(state=Attempt.State.LOST, finished_at=now, message=LOST_ATTEMPT)
        tallies = Tallies()
        for run in runs:
            tallies.add(run.job_id, executions=1, failures=1, faulted=int(is_at_most_once(run)))
        _lose([run for run in runs if is_at_most_once(run)], "its worker vanished during the call", now)
        again = [run for run in runs if not is_at_most_once(run)]
        fail(retry(again, now, {}, at_once=True), tallies, now)
        tallies.write()
    logger.warning("took %s runs back from workers that vanished", len(runs))
    return len(runs)


def is_at_most_once(run: Run) -> bool:
    return run.job is not None and run.job.delivery == Job.Delivery.AT_MOST_ONCE


def _lose(runs: Sequence[Run], reason: str, now: datetime) -> None:
    release(runs, state=Run.State.LOST, reason=reason, finished_at=now)
    follow_up(runs, Job.State.FAULTED, now)
