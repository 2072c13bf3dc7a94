"""Rows and texts of notices and resources for pages, in the viewer's language, time zone and hour cycle."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy, ngettext, pgettext
from django.utils.translation import gettext_noop as _

from jobs import humanize
from jobs.badges import Badge, outcome_of
from jobs.models import Run
from maintenance import lifecycle
from maintenance.models import UNKNOWN_DURATION, EventScope, EventType, Notice, NoticeResource, Resource, Transition
from maintenance.pages.impact import Impact, UpcomingHold

MAX_NAMES = 3  # names of resources in a title
LISTED = 8  # lines of a list on a card
PER_CENT = 100

TYPES = {
    EventType.FREEZE: gettext_lazy("Freeze"),
    EventType.REBOOT: gettext_lazy("Reboot"),
    EventType.REDEPLOY: gettext_lazy("Redeploy"),
    EventType.PREEMPT: gettext_lazy("Preempt"),
    EventType.TERMINATE: gettext_lazy("Terminate"),
}
CANCELLED = Badge("cancelled", "Cancelled")
STATES = {
    Notice.Status.SCHEDULED: Badge("waiting", _("Waiting for approval"), "warning"),
    Notice.Status.STARTED: Badge("running", _("Started")),
    Notice.Status.COMPLETED: Badge("success", _("Completed")),
    Notice.Status.CANCELLED: CANCELLED,
}
DRAINING = Badge("waiting", _("Waiting for the last run"), "warning")
STEPS = {
    Notice.Status.SCHEDULED: Badge("planned", _("Announced")),
    Notice.Status.STARTED: Badge("running", _("Started")),
    Notice.Status.COMPLETED: Badge("success", _("Completed")),
    Notice.Status.CANCELLED: CANCELLED,
}
SOURCES = {Notice.Source.PLATFORM: gettext_lazy("Platform"), Notice.Source.USER: gettext_lazy("User")}
CHANGED = Badge("planned", _("Changed"))
# the details that the core stores with transitions
DETAILS = {
    "approved": gettext_lazy("approved"),
    "nothing was running": gettext_lazy("nothing was running"),
    "nothing was running any more": gettext_lazy("nothing was running any more"),
    "its expected duration is over": gettext_lazy("its expected duration is over"),
    "its work has ended": gettext_lazy("its work has ended"),
}
CHANGES = "changed: "
MEMBERS = {  # the members in details about changes
    "eventType": gettext_lazy("type"),
    "resources": gettext_lazy("resources"),
    "notBefore": gettext_lazy("not before"),
    "description": gettext_lazy("description"),
    "durationInSeconds": gettext_lazy("interruption"),
    "eventSource": gettext_lazy("source"),
    "approveWhenIdle": gettext_lazy("approve when idle"),
    "endAfterDuration": gettext_lazy("automatic end"),
    "keepOpen": gettext_lazy("keep open"),
}
ACTORS = {
    lifecycle.CLOCK: gettext_lazy("automatically"),
    lifecycle.IDLE: gettext_lazy("automatically, after the last run"),
    lifecycle.RUNS_ENDED: gettext_lazy("automatically, after its runs"),
}


def truncate_names(names: Sequence[str], most: int = MAX_NAMES) -> str:
    """Return the names as text: db-1; db-1 and db-2; db-1, db-2 and 7 more."""
    if len(names) > most:
        rest = len(names) - most + 1
        values = {"names": ", ".join(names[: most - 1]), "count": rest}
        return ngettext("%(names)s and %(count)d more", "%(names)s and %(count)d more", rest) % values
    if len(names) < 2:
        return "".join(names)
    return gettext("%(names)s and %(last)s") % {"names": ", ".join(names[:-1]), "last": names[-1]}


def title_of(notice: Notice) -> str:
    return format_title(notice, [each.name for each in notice.affected_resources.all()])


def format_title(notice: Notice, names: Sequence[str]) -> str:
    """Return a title such as "Reboot of db-2 and db-3"."""
    return gettext("%(type)s of %(names)s") % {"type": type_word(notice.event_type), "names": truncate_names(names)}


def type_word(event_type: str) -> str:
    return str(TYPES[EventType(event_type)])


def state_of(notice: Notice) -> Badge:
    if notice.status == Notice.Status.SCHEDULED and notice.approve_when_idle:
        return DRAINING
    return STATES[Notice.Status(notice.status)]


def label_of(outcome: Badge) -> str:
    """Return the translated name of a state or a step.

    "Cancelled" has its own translation, because some languages use another word for a cancelled run.
    """
    return pgettext("a notice", "Cancelled") if outcome == CANCELLED else gettext(outcome.word)


def length_words(notice: Notice, now: datetime) -> str:
    """Return the text, used on all pages, of how long a notice is expected to last, or lasted."""
    if notice.status == Notice.Status.COMPLETED and notice.ended_at:
        return humanize.format_duration(notice.ended_at - notice.begins_at)
    if notice.duration_s == UNKNOWN_DURATION:
        return gettext("duration unknown")
    if notice.duration_s == 0:
        return gettext("no interruption, end unknown")
    expected = humanize.format_duration(timedelta(seconds=notice.duration_s))
    if notice.is_open_ended(now):
        return gettext("longer than %s, end unknown") % expected
    return gettext("about %s") % expected


def notice_row(notice: Notice, now: datetime, hour_cycle: int, may_operate: bool) -> dict[str, Any]:
    """Return the line of a notice in a table."""
    state = state_of(notice)
    return {
        "notice": notice,
        "title": title_of(notice),
        "state": state,
        "word": label_of(state),
        "type": type_word(notice.event_type),
        "names": truncate_names([each.name for each in notice.affected_resources.all()]),
        "duration": length_words(notice, now),
        "source": SOURCES[Notice.Source(notice.source)],
        "when": humanize.format_datetime(notice.begins_at, now, hour_cycle),
        "is_coming": notice.status == Notice.Status.SCHEDULED,
        "is_started": notice.status == Notice.Status.STARTED,
        "may_operate": may_operate and notice.status in Notice.ACTIVE,
    }


def notice_card(notice: Notice, impact: Impact, now: datetime, hour_cycle: int, may_operate: bool) -> dict[str, Any]:
    """Return the card of a notice with its impact.

    To avoid queries, `notice.affected_resources` should be prefetched, each with its resource.
    """
    affected_resources = list(notice.affected_resources.all())
    groups = sorted(
        {each.resource.scope_group for each in affected_resources if each.resource and each.resource.scope_group}
    )
    return {
        **notice_row(notice, now, hour_cycle, may_operate),
        "groups": groups,
        "of": percent_elapsed(notice, now),
        "local": humanize.format_datetime(notice.not_before, now, hour_cycle),
        "utc": utc_suffix(notice.not_before),
        "resources": [affected_row(each, now) for each in affected_resources[:LISTED]],
        "more_resources": max(0, len(affected_resources) - LISTED),
        "live": [live_row(run, now) for run in impact.running[:LISTED]],
        "more_live": max(0, len(impact.running) - LISTED),
        "to_be_held": [held_row(each, now, hour_cycle) for each in impact.upcoming_holds[:LISTED]],
        "more_held": max(0, len(impact.upcoming_holds) - LISTED),
        "held_words": held_words(impact.held_run_count),
    }


def utc_suffix(instant: datetime) -> str:
    """Return the wall time in UTC, or an empty text if the viewer's zone has the same wall time."""
    return f"{instant.astimezone(UTC):%H:%M}" if timezone.localtime(instant).utcoffset() else ""


def percent_elapsed(notice: Notice, now: datetime) -> int:
    """Return how much of the time from the announcement to not-before is over, in percent, 0 to 100."""
    total = notice.not_before - notice.announced_at
    if total <= timedelta(0):
        return PER_CENT
    return min(PER_CENT, max(0, int(PER_CENT * ((now - notice.announced_at) / total))))


def held_words(count: int) -> str:
    return ngettext("%(count)d run is held", "%(count)d runs are held", count) % {"count": count} if count else ""


def affected_row(affected: NoticeResource, now: datetime) -> dict[str, Any]:
    """Return the line of a resource of a notice.  A deleted resource has only its name."""
    if affected.resource is None:
        return {"name": affected.name, "mark": "cancelled", "state": "idle", "seen": gettext("removed")}
    return {"name": affected.name, **listening_row(affected.resource, now)}


def listening_row(resource: Resource, now: datetime) -> dict[str, Any]:
    """Return the mark and the text that say whether the resource polls, and when it last did."""
    if resource.last_seen_at is None:
        return {"mark": "uncertain", "state": "idle", "seen": gettext("never polled"), "seen_at": None}
    distance = humanize.format_relative(resource.last_seen_at, now)
    if resource.is_listening(now):
        return {
            "mark": "success",
            "state": "success",
            "seen": gettext("polling, last seen %s") % distance,
            "seen_at": resource.last_seen_at,
        }
    return {
        "mark": "missed",
        "state": "warning",
        "seen": gettext("not polling, last seen %s") % distance,
        "seen_at": resource.last_seen_at,
    }


def live_row(run: Run, now: datetime) -> dict[str, Any]:
    outcome = outcome_of(run)
    since = humanize.format_duration(now - run.started_at) if run.started_at else ""
    is_retrying = run.state == Run.State.RETRYING and since
    return {
        "run": run,
        "mark": outcome.mark,
        "state": outcome.state,
        "since": gettext("%s, between attempts") % since if is_retrying else since,
    }


def held_row(hold: UpcomingHold, now: datetime, hour_cycle: int) -> dict[str, Any]:
    text = gettext("%s, skipped") if hold.is_dropped else gettext("%s, once after the maintenance")
    return {"job": hold.job, "words": text % humanize.format_datetime(hold.at, now, hour_cycle)}


# The history


def step_row(step: Transition, now: datetime, hour_cycle: int) -> dict[str, Any]:
    """Return the line of a transition: its kind, time and actor, its detail, and the new incarnations."""
    outcome = CHANGED if step.detail.startswith(CHANGES) else STEPS[Notice.Status(step.status)]
    return {
        "step": step,
        "outcome": outcome,
        "when": humanize.format_datetime(step.at, now, hour_cycle),
        "word": label_of(outcome),
        "actor": str(ACTORS.get(step.actor, step.actor)),
        "note": detail_words(step.detail),
        "incarnations": incarnation_words(step.incarnations),
    }


def detail_words(detail: str) -> str:
    """Return the detail of a transition.  Parts that are known here are in the viewer's language."""
    if detail.startswith(CHANGES):
        members = detail.removeprefix(CHANGES).split(", ")
        return ", ".join(str(MEMBERS.get(member, member)) for member in members)
    return "; ".join(str(DETAILS.get(part, part)) for part in detail.split("; "))


def incarnation_words(incarnations: dict[str, int]) -> str:
    """Return a text such as "incarnation 41 (group db: 7)": first that of EVERYTHING, then those of other scopes."""
    by_scope = dict(incarnations)
    of_everything = by_scope.pop(EventScope.EVERYTHING, None)
    parts = ", ".join(f"{scope}: {number}" for scope, number in sorted(by_scope.items())[:LISTED])
    if of_everything is None:
        return parts
    return (gettext("incarnation %d") % of_everything) + (f" ({parts})" if parts else "")


def resource_row(resource: Resource, now: datetime, may_operate: bool) -> dict[str, Any]:
    labels = labels_words(resource.labels)
    return {"resource": resource, "labels": labels, "may_operate": may_operate, **listening_row(resource, now)}


def labels_words(labels: dict[str, str]) -> str:
    """Return the labels as text, such as "env=prod, rack=r7"."""
    return ", ".join(f"{name}={value}" for name, value in sorted(labels.items()))
