"""Extension point: the classes that the setting TRIGGER_GATES names may hold a due fire time.

Dispatch calls every gate and imports none of them.  A held fire time becomes a run like any other, with the reason.
The gate that holds the run also releases it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from django.conf import settings
from django.utils.module_loading import import_string

NOTICE = "notice "  # prefix of the key of a hold by a maintenance notice; the notice's id follows


@dataclass(frozen=True, slots=True)
class Hold:
    """The reason why a job may not start.  The gate finds its held runs by `key`, which has at most 64 characters."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class HoldWindow:
    """The time [start, end) in which a gate is expected to hold a job.  `end` None: the end is not known.

    At the end the newest held run runs once for all of them, or no run when `is_dropped`.
    """

    key: str
    reason: str
    start: datetime
    end: datetime | None
    is_dropped: bool = False

    def covers(self, instant: datetime) -> bool:
        return self.start <= instant and (self.end is None or instant < self.end)

    def overlaps(self, start: datetime, end: datetime) -> bool:
        return self.start < end and (self.end is None or self.end > max(start, self.start))


class Gate(Protocol):
    def holds(self, job_ids: Collection[int], now: datetime) -> Mapping[int, Hold]:
        """Return the hold of each of the jobs that may not start at `now`.

        The number of queries must not grow with the number of jobs.  The caller is in the transaction that inserts the
        runs; the gate must take locks so that its answer stays true until that transaction ends.
        """

    def forecast(
        self, job_ids: Collection[int], start: datetime, end: datetime, now: datetime
    ) -> Mapping[int, Sequence[HoldWindow]]:
        """Return the windows that overlap [start, end), by job, as far as is known at `now`.

        The number of queries must not grow with the number of jobs.  Stopped jobs have no windows.
        """

    def pages(self, keys: Collection[str]) -> Mapping[str, str]:
        """Return the addresses of the pages about the objects with these keys; a key whose object is gone is absent."""


def current_holds(job_ids: Collection[int], now: datetime) -> dict[int, Hold]:
    """Return the hold of each of the jobs that may not start; if several gates hold a job, the first gate's."""
    found: dict[int, Hold] = {}
    for gate in reversed([*_gates()]):
        found.update(gate.holds(job_ids, now))
    return found


def forecast(job_ids: Collection[int], start: datetime, end: datetime, now: datetime) -> dict[int, list[HoldWindow]]:
    """Return the windows of all gates that overlap [start, end), by job, earliest first.

    Jobs without a window are absent.
    """
    found: dict[int, list[HoldWindow]] = defaultdict(list)
    if job_ids:
        for gate in _gates():
            for job_id, windows in gate.forecast(job_ids, start, end, now).items():
                found[job_id] += windows
    return {job_id: sort_windows(windows) for job_id, windows in found.items()}


def pages(keys: Collection[str]) -> dict[str, str]:
    """Return the addresses of the pages about the objects with these keys; a key whose object is gone is absent."""
    found: dict[str, str] = {}
    for gate in _gates():
        found.update(gate.pages(keys))
    return found


def sort_windows(windows: Iterable[HoldWindow]) -> list[HoldWindow]:
    return sorted(windows, key=lambda window: window.start)


def notice_key(notice_id: UUID) -> str:
    """Return the key of a hold by this maintenance notice."""
    return f"{NOTICE}{notice_id}"


def notice_of(key: str) -> UUID | None:
    """Return the id of the notice that a key names; None for the key of another gate."""
    return UUID(key.removeprefix(NOTICE)) if key.startswith(NOTICE) else None


def _gates() -> Iterator[Gate]:
    return (import_string(path)() for path in settings.TRIGGER_GATES)
