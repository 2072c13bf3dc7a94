"""The page of a job: its schedule and triggers, its last outcomes, and its next runs or why there are none."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from itertools import islice
from statistics import median

from jobs import humanize
from jobs.action_text import (
    DELIVERIES,
    MISFIRES,
    OVERLAPS,
    action_in_words,
    error_action_in_words,
    following_in_words,
    identity_in_words,
    retries_in_words,
    success_in_words,
)
from jobs.badges import JOB_STATES, outcome_of
from jobs.credentials import credentials
from jobs.models import Job, Process, Run
from jobs.pages.coming_runs import coming_run_rows
from jobs.pages.fires import UPCOMING
from jobs.pages.next_runs import hold_row, next_run_row, no_fire_reason, no_run_reason
from jobs.pages.runs import run_rows
from jobs.warnings import JobWarning, warnings_of
from recurrence.schedules import LAST_INSTANT
from triggers.definitions import main_trigger
from triggers.descriptions import describe_trigger, job_schedule_warnings, sort_triggers
from triggers.gates import HoldWindow, forecast
from triggers.groups import unserved_groups
from triggers.mint.jobs import EVENTS
from triggers.models import MAIN, Trigger
from triggers.scheduling import LOCK_KEY
from triggers.trigger_form import format_in_words
from triggers.upcoming import expected_runs, hold_of_fire, next_runs, waiting_runs

OUTCOMES = 50
PAGE = 20  # runs on a job's page


def job_page(job: Job, now: datetime, before: Run | None = None) -> dict:
    """Return the context of the page: schedule, last outcomes, a page of runs and the next fire times.

    The runs on the page are those older than `before`, or the newest ones if it is None.
    """
    trigger, triggers = main_trigger(job), job.triggers.all()
    served_queues = Process.objects.served_queues(now)
    history = list(job.runs.without_error_actions().order_by("-fire_at", "-id")[:OUTCOMES])
    page, older = (history[:PAGE], len(history) > PAGE) if before is None else _next_page(job, before)
    windows = forecast([job.pk], now, LAST_INSTANT, now)
    waiting = waiting_runs(triggers, now).get(job.pk, ())
    expected = list(islice(expected_runs(triggers, windows.get(job.pk, ()), waiting), UPCOMING))
    next_run = next_runs([job.pk], triggers, now, windows).get(job.pk)
    sentence = describe_trigger(trigger) if trigger else "no schedule of its own"
    return {
        "job": job,
        "now": now,
        "trigger": trigger,
        "state": JOB_STATES[Job.State(job.state)],
        "schedule_words": sentence[:1].upper() + sentence[1:] + ".",
        "triggers": [
            trigger_row(each, job, served_queues, windows.get(job.pk, ())) for each in sort_triggers(triggers)
        ],
        "not_served": [
            text
            for group in sorted({each.group for each in triggers})
            if (text := unserved_groups(group, served_queues))
        ],
        "has_more_triggers": any(each != trigger for each in triggers),
        "action_words": action_in_words(job.action.document),
        "strip": [history_bar(run, now) for run in reversed(history)],
        "record": run_history(history),
        "runs": run_rows(page, now),
        "older": page[-1].pk if older and page else None,
        "is_first_page": before is None,
        "fires": coming_run_rows(expected, now),
        "next_run": next_run_row(job, triggers, next_run, now),
        "no_run_reason": "" if next_run else no_run_reason(job, triggers).sentence,
        "rules": rules(job, trigger),
        "job_warnings": warning_rows(job, now),
        "credentials": credentials(job, now),
    }


def trigger_row(trigger: Trigger, job: Job, served: Collection[str], windows: Sequence[HoldWindow] = ()) -> dict:
    """Return the row of a trigger of `job`.

    `served` are the queues that some worker serves, one for each trigger group.  `windows` are the windows that hold
    the job.
    """
    hold = hold_of_fire(windows, trigger, trigger.next_fire_at) if trigger.next_fire_at else None
    is_own = trigger.name == MAIN
    event = EVENTS.get(trigger.name)
    return {
        "trigger": trigger,
        "name": "Own schedule" if is_own else trigger.name,
        "is_own": is_own,
        "words": describe_trigger(trigger),
        "format": format_in_words(trigger.format),
        "state": JOB_STATES[Job.State.ENABLED if trigger.enabled else Job.State.DISABLED],
        "hold": hold and hold_row(hold),
        "no_run_reason": no_fire_reason(trigger, job),
        "is_served": trigger.group in served,
        "lock_key": trigger.data_map.get(LOCK_KEY, ""),
        "starts_at": event.at if event and trigger.format == "simple" and not trigger.enabled else None,
    }


def warning_rows(job: Job, now: datetime) -> list[dict]:
    main = main_trigger(job)
    found = [*warnings_of(job.action.document, now), *(job_schedule_warnings(main, now) if main else ())]
    return [warning_row(warning) for warning in found]


def warning_row(warning: JobWarning) -> dict:
    return {
        "state": "failure" if warning.code == "certificate_expired" else "warning",
        "of": "Error action" if warning.target.startswith("action.errorAction.") else "",
        "message": warning.message,
    }


def _next_page(job: Job, run: Run) -> tuple[list[Run], bool]:
    runs = job.runs.without_error_actions().order_by("-fire_at", "-id")
    same_time = runs.filter(fire_at=run.fire_at, id__lt=run.id)
    older = [*same_time[: PAGE + 1], *runs.filter(fire_at__lt=run.fire_at)[: PAGE + 1]]
    return older[:PAGE], len(older) > PAGE


def history_bar(run: Run, now: datetime) -> dict:
    outcome = outcome_of(run)
    return {
        "run": run,
        "outcome": outcome,
        "label": f"{humanize.format_datetime(run.fire_at, now)}: {outcome.word.lower()}",
    }


def run_history(runs: Sequence[Run]) -> str:
    """Return a text such as "96 % of 50 due runs succeeded · usually 1 h 11 min".

    It counts runs that were due and are over; missed ones count too.  It is empty if there are none.
    """
    due = sum(run.missed_count for run in runs if not run.is_open)
    succeeded = [run for run in runs if run.state == Run.State.SUCCEEDED]
    if not due:
        return ""
    percent = "less than 1" if 0 < len(succeeded) < due / 100 else 100 * len(succeeded) // due
    share = f"{percent} % of {humanize.format_count(due, 'due run')} succeeded"
    seconds = [
        (run.finished_at - run.started_at).total_seconds() for run in succeeded if run.started_at and run.finished_at
    ]
    return f"{share} · usually {humanize.format_elapsed(timedelta(seconds=median(seconds)))}" if seconds else share


def rules(job: Job, trigger: Trigger | None) -> list[tuple[str, str]]:
    document = job.action.document
    rows = [
        ("Action", action_in_words(document)),
        ("Authentication", identity_in_words(document)),
        ("Success criteria", success_in_words(document)),
        ("Operation after a 202", following_in_words(document)),
        ("Retries", retries_in_words(document)),
        ("Error action", error_action_in_words(document)),
        ("Missed runs", MISFIRES[trigger.misfire] if trigger else ""),
        ("Overlapping runs", OVERLAPS[Job.Overlap(job.overlap)]),
        ("If the worker is lost", DELIVERIES[Job.Delivery(job.delivery)]),
    ]
    return [(name, rule) for name, rule in rows if rule]
