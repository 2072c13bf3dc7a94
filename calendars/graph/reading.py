"""Parse bodies of events and calendars from clients to changes for `calendars.editing`.

A client may send back a response unchanged.  Members that clients cannot change, annotations, and other members of
Graph are ignored, and a member with its present value is no change.  null sets a member to its default.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from datetime import datetime, time
from typing import Any

from api.json_object import JsonObject, shorten_repr
from calendars import body_text
from calendars.editing import WallTime
from calendars.expansion import Occurrence
from calendars.graph.documents import ATTENDEE, COLOURS, LOCATION
from calendars.models import REMINDER_MOST, SUBJECT_LENGTH, BodyType, Color, Details, Importance, Sensitivity, ShowAs
from recurrence.wire import graph
from recurrence.wire.json_values import instant
from recurrence.zones import instant_of

BODY_LENGTH = 1_000_000  # characters; the effective limit is that of the core
TEXT_LENGTH = 1_000  # of a location's or an attendee's members
COMMENT_LENGTH = 100_000
NAME_LENGTH = 1_000
DEFAULTS = Details()
BLANK_COLOURS = {"auto": Color.SKY, "lightBrown": Color.CLAY}  # colours of Graph that no response contains
CORE_NAMES = {  # names of the core whose members have other names in Graph
    "body": "body.content",
    "bodyType": "body.contentType",
    "reminderMinutes": "reminderMinutesBeforeStart",
    "hue": "color",
}
LOCATION_TEXTS = ("displayName", "locationEmailAddress", "locationType", "locationUri", "uniqueId", "uniqueIdType")
ADDRESS_TEXTS = ("street", "city", "state", "countryOrRegion", "postalCode")
COORDINATES = ("latitude", "longitude", "altitude", "accuracy", "altitudeAccuracy")
ATTENDEE_TYPES = ("required", "optional", "resource")
RESPONSES = ("none", "organizer", "tentativelyAccepted", "accepted", "declined", "notResponded")


def event_changes(sent: object, current: Occurrence | None) -> dict[str, Any]:
    """Return the changes from `current`, or all values of a new event for None.  Raises RequestError and WireError."""
    members = JsonObject(sent, "")
    changes = {name: read(members) for member, (name, read) in PLAIN.items() if member in members.value}
    if "body" in members.value:
        changes |= body_of(members, current)
    if locations := locations_of(members, current):
        changes["locations"] = locations[0]
    if current is not None:
        present = asdict(current.details)
        changes = {name: value for name, value in changes.items() if value != present[name]}
    return changes | times_of(members, current)


def refuse_other_transaction(sent: object, current: str | None) -> None:
    """Raise RequestError for a change of `transactionId`, which is set only when the event is created."""
    members = JsonObject(sent, "")
    if "transactionId" in members and members.value["transactionId"] != current:
        members.refuse("transactionId", "is set once, when the event is made")


# Details


def text(name: str, limit: int) -> Callable[[JsonObject], str]:
    return lambda members: members.text(name, limit) or ""


def word(name: str, choices: list[str], default: str) -> Callable[[JsonObject], str]:
    return lambda members: members.choice(name, choices) or default


def is_reminder_on(members: JsonObject) -> bool:
    return members.boolean("isReminderOn") or False


def reminder_minutes(members: JsonObject) -> int:
    minutes = members.integer("reminderMinutesBeforeStart", 0, REMINDER_MOST)
    return DEFAULTS.reminder_minutes if minutes is None else minutes


def categories(members: JsonObject) -> list[str]:
    found = []
    for n, category in enumerate(items(members, "categories")):
        if not isinstance(category, str):
            members.refuse(f"categories[{n}]", f"must be a text, not {shorten_repr(category)}", "wrong_type")
        found.append(category)
    return list(dict.fromkeys(found))


def attendees(members: JsonObject) -> list[dict[str, Any]]:
    return [attendee(each) for each in objects(members, "attendees")]


PLAIN: dict[str, tuple[str, Callable[[JsonObject], Any]]] = {
    "subject": ("subject", text("subject", SUBJECT_LENGTH)),
    "showAs": ("show_as", word("showAs", ShowAs.values, DEFAULTS.show_as)),
    "sensitivity": ("sensitivity", word("sensitivity", Sensitivity.values, DEFAULTS.sensitivity)),
    "importance": ("importance", word("importance", Importance.values, DEFAULTS.importance)),
    "isReminderOn": ("is_reminder_on", is_reminder_on),
    "reminderMinutesBeforeStart": ("reminder_minutes", reminder_minutes),
    "categories": ("categories", categories),
    "attendees": ("attendees", attendees),
}


def body_of(members: JsonObject, current: Occurrence | None) -> dict[str, str]:
    """Return the changes of the body; {} if it is the body of a response, as text or as HTML."""
    sent = members.members("body") or JsonObject({}, "body")
    content = sent.text("content", BODY_LENGTH) or ""
    body_type = sent.choice("contentType", BodyType.values) or DEFAULTS.body_type
    if current is not None and content == body_text.convert_body(body_type, current.details):
        return {}
    return {"body": content, "body_type": body_type}


def locations_of(members: JsonObject, current: Occurrence | None) -> tuple[list[dict[str, Any]]] | None:
    """Return the locations, as a tuple with one list; None if neither member is sent.

    `location` alone replaces all locations.  If both members are sent, as in a response, the member that differs from
    the present value counts.
    """
    if "location" not in members.value and "locations" not in members.value:
        return None
    single = members.members("location")
    first = [parsed] if single and (parsed := location(single)) else []
    listed = [parsed for each in objects(members, "locations") if (parsed := location(each))]
    before = current.details.locations[:1] if current else []
    if "location" not in members.value or ("locations" in members.value and first in (before, listed[:1])):
        return (listed,)
    return (first,)


def location(members: JsonObject) -> dict[str, Any]:
    """Return a location without the default values that responses add; {} for an empty location."""
    found: dict[str, Any] = {name: members.text(name, TEXT_LENGTH) for name in LOCATION_TEXTS}
    if address := members.members("address"):
        found["address"] = drop_empty({name: address.text(name, TEXT_LENGTH) for name in ADDRESS_TEXTS})
    if coordinates := members.members("coordinates"):
        found["coordinates"] = drop_empty({name: number(coordinates, name) for name in COORDINATES})
    return drop_empty(found, LOCATION)


def attendee(members: JsonObject) -> dict[str, Any]:
    address = members.required_members("emailAddress")
    found: dict[str, Any] = {
        "emailAddress": drop_empty(
            {"name": address.text("name", TEXT_LENGTH), "address": address.required_text("address", TEXT_LENGTH)}
        ),
        "type": members.choice("type", ATTENDEE_TYPES),
    }
    if status := members.members("status"):
        found["status"] = {
            "response": status.choice("response", RESPONSES) or "none",
            "time": time_of_response(status),
        }
    return drop_empty(found, ATTENDEE)


def time_of_response(status: JsonObject) -> str:
    text = status.text("time", TEXT_LENGTH)
    if text is None or text.startswith("0001-01-01T00:00:00"):
        return str(ATTENDEE["status"]["time"])  # type: ignore[index]
    return instant(text, f"{status.path}.time").isoformat().replace("+00:00", "Z")


def drop_empty(members: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> dict[str, Any]:
    defaults = defaults or {}
    return {name: value for name, value in members.items() if value is not None and value != defaults.get(name)}


def number(members: JsonObject, name: str) -> float | int | None:
    value = members.scalar(name, TEXT_LENGTH)
    if isinstance(value, str | bool):
        members.refuse(name, f"must be a number, not {shorten_repr(value)}", "wrong_type")
    return value


def objects(members: JsonObject, name: str) -> Iterator[JsonObject]:
    path = f"{members.path}.{name}" if members.path else name
    return (JsonObject(each, f"{path}[{n}]") for n, each in enumerate(items(members, name)))


def items(members: JsonObject, name: str) -> list[Any]:
    value = members.value.get(name)
    if value is not None and not isinstance(value, list):
        members.refuse(name, f"must be a list, not {shorten_repr(value)}", "wrong_type")
    return value or []


# Times


def times_of(members: JsonObject, current: Occurrence | None) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    is_all_day = members.boolean("isAllDay")
    if is_all_day is None and "isAllDay" in members.value:
        is_all_day = False
    if is_all_day is not None and (current is None or is_all_day != current.is_all_day):
        changes["is_all_day"] = is_all_day
    members.members("recurrence")  # refuses a value that is no object; the engine parses an object
    if "recurrence" in members.value and not is_recurrence_of(current, members.value["recurrence"]):
        changes["recurrence"] = members.value["recurrence"]
    for side, name in enumerate(("start", "end")):
        if name in members.value:
            members.require(name)
            wall, zone_name, zone = graph.read_date_time(members.value[name], name)
            if current is None or changes or not is_at(current, side, wall, zone):
                changes[name] = WallTime(wall, zone_name)
    return changes


def is_recurrence_of(current: Occurrence | None, sent: object) -> bool:
    """Return True if `sent` is the recurrence in responses, which is None for an occurrence."""
    return strip_annotations(sent) == (current.event.recurrence if current and not current.day else None)


def strip_annotations(value: object) -> object:
    """Return the value without annotations, such as `@odata.type`."""
    if isinstance(value, dict):
        return {name: strip_annotations(member) for name, member in value.items() if not name.startswith("@")}
    return value


def is_at(current: Occurrence, side: int, wall: datetime, zone) -> bool:
    """Return True if the start (side 0) or the end (side 1) already has the sent time."""
    if current.days is not None:
        return wall == datetime.combine(current.days[side], time())
    try:
        return instant_of(wall, zone) == (current.start, current.end)[side]
    except OverflowError:
        return False


# Calendars


def calendar_changes(sent: object) -> dict[str, str]:
    """Return the changes of `name` and `hue` that are sent."""
    members = JsonObject(sent, "")
    changes = {}
    if (name := members.text("name", NAME_LENGTH)) is not None:
        changes["name"] = name
    hues = {colour: hue for hue, (colour, _) in COLOURS.items()} | BLANK_COLOURS
    if colour := members.choice("color", list(hues)):
        changes["hue"] = hues[colour].value
    return changes


def comment(sent: object) -> None:
    """Check the comment of a cancellation.  It is not used: nobody is informed."""
    members = JsonObject({} if sent is None else sent, "")
    for name in ("comment", "Comment"):
        members.text(name, COMMENT_LENGTH)


def graph_paths(path: str) -> str:
    """Return the path of a member in Graph for a path of the core."""
    head = re.match("[A-Za-z]*", path)
    name = head[0] if head else ""
    return CORE_NAMES.get(name, name) + path[len(name) :]
