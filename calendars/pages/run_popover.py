"""The popovers of runs and of future fire times: outcome, reasons, and links to details."""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from statistics import median
from typing import Any

from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext

from accounts.admin_permissions import has_role
from accounts.models import Role
from calendars.items import hue_of
from calendars.pages.formatting import TimeFormatter, place_of, zone_words
from calendars.pages.maintenance_holds import hold_reasons
from calendars.pages.navigation import ReturnTarget
from calendars.pages.notices import title_of
from jobs import humanize
from jobs.badges import OUTCOMES, Badge, lowercase_label, newest_runs, outcome_of
from jobs.models import Attempt, Job, Run
from jobs.pages.outages import outage_in_words, outages_of_runs
from jobs.pages.runs import error_runs_of, headline
from jobs.pages.waits import blocking_run, holds_of
from maintenance import holds as maintenance_holds
from maintenance.models import JobMaintenancePolicy, Notice
from recurrence.jitter import latest_start
from recurrence.schedules import LAST_INSTANT
from triggers.descriptions import describe_trigger
from triggers.gates import notice_of
from triggers.models import Trigger
from triggers.upcoming import ExpectedHold, find_hold

STRIP = 10  # outcomes of the newest runs that are shown
PLANNED, DUE = Badge("planned", "Planned"), Badge("waiting", "Due")  # the same words as on the calendar
HELD = OUTCOMES[Run.State.HELD]


def run_popover(run: Run, viewer, formatter: TimeFormatter, target: ReturnTarget) -> dict[str, Any]:
    trigger = run.job.triggers.filter(name=run.trigger_name).first() if run.job else None
    attempts = list(run.attempts.order_by("number"))
    hold, _ = hold_of(run.job, formatter.now, formatter) if run.job and run.state == Run.State.HELD else (None, "")
    length = run.finished_at - run.started_at if run.started_at and run.finished_at else None
    return {
        **shared_context(run.job, trigger, run.fire_at, viewer, formatter, target),
        "title": run.job_name,
        "collection": run.collection_name,
        "outcome": outcome_of(run),
        "reason": reason_text(run, attempts, formatter),
        "replacement": replacement_text(hold, formatter) if hold else "",
        "repeats": capfirst(describe_trigger(trigger)) if trigger else origin_text(run),
        "duration": humanize.format_elapsed(length) if length is not None else "",
        "moved_from": moved_text(run.moved_from, formatter),
        "starts": waiting_text(run, formatter),
        "delay": delay_text(run),
        "outage": outage_of_run(run, formatter),
        "holds": hold_rows(run, formatter, target),
        "blocking": blocking_row(run, formatter, target),
        "error_run": error_runs_of([run]).get(run.pk),
        "run_url": reverse("admin:jobs_run_change", args=[run.pk]),
    }


def planned_popover(
    trigger: Trigger, at: datetime, viewer, formatter: TimeFormatter, target: ReturnTarget
) -> dict[str, Any]:
    job = trigger.job
    hold, reason = hold_of(job, at, formatter, trigger.start_of(at))
    planned = PLANNED if at > formatter.now else DUE
    return {
        **shared_context(job, trigger, at, viewer, formatter, target),
        "title": job.name,
        "collection": job.collection.name,
        "outcome": HELD if hold else planned,
        "reason": capfirst(reason),
        "replacement": replacement_text(hold, formatter) if hold else "",
        "distance": humanize.format_relative(at, formatter.now),
        "repeats": capfirst(describe_trigger(trigger)),
        "moved_from": moved_text(max(trigger.moved_from(at), default=None), formatter),
        "starts": window_text(trigger, at, formatter),
        "fire_at": at.isoformat() if at > formatter.now else "",
    }


def moved_text(source: datetime | None, formatter: TimeFormatter) -> str:
    """Return from where closed days moved a run, as in Sat 3 January, 09:00; empty: they did not move it."""
    return formatter.format_moment(source) if source else ""


def waiting_text(run: Run, formatter: TimeFormatter) -> str:
    """Return when a run that waits for its jitter starts; empty for other runs."""
    if run.state != Run.State.WAITING or run.starts_at is None or run.starts_at <= formatter.now:
        return ""
    return gettext("at %s") % formatter.format_clock(run.starts_at.astimezone(formatter.zone))


def window_text(trigger: Trigger, at: datetime, formatter: TimeFormatter) -> str:
    """Return between which times a future run starts, and when; empty without jitter."""
    parsed = trigger.parsed_or_none
    if parsed is None or not parsed.jitter:
        return ""
    start, end = trigger.start_of(at), latest_start(at, parsed.jitter)
    names = {"from": at, "to": end, "start": start}
    values = {name: formatter.format_clock(each.astimezone(formatter.zone)) for name, each in names.items()}
    return gettext("between %(from)s and %(to)s, at %(start)s") % values


def hold_of(
    job: Job, at: datetime, formatter: TimeFormatter, starts_at: datetime | None = None
) -> tuple[ExpectedHold | None, str]:
    """Return the expected hold of a run that is due at that moment, as far as is known now, and its reason.

    `starts_at` is the time with jitter.
    """
    active_notices = maintenance_holds.load_active_notices(JobMaintenancePolicy.objects.filter(job=job))
    windows = maintenance_holds.upcoming_holds([job.pk], at, LAST_INSTANT, formatter.now, active_notices)
    hold = find_hold(windows.get(job.pk, ()), at, starts_at)
    return hold, hold_reasons(active_notices)[hold.window.key] if hold else ""


def replacement_text(hold: ExpectedHold, formatter: TimeFormatter) -> str:
    """Return when a held run will start."""
    if hold.is_dropped:
        return gettext("not at all")
    if hold.until is None:
        return gettext("once after the maintenance; the end is unknown")
    return gettext("once after the maintenance, at about %s") % formatter.format_moment(hold.until)


def shared_context(
    job: Job | None, trigger: Trigger | None, at: datetime, viewer, formatter: TimeFormatter, target: ReturnTarget
) -> dict[str, Any]:
    """Return the part of the row that runs and future fire times share."""
    newest = newest_runs([job.pk], STRIP)[job.pk] if job else []
    outcomes = [outcome_of(each) for each in newest]
    return {
        "hue": hue_of(job.collection_id) if job else "",
        "close_url": target.return_url(at.astimezone(formatter.zone).date()),
        "when": formatter.format_moment(at),
        "at": at.astimezone(formatter.zone).isoformat(),
        "place_of_zone": place_of(formatter.zone),
        "zone_title": zone_words(formatter.zone, at),
        "other_zones": formatter.format_other_zones(at, [*zone_of_schedule(trigger), UTC]),
        "typical_duration": typical_duration(newest),
        "last_run": last_run(newest, at, formatter, target),
        "outcomes": outcomes,
        "outcome_counts": format_counts(outcomes),
        "job_url": reverse("admin:jobs_job_page", args=[job.pk]) if job else "",
        "order_url": reverse("admin:jobs_job_run", args=[job.pk]) if job and may_order(job, viewer) else "",
        "fire_times_url": fire_times_url(job, trigger, viewer),
    }


def fire_times_url(job: Job | None, trigger: Trigger | None, viewer) -> str:
    """Return the page that changes single runs of the trigger; empty if the viewer may not open it."""
    if job is None or trigger is None or job.is_final:
        return ""
    if not (viewer.can_open_administration and has_role(viewer, Role.OPERATOR, job.collection.subscription_id)):
        return ""
    return reverse("admin:triggers_trigger_fire_times", args=[trigger.pk])


def format_counts(outcomes: Sequence[Badge]) -> str:
    """Return the number of runs by outcome, as in 7 succeeded, 1 late, 2 failed."""
    counts = Counter(lowercase_label(gettext(outcome.word)) for outcome in outcomes)
    return ", ".join(f"{number} {word}" for word, number in counts.items())


def zone_of_schedule(trigger: Trigger | None) -> list[tzinfo]:
    parsed = trigger.parsed_or_none if trigger else None
    return [parsed.zone] if parsed else []


def may_order(job: Job, viewer) -> bool:
    """Return True if the viewer may start the job now."""
    return job.is_runnable and has_role(viewer, Role.OPERATOR, job.collection.subscription_id)


def reason_text(run: Run, attempts: Sequence[Attempt], formatter: TimeFormatter) -> str:
    """Return the reason of the run, or the result of its last attempt; empty for a run that succeeded."""
    if run.missed_count > 1 and run.missed_until:
        times = ngettext("%d time", "%d times", run.missed_count) % run.missed_count
        until = gettext("%(times)s until %(moment)s") % {
            "times": times,
            "moment": formatter.format_moment(run.missed_until),
        }
        return f"{until}: {run.reason}" if run.reason else until
    if run.state == Run.State.SUCCEEDED:
        return ""
    return capfirst(headline(run, attempts))


def outage_of_run(run: Run, formatter: TimeFormatter) -> str:
    """Return the outage that kept the run from starting; empty if there was none."""
    texts = [
        outage_in_words(outage, formatter.now, formatter.zone, formatter.hour_cycle)
        for outage in outages_of_runs([run]).values()
    ]
    return texts[0] if texts else ""


def hold_rows(run: Run, formatter: TimeFormatter, target: ReturnTarget) -> list[dict[str, str]]:
    """Return the current and past holds of the run, with their times and links to notices that exist."""
    holds = holds_of(run)
    ids = [notice_id for hold in holds if (notice_id := notice_of(hold.key))]
    notices_by_key = (
        {each.key: each for each in maintenance_holds.with_resources(Notice.objects.filter(pk__in=ids))} if ids else {}
    )
    return [
        {
            "when": formatter.format_span(hold.held_at, hold.released_at)
            if hold.released_at
            else gettext("from %s") % formatter.format_moment(hold.held_at),
            "what": title_of(notices_by_key[hold.key]) if hold.key in notices_by_key else hold.reason,
            "url": target.link_to("notice", notices_by_key[hold.key].notice.pk) if hold.key in notices_by_key else "",
        }
        for hold in holds
    ]


def blocking_row(run: Run, formatter: TimeFormatter, target: ReturnTarget) -> dict[str, str] | None:
    """Return the run that was going on when this one was due; None if there was none or it was deleted."""
    blocking = blocking_run(run)
    if blocking is None:
        return None
    name = "" if blocking.job_id == run.job_id else blocking.job_name
    label = gettext("Still running") if run.state == Run.State.SKIPPED else gettext("Waited for")
    if run.state == Run.State.WAITING:
        label = gettext("Waits for")
    moment = formatter.format_moment(blocking.fire_at)
    return {"label": label, "words": f"{name}, {moment}" if name else moment, "url": target.link_to("run", blocking.pk)}


def origin_text(run: Run) -> str:
    """Return how the run came about if no trigger fired it."""
    if run.origin == Run.Origin.MANUAL:
        return gettext("Started manually")
    return gettext("Error action of a failed run") if run.origin == Run.Origin.ERROR_ACTION else ""


def delay_text(run: Run) -> str:
    """Return by how much a late run was late."""
    if outcome_of(run).mark != "late" or run.started_at is None:
        return ""
    return humanize.format_elapsed(run.started_at - run.planned_start)


def typical_duration(newest: Sequence[Run]) -> str:
    """Return the median duration of the runs that succeeded."""
    seconds = [
        (run.finished_at - run.started_at).total_seconds()
        for run in newest
        if run.state == Run.State.SUCCEEDED and run.started_at and run.finished_at
    ]
    return humanize.format_elapsed(timedelta(seconds=median(seconds))) if seconds else ""


def last_run(
    newest: Sequence[Run], before: datetime, formatter: TimeFormatter, target: ReturnTarget
) -> dict[str, Any] | None:
    """Return outcome, time and link of the last finished run before this one; None if there is none."""
    ended = [run for run in newest if run.finished_at and run.fire_at < before]
    if not ended:
        return None
    run = ended[-1]
    return {
        "outcome": outcome_of(run),
        "moment": formatter.format_moment(run.fire_at),
        "url": target.link_to("run", run.pk),
    }
