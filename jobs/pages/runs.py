"""The page of a run: its way from the fire time to its end, why, and each of its attempts; and its line in a list."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from django.db.models import Prefetch
from django.utils import timezone

from jobs import words
from jobs.descriptions import ORIGINS, action_in_words
from jobs.leasing import action_of, document_of
from jobs.models import Attempt, Poll, Run
from jobs.outcomes import ATTEMPT_OUTCOMES, Outcome, outcome_of
from jobs.pages.exchanges import answer_text, request_text
from jobs.retries import policy_of


def run_row(run: Run) -> dict:
    length = run.finished_at - run.started_at if run.started_at and run.finished_at else None
    reason = run.reason
    if run.missed_count > 1 and run.missed_until:
        reason = f"{words.count(run.missed_count, 'time')} until {words.clock(run.missed_until)}" + (
            f": {reason}" if reason else ""
        )
    return {
        "run": run,
        "outcome": outcome_of(run),
        "started": run.started_at,
        "reason": reason,
        "took": "" if length is None else words.took(length),
        "by": ORIGINS[Run.Origin(run.origin)],
    }


def run_page(run: Run, now: datetime) -> dict:
    polls = Prefetch("polls", Poll.objects.order_by("-number"))
    attempts = list(run.attempts.order_by("number").prefetch_related(polls))
    document = action_of(run) if run.action else None
    return {
        "run": run,
        "now": now,
        "outcome": outcome_of(run),
        "planned": planned(run, now),
        "headline": headline(run, attempts),
        "by": ORIGINS[Run.Origin(run.origin)],
        "way": way(run, attempts, now),
        "trail": trail(run, attempts, now),
        "attempts": [attempt_row(run, attempt, document) for attempt in reversed(attempts)],
        "does": action_in_words(document) if document else "",
        "parent": run.parent,
        "error_run": Run.objects.filter(parent=run).first(),
        "previous": _beside(run, newer=False),
        "following": _beside(run, newer=True),
    }


def planned(run: Run, now: datetime) -> str:
    """Tue 20 October, 18:00; with seconds where it has some."""
    local = timezone.localtime(run.fire_at)
    clock = f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"
    return f"{words.day(run.fire_at, now)}, {clock}"


def headline(run: Run, attempts: Sequence[Attempt]) -> str:
    if attempts and attempts[-1].message:
        tries = f" after {words.count(len(attempts), 'attempt')}" if len(attempts) > 1 else ""
        return attempts[-1].message.splitlines()[0][:200].removesuffix(".") + tries
    return run.reason


def way(run: Run, attempts: Sequence[Attempt], now: datetime) -> list[dict]:
    """The stages of a run: planned, started, each further attempt, finished; the state of each colours what follows."""
    stages = [{"name": "Planned", "at": run.fire_at, "note": f"{run.fire_at.astimezone(UTC):%H:%M:%S} UTC"}]
    for before, attempt in zip([None, *attempts], attempts, strict=False):
        if before is None:
            note = f"after {words.took(attempt.started_at - run.fire_at)}"
            stages.append({"name": "Started", "at": attempt.started_at, "note": note, "state": "running"})
        else:
            waited = attempt.started_at - (before.finished_at or before.started_at)
            stages[-1] |= {"state": "warning", "waits": True}
            stages.append(
                {
                    "name": f"Attempt {attempt.number}",
                    "at": attempt.started_at,
                    "note": f"waited {words.took(waited)}",
                    "state": "running",
                }
            )
    if run.finished_at:
        in_all = f"{words.took(run.finished_at - run.fire_at)} in all"
        stages.append(
            {"name": outcome_of(run).word, "at": run.finished_at, "note": in_all, "state": outcome_of(run).state}
        )
    elif run.not_before and run.not_before > now:
        stages[-1] |= {"waits": True}
        name = "Next poll" if run.state == Run.State.FOLLOWING else "Next attempt"
        stages.append({"name": name, "at": run.not_before, "note": words.distance(run.not_before, now)})
    elif run.state in (Run.State.RUNNING, Run.State.FOLLOWING):
        stages.append({"name": "Running", "at": None, "note": "not finished yet", "state": "running"})
    return stages


def trail(run: Run, attempts: Sequence[Attempt], now: datetime) -> list[dict]:
    """What happened and why, oldest first."""
    steps = [_origin_step(run)]
    for attempt in attempts:
        outcome = ATTEMPT_OUTCOMES[Attempt.State(attempt.state)]
        verb = {"failed": "failed", "succeeded": "succeeded", "lost": "was lost", "running": "is running"}[
            attempt.state
        ]
        said = attempt.message.splitlines()[0][:200] if attempt.message else ""
        steps.append(
            _step(outcome, attempt.finished_at or attempt.started_at, f"Attempt {attempt.number} {verb}", said)
        )
    outcome = outcome_of(run)
    if run.not_before and run.state == Run.State.RETRYING:
        steps.append(_step(outcome, run.not_before, "The next attempt is due", _why_then(run, attempts, now)))
    elif run.not_before and run.state == Run.State.FOLLOWING:
        made = words.count(sum(len(attempt.polls.all()) for attempt in attempts[-1:]), "poll")
        said = f"{words.distance(run.not_before, now)}, after {made}"
        steps.append(_step(outcome, run.not_before, "Its operation is asked after", said))
    elif run.finished_at:
        lateness = run.started_at - run.fire_at if run.started_at else None
        note = run.reason or (f"started {words.took(lateness)} late" if outcome.mark == "late" and lateness else "")
        steps.append(_step(outcome, run.finished_at, outcome.word, note))
    return steps


def _why_then(run: Run, attempts: Sequence[Attempt], now: datetime) -> str:
    """In 4 min; and what it waits for that long for, other than a fixed interval."""
    distance = words.distance(run.not_before, now) if run.not_before else ""
    headers = {name.lower(): value for name, value in attempts[-1].response_headers} if attempts else {}
    if asked := headers.get("retry-after"):
        return f"{distance}; the target said Retry-After: {asked}"
    if run.action and policy_of(action_of(run), enclosing=document_of(run)).is_growing:
        return f"{distance}; it waits longer after each failure"
    return distance


def _origin_step(run: Run) -> dict:
    due = Outcome("planned", "Due")
    number = f"occurrence {run.occurrence}" if run.occurrence else ""
    if run.origin == Run.Origin.MANUAL:
        return _step(due, run.fire_at, "Ordered by hand", "it does not move the schedule")
    if run.origin == Run.Origin.ERROR_ACTION:
        return _step(due, run.fire_at, "Follows a failed run", "it has no error action of its own")
    return _step(due, run.fire_at, "Due by the schedule", number)


def _step(outcome: Outcome, at: datetime, what: str, note: str) -> dict:
    return {"outcome": outcome, "at": at, "what": what, "note": note}


def attempt_row(run: Run, attempt: Attempt, document: dict | None) -> dict:
    length = attempt.finished_at - attempt.started_at if attempt.finished_at else None
    first_line = attempt.message.splitlines()[0] if attempt.message else ""
    return {
        "attempt": attempt,
        "outcome": ATTEMPT_OUTCOMES[Attempt.State(attempt.state)],
        "summary": first_line[:200],
        "took": "" if length is None else words.took(length),
        "request": request_text(run, attempt, document) if document else "",
        "answer": answer_text(attempt),
        "polls": [poll_row(poll) for poll in attempt.polls.all()],
    }


def poll_row(poll: Poll) -> dict:
    return {
        "poll": poll,
        "said": poll.status or poll.message[:200],
        "percent": "" if poll.percent is None else f"{poll.percent:g} %",
        "wait": "" if poll.retry_after_s is None else words.took(timedelta(seconds=poll.retry_after_s)),
    }


def _beside(run: Run, newer: bool) -> Run | None:
    """The run of the same job before or after this one."""
    if run.job_id is None:
        return None
    runs = Run.objects.filter(job=run.job_id).exclude(pk=run.pk).only("id", "fire_at")
    if newer:
        return runs.filter(fire_at__gte=run.fire_at).order_by("fire_at", "id").first()
    return runs.filter(fire_at__lte=run.fire_at).order_by("-fire_at", "-id").first()
