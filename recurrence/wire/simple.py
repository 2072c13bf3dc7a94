"""Simple triggers of Quartz: a start, and optional repetitions at an interval of elapsed time.

Source: Quartz's SimpleTrigger.  It fires at its start and then `repeatCount` times more; -1 means without limit.  Its
end is not included and wins over the count.  Times are ISO 8601, or milliseconds since 1970 as a number or its digits.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from recurrence.composites import Bounded
from recurrence.schedules import TICK, Every, Once, Schedule, just_before
from recurrence.wire import json_values
from recurrence.wire.clocks import read_display_zone, render_display_zone
from recurrence.wire.errors import Faults, WireError
from recurrence.wire.parsed import Parsed
from recurrence.zones import EPOCH

MILLISECOND = timedelta(milliseconds=1)
LONGEST_INTERVAL = 100 * 365 * 86_400_000  # milliseconds
MOST_REPEATS = 2**31 - 1
FOREVER = -1
MEMBERS = dict.fromkeys(("startTime", "endTime", "interval", "repeatCount", "timeZone", "clockChange"))


def parse(definition: Mapping[str, object], created_at: datetime) -> Parsed:
    """Compile `startTime` (without one: at once), `endTime`, `interval` in milliseconds and `repeatCount`.

    `timeZone` is the zone in which people see the times.  Without an interval it fires once.  An interval without a
    count repeats without limit.  Raises WireError.
    """
    created_at = created_at.astimezone(UTC)
    start, end, interval, repeats = _read(definition)
    zone = read_display_zone(definition)
    start = start or created_at
    if end is not None and end <= start:
        raise WireError("endTime", "out_of_range", "must be later than startTime")
    schedule = _schedule(start, end, interval, FOREVER if repeats is None else repeats)
    warnings = json_values.warnings_of_unknown(definition, MEMBERS)
    if schedule.after(just_before(created_at)) is None:
        warnings.append("It will not fire again.")
    return Parsed(schedule, None, zone, tuple(warnings), may_never_fire=True)


def render(definition: Mapping[str, object]) -> dict[str, object]:
    """Return the definition with its times in ISO 8601 and its numbers as numbers.

    Members that were not sent and unknown members are absent.  Raises WireError where `parse` would, except for an end
    that is not later than the creation.
    """
    start, end, interval, repeats = _read(definition)
    if start and end and end <= start:
        raise WireError("endTime", "out_of_range", "must be later than startTime")
    answer = {
        "startTime": start and rendered(start),
        "endTime": end and rendered(end),
        "interval": interval,
        "repeatCount": repeats,
    }
    return {name: value for name, value in answer.items() if value is not None} | render_display_zone(definition)


def start_time(definition: Mapping[str, object]) -> datetime | None:
    """Return the start time of a definition; None: it has none.  Raises WireError for a wrong one."""
    return moment(definition.get("startTime"), "startTime")


def _read(definition: Mapping[str, object]) -> tuple[datetime | None, datetime | None, int | None, int | None]:
    faults = Faults()
    interval = faults.read(_whole, definition.get("interval"), "interval", 1, LONGEST_INTERVAL)
    repeats = faults.read(_whole, definition.get("repeatCount"), "repeatCount", FOREVER, MOST_REPEATS)
    if repeats not in (None, 0) and definition.get("interval") in (None, ""):
        faults.add(WireError("interval", "required", "is required with a repeatCount"))
    start = faults.read(start_time, definition)
    end = faults.read(moment, definition.get("endTime"), "endTime")
    faults.read(read_display_zone, definition)
    faults.refuse()
    return start, end, interval, repeats


def _schedule(start: datetime, end: datetime | None, interval: int | None, repeats: int) -> Schedule:
    if interval is None or repeats == 0:
        return Once(start)
    every = Every(interval * MILLISECOND, start)
    try:
        last = None if repeats == FOREVER else start + repeats * every.interval
    except OverflowError:
        last = None
    bounds = [bound for bound in (last, end and end - TICK) if bound is not None]
    return Bounded(every, until=min(bounds)) if bounds else every


def moment(value: object, path: str) -> datetime | None:
    """Read a time in any of the forms; None for null and for an empty text."""
    if value is None or value == "":
        return None
    if isinstance(value, str) and not re.fullmatch(r"-?[0-9]{1,15}", value):
        return json_values.instant(value, path)
    number = int(value) if isinstance(value, str) else json_values.integer(value, path, -(10**14), 10**14)
    try:
        return EPOCH + number * MILLISECOND
    except OverflowError:
        raise WireError(path, "out_of_range", "must be a time that exists") from None


def rendered(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")


def _whole(value: object, path: str, lowest: int, highest: int) -> int | None:
    if value is None or value == "":
        return None
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,15}", value):
        value = int(value)
    return json_values.integer(value, path, lowest, highest)
