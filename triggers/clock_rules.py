"""The coming clock changes, the triggers that they touch, and the rule that these triggers follow."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import QuerySet

from recurrence.clock_effects import ClockEffect, ZoneChange, changes_of, effects_of, effects_within_count
from triggers.models import Trigger, parsed_or_none
from triggers.scheduling import change_definition

MOST_TRIGGERS = 1_000  # triggers that are examined at once
RULE = "clockChange"


class FiringTrigger(NamedTuple):
    """A trigger that has a next fire time, with the names that people see."""

    id: int
    name: str
    format: str
    definition: dict[str, Any]
    anchored_at: datetime
    closed_days_id: UUID | None
    next_fire_at: datetime
    fires_left: int | None
    job_id: int
    job_name: str
    collection_name: str
    subscription_id: UUID


@dataclass(frozen=True, slots=True)
class TouchedTriggers:
    """A clock change, and its effects on triggers with times that it skips or repeats."""

    change: ZoneChange
    effects: tuple[tuple[FiringTrigger, ClockEffect], ...]


def coming_changes(triggers: QuerySet[Trigger], start: datetime, end: datetime) -> tuple[list[TouchedTriggers], bool]:
    """Return the clock changes in [start, end) of the zones of these triggers, earliest first.

    The second value is False if there are more than MOST_TRIGGERS triggers with a next fire time.  Then only the first
    ones are examined.  It takes one query.
    """
    columns = (
        *("id", "name", "format", "definition", "anchored_at", "closed_days_id"),
        *("next_fire_at", "fires_left"),
        *("job_id", "job__name", "job__collection__name", "job__collection__subscription_id"),
    )
    firing = triggers.filter(next_fire_at__isnull=False).order_by("pk").values_list(*columns)
    rows = [FiringTrigger(*row) for row in firing[: MOST_TRIGGERS + 1]]
    return _touched(rows[:MOST_TRIGGERS], start, end), len(rows) <= MOST_TRIGGERS


def _touched(rows: Iterable[FiringTrigger], start: datetime, end: datetime) -> list[TouchedTriggers]:
    effects: dict[ZoneChange, list[tuple[FiringTrigger, ClockEffect]]] = defaultdict(list)
    zones = set()
    for row in rows:
        compiled = parsed_or_none(row.format, row.definition, row.anchored_at, row.closed_days_id)
        if compiled is None or compiled.zone is UTC:
            continue
        zones.add(compiled.zone)
        found = effects_of(compiled.schedule, start, end)
        for effect in effects_within_count(found, compiled.schedule, row.next_fire_at, row.fires_left):
            effects[effect.change].append((row, effect))
    changes = [change for zone in zones for change in changes_of(zone, start, end)]
    changes.sort(key=lambda each: (each.at, str(each.zone)))
    return [TouchedTriggers(change, tuple(effects[change])) for change in changes]


def set_clock_rule(trigger: Trigger, rule: object, now: datetime) -> None:
    """Give a trigger the rule for clock changes `rule`, in the form of the member `clockChange`.

    Raises WireError for a wrong rule and for a schedule that follows no clocks, and what saving a trigger or a job
    raises.
    """
    change_definition(trigger, lambda stored: {**stored, RULE: rule}, now)
