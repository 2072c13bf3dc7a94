"""Leave out, move and add single fire times of a trigger: they are written to `skips` and `extras` of its schedule."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from api.errors import Invalid
from recurrence.composites import WithExtras
from recurrence.open_days import OnOpenDays
from recurrence.schedules import Schedule, just_before
from recurrence.wire import common
from recurrence.wire.clocks import rendered_instant
from triggers.models import Trigger
from triggers.scheduling import change_definition


@dataclass(frozen=True, slots=True)
class Exceptions:
    """Dates and instants that a schedule leaves out or adds, as canonical texts in order."""

    skips: list[str]
    extras: list[str]

    @classmethod
    def of(cls, definition: Mapping[str, Any]) -> "Exceptions":
        lists: Any = common.render(common.split(definition)[1])
        return cls(lists.get("skips", []), lists.get("extras", []))


@dataclass(frozen=True, slots=True)
class Change:
    """The texts that were added to the exceptions of a trigger, and those that were removed from them."""

    added: Exceptions
    removed: Exceptions


def coming_exceptions(trigger: Trigger, now: datetime) -> Exceptions:
    """Return the exceptions of a trigger that are not past."""
    found = Exceptions.of(trigger.definition)
    today, moment = str(now.astimezone(trigger.parsed.zone).date()), rendered_instant(now.astimezone(UTC))
    return Exceptions(
        [each for each in found.skips if each >= (moment if "T" in each else today)],
        [each for each in found.extras if each >= moment],
    )


def leave_out(trigger: Trigger, fire_at: datetime, now: datetime) -> Change:
    """Leave out a coming fire time.  Raises Invalid when it is none, and what saving the trigger raises."""
    return _change(trigger, now, skip=fire_at)


def add(trigger: Trigger, fire_at: datetime, now: datetime) -> Change:
    """Add a fire time after `now`.  Raises Invalid when it is not, and what saving the trigger raises."""
    return _change(trigger, now, extra=fire_at)


def move(trigger: Trigger, fire_at: datetime, to: datetime, now: datetime) -> Change:
    """Leave out a coming fire time and add another one.  Raises what `leave_out` and `add` raise."""
    return _change(trigger, now, skip=fire_at, extra=to)


def undo(trigger: Trigger, change: Change, now: datetime) -> None:
    """Remove what a change has added to the exceptions of a trigger, and add what it has removed."""

    def before(found: Exceptions) -> Exceptions:
        return Exceptions(
            sorted({*found.skips} - {*change.added.skips} | {*change.removed.skips}),
            sorted({*found.extras} - {*change.added.extras} | {*change.removed.extras}),
        )

    change_definition(trigger, lambda definition: _with_exceptions(definition, before(Exceptions.of(definition))), now)


def _change(trigger: Trigger, now: datetime, skip: datetime | None = None, extra: datetime | None = None) -> Change:
    if extra is not None and extra <= now:
        raise Invalid("must be in the future", path="to", code="out_of_range")
    left_out = set() if skip is None else {*map(rendered_instant, _nominal_times(trigger, skip, now))}
    removed = set() if skip is None else {rendered_instant(skip)}
    added = set() if extra is None else {rendered_instant(extra)}
    found = stored = Exceptions([], [])

    def changed(definition: Mapping[str, Any]) -> dict[str, Any]:
        nonlocal found, stored
        found = Exceptions.of(definition)
        stored = Exceptions(
            sorted({*found.skips} - added | left_out),
            sorted({*found.extras} - removed | added),
        )
        return _with_exceptions(definition, stored)

    change_definition(trigger, changed, now)
    return Change(_without(stored, found), _without(found, stored))


def _without(found: Exceptions, others: Exceptions) -> Exceptions:
    """Return the exceptions that are not in `others`."""
    return Exceptions(
        [each for each in found.skips if each not in others.skips],
        [each for each in found.extras if each not in others.extras],
    )


def _with_exceptions(definition: Mapping[str, Any], exceptions: Exceptions) -> dict[str, Any]:
    lists = {"skips": exceptions.skips, "extras": exceptions.extras}
    others = {name: value for name, value in definition.items() if name not in lists}
    return others | {name: value for name, value in lists.items() if value}


def _nominal_times(trigger: Trigger, fire_at: datetime, now: datetime) -> list[datetime]:
    """Return the fire times of the rule that are at this fire time or moved to it; none if it is an extra time alone.

    Raises Invalid when it is no coming fire time.
    """
    schedule = trigger.parsed.schedule
    if fire_at <= now or not _fires_at(schedule, fire_at):
        raise Invalid("is not a coming fire time of the trigger", path="at", code="out_of_range")
    if isinstance(schedule, WithExtras):
        schedule = schedule.schedule
    if isinstance(schedule, OnOpenDays):
        return schedule.moved_from(fire_at)
    return [fire_at] if _fires_at(schedule, fire_at) else []


def _fires_at(schedule: Schedule, instant: datetime) -> bool:
    return schedule.after(just_before(instant)) == instant
