"""Notices and resources as a page says them: finished rows in the viewer's language, zone and hour cycle."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy, ngettext, pgettext
from django.utils.translation import gettext_noop as _

from jobs import words
from jobs.models import Run
from jobs.outcomes import Outcome, outcome_of
from maintenance import lifecycle
from maintenance.models import UNKNOWN_DURATION, EventType, Notice, Resource, Transition, View
from maintenance.pages.consequences import Consequences, ToBeHeld

NAMES_SAID = 3  # of resources in a title
LISTED = 8  # lines of a list on a card
PER_CENT = 100

TYPES = {
    EventType.FREEZE: gettext_lazy("Freeze"),
    EventType.REBOOT: gettext_lazy("Reboot"),
    EventType.REDEPLOY: gettext_lazy("Redeploy"),
    EventType.PREEMPT: gettext_lazy("Preempt"),
    EventType.TERMINATE: gettext_lazy("Terminate"),
}
CANCELLED = Outcome("cancelled", "Cancelled")
STATES = {
    Notice.Status.SCHEDULED: Outcome("waiting", _("Waiting for approval"), "warning"),
    Notice.Status.STARTED: Outcome("running", _("Started")),
    Notice.Status.COMPLETED: Outcome("success", _("Completed")),
    Notice.Status.CANCELLED: CANCELLED,
}
DRAINING = Outcome("waiting", _("Waiting for the last run"), "warning")
STEPS = {
    Notice.Status.SCHEDULED: Outcome("planned", _("Announced")),
    Notice.Status.STARTED: Outcome("running", _("Started")),
    Notice.Status.COMPLETED: Outcome("success", _("Completed")),
    Notice.Status.CANCELLED: CANCELLED,
}
SOURCES = {Notice.Source.PLATFORM: gettext_lazy("Platform"), Notice.Source.USER: gettext_lazy("User")}
CHANGED = Outcome("planned", _("Changed"))
# what the core writes down about a step, in the viewer's language
NOTES = {
    "approved": gettext_lazy("approved"),
    "nothing was running": gettext_lazy("nothing was running"),
    "nothing was running any more": gettext_lazy("nothing was running any more"),
    "its expected duration is over": gettext_lazy("its expected duration is over"),
    "its work has ended": gettext_lazy("its work has ended"),
}
CHANGES = "changed: "
MEMBERS = {  # as the core calls them
    "eventType": gettext_lazy("what is done"),
    "resources": gettext_lazy("resources"),
    "notBefore": gettext_lazy("not before"),
    "description": gettext_lazy("description"),
    "durationInSeconds": gettext_lazy("interruption"),
    "eventSource": gettext_lazy("where it comes from"),
    "approveWhenIdle": gettext_lazy("whether it waits for the last run"),
    "endAfterDuration": gettext_lazy("whether it ends by itself"),
    "keepOpen": gettext_lazy("whether it is kept open"),
}
ACTORS = {
    lifecycle.CLOCK: gettext_lazy("by its time"),
    lifecycle.IDLE: gettext_lazy("by the end of the last run"),
    lifecycle.WORK: gettext_lazy("by the end of its work"),
}


def and_more(names: Sequence[str], most: int = NAMES_SAID) -> str:
    """db-1; db-1 and db-2; db-1, db-2 and 7 more."""
    if len(names) > most:
        rest = len(names) - most + 1
        said = {"names": ", ".join(names[: most - 1]), "count": rest}
        return ngettext("%(names)s and %(count)d more", "%(names)s and %(count)d more", rest) % said
    if len(names) < 2:
        return "".join(names)
    return gettext("%(names)s and %(last)s") % {"names": ", ".join(names[:-1]), "last": names[-1]}


def title_of(notice: Notice) -> str:
    return titled(notice, [each.name for each in notice.affected.all()])


def titled(notice: Notice, names: Sequence[str]) -> str:
    """Reboot of db-2 and db-3."""
    return gettext("%(type)s of %(names)s") % {"type": type_word(notice.event_type), "names": and_more(names)}


def type_word(event_type: str) -> str:
    return str(TYPES[EventType(event_type)])


def state_of(notice: Notice) -> Outcome:
    if notice.status == Notice.Status.SCHEDULED and notice.approve_when_idle:
        return DRAINING
    return STATES[Notice.Status(notice.status)]


def word_of(outcome: Outcome) -> str:
    """What a state or a step is called; languages have other words for cancelling a run."""
    return pgettext("a notice", "Cancelled") if outcome == CANCELLED else gettext(outcome.word)


def duration_words(notice: Notice) -> str:
    if notice.duration_s == UNKNOWN_DURATION:
        return gettext("nobody knows how long")
    return words.span(timedelta(seconds=notice.duration_s)) if notice.duration_s else gettext("no interruption")


def notice_row(notice: Notice, now: datetime, hour_cycle: int, may_operate: bool) -> dict[str, Any]:
    """A notice as a line of a table."""
    state = state_of(notice)
    return {
        "notice": notice,
        "title": title_of(notice),
        "state": state,
        "word": word_of(state),
        "type": type_word(notice.event_type),
        "names": and_more([each.name for each in notice.affected.all()]),
        "duration": duration_words(notice),
        "source": SOURCES[Notice.Source(notice.source)],
        "when": words.moment(notice.begins_at, now, hour_cycle),
        "is_coming": notice.status == Notice.Status.SCHEDULED,
        "is_started": notice.status == Notice.Status.STARTED,
        "may_operate": may_operate and notice.status in Notice.SHOWN,
    }


def notice_card(
    notice: Notice, means: Consequences, now: datetime, hour_cycle: int, may_operate: bool
) -> dict[str, Any]:
    """A notice with what it affects.  `notice.affected` should have been read, each with its resource."""
    affected = list(notice.affected.all())
    groups = sorted({each.resource.scope_group for each in affected if each.resource and each.resource.scope_group})
    return {
        **notice_row(notice, now, hour_cycle, may_operate),
        "groups": groups,
        "of": share_gone(notice, now),
        "local": words.moment(notice.not_before, now, hour_cycle),
        "utc": utc_beside(notice.not_before),
        "resources": [affected_row(each, now) for each in affected[:LISTED]],
        "more_resources": max(0, len(affected) - LISTED),
        "live": [live_row(run, now) for run in means.live[:LISTED]],
        "more_live": max(0, len(means.live) - LISTED),
        "to_be_held": [held_row(each, now, hour_cycle) for each in means.to_be_held[:LISTED]],
        "more_held": max(0, len(means.to_be_held) - LISTED),
        "held_words": held_words(means.held),
    }


def utc_beside(instant: datetime) -> str:
    """What clocks show in UTC; nothing where the viewer's show the same."""
    return f"{instant.astimezone(UTC):%H:%M}" if timezone.localtime(instant).utcoffset() else ""


def share_gone(notice: Notice, now: datetime) -> int:
    """How much of the time between announcement and not-before is over, in percent."""
    whole = notice.not_before - notice.announced_at
    if whole <= timedelta(0):
        return PER_CENT
    return min(PER_CENT, max(0, int(PER_CENT * ((now - notice.announced_at) / whole))))


def held_words(count: int) -> str:
    return ngettext("%(count)d run is held", "%(count)d runs are held", count) % {"count": count} if count else ""


def affected_row(affected, now: datetime) -> dict[str, Any]:
    """A resource of a notice; of one that has been removed its name is left."""
    if affected.resource is None:
        return {"name": affected.name, "mark": "cancelled", "state": "idle", "seen": gettext("removed")}
    return {"name": affected.name, **listening_row(affected.resource, now)}


def listening_row(resource: Resource, now: datetime) -> dict[str, Any]:
    """Whether somebody polls for the resource, and when they did last."""
    if resource.last_seen_at is None:
        return {"mark": "uncertain", "state": "idle", "seen": gettext("has never asked"), "seen_at": None}
    distance = words.distance(resource.last_seen_at, now)
    if resource.is_listening(now):
        return {
            "mark": "success",
            "state": "success",
            "seen": gettext("listening, %s") % distance,
            "seen_at": resource.last_seen_at,
        }
    return {
        "mark": "missed",
        "state": "warning",
        "seen": gettext("silent, last seen %s") % distance,
        "seen_at": resource.last_seen_at,
    }


def live_row(run: Run, now: datetime) -> dict[str, Any]:
    outcome = outcome_of(run)
    since = words.span(now - run.started_at) if run.started_at else ""
    waits = run.state == Run.State.RETRYING and since
    return {
        "run": run,
        "mark": outcome.mark,
        "state": outcome.state,
        "since": gettext("%s, between attempts") % since if waits else since,
    }


def held_row(each: ToBeHeld, now: datetime, hour_cycle: int) -> dict[str, Any]:
    then = gettext("%s, not at all") if each.is_dropped else gettext("%s, once after")
    return {"job": each.job, "words": then % words.moment(each.at, now, hour_cycle)}


# What happened


def step_row(step: Transition, now: datetime, hour_cycle: int) -> dict[str, Any]:
    """A transition: what it was, who made it, and the version numbers that it gave to the lists of notices."""
    outcome = CHANGED if step.note.startswith(CHANGES) else STEPS[Notice.Status(step.status)]
    return {
        "step": step,
        "outcome": outcome,
        "when": words.moment(step.at, now, hour_cycle),
        "word": word_of(outcome),
        "actor": str(ACTORS.get(step.actor, step.actor)),
        "note": note_words(step.note),
        "incarnations": incarnation_words(step.incarnations),
    }


def note_words(note: str) -> str:
    """What the core wrote down, as far as it is known here in the viewer's language."""
    if note.startswith(CHANGES):
        members = note.removeprefix(CHANGES).split(", ")
        return ", ".join(str(MEMBERS.get(member, member)) for member in members)
    return "; ".join(str(NOTES.get(part, part)) for part in note.split("; "))


def incarnation_words(incarnations: dict[str, int]) -> str:
    """incarnation 41 (group db: 7), of everything and of each group that was told."""
    said = dict(incarnations)
    whole = said.pop(View.EVERYTHING, None)
    parts = ", ".join(f"{view}: {number}" for view, number in sorted(said.items())[:LISTED])
    if whole is None:
        return parts
    return (gettext("incarnation %d") % whole) + (f" ({parts})" if parts else "")


def resource_row(resource: Resource, now: datetime, may_operate: bool) -> dict[str, Any]:
    labels = labels_words(resource.labels)
    return {"resource": resource, "labels": labels, "may_operate": may_operate, **listening_row(resource, now)}


def labels_words(labels: dict[str, str]) -> str:
    """env=prod, rack=r7."""
    return ", ".join(f"{name}={value}" for name, value in sorted(labels.items()))
