"""What a click on a run opens, or on one that is to come: how it went or when it will, and where to look further."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from statistics import median
from typing import Any

from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext

from accounts.models import Role
from accounts.staff import may
from calendars.pages.held import Hold, hold_at, reasons_of
from calendars.pages.items import hue_of
from calendars.pages.spoken import Manner, place_of, zone_words
from calendars.pages.whence import Whence
from jobs import words
from jobs.models import Attempt, Job, JobCollection, Run
from jobs.outcomes import OUTCOMES, Outcome, newest_runs, outcome_of, within_sentence
from jobs.pages.runs import headline
from maintenance import heeding
from recurrence.schedules import LAST_INSTANT
from recurrence.wire import WireError
from triggers.models import Trigger
from triggers.outlook import in_words

STRIP = 10  # outcomes
PLANNED, DUE = Outcome("planned", "Planned"), Outcome("waiting", "Due")  # as the calendar itself says
HELD = OUTCOMES[Run.State.HELD]


def run_popover(run: Run, viewer, manner: Manner, whence: Whence) -> dict[str, Any]:
    trigger = run.job.triggers.filter(name=run.trigger_name).first() if run.job else None
    attempts = list(run.attempts.order_by("number"))
    hold, _ = hold_of(run.job, manner.now, manner) if run.job and run.state == Run.State.HELD else (None, "")
    length = run.finished_at - run.started_at if run.started_at and run.finished_at else None
    return {
        **common(run.job, trigger, run.fire_at, viewer, manner, whence),
        "title": run.job_name,
        "collection": run.collection_name,
        "outcome": outcome_of(run),
        "why": why(run, attempts, manner),
        "instead": instead(hold, manner) if hold else "",
        "repeats": capfirst(in_words(trigger)) if trigger else by(run),
        "took": words.took(length) if length is not None else "",
        "late": late(run),
        "run_url": reverse("admin:jobs_run_change", args=[run.pk]) if viewer.is_staff else "",
    }


def planned_popover(trigger: Trigger, at: datetime, viewer, manner: Manner, whence: Whence) -> dict[str, Any]:
    job = trigger.job
    hold, reason = hold_of(job, at, manner)
    planned = PLANNED if at > manner.now else DUE
    return {
        **common(job, trigger, at, viewer, manner, whence),
        "title": job.name,
        "collection": job.collection.name,
        "outcome": HELD if hold else planned,
        "why": capfirst(reason),
        "instead": instead(hold, manner) if hold else "",
        "distance": words.distance(at, manner.now),
        "repeats": capfirst(in_words(trigger)),
    }


def hold_of(job: Job, at: datetime, manner: Manner) -> tuple[Hold | None, str]:
    """What holds the job at that moment, as far as is known now, and why."""
    all_told = heeding.told_of_shown()
    spells = heeding.forecast([job.pk], at, LAST_INSTANT, manner.now, all_told)
    hold = hold_at(spells.get(job.pk, ()), at)
    return hold, reasons_of(all_told)[hold.notice.pk] if hold else ""


def instead(hold: Hold, manner: Manner) -> str:
    """When a held run will be."""
    if hold.is_dropped:
        return gettext("not at all")
    if hold.until is None:
        return gettext("once after the maintenance; nobody knows when it ends")
    return gettext("once after the maintenance, at about %s") % manner.moment(hold.until)


def common(
    job: Job | None, trigger: Trigger | None, at: datetime, viewer, manner: Manner, whence: Whence
) -> dict[str, Any]:
    """What is told of a run whether it has been or is to come."""
    newest = newest_runs([job.pk], STRIP)[job.pk] if job else []
    outcomes = [outcome_of(each) for each in newest]
    return {
        "hue": hue_of(job.collection_id) if job else "",
        "close": whence.back(at.astimezone(manner.zone).date()),
        "when": manner.moment(at),
        "at": at.astimezone(manner.zone).isoformat(),
        "place_of_zone": place_of(manner.zone),
        "zone_title": zone_words(manner.zone, at),
        "elsewhere": manner.elsewhere(at, [*zone_of_schedule(trigger), UTC]),
        "usually": usually(newest),
        "last": last(newest, at, manner, whence),
        "outcomes": outcomes,
        "counted": counted(outcomes),
        "job_url": reverse("admin:jobs_job_page", args=[job.pk]) if job and viewer.is_staff else "",
        "order_url": reverse("admin:jobs_job_run", args=[job.pk]) if job and may_order(job, viewer) else "",
    }


def counted(outcomes: Sequence[Outcome]) -> str:
    """7 succeeded, 1 late, 2 failed."""
    counts = Counter(within_sentence(gettext(outcome.word)) for outcome in outcomes)
    return ", ".join(f"{number} {word}" for word, number in counts.items())


def zone_of_schedule(trigger: Trigger | None) -> list[tzinfo]:
    try:
        return [trigger.parsed.zone] if trigger else []
    except WireError:  # written when its format was read more generously
        return []


def may_order(job: Job, viewer) -> bool:
    if job.state != Job.State.ENABLED or job.collection.state != JobCollection.State.ENABLED:
        return False
    return viewer.is_staff and may(viewer, Role.OPERATOR, job.collection.subscription_id)


def why(run: Run, attempts: Sequence[Attempt], manner: Manner) -> str:
    """Its reason, or what its last attempt came to; nothing of what went well."""
    if run.missed_count > 1 and run.missed_until:
        times = ngettext("%d time", "%d times", run.missed_count) % run.missed_count
        until = gettext("%(times)s until %(moment)s") % {"times": times, "moment": manner.moment(run.missed_until)}
        return f"{until}: {run.reason}" if run.reason else until
    if run.state == Run.State.SUCCEEDED:
        return ""
    return capfirst(headline(run, attempts))


def by(run: Run) -> str:
    if run.origin == Run.Origin.MANUAL:
        return gettext("Ordered by hand")
    return gettext("Follows a failed run") if run.origin == Run.Origin.ERROR_ACTION else ""


def late(run: Run) -> str:
    if outcome_of(run).mark != "late" or run.started_at is None:
        return ""
    return words.took(run.started_at - run.fire_at)


def usually(newest: Sequence[Run]) -> str:
    seconds = [
        (run.finished_at - run.started_at).total_seconds()
        for run in newest
        if run.state == Run.State.SUCCEEDED and run.started_at and run.finished_at
    ]
    return words.took(timedelta(seconds=median(seconds))) if seconds else ""


def last(newest: Sequence[Run], before: datetime, manner: Manner, whence: Whence) -> dict[str, Any] | None:
    """How the run before this one ended."""
    ended = [run for run in newest if run.finished_at and run.fire_at < before]
    if not ended:
        return None
    run = ended[-1]
    return {"outcome": outcome_of(run), "moment": manner.moment(run.fire_at), "url": whence.to("run", run.pk)}
