"""Convert a VEVENT of an iCalendar file to values of an event.

What an event cannot express is reported in notes, which are whole sentences.  No database.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any, NoReturn

from django.utils.translation import gettext, ngettext
from icalendar import vDDDTypes, vDuration
from icalendar.parser.property import split_on_unescaped_comma

from calendars.event_times import LONGEST, YEARS, WallTime, convert_wall
from calendars.ics import timezones
from calendars.ics.parser import UNSTORABLE, Component, Property
from calendars.models import (
    EDITABLE,
    REMINDER_MINUTES,
    REMINDER_MOST,
    SUBJECT_LENGTH,
    BodyType,
    Details,
    Importance,
    Sensitivity,
    ShowAs,
)
from calendars.validation import ATTENDEES, BODY_LENGTH, CATEGORIES, CATEGORY_LENGTH, CONTROL
from recurrence.wire import WireError
from recurrence.wire.zone_names import iana_name, zone_of
from recurrence.zones import instant_of

UID_LENGTH = 200  # characters, which leaves space for the suffix in the UID of further events
LOCATION_LENGTH = 1_000
ATTENDEE_LENGTH = 320
DESCRIBED_ZONES = 50  # VTIMEZONE components that are read in one file
PARTS_OF_A_NAME = 3  # as in America/Argentina/Ushuaia
EXTRA_DATES = 1_000  # of one event
ECHO = 80  # characters of the file that a note repeats
MIDNIGHT = time()
ONE_DAY = timedelta(days=1)
ONE_MINUTE = timedelta(minutes=1)
NOTHING = timedelta(0)
LEFT_OUT = ("ATTACH", "COMMENT", "CONFERENCE", "CONTACT", "GEO", "IMAGE", "RELATED-TO", "RESOURCES", "URL")
CLASSES = {
    "PUBLIC": Sensitivity.NORMAL,
    "PRIVATE": Sensitivity.PRIVATE,
    "CONFIDENTIAL": Sensitivity.CONFIDENTIAL,
    "X-PERSONAL": Sensitivity.PERSONAL,
}
BUSY_STATES = {
    "FREE": ShowAs.FREE,
    "TENTATIVE": ShowAs.TENTATIVE,
    "BUSY": ShowAs.BUSY,
    "OOF": ShowAs.OOF,
    "WORKINGELSEWHERE": ShowAs.WORKING_ELSEWHERE,
}
ATTENDEE_TYPES = {"OPT-PARTICIPANT": "optional", "NON-PARTICIPANT": "optional"}
THINGS = ("RESOURCE", "ROOM")


class ImportRefused(Exception):
    """A component cannot be imported.  The message is a whole sentence with the reason."""


@dataclass(frozen=True, slots=True)
class IcsTime:
    """A wall time with the name of its zone, as written or as identified; or a date, which is a midnight."""

    wall: datetime
    zone_name: str
    is_date: bool = False

    @property
    def zone(self) -> tzinfo:
        return zone_of(self.zone_name, "timeZone")

    def in_zone(self, zone: tzinfo) -> datetime:
        """Return the wall time in `zone`.  A date is not converted."""
        return self.wall if self.is_date else convert_wall(zone, self.wall, self.zone)

    @property
    def wall_time(self) -> WallTime:
        return WallTime(self.wall, self.zone_name)


@dataclass(slots=True)
class VEvent:
    line: int
    uid: str
    recurrence_id: IcsTime | None
    is_cancelled: bool
    details: Details
    start: IcsTime
    end: IcsTime
    rule: str | None = None
    exdates: list[IcsTime] = field(default_factory=list)
    extra_periods: list[tuple[IcsTime, IcsTime]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def changes(self) -> dict[str, Any]:
        """Return all values in the form of `changes` in `calendars.editing`."""
        return {name: getattr(self.details, name) for name in EDITABLE} | self.time_changes

    @property
    def time_changes(self) -> dict[str, Any]:
        return {"is_all_day": self.start.is_date, "start": self.start.wall_time, "end": self.end.wall_time}


@dataclass(slots=True)
class Zones:
    """The zones of one file: known names, and zones that the file describes in VTIMEZONE components.

    `default_name` is the zone of times without a zone.
    """

    default_name: str
    vtimezones: Mapping[str, Component]
    now: datetime
    names_by_tzid: dict[str, tuple[str | None, str]] = field(default_factory=dict)

    @classmethod
    def from_file(cls, file: Component, default_name: str, now: datetime) -> "Zones":
        vtimezones = {each.get_text("TZID"): each for each in file.get_components("VTIMEZONE")[:DESCRIBED_ZONES]}
        return cls(find_iana_name(file.get_text("X-WR-TIMEZONE")) or default_name, vtimezones, now)

    def get_name(self, tzid: str, notes: list[str]) -> str:
        """Return the IANA name for the zone `tzid` of the file, or `tzid` if it is known.  Raises ImportRefused."""
        if tzid not in self.names_by_tzid:
            self.names_by_tzid[tzid] = self.find_name(tzid)
        name, note = self.names_by_tzid[tzid]
        if name is None:
            raise ImportRefused(note)
        if note and note not in notes:
            notes.append(note)
        return name

    def find_name(self, tzid: str) -> tuple[str | None, str]:
        """Return a name and a note about it ("" for none), or None and the reason why no zone was found."""
        if find_iana_name(tzid):
            return tzid, ""
        shown = tzid[:ECHO]
        parts = tzid.strip("/").split("/")[-PARTS_OF_A_NAME:]
        described = self.vtimezones.get(tzid)
        guesses = ["/".join(parts[position:]) for position in range(len(parts))]
        guesses.append(described.get_text("X-LIC-LOCATION") if described else "")
        name = next(filter(None, map(find_iana_name, guesses)), None)
        if name is None and described is None:
            return None, gettext("Its time zone %(zone)s is not known, and the file does not describe it.") % {
                "zone": shown
            }
        if name is None and described is not None:
            try:
                name = timezones.find_matching_zone(described, self.now, [self.default_name])
            except (ValueError, OverflowError) as error:
                values = {"zone": shown, "error": str(error)[:ECHO]}
                return None, gettext(
                    "Its time zone %(zone)s is described in a way that cannot be read: %(error)s."
                ) % values
        if name is None:
            return None, gettext("No time zone has clocks that run as the file says of %(zone)s.") % {"zone": shown}
        return name, gettext("Its time zone %(zone)s is taken as %(name)s.") % {"zone": shown, "name": name}


def find_iana_name(name: str) -> str | None:
    """Return the IANA name of a zone for any known name, such as a Windows name; None if `name` is not known."""
    try:
        return iana_name(name.strip(), "timeZone")
    except WireError:
        return None


def read(component: Component, zones: Zones, *, is_cancelled: bool = False) -> VEvent:
    """Convert a VEVENT.  `is_cancelled` is True in a file with METHOD:CANCEL.  Raises ImportRefused."""
    notes: list[str] = []
    start = moment_of(component, "DTSTART", zones, notes)
    if start is None:
        refuse(gettext("It has no DTSTART."))
    for name in ("RRULE", "EXRULE"):
        if len(component.get_all(name)) > (name == "RRULE"):
            refuse(gettext("It repeats by more than one rule."))
    rule = component.get_first("RRULE")
    event = VEvent(
        component.line,
        uid_of(component),
        moment_of(component, "RECURRENCE-ID", zones, notes),
        is_cancelled or component.get_text("STATUS").strip().upper() == "CANCELLED",
        details_of(component, notes),
        start,
        end_of(component, start, zones, notes),
        rule.raw.strip() if rule else None,
        notes=notes,
    )
    if any("RANGE" in each.parameters for each in component.get_all("RECURRENCE-ID")):
        refuse(gettext("It changes an occurrence and all that follow, which is not taken."))
    event.exdates = list(moments_of(component, "EXDATE", zones, notes))
    event.extra_periods = [
        period for each in component.get_all("RDATE") for period in periods_of(each, event, zones, notes)
    ]
    if len(event.exdates) + len(event.extra_periods) > EXTRA_DATES:
        refuse(gettext("It has more than %(most)d dates of its own.") % {"most": EXTRA_DATES})
    left_out = Counter(each.name for each in component.properties if each.name in LEFT_OUT)
    if left_out:
        notes.append(gettext("Left out: %(names)s.") % {"names": ", ".join(sorted(left_out))})
    return event


def refuse(sentence: str) -> NoReturn:
    raise ImportRefused(sentence)


def uid_of(component: Component) -> str:
    """Return the UID.  Without one, return a digest of the content, so that a second import finds the same event."""
    uid = component.get_text("UID").strip().replace("\n", " ")
    if not uid:
        content = [
            (each.name, each.raw) for each in component.properties if each.name not in ("DTSTAMP", "LAST-MODIFIED")
        ]
        return f"content-{hashlib.sha256(repr(content).encode()).hexdigest()[:40]}"
    if len(uid) > UID_LENGTH:
        return f"{uid[:150]}-{hashlib.sha256(uid.encode()).hexdigest()[:40]}"
    return uid


def fill_defaults(imported: Details, stored: Details) -> Details:
    """Return the details of the file, with values of `ours` where the file only writes them differently or cannot."""
    values: dict[str, Any] = {"attendees": imported.attendees or stored.attendees}
    if [each.get("displayName") for each in imported.locations] == [stored.location_name] * bool(stored.location_name):
        values["locations"] = stored.locations
    if not (imported.is_reminder_on or stored.is_reminder_on):
        values["reminder_minutes"] = stored.reminder_minutes
    if (imported.show_as, stored.show_as) == (ShowAs.BUSY, ShowAs.UNKNOWN):
        values["show_as"] = stored.show_as
    for name, most in (("subject", SUBJECT_LENGTH), ("body", BODY_LENGTH)):
        if unescape(getattr(imported, name)) == unescape(getattr(stored, name)[:most]):
            values[name] = getattr(stored, name)
    if not (imported.body or stored.body):
        values["body_type"] = stored.body_type
    return replace(imported, **values)


def unescape(text: str) -> str:
    """Return the text as it is comparable after an export: without unstorable characters, with white space joined."""
    return " ".join(UNSTORABLE.sub("", text).split())


# Times


def moment_of(component: Component, name: str, zones: Zones, notes: list[str]) -> IcsTime | None:
    line = component.get_first(name)
    return None if line is None else moment(line, line.raw, zones, notes)


def moments_of(component: Component, name: str, zones: Zones, notes: list[str]) -> Iterator[IcsTime]:
    for each in component.get_all(name):
        for value in filter(None, each.raw.split(",")):
            yield moment(each, value, zones, notes)


def moment(line: Property, value: str, zones: Zones, notes: list[str]) -> IcsTime:
    try:
        parsed = vDDDTypes.from_ical(value.strip())
    except (ValueError, TypeError, OverflowError):
        parsed = None
    if isinstance(parsed, date) and parsed.year not in YEARS:
        years = {"name": line.name, "first": YEARS[0], "last": YEARS[-1]}
        refuse(gettext("Its %(name)s is not in the years %(first)d to %(last)d.") % years)
    if isinstance(parsed, datetime):
        return IcsTime(parsed.replace(tzinfo=None), zone_name_of(line, parsed, zones, notes))
    if isinstance(parsed, date):
        return IcsTime(datetime.combine(parsed, MIDNIGHT), zones.default_name, is_date=True)
    refuse(gettext("Its %(name)s is no time: %(value)s.") % {"name": line.name, "value": repr(value[:ECHO])})


def zone_name_of(line: Property, parsed: datetime, zones: Zones, notes: list[str]) -> str:
    if parsed.tzinfo is not None:
        return "UTC"
    tzid = line.parameters.get("TZID", "")
    if tzid:
        return zones.get_name(tzid, notes)
    note = gettext("A time without a zone is taken as one in %(zone)s.") % {"zone": zones.default_name}
    if note not in notes:
        notes.append(note)
    return zones.default_name


def end_of(component: Component, start: IcsTime, zones: Zones, notes: list[str]) -> IcsTime:
    end = moment_of(component, "DTEND", zones, notes)
    if end is None:
        duration = component.get_first("DURATION")
        return end_from_duration(
            start, duration.raw if duration else None, repeats=component.get_first("RRULE") is not None
        )
    if end.is_date != start.is_date:
        refuse(gettext("One of its DTSTART and DTEND is a date and the other is none."))
    if end.is_date and end.wall == start.wall:  # which many programs write
        return IcsTime(end.wall + ONE_DAY, end.zone_name, is_date=True)
    return end


def end_from_duration(start: IcsTime, duration: str | None, *, repeats: bool = False) -> IcsTime:
    """Return the end of an event with a duration.  Without a duration, a date lasts a day, and a time has no length.

    For an event that `repeats`, the duration is added to the wall time.  So an occurrence across a clock change keeps
    its length on the clock.
    """
    if duration is None:
        return replace(start, wall=start.wall + ONE_DAY) if start.is_date else start
    try:
        days, elapsed = durations_of(duration.strip())
        if not NOTHING <= days + elapsed <= LONGEST or (start.is_date and elapsed % ONE_DAY):
            raise ValueError
        wall, zone = start.wall + days, start.zone
        if start.is_date or repeats:
            return replace(start, wall=wall + elapsed)
        if elapsed:
            wall = (instant_of(wall, zone) + elapsed).astimezone(zone).replace(tzinfo=None, fold=0)
    except (ValueError, TypeError, OverflowError):
        refuse(gettext("Its DURATION cannot be read: %(value)s.") % {"value": repr(duration[:ECHO])})
    return replace(start, wall=wall)


def durations_of(duration: str) -> tuple[timedelta, timedelta]:
    """Return the calendar days of a DURATION (days and weeks), and the elapsed time (hours, minutes, seconds)."""
    whole = vDuration.from_ical(duration)
    before, _, _after = duration.upper().partition("T")
    days = vDuration.from_ical(before) if before.strip("+-P") else NOTHING
    return days, whole - days


def periods_of(line: Property, event: VEvent, zones: Zones, notes: list[str]) -> Iterator[tuple[IcsTime, IcsTime]]:
    """Yield the start and the end of each RDATE.  A value that is no period lasts as long as the event."""
    for value in filter(None, line.raw.split(",")):
        first, _, last = value.partition("/")
        start = moment(line, first, zones, notes)
        if start.is_date != event.start.is_date:
            refuse(gettext("One of its DTSTART and RDATE is a date and the other is none."))
        if not last:
            yield (
                start,
                IcsTime(
                    start.wall + (event.end.in_zone(event.start.zone) - event.start.wall),
                    start.zone_name,
                    start.is_date,
                ),
            )
        elif last.strip().upper().startswith(("P", "+P")):
            yield start, end_from_duration(start, last)
        else:
            yield start, moment(line, last, zones, notes)


# Details


def details_of(component: Component, notes: list[str]) -> Details:
    reminders = component.get_components("VALARM")
    minutes = reminder_of(reminders, notes)
    body, body_type = body_of(component)
    location = truncate(component.get_text("LOCATION"), LOCATION_LENGTH, "LOCATION", notes)
    return Details(
        subject=truncate(" ".join(component.get_text("SUMMARY").split("\n")), SUBJECT_LENGTH, "SUMMARY", notes),
        body=truncate(body, BODY_LENGTH, "DESCRIPTION", notes),
        body_type=body_type,
        locations=[{"displayName": location}] if location else [],
        categories=categories_of(component, notes),
        attendees=attendees_of(component, notes),
        show_as=show_as_of(component),
        sensitivity=CLASSES.get(component.get_text("CLASS").strip().upper() or "PUBLIC", Sensitivity.PRIVATE).value,
        importance=importance_of(component),
        is_reminder_on=minutes is not None,
        reminder_minutes=REMINDER_MINUTES if minutes is None else minutes,
    )


def truncate(text: str, limit: int, name: str, notes: list[str]) -> str:
    if len(text) <= limit:
        return text
    notes.append(gettext("Its %(name)s is cut off after %(most)d characters.") % {"name": name, "most": limit})
    return text[:limit]


def body_of(component: Component) -> tuple[str, str]:
    for each in component.get_all("X-ALT-DESC"):
        if each.parameters.get("FMTTYPE", "").lower() == "text/html" and each.text.strip():
            return each.text, BodyType.HTML.value
    return component.get_text("DESCRIPTION"), BodyType.TEXT.value


def categories_of(component: Component, notes: list[str]) -> list[str]:
    names = [each.strip() for line in component.get_all("CATEGORIES") for each in split_on_unescaped_comma(line.raw)]
    kept = [each for each in dict.fromkeys(names) if each and len(each) <= CATEGORY_LENGTH][:CATEGORIES]
    if len(kept) < len(set(filter(None, names))):
        notes.append(gettext("Some of its categories are left out: there are too many, or they are too long."))
    return kept


def attendees_of(component: Component, notes: list[str]) -> list[dict[str, Any]]:
    lines = component.get_all("ATTENDEE")
    if lines:
        note = ngettext(
            "%(count)d attendee is kept by name; nobody is invited.",
            "%(count)d attendees are kept by name; nobody is invited.",
            min(len(lines), ATTENDEES),
        )
        notes.append(note % {"count": min(len(lines), ATTENDEES)})
    attendees = [attendee(line) for line in lines[:ATTENDEES]]
    if any(CONTROL.search(each["emailAddress"]["address"]) for each in attendees):
        notes.append(gettext("Control characters in the addresses of attendees are left out."))
    for each in attendees:
        each["emailAddress"]["address"] = CONTROL.sub("", each["emailAddress"]["address"])
    return attendees


def attendee(line: Property) -> dict[str, Any]:
    address = line.text.strip()
    address = address[7:] if address.lower().startswith("mailto:") else address
    kind = ATTENDEE_TYPES.get(line.parameters.get("ROLE", "").upper(), "required")
    if line.parameters.get("CUTYPE", "").upper() in THINGS:
        kind = "resource"
    name = line.parameters.get("CN", "")
    return {
        "type": kind,
        "emailAddress": {"name": name[:ATTENDEE_LENGTH], "address": address[:ATTENDEE_LENGTH]},
    }


def show_as_of(component: Component) -> str:
    busy = BUSY_STATES.get(component.get_text("X-MICROSOFT-CDO-BUSYSTATUS").strip().upper())
    if busy is not None:
        return busy.value
    if component.get_text("TRANSP").strip().upper() == "TRANSPARENT":
        return ShowAs.FREE.value
    is_tentative = component.get_text("STATUS").strip().upper() == "TENTATIVE"
    return (ShowAs.TENTATIVE if is_tentative else ShowAs.BUSY).value


def importance_of(component: Component) -> str:
    """Return the importance for PRIORITY: 1 is the highest, 9 the lowest, 5 is normal, and 0 is undefined."""
    text = component.get_text("PRIORITY").strip()
    priority = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0
    if 1 <= priority <= 4:
        return Importance.HIGH.value
    return (Importance.LOW if 6 <= priority <= 9 else Importance.NORMAL).value


def reminder_of(alarms: list[Component], notes: list[str]) -> int | None:
    """Return the minutes before the start of the first reminder that can be stored; None if there is none."""
    active = [each for each in alarms if each.get_text("ACTION").strip().upper() != "NONE"]
    found = [minutes for each in active if (minutes := minutes_of(each)) is not None]
    if active and not found:
        notes.append(gettext("Its reminder is left out: it is not before the start."))
    elif len(active) > 1:
        notes.append(gettext("Of its %(count)d reminders one is kept.") % {"count": len(active)})
    return found[0] if found else None


def minutes_of(alarm: Component) -> int | None:
    """Return the minutes before the start, rounded up; None if the TRIGGER is not relative to it, or out of range."""
    trigger = alarm.get_first("TRIGGER")
    if trigger is None or trigger.parameters.get("RELATED", "START").upper() != "START":
        return None
    try:
        before = -vDuration.from_ical(trigger.raw.strip())
    except (ValueError, TypeError, OverflowError):
        return None
    minutes = math.ceil(before / ONE_MINUTE)
    return minutes if 0 <= minutes <= REMINDER_MOST else None
