"""Texts for lists and pages: when a job runs next, what holds the next run, and why there is no next run."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from django.urls import reverse
from django.utils import timezone

from jobs import humanize
from jobs.models import Job, JobCollection
from jobs.pages.fires import place_name
from triggers.gates import notice_of
from triggers.models import Trigger
from triggers.upcoming import ExpectedHold, ExpectedRun, next_runs


class NoRun(NamedTuple):
    """The reason why a job does not run by itself: a short text for a table, and a sentence."""

    short: str
    sentence: str


def next_run_row(job: Job, triggers: Iterable[Trigger], expected: ExpectedRun | None, now: datetime) -> dict[str, Any]:
    """Return the next run of a job, for a list and for the job's page.

    `expected` None: there is no next run.
    """
    if expected is None:
        return {"runs_at": None, "hold": None, "no_run_reason": no_run_reason(job, triggers).short}
    hold = expected.hold and hold_row(expected.hold)
    return {"runs_at": expected.runs_at, "fire_at": expected.fire_at, "hold": hold, "no_run_reason": "", "now": now}


def hold_row(hold: ExpectedHold) -> dict[str, Any]:
    notice_id = notice_of(hold.window.key)
    address = reverse("maintenance:notice", args=[notice_id]) if notice_id else ""
    return {"reason": hold.window.reason, "url": address, "until": hold.until}


def held_in_words(expected: ExpectedRun, now: datetime) -> str:
    """Return what holds the fire time and what becomes of it; empty if it runs when it is due."""
    return f"{expected.hold.window.reason}; {_after_hold(expected, expected.hold, now)}" if expected.hold else ""


def _after_hold(expected: ExpectedRun, hold: ExpectedHold, now: datetime) -> str:
    if hold.is_dropped:
        return "it does not run"
    if expected.is_superseded:
        return "a later fire time runs instead"
    if hold.until is None:
        return "it runs once afterwards, time unknown"
    return f"it runs once afterwards, at about {humanize.format_datetime(hold.until, now)}"


def next_run_in_words(job: Job, now: datetime) -> str:
    """Return a sentence such as "The next run is tomorrow 02:30 Berlin.", or why there is no next run."""
    triggers = job.triggers.all()
    expected = next_runs([job.pk], triggers, now).get(job.pk)
    if expected is None:
        return no_run_reason(job, triggers).sentence
    if expected.runs_at is None and expected.hold:
        return f"The next run is {expected.hold.window.reason}; its time is unknown."
    zone_name = place_name(timezone.get_current_timezone_name())
    text = f"The next run is {humanize.format_datetime(expected.runs_at or expected.fire_at, now)} {zone_name}"
    return f"{text}, {expected.hold.window.reason} until then." if expected.hold else f"{text}."


def no_run_reason(job: Job, triggers: Iterable[Trigger]) -> NoRun:
    """Return why none of the job's triggers is going to fire. `triggers` are all triggers of the job."""
    if reason := job_stop_reason(job):
        return NoRun(reason, f"No more runs: {reason}." if job.is_final else f"No runs while {reason}.")
    enabled = [trigger.enabled for trigger in triggers]
    if not enabled:
        return NoRun("manual only", "No schedule: it runs only when started manually.")
    if all(enabled):
        return NoRun("no more runs", "No more runs: its schedule has ended.")
    if any(enabled):
        return NoRun("only disabled triggers left", "No runs while some of its triggers are disabled.")
    subject = "its trigger is" if len(enabled) == 1 else "its triggers are"
    return NoRun(f"{subject} disabled", f"No runs while {subject} disabled.")


def no_fire_reason(trigger: Trigger, job: Job) -> str:
    """Return why this trigger of the job has no next fire time."""
    return job_stop_reason(job) or ("no more runs" if trigger.enabled else "disabled")


def job_stop_reason(job: Job) -> str:
    """Return what stops all triggers of the job: its end, its state or its collection's; empty if nothing does."""
    if job.is_final:
        return "the job has ended"
    if job.state == Job.State.DISABLED:
        return "the job is disabled"
    if job.collection.state != JobCollection.State.ENABLED:
        return f"the collection {job.collection.name} is {job.collection.state}"
    return ""
