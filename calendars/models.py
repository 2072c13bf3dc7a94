"""Calendars, their shares and feeds, events and series, and exceptions of series."""

import secrets
import uuid
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from json import dumps, loads
from typing import Any, Self

from django.conf import settings
from django.core.validators import MaxValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.models import Membership, Role, Subscription
from calendars.model_fields import InstantField, TimeBucketField, WallField, buckets
from recurrence.series import Series
from recurrence.wire import graph
from recurrence.wire.zone_names import zone_of

ONE_DAY = timedelta(days=1)
YEARS = range(1900, 4501)  # before 1900, zones had local mean time, with seconds; 4500 is the last year of Exchange
EARLIEST, LATEST = datetime(YEARS[0] - 1, 1, 1, tzinfo=UTC), datetime(YEARS[-1] + 1, 1, 1, tzinfo=UTC)


class Color(models.TextChoices):
    """The eight colours in which pages show calendars."""

    SKY = "sky"
    MOSS = "moss"
    CLAY = "clay"
    IRIS = "iris"
    STRAW = "straw"
    SEA = "sea"
    PLUM = "plum"
    BRICK = "brick"


class CalendarQuerySet(models.QuerySet["Calendar"]):
    def visible_to(self, user, role: Role = Role.READER) -> Self:
        """Filter for the user's own calendars, and those shared with the user in at least this role.

        A share counts only while the owner is in a common subscription.
        """
        return self.filter(pk__in=_visible_to(user, role))

    def default_of(self, user) -> "Calendar":
        """Return the default calendar of the user; create it if it does not exist."""
        return self.get_or_create(owner=user, is_default=True, defaults={"name": "Calendar"})[0]


class Calendar(models.Model):
    """A person's calendar.  The default calendar is created with the user, and gets events that name no calendar."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="calendars")
    name = models.CharField(max_length=255)
    hue = models.CharField(max_length=8, choices=Color, default=Color.SKY)
    is_default = models.BooleanField(default=False, editable=False)
    revision = models.PositiveBigIntegerField(default=1, editable=False)  # grows with every change, also of events
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)

    objects = CalendarQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner"], condition=Q(is_default=True), name="one_default_calendar"),
        ]

    def __str__(self) -> str:
        return self.name


class Share(models.Model):
    """The right of another person to see a calendar (reader), or also to change its events (operator)."""

    calendar = models.ForeignKey(Calendar, on_delete=models.CASCADE, related_name="shares")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="shared_calendars")
    role = models.PositiveSmallIntegerField(
        choices=[(Role.READER.value, "sees it"), (Role.OPERATOR.value, "changes its events")], default=Role.READER
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["calendar", "user"], name="share_once")]

    def __str__(self) -> str:
        return f"{self.calendar} for {self.user}"


def _visible_to(user, role: Role) -> models.QuerySet:
    """Return the keys of visible calendars.

    This is a union: for an OR, PostgreSQL estimates half of all calendars, and reads the events of everybody.
    """
    people = Membership.objects.filter(subscription__in=Subscription.objects.visible_to(user)).values("user")
    shared = Share.objects.filter(user=user, role__gte=role, calendar__owner__in=people)
    return Calendar.objects.filter(owner=user).values("pk").union(shared.values("calendar"))


class ShowAs(models.TextChoices):
    FREE = "free"
    TENTATIVE = "tentative"
    BUSY = "busy"
    OOF = "oof"  # out of office
    WORKING_ELSEWHERE = "workingElsewhere"
    UNKNOWN = "unknown"


class Sensitivity(models.TextChoices):
    NORMAL = "normal"
    PERSONAL = "personal"
    PRIVATE = "private"
    CONFIDENTIAL = "confidential"


PRIVATE = (Sensitivity.PRIVATE.value, Sensitivity.CONFIDENTIAL.value)  # people other than the owner see only the times


class Importance(models.TextChoices):
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


class BodyType(models.TextChoices):
    TEXT = "text"
    HTML = "html"


SUBJECT_LENGTH = 255
REMINDER_MINUTES = 15
REMINDER_MOST = 525_600  # minutes: a year


@dataclass(frozen=True, slots=True)
class Details:
    """The values of an event other than its times.  An exception may change each of them."""

    subject: str = ""
    body: str = ""
    body_type: str = BodyType.TEXT.value
    body_text: str = ""  # the plain text of an HTML body, see calendars.body_text; empty for a plain text body
    locations: list[dict[str, Any]] = field(default_factory=list)  # Graph's location objects, the main one first
    categories: list[str] = field(default_factory=list)
    attendees: list[dict[str, Any]] = field(default_factory=list)  # stored as they were sent; nobody is invited
    show_as: str = ShowAs.BUSY.value
    sensitivity: str = Sensitivity.NORMAL.value
    importance: str = Importance.NORMAL.value
    is_reminder_on: bool = False
    reminder_minutes: int = REMINDER_MINUTES  # before the start

    @property
    def location_name(self) -> str:
        return str(self.locations[0].get("displayName") or "") if self.locations else ""

    @property
    def is_private(self) -> bool:
        return self.sensitivity in PRIVATE

    def redacted(self) -> "Details":
        """Return what people other than the owner see of a private event: only `show_as` and `sensitivity`."""
        return Details(show_as=self.show_as, sensitivity=self.sensitivity)


DETAILS = tuple(each.name for each in fields(Details))
EDITABLE = tuple(name for name in DETAILS if name != "body_text")  # what a caller may set


class EventQuerySet(models.QuerySet):
    def visible_to(self, user, role: Role = Role.READER) -> Self:
        return self.filter(calendar__in=_visible_to(user, role))

    def overlapping(self, start: datetime, end: datetime) -> Self:
        """Filter for events that may have an occurrence in [start, end).

        The window is extended by a day on each side, because the midnights of all-day events depend on the reader.
        """
        start, end = max(start, EARLIEST) - ONE_DAY, min(end, LATEST) + ONE_DAY
        near = self.filter(Q(covers_until=None) | Q(covers_until__gte=start), covers_from__lt=end)
        among = buckets(start, end)
        return near if among is None else near.filter(time_bucket__in=among)


class Event(models.Model):
    """A single event, or a series.  `recurrence` is None, or the Graph document with pattern and range.

    `start` and `end` are wall times in `zone`; for a series, those of its first occurrence.  An all-day event lasts
    from midnight to a midnight, the last day not included, in the zone of each reader.
    `covers_from` and `covers_until` are bounds around all occurrences, moved ones included.  Without an end,
    `covers_until` is None.  For an all-day event, the bounds are midnights in UTC.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # the foreign key is the first column of an index below
    calendar = models.ForeignKey(Calendar, on_delete=models.CASCADE, db_index=False, related_name="events")
    uid = models.CharField(max_length=255, editable=False)  # iCalendar's
    transaction_id = models.CharField(max_length=255, null=True, editable=False)  # the idempotency key of the creation

    subject = models.CharField(max_length=SUBJECT_LENGTH, blank=True)
    body = models.TextField(blank=True)
    body_type = models.CharField(max_length=8, choices=BodyType, default=BodyType.TEXT)
    body_text = models.TextField(blank=True, default="", editable=False)
    locations = models.JSONField(default=list, blank=True)
    categories = models.JSONField(default=list, blank=True)
    attendees = models.JSONField(default=list, blank=True)
    show_as = models.CharField(max_length=16, choices=ShowAs, default=ShowAs.BUSY)
    sensitivity = models.CharField(max_length=16, choices=Sensitivity, default=Sensitivity.NORMAL)
    importance = models.CharField(max_length=8, choices=Importance, default=Importance.NORMAL)
    is_reminder_on = models.BooleanField(default=False)
    reminder_minutes = models.PositiveIntegerField(
        default=REMINDER_MINUTES, validators=[MaxValueValidator(REMINDER_MOST)]
    )

    is_all_day = models.BooleanField(default=False)
    start = WallField()
    end = WallField()
    zone = models.CharField(max_length=64)  # IANA name
    start_zone_name = models.CharField(max_length=100)  # both names as they were written
    end_zone_name = models.CharField(max_length=100)
    recurrence = models.JSONField(null=True)

    start_at = InstantField(of="start")  # for the order and the filters of lists
    end_at = InstantField(of="end")
    covers_from = models.DateTimeField(editable=False)
    covers_until = models.DateTimeField(null=True, editable=False)
    time_bucket = TimeBucketField()
    revision = models.PositiveIntegerField(default=1, editable=False)  # grows with every change, also of occurrences
    master_revision = models.PositiveIntegerField(default=1, editable=False)  # does not grow with exceptions
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    objects = EventQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["calendar", "transaction_id"],
                # without this condition, PostgreSQL uses the index to read a whole calendar
                condition=Q(transaction_id__isnull=False),
                name="event_once_per_transaction",
            ),
        ]
        indexes = [
            # serves EventQuerySet.overlapping
            models.Index(fields=["calendar", "time_bucket"], name="event_time_bucket"),
            # serves the import
            models.Index(fields=["uid", "calendar"], name="event_uid"),
        ]

    def __str__(self) -> str:
        """Return the id, not the subject.

        The admin lists the objects that are deleted with a user, and staff must not see the subjects there.
        """
        return self.pk.hex

    @property
    def is_series(self) -> bool:
        return self.recurrence is not None

    @property
    def revision_pair(self) -> tuple[int, int]:
        """Return `revision` in the form of `Occurrence.revision_pair`: for the event as a whole, the second is 0."""
        return self.revision, 0

    @property
    def tzinfo(self) -> tzinfo:
        return zone_of(self.zone, "timeZone")

    @property
    def series(self) -> Series:
        """Return the compiled recurrence.  Only for an event that is a series."""
        return compile_series(dumps(self.recurrence, sort_keys=True), self.start, self.end, self.zone)

    @property
    def details(self) -> Details:
        return Details(**{name: getattr(self, name) for name in DETAILS})


@lru_cache(maxsize=20_000)
def compile_series(recurrence: str, start: datetime, end: datetime, zone: str) -> Series:
    return graph.read(loads(recurrence), start, end, zone_of(zone, "timeZone")).series


class EventException(models.Model):
    """An occurrence that was moved, changed or cancelled, keyed by its original day in the series.

    `changes` contains the values that differ from the series: names of `Details`, `is_all_day`, and `start` and `end`
    as wall times in the zone of the series.  All other values come from the series.  The names in `body_text.BODY` are
    all present or all absent.  `start_at` and `end_at` are the present times; for a cancelled occurrence, the times
    before the cancellation; for an all-day occurrence, midnights in UTC.
    """

    event = models.ForeignKey(Event, on_delete=models.CASCADE, db_index=False, related_name="exceptions")
    original_day = models.DateField()
    is_cancelled = models.BooleanField(default=False)
    changes = models.JSONField(default=dict)
    start_at = models.DateTimeField()
    end_at = models.DateTimeField()
    revision = models.PositiveIntegerField(default=1, editable=False)
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            # serves the exceptions of occurrences in a window
            models.UniqueConstraint(fields=["event", "original_day"], name="one_exception_per_occurrence"),
        ]
        indexes = [
            # serves the exceptions that were moved into a window
            models.Index(fields=["event", "start_at"], name="exception_start"),
        ]

    def __str__(self) -> str:
        return f"{self.event_id} on {self.original_day}"


class Feed(models.Model):
    """A secret address at which calendar programs read one calendar, or the result of a filter of the page.

    Only a digest of the secret is stored.  Deleting the row revokes the address at once.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="feeds")
    name = models.CharField(max_length=255)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    calendar = models.ForeignKey(Calendar, null=True, on_delete=models.CASCADE, related_name="feeds")
    query = models.JSONField(default=dict)  # the filter of the page; {} for a feed of one calendar
    created_at = models.DateTimeField()
    last_read_at = models.DateTimeField(null=True, editable=False)

    def __str__(self) -> str:
        return self.name


class SyncState(models.Model):
    """The state of a delta query: the items of a window that a client has seen, to compute the next difference.

    `seen` contains the change key of each item by id.  `pending` lists the ids that the pages of this round return.
    """

    id = models.CharField(primary_key=True, max_length=43, default=secrets.token_urlsafe, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    calendar = models.ForeignKey(Calendar, on_delete=models.CASCADE, related_name="+")
    start_at = models.DateTimeField()
    end_at = models.DateTimeField()
    seen = models.JSONField(default=dict)
    pending = models.JSONField(default=list)
    created_at = models.DateTimeField(db_index=True)  # serves pruning
