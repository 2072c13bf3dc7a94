"""Translate a schedule into another format, and list what the other format cannot express.

A schedule is read into a `Pattern`, which has what crontab lines, Quartz expressions and Azure recurrences have in
common, and is written from the `Pattern`.  What a format cannot express is reported in every case, and is left out if
the rest still makes sense.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from recurrence.bits import lowest, mask_of, members
from recurrence.cron import ALL_MONTHS, ALL_YEARS, FIRST_YEAR, LAST_YEAR
from recurrence.schedules import just_before
from recurrence.times import ALL_HOURS, ALL_MINUTES
from recurrence.wire import azure, crontab, json_values, quartz
from recurrence.wire.azure import ELAPSED, Frequency
from recurrence.wire.clocks import ClockChange, Policy, Preset, read_clocks, rendered_clock_change, rendered_instant
from recurrence.wire.cron_text import SIGNS, as_interval, format_field, format_times, listed
from recurrence.wire.crontab import ALL_MONTH_DAYS, ALL_WEEKDAYS
from recurrence.wire.errors import WireError
from recurrence.wire.parsed import Parsed
from recurrence.wire.zone_names import iana_name, zone_of
from recurrence.zones import Fold, Gap

FORMATS = ("cron", "quartz", "azure")
RENDERERS = {"cron": crontab.render, "quartz": quartz.render, "azure": azure.render}
READERS = {"cron": crontab.parse, "quartz": quartz.parse, "azure": azure.parse}
MEMBERS: Mapping[str, json_values.Known] = {"cron": crontab.MEMBERS, "quartz": quartz.MEMBERS, "azure": azure.MEMBERS}
NAMES = {"cron": "a crontab line", "quartz": "a Quartz expression", "azure": "an Azure recurrence"}
NEXT_MINUTE = timedelta(minutes=1)
HOURS_A_DAY, MINUTES_AN_HOUR, MONTHS_A_YEAR = 24, 60, 12
MINUTES_A_DAY = HOURS_A_DAY * MINUTES_AN_HOUR
AT_CREATION = "Without a startTime it also runs once when it is created, which the translation does not."


@dataclass(frozen=True, slots=True)
class Translation:
    """The result of a translation.  `definition` is None when the other format cannot express the schedule.

    `losses` are sentences about what cannot be expressed; each begins with the member.  With both a definition and
    losses, the translation is close but not equal.  `notes` are further sentences for the author.
    """

    definition: dict[str, object] | None
    losses: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pattern:
    """Sets of numbers as bit masks, in the wall time of `zone`; in `weekdays`, 0 is Sunday.

    A day must be in both sets of days, or in one of them if `days_are_alternatives`.  With `day_word`, one of Quartz's
    forms with L, W or #, that word alone decides.  `members` maps a property of the pattern to the source's member.
    """

    hours: int
    minutes: int
    seconds: int = 1
    month_days: int = ALL_MONTH_DAYS
    weekdays: int = ALL_WEEKDAYS
    days_are_alternatives: bool = False
    day_word: str = ""
    months: int = ALL_MONTHS
    years: int = ALL_YEARS
    is_stepping: bool = True
    zone: str = "UTC"
    clock_change: ClockChange = Preset.CRON
    start: datetime | None = None
    end: datetime | None = None
    members: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_every_day(self) -> bool:
        return not self.day_word and self.month_days == ALL_MONTH_DAYS and self.weekdays == ALL_WEEKDAYS

    @property
    def has_both_days(self) -> bool:
        return self.month_days != ALL_MONTH_DAYS and self.weekdays != ALL_WEEKDAYS

    def loss_text(self, what: str, message: str) -> str:
        return f"{self.members.get(what, 'expression')}: {message}"


def parse(format: str, definition: Mapping[str, object], now: datetime) -> Parsed:
    """Compile a definition in one of the FORMATS.  Raises WireError."""
    if format not in READERS:
        raise WireError("format", "unsupported", f"must be one of {', '.join(FORMATS)}, not {format!r:.80}")
    return READERS[format](definition, now)


def translate(format: str, definition: Mapping[str, object], to: str, now: datetime) -> Translation:
    """Translate a definition into the format `to`, as it fires from `now` on.  Raises WireError for a wrong one."""
    source = parse(format, definition, now)
    if format == to:
        return Translation(RENDERERS[to](definition))
    losses: list[str] = []
    notes: list[str] = []
    pattern = PATTERNS[format](definition, now, losses, notes)
    translated = WRITERS[to](pattern, source, now, losses) if pattern else None
    if translated is not None:
        try:
            parse(to, translated, now)
        except WireError as error:
            losses.append(f"{error.path}: {error.message} in {NAMES[to]}")
            translated = None
    return Translation(translated, tuple(losses), tuple(notes))


# Reading a pattern


def _from_cron(definition: Mapping[str, object], now: datetime, losses: list[str], notes: list[str]) -> Pattern:
    line = crontab.parse_line(str(definition[crontab.PATH]))
    return Pattern(
        line.hours,
        line.minutes,
        month_days=line.month_days,
        weekdays=line.weekdays,
        days_are_alternatives=line.days_are_alternatives,
        months=line.months,
        is_stepping=line.is_stepping,
        **_clocks_of(definition, now),
    )


def _from_quartz(definition: Mapping[str, object], now: datetime, losses: list[str], notes: list[str]) -> Pattern:
    rendered = quartz.render(definition)
    fields = quartz.parse_expression(str(rendered[quartz.PATH]))
    days = (fields.day_of_month, fields.day_of_week)
    word = next((each.text for each in days if not each.mask and each.text != "?"), "")
    return Pattern(
        fields.hour.mask,
        fields.minute.mask,
        fields.second.mask,
        month_days=fields.day_of_month.mask or ALL_MONTH_DAYS,
        weekdays=fields.day_of_week.mask >> 1 or ALL_WEEKDAYS,
        day_word=word,
        months=fields.month.mask,
        years=fields.year.mask >> FIRST_YEAR,
        is_stepping=fields.is_stepping,
        **_clocks_of(definition, now),
    )


def _clocks_of(definition: Mapping[str, object], now: datetime) -> dict[str, Any]:
    """Return the properties of a pattern that have the same members in crontab lines and in Quartz expressions."""
    clocks = read_clocks(definition)
    return {
        "zone": _zone_name(definition),
        "clock_change": clocks.clock_change,
        "start": _start_if_ahead(clocks.start, now),
        "end": clocks.end,
        "members": {"zone": "timeZone", "clock_change": "clockChange", "start": "startTime", "end": "endTime"},
    }


def _zone_name(definition: Mapping[str, object]) -> str:
    name = definition.get("timeZone")
    return "UTC" if zone_of(name, "timeZone") is UTC else iana_name(name, "timeZone")


def _start_if_ahead(start: datetime | None, now: datetime) -> datetime | None:
    return start if start is not None and start > now else None


# From an Azure recurrence to a pattern: an interval of elapsed time that divides the day has fixed times of the day


AZURE_MEMBERS = {
    "start": "startTime",
    "end": "recurrence.endTime",
    "zone": "timeZone",
    "clock_change": "clockChange",
    "seconds": "startTime",
    "years": "startTime",
    "months": "recurrence.interval",
}


def _from_azure(definition: Mapping[str, object], now: datetime, losses: list[str], notes: list[str]) -> Pattern | None:
    document = azure.read(definition)
    recurrence, start, clocks = document.recurrence, document.start_time, document.clocks
    if (start or now).microsecond and (recurrence is None or recurrence.plan is None):
        losses.append("startTime: a fraction of a second cannot be said")
    if recurrence is None:
        return _only(max(start or now, now), losses)
    if start is None and (recurrence.plan or not azure.is_elapsed(recurrence, clocks.zone)):
        notes.append(AT_CREATION)
    if recurrence.count is not None:
        losses.append("recurrence.count: an end after a number of times cannot be said")
    in_zone: dict[str, Any] = {"start": _start_if_ahead(start, now), "end": document.end_time}
    first = start or now
    if not azure.is_elapsed(recurrence, clocks.zone):
        first = document.first_wall or azure.wall_time(now, clocks.zone, "timeZone")
        in_zone |= {
            "zone": _zone_name(definition),
            "clock_change": clocks.clock_change,
            "is_stepping": azure.is_interval(recurrence),
        }
    pattern = _recurring(recurrence, first, start is not None, losses)
    if pattern is None:
        return None
    ends = {"end": "endTime"} if clocks.end is not None and clocks.end == document.end_time else {}
    return replace(pattern, **in_zone, members={**AZURE_MEMBERS, **ends, **pattern.members})


def _only(at: datetime, losses: list[str]) -> Pattern | None:
    if not FIRST_YEAR <= at.year <= LAST_YEAR:
        losses.append(f"startTime: a year after {LAST_YEAR} cannot be said")
        return None
    return Pattern(
        1 << at.hour,
        1 << at.minute,
        1 << at.second,
        month_days=1 << at.day,
        months=1 << at.month,
        years=1 << at.year - FIRST_YEAR,
        members=dict.fromkeys(("days", "years", "seconds"), "startTime"),
    )


def _recurring(recurrence: azure.Recurrence, first: datetime, has_start: bool, losses: list[str]) -> Pattern | None:
    frequency, interval = recurrence.frequency, recurrence.interval or 1
    hours, minutes, second = 1 << first.hour, 1 << first.minute, first.second
    if recurrence.plan is not None:
        times = azure.times_of(frequency, recurrence.plan, first, first.second if has_start else 0)
        hours, minutes, second = times.hours, times.minutes, times.first % 60
    pattern = Pattern(hours, minutes, 1 << second, members={"days": "recurrence.schedule"})
    if frequency is Frequency.MONTH:
        return _monthly(pattern, recurrence, first, losses)
    if frequency is Frequency.WEEK and recurrence.plan:
        return _weekly(pattern, recurrence, first, losses)
    every = ELAPSED[frequency] * interval // NEXT_MINUTE
    if every % MINUTES_A_DAY == 0 and (recurrence.plan is None or frequency is Frequency.DAY):
        return _daily(pattern, every // MINUTES_A_DAY, first, losses)
    return _within_a_day(pattern, recurrence, every, first, losses)


def _monthly(pattern: Pattern, recurrence: azure.Recurrence, first: datetime, losses: list[str]) -> Pattern | None:
    interval = recurrence.interval or 1
    if MONTHS_A_YEAR % interval:
        losses.append(f"recurrence.interval: every {interval} months, which do not divide a year, cannot be said")
        return None
    months = mask_of((first.month - 1 + step) % MONTHS_A_YEAR + 1 for step in range(0, MONTHS_A_YEAR, interval))
    pattern = replace(pattern, months=months)
    plan = recurrence.plan
    if plan and plan.monthly_occurrences is not None:
        return _with_occurrences(pattern, set(plan.monthly_occurrences), losses)
    days = set(plan.month_days if plan and plan.month_days else [first.day])
    pattern = replace(pattern, members={"days": "recurrence.schedule.monthDays"})
    if min(days) > 0:
        return replace(pattern, month_days=mask_of(days))
    if len(days) > 1:
        losses.append("recurrence.schedule.monthDays: several days, one of them counted from the end, cannot be said")
        return None
    before = -days.pop() - 1
    return replace(pattern, day_word=f"L-{before}" if before else "L")


def _with_occurrences(pattern: Pattern, occurrences: set[tuple[int, int | None]], losses: list[str]) -> Pattern | None:
    """Return the pattern with weekdays of the month, or None when no other format can express them.

    `occurrences` are pairs of a weekday (0 is Monday) and its number in the month; None: every one in the month.
    """
    path = "recurrence.schedule.monthlyOccurrences"
    pattern = replace(pattern, members={"days": path})
    every = {day for day, number in occurrences if number is None}
    numbered = {(day, number) for day, number in occurrences if number is not None and day not in every}
    if not numbered:
        return replace(pattern, weekdays=mask_of((day + 1) % 7 for day in every))
    if every or len(numbered) > 1:
        losses.append(f"{path}: several weekdays of the month by their numbers cannot be said")
        return None
    day, number = numbered.pop()
    if number < -1:
        losses.append(f"{path}: a weekday counted from the end cannot be said, but for the last")
        return None
    name = quartz.WEEKDAY_NAMES[(day + 1) % 7]
    return replace(pattern, day_word=f"{name}L" if number == -1 else f"{name}#{number}")


def _weekly(pattern: Pattern, recurrence: azure.Recurrence, first: datetime, losses: list[str]) -> Pattern | None:
    if (recurrence.interval or 1) > 1:
        losses.append(f"recurrence.interval: every {recurrence.interval} weeks cannot be said")
        return None
    assert recurrence.plan is not None
    days = recurrence.plan.week_days or [first.weekday()]
    return replace(
        pattern,
        weekdays=mask_of((day + 1) % 7 for day in days),
        members={"days": "recurrence.schedule.weekDays"},
    )


def _daily(pattern: Pattern, days: int, first: datetime, losses: list[str]) -> Pattern | None:
    if days == 1:
        return pattern
    if days == 7:
        return replace(pattern, weekdays=1 << first.isoweekday() % 7)
    message = f"recurrence.interval: every {days} days, on from one month to the next, cannot be said"
    if days % 7 == 0 or days > 31:
        losses.append(message)
        return None
    losses.append(f"{message}: the count begins anew in each month")
    return replace(pattern, month_days=mask_of(range((first.day - 1) % days + 1, 32, days)))


def _within_a_day(
    pattern: Pattern, recurrence: azure.Recurrence, every: int, first: datetime, losses: list[str]
) -> Pattern | None:
    """Return the pattern of an interval of `every` minutes, limited to the hours and minutes that are listed, if any.

    None: the recurrence cannot be translated.
    """
    is_limited = recurrence.plan is not None
    hours, minutes = (pattern.hours, pattern.minutes) if is_limited else (ALL_HOURS, ALL_MINUTES)
    unit, size, at, step = ("hours", HOURS_A_DAY, first.hour, every // MINUTES_AN_HOUR)
    if every % MINUTES_AN_HOUR:
        unit, size, at, step = ("minutes", MINUTES_AN_HOUR, first.minute, every)
    if size % step:
        message = f"recurrence.interval: every {step} {unit}, which do not divide {NATURAL[unit]}, cannot be said"
        if is_limited or step > size:
            losses.append(message)
            return None
        losses.append(f"{message}: the count begins anew in each {NATURAL[unit].split()[-1]}")
    grid = mask_of(range(at % step, size, step))
    if unit == "minutes":
        minutes &= grid
    else:
        hours &= grid
        minutes = minutes if recurrence.frequency is Frequency.HOUR and is_limited else minutes & 1 << first.minute
    if not (hours and minutes):
        losses.append("recurrence.schedule: it has no fire time")
        return None
    return replace(pattern, hours=hours, minutes=minutes)


NATURAL = {"minutes": "an hour", "hours": "a day"}


# Writing a pattern


def _to_cron(pattern: Pattern, source: Parsed, now: datetime, losses: list[str]) -> dict[str, object] | None:
    number_of_losses = len(losses)
    if pattern.seconds != 1:
        losses.append(pattern.loss_text("seconds", "other seconds than 0 cannot be said in a crontab line"))
    if pattern.day_word:
        losses.append(pattern.loss_text("days", f"{pattern.day_word} cannot be said in a crontab line"))
    if pattern.years != ALL_YEARS:
        losses.append(pattern.loss_text("years", "a year cannot be said in a crontab line"))
    if len(losses) > number_of_losses:
        return None
    times = format_times(pattern.minutes, 60) + format_times(pattern.hours, 24)
    line = crontab.Line(
        pattern.minutes,
        pattern.hours,
        pattern.month_days,
        pattern.months,
        pattern.weekdays,
        pattern.days_are_alternatives,
        is_stepping=any(sign in times for sign in SIGNS) if pattern.zone == "UTC" else pattern.is_stepping,
    )
    return {"expression": str(line), **_clock_members(pattern)}


def _to_quartz(pattern: Pattern, source: Parsed, now: datetime, losses: list[str]) -> dict[str, object] | None:
    if pattern.has_both_days:
        message = (
            "days of the month or of the week cannot be said in one Quartz expression: take one trigger for each"
            if pattern.days_are_alternatives
            else "days that must fit both day fields cannot be said in a Quartz expression"
        )
        losses.append(pattern.loss_text("days", message))
        return None
    fields = [(pattern.seconds, 60), (pattern.minutes, 60), (pattern.hours, 24)]
    if pattern.is_stepping or pattern.zone == "UTC":
        times = [format_times(*each) for each in fields]
        if pattern.zone != "UTC" and not any(sign in text for text in times for sign in SIGNS):
            times[-1] = as_interval(times[-1])
    else:
        times = [listed(mask) for mask, _ in fields]
    days, weekdays = _day_fields(pattern)
    texts = [*times, days, format_field(pattern.months, 1, 12), weekdays]
    if pattern.years != ALL_YEARS:
        texts.append(format_field(pattern.years << FIRST_YEAR, FIRST_YEAR, LAST_YEAR))
    return {"expression": " ".join(texts), **_clock_members(pattern)}


def _day_fields(pattern: Pattern) -> tuple[str, str]:
    if pattern.day_word:
        is_of_week = any(name in pattern.day_word for name in quartz.WEEKDAY_NAMES)
        return ("?", pattern.day_word) if is_of_week else (pattern.day_word, "?")
    if pattern.weekdays != ALL_WEEKDAYS:
        return "?", format_field(pattern.weekdays, 0, 6, quartz.WEEKDAY_NAMES)
    return format_field(pattern.month_days, 1, 31), "?"


def _clock_members(pattern: Pattern) -> dict[str, object]:
    answer: dict[str, object] = {} if pattern.zone == "UTC" else {"timeZone": pattern.zone}
    if pattern.clock_change is not Preset.CRON:
        answer["clockChange"] = rendered_clock_change(pattern.clock_change)
    bounds = (("startTime", pattern.start), ("endTime", pattern.end))
    return answer | {name: rendered_instant(bound) for name, bound in bounds if bound is not None}


def _to_azure(pattern: Pattern, source: Parsed, now: datetime, losses: list[str]) -> dict[str, object] | None:
    step = _month_step(pattern.months)
    refusals = [
        (pattern.seconds != 1, "seconds", "other seconds than 0 cannot be said in an Azure recurrence"),
        (pattern.years != ALL_YEARS, "years", "a year cannot be said in an Azure recurrence"),
        (pattern.day_word.endswith("W"), "days", f"{pattern.day_word} cannot be said in an Azure recurrence"),
        (pattern.has_both_days, "days", "days of the month and of the week cannot be said in one Azure recurrence"),
        (step is None, "months", "months that are not equally far apart cannot be said in an Azure recurrence"),
    ]
    refused = [pattern.loss_text(what, message) for is_refused, what, message in refusals if is_refused]
    if refused or step is None:
        losses += refused
        return None
    first = source.schedule.after(just_before(now))
    if first is None:
        losses.append(pattern.loss_text("start", "it does not fire again"))
        return None
    recurrence = _recurrence(pattern, step)
    if pattern.end is not None:
        recurrence["endTime"] = rendered_instant(pattern.end)
    return {"startTime": rendered_instant(first), "recurrence": recurrence, **_azure_clocks(pattern, recurrence)}


def _azure_clocks(pattern: Pattern, recurrence: Mapping[str, object]) -> dict[str, object]:
    """Return the zone and the clock change.

    If Azure's members do not show whether the pattern is an interval, the preset `cron` is replaced by its policy.
    """
    if pattern.zone == "UTC":
        return {}
    clock_change = pattern.clock_change
    read = azure.read({"recurrence": recurrence}).recurrence
    if clock_change is Preset.CRON and read and azure.is_interval(read) is not pattern.is_stepping:
        clock_change = Policy(Gap.END, Fold.BOTH if pattern.is_stepping else Fold.FIRST)
    named = {} if clock_change is Preset.CRON else {"clockChange": rendered_clock_change(clock_change)}
    return {"timeZone": pattern.zone, **named}


def _month_step(months: int) -> int | None:
    """Return the number of months from each to the next, also over the end of the year; None if that varies."""
    number = months.bit_count()
    step = MONTHS_A_YEAR // number
    first = lowest(months)
    is_even = MONTHS_A_YEAR % number == 0 and months == mask_of(range(first, 13, step)) and first <= step
    return step if is_even else None


def _recurrence(pattern: Pattern, step: int) -> dict[str, object]:
    if pattern.is_every_day and step == 1:
        return _recurrence_within_a_day(pattern)
    plan: dict[str, object] = {"hours": [*members(pattern.hours)], "minutes": [*members(pattern.minutes)]}
    weekdays = [
        azure.WEEKDAYS[(day - 1) % 7] for day in sorted(members(pattern.weekdays), key=lambda day: (day - 1) % 7)
    ]
    if pattern.day_word:
        plan |= _day_word(pattern.day_word)
    elif pattern.weekdays == ALL_WEEKDAYS:
        plan["monthDays"] = [*members(pattern.month_days)]
    elif step == 1:
        return {"frequency": "Week", "schedule": {"weekDays": weekdays, **plan}}
    else:
        plan["monthlyOccurrences"] = [{"day": day} for day in weekdays]
    every: dict[str, object] = {} if step == 1 else {"interval": step}
    return {"frequency": "Month", **every, "schedule": plan}


def _recurrence_within_a_day(pattern: Pattern) -> dict[str, object]:
    """Return the recurrence; the members that it leaves out follow from the startTime, which is the first fire time.

    In a zone a clock change may have moved that fire time, so nothing is left out.
    """
    minutes = pattern.minutes.bit_count()
    if pattern.hours == ALL_HOURS and pattern.zone != "UTC":  # minutes without a plan would be elapsed time
        return {"frequency": "Hour", "schedule": {"minutes": [*members(pattern.minutes)]}}
    if pattern.hours == ALL_HOURS:
        step = MINUTES_AN_HOUR // minutes
        if minutes == 1:
            return {"frequency": "Hour"}
        if pattern.minutes == mask_of(range(lowest(pattern.minutes), MINUTES_AN_HOUR, step)) and minutes * step == 60:
            return {"frequency": "Minute", "interval": step}
        return {"frequency": "Hour", "schedule": {"minutes": [*members(pattern.minutes)]}}
    if minutes == pattern.hours.bit_count() == 1 and pattern.zone == "UTC":
        return {"frequency": "Day"}
    return {
        "frequency": "Day",
        "schedule": {"hours": [*members(pattern.hours)], "minutes": [*members(pattern.minutes)]},
    }


def _day_word(word: str) -> dict[str, object]:
    """Return the members for a day word of Quartz: L, L-3, FRIL or MON#2."""
    if word.startswith("L"):
        return {"monthDays": [-1 - int(word.partition("-")[2] or 0)]}
    name, _, number = word.removesuffix("L").partition("#")
    day = azure.WEEKDAYS[(quartz.WEEKDAY_NAMES.index(name) - 1) % 7]
    return {"monthlyOccurrences": [{"day": day, "Occurrence": int(number or -1)}]}


PATTERNS = {"cron": _from_cron, "quartz": _from_quartz, "azure": _from_azure}
WRITERS = {"cron": _to_cron, "quartz": _to_quartz, "azure": _to_azure}
