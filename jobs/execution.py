"""Carry out runs: lease them, make their calls, record what came of it.

A message about a run is only a hint.  Who may work on it is decided by one conditional UPDATE, which writes a token
into the row; whatever is recorded later is recorded only while the row still holds that token.  An attempt is a
committed row before its call goes out.

What counts where: every attempt that ended, also one of an error action, counts in its job's `execution_count`, a
failed or lost one in `failure_count` as well; `faulted_count` counts occurrences whose attempts are used up, so an
error action never does.  An attempt that was cut off by a shutdown counts nowhere.
"""

import asyncio
import itertools
import logging
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import aiohttp
from django.db import IntegrityError, InterfaceError, OperationalError, close_old_connections, transaction
from django.db.models import F
from django.db.models.functions import Coalesce

from jobs import actions, columns
from jobs.actions import http
from jobs.actions.outcome import Context, Outcome, refused
from jobs.encryption import Secrets, UnreadableSecret
from jobs.models import Action, Attempt, Job, JobCollection, Run, RunQuerySet
from jobs.retries import RetryPolicy, next_attempt, policy_of

logger = logging.getLogger(__name__)

LEASE = timedelta(seconds=120)  # longer than a call may take
RENEWAL = LEASE / 3
ATTEMPT_LIMIT_S = 90.0  # whatever an action's own limit is, its attempt ends here
ROUND_S = 0.5  # how soon a shutdown is noticed while calls are out
QUEUE_LIMIT = 100  # runs of a job that wait with the policy queue_all
QUEUE_CHECK = timedelta(seconds=10)  # a queued run looks again; it is told earlier when its turn has come
REAP_BATCH = 500

PLACES: dict[str, int] = {
    Job.Overlap.ALLOW: 0,
    Job.Overlap.SKIP: 0,
    Job.Overlap.QUEUE_ONE: 1,
    Job.Overlap.QUEUE_ALL: QUEUE_LIMIT,
}
QUEUEING = (Job.Overlap.QUEUE_ONE, Job.Overlap.QUEUE_ALL)
LOCK: dict[str, Any] = {"of": ("self",), "skip_locked": True, "no_key": True}  # without effect on SQLite

BUSY = "another run of this job was still going"
STOPPED_ATTEMPT = "The worker was stopped during the call; whether the target was reached is not known."
LOST_ATTEMPT = "The worker vanished during the call; whether the target was reached is not known."
LATE_RESULT = "Reported after the run had been given up as lost: "


@dataclass(slots=True)
class Leased:
    """A run in the hands of this worker, and the attempt it makes."""

    run: Run
    attempt: Attempt
    secrets: Secrets | None = None  # None: they are stored, but cannot be read

    @property
    def action(self) -> dict[str, Any]:
        return action_of(self.run)


def document_of(run: Run) -> dict[str, Any]:
    """The wire form of what was to be done then; empty without an action, which `why_stopped` does not let begin."""
    return run.action.document if run.action else {}


def action_of(run: Run) -> dict[str, Any]:
    document = document_of(run)
    return document["errorAction"] if run.origin == Run.Origin.ERROR_ACTION else document


def policy_for(run: Run) -> RetryPolicy:
    return policy_of(action_of(run), enclosing=document_of(run))


def execute(
    run_ids: Sequence[str],
    worker: str,
    clock: Callable[[], datetime],
    stopping: Callable[[], bool] = lambda: False,
    drain: timedelta = timedelta(0),
) -> int:
    """Do the work of one message and return how many of its runs were ours to do.

    Once `stopping()` is true, calls that are out get the time `drain` to end; then their runs are handed back.
    """
    leased = lease(run_ids, worker, clock())
    if leased:
        carry_out(leased, clock, stopping, drain)
    return len(leased)


# Lease


def lease(run_ids: Sequence[str], worker: str, now: datetime) -> list[Leased]:
    """Take those of the runs that are due and free, and write down an attempt for each.

    Runs of stopped jobs end here, and so do those for which the overlap policy has no place.
    """
    try:
        return _lease(run_ids, worker, now)
    except (IntegrityError, OperationalError):
        # Between our look and our UPDATE another worker took the lock key of one of them, or both of us wait for the
        # other's (PostgreSQL ends that).  One at a time, nobody is held up by somebody else's run.
        return [leased for run_id in run_ids for leased in _lease_alone(run_id, worker, now)]


def _lease_alone(run_id: str, worker: str, now: datetime) -> list[Leased]:
    try:
        return _lease([run_id], worker, now)
    except IntegrityError:
        return _lease([run_id], worker, now)  # now it sees who was faster


def _lease(run_ids: Sequence[str], worker: str, now: datetime) -> list[Leased]:
    with transaction.atomic():
        runs = _due(run_ids, now)
        _end_stopped([run for run in runs if why_stopped(run)], now)
        taken = _admit([run for run in runs if not why_stopped(run)], now)
        if not taken:
            return []
        token = uuid.uuid4()
        won = Run.objects.still_pending(run.pk for run in taken).update(
            state=Run.State.RUNNING,
            lease_token=token,
            leased_until=now + LEASE,
            attempt_count=F("attempt_count") + 1,
            started_at=Coalesce("started_at", now),
            not_before=None,
        )
        if won != len(taken):
            ours = set(Run.objects.filter(pk__in=run_ids, lease_token=token).values_list("pk", flat=True))
            taken = [run for run in taken if run.pk in ours]
        for run in taken:
            run.attempt_count += 1
            run.lease_token = token
        attempts = Attempt.objects.bulk_create(
            Attempt(run=run, job_id=run.job_id, number=run.attempt_count, worker=worker, started_at=now)
            for run in taken
        )
    return [Leased(run, attempt) for run, attempt in zip(taken, attempts, strict=True)]


def _due(run_ids: Sequence[str], now: datetime) -> list[Run]:
    """The runs that may be worked on, earliest first, and locked where the database has such locks."""
    named = _with_job(Run.objects.filter(pk__in=run_ids)).order_by("fire_at", "id").select_for_update(**LOCK)
    return [run for run in named if run.state in Run.PENDING and (run.not_before is None or run.not_before <= now)]


def _with_job(runs: RunQuerySet) -> RunQuerySet:
    """With what a decision needs.  Secrets are read apart: one that no key opens must not stop the others."""
    related = runs.select_related("action", "job__collection")
    return related.defer("action__secrets", "job__collection__tags")


def why_stopped(run: Run) -> str:
    """Why a run makes no further attempt, in words; empty: it may."""
    if run.job is None or run.action is None:
        return "the job was deleted"
    if run.job.state == Job.State.DISABLED:
        return "the job was disabled"
    if run.job.collection.state != JobCollection.State.ENABLED:
        return f"the collection was {run.job.collection.state}"
    return ""


def _end_stopped(runs: Sequence[Run], now: datetime) -> None:
    """End the runs of jobs that were stopped or deleted.  The jobs do not end: they may be started again.

    None counts as faulted, since its attempts were not used up.
    """
    for run in runs:
        ended = Run.State.FAILED if run.state == Run.State.RETRYING else Run.State.SKIPPED
        Run.objects.filter(pk=run.pk, state=run.state).update(state=ended, reason=why_stopped(run), finished_at=now)


def _admit(runs: Sequence[Run], now: datetime) -> list[Run]:
    """Those that the overlap policy lets start now.  Of the others, some wait for their turn, the rest are skipped."""
    contested = [run for run in runs if run.lock_key and run.state == Run.State.WAITING]
    if not contested:
        return list(runs)
    lines = _lines(contested)
    holders = Run.objects.filter(lock_key__in=lines, state__in=[Run.State.RUNNING, Run.State.RETRYING])
    held = set(holders.values_list("lock_key", flat=True))
    starting = {line.pop(0) for key, line in lines.items() if key not in held}
    blocked = [run for run in contested if run.pk not in starting]
    skipped = [run for run in blocked if lines[run.lock_key].index(run.pk) >= PLACES[overlap_of(run)]]
    queued = [run for run in blocked if run not in skipped]
    Run.objects.filter(pk__in=[run.pk for run in queued]).update(publish_after=now + QUEUE_CHECK)
    Run.objects.filter(pk__in=[run.pk for run in skipped]).update(state=Run.State.SKIPPED, reason=BUSY, finished_at=now)
    finish_jobs([run.job_id for run in skipped if run.is_last], Job.State.COMPLETED, now)
    return [run for run in runs if run not in blocked]


def overlap_of(run: Run) -> str:
    return run.job.overlap if run.job else Job.Overlap.ALLOW


def _lines(contested: Sequence[Run]) -> dict[str | None, list[uuid.UUID]]:
    """By lock key, the runs that wait for it, first come first: all there are where a job's runs queue, else these."""
    lines: dict[str | None, list[uuid.UUID]] = defaultdict(list)
    for run in contested:
        lines[run.lock_key].append(run.pk)
    if queueing := [run for run in contested if overlap_of(run) in QUEUEING]:
        keys = {run.lock_key for run in queueing}
        waiting = Run.objects.filter(
            job_id__in={run.job_id for run in queueing}, lock_key__in=keys, state=Run.State.WAITING
        )
        lines.update({key: [] for key in keys})
        for key, run_id in waiting.order_by("fire_at", "id").values_list("lock_key", "pk"):
            lines[key].append(run_id)
    return lines


# Perform


def carry_out(
    leased: Sequence[Leased], clock: Callable[[], datetime], stopping: Callable[[], bool], drain: timedelta
) -> None:
    """Make the calls of all runs at once, and record each when it ends, not when the slowest does."""
    read_secrets(leased)
    with asyncio.Runner() as runner:
        session = runner.run(_opened())
        try:
            _watch(runner, session, leased, clock, stopping, drain)
        finally:
            runner.run(session.close())


async def _opened() -> aiohttp.ClientSession:
    return http.open_session()


def _watch(
    runner: asyncio.Runner,
    session: aiohttp.ClientSession,
    leased: Sequence[Leased],
    clock: Callable[[], datetime],
    stopping: Callable[[], bool],
    drain: timedelta,
) -> None:
    """The loop runs only while we wait for it, so that recording is plain code between two rounds."""
    calls = {runner.get_loop().create_task(_attempt(item, session)): item for item in leased}
    renewed_at = clock()
    drained_at = None
    while calls:
        done, _ = runner.run(asyncio.wait(calls, timeout=ROUND_S, return_when=asyncio.FIRST_COMPLETED))
        now = clock()
        if drained_at is None and stopping():
            drained_at = now + drain
        if drained_at is not None and now >= drained_at:
            for call in calls:
                call.cancel()
            done, _ = runner.run(asyncio.wait(calls))
        results = [(calls.pop(call), call.result()) for call in done if not call.cancelled()]
        insist(record, results, now)
        if drained_at is not None and now >= drained_at:
            insist(hand_back, list(calls.values()), now)
            return
        if now - renewed_at >= RENEWAL:
            insist(renew, list(calls.values()), now)
            renewed_at = now


async def _attempt(item: Leased, session: aiohttp.ClientSession) -> Outcome:
    if item.secrets is None:
        return refused("The stored credentials cannot be read: no key in ENCRYPTION_KEYS opens them.")
    run, attempt = item.run, item.attempt
    context = Context(
        run.pk, attempt.number, run.fire_at, attempt.started_at, run.job_name, run.collection_name, region_of(run)
    )
    try:
        async with asyncio.timeout(ATTEMPT_LIMIT_S):
            return await actions.perform(item.action, item.secrets, context, session)
    except TimeoutError:
        return Outcome(False, f"The action did not end within {ATTEMPT_LIMIT_S:.0f} seconds.")
    except Exception as error:
        logger.exception("attempt %s of run %s", item.attempt.number, item.run.pk)
        return Outcome(False, f"The action could not be carried out ({type(error).__name__}).")


def region_of(run: Run) -> str:
    return run.job.collection.location if run.job else ""


def read_secrets(leased: Sequence[Leased]) -> None:
    holders = Action.objects.filter(pk__in={item.run.action_id for item in leased}).exclude(secrets="")
    secrets: dict[int | None, Secrets | None] = {}
    for action_id in holders.values_list("pk", flat=True):
        try:
            secrets[action_id] = Action.objects.values_list("secrets", flat=True).get(pk=action_id)
        except UnreadableSecret:
            secrets[action_id] = None
    for item in leased:
        stored = secrets.get(item.run.action_id, Secrets())
        if stored is not None and item.run.origin == Run.Origin.ERROR_ACTION:
            stored = Secrets(actions.below("errorAction", stored))
        item.secrets = stored


def insist(write: Callable[[Any, datetime], None], items: Sequence[Any], now: datetime) -> None:
    """Write, and when the database is away, try until the leases have run out: after that the result is fenced off."""
    if not items:
        return
    deadline = time.monotonic() + LEASE.total_seconds()
    for failures in itertools.count(1):
        try:
            return write(items, now)
        except (OperationalError, InterfaceError) as error:
            if time.monotonic() >= deadline:
                raise
            if failures == 1:
                logger.warning("%s of %s runs waits for the database: %s", write.__name__, len(items), error)
        close_old_connections()
        time.sleep(1)


# Record


def renew(leased: Sequence[Leased], now: datetime) -> None:
    Run.objects.held(item.run for item in leased).update(leased_until=now + LEASE)


def record(results: Sequence[tuple[Leased, Outcome]], now: datetime) -> None:
    """Write down how attempts ended and what follows for their runs and jobs.

    A run that was given to somebody else meanwhile stays as it is; its late result is noted on the attempt alone.
    """
    with transaction.atomic():
        owned = _owned([item for item, _ in results])
        succeeded: list[Run] = []
        failed: list[Run] = []
        hopeless: list[Run] = []
        tallies = Tallies()
        for item, outcome in results:
            _fill(item.attempt, outcome, now, late=item.run.pk not in owned)
            if run := owned.get(item.run.pk):
                tallies.add(run.job_id, executions=1, failures=int(not outcome.succeeded))
                (succeeded if outcome.succeeded else failed if outcome.may_retry else hopeless).append(run)
        _save([item.attempt for item, _ in results])
        _release(succeeded, state=Run.State.SUCCEEDED, finished_at=now)
        spent = hopeless + _retry(failed, now)
        _fail(spent, tallies, now)
        _follow_up(succeeded, Job.State.COMPLETED, now)
        tallies.write(started_at=results[0][0].attempt.started_at)


def _owned(leased: Sequence[Leased]) -> dict[uuid.UUID, Run]:
    """By id, those runs whose lease is still ours, locked, with what may have changed since it began."""
    ours = Run.objects.held(item.run for item in leased)
    fresh = {
        run_id: (job_id, is_last)
        for run_id, job_id, is_last in ours.select_for_update(no_key=True).values_list("pk", "job_id", "is_last")
    }
    owned = {item.run.pk: item.run for item in leased if item.run.pk in fresh}
    for run_id, run in owned.items():
        job_id, run.is_last = fresh[run_id]
        if job_id is None:
            run.job = None
    return owned


def _fill(attempt: Attempt, outcome: Outcome, now: datetime, late: bool) -> None:
    attempt.state = Attempt.State.SUCCEEDED if outcome.succeeded else Attempt.State.FAILED
    attempt.finished_at = now
    attempt.status_code = outcome.status_code
    attempt.message = LATE_RESULT + outcome.message if late else outcome.message
    attempt.response_headers = [list(header) for header in outcome.headers]
    attempt.response_body = outcome.body


def _save(attempts: Sequence[Attempt]) -> None:
    names = ("state", "finished_at", "status_code", "message", "response_headers", "response_body")
    results = {name: [getattr(attempt, name) for attempt in attempts] for name in names}
    columns.update(Attempt, [attempt.pk for attempt in attempts], results)


def _release(runs: Sequence[Run], **changes: object) -> None:
    """Give up the leases of runs that are ours and locked."""
    if runs:
        Run.objects.held(runs).update(lease_token=None, leased_until=None, **changes)


def _retry(runs: Sequence[Run], now: datetime, at_once: bool = False) -> list[Run]:
    """Let runs wait for their next attempt; return those that have none left."""
    spent, retried = [], defaultdict(list)
    for run in runs:
        due = next_attempt(policy_for(run), run.failed_count + 1, now)
        if due is None:
            spent.append(run)
        else:
            retried[now if at_once else due].append(run)
    for due, group in retried.items():
        state = Run.State.RETRYING
        _release(group, state=state, not_before=due, publish_after=due, failed_count=F("failed_count") + 1)
    return spent


def _fail(runs: Sequence[Run], tallies: "Tallies", now: datetime) -> None:
    """End runs whose attempts are used up, and order their error actions."""
    _release(runs, state=Run.State.FAILED, finished_at=now, failed_count=F("failed_count") + 1)
    _order_error_actions(runs, now)
    for run in runs:
        tallies.add(run.job_id, faulted=int(run.origin != Run.Origin.ERROR_ACTION))
    _follow_up(runs, Job.State.FAULTED, now)


def _order_error_actions(runs: Sequence[Run], now: datetime) -> None:
    """An error action is a run of its own that follows a failed one, at most once, and has none itself."""
    ordered = [
        Run(
            parent=run,
            origin=Run.Origin.ERROR_ACTION,
            subscription_id=run.subscription_id,
            job_id=run.job_id,
            action_id=run.action_id,
            collection_name=run.collection_name,
            job_name=run.job_name,
            occurrence=run.occurrence,
            queue=run.queue,
            fire_at=now,
            publish_after=now,
        )
        for run in runs
        if run.job and run.origin != Run.Origin.ERROR_ACTION and "errorAction" in document_of(run)
    ]
    if ordered:
        Run.objects.bulk_create(ordered, ignore_conflicts=True)


def _follow_up(runs: Sequence[Run], job_state: str, now: datetime) -> None:
    """What the end of runs means for others: a job ends with its last one, and who waits for the lock looks again."""
    finish_jobs([run.job_id for run in runs if run.is_last], job_state, now)
    freed = [run for run in runs if run.lock_key and overlap_of(run) in QUEUEING]
    if freed:
        keys = {run.lock_key for run in freed}
        waiting = Run.objects.filter(
            job_id__in={run.job_id for run in freed}, lock_key__in=keys, state=Run.State.WAITING
        )
        waiting.update(publish_after=now)


def finish_jobs(job_ids: Iterable[int | None], state: str, now: datetime) -> None:
    """End the jobs that have nothing left to run."""
    if ids := {job_id for job_id in job_ids if job_id is not None}:
        unfinished = Job.objects.filter(pk__in=ids).exclude(state__in=Job.FINAL)
        unfinished.update(state=state, finished_at=now)


class Tallies:
    """What is to be added to the counters of jobs."""

    def __init__(self) -> None:
        self.jobs: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])

    def add(self, job_id: int | None, executions: int = 0, failures: int = 0, faulted: int = 0) -> None:
        if job_id is not None and (executions or failures or faulted):
            tally = self.jobs[job_id]
            tally[0] += executions
            tally[1] += failures
            tally[2] += faulted

    def write(self, started_at: datetime | None = None) -> None:
        """Add them up, in one statement for all jobs with equal numbers."""
        if len(self.jobs) > 1:
            # in one order for everybody, lest two workers wait for each other
            list(Job.objects.filter(pk__in=self.jobs).order_by("pk").select_for_update(no_key=True).values_list("pk"))
        groups = defaultdict(list)
        for job_id, tally in self.jobs.items():
            groups[tuple(tally)].append(job_id)
        for (executions, failures, faulted), ids in groups.items():
            changes: dict[str, object] = {
                "execution_count": F("execution_count") + executions,
                "failure_count": F("failure_count") + failures,
                "faulted_count": F("faulted_count") + faulted,
            }
            if started_at is not None:
                changes["last_execution_at"] = started_at
            Job.objects.filter(pk__in=ids).update(**changes)


# Give back


def hand_back(leased: Sequence[Leased], now: datetime) -> None:
    """Return runs whose calls a shutdown cut off; that counts neither as an attempt nor as a failure."""
    with transaction.atomic():
        owned = _owned(leased)
        mine = Attempt.objects.filter(pk__in=[item.attempt.pk for item in leased], state=Attempt.State.RUNNING)
        mine.update(state=Attempt.State.LOST, finished_at=now, message=STOPPED_ATTEMPT)
        unsure = [run for run in owned.values() if is_at_most_once(run)]
        again = [run for run in owned.values() if not is_at_most_once(run)]
        _release(again, state=Run.State.RETRYING, not_before=now, publish_after=now)
        _lose(unsure, "its worker was stopped during the call", now)


def reap(now: datetime) -> int:
    """Take runs away from workers that did not renew their leases in time; return how many there were.

    The attempt that was lost counts as failed, so that a job that brings its workers down comes to an end.
    """
    with transaction.atomic():
        expired = _with_job(Run.objects.expired(now)).order_by("leased_until").select_for_update(**LOCK)
        runs = list(expired[:REAP_BATCH])
        if not runs:
            return 0
        open_attempts = Attempt.objects.filter(run__in=[run.pk for run in runs], state=Attempt.State.RUNNING)
        open_attempts.update(state=Attempt.State.LOST, finished_at=now, message=LOST_ATTEMPT)
        tallies = Tallies()
        for run in runs:
            tallies.add(run.job_id, executions=1, failures=1, faulted=int(is_at_most_once(run)))
        _lose([run for run in runs if is_at_most_once(run)], "its worker vanished during the call", now)
        _fail(_retry([run for run in runs if not is_at_most_once(run)], now, at_once=True), tallies, now)
        tallies.write()
    logger.warning("took %s runs back from workers that vanished", len(runs))
    return len(runs)


def is_at_most_once(run: Run) -> bool:
    return run.job is not None and run.job.delivery == Job.Delivery.AT_MOST_ONCE


def _lose(runs: Sequence[Run], reason: str, now: datetime) -> None:
    _release(runs, state=Run.State.LOST, reason=reason, finished_at=now)
    _follow_up(runs, Job.State.FAULTED, now)
