"""Render events, calendars and people as Graph documents.

Where Graph's pages are not definite: a document contains all properties of an event.  Properties without a meaning here
(online meetings, attachments, responses) have their values for a calendar without invitations.  `occurrenceId` is that
of the beta version, because it never changes for an occurrence.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any

from accounts.models import User
from calendars import body_text
from calendars.expansion import Occurrence
from calendars.graph.filters import Field
from calendars.graph.items import change_key, changed_at, etag, type_of
from calendars.graph.preferences import Preferences
from calendars.graph.queries import Resource
from calendars.ids import ItemId
from calendars.models import Calendar, Color, Event, ShowAs

NEVER = "0001-01-01T00:00:00Z"
FRACTION = ".0000000"
LOCATION = {"displayName": "", "locationType": "default", "uniqueIdType": "unknown", "address": {}, "coordinates": {}}
ATTENDEE = {"type": "required", "status": {"response": "none", "time": NEVER}}
COLOURS = {  # our colour: Graph's name, and our colour on white
    Color.SKY: ("lightBlue", "#068bc0"),
    Color.MOSS: ("lightGreen", "#5d913c"),
    Color.CLAY: ("lightOrange", "#bc662f"),
    Color.IRIS: ("lightGray", "#6f76cc"),
    Color.STRAW: ("lightYellow", "#9a7d03"),
    Color.SEA: ("lightTeal", "#059583"),
    Color.PLUM: ("lightPink", "#a962a7"),
    Color.BRICK: ("lightRed", "#c25d5c"),
}
TYPES = ("singleInstance", "occurrence", "exception", "seriesMaster")
CANCELLED, EXCEPTIONS = "cancelledOccurrences", "exceptionOccurrences"


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """The viewer, the preferences and the base address for rendering events."""

    viewer: User
    preferences: Preferences
    base_url: str  # of absolute links, without a slash at the end


def render_event(item: Occurrence, options: RenderOptions) -> dict[str, Any]:
    event, details = item.event, item.details
    is_occurrence = item.day is not None
    body_type = options.preferences.body_type
    locations = [LOCATION | location for location in details.locations]
    document = {
        "@odata.etag": etag(item),
        "id": str(item.id),
        "createdDateTime": format_instant(event.created_at),
        "lastModifiedDateTime": format_instant(changed_at(item)),
        "changeKey": change_key(item),
        "categories": details.categories,
        "originalStartTimeZone": event.start_zone_name,
        "originalEndTimeZone": event.end_zone_name,
        "iCalUId": f"{event.uid}_{item.day:%Y%m%d}" if item.day else event.uid,
        "reminderMinutesBeforeStart": details.reminder_minutes,
        "isReminderOn": details.is_reminder_on,
        "hasAttachments": False,
        "subject": details.subject,
        "bodyPreview": body_text.preview_of(details),
        "importance": details.importance,
        "sensitivity": details.sensitivity,
        "isAllDay": item.is_all_day,
        "isCancelled": False,
        "isDraft": False,
        "isOrganizer": event.calendar.owner_id == options.viewer.pk,
        "responseRequested": True,
        "allowNewTimeProposals": True,
        "hideAttendees": False,
        "seriesMasterId": event.pk.hex if is_occurrence else None,
        "occurrenceId": item.id.occurrence_id if is_occurrence else None,
        "showAs": details.show_as,
        "type": type_of(item),
        "webLink": f"{options.base_url}/calendar/items/{item.id}",
        "onlineMeetingUrl": None,
        "isOnlineMeeting": False,
        "onlineMeetingProvider": "unknown",
        "onlineMeeting": None,
        "recurrence": None if is_occurrence else event.recurrence,
        "responseStatus": {"response": "organizer", "time": NEVER},
        "body": {"contentType": body_type, "content": body_text.convert_body(body_type, details)},
        "start": date_time(item, 0, options.preferences),
        "end": date_time(item, 1, options.preferences),
        "location": locations[0] if locations else LOCATION,
        "locations": locations,
        "attendees": [ATTENDEE | attendee for attendee in details.attendees],
        "organizer": {"emailAddress": address_of(event.calendar.owner)},
    }
    if is_occurrence:
        document["originalStart"] = original_start(item)
    elif event.transaction_id and not (details.is_private and event.calendar.owner_id != options.viewer.pk):
        document["transactionId"] = event.transaction_id
    return document


def original_start(item: Occurrence) -> str | None:
    if item.event.is_all_day and item.day:
        return format_instant(datetime.combine(item.day, time(), UTC))
    return format_instant(item.original_start) if item.original_start else None


def date_time(item: Occurrence, side: int, preferences: Preferences) -> dict[str, str]:
    """Render the start (side 0) or the end (side 1).  The dates of an all-day event are the same in every zone."""
    if item.days is not None:
        wall = datetime.combine(item.days[side], time())
    else:
        wall = (item.start, item.end)[side].astimezone(preferences.zone)
    text = wall.replace(tzinfo=None).isoformat(timespec="seconds")
    return {"dateTime": text + FRACTION, "timeZone": preferences.zone_name}


def render_removed(id: str) -> dict[str, Any]:
    return {"id": id, "@removed": {"reason": "deleted"}}


def cancelled_occurrences(event: Event) -> list[str]:
    days = event.exceptions.filter(is_cancelled=True).order_by("original_day").values_list("original_day", flat=True)
    return [ItemId(event.pk, day).occurrence_id for day in days]


def render_calendar(calendar: Calendar, viewer: User, can_edit: bool) -> dict[str, Any]:
    is_own = calendar.owner_id == viewer.pk
    colour, hex_colour = COLOURS[Color(calendar.hue)]
    return {
        "id": calendar.pk.hex,
        "name": calendar.name,
        "color": colour,
        "hexColor": hex_colour,
        "isDefaultCalendar": calendar.is_default and is_own,
        "changeKey": str(calendar.revision),
        "canShare": is_own,
        "canViewPrivateItems": is_own,
        "canEdit": can_edit,
        "isRemovable": is_own and not calendar.is_default,
        "isTallyingResponses": False,
        "allowedOnlineMeetingProviders": [],
        "defaultOnlineMeetingProvider": "unknown",
        "owner": address_of(calendar.owner),
    }


def render_person(user: User) -> dict[str, Any]:
    return {
        "id": str(user.pk),
        "displayName": user.get_full_name() or user.get_username(),
        "givenName": user.first_name or None,
        "surname": user.last_name or None,
        "mail": user.email or None,
        "userPrincipalName": user.get_username(),
        "businessPhones": [],
        "jobTitle": None,
        "mobilePhone": None,
        "officeLocation": None,
        "preferredLanguage": user.language or None,
    }


def address_of(user: User) -> dict[str, str]:
    """Render a person.  Both forms of `address` are also accepted in an address below /users."""
    return {"name": user.get_full_name() or user.get_username(), "address": user.email or user.get_username()}


def format_instant(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


# Options for each resource


def index_by_lower_case(names: str) -> dict[str, str]:
    return {name.lower(): name for name in names.split()}


EVENT_FIELDS = {
    "start/datetime": Field("start_at", lambda item: item.start, datetime),
    "end/datetime": Field("end_at", lambda item: item.end, datetime),
    "createddatetime": Field("created_at", lambda item: item.event.created_at, datetime),
    "lastmodifieddatetime": Field("updated_at", changed_at, datetime),
    "subject": Field("shown_subject", lambda item: item.details.subject, str),
    "isallday": Field("is_all_day", lambda item: item.is_all_day, bool, is_orderable=False),
    "type": Field("type", type_of, TYPES, is_orderable=False),
    "showas": Field("show_as", lambda item: item.details.show_as, tuple(ShowAs.values), is_orderable=False),
}
EVENTS = Resource(
    index_by_lower_case(
        f"""
        id createdDateTime lastModifiedDateTime changeKey categories transactionId originalStartTimeZone
        originalEndTimeZone iCalUId reminderMinutesBeforeStart isReminderOn hasAttachments subject bodyPreview
        importance sensitivity isAllDay isCancelled isDraft isOrganizer responseRequested allowNewTimeProposals
        hideAttendees seriesMasterId occurrenceId showAs type webLink onlineMeetingUrl isOnlineMeeting
        onlineMeetingProvider onlineMeeting originalStart recurrence responseStatus body start end location locations
        attendees organizer {CANCELLED} {EXCEPTIONS}
        """
    ),
    EVENT_FIELDS,
)
CALENDARS = Resource(
    index_by_lower_case(
        """
        id name color hexColor isDefaultCalendar changeKey canShare canViewPrivateItems canEdit isRemovable
        isTallyingResponses allowedOnlineMeetingProviders defaultOnlineMeetingProvider owner
        """
    ),
    {"name": Field("name", lambda calendar: calendar.name, str)},
)
PEOPLE = Resource(
    index_by_lower_case(
        """
        id displayName givenName surname mail userPrincipalName businessPhones jobTitle mobilePhone officeLocation
        preferredLanguage
        """
    ),
    {},
)
