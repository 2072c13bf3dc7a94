"""Time zones as iCalendar describes them: VTIMEZONE out, and the IANA zone whose clocks run as one says."""

from calendar import monthrange
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from itertools import pairwise
from zoneinfo import available_timezones

import icalendar
from tzlocal.windows_tz import win_tz

from calendars.components import Component
from recurrence.wire.zone_names import zone_of
from recurrence.zones import EPOCH, NOTHING, SECOND, stretch_at

REGULAR = 5  # years in which clocks change by one rule, before it is believed to go on
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


@dataclass(frozen=True, slots=True)
class Change:
    """Clocks are set from one offset from UTC to another when they show `onset`."""

    onset: datetime
    before: timedelta
    after: timedelta
    name: str
    is_daylight: bool

    @property
    def at(self) -> datetime:
        return self.onset.replace(tzinfo=UTC) - self.before

    @property
    def kind(self) -> tuple:
        return self.before, self.after, self.name, self.is_daylight

    @property
    def rule(self) -> tuple:
        """What stays from year to year where clocks change by a rule: the month, the weekday and its number."""
        number = (self.onset.day - 1) // 7 + 1
        is_last = (self.onset + timedelta(days=7)).month != self.onset.month
        return self.onset.month, self.onset.weekday(), self.onset.time(), -1 if is_last else number


def changes(zone: tzinfo, start: datetime, end: datetime) -> Iterator[Change]:
    """Yield the changes of clocks in [start, end), earliest first."""
    second, last = (start - EPOCH) // SECOND, (end - EPOCH) // SECOND
    while True:
        stretch = stretch_at(zone, second)
        if stretch.end >= last:
            return
        if stretch.after != stretch.offset and stretch.end > second:
            yield change_at(zone, EPOCH + timedelta(seconds=stretch.end), stretch.offset)
        second = stretch.end


def change_at(zone: tzinfo, instant: datetime, offset_before: int) -> Change:
    """Where tzdata counts winter time as saving backwards, as in Dublin, it is the summer that saves: many readers take
    the other for a mistake."""
    local, before = instant.astimezone(zone), timedelta(seconds=offset_before)
    after, saving = local.utcoffset() or NOTHING, local.dst() or NOTHING
    was_backwards = ((instant - SECOND).astimezone(zone).dst() or NOTHING) < NOTHING
    onset = (instant + before).replace(tzinfo=None)
    return Change(
        onset, before, after, local.tzname() or str(after), saving > NOTHING or (not saving and was_backwards)
    )


@lru_cache(maxsize=512)
def described(name: str, first_year: int, last_year: int) -> bytes:
    """The VTIMEZONE of the zone `name`, good from the beginning of `first_year`.

    What changes by a rule up to `last_year` goes on by it; other changes are listed one by one up to then.
    """
    zone = zone_of(name, "timeZone")
    start, end = datetime(first_year, 1, 1, tzinfo=UTC), datetime(last_year + 1, 1, 1, tzinfo=UTC)
    component = icalendar.Timezone()
    component.add("tzid", name)
    component.add("x-lic-location", name)
    component.add_component(observance([first_of(zone, start)], is_rule=False))
    by_kind: defaultdict[tuple, list[Change]] = defaultdict(list)
    for change in changes(zone, start, end):
        by_kind[change.kind].append(change)
    for group in by_kind.values():
        listed, regular = split(group, last_year)
        if listed:
            component.add_component(observance(listed, is_rule=False))
        if regular:
            component.add_component(observance(regular, is_rule=True))
    return component.to_ical()


def first_of(zone: tzinfo, start: datetime) -> Change:
    """What holds at the beginning, as if it began there."""
    local = start.astimezone(zone)
    offset = local.utcoffset() or NOTHING
    is_daylight = (local.dst() or NOTHING) > NOTHING
    return Change(local.replace(tzinfo=None), offset, offset, local.tzname() or str(offset), is_daylight)


def split(group: list[Change], last_year: int) -> tuple[list[Change], list[Change]]:
    """The changes to list, and those at the end that go by one rule and will."""
    regular = len(group) - 1
    if group[-1].onset.year < last_year:
        return group, []
    for position, (one, other) in reversed([*enumerate(pairwise(group))]):
        if one.rule != other.rule or other.onset.year != one.onset.year + 1:
            break
        regular = position
    return (group[:regular], group[regular:]) if len(group) - regular >= REGULAR else (group, [])


def observance(group: list[Change], is_rule: bool) -> icalendar.cal.Component:
    first = group[0]
    component = icalendar.TimezoneDaylight() if first.is_daylight else icalendar.TimezoneStandard()
    component.add("dtstart", first.onset)
    component.add("tzoffsetfrom", first.before)
    component.add("tzoffsetto", first.after)
    component.add("tzname", first.name)
    if is_rule:
        month, weekday, _, number = first.rule
        component.add("rrule", {"freq": "yearly", "bymonth": month, "byday": f"{number}{WEEKDAYS[weekday]}"})
    elif len(group) > 1:
        component.add("rdate", [change.onset for change in group[1:]])
    return component


# In: whose clocks run as a VTIMEZONE of somebody's says


def named_like(component: Component, now: datetime, preferred: Iterable[str] = ()) -> str | None:
    """The name of a zone whose clocks run as `component` says, last year, this year and next; None: there is none.

    `preferred` are looked at first, then the zones that Windows knows, then all others.  Raises ValueError or
    OverflowError for what cannot be read.
    """
    start, end = (datetime(now.year + years, 1, 1, tzinfo=UTC) for years in (-1, 2))
    said = told_by(component, start, end)
    names = [*preferred, "UTC", *win_tz.values(), *sorted(name for name in available_timezones() if "/" in name)]
    return next((name for name in dict.fromkeys(names) if offsets_in(name, start, end) == said), None)


Offsets = tuple[timedelta, tuple[tuple[datetime, timedelta], ...]]  # the first one, and those that follow at instants


@lru_cache(maxsize=2_000)
def offsets_in(name: str, start: datetime, end: datetime) -> Offsets:
    zone = zone_of(name, "timeZone")
    first = start.astimezone(zone).utcoffset() or NOTHING
    return first, tuple((each.at, each.after) for each in changes(zone, start, end))


def told_by(component: Component, start: datetime, end: datetime) -> Offsets:
    """What the VTIMEZONE says of [start, end)."""
    found: dict[datetime, timedelta] = {}
    for each in (*component.parts_named("STANDARD"), *component.parts_named("DAYLIGHT")):
        before, after = (offset_of(each, name) for name in ("TZOFFSETFROM", "TZOFFSETTO"))
        for onset in onsets(each, start.year - 1, end.year):
            found[onset.replace(tzinfo=UTC) - before] = after
    if not found:
        raise ValueError("it has no offset")
    in_order = sorted(found.items())
    earlier = [offset for instant, offset in in_order if instant <= start]
    current = first = earlier[-1] if earlier else in_order[0][1]
    later = []
    for instant, offset in in_order:
        if start < instant < end and offset != current:
            current = offset
            later.append((instant, offset))
    return first, tuple(later)


def offset_of(observance: Component, name: str) -> timedelta:
    return icalendar.vUTCOffset.from_ical(observance.text(name))


def onsets(observance: Component, first_year: int, last_year: int) -> Iterator[datetime]:
    """What clocks show when the observance begins: by its rule in these years, else as it is listed."""
    begin = reading_of(observance.text("DTSTART"))
    rule = observance.first("RRULE")
    if rule is None:
        yield begin
        for listed in observance.all("RDATE"):
            yield from (reading_of(each) for each in listed.raw.split(","))
        return
    parts = dict(part.split("=", 1) for part in rule.raw.upper().split(";") if "=" in part)
    if parts.get("FREQ") != "YEARLY" or parts.get("INTERVAL", "1") != "1":
        raise ValueError(f"its clocks change by a rule that cannot be read: {rule.raw:.80}")
    until = parts["UNTIL"][:8] if "UNTIL" in parts else "99991231"
    for year in range(max(first_year, begin.year), last_year + 1):
        day = day_of(parts, begin, year)
        if f"{day:%Y%m%d}" <= until:
            yield datetime.combine(day, begin.time())


def reading_of(value: str) -> datetime:
    found = icalendar.vDDDTypes.from_ical(value.strip())
    if not isinstance(found, datetime):
        raise ValueError(f"{value:.40} is no time of day")
    return found.replace(tzinfo=None)


def day_of(parts: Mapping[str, str], begin: datetime, year: int) -> date:
    """The day of a rule such as BYMONTH=3;BYDAY=-1SU, or BYMONTH=3;BYMONTHDAY=8,9,10,11,12,13,14;BYDAY=SU."""
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
