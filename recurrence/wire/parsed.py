"""The result of every format's parser."""

from dataclasses import dataclass
from datetime import timedelta, tzinfo

from recurrence.schedules import Schedule
from recurrence.wire.errors import WireError
from recurrence.zones import NOTHING


@dataclass(frozen=True, slots=True)
class Parsed:
    """A compiled document.

    * `count` is the run budget: how many times it may fire in all; None: no limit.  The budget is not part of
      `schedule`; the caller that fires counts it down.
    * `zone` is the zone in which people see the times.
    * `warnings` are sentences for the author.
    * `may_never_fire` is True for formats in which a schedule without a further fire time is valid and has a warning.
    * `excess` is the error for a limit that holds for new documents only; stored documents keep working.
    * `jitter` is the limit of the delays of `recurrence.jitter`; zero: no delay.  Fire times are without the delay.
    """

    schedule: Schedule
    count: int | None
    zone: tzinfo
    warnings: tuple[str, ...] = ()
    may_never_fire: bool = False
    excess: WireError | None = None
    jitter: timedelta = NOTHING
