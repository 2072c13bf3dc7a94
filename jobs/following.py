"""Follow operations that requests have begun: when each is polled again, and when nobody waits for its end any longer.

A poll is a row with a due time, as an attempt is: between two of them the run is FOLLOWING and no worker has it.  What
must hold if a worker dies in a poll is little, for a poll changes nothing: it is made again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import F

from jobs import columns, durations, words
from jobs.actions import Outcome, host_of_address
from jobs.actions.outcome import By, Unread
from jobs.encryption import Secrets
from jobs.models import Attempt, Following, Poll, Run

LIMIT = timedelta(hours=1)  # from the answer that began it, unless its action has `followLimit`
WAIT = timedelta(seconds=30)  # without a Retry-After, as the published clients
WAIT_LEAST = timedelta(seconds=1)
WAIT_MOST = timedelta(hours=1)
SHARE = 60  # a poll waits for this part of the time since the operation began, at least: at most 500 polls in 24 hours
TROUBLE_WAIT_MOST = timedelta(minutes=10)  # it doubles with each poll that tells nothing
TROUBLES = {Unread.PASSING: 10, Unread.LASTING: 3}  # so many in a row, and it is given up
RETRY_AFTER_MOST = timedelta(days=365)  # what a row says of it
REASON_LIMIT = 200

UNWATCHED = "The operation is not followed any more; what became of it is not known."


@dataclass(frozen=True, slots=True)
class Watch:
    """For how long an operation has been followed, may be, and how many polls in a row have told nothing."""

    since: datetime
    until: datetime
    troubles: int = 0


def next_poll(watch: Watch, outcome: Outcome, now: datetime) -> datetime | None:
    """When an operation that goes on, or may, is polled again; None: nobody asks any more."""
    if now >= watch.until or outcome.unread and watch.troubles >= TROUBLES[outcome.unread]:
        return None
    wait = outcome.retry_after
    if wait is None:
        wait = min(WAIT * 2 ** max(watch.troubles - 1, 0), TROUBLE_WAIT_MOST) if outcome.unread else WAIT
    wait = min(max(wait, WAIT_LEAST, (now - watch.since) / SHARE), WAIT_MOST)
    return min(now + wait, watch.until)


def given_up(watch: Watch, outcome: Outcome, now: datetime) -> Outcome:
    """The end of an attempt whose operation has come to none.  It may be going on, so it is not begun once more."""
    if now >= watch.until:
        said = f": the last it said was {outcome.status!r}" if outcome.status else f". {outcome.message.rstrip('.')}"
        message = f"The operation has not ended within {words.span(watch.until - watch.since)}{said}."
    else:
        count = words.count(watch.troubles, "poll")
        message = f"What becomes of the operation is not known: {count} in a row told nothing. {outcome.message}"
    return Outcome(False, message, may_retry=False)


def limit_of(action: Mapping[str, Any]) -> timedelta:
    text = action.get("followLimit")
    return LIMIT if text is None else durations.parse(text)


def watch_of(following: Following, outcome: Outcome) -> Watch:
    """With what a poll has come to."""
    troubles = following.trouble_count + 1 if outcome.unread else 0
    return Watch(following.since, following.until, troubles)


def is_hopeless(following: Following) -> bool:
    """Is one poll more that told nothing, since its worker vanished, one too many?"""
    return following.trouble_count + 1 >= TROUBLES[Unread.PASSING]


def begin(run: Run, attempt: Attempt, outcome: Outcome, limit: timedelta, now: datetime) -> datetime:
    """Follow from now on what the outcome has begun; returns when it is polled first."""
    assert outcome.operation is not None
    watch = Watch(now, now + limit)
    Following.objects.create(
        run=run,
        attempt=attempt,
        by=outcome.operation.by,
        host=host_of_address(outcome.operation.address)[:300],
        secrets=Secrets({Following.ADDRESS: outcome.operation.address}),
        since=watch.since,
        until=watch.until,
    )
    return next_poll(watch, outcome, now) or now


def go_on(following: Following, outcome: Outcome, troubles: int) -> None:
    """Note what a poll has told of an operation that is polled again."""
    changes: dict[str, Any] = {"trouble_count": troubles}
    if outcome.operation and outcome.operation.by == By.LOCATION:  # it may have moved
        address = outcome.operation.address
        changes |= {"secrets": Secrets({Following.ADDRESS: address}), "host": host_of_address(address)[:300]}
    Following.objects.filter(pk=following.pk).update(**changes)


def start_polls(runs: Iterable[Run], worker: str, now: datetime) -> dict[UUID, Poll]:
    """Write down a poll for each run, whose `following` is there, before it goes out; by the run's id."""
    watched = {run.pk: run.following for run in runs}
    if not watched:
        return {}
    Following.objects.filter(run__in=list(watched)).update(poll_count=F("poll_count") + 1)
    polls = [
        Poll(attempt_id=each.attempt_id, number=each.poll_count + 1, worker=worker, started_at=now)
        for each in watched.values()
    ]
    return dict(zip(watched, Poll.objects.bulk_create(polls), strict=True))


def end_polls(results: Sequence[tuple[Poll, Outcome]], now: datetime) -> None:
    """Write down what polls have told.  Of an operation that goes on, the answer itself is not kept."""
    for poll, outcome in results:
        wait = outcome.retry_after
        poll.finished_at = now
        poll.status_code = outcome.status_code
        poll.status = outcome.status
        poll.percent = outcome.percent
        poll.retry_after_s = None if wait is None else int(min(wait, RETRY_AFTER_MOST).total_seconds())
        poll.message = outcome.message
        poll.body = outcome.body
    if results:
        names = ("finished_at", "status_code", "status", "percent", "retry_after_s", "message", "body")
        values = {name: [getattr(poll, name) for poll, _ in results] for name in names}
        columns.update(Poll, [poll.pk for poll, _ in results], values)


def cut_off_polls(attempt_ids: Sequence[int], message: str, now: datetime) -> None:
    Poll.objects.filter(attempt__in=attempt_ids, finished_at=None).update(finished_at=now, message=message)


def forget(run_ids: Iterable[UUID]) -> None:
    """Their operations have ended, or are given up."""
    if run_ids := list(run_ids):
        Following.objects.filter(run__in=run_ids).delete()


def stop(run_ids: Iterable[UUID], now: datetime) -> None:
    """Do not follow operations any more that go on: their attempts end without a result, and count nowhere."""
    run_ids = list(run_ids)
    attempts = list(Following.objects.filter(run__in=run_ids).values_list("attempt", flat=True))
    if attempts:
        Attempt.objects.filter(pk__in=attempts).update(state=Attempt.State.LOST, finished_at=now, message=UNWATCHED)
        cut_off_polls(attempts, UNWATCHED, now)
        forget(run_ids)
