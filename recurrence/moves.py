"""From where closed days move a fire time."""

from datetime import datetime

from recurrence.composites import WithExtras
from recurrence.open_days import OnOpenDays
from recurrence.schedules import Schedule


def moved_from(schedule: Schedule, fire: datetime) -> list[datetime]:
    """Return the fire times that closed days move to `fire`, earliest first.

    The list is empty if nothing moves there, and if the schedule would fire then without closed days too.
    """
    if isinstance(schedule, WithExtras):
        schedule = schedule.schedule
    found = schedule.moved_from(fire) if isinstance(schedule, OnOpenDays) else []
    return [] if fire in found else found
