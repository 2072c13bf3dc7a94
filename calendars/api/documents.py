"""What an event and an occurrence are in our own API: members in, changes for `calendars.editing` out, and back."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from accounts.fields import FlagField, InstantField, TextField, WholeNumberField, WordField
from calendars.api.fields import LocalField, RecurrenceField, WholeSerializer, ZoneNameField, shown
from calendars.details import ATTENDEES, BODY_LENGTH, CATEGORIES, CATEGORY_LENGTH, LIST_LENGTH
from calendars.errors import CalendarError
from calendars.expansion import Occurrence, details_for, place, walls_of
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
from calendars.times import WallTime
from recurrence.describe import describe_days

ATTENDEE_TYPES = ("required", "optional", "resource")


class AttendeeSerializer(WholeSerializer):
    name = TextField(max_length=LIST_LENGTH, allow_blank=True, default="")
    address = TextField(max_length=LIST_LENGTH, allow_blank=True, default="")
    type = WordField(ATTENDEE_TYPES, default="required")


class DetailsMembers(serializers.Serializer):
    """What an event says, apart from when it is."""

    subject = TextField(max_length=SUBJECT_LENGTH, allow_blank=True, trim_whitespace=False, default="")
    body = TextField(max_length=BODY_LENGTH, allow_blank=True, trim_whitespace=False, default="")
    bodyType = WordField(BodyType.values, default=BodyType.TEXT.value)
    location = TextField(
        max_length=LIST_LENGTH, allow_blank=True, trim_whitespace=False, default="", help_text="Where, in words."
    )
    categories = serializers.ListField(
        child=TextField(max_length=CATEGORY_LENGTH, trim_whitespace=False), max_length=CATEGORIES, default=list
    )
    attendees = AttendeeSerializer(many=True, max_length=ATTENDEES, default=list, help_text="Nobody is invited.")
    showAs = WordField(ShowAs.values, default=ShowAs.BUSY.value)
    sensitivity = WordField(
        Sensitivity.values,
        default=Sensitivity.NORMAL.value,
        help_text="Of what is `private` or `confidential`, others than the calendar's owner see the times only.",
    )
    importance = WordField(Importance.values, default=Importance.NORMAL.value)
    reminderMinutes = WholeNumberField(
        min_value=0, max_value=REMINDER_MOST, allow_null=True, default=None, help_text="Before the start; null: none."
    )


class OccurrenceReplacement(DetailsMembers):
    """What one occurrence is to be; what is left out stays as it is."""

    isAllDay = FlagField(
        default=False, help_text="From midnight to a midnight, the last day not included, whatever the reader's zone."
    )
    startLocal = LocalField(help_text="What clocks in `timeZone` show at its start.  A date alone is its midnight.")
    endLocal = LocalField(help_text="The same of its end.")
    timeZone = ZoneNameField(default="UTC", help_text="A name of IANA's, or of Windows.")


class FollowingReplacement(OccurrenceReplacement):
    """What this occurrence and all that follow are to be; what is left out stays as it is."""

    recurrence = RecurrenceField(allow_null=True, default=None, help_text="Null: it is a single event.")


class EventReplacement(FollowingReplacement):
    """What an event is to be; what is left out gets its default."""

    calendarId = serializers.UUIDField(
        required=False, help_text="Its calendar: by default the one that it is in, of a new one the caller's default."
    )


class EventRequest(EventReplacement):
    key = TextField(
        required=False,
        min_length=1,
        max_length=255,
        help_text="Makes the creation repeatable: the same key answers the event that it made the first time.",
    )


class WhenMembers(serializers.Serializer):
    isAllDay = serializers.BooleanField()
    start = InstantField()
    end = InstantField()
    startLocal = LocalField()
    endLocal = LocalField()
    timeZone = serializers.CharField()
    startDate = serializers.DateField(allow_null=True, help_text="Of an all-day one: its first day.")
    endDate = serializers.DateField(allow_null=True, help_text="Of an all-day one: the day behind its last.")


class ExceptionSerializer(serializers.Serializer):
    id = serializers.CharField(help_text="Of the occurrence.")
    isCancelled = serializers.BooleanField()


class EventSerializer(WhenMembers, DetailsMembers):
    """An event: a single one, or a series as a whole."""

    id = serializers.CharField()
    calendarId = serializers.UUIDField()
    uid = serializers.CharField(help_text="What iCalendar files call it.")
    type = serializers.ChoiceField(["single", "series"])
    start = InstantField(help_text="Of a series, as all of these: that of its first occurrence.  Read only.")
    recurrence = RecurrenceField(allow_null=True)
    description = serializers.CharField(allow_null=True, help_text="The days of a series in words.")
    exceptions = ExceptionSerializer(many=True, help_text="Occurrences that were changed or cancelled.")
    canEdit = serializers.BooleanField()
    revision = serializers.IntegerField(help_text="Counts the changes of it and its occurrences.")
    createdAt = InstantField()
    updatedAt = InstantField()


@extend_schema_serializer(component_name="CalendarOccurrence")
class OccurrenceSerializer(WhenMembers):
    """A single event, or one occurrence of a series."""

    id = serializers.CharField(help_text="It stays the same when the occurrence is moved.  Of a single event: its id.")
    eventId = serializers.CharField(help_text="The single event, or the series.")
    calendarId = serializers.UUIDField()
    subject = serializers.CharField()
    location = serializers.CharField()
    categories = serializers.ListField(child=serializers.CharField())
    showAs = serializers.ChoiceField(ShowAs.values)
    sensitivity = serializers.ChoiceField(Sensitivity.values)
    importance = serializers.ChoiceField(Importance.values)
    type = serializers.ChoiceField(["single", "occurrence"])
    startLocal = LocalField(help_text="What clocks in `timeZone`, the zone that was asked for, show.")
    isException = serializers.BooleanField(help_text="Whether it differs from its series.")
    isCancelled = serializers.BooleanField()
    originalStart = InstantField(allow_null=True, help_text="When its series has it; null of a single event.")


@extend_schema_serializer(component_name="CalendarOccurrenceDetail")
class OccurrenceDetailSerializer(OccurrenceSerializer, DetailsMembers):
    pass


# where the core, which speaks of its own fields and in Graph's words, means a member of ours
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
    try:
        yield
    except CalendarError as error:
        error.path = MEMBERS.get(error.path or "", error.path)
        raise


# In


@dataclass(frozen=True, slots=True)
class Present:
    """What an event, or one occurrence, says so far; `start` and `end` as clocks in the event's zone show them."""

    details: Details
    start: datetime
    end: datetime
    is_all_day: bool
    time_zone: str

    @classmethod
    def of(cls, event: Event) -> "Present":
        return cls(event.details, event.start, event.end, event.is_all_day, event.zone)

    @classmethod
    def of_occurrence(cls, found: Occurrence) -> "Present":
        event, changes = found.event, found.exception.changes if found.exception else {}
        if found.day is None:
            return cls.of(event)
        return cls(found.details, *walls_of(event, found.day, changes), event.zone)


def changes_of(wanted: Mapping[str, Any], present: Present | None) -> dict[str, Any]:
    """What `wanted` makes different from `present`; without one, all that a new event says.

    What is sent back as it was answered changes nothing, even where our document says less than what is stored.
    """
    said = {} if present is None else rendered_details(present.details)
    changes: dict[str, Any] = {}
    for member, change in CHANGES.items():
        if member in wanted and (present is None or wanted[member] != said[member]):
            changes |= change(wanted[member])
    return changes | changes_of_time(wanted, present)


def changes_of_time(wanted: Mapping[str, Any], present: Present | None) -> dict[str, Any]:
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


# Out


def rendered_event(event: Event, viewer, exceptions: Iterable[EventException], can_edit: bool) -> dict[str, Any]:
    """`exceptions` are the event's own, by day."""
    details = details_for(viewer, event, event.details)
    whole = place(event, None, event.start, event.end, event.is_all_day, event.tzinfo, details)
    return {
        "id": event.pk.hex,
        "calendarId": event.calendar_id,
        "uid": event.uid,
        "type": "series" if event.is_series else "single",
        **rendered_details(details),
        **rendered_times(whole, event.tzinfo),
        "startLocal": shown(event.start),
        "endLocal": shown(event.end),
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


def rendered_occurrence(found: Occurrence, zone: tzinfo, zone_name: str) -> dict[str, Any]:
    details = found.details
    return {
        "id": str(found.id),
        "eventId": found.event.pk.hex,
        "calendarId": found.event.calendar_id,
        "type": "single" if found.day is None else "occurrence",
        "subject": details.subject,
        "location": details.place,
        "categories": details.categories,
        "showAs": details.show_as,
        "sensitivity": details.sensitivity,
        "importance": details.importance,
        **rendered_times(found, zone),
        "timeZone": zone_name,
        "isException": found.exception is not None and not found.is_cancelled,
        "isCancelled": found.is_cancelled,
        "originalStart": found.original_start,
    }


def rendered_times(found: Occurrence, zone: tzinfo) -> dict[str, Any]:
    first, behind = found.days or (None, None)
    return {
        "isAllDay": found.is_all_day,
        "start": found.start,
        "end": found.end,
        "startLocal": shown(found.start.astimezone(zone)),
        "endLocal": shown(found.end.astimezone(zone)),
        "startDate": first,
        "endDate": behind,
    }


def rendered_details(details: Details) -> dict[str, Any]:
    return {
        "subject": details.subject,
        "body": details.body,
        "bodyType": details.body_type,
        "location": details.place,
        "categories": details.categories,
        "attendees": [rendered_attendee(each) for each in details.attendees],
        "showAs": details.show_as,
        "sensitivity": details.sensitivity,
        "importance": details.importance,
        "reminderMinutes": details.reminder_minutes if details.is_reminder_on else None,
    }


def rendered_attendee(attendee: Mapping[str, Any]) -> dict[str, str]:
    """From what some client of Graph has sent, which nobody has looked at."""
    contact = attendee.get("emailAddress")
    contact = contact if isinstance(contact, Mapping) else {}
    kind = attendee.get("type")
    return {
        "name": str(contact.get("name") or ""),
        "address": str(contact.get("address") or ""),
        "type": kind if kind in ATTENDEE_TYPES else "required",
    }
