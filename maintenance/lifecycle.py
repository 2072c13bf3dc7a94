"""Announce, change, approve, start, complete and cancel notices.

Every step is one conditional UPDATE.  In the same transaction the lists that show the notice get a new incarnation,
runs are held or released, and the jobs that run at this phase are started.  If two processes take the same step, the
second one changes nothing.  So an approval may race with the clock.

`advance` takes the steps that time or the end of runs brings about.  It is called in housekeeping and before a notice
is changed, but never when a notice is read.  These steps are:

* the start at not-before;
* the start of a notice that waits for its resources to become idle;
* the end of a notice when the runs that its start has started have ended, unless `end_manually` is set;
* the end after the expected duration, if `ends_after_duration` is set.

Without `ends_after_duration`, the duration only says how long the interruption is expected to be, and a notice usually
lasts longer than that.
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
from maintenance import holds, locking
from maintenance.errors import MaintenanceError, TooLate
from maintenance.models import (
    MINIMUM_NOTICE,
    UNKNOWN_DURATION,
    Approval,
    EventScope,
    EventType,
    JobMaintenancePolicy,
    Notice,
    NoticePhase,
    NoticeQuerySet,
    NoticeResource,
    Resource,
    Transition,
)
from maintenance.policies import check_text

logger = logging.getLogger(__name__)

CLOCK = "the clock"
IDLE = "the end of the last run"
RUNS_ENDED = "the end of its work"
RESOURCES_MOST = 1_000
OPEN_MOST = 1_000  # open notices of a subscription, because housekeeping looks at each of them every few seconds
RESOURCES_OF_OPEN_MOST = 10_000  # that they name together, because every start of a job of the subscription reads them
DESCRIPTION_LENGTH = 1_000
KEY_LENGTH = 100
FARTHEST = timedelta(days=3_660)  # the greatest distance of not-before from now
LONGEST_S = 366 * 86_400  # the greatest duration
SECOND = timedelta(seconds=1)
ACTOR_LENGTH = DETAIL_LENGTH = 300
# fields of an announcement that machines are not shown
UNANNOUNCED_FIELDS = (
    "approve_when_idle",
    "ends_after_duration",
    "end_manually",
)
MEMBERS = {  # field -> member of the API
    "event_type": "eventType",
    "resources": "resources",
    "not_before": "notBefore",
    "description": "description",
    "duration_s": "durationInSeconds",
    "source": "eventSource",
    "approve_when_idle": "approveWhenIdle",
    "ends_after_duration": "endAfterDuration",
    "end_manually": "keepOpen",
}


@dataclass(frozen=True, slots=True)
class Announcement:
    """The values of a notice to announce.  `not_before` None: now plus the minimum notice of the event type.

    Raises MaintenanceError if a value is not allowed.  The paths of the error are the members of the API.
    """

    event_type: EventType
    resources: Sequence[Resource]
    not_before: datetime | None = None  # cut to whole seconds, because clients are shown whole seconds
    description: str = ""
    duration_s: int = UNKNOWN_DURATION
    source: Notice.Source = Notice.Source.PLATFORM
    has_started: bool = False  # for a failure, or for maintenance that needs no approval
    approve_when_idle: bool = False
    ends_after_duration: bool = False
    end_manually: bool = False  # do not end the notice when the runs that its start has started have ended

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
        if self.ends_after_duration and (self.duration_s <= 0 or self.end_manually):
            message = "takes a durationInSeconds above 0, and does not go with keepOpen"
            raise MaintenanceError(message, path="endAfterDuration")

    def start_time(self, now: datetime) -> datetime:
        """Return the time at which the notice starts if nobody approves it before.

        Raises MaintenanceError if the time has passed, or is more than FARTHEST ahead.
        """
        if self.has_started:
            return earliest_start(now)
        if self.not_before is None:
            return earliest_start(now + MINIMUM_NOTICE[EventType(self.event_type)] + SECOND - timedelta.resolution)
        if earliest_start(self.not_before) < earliest_start(now):
            raise MaintenanceError("must not lie in the past", path="notBefore", code="out_of_range")
        if self.not_before - now > FARTHEST:
            raise MaintenanceError("must lie within ten years", path="notBefore", code="out_of_range")
        return earliest_start(self.not_before)

    def for_subscription(self, subscription_id: uuid.UUID) -> "Announcement":
        """Return the announcement with every resource once.

        Raises MaintenanceError if there is no resource, or one of another subscription.
        """
        if not self.resources:
            raise MaintenanceError("must name at least one resource", path="resources", code="required")
        for position, resource in enumerate(self.resources):
            if resource.subscription_id != subscription_id:
                message = f"there is no resource {resource.name!r:.80}"
                raise MaintenanceError(message, path=f"resources[{position}]", code="does_not_exist")
        return replace(self, resources=tuple(dict.fromkeys(self.resources)))


def earliest_start(instant: datetime) -> datetime:
    return instant.replace(microsecond=0)


def announce(
    subscription: Subscription, wanted: Announcement, actor: str, now: datetime, key: str | None = None
) -> Notice:
    """Announce maintenance.  A repeated `key` returns the notice that was announced with this key the first time.

    Raises MaintenanceError if the time has passed.
    """
    wanted = wanted.for_subscription(subscription.pk)
    with locking.exclusive_lock(_collections(subscription.pk)):
        if key and (announced := subscription.notices.filter(key=key).first()):
            return announced
        _refuse_too_many(subscription.pk, wanted.resources)
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
        _set_resources(notice, wanted.resources)
        policies = holds.matching_policies([notice])[notice.pk]
        detail = holds.start_jobs_for(notice, NoticePhase.ANNOUNCE, policies, now)
        if wanted.has_started:
            detail = _join_details(detail, _begin(notice, policies, now))
        else:
            holds.sync_holds([policy.job_id for policy in policies], now)
        _record_transition(notice, actor, now, detail)
        _start_if_idle(notice, now)
    return notice


def notice_warning(wanted: Announcement, now: datetime) -> str | None:
    """Return a warning if the announcement gives less notice than the minimum of its type, otherwise None."""
    minimum = MINIMUM_NOTICE[wanted.event_type]
    if wanted.has_started or wanted.not_before is None or wanted.not_before - now >= minimum - SECOND:
        return None
    return f"{wanted.event_type} is usually announced at least {int(minimum.total_seconds())} s ahead"


def change(notice: Notice, changes: Mapping[str, Any], actor: str, now: datetime) -> Notice:
    """Change a notice.  The keys of `changes` are fields of Announcement; values that are equal change nothing.

    Of a notice that has started only `ends_after_duration` and `end_manually` can change, of one that is over nothing:
    other changes raise TooLate.  Raises MaintenanceError if not-before is in the past.
    """
    advance(now, Notice.objects.filter(pk=notice.pk))
    with locking.exclusive_lock(_collections(notice.subscription_id)):
        notice.refresh_from_db()
        old = _announcement_of(notice)
        new = replace(old, **changes)
        if new.not_before is not None:
            new = replace(new, not_before=earliest_start(new.not_before))  # clients are shown whole seconds
        if "resources" in changes:
            new = new.for_subscription(notice.subscription_id)
        changed = [each.name for each in fields(Announcement) if getattr(old, each.name) != getattr(new, each.name)]
        if not changed:
            return notice
        _refuse_change(notice, changed)
        if "resources" in changed:
            _refuse_too_many(notice.subscription_id, new.resources, notice)
        scopes_before = _scope_keys_of(notice)
        job_ids = {policy.job_id for policy in holds.matching_policies([notice])[notice.pk]}
        not_before = new.start_time(now) if "not_before" in changed else notice.not_before
        for name, value in _columns(new, now, not_before).items():
            setattr(notice, name, value)
        notice.ends_at = notice.expected_end
        notice.save()
        if "resources" in changed:
            _set_resources(notice, new.resources)
        job_ids |= {policy.job_id for policy in holds.matching_policies([notice])[notice.pk]}
        holds.sync_holds(job_ids, now)
        detail = f"changed: {', '.join(MEMBERS[name] for name in changed)}"
        scope_keys = set() if set(changed) <= set(UNANNOUNCED_FIELDS) else scopes_before | _scope_keys_of(notice)
        _record_transition(notice, actor, now, detail, scope_keys)
        _start_if_idle(notice, now)
    return notice


def approve(
    notices: Iterable[Notice], actor: str, now: datetime, *, resource: Resource | None = None, user=None
) -> None:
    """Approve notices, each for all its resources.  Notices that have started or ended stay as they are."""
    notices = sorted(notices, key=lambda each: each.pk)
    statuses = dict(Notice.objects.active().filter(pk__in=[each.pk for each in notices]).values_list("pk", "status"))
    approvals = Approval.objects.filter(resource=resource, user=user)
    approved = set(approvals.filter(notice__in=statuses).values_list("notice_id", flat=True))
    pending = [each for each in notices if each.pk in statuses and each.pk not in approved]
    pending += [each for each in notices if each.pk in approved and statuses[each.pk] == Notice.Status.SCHEDULED]
    if pending:
        with locking.exclusive_lock(_collections(*{each.subscription_id for each in pending})):
            for notice in pending:
                if not approvals.filter(notice=notice).exists():
                    Approval.objects.create(notice=notice, resource=resource, user=user, at=now)
                _start(notice, actor, now, "approved")
    for notice in notices:
        notice.refresh_from_db()


def advance(now: datetime, notices: QuerySet[Notice] | None = None) -> None:
    """Take the steps that time and the end of runs bring about, each once.  One query if there are none.

    `notices` None: all notices.
    """
    rows = Notice.objects.all() if notices is None else cast(NoticeQuerySet, notices)
    for notice in list(rows.due(now)):
        _advance_one(notice, now)


def run_housekeeping(now: datetime) -> None:
    """Advance all notices, then hold and release runs as of `now`."""
    advance(now)
    holds.sync_all_holds(now)


def complete(notice: Notice, actor: str, now: datetime) -> None:
    """End a notice that has started.  Repeating the call changes nothing.

    Raises TooLate if the notice has not started, or was cancelled.
    """
    advance(now, Notice.objects.filter(pk=notice.pk))
    with locking.exclusive_lock(_collections(notice.subscription_id)):
        ended = _end(notice, Notice.Status.STARTED, Notice.Status.COMPLETED, NoticePhase.COMPLETE, actor, now)
        if not ended and notice.status != Notice.Status.COMPLETED:
            raise TooLate(f"it is {notice.status}: only one that has started can be completed")


def cancel(notice: Notice, actor: str, now: datetime) -> None:
    """Withdraw a notice that has not started.  Repeating the call changes nothing.

    Raises TooLate if the notice has started.
    """
    advance(now, Notice.objects.filter(pk=notice.pk))
    with locking.exclusive_lock(_collections(notice.subscription_id)):
        ended = _end(notice, Notice.Status.SCHEDULED, Notice.Status.CANCELLED, NoticePhase.CANCEL, actor, now)
        if not ended and notice.status != Notice.Status.CANCELLED:
            raise TooLate(f"it is {notice.status}: it has begun, so it is completed and not cancelled")


def _advance_one(notice: Notice, now: datetime) -> None:
    """Take the step that is due, unless another process has meanwhile taken the step or changed the notice."""
    if not _due_step(notice, now):
        return
    with locking.exclusive_lock(_collections(notice.subscription_id)):
        notice.refresh_from_db()
        if step := _due_step(notice, now):
            actor, detail = step
            if notice.status == Notice.Status.SCHEDULED:
                _start(notice, actor, now, detail)
            else:
                _end(notice, Notice.Status.STARTED, Notice.Status.COMPLETED, NoticePhase.COMPLETE, actor, now, detail)


def _due_step(notice: Notice, now: datetime) -> tuple[str, str] | None:
    """Return the actor that takes the notice one step on at `now`, and the detail of the step; None: no step is due."""
    if notice.status == Notice.Status.SCHEDULED:
        if notice.is_due(now):
            return CLOCK, ""
        if notice.approve_when_idle and holds.is_idle(notice):
            return IDLE, "nothing was running any more"
    if notice.status == Notice.Status.STARTED:
        if notice.has_expired(now):
            return CLOCK, "its expected duration is over"
        if not notice.end_manually and (end := holds.end_detail(notice)):
            return RUNS_ENDED, end
    return None


def _start_if_idle(notice: Notice, now: datetime) -> None:
    """Start a notice that waits for the last run, if nothing runs."""
    if notice.status == Notice.Status.SCHEDULED and notice.approve_when_idle and holds.is_idle(notice):
        _start(notice, IDLE, now, "nothing was running")


def _start(notice: Notice, actor: str, now: datetime, detail: str) -> bool:
    if not _move(notice, Notice.Status.SCHEDULED, Notice.Status.STARTED, started_at=now):
        return False
    detail = _join_details(detail, _begin(notice, holds.matching_policies([notice])[notice.pk], now))
    _record_transition(notice, actor, now, detail)
    return True


def _begin(notice: Notice, policies: Sequence[JobMaintenancePolicy], now: datetime) -> str:
    """Hold the runs and start the jobs of a notice that has started.  Return the detail of the step."""
    holds.sync_holds({policy.job_id for policy in policies} | holds.held_job_ids(notice), now)
    notice.runs_at_start = holds.running_job_names(policies)  # includes runs that a worker was about to begin
    notice.ends_at = notice.expected_end
    notice.save(update_fields=["runs_at_start", "ends_at"])
    return holds.start_jobs_for(notice, NoticePhase.START, policies, now)


def _end(notice: Notice, old: str, new: str, phase: NoticePhase, actor: str, now: datetime, detail: str = "") -> bool:
    if not _move(notice, old, new, ended_at=now, ends_at=now):
        return False
    policies = holds.matching_policies([notice])[notice.pk]
    holds.sync_holds({policy.job_id for policy in policies} | holds.held_job_ids(notice), now)
    _record_transition(notice, actor, now, _join_details(detail, holds.start_jobs_for(notice, phase, policies, now)))
    return True


def _move(notice: Notice, old: str, new: str, **changes: datetime) -> bool:
    """Change the status from `old` to `new`, and read the notice again.  Return False if it was not `old`."""
    moved = Notice.objects.filter(pk=notice.pk, status=old).update(status=new, **changes)
    notice.refresh_from_db()
    return bool(moved)


def _record_transition(
    notice: Notice, actor: str, now: datetime, detail: str = "", scope_keys: set[str] | None = None
) -> None:
    """Store a step, and raise the incarnations of the lists in `scope_keys`; None: all lists that show the notice."""
    incarnations = raise_incarnations(
        notice.subscription_id, _scope_keys_of(notice) if scope_keys is None else scope_keys
    )
    Transition.objects.create(
        notice=notice,
        at=now,
        status=notice.status,
        actor=actor[:ACTOR_LENGTH],
        detail=detail[:DETAIL_LENGTH],
        incarnations=incarnations,
    )
    logger.info("notice %s (%s) is %s by %s", notice.pk, notice.event_type, notice.status, actor)


def _join_details(*details: str) -> str:
    return "; ".join(detail for detail in details if detail)


def _collections(*subscription_ids: uuid.UUID) -> set[int]:
    """Return the ids of the collections whose jobs notices of the subscriptions may concern."""
    policies = JobMaintenancePolicy.objects.filter(job__collection__subscription__in=subscription_ids)
    return set(policies.values_list("job__collection_id", flat=True).distinct())


# Announcements and their rows


def _columns(wanted: Announcement, now: datetime, not_before: datetime | None = None) -> dict[str, Any]:
    columns = {each.name: getattr(wanted, each.name) for each in fields(Announcement)}
    del columns["resources"], columns["has_started"]
    columns["not_before"] = not_before or wanted.start_time(now)
    columns["approve_when_idle"] = wanted.approve_when_idle and not wanted.has_started
    return columns


def _announcement_of(notice: Notice) -> Announcement:
    """Return the announcement that the notice stands for now.  Deleted resources are left out."""
    columns = {each.name: getattr(notice, each.name) for each in fields(Announcement) if hasattr(notice, each.name)}
    resources = [each.resource for each in notice.affected_resources.select_related("resource") if each.resource]
    return Announcement(**{**columns, "resources": tuple(resources), "has_started": False})


def _refuse_too_many(subscription_id: uuid.UUID, resources: Sequence[Resource], notice: Notice | None = None) -> None:
    """Raise MaintenanceError if there would be too many open notices, or they would name too many resources.

    The resources of `notice`, which is stored already, are replaced by `resources`.
    """
    others = Notice.objects.filter(subscription=subscription_id, status__in=Notice.ACTIVE)
    if notice is not None:
        others = others.exclude(pk=notice.pk)
    if others.count() >= OPEN_MOST:
        message = f"a subscription has at most {OPEN_MOST} open notices: complete or cancel one"
        raise MaintenanceError(message, code="conflict")
    if NoticeResource.objects.filter(notice__in=others).count() + len(resources) > RESOURCES_OF_OPEN_MOST:
        message = f"the open notices of a subscription may name {RESOURCES_OF_OPEN_MOST} at most together"
        raise MaintenanceError(message, path="resources", code="conflict")


def _set_resources(notice: Notice, resources: Sequence[Resource]) -> None:
    notice.affected_resources.all().delete()
    ids = [resource.pk for resource in resources]
    names = dict(Resource.objects.filter(pk__in=ids).values_list("pk", "name"))  # a resource may have been renamed
    rows = [NoticeResource(notice=notice, resource=each, name=names.get(each.pk, each.name)) for each in resources]
    NoticeResource.objects.bulk_create(rows)


def _refuse_change(notice: Notice, changed: Sequence[str]) -> None:
    if notice.status not in Notice.ACTIVE:
        raise TooLate(f"it is {notice.status}")
    late = [name for name in changed if name not in ("ends_after_duration", "end_manually")]
    if notice.status == Notice.Status.STARTED and late:
        members = [MEMBERS[name] for name in late]
        raise TooLate(f"it has started: {', '.join(members)} cannot be changed any more", path=members[0])


# Event scopes and their incarnations


def _scope_keys_of(notice: Notice) -> set[str]:
    """Return the keys of the scopes that show the notice: those of its resources as grouped now, and EVERYTHING."""
    return {resource.scope_key for resource in notice.resources.all()} | {EventScope.EVERYTHING}


def raise_incarnations(subscription_id: uuid.UUID, keys: Collection[str]) -> dict[str, int]:
    """Raise the incarnations of the scopes by one.  Return the new incarnations by key."""
    scopes = EventScope.objects.filter(subscription=subscription_id, scope_key__in=keys)
    missing = set(keys) - set(scopes.values_list("scope_key", flat=True))
    EventScope.objects.bulk_create(
        [EventScope(subscription_id=subscription_id, scope_key=key) for key in sorted(missing)], ignore_conflicts=True
    )
    # lock in the order of the keys, to prevent deadlocks
    list(scopes.order_by("scope_key").select_for_update(no_key=True).values_list("pk"))
    scopes.update(incarnation=F("incarnation") + 1)
    return dict(scopes.values_list("scope_key", "incarnation"))
