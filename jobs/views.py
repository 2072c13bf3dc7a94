"""What the pages of jobs and runs show: finished rows, so that templates neither ask nor reckon."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from django.db.models import Prefetch
from django.forms import Form
from django.utils import timezone

from jobs import actions, words
from jobs.actions.outcome import Refused
from jobs.cautions import Caution, cautions_of
from jobs.credentials import credentials
from jobs.descriptions import (
    DELIVERIES,
    MISFIRES,
    ORIGINS,
    OVERLAPS,
    action_in_words,
    error_action_in_words,
    following_in_words,
    identity_in_words,
    retries_in_words,
    success_in_words,
    written,
)
from jobs.encryption import MASK
from jobs.leasing import action_of, document_of
from jobs.models import Attempt, Job, JobCollection, Poll, Process, Run
from jobs.outcomes import ATTEMPT_OUTCOMES, JOB_STATES, Outcome, outcome_of
from jobs.rehearsal import Part, Rehearsal, shown_call
from jobs.retries import policy_of
from recurrence.clock_changes import clock_changes
from recurrence.describe import describe
from recurrence.preview import preview
from recurrence.wire import WireError, parse, refuse_unreachable
from triggers.forms import JobForm
from triggers.groups import not_served
from triggers.mint_jobs import EVENTS
from triggers.models import MAIN, Trigger
from triggers.outlook import in_order, in_words, upcoming
from triggers.schedule_form import WHEN_FIELDS
from triggers.scheduling import FORMAT, LOCK_KEY, main_trigger
from triggers.trigger_form import format_in_words

NOTHING = timedelta(0)
UPCOMING = 10
OUTCOMES = 50
PAGE = 20  # runs on a job's page
# in the place of an action's secrets, for showing what was sent without reading them
MASKED = {
    "request.authentication.password": MASK,
    "request.authentication.pfx": MASK,
    "request.authentication.secret": MASK,
    "queueMessage.sasToken": f"sig={MASK}",
    "serviceBusQueueMessage.authentication.sasKey": MASK,
    "serviceBusTopicMessage.authentication.sasKey": MASK,
}


# Fire times


def runs(fire: datetime) -> str:
    """Why a fire time is held where nothing is known to hold it: not at all."""
    return ""


def fire_rows(
    fires: Sequence[datetime],
    now: datetime,
    zone: tzinfo = UTC,
    notes: Sequence[str] = (),
    why_held: Callable[[datetime], str] = runs,
) -> list[dict]:
    """Fire times as lines of a list: day and clock of the viewer, another clock beside it, and what is worth a note.

    `zone` is the schedule's own; where the viewer's clocks move and its own do not, that is noted.
    """
    rows = []
    ahead: timedelta | None = None
    for fire, note in zip(fires, notes or [""] * len(fires), strict=True):
        local, own = timezone.localtime(fire), fire.astimezone(zone)
        before, ahead = ahead, (local.utcoffset() or NOTHING) - (own.utcoffset() or NOTHING)
        rows.append(
            {
                "at": fire,
                "day": words.day(fire, now),
                "clock": _clock(local),
                "beside": _beside_clock(fire, local, own),
                "asides": [aside for aside in (note, _shift(before, ahead)) if aside],
                "held": why_held(fire),
            }
        )
    return rows


def _beside_clock(fire: datetime, local: datetime, own: datetime) -> str:
    """The same moment on the schedule's own clocks, or in UTC where those show the same as the viewer's."""
    if local.utcoffset() == own.utcoffset():
        return f"{_clock(fire.astimezone(UTC))} UTC" if local.utcoffset() else "UTC"
    return f"{_clock(own)} {_place(str(own.tzinfo))}"


def _clock(moment: datetime) -> str:
    return f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"


def _place(zone: str) -> str:
    return zone.rpartition("/")[2].replace("_", " ")


def _shift(before: timedelta | None, after: timedelta) -> str:
    if before is None or before == after:
        return ""
    place = _place(timezone.get_current_timezone_name())
    return f"{words.span(abs(after - before))} {'later' if after > before else 'earlier'} in {place} from here"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a schedule means, shown beside the form that writes it: either an error or words and times."""

    words: str = ""
    rows: Sequence[dict] = ()
    more: bool = False
    warnings: Sequence[str] = ()
    error: str = ""
    is_hint: bool = False  # the error is none yet, only what is still to be written
    document: str = ""


def meaning_of(schedule: dict, trigger: Trigger | None, now: datetime, format: str = FORMAT) -> Meaning:
    """What saving `schedule` at `now` would lead to.  An unchanged one goes on from where its trigger stands.

    Raises WireError when it would be refused.
    """
    is_kept = trigger is not None and (trigger.format, trigger.definition) == (format, schedule)
    if trigger is not None and is_kept and trigger.next_fire_at is not None:
        fires = upcoming([trigger], UPCOMING + 1)
        more, fires, parsed = len(fires) > UPCOMING, fires[:UPCOMING], trigger.parsed
    else:
        parsed = parse(format, schedule, now)
        refuse_unreachable(parsed, now)
        fires, more = preview(parsed, created_at=now, limit=UPCOMING)
    sentence = describe(parsed)
    return Meaning(
        words=sentence[:1].upper() + sentence[1:] + ".",
        rows=fire_rows(fires, now, parsed.zone, clock_changes(parsed.schedule, fires, now)),
        more=more,
        warnings=parsed.warnings,
        document=written(schedule),
    )


def meaning_of_form(form: JobForm, now: datetime) -> Meaning:
    """What the form's schedule means; while nothing is posted, what its initial one means."""
    if form.carried:
        (schedule,) = form.carried
    elif not form.is_bound:
        if form.job is None:
            return Meaning(error="Choose how often it repeats and when it starts.", is_hint=True)
        schedule = form.trigger.definition if form.trigger else None
    elif wrong := wrong_of(form, (*WHEN_FIELDS, "schedule_json")):
        return wrong
    else:
        schedule = form.schedule()
    if schedule is None:
        return Meaning(error="No schedule of its own: it runs by hand, and by the triggers beside it.", is_hint=True)
    try:
        return meaning_of(schedule, form.trigger, now)
    except WireError as error:
        return refusal(form, error, schedule)


def wrong_of(form: Form, names: Collection[str]) -> Meaning | None:
    """The first of these fields that cannot be read, if any."""
    wrong = next((field for field in form if field.errors and field.name in names), None)
    return Meaning(error=f"{wrong.label}: {wrong.errors[0]}") if wrong else None


def refusal(form: Any, error: WireError, schedule: dict | None = None) -> Meaning:
    """What the core refuses, told with the field that it is about."""
    place, message = form.place_of(error)
    label = form[place].label if place else "Schedule"
    return Meaning(error=f"{label}: {message}", document=written(schedule) if schedule is not None else "")


def next_run_in_words(job: Job, now: datetime) -> str:
    """The next run is tomorrow 02:30, Berlin time; or why there is none."""
    fires = upcoming(job.triggers.all(), 1)
    if not fires:
        return _why_nothing(job)
    place = _place(timezone.get_current_timezone_name())
    return f"The next run is {words.moment(fires[0], now)} {place}."


# A job


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


# A run


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


def request_text(run: Run, attempt: Attempt, document: dict) -> str:
    """What was sent, as a request reads on the wire; credentials are masked, and signatures are not made again."""
    context = actions.Context(
        run_id=run.pk,
        attempt=attempt.number,
        fire_at=run.fire_at,
        now=attempt.started_at,
        job_name=run.job_name,
        collection_name=run.collection_name,
        region=run.job.collection.location if run.job else "",
    )
    try:
        return call_text(shown_call(document, MASKED, context))
    except Refused as refusal:
        return str(refusal)


def rehearsal_page(rehearsal: Rehearsal, part: Part, now: datetime) -> dict:
    outcome = rehearsal.outcome
    return {
        "part": part.label,
        "at": now,
        "outcome": ATTEMPT_OUTCOMES[Attempt.State.SUCCEEDED if outcome.succeeded else Attempt.State.FAILED],
        "message": outcome.message,
        "took": words.took(rehearsal.took),
        "request": call_text(rehearsal.request) if rehearsal.request else "",
        "answer": outcome_text(outcome),
    }


def call_text(call: Mapping) -> str:
    """What `shown_call` says, as a request reads on the wire; a task as its name and its arguments."""
    if "name" in call:
        return _message_text([call["name"]], written(call.get("arguments", {})))
    address = urlsplit(call["uri"])
    lines = [
        f"{call['method']} {address.path or '/'}{'?' + address.query if address.query else ''}",
        f"Host: {address.netloc}",
        *(f"{name}: {value}" for name, value in call["headers"]),
    ]
    return _message_text(lines, call["body"])


def outcome_text(outcome: actions.Outcome) -> str:
    status = [str(outcome.status_code)] if outcome.status_code else []
    return _message_text([*status, *(f"{name}: {value}" for name, value in outcome.headers)], outcome.body)


def answer_text(attempt: Attempt) -> str:
    status = [str(attempt.status_code)] if attempt.status_code else []
    return _message_text(
        [*status, *(f"{name}: {value}" for name, value in attempt.response_headers)], attempt.response_body
    )


def _message_text(head: Sequence[str], body: str) -> str:
    return "\n".join(head) + (f"\n\n{body}" if body else "")


def _beside(run: Run, newer: bool) -> Run | None:
    """The run of the same job before or after this one."""
    if run.job_id is None:
        return None
    runs = Run.objects.filter(job=run.job_id).exclude(pk=run.pk).only("id", "fire_at")
    if newer:
        return runs.filter(fire_at__gte=run.fire_at).order_by("fire_at", "id").first()
    return runs.filter(fire_at__lte=run.fire_at).order_by("-fire_at", "-id").first()
