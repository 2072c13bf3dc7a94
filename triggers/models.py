"""Triggers: when jobs run."""

import json
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Self

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from accounts.models import Role, Subscription
from jobs.models import Job
from jobs.names import NAME_LENGTH, validate_group, validate_trigger_name
from recurrence import wire
from recurrence.schedules import Schedule

MAIN = "default"
PRIORITY = 5
PRIORITY_MOST = 32_767
GROUP = "default"  # its queue also takes the runs that people start by hand
MISFIRE_THRESHOLD = timedelta(minutes=1)  # a fire time found later than this has misfired, as in Quartz
THRESHOLD_LEAST, THRESHOLD_MOST = timedelta(seconds=1), timedelta(days=366)


class TriggerQuerySet(models.QuerySet):
    def visible_to(self, user, role: Role = Role.READER) -> Self:
        return self.filter(job__collection__subscription__in=Subscription.objects.visible_to(user, role))

    def due(self, now: datetime) -> Self:
        """Return triggers with `next_fire_at <= now`, longest overdue first, then by priority, lowest number first."""
        return self.filter(next_fire_at__lte=now).order_by("next_fire_at", "priority", "id")

    def next_fire_at(self) -> datetime | None:
        """Return the earliest next fire time of all triggers; None: no trigger will fire."""
        waiting = self.filter(next_fire_at__isnull=False).order_by("next_fire_at", "priority", "id")
        return waiting.values_list("next_fire_at", flat=True).first()


class Trigger(models.Model):
    """A schedule of a job, stored as the document that was written, and its progress.

    `next_fire_at` is empty while the trigger, its job or its collection is stopped, and after the last fire time.  So
    one index finds all due triggers.  The trigger called MAIN stores the schedule in its job's own document, and the
    job ends when that schedule ends.  A job with another trigger does not end, because that trigger may get a new
    schedule at any time.
    """

    class Misfire(models.TextChoices):
        """What happens with fire times that are found later than the threshold."""

        FIRE_ONCE = "fire_once"  # the newest runs; the older ones are recorded as missed
        FIRE_ALL = "fire_all"  # they run in order, up to a limit; the oldest beyond the limit are missed
        SKIP = "skip"  # all are recorded as missed

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="triggers")
    name = models.CharField(max_length=NAME_LENGTH, default=MAIN, validators=[validate_trigger_name])
    enabled = models.BooleanField(default=True)
    format = models.CharField(max_length=16, default="azure")
    definition = models.JSONField(default=dict)  # the source document, as it was written
    anchored_at = models.DateTimeField()  # the moment at which the schedule counts as created
    next_fire_at = models.DateTimeField(null=True, editable=False)
    previous_fire_at = models.DateTimeField(null=True, editable=False)
    fire_count = models.PositiveIntegerField(default=0, editable=False)  # occurrences so far, without missed ones
    fires_left = models.PositiveIntegerField(null=True, editable=False)  # run budget; null: without limit
    misfire = models.CharField(max_length=16, choices=Misfire, default=Misfire.FIRE_ONCE)
    misfire_threshold = models.DurationField(default=MISFIRE_THRESHOLD)
    # of triggers due together the lower number is dispatched first; Quartz has it the other way round
    priority = models.SmallIntegerField(
        default=PRIORITY, validators=[MinValueValidator(0), MaxValueValidator(PRIORITY_MOST)]
    )
    group = models.CharField(max_length=100, default=GROUP, validators=[validate_group])  # the queue of its runs
    data_map = models.JSONField(default=dict, blank=True)
    lock_key = models.CharField(
        max_length=200, null=True, editable=False
    )  # the lock key of its runs, built from `data_map`
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = TriggerQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "name"], name="trigger_name")]
        indexes = [
            # serves TriggerQuerySet.due
            models.Index(
                fields=["next_fire_at", "priority", "id"], name="trigger_due", condition=Q(next_fire_at__isnull=False)
            ),
            # serves groups.groups_with_due_runs
            models.Index(
                fields=["group"], name="trigger_group", condition=Q(next_fire_at__isnull=False) & ~Q(group=GROUP)
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def parsed(self) -> wire.Parsed:
        """The compiled definition; its schedule counts as created at `anchored_at`."""
        return parsed(self.format, self.definition, self.anchored_at)

    @property
    def parsed_or_none(self) -> wire.Parsed | None:
        return parsed_or_none(self.format, self.definition, self.anchored_at)

    @property
    def schedule_or_none(self) -> Schedule | None:
        parsed = self.parsed_or_none
        return parsed.schedule if parsed else None


def parsed_or_none(format: str, definition: dict, anchored_at: datetime) -> wire.Parsed | None:
    """Return the compiled definition; None if it was stored when the parser of its format accepted more."""
    try:
        return parsed(format, definition, anchored_at)
    except wire.WireError:
        return None


def parsed(format: str, definition: dict, anchored_at: datetime) -> wire.Parsed:
    return compiled(format, json.dumps(definition, sort_keys=True), anchored_at)


@lru_cache(maxsize=10_000)
def compiled(format: str, definition: str, anchored_at: datetime) -> wire.Parsed:
    return wire.parse(format, json.loads(definition), anchored_at)
