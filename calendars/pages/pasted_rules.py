"""Translate a pasted schedule into the times and the recurrence of an event: a rule, a crontab line, or JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.utils.translation import gettext

from calendars.models import ONE_DAY
from recurrence.translation import translate
from recurrence.wire import WireError, rrule
from recurrence.wire.clocks import rendered_instant
from recurrence.wire.graph import read_date_time
from recurrence.wire.json_values import instant
from recurrence.wire.recognition import recognize
from recurrence.wire.zone_names import iana_name, zone_of
from recurrence.zones import instant_of, to_zone

SERIES_MEMBERS = {"start", "end", "recurrence", "startTime", "endTime", "clockChange"}  # what an event says itself
LOCAL_FORMATS = ("cron", "quartz")  # without a zone, these texts mean the clocks of the event

STARTING_FORMATS = ("azure", "simple")  # without a start time, these begin with the event


class NotTranslated(ValueError):
    """An event cannot express a pasted text; the message says why."""


@dataclass(frozen=True, slots=True)
class EventTimes:
    """The times of an event: wall times in a zone with an IANA name, and the recurrence of Graph or None.

    `has_times` is False if the pasted text names days only, so that the event keeps its time of day.  `losses` are
    sentences about what an event cannot express.
    """

    start: datetime
    end: datetime
    zone: str
    recurrence: dict[str, Any] | None
    has_times: bool = True
    losses: tuple[str, ...] = ()


def times_of_text(text: str, old: EventTimes) -> EventTimes:
    """Return the times that a pasted text gives an event with the times `old`.  Raises NotTranslated."""
    document = recognize(text)
    if document is None:
        raise NotTranslated(gettext("This is no rule, crontab line, Quartz expression or JSON of a schedule"))
    format, definition = str(document["format"]), {name: value for name, value in document.items() if name != "format"}
    has_times = _has_times(format, definition)
    if not has_times:
        definition |= _days_only(format, definition, old)
    if format in LOCAL_FORMATS:
        definition.setdefault("timeZone", old.zone)
    try:
        if format in STARTING_FORMATS:
            definition.setdefault("startTime", rendered_instant(instant_of(old.start, zone_of(old.zone, "timeZone"))))
        found, losses = _as_event(format, definition, old)
        times = _event_times(found, old, has_times)
    except (WireError, OverflowError) as error:
        raise NotTranslated(str(error)) from error
    return EventTimes(*times, has_times, (*losses, *_missing_members(definition, found)))


def _has_times(format: str, definition: Mapping[str, Any]) -> bool:
    """Return True if the text names a time of day: a recurrence of Graph alone comes with a day from midnight on."""
    if format == "rrule":
        return "start" in definition
    is_midnight = str(definition.get("start", {}).get("dateTime", "")).endswith("T00:00:00")
    return not (format == "outlook" and is_midnight and definition["start"] == definition.get("end"))


def _days_only(format: str, definition: Mapping[str, Any], old: EventTimes) -> dict[str, Any]:
    """Return start and end for a text without times: those of the event, on the day that the text names."""
    start = old.start
    if format == "outlook":
        start = datetime.combine(date.fromisoformat(definition["start"]["dateTime"][:10]), start.time())
    members = {"start": _date_time(start, old.zone)}
    if format != "outlook":
        return members
    members["end"] = _date_time(start + (old.end - old.start), old.zone)
    limits = {name: value for name, value in definition["recurrence"]["range"].items() if name != "recurrenceTimeZone"}
    return {**members, "recurrence": {**definition["recurrence"], "range": limits}}


def _date_time(wall: datetime, zone: str) -> dict[str, str]:
    return {"dateTime": wall.isoformat(), "timeZone": zone}


def _as_event(format: str, definition: dict[str, Any], old: EventTimes) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the definition as one of the format `outlook`, and what it cannot express.  Raises NotTranslated."""
    if format == "rrule" and (found := _rule_as_event(definition)):
        return found, ()
    translation = translate(format, definition, "outlook", _begin(format, definition, old))
    if translation.definition is None:
        raise NotTranslated("; ".join(translation.losses))
    found = dict(translation.definition)
    if "clockChange" not in definition:  # the default of the other format; events have their own rule
        found.pop("clockChange", None)
    return found, translation.losses


def _rule_as_event(definition: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a rule of iCalendar as an event; None: the recurrence of Graph cannot express the rule."""
    start, name, zone = read_date_time(definition["start"], "start")
    end = read_date_time(definition["end"], "end")[0] if "end" in definition else start
    try:
        recurrence = rrule.graph_of(definition["rrule"], start, end, zone)
    except WireError:  # with several times of the day
        return None
    if recurrence is None:
        return None
    first = datetime.combine(_first_day(recurrence), start.time())
    others = {name: value for name, value in definition.items() if name not in ("start", "end", "rrule")}
    span = {"start": _date_time(first, name), "end": _date_time(first + (end - start), name)}
    return {**span, "recurrence": recurrence, **others}


def _first_day(recurrence: Mapping[str, Any]) -> date:
    return date.fromisoformat(recurrence["range"]["startDate"])


def _begin(format: str, definition: Mapping[str, Any], old: EventTimes) -> datetime:
    """Return the moment from which a text without an own start counts: the first day of the event."""
    if format == "once":
        return instant(definition["at"], "at") - ONE_DAY
    return instant_of(datetime.combine(old.start.date(), time()), zone_of(old.zone, "timeZone"))


def _event_times(
    found: Mapping[str, Any], old: EventTimes, has_times: bool
) -> tuple[datetime, datetime, str, dict[str, Any] | None]:
    start, name, _ = read_date_time(found["start"], "start")
    end = read_date_time(found["end"], "end")[0]
    if end == start:
        end = start + (old.end - old.start)
    recurrence = dict(found["recurrence"])
    limits = recurrence["range"]
    if limits.get("numberOfOccurrences") == 1:
        return start, end, iana_name(name, "start.timeZone"), None
    if found.get("endTime") is not None and limits["type"] == "noEnd":
        last = _last_day(instant(found["endTime"], "endTime").astimezone(UTC), start, name)
        recurrence["range"] = {**limits, "type": "endDate", "endDate": last.isoformat()}
    return start, end, iana_name(name, "start.timeZone"), recurrence


def _last_day(end: datetime, start: datetime, zone_name: str) -> date:
    """Return the last day on which an occurrence with the time of day of `start` is not later than `end`."""
    local = to_zone(end, zone_of(zone_name, "start.timeZone"))
    return local.date() - (ONE_DAY if local.time() < start.time() else timedelta(0))


def _missing_members(definition: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each member that an event does not have."""
    names = {*found} - SERIES_MEMBERS | ({"clockChange"} & {*definition})
    if found.get("endTime") is not None and found["recurrence"]["range"]["type"] == "numbered":
        names.add("endTime")
    return [gettext("%(member)s: an event does not have this") % {"member": name} for name in sorted(names)]
