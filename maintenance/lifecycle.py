"""Announce, change, approve, start, complete and cancel notices.

Every step is one conditional UPDATE, and in the same transaction the views that show the notice get a new incarnation,
runs are held or let go, and attached work is ordered.  Whoever comes second changes nothing, so an approval may race
with the clock.

What time or the end of runs brings about happens in `advance`, before anybody is told anything and in housekeeping:
a start at not-before; the start of a notice that waits for its resources to become idle; the end of one whose work has
ended, unless it is kept open; and the end after the expected duration, where that was asked for.  Otherwise the
duration is what clients are told of the interruption, and a notice usually lasts longer than that.
Source: the published contract of Scheduled Events.
"""

import logging
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, cast

from django.db.models import F, QuerySet

from accounts.models import Subscription
from maintenance import heeding, turns
from maintenance.errors import MaintenanceError, TooLate
from maintenance.models import (
    MINIMUM_NOTICE,
    UNKNOWN_DURATION,
    Affected,
    Approval,
    EventType,
    Heed,
    Notice,
    NoticeQuerySet,
    Resource,
    Step,
    Transition,
    View,
)
from maintenance.wishes import check_text

logger = logging.getLogger(__name__)

CLOCK = "the clock"
IDLE = "the end of the last run"
WORK = "the end of its work"
RESOURCES_MOST = 1_000
DESCRIPTION_LENGTH = 1_000
KEY_LENGTH = 100
FARTHEST = timedelta(days=3_660)  # ahead
LONGEST_S = 366 * 86_400
SECOND = timedelta(seconds=1)
ACTOR_LENGTH = NOTE_LENGTH = 300
QUIET = ("approve_when_idle", "ends_after_duration", "keep_open")  # members of an announcement that nobody is shown
MEMBERS = {  # as the API calls them
    "event_type": "eventType",
    "resources": "resources",
    "not_before": "notBefore",
    "description": "description",
    "duration_s": "durationInSeconds",
    "source": "eventSource",
    "approve_when_idle": "approveWhenIdle",
    "ends_after_duration": "endAfterDuration",
    "keep_open": "keepOpen",
}


@dataclass(frozen=True, slots=True)
class Announcement:
    """What is to be announced.  Without `not_before` it is the minimum notice of its type from now.

    Raises MaintenanceError for what cannot be; its paths are the members of the API.
    """

    event_type: EventType
    resources: Sequence[Resource]
    not_before: datetime | None = None  # whole seconds count: it starts no earlier than is shown
    description: str = ""
    duration_s: int = UNKNOWN_DURATION
    source: Notice.Source = Notice.Source.PLATFORM
    has_started: bool = False  # a failure, or work that waits for nobody
    approve_when_idle: bool = False
    ends_after_duration: bool = False
    keep_open: bool = False  # also when its work has ended

    def __post_init__(self) -> None:
        if self.event_type not in EventType.values:
            raise MaintenanceError(f"must be one of {', '.join(EventType.values)}", path="eventType")
        if self.source not in Notice.Source.values:
            raise MaintenanceError(f"must be one of {', '.join(Notice.Source.values)}", path="eventSource")
        if len(self.resources) > RESOURCES_MOST:
            raise MaintenanceError(f"may be {RESOURCES_MOST} at most", path="resources", code="out_of_range")
        if not UNKNOWN_DURATION <= self.duration_s <= LONGEST_S:
            message = f"must be {UNKNOWN_DURATION} to {LONGEST_S}"
            raise MaintenanceError(message, path="durationInSeconds", code="out_of_range")
        check_text(self.description, "description", most=DESCRIPTION_LENGTH)
        if self.ends_after_duration and (self.duration_s <= 0 or self.keep_open):
            message = "takes a durationInSeconds above 0, and does not go with keepOpen"
            raise MaintenanceError(message, path="endAfterDuration")

    def start(self, now: datetime) -> datetime:
        """When it starts unless it is approved.  Raises MaintenanceError for a time that has passed, or is too far."""
        if self.has_started:
            return floor(now)
        if self.not_before is None:
            return floor(now + MINIMUM_NOTICE[EventType(self.event_type)] + SECOND - timedelta.resolution)
        if floor(self.not_before) < floor(now):
            raise MaintenanceError("must not lie in the past", path="notBefore", code="out_of_range")
        if self.not_before - now > FARTHEST:
            raise MaintenanceError("must lie within ten years", path="notBefore", code="out_of_range")
        return floor(self.not_before)

    def of(self, subscription_id: uuid.UUID) -> "Announcement":
        """With every resource once.  Raises MaintenanceError for none, and for one of another subscription."""
        if not self.resources:
            raise MaintenanceError("must name at least one resource", path="resources", code="required")
        for position, resource in enumerate(self.resources):
            if resource.subscription_id != subscription_id:
                message = f"there is no resource {resource.name!r:.80}"
                raise MaintenanceError(message, path=f"resources[{position}]", code="does_not_exist")
        return replace(self, resources=tuple(dict.fromkeys(self.resources)))


def floor(instant: datetime) -> datetime:
    return instant.replace(microsecond=0)


def announce(
    subscription: Subscription, wanted: Announcement, actor: str, now: datetime, key: str | None = None
) -> Notice:
    """Announce maintenance.  With a `key` that is repeatable: the same key answers what it announced the first time.

    Raises MaintenanceError for a time that has passed.
    """
    wanted = wanted.of(subscription.pk)
    with turns.alone(_collections(subscription.pk)):
        if key and (announced := subscription.notices.filter(key=key).first()):
            return announced
        notice = Notice(
            subscription=subscription,
            status=Notice.Status.STARTED if wanted.has_started else Notice.Status.SCHEDULED,
            key=key,
            announced_at=now,
            started_at=now if wanted.has_started else None,
            **_columns(wanted, now),
        )
        notice.ends_at = notice.expected_end
        notice.save(force_insert=True)
        _affect(notice, wanted.resources)
        heeds = heeding.concerned([notice])[notice.pk]
        note = heeding.react(notice, Step.ANNOUNCE, heeds, now)
        if wanted.has_started:
            note = _joined(note, _begin(notice, heeds, now))
        else:
            heeding.settle([heed.job_id for heed in heeds], now)
        _tell(notice, actor, now, note)
        if notice.approve_when_idle and heeding.is_idle(notice):
            _start(notice, IDLE, now, "nothing was running")
    return notice


def shorter_than_usual(wanted: Announcement, now: datetime) -> str | None:
    """A warning when it gives less notice than is promised for its type."""
    least = MINIMUM_NOTICE[wanted.event_type]
    if wanted.has_started or wanted.not_before is None or wanted.not_before - now >= least - SECOND:
        return None
    return f"{wanted.event_type} is usually announced at least {int(least.total_seconds())} s ahead"


def change(notice: Notice, changes: Mapping[str, Any], actor: str, now: datetime) -> Notice:
    """Change members of the announcement, called as there; what changes nothing leaves everything as it is.

    Raises TooLate for what is shown of a notice that has started, and for any change of one that is over;
    MaintenanceError for a not-before in the past.
    """
    advance(now, Notice.objects.filter(pk=notice.pk))
    with turns.alone(_collections(notice.subscription_id)):
        notice.refresh_from_db()
        old = _announcement_of(notice)
        new = replace(old, **changes)
        if new.not_before is not None:
            new = replace(new, not_before=floor(new.not_before))  # a part of a second is nothing that is shown
        if "resources" in changes:
            new = new.of(notice.subscription_id)
        changed = [each.name for each in fields(Announcement) if getattr(old, each.name) != getattr(new, each.name)]
        if not changed:
            return notice
        _refuse_change(notice, changed)
        before = _views_of(notice)
        heeds = {heed.job_id for heed in heeding.concerned([notice])[notice.pk]}
        at = new.start(now) if "not_before" in changed else notice.not_before
        for name, value in _columns(new, now, at).items():
            setattr(notice, name, value)
        notice.ends_at = notice.expected_end
        notice.save()
        if "resources" in changed:
            _affect(notice, new.resources)
        heeds |= {heed.job_id for heed in heeding.concerned([notice])[notice.pk]}
        heeding.settle(heeds, now)
        note = f"changed: {', '.join(MEMBERS[name] for name in changed)}"
        shown_to = set() if set(changed) <= set(QUIET) else before | _views_of(notice)
        _tell(notice, actor, now, note, shown_to)
    return notice


def approve(
    notices: Iterable[Notice], actor: str, now: datetime, *, resource: Resource | None = None, user=None
) -> None:
    """Give leave to start, for all resources of each notice; one that has started or ended stays as it is."""
    notices = sorted(notices, key=lambda each: each.pk)
    shown = dict(Notice.objects.shown().filter(pk__in=[each.pk for each in notices]).values_list("pk", "status"))
    given = Approval.objects.filter(resource=resource, user=user)
    known = set(given.filter(notice__in=shown).values_list("notice_id", flat=True))
    new = [each for each in notices if each.pk in shown and each.pk not in known]
    new += [each for each in notices if each.pk in known and shown[each.pk] == Notice.Status.SCHEDULED]
    if new:
        with turns.alone(_collections(*{each.subscription_id for each in new})):
            for notice in new:
                if not given.filter(notice=notice).exists():
                    Approval.objects.create(notice=notice, resource=resource, user=user, at=now)
                _start(notice, actor, now, "approved")
    for notice in notices:
        notice.refresh_from_db()


def advance(now: datetime, notices: QuerySet[Notice] | None = None) -> None:
    """Take the steps that time and the end of runs bring about, each once: one query when there is none.

    `notices` (None: all) are those that are going to be shown or changed.
    """
    asked_for = Notice.objects.all() if notices is None else cast(NoticeQuerySet, notices)
    for notice in list(asked_for.moving(now)):
        _bring_on(notice, now)


def keep_house(now: datetime) -> None:
    """Advance all, and let what is held be what is to be held by now."""
    advance(now)
    heeding.settle_all(now)


def complete(notice: Notice, actor: str, now: datetime) -> None:
    """End a notice that has started; again, nothing happens.  Raises TooLate for one that has not, or was withdrawn."""
    advance(now, Notice.objects.filter(pk=notice.pk))
    with turns.alone(_collections(notice.subscription_id)):
        ended = _end(notice, Notice.Status.STARTED, Notice.Status.COMPLETED, Step.COMPLETE, actor, now)
        if not ended and notice.status != Notice.Status.COMPLETED:
            raise TooLate(f"it is {notice.status}: only one that has started can be completed")


def cancel(notice: Notice, actor: str, now: datetime) -> None:
    """Withdraw a notice that has not started; again, nothing happens.  Raises TooLate for one that has."""
    advance(now, Notice.objects.filter(pk=notice.pk))
    with turns.alone(_collections(notice.subscription_id)):
        ended = _end(notice, Notice.Status.SCHEDULED, Notice.Status.CANCELLED, Step.CANCEL, actor, now)
        if not ended and notice.status != Notice.Status.CANCELLED:
            raise TooLate(f"it is {notice.status}: it has begun, so it is completed and not cancelled")


def _bring_on(notice: Notice, now: datetime) -> None:
    """One step of a notice that was found moving, unless somebody has taken it, or changed the notice, meanwhile."""
    if not _due_step(notice, now):
        return
    with turns.alone(_collections(notice.subscription_id)):
        notice.refresh_from_db()
        if step := _due_step(notice, now):
            actor, note = step
            if notice.status == Notice.Status.SCHEDULED:
                _start(notice, actor, now, note)
            else:
                _end(notice, Notice.Status.STARTED, Notice.Status.COMPLETED, Step.COMPLETE, actor, now, note)


def _due_step(notice: Notice, now: datetime) -> tuple[str, str] | None:
    """Who takes a notice one step on at `now`, and why, in words; None: nobody does."""
    if notice.status == Notice.Status.SCHEDULED:
        if notice.not_before <= now:
            return CLOCK, ""
        if notice.approve_when_idle and heeding.is_idle(notice):
            return IDLE, "nothing was running any more"
    if notice.status == Notice.Status.STARTED:
        if notice.ends_after_duration and notice.ends_at is not None and notice.ends_at <= now:
            return CLOCK, "its expected duration is over"
        if not notice.keep_open and (end := heeding.end_of_work(notice)):
            return WORK, end
    return None


def _start(notice: Notice, actor: str, now: datetime, note: str) -> bool:
    if not _move(notice, Notice.Status.SCHEDULED, Notice.Status.STARTED, started_at=now):
        return False
    note = _joined(note, _begin(notice, heeding.concerned([notice])[notice.pk], now))
    _tell(notice, actor, now, note)
    return True


def _begin(notice: Notice, heeds: Sequence[Heed], now: datetime) -> str:
    """What its start brings about; returns what is to be said of it."""
    heeding.settle({heed.job_id for heed in heeds} | heeding.held_by(notice), now)
    notice.running_at_start = heeding.names_of_going(heeds)  # with what a worker was about to begin
    notice.ends_at = notice.expected_end
    notice.save(update_fields=["running_at_start", "ends_at"])
    return heeding.react(notice, Step.START, heeds, now)


def _end(notice: Notice, old: str, new: str, step: Step, actor: str, now: datetime, note: str = "") -> bool:
    if not _move(notice, old, new, ended_at=now, ends_at=now):
        return False
    heeds = heeding.concerned([notice])[notice.pk]
    heeding.settle({heed.job_id for heed in heeds} | heeding.held_by(notice), now)
    _tell(notice, actor, now, _joined(note, heeding.react(notice, step, heeds, now)))
    return True


def _move(notice: Notice, old: str, new: str, **changes: datetime) -> bool:
    """Take a notice one step on, unless somebody else has; either way it is then read anew."""
    moved = Notice.objects.filter(pk=notice.pk, status=old).update(status=new, **changes)
    notice.refresh_from_db()
    return bool(moved)


def _tell(notice: Notice, actor: str, now: datetime, note: str = "", shown_to: set[str] | None = None) -> None:
    """Write a step down, and give the views that show the notice (None: all that do) a new incarnation."""
    incarnations = bump_views(notice.subscription_id, _views_of(notice) if shown_to is None else shown_to)
    Transition.objects.create(
        notice=notice,
        at=now,
        status=notice.status,
        actor=actor[:ACTOR_LENGTH],
        note=note[:NOTE_LENGTH],
        incarnations=incarnations,
    )
    logger.info("notice %s (%s) is %s by %s", notice.pk, notice.event_type, notice.status, actor)


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _collections(*subscription_ids: uuid.UUID) -> set[int]:
    """Those of the jobs that may be concerned by notices of the subscriptions."""
    heeds = Heed.objects.filter(job__collection__subscription__in=subscription_ids)
    return set(heeds.values_list("job__collection_id", flat=True).distinct())


# Announcements and their rows


def _columns(wanted: Announcement, now: datetime, not_before: datetime | None = None) -> dict[str, Any]:
    columns = {each.name: getattr(wanted, each.name) for each in fields(Announcement)}
    del columns["resources"], columns["has_started"]
    columns["not_before"] = not_before or wanted.start(now)
    columns["approve_when_idle"] = wanted.approve_when_idle and not wanted.has_started
    return columns


def _announcement_of(notice: Notice) -> Announcement:
    """What is announced now.  A resource that was deleted meanwhile is not in it."""
    columns = {each.name: getattr(notice, each.name) for each in fields(Announcement) if hasattr(notice, each.name)}
    resources = [each.resource for each in notice.affected.select_related("resource") if each.resource]
    return Announcement(**{**columns, "resources": tuple(resources), "has_started": False})


def _affect(notice: Notice, resources: Sequence[Resource]) -> None:
    notice.affected.all().delete()
    rows = [Affected(notice=notice, resource=resource, name=resource.name) for resource in resources]
    Affected.objects.bulk_create(rows)


def _refuse_change(notice: Notice, changed: Sequence[str]) -> None:
    if notice.status not in Notice.SHOWN:
        raise TooLate(f"it is {notice.status}")
    late = [name for name in changed if name not in ("ends_after_duration", "keep_open")]
    if notice.status == Notice.Status.STARTED and late:
        members = [MEMBERS[name] for name in late]
        raise TooLate(f"it has started: {', '.join(members)} cannot be changed any more", path=members[0])


# Views and their numbers


def _views_of(notice: Notice) -> set[str]:
    """The keys of the views that show it: those of its resources as they are grouped now, and the one of everything."""
    return {resource.view for resource in notice.resources.all()} | {View.EVERYTHING}


def bump_views(subscription_id: uuid.UUID, keys: Collection[str]) -> dict[str, int]:
    """Count the views up; return their new numbers."""
    views = View.objects.filter(subscription=subscription_id, key__in=keys)
    missing = set(keys) - set(views.values_list("key", flat=True))
    View.objects.bulk_create(
        [View(subscription_id=subscription_id, key=key) for key in sorted(missing)], ignore_conflicts=True
    )
    # in one order, lest two wait for each other
    list(views.order_by("key").select_for_update(no_key=True).values_list("pk"))
    views.update(incarnation=F("incarnation") + 1)
    return dict(views.values_list("key", "incarnation"))
