"""Follow operations that requests have begun: decide when each is polled again, and when it is given up.

A poll is a row with a due time, in the same way as an attempt.  Between two polls the run is FOLLOWING and no worker
has it.  If a worker dies during a poll, the poll is made again: a poll changes nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import F

from jobs import bulk_sql, durations, humanize
from jobs.actions import AttemptResult, host_of_address
from jobs.actions.result import PollFailure, PollSource
from jobs.encryption import Secrets
from jobs.models import AsyncOperation, Attempt, Poll, Run

LIMIT = timedelta(hours=1)  # from the response that began the operation, unless its action has `followLimit`
WAIT = timedelta(seconds=30)  # without a Retry-After; the published clients do the same
WAIT_LEAST = timedelta(seconds=1)
WAIT_MOST = timedelta(hours=1)
SHARE = 60  # a poll waits at least 1/60 of the time since the operation began: at most 500 polls in 24 hours
TROUBLE_WAIT_MOST = timedelta(minutes=10)  # the wait doubles with each failed poll, up to this
# after so many failed polls in a row the operation is given up
MAX_POLL_FAILURES = {PollFailure.TEMPORARY: 10, PollFailure.PERMANENT: 3}
RETRY_AFTER_MOST = timedelta(days=365)  # the highest value that a row stores
REASON_LIMIT = 200

UNWATCHED = "The operation is not followed any more; what became of it is not known."


@dataclass(frozen=True, slots=True)
class PollWindow:
    """When the polls of an operation began, when they must end, and how many polls in a row have failed."""

    started_at: datetime
    gives_up_at: datetime
    failed_polls: int = 0


def next_poll(window: PollWindow, result: AttemptResult, now: datetime) -> datetime | None:
    """Return when an operation that is, or may be, pending is polled again; None when it is given up."""
    if now >= window.gives_up_at or (
        result.poll_failure and window.failed_polls >= MAX_POLL_FAILURES[result.poll_failure]
    ):
        return None
    wait = result.retry_after
    if wait is None:
        wait = min(WAIT * 2 ** max(window.failed_polls - 1, 0), TROUBLE_WAIT_MOST) if result.poll_failure else WAIT
    wait = min(max(wait, WAIT_LEAST, (now - window.started_at) / SHARE), WAIT_MOST)
    return min(now + wait, window.gives_up_at)


def poll_failure_result(window: PollWindow, result: AttemptResult, now: datetime) -> AttemptResult:
    """Return the result of an attempt whose operation timed out or could not be polled.

    The attempt is not retried, because the operation may still be running.
    """
    if now >= window.gives_up_at:
        last_status = (
            f": the last it said was {result.status!r}" if result.status else f". {result.message.rstrip('.')}"
        )
        message = (
            f"The operation has not ended within {humanize.format_duration(window.gives_up_at - window.started_at)}"
            f"{last_status}."
        )
    else:
        count = humanize.format_count(window.failed_polls, "poll")
        message = f"What becomes of the operation is not known: {count} in a row told nothing. {result.message}"
    return AttemptResult(False, message, may_retry=False)


def limit_of(action: Mapping[str, Any]) -> timedelta:
    text = action.get("followLimit")
    return LIMIT if text is None else durations.parse(text)


def window_after(operation: AsyncOperation, result: AttemptResult) -> PollWindow:
    """Return the window after a poll with this result."""
    failed_polls = operation.failed_poll_count + 1 if result.poll_failure else 0
    return PollWindow(operation.started_at, operation.gives_up_at, failed_polls)


def has_exhausted_polls(operation: AsyncOperation) -> bool:
    """Return True if another failed poll, one whose worker vanished, reaches the limit."""
    return operation.failed_poll_count + 1 >= MAX_POLL_FAILURES[PollFailure.TEMPORARY]


def start_polling(run: Run, attempt: Attempt, result: AttemptResult, limit: timedelta, now: datetime) -> datetime:
    """Follow the operation that the attempt has begun, from `now` on; return when it is polled first."""
    assert result.operation is not None
    window = PollWindow(now, now + limit)
    AsyncOperation.objects.create(
        run=run,
        attempt=attempt,
        source=result.operation.source,
        host=host_of_address(result.operation.address)[:300],
        secrets=Secrets({AsyncOperation.ADDRESS: result.operation.address}),
        started_at=window.started_at,
        gives_up_at=window.gives_up_at,
    )
    return next_poll(window, result, now) or now


def schedule_next_poll(operation: AsyncOperation, result: AttemptResult, failed_polls: int) -> None:
    """Store the result of a poll of an operation that is polled again."""
    changes: dict[str, Any] = {"failed_poll_count": failed_polls}
    if result.operation and result.operation.source == PollSource.LOCATION:  # the operation may have moved
        address = result.operation.address
        changes |= {"secrets": Secrets({AsyncOperation.ADDRESS: address}), "host": host_of_address(address)[:300]}
    AsyncOperation.objects.filter(pk=operation.pk).update(**changes)


def start_polls(runs: Iterable[Run], worker: str, now: datetime) -> dict[UUID, Poll]:
    """Create a poll for each run before it is sent; return the polls by the id of the run.

    The `async_operation` of each run must be loaded.
    """
    followed = {run.pk: run.async_operation for run in runs}
    if not followed:
        return {}
    AsyncOperation.objects.filter(run__in=list(followed)).update(poll_count=F("poll_count") + 1)
    polls = [
        Poll(attempt_id=operation.attempt_id, number=operation.poll_count + 1, worker=worker, started_at=now)
        for operation in followed.values()
    ]
    return dict(zip(followed, Poll.objects.bulk_create(polls), strict=True))


def end_polls(results: Sequence[tuple[Poll, AttemptResult]], now: datetime) -> None:
    """Save the results of polls.  The response is not stored while the operation goes on."""
    for poll, result in results:
        wait = result.retry_after
        poll.finished_at = now
        poll.status_code = result.status_code
        poll.status = result.status
        poll.percent = result.percent
        poll.retry_after_s = None if wait is None else int(min(wait, RETRY_AFTER_MOST).total_seconds())
        poll.message = result.message
        poll.body = result.body
    if results:
        names = ("finished_at", "status_code", "status", "percent", "retry_after_s", "message", "body")
        values = {name: [getattr(poll, name) for poll, _ in results] for name in names}
        bulk_sql.update(Poll, [poll.pk for poll, _ in results], values)


def end_unfinished_polls(attempt_ids: Sequence[int], message: str, now: datetime) -> None:
    Poll.objects.filter(attempt__in=attempt_ids, finished_at=None).update(finished_at=now, message=message)


def delete_operations(run_ids: Iterable[UUID]) -> None:
    """Delete the followed operations of runs: they have ended, or are given up."""
    if run_ids := list(run_ids):
        AsyncOperation.objects.filter(run__in=run_ids).delete()


def stop_polling(run_ids: Iterable[UUID], now: datetime) -> None:
    """Stop following operations that are still pending.  Their attempts end without a result and count nowhere."""
    run_ids = list(run_ids)
    attempts = list(AsyncOperation.objects.filter(run__in=run_ids).values_list("attempt", flat=True))
    if attempts:
        Attempt.objects.filter(pk__in=attempts).update(state=Attempt.State.LOST, finished_at=now, message=UNWATCHED)
        end_unfinished_polls(attempts, UNWATCHED, now)
        delete_operations(run_ids)
