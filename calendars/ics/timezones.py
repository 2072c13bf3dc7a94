"""Time zones of iCalendar: render VTIMEZONE, and find the IANA zone that matches a VTIMEZONE."""

from calendar import monthrange
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import cache, lru_cache
from itertools import pairwise
from zoneinfo import available_timezones

import icalendar
from tzlocal.windows_tz import win_tz

from calendars.ics.parser import Component
from recurrence.wire.zone_names import zone_of
from recurrence.zones import EPOCH, NOTHING, SECOND, offset_period_at

REGULAR = 5  # years in a row with clock changes by one rule, from which on the rule is exported
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


@dataclass(frozen=True, slots=True)
class OffsetChange:
    """A clock change from one offset from UTC to another.  `onset` is the wall time before the change."""

    onset: datetime
    offset_before: timedelta
    offset_after: timedelta
    name: str
    is_daylight: bool

    @property
    def instant(self) -> datetime:
        return self.onset.replace(tzinfo=UTC) - self.offset_before

    @property
    def kind(self) -> tuple:
        return self.offset_before, self.offset_after, self.name, self.is_daylight

    @property
    def rule(self) -> tuple:
        """Return the values that are equal in each year of a rule: month, weekday, time, and number of the weekday."""
        number = (self.onset.day - 1) // 7 + 1
        is_last = (self.onset + timedelta(days=7)).month != self.onset.month
        return self.onset.month, self.onset.weekday(), self.onset.time(), -1 if is_last else number


def changes(zone: tzinfo, start: datetime, end: datetime) -> Iterator[OffsetChange]:
    """Yield the clock changes in [start, end), earliest first."""
    second, last = (start - EPOCH) // SECOND, (end - EPOCH) // SECOND
    while True:
        period = offset_period_at(zone, second)
        if period.end >= last:
            return
        if period.after != period.offset and period.end > second:
            yield change_at(zone, EPOCH + timedelta(seconds=period.end), period.offset)
        second = period.end


def change_at(zone: tzinfo, instant: datetime, offset_before: int) -> OffsetChange:
    """Return the clock change at `instant`.  `offset_before` is in seconds.

    For Dublin, tzdata defines winter time as negative daylight saving.  Here the summer is daylight saving time,
    because many clients take negative saving for an error.
    """
    local, before = instant.astimezone(zone), timedelta(seconds=offset_before)
    after, saving = local.utcoffset() or NOTHING, local.dst() or NOTHING
    was_backwards = ((instant - SECOND).astimezone(zone).dst() or NOTHING) < NOTHING
    onset = (instant + before).replace(tzinfo=None)
    return OffsetChange(
        onset, before, after, local.tzname() or str(after), saving > NOTHING or (not saving and was_backwards)
    )


@lru_cache(maxsize=512)
def render_vtimezone(name: str, first_year: int, last_year: int) -> bytes:
    """Render the VTIMEZONE of the zone `name`, valid from the beginning of `first_year`.

    Changes that follow one rule up to `last_year` become a rule without end; other changes are listed one by one.

    icalendar's `Timezone.from_tzinfo` is not used.  It has no rules: the last listed offset would stay valid forever.
    It starts summer time an hour late, and can miss changes that are reverted within 64 days, as in Morocco.
    """
    zone = zone_of(name, "timeZone")
    start, end = datetime(first_year, 1, 1, tzinfo=UTC), datetime(last_year + 1, 1, 1, tzinfo=UTC)
    component = icalendar.Timezone()
    component.add("tzid", name)
    component.add("x-lic-location", name)
    component.add_component(render_observance([first_of(zone, start)], is_rule=False))
    by_kind: defaultdict[tuple, list[OffsetChange]] = defaultdict(list)
    for change in changes(zone, start, end):
        by_kind[change.kind].append(change)
    for group in by_kind.values():
        listed, regular = split(group, last_year)
        if listed:
            component.add_component(render_observance(listed, is_rule=False))
        if regular:
            component.add_component(render_observance(regular, is_rule=True))
    return component.to_ical()


def first_of(zone: tzinfo, start: datetime) -> OffsetChange:
    """Return the offset that is valid at `start`, as a change at this instant."""
    local = start.astimezone(zone)
    offset = local.utcoffset() or NOTHING
    is_daylight = (local.dst() or NOTHING) > NOTHING
    return OffsetChange(local.replace(tzinfo=None), offset, offset, local.tzname() or str(offset), is_daylight)


def split(group: list[OffsetChange], last_year: int) -> tuple[list[OffsetChange], list[OffsetChange]]:
    """Split the changes into those to list, and the last ones, which follow one rule in each year.

    The second list is empty if the last change is before `last_year`, or for fewer than REGULAR changes by one rule.
    """
    regular = len(group) - 1
    if group[-1].onset.year < last_year:
        return group, []
    for position, (earlier, later) in reversed([*enumerate(pairwise(group))]):
        if earlier.rule != later.rule or later.onset.year != earlier.onset.year + 1:
            break
        regular = position
    return (group[:regular], group[regular:]) if len(group) - regular >= REGULAR else (group, [])


def render_observance(group: list[OffsetChange], is_rule: bool) -> icalendar.cal.Component:
    first = group[0]
    component = icalendar.TimezoneDaylight() if first.is_daylight else icalendar.TimezoneStandard()
    component.add("dtstart", first.onset)
    component.add("tzoffsetfrom", first.offset_before)
    component.add("tzoffsetto", first.offset_after)
    component.add("tzname", first.name)
    if is_rule:
        month, weekday, _, number = first.rule
        component.add("rrule", {"freq": "yearly", "bymonth": month, "byday": f"{number}{WEEKDAYS[weekday]}"})
    elif len(group) > 1:
        component.add("rdate", [change.onset for change in group[1:]])
    return component


# Import: find the zone that matches a VTIMEZONE


def find_matching_zone(component: Component, now: datetime, preferred: Iterable[str] = ()) -> str | None:
    """Return the name of a zone with the same offsets as `component` last year, this year and next year, or None.

    The order of the search: `preferred`, then zones with a Windows name, then all others.  Raises ValueError or
    OverflowError if the component cannot be read.
    """
    start, end = (datetime(now.year + years, 1, 1, tzinfo=UTC) for years in (-1, 2))
    offsets = parse_offsets(component, start, end)
    names = dict.fromkeys([*preferred, *names_to_compare()])
    return next((name for name in names if offsets_in(name, start, end) == offsets), None)


@cache
def names_to_compare() -> list[str]:
    """Return the names in the order of the search.  Cached, because the list of all zones is read from the disk."""
    return ["UTC", *win_tz.values(), *sorted(name for name in available_timezones() if "/" in name)]


Offsets = tuple[timedelta, tuple[tuple[datetime, timedelta], ...]]  # the first offset, and later offsets by instants


@lru_cache(maxsize=2_000)
def offsets_in(name: str, start: datetime, end: datetime) -> Offsets:
    zone = zone_of(name, "timeZone")
    first = start.astimezone(zone).utcoffset() or NOTHING
    return first, tuple((each.instant, each.offset_after) for each in changes(zone, start, end))


def parse_offsets(component: Component, start: datetime, end: datetime) -> Offsets:
    """Return the offsets of a VTIMEZONE in [start, end).  Raises ValueError."""
    by_instant: dict[datetime, timedelta] = {}
    for observance in (*component.get_components("STANDARD"), *component.get_components("DAYLIGHT")):
        before, after = (offset_of(observance, name) for name in ("TZOFFSETFROM", "TZOFFSETTO"))
        for onset in onsets(observance, start.year - 1, end.year):
            by_instant[onset.replace(tzinfo=UTC) - before] = after
    if not by_instant:
        raise ValueError("it has no offset")
    in_order = sorted(by_instant.items())
    earlier = [offset for instant, offset in in_order if instant <= start]
    current = first = earlier[-1] if earlier else in_order[0][1]
    later = []
    for instant, offset in in_order:
        if start < instant < end and offset != current:
            current = offset
            later.append((instant, offset))
    return first, tuple(later)


def offset_of(observance: Component, name: str) -> timedelta:
    return icalendar.vUTCOffset.from_ical(observance.get_text(name))


def onsets(observance: Component, first_year: int, last_year: int) -> Iterator[datetime]:
    """Yield the wall times at which the observance begins: by its rule in these years, or its listed dates."""
    begin = wall_time_of(observance.get_text("DTSTART"))
    rule = observance.get_first("RRULE")
    if rule is None:
        yield begin
        for listed in observance.get_all("RDATE"):
            yield from (wall_time_of(value) for value in listed.raw.split(","))
        return
    parts = dict(part.split("=", 1) for part in rule.raw.upper().split(";") if "=" in part)
    if parts.get("FREQ") != "YEARLY" or parts.get("INTERVAL", "1") != "1":
        raise ValueError(f"its clocks change by a rule that cannot be read: {rule.raw:.80}")
    until = parts["UNTIL"][:8] if "UNTIL" in parts else "99991231"
    for year in range(max(first_year, begin.year), last_year + 1):
        day = day_of(parts, begin, year)
        if f"{day:%Y%m%d}" <= until:
            yield datetime.combine(day, begin.time())


def wall_time_of(value: str) -> datetime:
    found = icalendar.vDDDTypes.from_ical(value.strip())
    if not isinstance(found, datetime):
        raise ValueError(f"{value:.40} is no time of day")
    return found.replace(tzinfo=None)


def day_of(parts: Mapping[str, str], begin: datetime, year: int) -> date:
    """Return the day of a rule in `year`.  Raises ValueError if the year has no such day.

    Examples are BYMONTH=3;BYDAY=-1SU, and BYMONTH=3;BYMONTHDAY=8,9,10,11,12,13,14;BYDAY=SU.
    """
    month = int(parts.get("BYMONTH", begin.month))
    days = [date(year, month, day) for day in range(1, monthrange(year, month)[1] + 1)]
    if "BYMONTHDAY" in parts:
        chosen = {int(each) for each in parts["BYMONTHDAY"].split(",")}
        days = [day for day in days if day.day in chosen]
    elif "BYDAY" not in parts:
        days = [day for day in days if day.day == begin.day]
    if "BYDAY" in parts:
        weekday = WEEKDAYS.index(parts["BYDAY"][-2:])
        days = [day for day in days if day.weekday() == weekday]
    number = parts.get("BYDAY", "")[:-2] or parts.get("BYSETPOS") or "1"
    position = int(number) - (int(number) > 0)
    if not -len(days) <= position < len(days):
        raise ValueError(f"its clocks change on a day that {year} does not have")
    return days[position]
