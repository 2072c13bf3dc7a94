"""The page of a job: its schedule and triggers, its last outcomes, what is next and why nothing is."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from statistics import median

from django.utils import timezone

from jobs import words
from jobs.cautions import Caution, cautions_of
from jobs.credentials import credentials
from jobs.descriptions import (
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
from jobs.models import Job, JobCollection, Process, Run
from jobs.outcomes import JOB_STATES, outcome_of
from jobs.pages.fires import UPCOMING, fire_rows, place_name, runs
from jobs.pages.runs import run_row
from triggers.definitions import main_trigger
from triggers.groups import not_served
from triggers.mint_jobs import EVENTS
from triggers.models import MAIN, Trigger
from triggers.outlook import in_order, in_words, upcoming
from triggers.scheduling import LOCK_KEY
from triggers.trigger_form import format_in_words

OUTCOMES = 50
PAGE = 20  # runs on a job's page


def job_page(job: Job, now: datetime, before: Run | None = None, why_held: Callable[[datetime], str] = runs) -> dict:
    """Its schedule, its last outcomes, a page of runs (those older than `before`) and what is next.

    `why_held` says of a planned fire time why it is going to be held; nothing when it runs.
    """
    trigger, triggers = main_trigger(job), job.triggers.all()
    served = Process.objects.served(now)
    history = list(job.runs.order_by("-fire_at", "-id")[:OUTCOMES])
    page, older = (history[:PAGE], len(history) > PAGE) if before is None else _older(job, before)
    fires = upcoming(triggers, UPCOMING)
    sentence = in_words(trigger) if trigger else "no schedule of its own"
    return {
        "job": job,
        "now": now,
        "trigger": trigger,
        "state": JOB_STATES[Job.State(job.state)],
        "schedule_words": sentence[:1].upper() + sentence[1:] + ".",
        "triggers": [trigger_row(each, job, served) for each in in_order(triggers)],
        "not_served": [
            said for group in sorted({each.group for each in triggers}) if (said := not_served(group, served))
        ],
        "is_beside": any(each != trigger for each in triggers),
        "does": action_in_words(job.action.document),
        "strip": [strip_item(run, now) for run in reversed(history)],
        "record": record(history),
        "runs": [run_row(run) for run in page],
        "older": page[-1].pk if older and page else None,
        "is_first_page": before is None,
        "fires": fire_rows(fires, now, why_held=why_held),
        "next_fire_at": fires[0] if fires else None,
        "why_nothing": "" if fires else _why_nothing(job),
        "rules": rules(job, trigger),
        "cautions": [caution_row(caution) for caution in cautions_of(job.action.document, now)],
        "credentials": credentials(job, now),
    }


def next_run_in_words(job: Job, now: datetime) -> str:
    """The next run is tomorrow 02:30, Berlin time; or why there is none."""
    fires = upcoming(job.triggers.all(), 1)
    if not fires:
        return _why_nothing(job)
    place = place_name(timezone.get_current_timezone_name())
    return f"The next run is {words.moment(fires[0], now)} {place}."


def trigger_row(trigger: Trigger, job: Job, served: Collection[str]) -> dict:
    """A trigger of `job`; `served` are the queues that some worker serves."""
    is_own = trigger.name == MAIN
    event = EVENTS.get(trigger.name)
    return {
        "trigger": trigger,
        "name": "Own schedule" if is_own else trigger.name,
        "is_own": is_own,
        "words": in_words(trigger),
        "format": format_in_words(trigger.format),
        "state": JOB_STATES[Job.State.ENABLED if trigger.enabled else Job.State.DISABLED],
        "why_nothing": _why_no_next(trigger, job),
        "is_served": trigger.group in served,
        "lock_key": trigger.data_map.get(LOCK_KEY, ""),
        "starts_at": event.at if event and trigger.format == "simple" and not trigger.enabled else None,
    }


def _why_no_next(trigger: Trigger, job: Job) -> str:
    if job.is_final:
        return "the job has ended"
    if job.state == Job.State.DISABLED:
        return "the job is disabled"
    if job.collection.state != JobCollection.State.ENABLED:
        return f"the collection is {job.collection.state}"
    return "nothing left" if trigger.enabled else "while it is disabled"


def caution_row(caution: Caution) -> dict:
    return {
        "state": "failure" if caution.code == "certificate_expired" else "warning",
        "of": "Error action" if caution.target.startswith("action.errorAction.") else "",
        "message": caution.message,
    }


def _older(job: Job, run: Run) -> tuple[list[Run], bool]:
    runs = job.runs.order_by("-fire_at", "-id")
    at_once = runs.filter(fire_at=run.fire_at, id__lt=run.id)
    older = [*at_once[: PAGE + 1], *runs.filter(fire_at__lt=run.fire_at)[: PAGE + 1]]
    return older[:PAGE], len(older) > PAGE


def strip_item(run: Run, now: datetime) -> dict:
    outcome = outcome_of(run)
    return {"run": run, "outcome": outcome, "label": f"{words.moment(run.fire_at, now)}: {outcome.word.lower()}"}


def record(runs: Sequence[Run]) -> str:
    """96 % succeeded · usually 1 h 11 min: of the runs that were carried out."""
    ended = [run for run in runs if run.state in (Run.State.SUCCEEDED, Run.State.FAILED, Run.State.LOST)]
    succeeded = [run for run in ended if run.state == Run.State.SUCCEEDED]
    if not ended:
        return ""
    share = f"{100 * len(succeeded) // len(ended)} % succeeded"
    seconds = [
        (run.finished_at - run.started_at).total_seconds() for run in succeeded if run.started_at and run.finished_at
    ]
    return f"{share} · usually {words.took(timedelta(seconds=median(seconds)))}" if seconds else share


def rules(job: Job, trigger: Trigger | None) -> list[tuple[str, str]]:
    document = job.action.document
    said = [
        ("Does", action_in_words(document)),
        ("As", identity_in_words(document)),
        ("Succeeds with", success_in_words(document)),
        ("Follows a 202", following_in_words(document)),
        ("Retries", retries_in_words(document)),
        ("If all fail", error_action_in_words(document)),
        ("If missed", MISFIRES[trigger.misfire] if trigger else ""),
        ("If it overlaps", OVERLAPS[Job.Overlap(job.overlap)]),
        ("If cut off", DELIVERIES[Job.Delivery(job.delivery)]),
    ]
    return [(name, rule) for name, rule in said if rule]


def _why_nothing(job: Job) -> str:
    if job.is_final:
        return "Nothing more: the job has ended."
    if job.state == Job.State.DISABLED:
        return "Nothing while the job is disabled."
    if job.collection.state != JobCollection.State.ENABLED:
        return f"Nothing while the collection {job.collection.name} is {job.collection.state}."
    triggers = job.triggers.all()
    if not triggers:
        return "Nothing by itself: it runs by hand."
    if not any(trigger.enabled for trigger in triggers):
        return "Nothing while its triggers are disabled."
    return "Nothing more: its last occurrence has been made."
