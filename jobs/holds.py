"""History of holds: how long and why runs were held.  It stays with the runs after the hold.

Code that changes `Run.hold_key` must also call these functions, in the same transaction.  The rows of the runs must be
locked, or new.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from jobs.models import RunHold

BATCH = 500  # rows in one statement


class HeldRun(NamedTuple):
    """A run that is held from now on, with the key and the reason of its hold."""

    run_id: UUID
    key: str
    reason: str


def start_holds(runs: Sequence[HeldRun], now: datetime) -> None:
    rows = (RunHold(run_id=run.run_id, key=run.key, reason=run.reason, held_at=now) for run in runs)
    RunHold.objects.bulk_create(rows, batch_size=BATCH)


def end_holds(run_ids: Sequence[UUID], now: datetime) -> None:
    """Record that these runs are no longer held.  Runs that were not held stay unchanged."""
    for start in range(0, len(run_ids), BATCH):
        open_holds = RunHold.objects.filter(run__in=run_ids[start : start + BATCH], released_at=None)
        open_holds.update(released_at=now)
