"""Record the results of attempts and polls, and their consequences for runs and jobs.

Counters: every attempt that ended counts in its job's `execution_count`; a failed or lost one also counts in
`failure_count`.  `faulted_count` counts occurrences whose attempts are used up.  Attempts of error actions and attempts
that a shutdown cancelled are not counted.
"""

import uuid
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import DateTimeField, F
from django.db.models.functions import Coalesce, Greatest

from jobs import bulk_sql
from jobs.actions import AttemptResult
from jobs.finishing import finish_jobs
from jobs.locking import lock_jobs
from jobs.models import Attempt, Job, Run
from jobs.worker import overlap, polling
from jobs.worker.leasing import Leased, document_of, retry_policy_of
from jobs.worker.retries import next_attempt

LATE_RESULT = "Reported after the run had been given up as lost: "
Result = tuple[Leased, AttemptResult]


def record(results: Sequence[Result], now: datetime) -> None:
    """Record the results of attempts and polls.

    A run whose lease another worker has got meanwhile stays unchanged.  Its late result is recorded on the attempt or
    the poll only, unless another transaction has locked that attempt to delete it.
    """
    with transaction.atomic():
        owned = lock_owned([item for item, _ in results])
        polling.end_polls([(item.poll, result) for item, result in results if item.poll], now)
        results = _schedule_polls(results, owned, now)
        succeeded: list[Run] = []
        failed: list[Run] = []
        not_retryable: list[Run] = []
        retry_after = {}
        reasons = {}
        counters = CounterUpdates()
        for item, result in results:
            _finish_attempt(item, result, now, late=item.run.pk not in owned)
            if run := owned.get(item.run.pk):
                failures = int(not result.succeeded)
                counters.add(run, executions=1, failures=failures, started_at=item.attempt.started_at)
                (succeeded if result.succeeded else failed if result.may_retry else not_retryable).append(run)
                retry_after[run.pk] = result.retry_after
                if item.poll and not result.succeeded:
                    reasons[run.pk] = result.message[: polling.REASON_LIMIT]
        _save([item.attempt for item, _ in results if item.run.pk in owned])
        _save(_lock_unlocked([item.attempt for item, _ in results if item.run.pk not in owned]))
        release(succeeded, state=Run.State.SUCCEEDED, finished_at=now)
        exhausted = not_retryable + retry(failed, now, retry_after)
        fail(exhausted, counters, now)
        set_reason(exhausted, reasons)
        finish_jobs_and_release_next(succeeded, Job.State.COMPLETED, now)
        counters.write()


def _schedule_polls(results: Sequence[Result], owned: Mapping[uuid.UUID, Run], now: datetime) -> list[Result]:
    """Let runs whose operations go on wait for their next poll; return the ended attempts with their results."""
    ended: list[Result] = []
    pending: list[Attempt] = []
    due_at: dict[uuid.UUID, datetime] = {}
    for item, result in results:
        run = owned.get(item.run.pk)
        if run is None:
            if not item.poll:
                ended.append((item, result))
        elif not result.is_pending:
            ended.append((item, result))
        elif not item.poll:
            limit = polling.limit_of(item.action)
            due_at[run.pk] = polling.start_polling(run, item.attempt, result, limit, now)
            _set_response(item.attempt, result)
            pending.append(item.attempt)
        else:
            window = polling.window_after(run.async_operation, result)
            if polled_at := polling.next_poll(window, result, now):
                due_at[run.pk] = polled_at
                polling.schedule_next_poll(run.async_operation, result, window.failed_polls)
            else:
                ended.append((item, polling.poll_failure_result(window, result, now)))
    polling.delete_operations([item.run.pk for item, _ in ended if item.poll])
    _save(pending)
    wait_for_poll(due_at)
    return ended


def wait_for_poll(due_at: Mapping[uuid.UUID, datetime]) -> None:
    """Release the leases of runs until their next polls.  The runs must be leased by this worker and locked."""
    if due_at:
        instants = list(due_at.values())
        changes: dict[str, Sequence[Any]] = {
            "state": [Run.State.FOLLOWING] * len(instants),
            "lease_token": [None] * len(instants),
            "leased_until": [None] * len(instants),
            "not_before": instants,
            "publish_after": instants,
        }
        bulk_sql.update(Run, list(due_at), changes)


def lock_owned(leased: Sequence[Leased]) -> dict[uuid.UUID, Run]:
    """Lock the runs whose lease this worker still has, and their jobs; return the runs by id.

    Their `job` and `is_last` are updated, because these may have changed since the lease.
    """
    owned_rows = Run.objects.leased(item.run for item in leased).lock_ordered()
    fresh = {row[0]: row[1:] for row in owned_rows.values_list("pk", "job_id", "is_last")}
    lock_jobs(job_id for job_id, _ in fresh.values())
    owned = {item.run.pk: item.run for item in leased if item.run.pk in fresh}
    for run_id, run in owned.items():
        job_id, run.is_last = fresh[run_id]
        if job_id is None:
            run.job = None
    return owned


def _finish_attempt(item: Leased, result: AttemptResult, now: datetime, late: bool) -> None:
    """Store the end of an attempt.  An attempt whose operation was followed keeps its own response."""
    attempt = item.attempt
    attempt.state = Attempt.State.SUCCEEDED if result.succeeded else Attempt.State.FAILED
    attempt.finished_at = now
    if item.poll:
        attempt.message = result.message
        return
    _set_response(attempt, result)
    if late:
        attempt.message = LATE_RESULT + result.message


def _set_response(attempt: Attempt, result: AttemptResult) -> None:
    attempt.status_code = result.status_code
    attempt.message = result.message
    attempt.response_headers = [list(header) for header in result.headers]
    attempt.response_body = result.body


def _save(attempts: Sequence[Attempt]) -> None:
    if attempts:
        names = ("state", "finished_at", "status_code", "message", "response_headers", "response_body")
        results = {name: [getattr(attempt, name) for attempt in attempts] for name in names}
        bulk_sql.update(Attempt, [attempt.pk for attempt in attempts], results)


def _lock_unlocked(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Lock attempts of runs that this worker no longer has; return those that no other transaction has locked.

    Waiting could cause a deadlock: the deletion of a job locks attempts in another order.
    """
    if not attempts:
        return []
    rows = Attempt.objects.filter(pk__in=[attempt.pk for attempt in attempts])
    unlocked_ids = set(rows.select_for_update(skip_locked=True, no_key=True).values_list("pk", flat=True))
    return [attempt for attempt in attempts if attempt.pk in unlocked_ids]


def release(runs: Sequence[Run], **changes: object) -> None:
    """Release the leases of runs, which this worker must have and have locked."""
    if runs:
        Run.objects.leased(runs).update(lease_token=None, leased_until=None, **changes)


def retry(
    runs: Sequence[Run], now: datetime, retry_after: Mapping[uuid.UUID, timedelta | None], at_once: bool = False
) -> list[Run]:
    """Let runs wait for their next attempt, at least as long as their targets asked for.

    Return the runs that have no attempt left.
    """
    due_at: dict[uuid.UUID, datetime | None] = {}
    for run in runs:
        due_at[run.pk] = next_attempt(retry_policy_of(run), run.failed_count + 1, now, retry_after.get(run.pk))
    retryable = [run for run in runs if due_at[run.pk] is not None]
    if retryable:
        instants = [now if at_once else due_at[run.pk] for run in retryable]
        changes: dict[str, Sequence[Any]] = {
            "state": [Run.State.RETRYING] * len(retryable),
            "failed_count": [run.failed_count + 1 for run in retryable],
            "lease_token": [None] * len(retryable),
            "leased_until": [None] * len(retryable),
            "not_before": instants,
            "publish_after": instants,
        }
        bulk_sql.update(Run, [run.pk for run in retryable], changes)
    return [run for run in runs if due_at[run.pk] is None]


def fail(runs: Sequence[Run], counters: "CounterUpdates", now: datetime) -> None:
    """End runs whose attempts are used up, and create runs of their error actions."""
    release(runs, state=Run.State.FAILED, reason="", finished_at=now, failed_count=F("failed_count") + 1)
    _create_error_runs(runs, now)
    for run in runs:
        counters.add(run, faulted=1)
    finish_jobs_and_release_next(runs, Job.State.FAULTED, now)


def _create_error_runs(runs: Sequence[Run], now: datetime) -> None:
    """Create a run for the error action of each failed run, at most once.  Runs of error actions have none."""
    error_runs = [
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
    if error_runs:
        Run.objects.bulk_create(error_runs, ignore_conflicts=True)


def set_reason(runs: Sequence[Run], reasons: Mapping[uuid.UUID, str]) -> None:
    """Store in runs how the operations that they followed ended."""
    explained = [run.pk for run in runs if run.pk in reasons]
    if explained:
        bulk_sql.update(Run, explained, {"reason": [reasons[run_id] for run_id in explained]})


def finish_jobs_and_release_next(runs: Sequence[Run], job_state: str, now: datetime) -> None:
    """End the jobs whose last run has ended, and publish the next runs that wait for a lock."""
    finish_jobs([run.job_id for run in runs if run.is_last], job_state, now)
    overlap.release_next(runs, now)


class CounterUpdates:
    """Increments for the counters of jobs, which must be locked.  Error actions add nothing."""

    def __init__(self) -> None:
        self.jobs: dict[int, Counters] = defaultdict(Counters)

    def add(
        self,
        run: Run,
        executions: int = 0,
        failures: int = 0,
        faulted: int = 0,
        started_at: datetime | None = None,
    ) -> None:
        if run.job_id is not None and run.origin != Run.Origin.ERROR_ACTION:
            counters = self.jobs[run.job_id]
            counters.executions += executions
            counters.failures += failures
            counters.faulted += faulted
            counters.started_at = max(filter(None, (counters.started_at, started_at)), default=None)

    def write(self) -> None:
        """Write the increments, with one statement for all jobs with equal numbers."""
        groups = defaultdict(list)
        for job_id, counters in self.jobs.items():
            groups[astuple(counters)].append(job_id)
        groups.pop(astuple(Counters()), None)
        for (executions, failures, faulted, started_at), ids in groups.items():
            changes: dict[str, object] = {
                "execution_count": F("execution_count") + executions,
                "failure_count": F("failure_count") + failures,
                "faulted_count": F("faulted_count") + faulted,
            }
            if started_at is not None:
                earlier = Coalesce("last_execution_at", started_at, output_field=DateTimeField())
                changes["last_execution_at"] = Greatest(earlier, started_at)
            Job.objects.filter(pk__in=ids).update(**changes)


@dataclass(slots=True)
class Counters:
    executions: int = 0
    failures: int = 0
    faulted: int = 0
    started_at: datetime | None = None  # start of the last attempt
