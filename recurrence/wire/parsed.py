"""What every format's parser answers."""

from dataclasses import dataclass
from datetime import tzinfo

from recurrence.schedules import Schedule


@dataclass(frozen=True, slots=True)
class Parsed:
    """A compiled document.

    `count` is the run budget, how many times it may fire in all; None is without limit.  It is not part of `schedule`:
    who fires keeps the budget.  `zone` is where its times are told to people.  `warnings` are sentences for its author.
    `may_never_fire` is set by formats in which a schedule that has no further fire time is valid; a warning tells it.
    """

    schedule: Schedule
    count: int | None
    zone: tzinfo
    warnings: tuple[str, ...] = ()
    may_never_fire: bool = False
