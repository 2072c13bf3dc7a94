"""The page of a run, with its timeline, the reasons and its attempts; and the row of a run in a list."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db.models import Prefetch
from django.utils import timezone
from django.utils.text import capfirst

from jobs import humanize
from jobs.action_text import ORIGINS, action_in_words
from jobs.badges import ATTEMPT_OUTCOMES, Badge, lowercase_label, outcome_of
from jobs.models import Attempt, Poll, Run, RunHold
from jobs.pages.http_transcript import answer_text, request_text
from jobs.pages.outages import outage_in_words, outages_of_runs
from jobs.pages.waits import block_step, blocking_run, held_duration_text, hold_stages, hold_steps, holds_of
from jobs.worker.leasing import action_of, document_of
from jobs.worker.retries import policy_of

OUTAGE = Badge("missed", "Outage")


def run_rows(runs: Sequence[Run], now: datetime) -> list[dict]:
    """Return the rows of a list of runs, each with the error action that followed it and the outage that delayed it."""
    error_runs, outages = error_runs_of(runs), outages_of_runs(runs)
    return [
        {
            **run_row(run),
            "error_run": error_runs.get(run.pk),
            "outage": outage_in_words(outages[run.pk], now) if run.pk in outages else "",
        }
        for run in runs
    ]


def error_runs_of(runs: Iterable[Run]) -> dict[UUID | None, dict]:
    """Return the rows of the error actions that follow these runs, by the id of the failed run."""
    failed = [run.pk for run in runs if run.state == Run.State.FAILED]
    found = Run.objects.filter(parent__in=failed).only(
        *("parent_id", "state", "fire_at", "starts_at", "started_at", "finished_at")
    )
    return {run.parent_id: error_run_row(run) for run in found}


def error_run_row(error_run: Run) -> dict:
    outcome = outcome_of(error_run)
    return {"run": error_run, "outcome": outcome, "words": f"error action {lowercase_label(outcome.word)}"}


def run_row(run: Run) -> dict:
    length = run.finished_at - run.started_at if run.started_at and run.finished_at else None
    reason = run.reason
    if run.missed_count > 1 and run.missed_until:
        reason = f"{humanize.format_count(run.missed_count, 'time')} until {humanize.format_time(run.missed_until)}" + (
            f": {reason}" if reason else ""
        )
    return {
        "run": run,
        "outcome": outcome_of(run),
        "started": run.started_at,
        "reason": reason,
        "took": "" if length is None else humanize.format_elapsed(length),
        "by": ORIGINS[Run.Origin(run.origin)],
    }


def run_page(run: Run, now: datetime) -> dict:
    polls = Prefetch("polls", Poll.objects.order_by("-number"))
    attempts = list(run.attempts.order_by("number").prefetch_related(polls))
    document = action_of(run) if run.action else None
    error_run = error_runs_of([run]).get(run.pk)
    holds = holds_of(run)
    return {
        "run": run,
        "now": now,
        "outcome": outcome_of(run),
        "planned": planned(run, now),
        "headline": headline(run, attempts),
        "by": ORIGINS[Run.Origin(run.origin)],
        "timeline": timeline(run, attempts, now, holds),
        "steps": with_steps_around(run, timeline_steps(run, attempts, now, holds), error_run, now),
        "attempts": [attempt_row(run, attempt, document) for attempt in reversed(attempts)],
        "action_words": action_in_words(document) if document else "",
        "parent": run.parent,
        "error_run": error_run,
        "previous": _aside(run, newer=False),
        "following": _aside(run, newer=True),
    }


def planned(run: Run, now: datetime) -> str:
    """Return a text such as "Tue 20 October, 18:00"; seconds are shown unless they are zero."""
    local = timezone.localtime(run.fire_at)
    clock = f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"
    return f"{humanize.format_date(run.fire_at, now)}, {clock}"


def headline(run: Run, attempts: Sequence[Attempt]) -> str:
    if attempts and attempts[-1].message:
        tries = f" after {humanize.format_count(len(attempts), 'attempt')}" if len(attempts) > 1 else ""
        return attempts[-1].message.splitlines()[0][:200].removesuffix(".") + tries
    return run.reason


def timeline(run: Run, attempts: Sequence[Attempt], now: datetime, holds: Sequence[RunHold] = ()) -> list[dict]:
    """Return the stages of a run: planned, held, started, each further attempt, finished.

    The `state` of a stage is the colour of the line from it to the next one.
    """
    stages = [{"name": "Planned", "at": run.fire_at, "note": f"{run.fire_at.astimezone(UTC):%H:%M:%S} UTC"}]
    if run.starts_at:
        note = f"{humanize.format_elapsed(run.starts_at - run.fire_at)} of jitter"
        stages.append({"name": "Start with jitter", "at": run.starts_at, "note": note})
    stages += hold_stages(holds)
    for previous, attempt in zip([None, *attempts], attempts, strict=False):
        if previous is None:
            lateness = humanize.format_elapsed(attempt.started_at - run.planned_start)
            note = f"after {lateness}{held_duration_text(holds, now)}"
            stages.append({"name": "Started", "at": attempt.started_at, "note": note, "state": "running"})
        else:
            waited = attempt.started_at - (previous.finished_at or previous.started_at)
            stages[-1] |= {"state": "warning", "waits": True}
            stages.append(
                {
                    "name": f"Attempt {attempt.number}",
                    "at": attempt.started_at,
                    "note": f"waited {humanize.format_elapsed(waited)}",
                    "state": "running",
                }
            )
    if run.finished_at:
        total = f"{humanize.format_elapsed(run.finished_at - run.planned_start)} in total"
        stages.append(
            {"name": outcome_of(run).word, "at": run.finished_at, "note": total, "state": outcome_of(run).state}
        )
    elif attempts and run.not_before and run.not_before > now:
        stages[-1] |= {"waits": True}
        name = "Next poll" if run.state == Run.State.FOLLOWING else "Next attempt"
        stages.append({"name": name, "at": run.not_before, "note": humanize.format_relative(run.not_before, now)})
    elif run.state in (Run.State.RUNNING, Run.State.FOLLOWING):
        stages.append({"name": "Running", "at": None, "note": "not finished yet", "state": "running"})
    return stages


def timeline_steps(run: Run, attempts: Sequence[Attempt], now: datetime, holds: Sequence[RunHold] = ()) -> list[dict]:
    """Return the steps of a run's history: what happened and why, oldest first."""
    steps = [_origin_step(run, now), *hold_steps(holds, now)]
    if block := block_step(run, blocking_run(run), now):
        steps.append(block)
    for attempt in attempts:
        outcome = ATTEMPT_OUTCOMES[Attempt.State(attempt.state)]
        verb = {"failed": "failed", "succeeded": "succeeded", "lost": "was lost", "running": "is running"}[
            attempt.state
        ]
        note = attempt.message.splitlines()[0][:200] if attempt.message else ""
        steps.append(
            _step(outcome, attempt.finished_at or attempt.started_at, f"Attempt {attempt.number} {verb}", note)
        )
    outcome = outcome_of(run)
    if run.not_before and run.state == Run.State.RETRYING:
        steps.append(_step(outcome, run.not_before, "The next attempt is due", _retry_note(run, attempts, now)))
    elif run.not_before and run.state == Run.State.FOLLOWING:
        poll_count = humanize.format_count(sum(len(attempt.polls.all()) for attempt in attempts[-1:]), "poll")
        note = f"{humanize.format_relative(run.not_before, now)}, after {poll_count}"
        steps.append(_step(outcome, run.not_before, "Next poll of the operation", note))
    elif run.finished_at:
        lateness = run.started_at - run.planned_start if run.started_at else None
        late = f"started {humanize.format_elapsed(lateness)} late" if outcome.mark == "late" and lateness else ""
        note = run.reason or (late + held_duration_text(holds, now) if late else "")
        steps.append(_step(outcome, run.finished_at, outcome.word, note))
    return steps


def _retry_note(run: Run, attempts: Sequence[Attempt], now: datetime) -> str:
    """Return a text such as "in 4 min", and the reason for the wait unless the interval is fixed."""
    distance = humanize.format_relative(run.not_before, now) if run.not_before else ""
    headers = {name.lower(): value for name, value in attempts[-1].response_headers} if attempts else {}
    if retry_after := headers.get("retry-after"):
        return f"{distance}; the target sent Retry-After: {retry_after}"
    if run.action and policy_of(action_of(run), enclosing=document_of(run)).is_growing:
        return f"{distance}; the wait grows after each failure"
    return distance


def _origin_step(run: Run, now: datetime) -> dict:
    due = Badge("planned", "Due")
    notes = [f"occurrence {run.occurrence}"] if run.occurrence else []
    if run.moved_from:
        notes.append(f"moved from {humanize.format_datetime(run.moved_from, now)} by closed days")
    if run.origin == Run.Origin.MANUAL:
        return _step(due, run.fire_at, "Started manually", "it does not change the schedule")
    if run.origin == Run.Origin.ERROR_ACTION:
        return _step(due, run.fire_at, "Error action of a failed run", "it has no error action of its own")
    return _step(due, run.fire_at, "Due by schedule", ", ".join(notes))


def with_steps_around(run: Run, steps: list[dict], error_run: dict | None, now: datetime) -> list[dict]:
    """Insert the outage in which the run was due after the first step, and append the error action that followed."""
    for outage in outages_of_runs([run]).values():
        steps.insert(1, _step(OUTAGE, outage.ended_at, outage_in_words(outage, now), ""))
    if error_run is not None:
        at = error_run["run"].finished_at or error_run["run"].fire_at
        steps.append(_step(error_run["outcome"], at, capfirst(error_run["words"]), ""))
    return steps


def _step(outcome: Badge, at: datetime, what: str, note: str) -> dict:
    return {"outcome": outcome, "at": at, "what": what, "note": note}


def attempt_row(run: Run, attempt: Attempt, document: dict | None) -> dict:
    length = attempt.finished_at - attempt.started_at if attempt.finished_at else None
    first_line = attempt.message.splitlines()[0] if attempt.message else ""
    return {
        "attempt": attempt,
        "outcome": ATTEMPT_OUTCOMES[Attempt.State(attempt.state)],
        "summary": first_line[:200],
        "took": "" if length is None else humanize.format_elapsed(length),
        "request": request_text(run, attempt, document) if document else "",
        "answer": answer_text(attempt),
        "polls": [poll_row(poll) for poll in attempt.polls.all()],
    }


def poll_row(poll: Poll) -> dict:
    return {
        "poll": poll,
        "said": poll.status or poll.message[:200],
        "percent": "" if poll.percent is None else f"{poll.percent:g} %",
        "wait": "" if poll.retry_after_s is None else humanize.format_elapsed(timedelta(seconds=poll.retry_after_s)),
    }


def _aside(run: Run, newer: bool) -> Run | None:
    """Return the run of the same job before this one, or after it if `newer`; None if there is none."""
    if run.job_id is None:
        return None
    runs = Run.objects.without_error_actions().filter(job=run.job_id).exclude(pk=run.pk).only("id", "fire_at")
    if newer:
        return runs.filter(fire_at__gte=run.fire_at).order_by("fire_at", "id").first()
    return runs.filter(fire_at__lte=run.fire_at).order_by("-fire_at", "-id").first()
