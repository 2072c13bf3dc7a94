"""Read the recurrence of an event from lines of iCalendar: DTSTART, DTEND, RRULE, EXDATE and RDATE (RFC 5545, 3.1)."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, time, tzinfo

from recurrence.wire.errors import WireError
from recurrence.wire.rrule import read_until
from recurrence.wire.zone_names import zone_of
from recurrence.zones import instant_of

MOST_TIMES = 1000  # in all EXDATE and RDATE lines
FOLD = re.compile("\r?\n[ \t]")
LINE = re.compile(r"([A-Za-z-]+)((?:;[A-Za-z-]+=(?:\"[^\"\n]*\"|[^\":;\n]*))*):(.*)")
TZID = re.compile(r";TZID=(?:\"([^\"]*)\"|([^;]*))", re.IGNORECASE)


def read(text: str) -> dict[str, object]:
    """Return the members of the format `rrule`; without a DTSTART only `rrule`.

    Dates of EXDATE and RDATE with the time of day of the start become `exdates` and `rdates`.  Other times become
    `skips` and `extras`.  Other lines are ignored.  Raises WireError for several rules, and for wrong times.
    """
    lines = _lines(text)
    rules = [value for name, _, value in lines if name == "RRULE"]
    if len(rules) != 1:
        raise WireError("rrule", "invalid", "must be one rule")
    starts = [(parameters, value) for name, parameters, value in lines if name == "DTSTART"]
    if not starts:
        return {"rrule": rules[0]}
    parameters, value = starts[0]
    zone, zone_name = _zone(parameters, value)
    start = _wall(value, zone, zone)
    members: dict[str, object] = {"start": _date_time(start, zone_name)}
    for name, parameters, value in lines:
        if name == "DTEND":
            members["end"] = _date_time(_wall(value, _zone(parameters, value)[0], zone), zone_name)
    skipped, added = ([*_times(lines, name, zone)] for name in ("EXDATE", "RDATE"))
    if len(skipped) + len(added) > MOST_TIMES:
        raise WireError("exdates", "out_of_range", f"must have at most {MOST_TIMES} times")
    for times, dates_name, instants_name in ((skipped, "exdates", "skips"), (added, "rdates", "extras")):
        dates = [wall.date().isoformat() for wall, is_date in times if is_date or wall.time() == start.time()]
        others = [wall for wall, is_date in times if not is_date and wall.time() != start.time()]
        members |= {dates_name: dates} if dates else {}
        instants = [instant_of(wall, zone).isoformat().replace("+00:00", "Z") for wall in others]
        members |= {instants_name: instants} if instants else {}
    return {**members, "rrule": rules[0]}


def _lines(text: str) -> list[tuple[str, str, str]]:
    """Return the name, the parameters and the value of each line; a rule may stand alone, without `RRULE:`."""
    found = []
    for line in FOLD.sub("", text).splitlines():
        match = LINE.fullmatch(line.strip())
        if match is not None:
            name, parameters, value = match.groups()
            found.append((name.upper(), parameters, value.strip()))
        elif line.strip().upper().startswith("FREQ="):
            found.append(("RRULE", "", line.strip()))
    return found


def _zone(parameters: str, value: str) -> tuple[tzinfo, str]:
    match = TZID.search(parameters)
    if match is None or value.upper().endswith("Z"):
        return UTC, "UTC"
    name = (match[1] or match[2] or "").strip()
    return zone_of(name, "start.timeZone"), name


def _wall(value: str, zone: tzinfo, other: tzinfo) -> datetime:
    """Return a time of `zone` as clocks in `other` show it; a date is its midnight."""
    found = read_until(value.upper())
    if found is None:
        raise WireError("start", "invalid", f"must be a time such as 20260105T080000, not {value!r:.40}")
    if not isinstance(found, datetime):
        return datetime.combine(found, time())
    if found.tzinfo is None and zone == other:
        return found
    instant = found if found.tzinfo else instant_of(found, zone)
    return instant.astimezone(other).replace(tzinfo=None, fold=0)


def _times(lines: Iterable[tuple[str, str, str]], name: str, zone: tzinfo) -> Iterable[tuple[datetime, bool]]:
    """Yield the times of all lines with this name as wall times in `zone`, and whether each is a date."""
    for each, parameters, value in lines:
        if each == name:
            for item in value.split(","):
                yield _wall(item, _zone(parameters, item)[0], zone), "T" not in item.upper()


def _date_time(wall: datetime, zone_name: str) -> dict[str, str]:
    return {"dateTime": wall.isoformat(), "timeZone": zone_name}
