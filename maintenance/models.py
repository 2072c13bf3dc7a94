"""The models of maintenance: resources, notices and their phases, and the policies of jobs.

Source of the rules: the published contract of Scheduled Events.
"""

import uuid
from copy import copy
from datetime import datetime, timedelta
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q

from accounts.models import Role, Subscription
from jobs.models import Job, Run
from jobs.names import NAME_LENGTH

FIRST_INCARNATION = 1
UNKNOWN_DURATION = -1


def polled_since(now: datetime) -> datetime:
    """Return the earliest time of the newest poll at which a resource still counts as listening."""
    return now - timedelta(hours=settings.LISTENING_HOURS)


class SubscriptionScopedQuerySet(models.QuerySet):
    def visible_to(self, user, role: Role = Role.READER) -> Self:
        return self.filter(subscription__in=Subscription.objects.visible_to(user, role))


class Resource(models.Model):
    """A machine or service to which maintenance is announced.

    Resources of one scope group see each other's notices, and any of them may approve.  A resource without a group
    sees only its own notices.  Only a digest of its token is stored.
    """

    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="resources")
    name = models.CharField(max_length=255)  # compared case-sensitively, as clients do
    scope_group = models.CharField(max_length=255, blank=True)
    labels = models.JSONField(default=dict, blank=True)  # {name: text}
    digest = models.CharField(max_length=64, unique=True, editable=False)
    last_seen_at = models.DateTimeField(null=True, editable=False)  # newest poll; null: never
    created_at = models.DateTimeField()

    objects = SubscriptionScopedQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["subscription", "name"], name="resource_name")]

    def __str__(self) -> str:
        return self.name

    def is_listening(self, now: datetime) -> bool:
        """Return True if the resource has polled within the last LISTENING_HOURS."""
        return self.last_seen_at is not None and self.last_seen_at >= polled_since(now)

    @property
    def scope_key(self) -> str:
        """Return the key of the EventScope that the resource sees."""
        return f"group {self.scope_group}" if self.scope_group else f"resource {self.name}"


class EventScope(models.Model):
    """The incarnation of the list of notices that one scope group or single resource is shown.

    The key EVERYTHING stands for the list of the whole subscription.  The incarnation grows with every change of the
    list and never goes back.
    """

    EVERYTHING = ""

    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="+")
    scope_key = models.CharField(max_length=270)
    incarnation = models.PositiveIntegerField(default=FIRST_INCARNATION)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["subscription", "scope_key"], name="view_once")]


class UserEventScope(models.Model):
    """The incarnation of the list of notices that one person is shown of all their subscriptions.

    The incarnation must also grow when the person joins or leaves a subscription.  So it is not just the sum of the
    incarnations of the event scopes.
    """

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    scope_digest = models.CharField(max_length=64)  # of the subscriptions and the incarnations of their scopes
    incarnation = models.PositiveIntegerField(default=0)  # 0: the person has not read the list yet


class EventType(models.TextChoices):
    FREEZE = "Freeze"
    REBOOT = "Reboot"
    REDEPLOY = "Redeploy"
    PREEMPT = "Preempt"
    TERMINATE = "Terminate"


MINIMUM_NOTICE = {
    EventType.FREEZE: timedelta(minutes=15),
    EventType.REBOOT: timedelta(minutes=15),
    EventType.REDEPLOY: timedelta(minutes=10),
    EventType.PREEMPT: timedelta(seconds=30),
    EventType.TERMINATE: timedelta(minutes=5),
}


class NoticeQuerySet(SubscriptionScopedQuerySet):
    def active(self) -> Self:
        """Filter for notices that machines are shown, oldest announcement first."""
        return self.filter(status__in=Notice.ACTIVE).order_by("announced_at", "pk")

    def awaiting_approval(self, now: datetime) -> Self:
        """Filter for notices that wait for approval: until not-before, only an approval starts them."""
        return self.filter(status=Notice.Status.SCHEDULED, approve_when_idle=False, not_before__gt=now)

    def due(self, now: datetime) -> Self:
        """Filter for notices that time or the end of runs may start or end, ordered by not-before."""
        has_runs = Exists(NoticeRun.objects.filter(notice=OuterRef("pk"), phase=NoticePhase.START))
        is_over = Q(ends_after_duration=True, ends_at__lte=now) | Q(has_runs)
        starting = Q(status=Notice.Status.SCHEDULED) & (Q(not_before__lte=now) | Q(approve_when_idle=True))
        ending = Q(status=Notice.Status.STARTED, end_manually=False) & is_over
        return self.filter(status__in=Notice.ACTIVE).filter(starting | ending).order_by("not_before", "pk")

    def between(self, start: datetime, end: datetime) -> Self:
        """Filter for notices that took, take, or are expected to take place within [start, end).

        Cancelled notices are left out.
        """
        begins_before_end = Q(started_at__lt=end) | Q(started_at=None, not_before__lt=end)
        is_lasting = Q(status=Notice.Status.STARTED) | Q(status=Notice.Status.SCHEDULED, ends_at=None)
        # for notices of no length that lie exactly at `start`
        begins_in_range = Q(started_at__gte=start) | Q(started_at=None, not_before__gte=start)
        rows = self.exclude(status=Notice.Status.CANCELLED).filter(begins_before_end)
        return rows.filter(is_lasting | Q(ends_at__gt=start) | Q(ends_at=start) & begins_in_range)


class Notice(models.Model):
    """Announced maintenance of some resources.  Its status only goes forward."""

    class Status(models.TextChoices):
        SCHEDULED = "scheduled"
        STARTED = "started"  # approved, or not-before has come, or announced as started
        COMPLETED = "completed"
        CANCELLED = "cancelled"  # withdrawn before it started

    class Source(models.TextChoices):
        PLATFORM = "Platform"
        USER = "User"

    ACTIVE = (Status.SCHEDULED, Status.STARTED)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, db_index=False, related_name="notices")
    event_type = models.CharField(max_length=16, choices=EventType)
    status = models.CharField(max_length=16, choices=Status, default=Status.SCHEDULED)
    resources = models.ManyToManyField(Resource, through="NoticeResource", related_name="notices")
    # in whole seconds, so that the notice starts no earlier than clients are shown
    not_before = models.DateTimeField()
    description = models.CharField(max_length=1000, blank=True)
    duration_s = models.IntegerField(default=UNKNOWN_DURATION)  # of the interruption; 0: none
    source = models.CharField(max_length=16, choices=Source, default=Source.PLATFORM)
    approve_when_idle = models.BooleanField(default=False)  # and hold all runs on the resources until the start
    ends_after_duration = models.BooleanField(default=False)  # if False, the duration is only an expectation
    end_manually = models.BooleanField(default=False)  # stay open after the runs of its start until a person ends it
    runs_at_start = models.JSONField(default=list, editable=False)  # names of jobs with runs that were still going
    key = models.CharField(max_length=100, null=True, editable=False)  # idempotency key of the announcement
    announced_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    ends_at = models.DateTimeField(null=True)  # the end, or before it the expected end; null: unknown

    objects = NoticeQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["subscription", "key"], name="one_notice_of_a_key")]
        indexes = [
            # serves NoticeQuerySet.active, awaiting_approval and due; not partial, because SQLite would not use that
            models.Index(fields=["status", "subscription"], name="notice_shown"),
            # serves NoticeQuerySet.between
            models.Index(fields=["subscription", "ends_at"], name="notice_ends"),
            # serves the history, newest first
            models.Index(fields=["subscription", "-announced_at", "-id"], name="notice_of_subscription"),
            # serves the history of one status
            models.Index(fields=["subscription", "status", "-announced_at", "-id"], name="notice_of_status"),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} of {self.announced_at:%Y-%m-%d %H:%M:%SZ}"

    def is_due(self, now: datetime) -> bool:
        """Return True if the notice is due to start because not-before has come."""
        return self.status == self.Status.SCHEDULED and self.not_before <= now

    def has_expired(self, now: datetime) -> bool:
        """Return True if the notice is due to end because its expected duration is over."""
        ends_by_time = self.status == self.Status.STARTED and self.ends_after_duration and not self.end_manually
        return ends_by_time and self.ends_at is not None and self.ends_at <= now

    def as_of(self, now: datetime) -> Self:
        """Return a copy of the notice with the steps that time has brought about until `now`, to show it.

        Nothing is written: housekeeping takes these steps.
        """
        copied = copy(self)
        if copied.is_due(now):
            copied.status, copied.started_at = self.Status.STARTED, copied.not_before
        if copied.has_expired(now):
            copied.status, copied.ended_at = self.Status.COMPLETED, copied.ends_at
        return copied

    def is_open_ended(self, now: datetime) -> bool:
        """Return True if the notice is not over and its end is unknown.

        The end is unknown if the duration is unknown, if the notice has lasted longer than expected, or if it
        interrupts nothing.  Then it goes on until somebody ends it.
        """
        return self.status in self.ACTIVE and (self.duration_s <= 0 or self.ends_at is None or self.ends_at <= now)

    @property
    def begins_at(self) -> datetime:
        """Return the start; before the start, the earliest time of it without an approval."""
        return self.started_at or self.not_before

    @property
    def expected_end(self) -> datetime | None:
        return None if self.duration_s == UNKNOWN_DURATION else self.begins_at + timedelta(seconds=self.duration_s)


class NoticeResource(models.Model):
    """A resource of a notice.  The name is stored too, because the history stays when the resource is deleted."""

    notice = models.ForeignKey(Notice, on_delete=models.CASCADE, db_index=False, related_name="affected_resources")
    resource = models.ForeignKey(Resource, null=True, on_delete=models.SET_NULL, related_name="affected_resources")
    name = models.CharField(max_length=255)

    class Meta:
        # also serves EventFeed: whether a notice affects a resource, however many notices there are
        constraints = [models.UniqueConstraint(fields=["notice", "resource"], name="affected_once")]
        # serves the history of a resource
        indexes = [models.Index(fields=["name", "notice"], name="affected_by_name")]
        ordering = ["pk"]


class Transition(models.Model):
    """One step of a notice: who took it, and the new incarnations of the event scopes that it changed."""

    notice = models.ForeignKey(Notice, on_delete=models.CASCADE, related_name="transitions")
    at = models.DateTimeField()
    status = models.CharField(max_length=16, choices=Notice.Status)
    actor = models.CharField(max_length=300)  # a person, a resource, or the clock
    detail = models.CharField(max_length=300, blank=True)
    incarnations = models.JSONField(default=dict)  # {key of a scope: incarnation}

    class Meta:
        ordering = ["at", "pk"]


class Approval(models.Model):
    """An approval by a resource or a user.  The first one starts the notice; later ones are stored, one for each."""

    notice = models.ForeignKey(Notice, on_delete=models.CASCADE, related_name="approvals")
    resource = models.ForeignKey(Resource, null=True, on_delete=models.SET_NULL, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField()


class NoticePhase(models.TextChoices):
    """A phase of a notice at which jobs may run."""

    ANNOUNCE = "announce"
    START = "start"
    COMPLETE = "complete"
    CANCEL = "cancel"


class NoticeRun(models.Model):
    """A run that a phase of a notice has started.  When all runs that its start has started are over, the notice ends.

    `run` is None when the run has been deleted.
    """

    notice = models.ForeignKey(Notice, on_delete=models.CASCADE, related_name="runs")
    phase = models.CharField(max_length=16, choices=NoticePhase)
    run = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="+")
    job_name = models.CharField(max_length=NAME_LENGTH)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["notice", "phase", "run"], name="work_once")]
        ordering = ["pk"]


class JobMaintenancePolicy(models.Model):
    """The policy of a job for maintenance of the resources that it names, or whose labels it names."""

    class OnNotice(models.TextChoices):
        NOTHING = "nothing"
        HOLD = "hold"  # hold runs that are due from the lead time before not-before until the end

    class OnEnd(models.TextChoices):
        RUN_ONCE = "run_once"  # run the newest of the held runs
        DROP = "drop"  # skip all held runs

    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="maintenance_policy")
    resource_names = models.JSONField(default=list, blank=True)
    labels = models.JSONField(default=dict, blank=True)  # matches a resource that has all of these
    on_notice = models.CharField(max_length=8, choices=OnNotice, default=OnNotice.NOTHING)
    on_end = models.CharField(max_length=8, choices=OnEnd, default=OnEnd.RUN_ONCE)
    lead_time = models.DurationField(default=timedelta(0))
    run_at_phases = models.JSONField(default=list, blank=True)  # values of NoticePhase
