"""How a schedule reads clocks: the members `timeZone`, `clockChange`, `startTime` and `endTime` of several formats.

`clockChange` is the name of a preset or an object.  The presets treat intervals and fixed times differently; an object
treats all fire times alike.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from enum import StrEnum

from recurrence.composites import Bounded
from recurrence.rules import QuartzSchedule, ZonedRule, in_zone_by_cron
from recurrence.schedules import Schedule
from recurrence.series import Series, SeriesWallTimes
from recurrence.wire import json_values
from recurrence.wire.errors import Faults, WireError
from recurrence.wire.zone_names import iana_name, zone_of
from recurrence.zones import Fold, Gap, earliest_instant_of, latest_instant_of


class Preset(StrEnum):
    """Whose rule holds at clock changes."""

    CRON = "cron"
    QUARTZ = "quartz"


@dataclass(frozen=True, slots=True)
class Policy:
    """What happens with a wall time that clocks skip, and with one that they show twice."""

    gap: Gap
    repeat: Fold


ClockChange = Preset | Policy

PRESETS = {preset.value: preset for preset in Preset}
GAPS = {"next": Gap.END, "shift": Gap.SHIFT, "skip": Gap.SKIP}
REPEATS = {"first": Fold.FIRST, "second": Fold.SECOND, "both": Fold.BOTH}
GAP_WORDS = {gap: word for word, gap in GAPS.items()}
REPEAT_WORDS = {repeat: word for word, repeat in REPEATS.items()}
DEFAULT_POLICY = Policy(Gap.END, Fold.FIRST)  # an object can leave out either member
SERIES_POLICY = Policy(Gap.SHIFT, Fold.FIRST)  # of calendar series, without a `clockChange`

MEMBERS: json_values.Known = {
    **dict.fromkeys(("timeZone", "startTime", "endTime")),
    "clockChange": dict.fromkeys(("gap", "repeat")),
}


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clocks of a schedule: their zone, what happens when they change, and the bounds, both included."""

    zone: tzinfo = UTC
    clock_change: ClockChange = Preset.CRON
    start: datetime | None = None
    end: datetime | None = None

    def schedule_of(self, rule: Schedule, is_interval: bool = False) -> Schedule:
        """Return the schedule whose wall times are the fire times of `rule`, within the bounds.

        `rule` is in UTC.  `is_interval` matters to the presets only.
        """
        return self.bounded(in_zone(rule, self.zone, self.clock_change, is_interval))

    def schedule_of_series(self, series: Series) -> Schedule:
        """Return the schedule of the starts of a series, which has its own rule for clock changes, SERIES_POLICY."""
        if self.clock_change == SERIES_POLICY:
            return self.bounded(series)
        return self.schedule_of(SeriesWallTimes(series))

    def bounded(self, schedule: Schedule) -> Schedule:
        return Bounded(schedule, self.start, self.end) if self.start or self.end else schedule


UTC_CLOCKS = Clocks()


def in_zone(rule: Schedule, zone: tzinfo, clock_change: ClockChange, is_interval: bool) -> Schedule:
    """Return the schedule whose wall times in `zone` are the fire times of `rule`, a schedule in UTC."""
    if zone is UTC:
        return rule
    if isinstance(clock_change, Policy):
        return ZonedRule(rule, zone, clock_change.gap, clock_change.repeat)
    if clock_change == Preset.QUARTZ:
        return QuartzSchedule(ZonedRule(rule, zone, Gap.SKIP, Fold.SECOND))
    return in_zone_by_cron(rule, zone, is_interval)


def read_clocks(
    definition: Mapping[str, object],
    *,
    own_zone: tzinfo | None = None,
    default: ClockChange = Preset.CRON,
    has_wall_bounds: bool = False,
) -> Clocks:
    """Read the four members of a definition.

    `own_zone` is the zone that other members of the definition have already named; then `timeZone` may only repeat it.
    `default` holds without a `clockChange`.  `has_wall_bounds`: bounds without an offset are wall times in the zone;
    else they are in UTC.  Raises WireError.
    """
    name, change = definition.get("timeZone"), definition.get("clockChange")
    start, end = definition.get("startTime"), definition.get("endTime")
    if name is start is end is change is None:
        return UTC_CLOCKS if own_zone is None and default is Preset.CRON else Clocks(own_zone or UTC, default)
    faults = Faults()
    zone = faults.read(_zone, name, own_zone)
    clock_change = default if change is None else faults.read(_clock_change, change)
    wall_zone = (zone if has_wall_bounds else None) or UTC
    first = None if start is None else faults.read(read_start, start, wall_zone)
    last = None if end is None else faults.read(read_end, end, wall_zone)
    if first and last and last < first:
        faults.add(WireError("endTime", "out_of_range", "must not be earlier than startTime"))
    faults.refuse()
    return Clocks(zone, clock_change, first, last)


def render_clocks(
    definition: Mapping[str, object], clocks: Clocks, *, has_wall_bounds: bool = False
) -> dict[str, object]:
    """Return the members of a definition that were sent, in canonical form.

    `clocks` was read from the definition, with the same `has_wall_bounds`.
    """
    answer: dict[str, object] = {}
    if definition.get("timeZone") is not None:
        answer["timeZone"] = iana_name(definition["timeZone"], "timeZone")
    if definition.get("clockChange") is not None:
        answer["clockChange"] = rendered_clock_change(clocks.clock_change)
    for name in ("startTime", "endTime"):
        if definition.get(name) is not None:
            answer[name] = rendered_bound(definition[name], name, clocks.zone if has_wall_bounds else UTC)
    return answer


def rendered_clock_change(clock_change: ClockChange) -> object:
    if isinstance(clock_change, Policy):
        return {"gap": GAP_WORDS[clock_change.gap], "repeat": REPEAT_WORDS[clock_change.repeat]}
    return clock_change.value


def rendered_instant(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")


def rendered_bound(value: object, path: str, zone: tzinfo) -> str:
    """Return a bound in UTC; one without an offset stays a wall time, unless the zone is UTC."""
    time = json_values.instant_or_wall(value, path)
    return (
        time.isoformat() if zone is not UTC and not time.tzinfo else rendered_instant(json_values.instant(value, path))
    )


def read_display_zone(definition: Mapping[str, object]) -> tzinfo:
    """Read the `timeZone` of a format that reads no clocks: the zone in which people see the times.

    Raises WireError, also for a `clockChange`.
    """
    faults = Faults()
    zone = faults.read(zone_of, definition.get("timeZone"), "timeZone")
    if definition.get("clockChange") is not None:
        faults.add(WireError("clockChange", "not_allowed", "goes only with fire times that follow clocks"))
    faults.refuse()
    return zone


def render_display_zone(definition: Mapping[str, object]) -> dict[str, object]:
    name = definition.get("timeZone")
    return {} if name is None else {"timeZone": iana_name(name, "timeZone")}


def read_start(value: object, zone: tzinfo, path: str = "startTime") -> datetime:
    """Read a time from which on a schedule may fire.

    One without an offset is a wall time in `zone`: the first instant at which clocks show it or a later one.
    """
    time = json_values.instant_or_wall(value, path)
    return time if time.tzinfo else _existing(earliest_instant_of, time, zone, path)


def read_end(value: object, zone: tzinfo, path: str = "endTime") -> datetime:
    """Read the last time at which a schedule may fire.

    One without an offset is a wall time in `zone`: the last instant at which clocks show it.  One that they skip is
    moved forward by the size of the gap.
    """
    time = json_values.instant_or_wall(value, path)
    return time if time.tzinfo else _existing(latest_instant_of, time, zone, path)


def _existing(instant_of: Callable[[datetime, tzinfo], datetime], wall: datetime, zone: tzinfo, path: str) -> datetime:
    try:
        return instant_of(wall, zone)
    except OverflowError:
        message = f"must be a time that exists, not {json_values.shown(wall.isoformat())}"
        raise WireError(path, "out_of_range", message) from None


def _zone(name: object, own_zone: tzinfo | None) -> tzinfo:
    if own_zone is None:
        return zone_of(name, "timeZone")
    if name is not None and zone_of(name, "timeZone") != own_zone:
        message = f"must be {own_zone}, the zone of the start, or left out, not {json_values.shown(name)}"
        raise WireError("timeZone", "not_allowed", message)
    return own_zone


def _clock_change(value: object) -> ClockChange:
    if isinstance(value, str):
        return json_values.word(value, "clockChange", PRESETS)
    if not isinstance(value, Mapping):
        message = f"must be one of {', '.join(PRESETS)}, or an object, not {json_values.shown(value)}"
        raise WireError("clockChange", "invalid", message)
    faults = Faults()
    gap, repeat = value.get("gap"), value.get("repeat")
    policy = Policy(
        DEFAULT_POLICY.gap if gap is None else faults.read(json_values.word, gap, "clockChange.gap", GAPS),
        DEFAULT_POLICY.repeat
        if repeat is None
        else faults.read(json_values.word, repeat, "clockChange.repeat", REPEATS),
    )
    faults.refuse()
    return policy
