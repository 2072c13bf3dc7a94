"""Give runs back whose attempts come to no end: their worker is being stopped, or has vanished.

A poll that is cut off is made again, whatever the job's delivery is: it changes nothing.
"""

import logging
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F

from jobs import following
from jobs.leasing import LOCK, Leased, with_job
from jobs.locking import lock_jobs
from jobs.models import Attempt, Following, Job, Run
from jobs.recording import Tallies, explain, fail, follow_up, own, release, retry, wait_for_poll

logger = logging.getLogger(__name__)

REAP_BATCH = 500

STOPPED_ATTEMPT = "The worker was stopped during the call; whether the target was reached is not known."
LOST_ATTEMPT = "The worker vanished during the call; whether the target was reached is not known."
STOPPED_POLL = "The worker was stopped during the poll, which is made again."
LOST_POLL = "The worker vanished during the poll."


def hand_back(leased: Sequence[Leased], now: datetime) -> None:
    """Return runs whose calls a shutdown cut off; that counts neither as an attempt nor as a failure."""
    with transaction.atomic():
        owned = own(leased)
        polled = [item for item in leased if item.poll and item.run.pk in owned]
        following.cut_off_polls([item.attempt.pk for item in polled], STOPPED_POLL, now)
        wait_for_poll({owned.pop(item.run.pk).pk: now for item in polled})
        cut_off = [item.attempt.pk for item in leased if not item.poll]
        mine = Attempt.objects.filter(pk__in=cut_off, state=Attempt.State.RUNNING)
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
        taken = len(runs)
        lock_jobs(run.job_id for run in runs)
        tallies = Tallies()
        polled = _reap_polls(runs, tallies, now)
        runs = [run for run in runs if run.pk not in polled]
        open_attempts = Attempt.objects.filter(run__in=[run.pk for run in runs], state=Attempt.State.RUNNING)
        open_attempts.update(state=Attempt.State.LOST, finished_at=now, message=LOST_ATTEMPT)
        for run in runs:
            tallies.add(run.job_id, executions=1, failures=1, faulted=int(is_at_most_once(run)))
        _lose([run for run in runs if is_at_most_once(run)], "its worker vanished during the call", now)
        again = [run for run in runs if not is_at_most_once(run)]
        fail(retry(again, now, {}, at_once=True), tallies, now)
        tallies.write()
    logger.warning("took %s runs back from workers that vanished", taken)
    return taken


def _reap_polls(runs: Sequence[Run], tallies: Tallies, now: datetime) -> set[UUID]:
    """Poll again for those of the runs that are followed; returns their ids.

    One whose poll has brought so many workers down in a row that it may be the cause fails.
    """
    watched = {each.run_id: each for each in Following.objects.filter(run__in=runs).defer("secrets")}
    if not watched:
        return set()
    following.cut_off_polls([each.attempt_id for each in watched.values()], LOST_POLL, now)
    Following.objects.filter(run__in=list(watched)).update(trouble_count=F("trouble_count") + 1)
    hopeless = [run for run in runs if run.pk in watched and following.is_hopeless(watched[run.pk])]
    wait_for_poll(dict.fromkeys(watched.keys() - {run.pk for run in hopeless}, now))
    if hopeless:
        for run in hopeless:
            tallies.add(run.job_id, executions=1, failures=1)
        following.stop([run.pk for run in hopeless], now)
        fail(hopeless, tallies, now)
        explain(hopeless, {run.pk: LOST_POLL for run in hopeless})
    return set(watched)


def is_at_most_once(run: Run) -> bool:
    return run.job is not None and run.job.delivery == Job.Delivery.AT_MOST_ONCE


def _lose(runs: Sequence[Run], reason: str, now: datetime) -> None:
    release(runs, state=Run.State.LOST, reason=reason, finished_at=now)
    follow_up(runs, Job.State.FAULTED, now)
