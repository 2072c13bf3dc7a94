"""What a VEVENT of an iCalendar file says, in our words; what those cannot say is noted in whole sentences.

Pure: it knows no rows.
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

from calendars import vtimezones
from calendars.components import UNSTORABLE, Component, Property
from calendars.details import ATTENDEES, BODY_LENGTH, CATEGORIES, CATEGORY_LENGTH
from calendars.models import (
    DETAILS,
    REMINDER_MINUTES,
    REMINDER_MOST,
    SUBJECT_LENGTH,
    BodyType,
    Details,
    Importance,
    Sensitivity,
    ShowAs,
)
from calendars.times import LONGEST, YEARS, WallTime, shown_in
from recurrence.wire import WireError
from recurrence.wire.zone_names import iana_name, zone_of
from recurrence.zones import instant_of

UID_LENGTH = 200  # characters, which leaves room for what further events have behind it
LOCATION_LENGTH = 1_000
ATTENDEE_LENGTH = 320
DESCRIBED_ZONES = 50  # that a file may describe
PARTS_OF_A_NAME = 3  # as of America/Argentina/Ushuaia
EXTRA_DATES = 1_000  # of one event
ECHO = 80  # characters of the file that a note shows
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


class Refused(Exception):
    """A component cannot be taken; the message is a whole sentence that says why."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What clocks in a zone show, by the zone's name as it was written or as it was found; or a date."""

    wall: datetime
    zone_name: str
    is_date: bool = False

    @property
    def zone(self) -> tzinfo:
        return zone_of(self.zone_name, "timeZone")

    def on(self, zone: tzinfo) -> datetime:
        """What clocks in `zone` show then; a date stays what it is."""
        return self.wall if self.is_date else shown_in(zone, self.wall, self.zone)

    @property
    def wall_time(self) -> WallTime:
        return WallTime(self.wall, self.zone_name)


@dataclass(slots=True)
class VEvent:
    line: int
    uid: str
    recurrence_id: Moment | None
    is_cancelled: bool
    details: Details
    start: Moment
    end: Moment
    rule: str | None = None
    without: list[Moment] = field(default_factory=list)
    besides: list[tuple[Moment, Moment]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def changes(self) -> dict[str, Any]:
        """All that it says, as `calendars.editing` takes it."""
        return {name: getattr(self.details, name) for name in DETAILS} | self.when

    @property
    def when(self) -> dict[str, Any]:
        return {"is_all_day": self.start.is_date, "start": self.start.wall_time, "end": self.end.wall_time}


@dataclass(slots=True)
class Zones:
    """The zones of one file: those that everybody knows by name, and those that it describes.

    `default` is for times that name none.
    """

    default: str
    described: Mapping[str, Component]
    now: datetime
    found: dict[str, tuple[str | None, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, file: Component, default: str, now: datetime) -> "Zones":
        described = {each.text("TZID"): each for each in file.parts_named("VTIMEZONE")[:DESCRIBED_ZONES]}
        return cls(known(file.text("X-WR-TIMEZONE")) or default, described, now)

    def name_of(self, tzid: str, notes: list[str]) -> str:
        """The name of the zone that the file calls `tzid`.  Raises Refused."""
        if tzid not in self.found:
            self.found[tzid] = self.look_up(tzid)
        name, note = self.found[tzid]
        if name is None:
            raise Refused(note)
        if note and note not in notes:
            notes.append(note)
        return name

    def look_up(self, tzid: str) -> tuple[str | None, str]:
        """A name and what is to be noted about it; without a name, why there is none."""
        if known(tzid):
            return tzid, ""
        shown = tzid[:ECHO]
        parts = tzid.strip("/").split("/")[-PARTS_OF_A_NAME:]
        described = self.described.get(tzid)
        guesses = ["/".join(parts[position:]) for position in range(len(parts))]
        guesses.append(described.text("X-LIC-LOCATION") if described else "")
        name = next(filter(None, map(known, guesses)), None)
        if name is None and described is None:
            return None, gettext("Its time zone %(zone)s is not known, and the file does not describe it.") % {
                "zone": shown
            }
        if name is None and described is not None:
            try:
                name = vtimezones.named_like(described, self.now, [self.default])
            except (ValueError, OverflowError) as error:
                said = {"zone": shown, "error": str(error)[:ECHO]}
                return None, gettext(
                    "Its time zone %(zone)s is described in a way that cannot be read: %(error)s."
                ) % said
        if name is None:
            return None, gettext("No time zone has clocks that run as the file says of %(zone)s.") % {"zone": shown}
        return name, gettext("Its time zone %(zone)s is taken as %(name)s.") % {"zone": shown, "name": name}


def known(name: str) -> str | None:
    """IANA's name for a zone, whoever's name this is."""
    try:
        return iana_name(name.strip(), "timeZone")
    except WireError:
        return None


def read(component: Component, zones: Zones, *, is_cancelled: bool = False) -> VEvent:
    """Raises Refused."""
    notes: list[str] = []
    start = moment_of(component, "DTSTART", zones, notes)
    if start is None:
        refuse(gettext("It has no DTSTART."))
    for name in ("RRULE", "EXRULE"):
        if len(component.all(name)) > (name == "RRULE"):
            refuse(gettext("It repeats by more than one rule."))
    rule = component.first("RRULE")
    event = VEvent(
        component.line,
        uid_of(component),
        moment_of(component, "RECURRENCE-ID", zones, notes),
        is_cancelled or component.text("STATUS").strip().upper() == "CANCELLED",
        details_of(component, notes),
        start,
        end_of(component, start, zones, notes),
        rule.raw.strip() if rule else None,
        notes=notes,
    )
    if any("RANGE" in each.parameters for each in component.all("RECURRENCE-ID")):
        refuse(gettext("It changes an occurrence and all that follow, which is not taken."))
    event.without = list(moments_of(component, "EXDATE", zones, notes))
    event.besides = [span for each in component.all("RDATE") for span in spans_of(each, event, zones, notes)]
    if len(event.without) + len(event.besides) > EXTRA_DATES:
        refuse(gettext("It has more than %(most)d dates of its own.") % {"most": EXTRA_DATES})
    left_out = Counter(each.name for each in component.properties if each.name in LEFT_OUT)
    if left_out:
        notes.append(gettext("Left out: %(names)s.") % {"names": ", ".join(sorted(left_out))})
    return event


def refuse(sentence: str) -> NoReturn:
    raise Refused(sentence)


def uid_of(component: Component) -> str:
    """Its UID; without one, what stands for its content, so that the same is known again."""
    uid = component.text("UID").strip().replace("\n", " ")
    if not uid:
        said = [(each.name, each.raw) for each in component.properties if each.name not in ("DTSTAMP", "LAST-MODIFIED")]
        return f"content-{hashlib.sha256(repr(said).encode()).hexdigest()[:40]}"
    if len(uid) > UID_LENGTH:
        return f"{uid[:150]}-{hashlib.sha256(uid.encode()).hexdigest()[:40]}"
    return uid


def completed(said: Details, ours: Details) -> Details:
    """What a file says of what says `ours` here, but for that which it says in other words only, or cannot say."""
    kept: dict[str, Any] = {"attendees": said.attendees or ours.attendees}
    if [each.get("displayName") for each in said.locations] == [ours.place] * bool(ours.place):
        kept["locations"] = ours.locations
    if not (said.is_reminder_on or ours.is_reminder_on):
        kept["reminder_minutes"] = ours.reminder_minutes
    if (said.show_as, ours.show_as) == (ShowAs.BUSY, ShowAs.UNKNOWN):
        kept["show_as"] = ours.show_as
    for name, most in (("subject", SUBJECT_LENGTH), ("body", BODY_LENGTH)):
        if plain(getattr(said, name)) == plain(getattr(ours, name)[:most]):
            kept[name] = getattr(ours, name)
    if not (said.body or ours.body):
        kept["body_type"] = ours.body_type
    return replace(said, **kept)


def plain(text: str) -> str:
    """Without what a file of lines has no other character for."""
    return " ".join(UNSTORABLE.sub("", text).split())


# When


def moment_of(component: Component, name: str, zones: Zones, notes: list[str]) -> Moment | None:
    found = component.first(name)
    return None if found is None else moment(found, found.raw, zones, notes)


def moments_of(component: Component, name: str, zones: Zones, notes: list[str]) -> Iterator[Moment]:
    for each in component.all(name):
        for value in filter(None, each.raw.split(",")):
            yield moment(each, value, zones, notes)


def moment(found: Property, value: str, zones: Zones, notes: list[str]) -> Moment:
    try:
        said = vDDDTypes.from_ical(value.strip())
    except (ValueError, TypeError, OverflowError):
        said = None
    if isinstance(said, date) and said.year not in YEARS:
        years = {"name": found.name, "first": YEARS[0], "last": YEARS[-1]}
        refuse(gettext("Its %(name)s is not in the years %(first)d to %(last)d.") % years)
    if isinstance(said, datetime):
        return Moment(said.replace(tzinfo=None), zone_name_of(found, said, zones, notes))
    if isinstance(said, date):
        return Moment(datetime.combine(said, MIDNIGHT), zones.default, is_date=True)
    refuse(gettext("Its %(name)s is no time: %(value)s.") % {"name": found.name, "value": repr(value[:ECHO])})


def zone_name_of(found: Property, said: datetime, zones: Zones, notes: list[str]) -> str:
    if said.tzinfo is not None:
        return "UTC"
    tzid = found.parameters.get("TZID", "")
    if tzid:
        return zones.name_of(tzid, notes)
    note = gettext("A time without a zone is taken as one in %(zone)s.") % {"zone": zones.default}
    if note not in notes:
        notes.append(note)
    return zones.default


def end_of(component: Component, start: Moment, zones: Zones, notes: list[str]) -> Moment:
    end = moment_of(component, "DTEND", zones, notes)
    if end is None:
        duration = component.first("DURATION")
        return start_and(start, duration.raw if duration else None, repeats=component.first("RRULE") is not None)
    if end.is_date != start.is_date:
        refuse(gettext("One of its DTSTART and DTEND is a date and the other is none."))
    if end.is_date and end.wall == start.wall:  # which many programs write
        return Moment(end.wall + ONE_DAY, end.zone_name, is_date=True)
    return end


def start_and(start: Moment, duration: str | None, *, repeats: bool = False) -> Moment:
    """The end of what has a duration; without one a date is a day, and a time is of no length.

    Of what `repeats`, it is what clocks show where they do not change meanwhile, as in most of the occurrences.
    """
    if duration is None:
        return replace(start, wall=start.wall + ONE_DAY) if start.is_date else start
    try:
        days, elapsed = lengths_of(duration.strip())
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


def lengths_of(duration: str) -> tuple[timedelta, timedelta]:
    """The days and weeks, which are those of the calendar, and the hours, which elapse."""
    whole = vDuration.from_ical(duration)
    before, _, after = duration.upper().partition("T")
    days = vDuration.from_ical(before) if before.strip("+-P") else NOTHING
    return days, whole - days


def spans_of(found: Property, event: VEvent, zones: Zones, notes: list[str]) -> Iterator[tuple[Moment, Moment]]:
    """The start and the end of each extra date; one that is no period lasts as long as the event."""
    for value in filter(None, found.raw.split(",")):
        first, _, last = value.partition("/")
        start = moment(found, first, zones, notes)
        if start.is_date != event.start.is_date:
            refuse(gettext("One of its DTSTART and RDATE is a date and the other is none."))
        if not last:
            yield (
                start,
                Moment(
                    start.wall + (event.end.on(event.start.zone) - event.start.wall), start.zone_name, start.is_date
                ),
            )
        elif last.strip().upper().startswith(("P", "+P")):
            yield start, start_and(start, last)
        else:
            yield start, moment(found, last, zones, notes)


# What


def details_of(component: Component, notes: list[str]) -> Details:
    reminders = component.parts_named("VALARM")
    minutes = reminder_of(reminders, notes)
    body, body_type = body_of(component)
    location = cut(component.text("LOCATION"), LOCATION_LENGTH, "LOCATION", notes)
    return Details(
        subject=cut(" ".join(component.text("SUMMARY").split("\n")), SUBJECT_LENGTH, "SUMMARY", notes),
        body=cut(body, BODY_LENGTH, "DESCRIPTION", notes),
        body_type=body_type,
        locations=[{"displayName": location}] if location else [],
        categories=categories_of(component, notes),
        attendees=attendees_of(component, notes),
        show_as=show_as_of(component),
        sensitivity=CLASSES.get(component.text("CLASS").strip().upper() or "PUBLIC", Sensitivity.PRIVATE).value,
        importance=importance_of(component),
        is_reminder_on=minutes is not None,
        reminder_minutes=REMINDER_MINUTES if minutes is None else minutes,
    )


def cut(text: str, most: int, name: str, notes: list[str]) -> str:
    if len(text) <= most:
        return text
    notes.append(gettext("Its %(name)s is cut off after %(most)d characters.") % {"name": name, "most": most})
    return text[:most]


def body_of(component: Component) -> tuple[str, str]:
    for each in component.all("X-ALT-DESC"):
        if each.parameters.get("FMTTYPE", "").lower() == "text/html" and each.text.strip():
            return each.text, BodyType.HTML.value
    return component.text("DESCRIPTION"), BodyType.TEXT.value


def categories_of(component: Component, notes: list[str]) -> list[str]:
    named = [each.strip() for found in component.all("CATEGORIES") for each in split_on_unescaped_comma(found.raw)]
    kept = [each for each in dict.fromkeys(named) if each and len(each) <= CATEGORY_LENGTH][:CATEGORIES]
    if len(kept) < len(set(filter(None, named))):
        notes.append(gettext("Some of its categories are left out: there are too many, or they are too long."))
    return kept


def attendees_of(component: Component, notes: list[str]) -> list[dict[str, Any]]:
    found = component.all("ATTENDEE")
    if found:
        said = ngettext(
            "%(count)d attendee is kept by name; nobody is invited.",
            "%(count)d attendees are kept by name; nobody is invited.",
            min(len(found), ATTENDEES),
        )
        notes.append(said % {"count": min(len(found), ATTENDEES)})
    return [attendee(each) for each in found[:ATTENDEES]]


def attendee(found: Property) -> dict[str, Any]:
    address = found.text.strip()
    address = address[7:] if address.lower().startswith("mailto:") else address
    kind = ATTENDEE_TYPES.get(found.parameters.get("ROLE", "").upper(), "required")
    if found.parameters.get("CUTYPE", "").upper() in THINGS:
        kind = "resource"
    name = found.parameters.get("CN", "")
    return {
        "type": kind,
        "emailAddress": {"name": name[:ATTENDEE_LENGTH], "address": address[:ATTENDEE_LENGTH]},
    }


def show_as_of(component: Component) -> str:
    busy = BUSY_STATES.get(component.text("X-MICROSOFT-CDO-BUSYSTATUS").strip().upper())
    if busy is not None:
        return busy.value
    if component.text("TRANSP").strip().upper() == "TRANSPARENT":
        return ShowAs.FREE.value
    is_tentative = component.text("STATUS").strip().upper() == "TENTATIVE"
    return (ShowAs.TENTATIVE if is_tentative else ShowAs.BUSY).value


def importance_of(component: Component) -> str:
    """PRIORITY goes from 1, the highest, to 9; 5 is in the middle and 0 is none."""
    text = component.text("PRIORITY").strip()
    priority = int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0
    if 1 <= priority <= 4:
        return Importance.HIGH.value
    return (Importance.LOW if 6 <= priority <= 9 else Importance.NORMAL).value


def reminder_of(alarms: list[Component], notes: list[str]) -> int | None:
    """The minutes before the start of the first reminder that can be kept; None: there is none."""
    wanted = [each for each in alarms if each.text("ACTION").strip().upper() != "NONE"]
    kept = [minutes for each in wanted if (minutes := minutes_of(each)) is not None]
    if wanted and not kept:
        notes.append(gettext("Its reminder is left out: it is not before the start."))
    elif len(wanted) > 1:
        notes.append(gettext("Of its %(count)d reminders one is kept.") % {"count": len(wanted)})
    return kept[0] if kept else None


def minutes_of(alarm: Component) -> int | None:
    trigger = alarm.first("TRIGGER")
    if trigger is None or trigger.parameters.get("RELATED", "START").upper() != "START":
        return None
    try:
        before = -vDuration.from_ical(trigger.raw.strip())
    except (ValueError, TypeError, OverflowError):
        return None
    minutes = math.ceil(before / ONE_MINUTE)
    return minutes if 0 <= minutes <= REMINDER_MOST else None
