"""Triggers: when jobs run; and the calendars of closed days that their schedules name."""

import json
import uuid
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any, Self

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from accounts.models import Role, Subscription
from jobs.models import Job
from jobs.names import NAME_LENGTH, validate_group, validate_name, validate_trigger_name
from recurrence import closed_days, wire
from recurrence.jitter import start_of
from recurrence.moves import moved_from
from recurrence.schedules import Schedule
from recurrence.wire.common import FindClosedDays

MAIN = "default"
PRIORITY = 5
PRIORITY_MOST = 32_767
GROUP = "default"  # its queue also takes the runs that people start by hand
MISFIRE_THRESHOLD = timedelta(minutes=1)  # a fire time found later than this has misfired, as in Quartz
THRESHOLD_LEAST, THRESHOLD_MOST = timedelta(seconds=1), timedelta(days=366)


class ClosedDaysQuerySet(models.QuerySet):
    def visible_to(self, user, role: Role = Role.READER) -> Self:
        return self.filter(subscription__in=Subscription.objects.visible_to(user, role))

    def named(self, name: str) -> Self:
        """Return the calendars with this name, in any case; a subscription has at most one."""
        return self.filter(name__lower=name.lower())


class ClosedDays(models.Model):
    """A named calendar of the days on which schedules of a subscription do not fire."""

    subscription = models.ForeignKey(Subscription, on_delete=models.CASCADE)
    name = models.CharField(max_length=NAME_LENGTH, validators=[validate_name])
    revision = models.PositiveIntegerField(default=1, editable=False)  # counts changes of the name and the document
    version = models.ForeignKey(
        "ClosedDaysVersion", on_delete=models.SET_NULL, null=True, editable=False, related_name="+"
    )  # the newest; null only until the first one is stored
    has_events = models.BooleanField(default=False, editable=False)  # the document names calendars of events
    event_state = models.JSONField(default=dict, editable=False)  # of these calendars when their days were computed
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = ClosedDaysQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "closed days"
        constraints = [models.UniqueConstraint("subscription", Lower("name"), name="closed_days_name")]
        indexes = [
            # serves closed_days.renew_event_days
            models.Index(fields=["id"], name="closed_days_with_events", condition=Q(has_events=True)),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def document(self) -> dict[str, Any]:
        """The document of the newest version, in canonical form."""
        assert self.version is not None
        return self.version.document

    @property
    def days(self) -> closed_days.ClosedDays:
        """The compiled newest version.  Raises ClosedDaysVersion.DoesNotExist if it was replaced meanwhile."""
        days = compiled_closed_days(self.version_id) if self.version_id else None
        if days is None:
            raise ClosedDaysVersion.DoesNotExist
        return days


class ClosedDaysVersion(models.Model):
    """The days of a calendar as triggers use them.  A row never changes, so its compiled value can be cached by id.

    A trigger keeps its version until its next fire time is recomputed with a newer one.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    calendar = models.ForeignKey(ClosedDays, on_delete=models.CASCADE, related_name="versions")
    document = models.JSONField()
    event_days = models.JSONField(default=dict)  # names of the days with events of other calendars, by ISO date
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return str(self.pk)


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
    closed_days = models.ForeignKey(
        ClosedDaysVersion, on_delete=models.RESTRICT, null=True, editable=False, related_name="triggers"
    )  # of the calendar that the definition names; null: it names none
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
        return parsed(self.format, self.definition, self.anchored_at, self.closed_days_id)

    @property
    def parsed_or_none(self) -> wire.Parsed | None:
        return parsed_or_none(self.format, self.definition, self.anchored_at, self.closed_days_id)

    def start_of(self, fire_at: datetime) -> datetime:
        """Return when the run of a fire time starts: with jitter, if the schedule has jitter."""
        parsed = self.parsed_or_none
        return delayed(fire_at, self.pk, parsed.jitter) if parsed else fire_at

    def moved_from(self, fire_at: datetime) -> list[datetime]:
        """Return the fire times that closed days move to this one, earliest first; empty: it is not moved."""
        parsed = self.parsed_or_none
        return moved_from(parsed.schedule, fire_at) if parsed else []

    @property
    def schedule_or_none(self) -> Schedule | None:
        parsed = self.parsed_or_none
        return parsed.schedule if parsed else None


def delayed(fire_at: datetime, trigger_id: int, jitter: timedelta) -> datetime:
    """Return when the run of a fire time starts: with the jitter of its trigger."""
    return start_of(fire_at, jitter, str(trigger_id))


def parsed_or_none(
    format: str, definition: Mapping[str, Any], anchored_at: datetime, closed_days_id: uuid.UUID | None
) -> wire.Parsed | None:
    """Return the compiled definition; None if it was stored when the parser of its format accepted more."""
    try:
        return parsed(format, definition, anchored_at, closed_days_id)
    except wire.WireError:
        return None


def parsed(
    format: str, definition: Mapping[str, Any], anchored_at: datetime, closed_days_id: uuid.UUID | None
) -> wire.Parsed:
    """Return the compiled definition of a stored trigger, from a cache.  Raises WireError."""
    return compiled(format, json.dumps(definition, sort_keys=True), anchored_at, closed_days_id)


@lru_cache(maxsize=10_000)
def compiled(format: str, definition: str, anchored_at: datetime, closed_days_id: uuid.UUID | None) -> wire.Parsed:
    return parse(format, json.loads(definition), anchored_at, closed_days_id)


def parse(
    format: str, definition: Mapping[str, Any], created_at: datetime, closed_days_id: uuid.UUID | None
) -> wire.Parsed:
    """Compile a definition with the closed days of this version.  Raises WireError."""
    return wire.parse(format, definition, created_at, closed_days=find_closed_days(closed_days_id))


def find_closed_days(version_id: uuid.UUID | None) -> FindClosedDays:
    """Return the function with which a parser finds the calendar that a definition names: always this version.

    None: the calendar does not exist.
    """
    return lambda name: compiled_closed_days(version_id) if version_id else None


@lru_cache(maxsize=1_000)
def compiled_closed_days(version_id: uuid.UUID) -> closed_days.ClosedDays | None:
    """Return the compiled calendar; None when the version was deleted meanwhile."""
    row = ClosedDaysVersion.objects.filter(pk=version_id).values_list("document", "event_days").first()
    if row is None:
        return None
    document, event_days = row
    return closed_days.ClosedDays.of(document, parse_event_days(event_days))


def parse_event_days(event_days: Mapping[str, str]) -> dict[date, str]:
    """Return the stored names of days with events, by date."""
    return {date.fromisoformat(day): name for day, name in event_days.items()}


class TimeZoneData(models.Model):
    """The time zone data with which the stored times were computed.  One row, with the key ROW.

    `revision` counts the changes of the data.  `changed_zones` are the zones whose times the newest change affects.
    """

    ROW = 1

    revision = models.PositiveIntegerField(default=1)
    label = models.CharField(max_length=32)  # the version, such as "2025b"
    digests = models.JSONField()  # by zone, see recurrence.zone_data
    changed_zones = models.JSONField(default=list)
    since = models.DateTimeField()

    def __str__(self) -> str:
        return self.label
