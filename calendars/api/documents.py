"""Documents of events and occurrences in our own API: parse them to changes for `calendars.editing`, render them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from accounts.examples import with_example
from api.fields import Document, FlagField, IdField, InstantField, ListField, TextField, WholeNumberField, WordField
from calendars.api.fields import LocalField, RecurrenceField, WholeDocument, ZoneNameField, format_wall
from calendars.errors import CalendarError
from calendars.event_times import WallTime
from calendars.expansion import Occurrence, details_for, localize, wall_times
from calendars.ids import ItemId
from calendars.models import (
    REMINDER_MOST,
    SUBJECT_LENGTH,
    BodyType,
    Details,
    Event,
    EventException,
    Importance,
    Sensitivity,
    ShowAs,
)
from calendars.validation import ATTENDEES, BODY_LENGTH, CATEGORIES, CATEGORY_LENGTH, LIST_LENGTH
from recurrence.describe_series import describe_days

ATTENDEE_TYPES = ("required", "optional", "resource")


@with_example({"name": "Bob", "address": "bob@example.com", "type": "required"})
class AttendeeSerializer(WholeDocument):
    name = TextField(max_length=LIST_LENGTH, allow_blank=True, default="", help_text="The name.")
    address = TextField(max_length=LIST_LENGTH, allow_blank=True, default="", help_text="The e-mail address.")
    type = WordField(
        ATTENDEE_TYPES,
        default="required",
        help_text="Whether the person has to come; `resource` is a room or a device.",
    )


@with_example(
    {
        "subject": "Stand-up",
        "body": "What is next",
        "bodyType": "text",
        "location": "Room 4",
        "categories": ["team"],
        "showAs": "busy",
        "sensitivity": "normal",
        "importance": "normal",
        "reminderMinutes": 15,
    }
)
class DetailsMembers(Document):
    """The members of an event other than its times."""

    subject = TextField(
        max_length=SUBJECT_LENGTH, allow_blank=True, trim_whitespace=False, default="", help_text="What it is called."
    )
    body = TextField(
        max_length=BODY_LENGTH, allow_blank=True, trim_whitespace=False, default="", help_text="What is said of it."
    )
    bodyType = WordField(BodyType.values, default=BodyType.TEXT.value, help_text="How `body` is read.")
    location = TextField(
        max_length=LIST_LENGTH, allow_blank=True, trim_whitespace=False, default="", help_text="Where, in words."
    )
    categories = ListField(
        child=TextField(max_length=CATEGORY_LENGTH, trim_whitespace=False),
        max_length=CATEGORIES,
        default=list,
        help_text="Words of the caller's to sort by.",
    )
    attendees = AttendeeSerializer(many=True, max_length=ATTENDEES, default=list, help_text="Nobody is invited.")
    showAs = WordField(
        ShowAs.values, default=ShowAs.BUSY.value, help_text="How its time counts where others look for a free one."
    )
    sensitivity = WordField(
        Sensitivity.values,
        default=Sensitivity.NORMAL.value,
        help_text="Of what is `private` or `confidential`, others than the calendar's owner see the times only.",
    )
    importance = WordField(Importance.values, default=Importance.NORMAL.value, help_text="How important it is.")
    reminderMinutes = WholeNumberField(
        min_value=0, max_value=REMINDER_MOST, allow_null=True, default=None, help_text="Before the start; null: none."
    )


@with_example(
    {
        "isAllDay": False,
        "startLocal": "2026-01-05T09:00:00",
        "endLocal": "2026-01-05T09:15:00",
        "timeZone": "Europe/Berlin",
    }
)
class OccurrenceReplacement(DetailsMembers):
    """The values of one occurrence.  A member that is left out stays as it is."""

    isAllDay = FlagField(
        default=False, help_text="From midnight to a midnight, the last day not included, whatever the reader's zone."
    )
    startLocal = LocalField(help_text="What clocks in `timeZone` show at its start.  A date alone is its midnight.")
    endLocal = LocalField(help_text="The same of its end.")
    timeZone = ZoneNameField(default="UTC", help_text="A name of IANA's, or of Windows.")


class FollowingReplacement(OccurrenceReplacement):
    """The values of this occurrence and all that follow.  A member that is left out stays as it is."""

    recurrence = RecurrenceField(allow_null=True, default=None, help_text="Null: it is a single event.")


@with_example({"calendarId": "5b2f8a52-2c3c-4a47-a7de-8a2f7f3c9d10"})
class EventReplacement(FollowingReplacement):
    """The values of an event.  A member that is left out gets its default."""

    calendarId = IdField(
        required=False, help_text="Its calendar: by default the one that it is in, of a new one the caller's default."
    )


@with_example({"key": "stand-up-2026"})
class EventRequest(EventReplacement):
    key = TextField(
        required=False,
        min_length=1,
        max_length=255,
        help_text="Makes the creation repeatable: the same key answers the event that it made the first time.",
    )


@with_example(
    {
        "isAllDay": False,
        "start": "2026-01-05T08:00:00Z",
        "end": "2026-01-05T08:15:00Z",
        "startLocal": "2026-01-05T09:00:00",
        "endLocal": "2026-01-05T09:15:00",
        "timeZone": "Europe/Berlin",
        "startDate": None,
        "endDate": None,
    }
)
class WhenMembers(serializers.Serializer):
    isAllDay = serializers.BooleanField(help_text="From midnight to a midnight, whatever the reader's zone.")
    start = InstantField(help_text="When it starts.")
    end = InstantField(help_text="When it ends.")
    startLocal = LocalField(help_text="What clocks in `timeZone` show at its start.")
    endLocal = LocalField(help_text="What clocks in `timeZone` show at its end.")
    timeZone = serializers.CharField(help_text="The zone of `startLocal` and `endLocal`.")
    startDate = serializers.DateField(allow_null=True, help_text="Of an all-day one: its first day.")
    endDate = serializers.DateField(allow_null=True, help_text="Of an all-day one: the day behind its last.")


@with_example({"id": "5b2f8a522c3c4a47a7de8a2f7f3c9d10_20260107", "isCancelled": True})
class SeriesExceptionSerializer(serializers.Serializer):
    id = serializers.CharField(help_text="Of the occurrence.")
    isCancelled = serializers.BooleanField(help_text="Whether it was cancelled; otherwise it was changed.")


@with_example(
    {
        "id": "5b2f8a522c3c4a47a7de8a2f7f3c9d10",
        "calendarId": "5b2f8a52-2c3c-4a47-a7de-8a2f7f3c9d10",
        "uid": "5b2f8a522c3c4a47a7de8a2f7f3c9d10@quando",
        "type": "series",
        "description": "every 2 weeks on Monday and Wednesday, until 13 May 2026",
        "canEdit": True,
        "revision": 3,
        "createdAt": "2026-01-01T09:30:00Z",
        "updatedAt": "2026-01-05T08:00:00Z",
    }
)
class EventSerializer(WhenMembers, DetailsMembers):
    """An event: a single event, or a series as a whole."""

    id = serializers.CharField(help_text="The id in its address.")
    calendarId = serializers.UUIDField(help_text="The id of its calendar.")
    uid = serializers.CharField(help_text="What iCalendar files call it.")
    type = serializers.ChoiceField(["single", "series"], help_text="Whether it repeats.")
    start = InstantField(help_text="Of a series, as all of these: that of its first occurrence.  Read only.")
    recurrence = RecurrenceField(allow_null=True, help_text="How it repeats; null: it is a single event.")
    description = serializers.CharField(allow_null=True, help_text="The days of a series in words.")
    exceptions = SeriesExceptionSerializer(many=True, help_text="Occurrences that were changed or cancelled.")
    canEdit = serializers.BooleanField(help_text="Whether the caller may change it.")
    revision = serializers.IntegerField(help_text="Counts the changes of it and its occurrences.")
    createdAt = InstantField(help_text="When it was made.")
    updatedAt = InstantField(help_text="When it was last changed.")


@with_example(
    {
        "id": "5b2f8a522c3c4a47a7de8a2f7f3c9d10_20260105",
        "eventId": "5b2f8a522c3c4a47a7de8a2f7f3c9d10",
        "calendarId": "5b2f8a52-2c3c-4a47-a7de-8a2f7f3c9d10",
        "subject": "Stand-up",
        "location": "Room 4",
        "categories": ["team"],
        "showAs": "busy",
        "sensitivity": "normal",
        "importance": "normal",
        "type": "occurrence",
        "isException": False,
        "isCancelled": False,
        "originalStart": "2026-01-05T08:00:00Z",
    }
)
@extend_schema_serializer(component_name="CalendarOccurrence")
class OccurrenceSerializer(WhenMembers):
    """A single event, or one occurrence of a series."""

    id = serializers.CharField(help_text="It stays the same when the occurrence is moved.  Of a single event: its id.")
    eventId = serializers.CharField(help_text="The single event, or the series.")
    calendarId = serializers.UUIDField(help_text="The id of its calendar.")
    subject = serializers.CharField(help_text="What it is called.")
    location = serializers.CharField(help_text="Where, in words.")
    categories = serializers.ListField(child=serializers.CharField(), help_text="Words of the caller's to sort by.")
    showAs = serializers.ChoiceField(ShowAs.values, help_text="How its time counts where others look for a free one.")
    sensitivity = serializers.ChoiceField(Sensitivity.values, help_text="Who sees more than its times.")
    importance = serializers.ChoiceField(Importance.values, help_text="How important it is.")
    type = serializers.ChoiceField(["single", "occurrence"], help_text="Whether it belongs to a series.")
    startLocal = LocalField(help_text="What clocks in `timeZone` show: the zone that was asked for, or the event's.")
    isException = serializers.BooleanField(help_text="Whether it differs from its series.")
    isCancelled = serializers.BooleanField(help_text="Whether it was cancelled.")
    originalStart = InstantField(allow_null=True, help_text="When its series has it; null of a single event.")


@extend_schema_serializer(component_name="CalendarOccurrenceDetail")
class OccurrenceDetailSerializer(OccurrenceSerializer, DetailsMembers):
    pass


# members of our documents by the paths in errors of the core, which uses its own names and Graph's names
MEMBERS = {
    "start": "startLocal",
    "end": "endLocal",
    "start.timeZone": "timeZone",
    "end.timeZone": "timeZone",
    "locations": "location",
    "isReminderOn": "reminderMinutes",
    "reminderMinutes": "reminderMinutes",
    "transactionId": "key",
}


@contextmanager
def member_paths() -> Iterator[None]:
    """Replace the path of a CalendarError, raised inside the block, by the name of our member."""
    try:
        yield
    except CalendarError as error:
        error.path = MEMBERS.get(error.path or "", error.path and error.path.replace(".emailAddress.", "."))
        raise


# Parse


@dataclass(frozen=True, slots=True)
class RenderContext:
    """The present values of an event or an occurrence; `start` and `end` are wall times in the event's zone."""

    details: Details
    start: datetime
    end: datetime
    is_all_day: bool
    time_zone: str

    @classmethod
    def from_event(cls, event: Event) -> "RenderContext":
        return cls(event.details, event.start, event.end, event.is_all_day, event.zone)

    @classmethod
    def from_occurrence(cls, occurrence: Occurrence) -> "RenderContext":
        event, changes = occurrence.event, occurrence.exception.changes if occurrence.exception else {}
        if occurrence.day is None:
            return cls.from_event(event)
        return cls(occurrence.details, *wall_times(event, occurrence.day, changes), event.zone)


def changes_of(wanted: Mapping[str, Any], present: RenderContext | None) -> dict[str, Any]:
    """Return the changes from `present` to `wanted`.  Without `present`, return all values of a new event.

    A member that a client sends back unchanged is no change, even if our document contains less than what is stored.
    """
    rendered = {} if present is None else render_details(present.details)
    changes: dict[str, Any] = {}
    for member, change in CHANGES.items():
        if member in wanted and (present is None or wanted[member] != rendered[member]):
            changes |= change(wanted[member])
    return changes | changes_of_time(wanted, present)


def changes_of_time(wanted: Mapping[str, Any], present: RenderContext | None) -> dict[str, Any]:
    zone_name = wanted.get("timeZone") or (present.time_zone if present else "UTC")
    changes: dict[str, Any] = {}
    if "isAllDay" in wanted and (present is None or wanted["isAllDay"] != present.is_all_day):
        changes["is_all_day"] = wanted["isAllDay"]
    for member, name in (("startLocal", "start"), ("endLocal", "end")):
        before = present and (getattr(present, name), present.time_zone)
        after = (wanted.get(member, present and getattr(present, name)), zone_name)
        if after != before:
            changes[name] = WallTime(*after)
    return changes


CHANGES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "subject": lambda value: {"subject": value},
    "body": lambda value: {"body": value},
    "bodyType": lambda value: {"body_type": value},
    "location": lambda value: {"locations": [{"displayName": value}] if value else []},
    "categories": lambda value: {"categories": value},
    "attendees": lambda value: {"attendees": [as_graph(each) for each in value]},
    "showAs": lambda value: {"show_as": value},
    "sensitivity": lambda value: {"sensitivity": value},
    "importance": lambda value: {"importance": value},
    "reminderMinutes": lambda value: (
        {"is_reminder_on": False} if value is None else {"is_reminder_on": True, "reminder_minutes": value}
    ),
}


def as_graph(attendee: Mapping[str, str]) -> dict[str, Any]:
    return {
        "type": attendee["type"],
        "emailAddress": {"name": attendee["name"], "address": attendee["address"]},
    }


# Render


def render_event(event: Event, viewer, exceptions: Iterable[EventException], can_edit: bool) -> dict[str, Any]:
    """Render an event as `viewer` sees it.  `exceptions` are those of the event, by day."""
    details = details_for(viewer, event, event.details)
    whole = localize(event, None, event.start, event.end, event.is_all_day, event.tzinfo, details)
    return {
        "id": event.pk.hex,
        "calendarId": event.calendar_id,
        "uid": event.uid,
        "type": "series" if event.is_series else "single",
        **render_details(details),
        **render_times(whole, event.tzinfo),
        "startLocal": format_wall(event.start),
        "endLocal": format_wall(event.end),
        "timeZone": event.zone,
        "recurrence": event.recurrence,
        "description": describe_days(event.series) if event.is_series else None,
        "exceptions": [
            {"id": str(ItemId(event.pk, each.original_day)), "isCancelled": each.is_cancelled} for each in exceptions
        ],
        "canEdit": can_edit,
        "revision": event.revision,
        "createdAt": event.created_at,
        "updatedAt": event.updated_at,
    }


def render_occurrence(occurrence: Occurrence, zone: tzinfo, zone_name: str) -> dict[str, Any]:
    details = occurrence.details
    return {
        "id": str(occurrence.id),
        "eventId": occurrence.event.pk.hex,
        "calendarId": occurrence.event.calendar_id,
        "type": "single" if occurrence.day is None else "occurrence",
        "subject": details.subject,
        "location": details.location_name,
        "categories": details.categories,
        "showAs": details.show_as,
        "sensitivity": details.sensitivity,
        "importance": details.importance,
        **render_times(occurrence, zone),
        "timeZone": zone_name,
        "isException": occurrence.exception is not None and not occurrence.is_cancelled,
        "isCancelled": occurrence.is_cancelled,
        "originalStart": occurrence.original_start,
    }


def render_times(occurrence: Occurrence, zone: tzinfo) -> dict[str, Any]:
    first_day, day_after = occurrence.days or (None, None)
    return {
        "isAllDay": occurrence.is_all_day,
        "start": occurrence.start,
        "end": occurrence.end,
        "startLocal": format_wall(occurrence.start.astimezone(zone)),
        "endLocal": format_wall(occurrence.end.astimezone(zone)),
        "startDate": first_day,
        "endDate": day_after,
    }


def render_details(details: Details) -> dict[str, Any]:
    return {
        "subject": details.subject,
        "body": details.body,
        "bodyType": details.body_type,
        "location": details.location_name,
        "categories": details.categories,
        "attendees": [render_attendee(each) for each in details.attendees],
        "showAs": details.show_as,
        "sensitivity": details.sensitivity,
        "importance": details.importance,
        "reminderMinutes": details.reminder_minutes if details.is_reminder_on else None,
    }


def render_attendee(attendee: Mapping[str, Any]) -> dict[str, str]:
    """Render an attendee from the stored document, which a client of Graph sent and which was not validated."""
    contact = attendee.get("emailAddress")
    contact = contact if isinstance(contact, Mapping) else {}
    kind = attendee.get("type")
    return {
        "name": str(contact.get("name") or ""),
        "address": str(contact.get("address") or ""),
        "type": kind if kind in ATTENDEE_TYPES else "required",
    }
