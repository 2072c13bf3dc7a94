"""The start time and recurrence of Azure Scheduler jobs (api-version 2016-03-01).

Source: the published article on advanced schedules and recurrence, with its table of start times, its table of schedule
elements and its thirty-one examples.  Where the article is silent or contradicts itself, these rules hold:

* A week begins on Monday.  With an interval, periods are counted from the one that holds the
  first execution, which is the start time or, without one, the creation.
* Fire times of a recurrence with a `schedule`, and of one by months, have the seconds of the start time (0 without one)
  and no fractions.  Other recurrences repeat the start time as it is.
* In a recurrence by minutes or hours with a `schedule`, members that are absent restrict nothing.  But a recurrence by
  hours keeps the minute of its first execution.  The interval counts elapsed minutes or hours.
* A fire time exactly at the creation is due, one exactly at `endTime` still runs.  `count` and `endTime` may both be
  given.  Months without the day are skipped.
* Everything is UTC.  With our extension `timeZone`, hours, minutes, days, weeks and months are those of the zone's
  clocks, and times without an offset are wall times.  Only intervals of minutes and hours without a `schedule` count
  elapsed time then.  The common members `clockChange` and `endTime` are accepted too.
* `monthDays` with `monthlyOccurrences`, a schedule's `months`, and the frequencies year and second are refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from enum import Enum
from typing import cast

from recurrence.composites import Bounded, FirstThen
from recurrence.days import DateRule, EveryNDays, MonthDays, NthWeekdays, Weekly
from recurrence.elapsed import EveryWithinPeriod
from recurrence.rules import CalendarRule
from recurrence.schedules import Every, Once, Schedule
from recurrence.times import Times
from recurrence.wire import clocks, json_values
from recurrence.wire.clocks import (
    UTC_CLOCKS,
    Clocks,
    in_zone,
    read_clocks,
    read_end,
    render_clocks,
    rendered_bound,
)
from recurrence.wire.errors import Faults, WireError
from recurrence.wire.parsed import Parsed

# `minutes` without `hours` in a recurrence by days, weeks or months: in the article's examples they run in every hour
# of the day, in its prose only in the hour of the first execution.  False follows the prose.
MINUTES_ALONE_RUN_EVERY_HOUR = True

FARTHEST_START = timedelta(days=548)  # 18 months
LARGEST_COUNT = 2**31 - 1


class Frequency(Enum):
    MINUTE = "Minute"
    HOUR = "Hour"
    DAY = "Day"
    WEEK = "Week"
    MONTH = "Month"


LARGEST_INTERVAL = {  # about 18 months, and never more than 1000
    Frequency.MINUTE: 1000,
    Frequency.HOUR: 1000,
    Frequency.DAY: 548,
    Frequency.WEEK: 78,
    Frequency.MONTH: 18,
}
ELAPSED = {
    Frequency.MINUTE: timedelta(minutes=1),
    Frequency.HOUR: timedelta(hours=1),
    Frequency.DAY: timedelta(days=1),
    Frequency.WEEK: timedelta(weeks=1),
}
WITHIN_A_DAY = (Frequency.MINUTE, Frequency.HOUR)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

FREQUENCY_WORDS = {frequency.value.lower(): frequency for frequency in Frequency}
WEEKDAY_WORDS = {name.lower(): number for number, name in enumerate(WEEKDAYS)}

OCCURRENCES_SPELLINGS = ("monthlyOccurrences", "monthlyOccurences")  # the second one is a typo in the article
OCCURRENCE_SPELLINGS = ("Occurrence", "occurrence")  # as the published clients write it, and as the service wrote it
OCCURRENCE_MEMBERS = dict.fromkeys(("day", *OCCURRENCE_SPELLINGS))
SCHEDULE_MEMBERS = {
    **dict.fromkeys(("minutes", "hours", "weekDays", "monthDays")),
    **dict.fromkeys(OCCURRENCES_SPELLINGS, OCCURRENCE_MEMBERS),
}
RECURRENCE_MEMBERS = {**dict.fromkeys(("frequency", "interval", "count", "endTime")), "schedule": SCHEDULE_MEMBERS}
MEMBERS: json_values.Known = {"recurrence": RECURRENCE_MEMBERS, **clocks.MEMBERS}


def parse(definition: Mapping[str, object], created_at: datetime) -> Parsed:
    """Compile the `startTime` and `recurrence` of a job that was created, or last replaced, at `created_at`.

    The schedule holds no fire time before its creation.  Raises WireError.
    """
    created_at = created_at.astimezone(UTC)
    document = read(definition)
    _refuse_bounds(document, created_at)
    count = document.recurrence.count if document.recurrence else None
    warnings = json_values.warnings_of_unknown(definition, MEMBERS)
    return Parsed(_compile(document, created_at), count, document.clocks.zone, tuple(warnings))


def render(definition: Mapping[str, object]) -> dict[str, object]:
    """Return a definition as the service answers it: names and words as published, instants in UTC.

    In another zone, times without an offset stay wall times.  Members that were not sent and unknown members are
    absent.  Raises WireError where `parse` would, except for bounds that depend on the creation.
    """
    document = read(definition)
    answer: dict[str, object] = {}
    if definition.get("startTime") is not None:
        answer["startTime"] = rendered_bound(definition["startTime"], "startTime", document.clocks.zone)
    if document.recurrence is not None:
        end = cast(Mapping[str, object], definition["recurrence"]).get("endTime")
        answer["recurrence"] = _render_recurrence(
            document.recurrence,
            None if end is None else rendered_bound(end, "recurrence.endTime", document.clocks.zone),
        )
    return answer | render_clocks(definition, document.clocks, has_wall_bounds=True)


def start_time(definition: Mapping[str, object]) -> datetime | None:
    """Return the start time of a definition; None: it has none.  Raises WireError for a wrong one."""
    return None if definition.get("startTime") is None else read_clocks(definition, has_wall_bounds=True).start


# Reading


@dataclass(frozen=True, slots=True)
class Plan:
    """The `schedule` member.  None: the member was not sent."""

    minutes: tuple[int, ...] | None
    hours: tuple[int, ...] | None
    week_days: tuple[int, ...] | None
    month_days: tuple[int, ...] | None
    monthly_occurrences: tuple[tuple[int, int | None], ...] | None


NO_PLAN = Plan(None, None, None, None, None)


@dataclass(frozen=True, slots=True)
class Recurrence:
    frequency: Frequency
    interval: int | None
    count: int | None
    end_time: datetime | None
    plan: Plan | None


@dataclass(frozen=True, slots=True)
class Document:
    """A definition.  `first_wall` is the start time on the clocks, as if it were in UTC; None: there is no start."""

    clocks: Clocks
    first_wall: datetime | None
    recurrence: Recurrence | None

    @property
    def start_time(self) -> datetime | None:
        return self.clocks.start

    @property
    def end_time(self) -> datetime | None:
        ends = [self.clocks.end, self.recurrence.end_time if self.recurrence else None]
        return min((end for end in ends if end is not None), default=None)


def read(definition: Mapping[str, object]) -> Document:
    """Read a definition.  Raises WireError with all faults, except for bounds that depend on the creation."""
    faults = Faults()
    clocks = faults.read(read_clocks, definition, has_wall_bounds=True) or UTC_CLOCKS
    first_wall = faults.read(_first_wall, definition.get("startTime"), clocks) if clocks.start else None
    recurrence = definition.get("recurrence")
    document = Document(
        clocks,
        first_wall,
        None if recurrence is None else faults.read(_read_recurrence, recurrence, clocks.zone),
    )
    faults.refuse()
    return document


def _first_wall(value: object, clocks: Clocks) -> datetime:
    """Return the start time as a wall time: as it was written if it has no offset, although clocks may skip it."""
    if clocks.zone is UTC:
        return cast(datetime, clocks.start)
    time = json_values.instant_or_wall(value, "startTime")
    return wall_time(time, clocks.zone, "startTime") if time.tzinfo else time.replace(tzinfo=UTC)


def wall_time(instant: datetime, zone: tzinfo, path: str) -> datetime:
    """Return what clocks in `zone` show at `instant`, as if it were in UTC."""
    if zone is UTC:
        return instant
    try:
        return instant.astimezone(zone).replace(tzinfo=UTC, fold=0)
    except OverflowError:
        raise WireError(path, "out_of_range", f"must be a time that exists in {zone}") from None


def _read_recurrence(value: object, zone: tzinfo) -> Recurrence:
    path = "recurrence"
    members = json_values.mapping(value, path)
    faults = Faults()
    frequency = faults.read(_read_frequency, members.get("frequency"), f"{path}.frequency")
    max_interval = LARGEST_INTERVAL.get(frequency, max(LARGEST_INTERVAL.values()))
    interval, count, end, plan = (members.get(name) for name in ("interval", "count", "endTime", "schedule"))
    recurrence = Recurrence(
        frequency,
        None if interval is None else faults.read(json_values.integer, interval, f"{path}.interval", 1, max_interval),
        None if count is None else faults.read(json_values.integer, count, f"{path}.count", 1, LARGEST_COUNT),
        None if end is None else faults.read(read_end, end, zone, f"{path}.endTime"),
        None if plan is None else faults.read(_read_plan, plan, frequency),
    )
    faults.refuse()
    return recurrence


def _read_frequency(value: object, path: str) -> Frequency:
    if value is None:
        raise WireError(path, "required", f"must be one of {', '.join(FREQUENCY_WORDS)}")
    return json_values.word(value, path, FREQUENCY_WORDS)


def _read_plan(value: object, frequency: Frequency | None) -> Plan:
    """Read the `schedule` member.  `frequency` None: it is wrong, and no member is refused because of the frequency."""
    path = "recurrence.schedule"
    members = json_values.mapping(value, path)
    occurrences_name = _spelling(members, OCCURRENCES_SPELLINGS, path)
    faults = Faults()
    faults.read(_refuse_misplaced, members, occurrences_name, frequency, path)
    minutes, hours, week_days, month_days = (
        members.get(name) for name in ("minutes", "hours", "weekDays", "monthDays")
    )
    occurrences = members.get(occurrences_name)
    plan = Plan(
        None if minutes is None else faults.read(_read_numbers, minutes, f"{path}.minutes", 59),
        None if hours is None else faults.read(_read_numbers, hours, f"{path}.hours", 23),
        None if week_days is None else faults.read(_read_week_days, week_days, f"{path}.weekDays"),
        None if month_days is None else faults.read(_read_month_days, month_days, f"{path}.monthDays"),
        None if occurrences is None else faults.read(_read_occurrences, occurrences, f"{path}.{occurrences_name}"),
    )
    faults.refuse()
    return plan


def _refuse_misplaced(
    members: Mapping[str, object], occurrences_name: str, frequency: Frequency | None, path: str
) -> None:
    faults = Faults()
    allowed_with = {
        "weekDays": Frequency.WEEK,
        "monthDays": Frequency.MONTH,
        occurrences_name: Frequency.MONTH,
    }
    for name, allowed in allowed_with.items():
        if members.get(name) is not None and frequency not in (None, allowed):
            reason = f"goes with frequency {allowed.value} only, not with {frequency.value}"
            faults.add(WireError(f"{path}.{name}", "not_allowed", reason))
    if members.get("months") is not None:
        reason = "is not part of a schedule; use an interval of months"
        faults.add(WireError(f"{path}.months", "not_allowed", reason))
    if members.get("monthDays") is not None and members.get(occurrences_name) is not None:
        faults.add(WireError(f"{path}.{occurrences_name}", "not_allowed", "cannot stand beside monthDays"))
    faults.refuse()


def _read_numbers(value: object, path: str, highest: int) -> tuple[int, ...]:
    return json_values.each(json_values.one_or_items(value, path), json_values.integer, 0, highest)


def _read_week_days(value: object, path: str) -> tuple[int, ...]:
    return json_values.each(json_values.one_or_items(value, path), json_values.word, WEEKDAY_WORDS)


def _read_month_days(value: object, path: str) -> tuple[int, ...]:
    return json_values.each(json_values.one_or_items(value, path), json_values.number_from_either_end, 31)


def _read_occurrences(value: object, path: str) -> tuple[tuple[int, int | None], ...]:
    return json_values.each(json_values.items(value, path), _read_occurrence)


def _read_occurrence(value: object, path: str) -> tuple[int, int | None]:
    members = json_values.mapping(value, path)
    name = _spelling(members, OCCURRENCE_SPELLINGS, path)
    number = members.get(name)
    faults = Faults()
    occurrence = (
        faults.read(_read_weekday, members.get("day"), f"{path}.day"),
        None if number is None else faults.read(json_values.number_from_either_end, number, f"{path}.{name}", 5),
    )
    faults.refuse()
    return occurrence


def _read_weekday(value: object, path: str) -> int:
    if value is None:
        raise WireError(path, "required", "must be the name of a weekday")
    return json_values.word(value, path, WEEKDAY_WORDS)


def _spelling(members: Mapping[str, object], spellings: tuple[str, str], path: str) -> str:
    """Return the spelling of the member's name that was sent; the first one if none was sent."""
    sent = [name for name in spellings if members.get(name) is not None]
    if len(sent) > 1:
        raise WireError(f"{path}.{sent[1]}", "not_allowed", f"is the same as {sent[0]}; send one of them")
    return sent[0] if sent else spellings[0]


# Compiling


def _refuse_bounds(document: Document, created_at: datetime) -> None:
    start, recurrence = document.start_time, document.recurrence
    if start is not None and start - created_at > FARTHEST_START:
        raise WireError("startTime", "out_of_range", f"must be at most {FARTHEST_START.days} days ahead")
    ends = {"recurrence.endTime": recurrence.end_time if recurrence else None, "endTime": document.clocks.end}
    for path, end in ends.items():
        if end is not None and end <= created_at:
            raise WireError(path, "out_of_range", "must be in the future")
        if end is not None and start is not None and end < start:
            raise WireError(path, "out_of_range", "must not be earlier than startTime")


def _compile(document: Document, created_at: datetime) -> Schedule:
    """Apply the published table of start times.

    Its columns are a start time that is absent, past or ahead; its rows are no recurrence, a recurrence, and a
    recurrence with a schedule.
    """
    start, recurrence, end = document.start_time, document.recurrence, document.end_time
    if recurrence is None:
        return Once(max(start or created_at, created_at))
    if is_elapsed(recurrence, document.clocks.zone):
        return _bounded(_elapsed(recurrence, start or created_at, created_at), None, end)
    rule = _in_zone(document, created_at)
    if start is None:
        return _bounded(FirstThen(created_at, rule), None, end)
    if recurrence.plan is None:
        start = start.replace(microsecond=0)  # fire times have no fractions: with one, the first would be too early
    return _bounded(rule, max(start, created_at), end)


def is_elapsed(recurrence: Recurrence, zone: tzinfo) -> bool:
    """Return True if the interval counts elapsed time, and not days, weeks or months as clocks show them."""
    if recurrence.plan is not None or recurrence.frequency is Frequency.MONTH:
        return False
    return zone is UTC or recurrence.frequency in WITHIN_A_DAY


def _bounded(schedule: Schedule, start: datetime | None, until: datetime | None) -> Schedule:
    return schedule if start is None and until is None else Bounded(schedule, start, until)


def _elapsed(recurrence: Recurrence, first: datetime, created_at: datetime) -> Every:
    """Return the schedule of the instants first + k x interval that are not before the creation."""
    interval = ELAPSED[recurrence.frequency] * (recurrence.interval or 1)
    missed = max(0, -((first - created_at) // interval))
    return Every(interval, first + missed * interval)


def _in_zone(document: Document, created_at: datetime) -> Schedule:
    recurrence, clocks = document.recurrence, document.clocks
    assert recurrence is not None
    first = document.first_wall or wall_time(created_at, clocks.zone, "timeZone")
    second = first.second if document.first_wall or recurrence.plan is None else 0
    return in_zone(_rule(recurrence, first, second), clocks.zone, clocks.clock_change, is_interval(recurrence))


def is_interval(recurrence: Recurrence) -> bool:
    """Return True if the recurrence has every hour or minute, or counts them, like a cron field with `*` or `/`."""
    plan = recurrence.plan
    if plan is None:
        return False
    if recurrence.frequency in WITHIN_A_DAY and (recurrence.interval or 1) > 1:
        return True
    has_all_minutes = recurrence.frequency is Frequency.MINUTE and plan.minutes is None
    return has_all_minutes or (plan.hours is None and _runs_every_hour(recurrence.frequency, plan))


def _rule(recurrence: Recurrence, first: datetime, second: int) -> CalendarRule | EveryWithinPeriod:
    """Return the rule in wall times; `first` is the wall time from which it counts."""
    frequency, interval, plan = recurrence.frequency, recurrence.interval or 1, recurrence.plan
    if plan is None:
        times = Times.of([first.hour], [first.minute], [second])
        return CalendarRule(_days(frequency, interval, NO_PLAN, first), times, UTC)
    times = times_of(frequency, plan, first, second)
    if frequency not in WITHIN_A_DAY:
        return CalendarRule(_days(frequency, interval, plan, first), times, UTC)
    if interval == 1:
        return CalendarRule(EveryNDays(first.date()), times, UTC)
    return EveryWithinPeriod(ELAPSED[frequency] // timedelta(minutes=1), interval, first, times)


def times_of(frequency: Frequency, plan: Plan, first: datetime, second: int) -> Times:
    if frequency is Frequency.MINUTE:
        return Times.of(plan.hours or range(24), plan.minutes or range(60), [second])
    hours = plan.hours or (range(24) if _runs_every_hour(frequency, plan) else [first.hour])
    return Times.of(hours, plan.minutes or [first.minute], [second])


def _runs_every_hour(frequency: Frequency, plan: Plan) -> bool:
    """Return True if a plan without hours runs in every hour, and not only in that of the first run."""
    return frequency in WITHIN_A_DAY or (MINUTES_ALONE_RUN_EVERY_HOUR and plan.minutes is not None)


def _days(frequency: Frequency, interval: int, plan: Plan, first: datetime) -> DateRule:
    day = first.date()
    if frequency is Frequency.DAY:
        return EveryNDays(day, interval)
    if frequency is Frequency.WEEK:
        return Weekly(day, frozenset(plan.week_days or [day.weekday()]), interval)
    if plan.monthly_occurrences is not None:
        return NthWeekdays(day, frozenset(plan.monthly_occurrences), interval)
    return MonthDays(day, frozenset(plan.month_days or [day.day]), interval)


# Rendering


def _render_recurrence(recurrence: Recurrence, end: str | None) -> dict[str, object]:
    answer: dict[str, object] = {
        "frequency": recurrence.frequency.value,
        "interval": recurrence.interval,
        "count": recurrence.count,
        "endTime": end,
        "schedule": recurrence.plan and _render_plan(recurrence.plan),
    }
    return {name: value for name, value in answer.items() if value is not None}


def _render_plan(plan: Plan) -> dict[str, object]:
    answer: dict[str, object] = {
        "minutes": plan.minutes and list(plan.minutes),
        "hours": plan.hours and list(plan.hours),
        "weekDays": plan.week_days and [WEEKDAYS[day] for day in plan.week_days],
        "monthDays": plan.month_days and list(plan.month_days),
        "monthlyOccurrences": plan.monthly_occurrences
        and [_render_occurrence(*each) for each in plan.monthly_occurrences],
    }
    return {name: value for name, value in answer.items() if value is not None}


def _render_occurrence(day: int, number: int | None) -> dict[str, object]:
    return {"day": WEEKDAYS[day]} if number is None else {"day": WEEKDAYS[day], "Occurrence": number}
