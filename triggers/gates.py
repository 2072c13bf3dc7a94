"""Who may hold what is due: dispatch asks every gate that the setting TRIGGER_GATES names, and knows none of them.

A fire time that is held becomes a row like any other, with the reason; the gate that holds it lets it go.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from django.conf import settings
from django.utils.module_loading import import_string


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a job may not start: `key` is what the gate finds the held runs by, at most 64 characters."""

    key: str
    reason: str


class Gate(Protocol):
    def holds(self, job_ids: Collection[int], now: datetime) -> Mapping[int, Hold]:
        """Those of the jobs that may not start at `now`: with a number of queries that does not grow with them.

        It is asked within the transaction that makes the runs; the gate sees to it that its answer stays true until
        that ends.
        """


def held(job_ids: Collection[int], now: datetime) -> dict[int, Hold]:
    """What holds each of the jobs that may not start; of several gates the first."""
    found: dict[int, Hold] = {}
    for path in reversed(settings.TRIGGER_GATES):
        gate: Gate = import_string(path)()
        found.update(gate.holds(job_ids, now))
    return found
