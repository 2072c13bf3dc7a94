"""Write down how attempts and polls ended, and what follows for their runs and jobs.

What counts where: every attempt that ended, also one of an error action, counts in its job's `execution_count`, a
failed or lost one in `failure_count` as well; `faulted_count` counts occurrences whose attempts are used up, so an
error action never does.  An attempt that was cut off by a shutdown counts nowhere.
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

from jobs import columns, following, overlap
from jobs.actions import Outcome
from jobs.finishing import finish_jobs
from jobs.leasing import Leased, document_of, policy_for
from jobs.locking import lock_jobs
from jobs.models import Attempt, Job, Run
from jobs.retries import next_attempt

LATE_RESULT = "Reported after the run had been given up as lost: "
Result = tuple[Leased, Outcome]


def record(results: Sequence[Result], now: datetime) -> None:
    """Write down the outcomes of attempts and polls.

    A run that was given to somebody else meanwhile stays as it is; its late result is noted on the attempt, or the
    poll, alone, unless somebody is about to remove that.
    """
    with transaction.atomic():
        owned = own([item for item, _ in results])
        following.end_polls([(item.poll, outcome) for item, outcome in results if item.poll], now)
        results = _follow(results, owned, now)
        succeeded: list[Run] = []
        failed: list[Run] = []
        hopeless: list[Run] = []
        asked = {}
        reasons = {}
        tallies = Tallies()
        for item, outcome in results:
            _fill(item, outcome, now, late=item.run.pk not in owned)
            if run := owned.get(item.run.pk):
                failures = int(not outcome.succeeded)
                tallies.add(run.job_id, executions=1, failures=failures, started_at=item.attempt.started_at)
                (succeeded if outcome.succeeded else failed if outcome.may_retry else hopeless).append(run)
                asked[run.pk] = outcome.retry_after
                if item.poll and not outcome.succeeded:
                    reasons[run.pk] = outcome.message[: following.REASON_LIMIT]
        _save([item.attempt for item, _ in results if item.run.pk in owned])
        _save(_free([item.attempt for item, _ in results if item.run.pk not in owned]))
        release(succeeded, state=Run.State.SUCCEEDED, finished_at=now)
        spent = hopeless + retry(failed, now, asked)
        fail(spent, tallies, now)
        explain(spent, reasons)
        follow_up(succeeded, Job.State.COMPLETED, now)
        tallies.write()


def _follow(results: Sequence[Result], owned: Mapping[uuid.UUID, Run], now: datetime) -> list[Result]:
    """Let runs wait for a poll whose operations go on; return the attempts that have ended, with what they came to."""
    ended: list[Result] = []
    begun: list[Attempt] = []
    due_at: dict[uuid.UUID, datetime] = {}
    for item, outcome in results:
        run = owned.get(item.run.pk)
        if run is None:
            if not item.poll:
                ended.append((item, outcome))
        elif not outcome.goes_on:
            ended.append((item, outcome))
        elif not item.poll:
            limit = following.limit_of(item.action)
            due_at[run.pk] = following.begin(run, item.attempt, outcome, limit, now)
            _note(item.attempt, outcome)
            begun.append(item.attempt)
        else:
            watch = following.watch_of(run.following, outcome)
            if moment := following.next_poll(watch, outcome, now):
                due_at[run.pk] = moment
                following.go_on(run.following, outcome, watch.troubles)
            else:
                ended.append((item, following.given_up(watch, outcome, now)))
    following.forget([item.run.pk for item, _ in ended if item.poll])
    _save(begun)
    wait_for_poll(due_at)
    return ended


def wait_for_poll(due_at: Mapping[uuid.UUID, datetime]) -> None:
    """Give up the leases of runs that are ours and locked, until then."""
    if due_at:
        moments = list(due_at.values())
        changes: dict[str, Sequence[Any]] = {
            "state": [Run.State.FOLLOWING] * len(moments),
            "lease_token": [None] * len(moments),
            "leased_until": [None] * len(moments),
            "not_before": moments,
            "publish_after": moments,
        }
        columns.update(Run, list(due_at), changes)


def own(leased: Sequence[Leased]) -> dict[uuid.UUID, Run]:
    """By id, those runs whose lease is still ours, locked as their jobs are, with what may have changed since then."""
    ours = Run.objects.held(item.run for item in leased).in_turn()
    fresh = {row[0]: row[1:] for row in ours.values_list("pk", "job_id", "is_last")}
    lock_jobs(job_id for job_id, _ in fresh.values())
    owned = {item.run.pk: item.run for item in leased if item.run.pk in fresh}
    for run_id, run in owned.items():
        job_id, run.is_last = fresh[run_id]
        if job_id is None:
            run.job = None
    return owned


def _fill(item: Leased, outcome: Outcome, now: datetime, late: bool) -> None:
    """How an attempt ended.  One that was followed keeps the answer that it got itself."""
    attempt = item.attempt
    attempt.state = Attempt.State.SUCCEEDED if outcome.succeeded else Attempt.State.FAILED
    attempt.finished_at = now
    if item.poll:
        attempt.message = outcome.message
        return
    _note(attempt, outcome)
    if late:
        attempt.message = LATE_RESULT + outcome.message


def _note(attempt: Attempt, outcome: Outcome) -> None:
    attempt.status_code = outcome.status_code
    attempt.message = outcome.message
    attempt.response_headers = [list(header) for header in outcome.headers]
    attempt.response_body = outcome.body


def _save(attempts: Sequence[Attempt]) -> None:
    if attempts:
        names = ("state", "finished_at", "status_code", "message", "response_headers", "response_body")
        results = {name: [getattr(attempt, name) for attempt in attempts] for name in names}
        columns.update(Attempt, [attempt.pk for attempt in attempts], results)


def _free(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Those of runs that are not ours which nobody has locked: who deletes a job wants them in an order of its own."""
    if not attempts:
        return []
    rows = Attempt.objects.filter(pk__in=[attempt.pk for attempt in attempts])
    free = set(rows.select_for_update(skip_locked=True, no_key=True).values_list("pk", flat=True))
    return [attempt for attempt in attempts if attempt.pk in free]


def release(runs: Sequence[Run], **changes: object) -> None:
    """Give up the leases of runs that are ours and locked."""
    if runs:
        Run.objects.held(runs).update(lease_token=None, leased_until=None, **changes)


def retry(
    runs: Sequence[Run], now: datetime, asked: Mapping[uuid.UUID, timedelta | None], at_once: bool = False
) -> list[Run]:
    """Let runs wait for their next attempt, as long as their targets asked for; return those that have none left."""
    due_at: dict[uuid.UUID, datetime | None] = {}
    for run in runs:
        due_at[run.pk] = next_attempt(policy_for(run), run.failed_count + 1, now, asked.get(run.pk))
    again = [run for run in runs if due_at[run.pk] is not None]
    if again:
        moments = [now if at_once else due_at[run.pk] for run in again]
        changes: dict[str, Sequence[Any]] = {
            "state": [Run.State.RETRYING] * len(again),
            "failed_count": [run.failed_count + 1 for run in again],
            "lease_token": [None] * len(again),
            "leased_until": [None] * len(again),
            "not_before": moments,
            "publish_after": moments,
        }
        columns.update(Run, [run.pk for run in again], changes)
    return [run for run in runs if due_at[run.pk] is None]


def fail(runs: Sequence[Run], tallies: "Tallies", now: datetime) -> None:
    """End runs whose attempts are used up, and order their error actions."""
    release(runs, state=Run.State.FAILED, finished_at=now, failed_count=F("failed_count") + 1)
    _order_error_actions(runs, now)
    for run in runs:
        tallies.add(run.job_id, faulted=int(run.origin != Run.Origin.ERROR_ACTION))
    follow_up(runs, Job.State.FAULTED, now)


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


def explain(runs: Sequence[Run], reasons: Mapping[uuid.UUID, str]) -> None:
    """Say of runs how what they followed ended."""
    explained = [run.pk for run in runs if run.pk in reasons]
    if explained:
        columns.update(Run, explained, {"reason": [reasons[run_id] for run_id in explained]})


def follow_up(runs: Sequence[Run], job_state: str, now: datetime) -> None:
    """What the end of runs means for others: a job ends with its last one, and who waits for the lock looks again."""
    finish_jobs([run.job_id for run in runs if run.is_last], job_state, now)
    overlap.call_next(runs, now)


class Tallies:
    """What is to be added to the counters of jobs, which are locked."""

    def __init__(self) -> None:
        self.jobs: dict[int, Tally] = defaultdict(Tally)

    def add(
        self,
        job_id: int | None,
        executions: int = 0,
        failures: int = 0,
        faulted: int = 0,
        started_at: datetime | None = None,
    ) -> None:
        if job_id is not None:
            tally = self.jobs[job_id]
            tally.executions += executions
            tally.failures += failures
            tally.faulted += faulted
            tally.started_at = max(filter(None, (tally.started_at, started_at)), default=None)

    def write(self) -> None:
        """Add them up, in one statement for all jobs with equal numbers."""
        groups = defaultdict(list)
        for job_id, tally in self.jobs.items():
            groups[astuple(tally)].append(job_id)
        groups.pop(astuple(Tally()), None)
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
class Tally:
    executions: int = 0
    failures: int = 0
    faulted: int = 0
    started_at: datetime | None = None  # of the last attempt among them
