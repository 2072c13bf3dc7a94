"""What a client sends: bodies of events and calendars, turned into what `calendars.editing` takes.

What an answer holds may be sent back as it is: members that clients cannot change, annotations, and whatever else
Graph knows of events are passed over, and what says what is there already is no change.  null gives a member back its
default.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from datetime import datetime, time
from typing import Any

from calendars import bodies
from calendars.editing import WallTime
from calendars.expansion import Occurrence
from calendars.graph.documents import ATTENDEE, COLOURS, LOCATION
from calendars.models import REMINDER_MOST, SUBJECT_LENGTH, BodyType, Details, Hue, Importance, Sensitivity, ShowAs
from jobs.members import Members, shown
from recurrence.wire import graph
from recurrence.wire.reading import instant
from recurrence.zones import instant_of

BODY_LENGTH = 1_000_000  # characters; the core has the limit that counts
TEXT_LENGTH = 1_000  # of a location's or an attendee's members
COMMENT_LENGTH = 100_000
NAME_LENGTH = 1_000
DEFAULTS = Details()
BLANK_COLOURS = {"auto": Hue.SKY, "lightBrown": Hue.CLAY}  # Graph's that none of ours is answered as
CORE_NAMES = {  # of members that Graph calls otherwise than the core
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
    """What is to be different from `current`; None: what a new event is to say.  Raises JobError and WireError."""
    members = Members(sent, "")
    changes = {name: read(members) for member, (name, read) in PLAIN.items() if member in members.value}
    if "body" in members.value:
        changes |= body_of(members, current)
    if locations := locations_of(members, current):
        changes["locations"] = locations[0]
    if current is not None:
        said = asdict(current.details)
        changes = {name: value for name, value in changes.items() if value != said[name]}
    return changes | times_of(members, current)


def refuse_other_transaction(sent: object, current: str | None) -> None:
    """The key of a creation is there for good."""
    members = Members(sent, "")
    if "transactionId" in members and members.value["transactionId"] != current:
        members.refuse("transactionId", "is set once, when the event is made")


# What an event says


def text(name: str, limit: int) -> Callable[[Members], str]:
    return lambda members: members.text(name, limit) or ""


def word(name: str, choices: list[str], default: str) -> Callable[[Members], str]:
    return lambda members: members.choice(name, choices) or default


def is_reminder_on(members: Members) -> bool:
    return members.boolean("isReminderOn") or False


def reminder_minutes(members: Members) -> int:
    minutes = members.integer("reminderMinutesBeforeStart", 0, REMINDER_MOST)
    return DEFAULTS.reminder_minutes if minutes is None else minutes


def categories(members: Members) -> list[str]:
    found = []
    for n, category in enumerate(items(members, "categories")):
        if not isinstance(category, str):
            members.refuse(f"categories[{n}]", f"must be a text, not {shown(category)}", "wrong_type")
        found.append(category)
    return list(dict.fromkeys(found))


def attendees(members: Members) -> list[dict[str, Any]]:
    return [attendee(each) for each in objects(members, "attendees")]


PLAIN: dict[str, tuple[str, Callable[[Members], Any]]] = {
    "subject": ("subject", text("subject", SUBJECT_LENGTH)),
    "showAs": ("show_as", word("showAs", ShowAs.values, DEFAULTS.show_as)),
    "sensitivity": ("sensitivity", word("sensitivity", Sensitivity.values, DEFAULTS.sensitivity)),
    "importance": ("importance", word("importance", Importance.values, DEFAULTS.importance)),
    "isReminderOn": ("is_reminder_on", is_reminder_on),
    "reminderMinutesBeforeStart": ("reminder_minutes", reminder_minutes),
    "categories": ("categories", categories),
    "attendees": ("attendees", attendees),
}


def body_of(members: Members, current: Occurrence | None) -> dict[str, str]:
    """The body, unless it is the one that answers show, in either form."""
    sent = members.members("body") or Members({}, "body")
    content = sent.text("content", BODY_LENGTH) or ""
    body_type = sent.choice("contentType", BodyType.values) or DEFAULTS.body_type
    if current is not None:
        said = current.details
        if content == bodies.shown_as(said.body_type, said.body, body_type):
            return {}
    return {"body": content, "body_type": body_type}


def locations_of(members: Members, current: Occurrence | None) -> tuple[list[dict[str, Any]]] | None:
    """The places, in a tuple of their own; None when nothing is said of them.

    Setting `location` replaces them all.  Where both members are sent, as answers have both, the one counts that says
    something else than before.
    """
    if "location" not in members.value and "locations" not in members.value:
        return None
    one = members.members("location")
    first = [found] if one and (found := location(one)) else []
    several = [found for each in objects(members, "locations") if (found := location(each))]
    before = current.details.locations[:1] if current else []
    if "location" not in members.value or ("locations" in members.value and first in (before, several[:1])):
        return (several,)
    return (first,)


def location(members: Members) -> dict[str, Any]:
    """What is known of a place, without what answers add; empty when that is nothing."""
    found: dict[str, Any] = {name: members.text(name, TEXT_LENGTH) for name in LOCATION_TEXTS}
    if address := members.members("address"):
        found["address"] = without_blanks({name: address.text(name, TEXT_LENGTH) for name in ADDRESS_TEXTS})
    if coordinates := members.members("coordinates"):
        found["coordinates"] = without_blanks({name: number(coordinates, name) for name in COORDINATES})
    return without_blanks(found, LOCATION)


def attendee(members: Members) -> dict[str, Any]:
    address = members.required_members("emailAddress")
    found: dict[str, Any] = {
        "emailAddress": without_blanks(
            {"name": address.text("name", TEXT_LENGTH), "address": address.required_text("address", TEXT_LENGTH)}
        ),
        "type": members.choice("type", ATTENDEE_TYPES),
    }
    if status := members.members("status"):
        found["status"] = {
            "response": status.choice("response", RESPONSES) or "none",
            "time": time_of_response(status),
        }
    return without_blanks(found, ATTENDEE)


def time_of_response(status: Members) -> str:
    text = status.text("time", TEXT_LENGTH)
    if text is None or text.startswith("0001-01-01T00:00:00"):
        return str(ATTENDEE["status"]["time"])  # type: ignore[index]
    return instant(text, f"{status.path}.time").isoformat().replace("+00:00", "Z")


def without_blanks(members: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> dict[str, Any]:
    defaults = defaults or {}
    return {name: value for name, value in members.items() if value is not None and value != defaults.get(name)}


def number(members: Members, name: str) -> float | int | None:
    value = members.scalar(name, TEXT_LENGTH)
    if isinstance(value, str | bool):
        members.refuse(name, f"must be a number, not {shown(value)}", "wrong_type")
    return value


def objects(members: Members, name: str) -> Iterator[Members]:
    path = f"{members.path}.{name}" if members.path else name
    return (Members(each, f"{path}[{n}]") for n, each in enumerate(items(members, name)))


def items(members: Members, name: str) -> list[Any]:
    value = members.value.get(name)
    if value is not None and not isinstance(value, list):
        members.refuse(name, f"must be a list, not {shown(value)}", "wrong_type")
    return value or []


# When it is


def times_of(members: Members, current: Occurrence | None) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    is_all_day = members.boolean("isAllDay")
    if is_all_day is None and "isAllDay" in members.value:
        is_all_day = False
    if is_all_day is not None and (current is None or is_all_day != current.is_all_day):
        changes["is_all_day"] = is_all_day
    members.members("recurrence")  # refuses what is no object; the engine reads what is one
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
    """Whether it is what answers show: of an occurrence none."""
    return bare(sent) == (current.event.recurrence if current and not current.day else None)


def bare(value: object) -> object:
    """The value without annotations, such as `@odata.type`."""
    if isinstance(value, dict):
        return {name: bare(member) for name, member in value.items() if not name.startswith("@")}
    return value


def is_at(current: Occurrence, side: int, wall: datetime, zone) -> bool:
    """Whether the start (side 0) or the end (1) is where it is sent to."""
    if current.days is not None:
        return wall == datetime.combine(current.days[side], time())
    try:
        return instant_of(wall, zone) == (current.start, current.end)[side]
    except OverflowError:
        return False


# Calendars


def calendar_changes(sent: object) -> dict[str, str]:
    """`name` and `hue`, as far as they are sent."""
    members = Members(sent, "")
    changes = {}
    if (name := members.text("name", NAME_LENGTH)) is not None:
        changes["name"] = name
    hues = {colour: hue for hue, (colour, _) in COLOURS.items()} | BLANK_COLOURS
    if colour := members.choice("color", list(hues)):
        changes["hue"] = hues[colour].value
    return changes


def comment(sent: object) -> None:
    """A cancellation may say why; it is read, and nobody is told."""
    members = Members({} if sent is None else sent, "")
    for name in ("comment", "Comment"):
        members.text(name, COMMENT_LENGTH)


def named_as_graph_does(path: str) -> str:
    """The path of a member, given the core's."""
    head = re.match("[A-Za-z]*", path)
    name = head[0] if head else ""
    return CORE_NAMES.get(name, name) + path[len(name) :]
