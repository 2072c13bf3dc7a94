"""Who is told of maintenance, what was announced, and how far it is.

Source of the rules: the published contract of Scheduled Events.
"""

import uuid
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


def listening_since(now: datetime) -> datetime:
    """The earliest poll by which a resource still counts as listening."""
    return now - timedelta(hours=settings.LISTENING_HOURS)


class OfSubscription(models.QuerySet):
    def visible_to(self, user, role: Role = Role.READER) -> Self:
        return self.filter(subscription__in=Subscription.objects.visible_to(user, role))


class Resource(models.Model):
    """Something that maintenance is announced to: a machine, a service.

    Resources of one scope group see each other's notices, and any of them may approve; without a group it is its own.
    Only a digest of its token is kept.
    """

    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="resources")
    name = models.CharField(max_length=255)  # compared with case, as clients do
    scope_group = models.CharField(max_length=255, blank=True)
    labels = models.JSONField(default=dict, blank=True)  # {name: text}
    digest = models.CharField(max_length=64, unique=True, editable=False)
    last_seen_at = models.DateTimeField(null=True, editable=False)  # its newest poll
    created_at = models.DateTimeField()

    objects = OfSubscription.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["subscription", "name"], name="resource_name")]

    def __str__(self) -> str:
        return self.name

    def is_listening(self, now: datetime) -> bool:
        """Whether it has polled lately."""
        return self.last_seen_at is not None and self.last_seen_at >= listening_since(now)

    @property
    def view(self) -> str:
        """The key of the view that it sees."""
        return f"group {self.scope_group}" if self.scope_group else f"resource {self.name}"


class View(models.Model):
    """The version number of what one scope group, or with the key EVERYTHING the whole subscription, is shown.

    It grows with every change of what is shown there and never goes back.
    """

    EVERYTHING = ""

    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=270)
    incarnation = models.PositiveIntegerField(default=FIRST_INCARNATION)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["subscription", "key"], name="view_once")]


class Overview(models.Model):
    """The version number of what one person is shown of all their subscriptions.

    It has to grow on, whatever they join or leave, so it is no sum of those of the views.
    """

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64)  # of the subscriptions and the numbers of their views
    incarnation = models.PositiveIntegerField(default=0)  # 0: nothing was read yet


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


class NoticeQuerySet(OfSubscription):
    def shown(self) -> Self:
        """Those that are told to who polls, oldest first."""
        return self.filter(status__in=Notice.SHOWN).order_by("announced_at", "pk")

    def waiting(self, now: datetime) -> Self:
        """Those that somebody's approval would start, and nothing else until their time."""
        return self.filter(status=Notice.Status.SCHEDULED, approve_when_idle=False, not_before__gt=now)

    def moving(self, now: datetime) -> Self:
        """Those that time, or the end of runs, may take a step on, in the order of their times."""
        has_work = Exists(Work.objects.filter(notice=OuterRef("pk"), step=Step.START))
        over = Q(ends_after_duration=True, ends_at__lte=now) | Q(has_work)
        starting = Q(status=Notice.Status.SCHEDULED) & (Q(not_before__lte=now) | Q(approve_when_idle=True))
        ending = Q(status=Notice.Status.STARTED, keep_open=False) & over
        return self.filter(status__in=Notice.SHOWN).filter(starting | ending).order_by("not_before", "pk")

    def between(self, start: datetime, end: datetime) -> Self:
        """Those that took, take, or are expected to take place within [start, end); cancelled ones never do."""
        begun = Q(started_at__lt=end) | Q(started_at=None, not_before__lt=end)
        lasting = Q(status=Notice.Status.STARTED) | Q(status=Notice.Status.SCHEDULED, ends_at=None)
        begins_in_time = Q(started_at__gte=start) | Q(started_at=None, not_before__gte=start)  # it may be but a moment
        places = self.exclude(status=Notice.Status.CANCELLED).filter(begun)
        return places.filter(lasting | Q(ends_at__gt=start) | Q(ends_at=start) & begins_in_time)


class Notice(models.Model):
    """Maintenance of some resources: announced, started, over.  It never goes back."""

    class Status(models.TextChoices):
        SCHEDULED = "scheduled"
        STARTED = "started"  # approved, or its time has come, or it was announced so
        COMPLETED = "completed"
        CANCELLED = "cancelled"  # withdrawn before it started

    class Source(models.TextChoices):
        PLATFORM = "Platform"
        USER = "User"

    SHOWN = (Status.SCHEDULED, Status.STARTED)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE, db_index=False, related_name="notices")
    event_type = models.CharField(max_length=16, choices=EventType)
    status = models.CharField(max_length=16, choices=Status, default=Status.SCHEDULED)
    resources = models.ManyToManyField(Resource, through="Affected", related_name="notices")
    # whole seconds, so that it starts no earlier than it is shown to
    not_before = models.DateTimeField()
    description = models.CharField(max_length=1000, blank=True)
    duration_s = models.IntegerField(default=UNKNOWN_DURATION)  # 0: no interruption
    source = models.CharField(max_length=16, choices=Source, default=Source.PLATFORM)
    approve_when_idle = models.BooleanField(default=False)  # and no run on its resources begins meanwhile
    ends_after_duration = models.BooleanField(default=False)  # else that is only what is expected
    keep_open = models.BooleanField(default=False)  # when its work has ended, until somebody ends it
    running_at_start = models.JSONField(default=list, editable=False)  # names of jobs whose runs were still going
    key = models.CharField(max_length=100, null=True, editable=False)  # the caller's own, of its announcement
    announced_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    ends_at = models.DateTimeField(null=True)  # when it ended, else when it is expected to; null: nobody knows

    objects = NoticeQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["subscription", "key"], name="one_notice_of_a_key")]
        indexes = [
            # serves NoticeQuerySet.shown, waiting and moving; not a partial one, which SQLite would not use for them
            models.Index(fields=["status", "subscription"], name="notice_shown"),
            # serves NoticeQuerySet.between
            models.Index(fields=["subscription", "ends_at"], name="notice_ends"),
            # serves the history, newest first
            models.Index(fields=["subscription", "-announced_at", "-id"], name="notice_of_subscription"),
            # serves the same of one status
            models.Index(fields=["subscription", "status", "-announced_at", "-id"], name="notice_of_status"),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} of {self.announced_at:%Y-%m-%d %H:%M:%SZ}"

    @property
    def begins_at(self) -> datetime:
        """When it started, else the earliest moment at which it does unless it is approved."""
        return self.started_at or self.not_before

    @property
    def expected_end(self) -> datetime | None:
        return None if self.duration_s == UNKNOWN_DURATION else self.begins_at + timedelta(seconds=self.duration_s)


class Affected(models.Model):
    """A resource of a notice.  Its name is kept, since history outlives resources."""

    notice = models.ForeignKey(Notice, on_delete=models.CASCADE, db_index=False, related_name="affected")
    resource = models.ForeignKey(Resource, null=True, on_delete=models.SET_NULL, related_name="affected")
    name = models.CharField(max_length=255)

    class Meta:
        # serves Sight as well: whether a notice affects a resource, however many have
        constraints = [models.UniqueConstraint(fields=["notice", "resource"], name="affected_once")]
        # serves the history of a resource
        indexes = [models.Index(fields=["name", "notice"], name="affected_by_name")]
        ordering = ["pk"]


class Transition(models.Model):
    """One step of a notice, who made it, and the version numbers of the views that it changed."""

    notice = models.ForeignKey(Notice, on_delete=models.CASCADE, related_name="transitions")
    at = models.DateTimeField()
    status = models.CharField(max_length=16, choices=Notice.Status)
    actor = models.CharField(max_length=300)  # a person, a resource, or the clock
    note = models.CharField(max_length=300, blank=True)
    incarnations = models.JSONField(default=dict)  # {key of a view: number}

    class Meta:
        ordering = ["at", "pk"]


class Approval(models.Model):
    """Somebody's leave for a notice to start.  The first starts it; the first of everybody else is kept as well."""

    notice = models.ForeignKey(Notice, on_delete=models.CASCADE, related_name="approvals")
    resource = models.ForeignKey(Resource, null=True, on_delete=models.SET_NULL, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    at = models.DateTimeField()


class Step(models.TextChoices):
    """A step of a notice at which jobs may run."""

    ANNOUNCE = "announce"
    START = "start"
    COMPLETE = "complete"
    CANCEL = "cancel"


class Work(models.Model):
    """A run that a step of a notice ordered.  When all that its start ordered have ended, the notice ends."""

    notice = models.ForeignKey(Notice, on_delete=models.CASCADE, related_name="work")
    step = models.CharField(max_length=16, choices=Step)
    run = models.ForeignKey(Run, null=True, on_delete=models.SET_NULL, related_name="+")
    job_name = models.CharField(max_length=NAME_LENGTH)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["notice", "step", "run"], name="work_once")]
        ordering = ["pk"]


class Heed(models.Model):
    """What a job does about maintenance of the resources that it names, or whose labels it names."""

    class During(models.TextChoices):
        NOTHING = "nothing"
        HOLD = "hold"  # what is due from the lead time before not-before until the end is held

    class After(models.TextChoices):
        RUN_ONCE = "run_once"  # the newest of what was held
        DROP = "drop"

    job = models.OneToOneField(Job, on_delete=models.CASCADE, related_name="heed")
    resource_names = models.JSONField(default=list, blank=True)
    labels = models.JSONField(default=dict, blank=True)  # a resource with all of these
    during = models.CharField(max_length=8, choices=During, default=During.NOTHING)
    after = models.CharField(max_length=8, choices=After, default=After.RUN_ONCE)
    lead = models.DurationField(default=timedelta(0))
    run_on = models.JSONField(default=list, blank=True)  # Steps
