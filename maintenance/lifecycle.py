"""Announce, approve, start, complete and cancel notices.

Every step is one conditional UPDATE, and in the same transaction the views that show the notice get a new incarnation
and attached work its run.  Whoever comes second changes nothing, so an approval may race with the clock.
Source: the published contract of Scheduled Events.
"""

import logging
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F

from accounts.models import Subscription
from maintenance import heeding
from maintenance.errors import MaintenanceError, TooLate
from maintenance.models import (
    MINIMUM_NOTICE,
    UNKNOWN_DURATION,
    Affected,
    Approval,
    EventType,
    Notice,
    Resource,
    Transition,
    View,
)

logger = logging.getLogger(__name__)

CLOCK = "the clock"
IDLE = "the end of the last run"
BATCH = 100


@dataclass(frozen=True, slots=True)
class Announcement:
    """What is to be announced.  Without `not_before` it is the minimum notice of its type from now."""

    event_type: EventType
    resources: Sequence[Resource]
    not_before: datetime | None = None
    description: str = ""
    duration_s: int = UNKNOWN_DURATION
    source: Notice.Source = Notice.Source.PLATFORM
    has_started: bool = False  # a failure, or work that waits for nobody
    approve_when_idle: bool = False
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        if not self.resources:
            raise MaintenanceError("must name at least one resource", path="resources", code="required")
        object.__setattr__(self, "names", tuple(resource.name for resource in self.resources))


def announce(subscription: Subscription, wanted: Announcement, actor: str, now: datetime) -> Notice:
    """Announce maintenance.  Raises MaintenanceError for a time that has passed."""
    not_before = (wanted.not_before or now + MINIMUM_NOTICE[wanted.event_type]).replace(microsecond=0)
    if not wanted.has_started and not_before < now.replace(microsecond=0):
        raise MaintenanceError("must not lie in the past", path="notBefore", code="out_of_range")
    with transaction.atomic():
        notice = Notice.objects.create(
            subscription=subscription,
            event_type=wanted.event_type,
            status=Notice.Status.STARTED if wanted.has_started else Notice.Status.SCHEDULED,
            not_before=not_before,
            description=wanted.description,
            duration_s=wanted.duration_s,
            source=wanted.source,
            approve_when_idle=wanted.approve_when_idle and not wanted.has_started,
            announced_at=now,
            started_at=now if wanted.has_started else None,
        )
        Affected.objects.bulk_create(
            Affected(notice=notice, resource=resource, name=resource.name) for resource in wanted.resources
        )
        _tell(notice, actor, now)
        heeding.react(notice, heeding.ANNOUNCE, now)
        if wanted.has_started:
            _begin(notice, now)
        elif notice.approve_when_idle:
            start_if_idle(notice, now)
    return notice


def shorter_than_usual(wanted: Announcement, now: datetime) -> str | None:
    """A warning when it gives less notice than is promised for its type."""
    least = MINIMUM_NOTICE[wanted.event_type]
    if wanted.has_started or wanted.not_before is None or wanted.not_before - now >= least - timedelta(seconds=1):
        return None
    return f"{wanted.event_type} is usually announced at least {int(least.total_seconds())} s ahead"


def approve(
    notices: Iterable[Notice], actor: str, now: datetime, *, resource: Resource | None = None, user=None
) -> None:
    """Give leave to start, for all resources of each notice; one that has started or ended stays as it is."""
    with transaction.atomic():
        for notice in sorted(notices, key=lambda each: each.pk):
            Approval.objects.create(notice=notice, resource=resource, user=user, at=now)
            _start(notice, actor, now, "approved")


def start_due(now: datetime) -> int:
    """Start what nobody approved until its time; return how many there were."""
    started = 0
    for notice in list(Notice.objects.due(now)[:BATCH]):
        with transaction.atomic():
            started += _start(notice, CLOCK, now, "")
    return started


def advance(now: datetime) -> None:
    """Whatever the time and the end of runs bring about: for the housekeeping, and before anybody is told anything."""
    start_due(now)
    for notice in Notice.objects.filter(status=Notice.Status.SCHEDULED, approve_when_idle=True)[:BATCH]:
        start_if_idle(notice, now)
    heeding.hold_waiting(now)


def start_if_idle(notice: Notice, now: datetime) -> bool:
    """Approve a draining notice by itself when no run of its jobs is going."""
    if heeding.running(notice):
        return False
    with transaction.atomic():
        return _start(notice, IDLE, now, "nothing was running any more")


def complete(notice: Notice, actor: str, now: datetime) -> None:
    """End a notice that has started; again, nothing happens.  Raises TooLate for one that has not, or was withdrawn."""
    with transaction.atomic():
        if _move(notice, Notice.Status.STARTED, Notice.Status.COMPLETED, actor, now, ended_at=now):
            heeding.react(notice, heeding.COMPLETE, now)
            heeding.release(notice, now)
        elif notice.status != Notice.Status.COMPLETED:
            raise TooLate(f"it is {notice.status}: only one that has started can be completed")


def cancel(notice: Notice, actor: str, now: datetime) -> None:
    """Withdraw a notice that has not started; again, nothing happens.  Raises TooLate for one that has."""
    with transaction.atomic():
        if _move(notice, Notice.Status.SCHEDULED, Notice.Status.CANCELLED, actor, now, ended_at=now):
            heeding.react(notice, heeding.CANCEL, now)
            heeding.release(notice, now)
        elif notice.status != Notice.Status.CANCELLED:
            raise TooLate(f"it is {notice.status}: it has begun, so it is completed and not cancelled")


def _start(notice: Notice, actor: str, now: datetime, note: str) -> bool:
    moved = _move(notice, Notice.Status.SCHEDULED, Notice.Status.STARTED, actor, now, note, started_at=now)
    if moved:
        _begin(notice, now)
    return moved


def _begin(notice: Notice, now: datetime) -> None:
    running = heeding.running(notice)
    if running:
        notice.running_at_start = running
        notice.save(update_fields=["running_at_start"])
    heeding.react(notice, heeding.START, now)
    heeding.release(notice, now)  # what waited for its start only


def _move(notice: Notice, old: str, new: str, actor: str, now: datetime, note: str = "", **changes: datetime) -> bool:
    """Take a notice one step on, unless somebody else has; either way it is then read anew."""
    moved = Notice.objects.filter(pk=notice.pk, status=old).update(status=new, **changes)
    notice.refresh_from_db()
    if moved:
        _tell(notice, actor, now, note)
    return bool(moved)


def _tell(notice: Notice, actor: str, now: datetime, note: str = "") -> None:
    """Give the views that show the notice a new incarnation, and write the step down."""
    incarnations = bump(notice)
    Transition.objects.create(
        notice=notice, at=now, status=notice.status, actor=actor[:300], note=note, incarnations=incarnations
    )
    logger.info("notice %s (%s) is %s by %s", notice.pk, notice.event_type, notice.status, actor)


def bump(notice: Notice) -> dict[str, int]:
    """Count up the views of a notice's resources and the one of everything; return their new numbers."""
    shown_to = {resource.view for resource in notice.resources.all()} | {View.EVERYTHING}
    return bump_views(notice.subscription_id, shown_to)


def bump_views(subscription_id: uuid.UUID, keys: set[str]) -> dict[str, int]:
    views = View.objects.filter(subscription=subscription_id, key__in=keys)
    missing = keys - set(views.values_list("key", flat=True))
    View.objects.bulk_create(
        [View(subscription_id=subscription_id, key=key) for key in sorted(missing)], ignore_conflicts=True
    )
    # in one order, lest two wait for each other
    list(views.order_by("key").select_for_update(no_key=True).values_list("pk"))
    views.update(incarnation=F("incarnation") + 1)
    return dict(views.values_list("key", "incarnation"))
