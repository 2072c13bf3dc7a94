"""The members that a schedule has in every format: `skips`, `extras`, `closedDays` and `jitter`.

They apply in this order: skips name fire times of the format's own schedule, closed days move what is left, and extras
are added as they are.  Jitter is not part of a schedule.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import TypeVar

from recurrence.closed_days import ClosedDays
from recurrence.composites import Skipping, WithExtras
from recurrence.open_days import OnOpenDays, Rule
from recurrence.schedules import Schedule
from recurrence.wire import json_values
from recurrence.wire.errors import Faults, WireError
from recurrence.wire.parsed import Parsed
from recurrence.zones import NOTHING

T = TypeVar("T")

FindClosedDays = Callable[[str], ClosedDays | None]  # finds a closed-day calendar by name; None: there is none

MEMBERS: json_values.Known = {
    "skips": None,
    "extras": None,
    "closedDays": {"calendar": None, "rule": None},
    "jitter": None,
}
RULES = {rule.value: rule for rule in Rule}
LONGEST_NAME = 200  # characters of the name of a calendar
LONGEST_JITTER = timedelta(hours=24)
DURATION = re.compile(r"P(?:(\d{1,2})D)?(?:T(?:(\d{1,3})H)?(?:(\d{1,5})M)?(?:(\d{1,6})(?:\.(\d{1,3}))?S)?)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Common:
    """The common members of a document.  `closed_days` is the name of a calendar, and the rule."""

    skipped_days: frozenset[date] = frozenset()
    skipped_instants: frozenset[datetime] = frozenset()
    extras: frozenset[datetime] = frozenset()
    closed_days: tuple[str, Rule] | None = None
    jitter: timedelta = NOTHING


NO_MEMBERS = Common()


def split(definition: Mapping[str, object]) -> tuple[Mapping[str, object], Mapping[str, object]]:
    """Return the members of a format, and the common members."""
    common = {name: definition[name] for name in MEMBERS if name in definition}
    if not common:
        return definition, common
    return {name: value for name, value in definition.items() if name not in MEMBERS}, common


def read(members: Mapping[str, object]) -> Common:
    """Read the common members.  Raises WireError."""
    if not members:
        return NO_MEMBERS
    faults = Faults()
    skips = faults.read(_list, members.get("skips"), "skips", _day_or_instant) or ()
    extras = faults.read(_list, members.get("extras"), "extras", _instant) or ()
    closed_days = faults.read(_closed_days, members.get("closedDays"))
    jitter = faults.read(_jitter, members.get("jitter"))
    faults.refuse()
    return Common(
        frozenset(each for each in skips if not isinstance(each, datetime)),
        frozenset(each for each in skips if isinstance(each, datetime)),
        frozenset(extras),
        closed_days,
        jitter,
    )


def render(members: Mapping[str, object]) -> dict[str, object]:
    """Return the common members in canonical form: each list in order, without repetitions.

    Members without a value are absent.  Raises WireError where `read` would.
    """
    common = read(members)
    answer: dict[str, object] = {}
    skips = [str(day) for day in common.skipped_days] + [_rendered(instant) for instant in common.skipped_instants]
    if skips:
        answer["skips"] = sorted(skips)
    if common.extras:
        answer["extras"] = [_rendered(instant) for instant in sorted(common.extras)]
    if common.closed_days:
        calendar, rule = common.closed_days
        answer["closedDays"] = {"calendar": calendar, "rule": rule.value}
    if common.jitter:
        answer["jitter"] = rendered_duration(common.jitter)
    return answer


def render_whole(
    renderer: Callable[[Mapping[str, object]], dict[str, object]], definition: Mapping[str, object]
) -> dict[str, object]:
    """Return a definition in canonical form: its own members as `renderer` returns them, then the common members."""
    own, members = split(definition)
    if not members:
        return renderer(own)
    faults = Faults()
    answer = faults.read(renderer, own)
    common = faults.read(render, members)
    faults.refuse()
    return {**answer, **common}


def find_closed_days(common: Common, find: FindClosedDays | None) -> ClosedDays | None:
    """Return the closed days that the members name; None: they name none.  Raises WireError for an unknown name."""
    if common.closed_days is None:
        return None
    name, _ = common.closed_days
    closed = find(name) if find else None
    if closed is None:
        message = f"must be the name of a closed-day calendar, not {json_values.shown(name)}"
        raise WireError("closedDays.calendar", "unknown_value", message)
    return closed


def apply(common: Common, closed: ClosedDays | None, parsed: Parsed) -> Parsed:
    """Return the document with the common members applied to its schedule; days are those of its zone."""
    schedule: Schedule = parsed.schedule
    if common.skipped_days or common.skipped_instants:
        schedule = Skipping(schedule, common.skipped_days, common.skipped_instants, parsed.zone)
    if closed is not None and common.closed_days:
        name, rule = common.closed_days
        schedule = OnOpenDays(schedule, closed, rule, parsed.zone, name)
    if common.extras:
        schedule = WithExtras(schedule, common.extras)
    return replace(parsed, schedule=schedule, jitter=common.jitter)


def layers_of(schedule: Schedule) -> list[tuple[str, Schedule]]:
    """Return the schedule of the format alone, and each schedule that a common member made of it, in their order.

    Each comes with the name of its member; that of the first is empty.
    """
    return list(_layers(schedule))[::-1]


def has_closed_rest(schedule: Schedule, instant: datetime) -> bool:
    """Return True if only closed days leave a schedule without a fire time after `instant`."""
    layers = [layer for _, layer in layers_of(schedule)]
    closed = next((layer for layer in layers if isinstance(layer, OnOpenDays)), None)
    return closed is not None and schedule.after(instant) is None and closed.schedule.after(instant) is not None


def base_of(schedule: Schedule) -> Schedule:
    """Return the schedule of the format alone, without the common members."""
    return layers_of(schedule)[0][1]


def _layers(schedule: Schedule) -> Iterator[tuple[str, Schedule]]:
    while isinstance(schedule, Skipping | OnOpenDays | WithExtras):
        yield LAYERS[type(schedule)], schedule
        schedule = schedule.schedule
    yield "", schedule


LAYERS: Mapping[type, str] = {Skipping: "skips", OnOpenDays: "closedDays", WithExtras: "extras"}


def rendered_duration(length: timedelta) -> str:
    """Return a duration of whole milliseconds in ISO 8601, such as PT1H30M."""
    minutes, rest = divmod(length, timedelta(minutes=1))
    hours, minutes = divmod(minutes, 60)
    seconds, milliseconds = rest.seconds, rest.microseconds // 1000
    text = f"{seconds}.{milliseconds:03}".rstrip("0") if milliseconds else str(seconds)
    parts = [f"{hours}H" if hours else "", f"{minutes}M" if minutes else "", f"{text}S" if rest else ""]
    return "PT" + "".join(parts)


def _list(value: object, path: str, reader: Callable[..., T]) -> tuple[T, ...]:
    if value is None or value == []:
        return ()
    return json_values.each(json_values.items(value, path), reader)


def _day_or_instant(value: object, path: str) -> date:
    if json_values.DAY.fullmatch(json_values.text(value, path)):
        return json_values.day(value, path)
    if not json_values.INSTANT.fullmatch(str(value)):
        expected = "must be a date such as 2026-12-24 or a time such as 2026-12-24T08:00:00Z"
        raise WireError(path, "invalid", f"{expected}, not {json_values.shown(value)}")
    return json_values.instant(value, path)


def _instant(value: object, path: str) -> datetime:
    if json_values.DAY.fullmatch(json_values.text(value, path)):
        raise WireError(path, "invalid", f"must be a time such as 2026-01-05T08:00:00Z, not the date {value}")
    return json_values.instant(value, path)


def _closed_days(value: object) -> tuple[str, Rule] | None:
    if value is None:
        return None
    members = json_values.mapping(value, "closedDays")
    faults = Faults()
    for unknown in json_values.unknown_members(members, {"calendar": None, "rule": None}, "closedDays"):
        faults.add(WireError(unknown.path, "unknown", "is not known here; take calendar, rule"))
    name = faults.read(_required, members, "calendar", "the name of a closed-day calendar")
    calendar = faults.read(json_values.text, name, "closedDays.calendar") if name is not None else ""
    if name is not None and calendar is not None and not 1 <= len(calendar) <= LONGEST_NAME:
        faults.add(WireError("closedDays.calendar", "out_of_range", f"must have 1 to {LONGEST_NAME} characters"))
    word = faults.read(_required, members, "rule", f"one of {', '.join(RULES)}")
    rule = faults.read(json_values.word, word, "closedDays.rule", RULES) if word is not None else Rule.SKIP
    faults.refuse()
    return calendar, rule


def _required(members: Mapping[str, object], name: str, expected: str) -> object:
    if members.get(name) is None:
        raise WireError(f"closedDays.{name}", "required", f"is required: {expected}")
    return members[name]


def _jitter(value: object) -> timedelta:
    if value is None:
        return NOTHING
    match = DURATION.fullmatch(json_values.text(value, "jitter"))
    if match is None or not any(match.groups()) or str(value).endswith("T"):
        raise WireError("jitter", "invalid", f"must be a duration such as PT10M, not {json_values.shown(value)}")
    days, hours, minutes, seconds, fraction = match.groups(default="0")
    length = timedelta(int(days), int(seconds), 0, int(fraction.ljust(3, "0")), int(minutes), int(hours))
    if not NOTHING < length <= LONGEST_JITTER:
        raise WireError("jitter", "out_of_range", f"must be longer than nothing and at most PT24H, not {value}")
    return length


def _rendered(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")
