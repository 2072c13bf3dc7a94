"""Documents of events and occurrences in our own API: parse them to changes for `calendars.editing`, render them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework.serializers import BooleanField, CharField, ChoiceField, DateField, IntegerField, UUIDField

from accounts.examples import with_example
from api.answers import GIVEN, Answer, Member
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


def contact_text(attendee: Mapping[str, Any], name: str) -> str:
    """Return a text of an attendee in the stored document, which a client of Graph sent and which was not validated."""
    contact = attendee.get("emailAddress")
    return str(contact.get(name) or "") if isinstance(contact, Mapping) else ""


class AttendeeSerializer(Answer, WholeDocument):
    name = Member(
        TextField,
        "The name of the person.",
        lambda attendee: contact_text(attendee, "name"),
        max_length=LIST_LENGTH,
        allow_blank=True,
        default="",
        example="Bob",
    )
    address = Member(
        TextField,
        "The e-mail address.",
        lambda attendee: contact_text(attendee, "address"),
        max_length=LIST_LENGTH,
        allow_blank=True,
        default="",
        example="bob@example.com",
    )
    type = Member(
        WordField,
        "The type: a `required` or `optional` person, or a `resource` such as a room or a device.",
        lambda attendee: kind if (kind := attendee.get("type")) in ATTENDEE_TYPES else "required",
        choices=ATTENDEE_TYPES,
        default="required",
        example="required",
    )


class DetailsMembers(Answer, Document):
    """The members of an event other than its times."""

    subject = Member(
        TextField,
        "The subject.",
        max_length=SUBJECT_LENGTH,
        allow_blank=True,
        trim_whitespace=False,
        default="",
        example="Stand-up",
    )
    body = Member(
        TextField,
        "The body text.",
        max_length=BODY_LENGTH,
        allow_blank=True,
        trim_whitespace=False,
        default="",
        example="What is next",
    )
    bodyType = Member(
        WordField, "The format of `body`.", choices=BodyType.values, default=BodyType.TEXT.value, example="text"
    )
    location = Member(
        TextField,
        "The location, as free text.",
        "location_name",
        max_length=LIST_LENGTH,
        allow_blank=True,
        trim_whitespace=False,
        default="",
        example="Room 4",
    )
    categories = Member(
        ListField,
        "Custom categories.",
        child=TextField(max_length=CATEGORY_LENGTH, trim_whitespace=False),
        max_length=CATEGORIES,
        default=list,
        example=["team"],
    )
    attendees = Member(
        AttendeeSerializer,
        "The attendees. The server does not send invitations.",
        many=True,
        max_length=ATTENDEES,
        default=list,
    )
    showAs = Member(
        WordField,
        "The availability that is displayed for this time.",
        choices=ShowAs.values,
        default=ShowAs.BUSY.value,
        example="busy",
    )
    sensitivity = Member(
        WordField,
        "The sensitivity. Of `private` and `confidential` events, other users than the owner of the calendar"
        " see the times only.",
        choices=Sensitivity.values,
        default=Sensitivity.NORMAL.value,
        example="normal",
    )
    importance = Member(
        WordField, "The importance.", choices=Importance.values, default=Importance.NORMAL.value, example="normal"
    )
    reminderMinutes = Member(
        WholeNumberField,
        "The number of minutes between the reminder and the start; null: no reminder.",
        lambda details: details.reminder_minutes if details.is_reminder_on else None,
        nullable=True,
        min_value=0,
        max_value=REMINDER_MOST,
        default=None,
        example=15,
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
    """The new values of one occurrence. A member that is omitted keeps its value."""

    isAllDay = FlagField(
        default=False,
        help_text=(
            "Whether the event lasts whole days, from midnight to midnight in any time zone. The end is excluded."
        ),
    )
    startLocal = LocalField(help_text="The start as wall time in `timeZone`. A date without a time means midnight.")
    endLocal = LocalField(help_text="The end as wall time in `timeZone`. A date without a time means midnight.")
    timeZone = ZoneNameField(default="UTC", help_text="The time zone: an IANA or Windows name.")


class FollowingReplacement(OccurrenceReplacement):
    """The new values of the occurrence and all following ones. A member that is omitted keeps its value."""

    recurrence = RecurrenceField(
        allow_null=True, default=None, help_text=("The recurrence rule; null: it is a single event.")
    )


@with_example({"calendarId": "5b2f8a52-2c3c-4a47-a7de-8a2f7f3c9d10"})
class EventReplacement(FollowingReplacement):
    """The new values of an event. A member that is omitted gets its default."""

    calendarId = IdField(
        required=False,
        help_text=(
            "The id of the calendar. Default: the current calendar of the event; for a new event, the default"
            " calendar of the caller."
        ),
    )


@with_example({"key": "stand-up-2026"})
class EventRequest(EventReplacement):
    key = TextField(
        required=False,
        min_length=1,
        max_length=255,
        help_text=(
            "Makes the request idempotent: a repeated request with the same key returns the event that the first"
            " request created."
        ),
    )


class WhenMembers(Answer):
    isAllDay = Member(
        BooleanField, "Whether the event lasts whole days, from midnight to midnight in any time zone.", example=False
    )
    start = Member(InstantField, "The start, in UTC.", example="2026-01-05T08:00:00Z")
    end = Member(InstantField, "The end, in UTC.", example="2026-01-05T08:15:00Z")
    startLocal = Member(LocalField, "The start as wall time in `timeZone`.", GIVEN, example="2026-01-05T09:00:00")
    endLocal = Member(LocalField, "The end as wall time in `timeZone`.", GIVEN, example="2026-01-05T09:15:00")
    timeZone = Member(CharField, "The time zone of `startLocal` and `endLocal`.", GIVEN, example="Europe/Berlin")
    startDate = Member(
        DateField,
        "The first day of an all-day event.",
        lambda occurrence: occurrence.days and occurrence.days[0],
        nullable=True,
        example=None,
    )
    endDate = Member(
        DateField,
        "The day after the last day of an all-day event.",
        lambda occurrence: occurrence.days and occurrence.days[1],
        nullable=True,
        example=None,
    )


class SeriesExceptionSerializer(Answer):
    id = Member(
        CharField,
        "The id of the occurrence.",
        lambda exception: str(ItemId(exception.event_id, exception.original_day)),
        example="5b2f8a522c3c4a47a7de8a2f7f3c9d10_20260107",
    )
    isCancelled = Member(BooleanField, "Whether the occurrence was cancelled. False: it was changed.", example=True)


class EventIdentity(Answer):
    id = Member(
        CharField, "The id of the event.", lambda event: event.pk.hex, example="5b2f8a522c3c4a47a7de8a2f7f3c9d10"
    )
    calendarId = Member(UUIDField, "The id of the calendar.", example="5b2f8a52-2c3c-4a47-a7de-8a2f7f3c9d10")
    uid = Member(
        CharField, "The UID of the event in iCalendar files.", example="5b2f8a522c3c4a47a7de8a2f7f3c9d10@quando"
    )
    type = Member(
        ChoiceField,
        "The type: a single event or a series.",
        lambda event: "series" if event.is_series else "single",
        choices=["single", "series"],
        example="series",
    )


class EventSerializer(EventIdentity, WhenMembers, DetailsMembers):
    """A single event, or a series as a whole."""

    start = Member(
        InstantField,
        "The start, in UTC. For a series, this and the other times are those of the first occurrence. Read only.",
    )
    recurrence = Member(RecurrenceField, "The recurrence rule; null: it is a single event.", nullable=True)
    description = Member(
        CharField,
        "A description of the days of a series, for people.",
        lambda event: describe_days(event.series) if event.is_series else None,
        nullable=True,
        example="every 2 weeks on Monday and Wednesday, until 13 May 2026",
    )
    exceptions = Member(SeriesExceptionSerializer, "The occurrences that were changed or cancelled.", GIVEN, many=True)
    canEdit = Member(BooleanField, "Whether the caller can change the event.", GIVEN, example=True)
    revision = Member(IntegerField, "The number of changes to the event and its occurrences.", example=3)
    createdAt = Member(InstantField, "The time of creation, in UTC.", example="2026-01-01T09:30:00Z")
    updatedAt = Member(InstantField, "The time of the last change, in UTC.", example="2026-01-05T08:00:00Z")


class OccurrenceIdentity(Answer):
    id = Member(
        CharField,
        "The id of the occurrence. It does not change when the occurrence is moved. For a single event: the id"
        " of the event.",
        lambda occurrence: str(occurrence.id),
        example="5b2f8a522c3c4a47a7de8a2f7f3c9d10_20260105",
    )
    eventId = Member(
        CharField,
        "The id of the single event or the series.",
        lambda occurrence: occurrence.event.pk.hex,
        example="5b2f8a522c3c4a47a7de8a2f7f3c9d10",
    )
    calendarId = Member(
        UUIDField, "The id of the calendar.", "event.calendar_id", example="5b2f8a52-2c3c-4a47-a7de-8a2f7f3c9d10"
    )
    type = Member(
        ChoiceField,
        "The type: a single event or an occurrence of a series.",
        lambda occurrence: "single" if occurrence.day is None else "occurrence",
        choices=["single", "occurrence"],
        example="occurrence",
    )


@extend_schema_serializer(component_name="CalendarOccurrence")
class OccurrenceSerializer(OccurrenceIdentity, WhenMembers):
    """A single event, or one occurrence of a series."""

    subject = Member(CharField, "The subject.", "details.subject", example="Stand-up")
    location = Member(CharField, "The location, as free text.", "details.location_name", example="Room 4")
    categories = Member(ListField, "Custom categories.", "details.categories", child=CharField(), example=["team"])
    showAs = Member(
        ChoiceField,
        "The availability that is displayed for this time.",
        "details.show_as",
        choices=ShowAs.values,
        example="busy",
    )
    sensitivity = Member(
        ChoiceField,
        "The sensitivity, which limits what other users see.",
        "details.sensitivity",
        choices=Sensitivity.values,
        example="normal",
    )
    importance = Member(
        ChoiceField, "The importance.", "details.importance", choices=Importance.values, example="normal"
    )
    startLocal = Member(
        LocalField, "The start as wall time, in the requested time zone or the time zone of the event.", GIVEN
    )
    isException = Member(
        BooleanField,
        "Whether the occurrence differs from its series.",
        lambda occurrence: occurrence.exception is not None and not occurrence.is_cancelled,
        example=False,
    )
    isCancelled = Member(BooleanField, "Whether the occurrence was cancelled.", example=False)
    originalStart = Member(
        InstantField,
        "The original start of the occurrence in its series, in UTC; null: it is a single event.",
        nullable=True,
        example="2026-01-05T08:00:00Z",
    )


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
    rendered = {} if present is None else DetailsMembers.render(present.details)
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
    return EventSerializer.render(
        event,
        **render_times(whole, event.start, event.end, event.zone),
        **DetailsMembers.render(details),
        exceptions=[SeriesExceptionSerializer.render(each) for each in exceptions],
        canEdit=can_edit,
    )


def render_occurrence(occurrence: Occurrence, zone: tzinfo, zone_name: str) -> dict[str, Any]:
    start, end = occurrence.start.astimezone(zone), occurrence.end.astimezone(zone)
    return OccurrenceSerializer.render(occurrence, **render_times(occurrence, start, end, zone_name))


def render_times(occurrence: Occurrence, start: datetime, end: datetime, zone_name: str) -> dict[str, Any]:
    """Render the times of an occurrence.  `start` and `end` are what clocks in the zone show."""
    local = {"startLocal": format_wall(start), "endLocal": format_wall(end), "timeZone": zone_name}
    return WhenMembers.render(occurrence, **local)
