"""Notice workers that are gone, and end the leases of their runs.

A worker reports itself every few seconds, see jobs/worker/heartbeat.py.  A beat watches these reports.  A worker whose
report has not changed for SILENCE_S while this beat watched without a pause counts as gone.  The time of the beat's own
monotonic clock decides, so that neither clocks that differ nor an outage of the database make a living worker look
gone.  A worker that was only frozen goes on later; the lease token refuses its results, and it reports itself again.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, OuterRef, Q

from jobs.models import AsyncOperation, Attempt, Poll, Process, Run
from jobs.worker.rescue import rescue_all
from recurrence.schedules import just_before

SILENCE_S = 12.0  # longer than a write of another process can keep a report of a worker waiting on SQLite
WATCH_INTERVAL_S = 1.0
LONGEST_PAUSE_S = 5.0  # between two looks at the reports; after a longer pause all workers are watched anew

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Report:
    """The newest report of a worker, and when this process first saw it, in seconds of its monotonic clock."""

    started_at: datetime
    seen_at: datetime
    first_seen_s: float


class WorkerMonitor:
    """The reports of workers as one beat sees them."""

    def __init__(self) -> None:
        self._reports: dict[str, Report] = {}
        self._checked_s: float | None = None

    def check(self, now: datetime, clock_s: float) -> None:
        """Take the runs of workers back that are gone.  Do nothing within WATCH_INTERVAL_S of the check before.

        `clock_s` is the time of a monotonic clock.
        """
        if self._checked_s is not None and clock_s - self._checked_s < WATCH_INTERVAL_S:
            return
        if self._checked_s is None or clock_s - self._checked_s > LONGEST_PAUSE_S:
            self._reports = {}
        self._checked_s = None  # a check that fails counts as a pause
        replaced = self._update(clock_s)
        silent = {name: each for name, each in self._reports.items() if clock_s - each.first_seen_s >= SILENCE_S}
        if silent:
            self._release_silent(silent, now)
        if replaced:
            _end_leases({name: self._reports[name].started_at for name in replaced}, now)
        self._checked_s = clock_s

    def _update(self, clock_s: float) -> list[str]:
        """Read the reports; return the names of workers that started since the last check, or are seen first."""
        reports, started = {}, []
        workers = Process.objects.filter(kind=Process.Kind.WORKER)
        for name, started_at, seen_at in workers.values_list("name", "started_at", "seen_at"):
            known = self._reports.get(name)
            is_same_process = known is not None and known.started_at == started_at
            if known is not None and is_same_process and known.seen_at == seen_at:
                reports[name] = known
            else:
                reports[name] = Report(started_at, seen_at, clock_s)
            if not is_same_process:
                started.append(name)
        self._reports = reports
        return started

    def _release_silent(self, silent: Mapping[str, Report], now: datetime) -> None:
        for name in silent:
            logger.warning("worker %s has not reported itself for %g s and counts as gone", name, SILENCE_S)
        _end_leases(dict.fromkeys(silent), now)
        for name, report in silent.items():
            Process.objects.filter(kind=Process.Kind.WORKER, name=name, seen_at=report.seen_at).delete()
            del self._reports[name]


def _end_leases(workers: Mapping[str, datetime | None], now: datetime) -> None:
    """Take back the runs of these workers.  With an instant, only those that the worker took before it.

    An instant is the start of a worker: what has its name and is older belongs to a process before it, which is gone.
    """
    by_worker = Q()
    for name, before in workers.items():
        by_worker |= Q(worker=name) if before is None else Q(worker=name, started_at__lt=before)
    calls = Attempt.objects.filter(by_worker, run=OuterRef("pk"), state=Attempt.State.RUNNING)
    polls = Poll.objects.filter(by_worker, attempt__run=OuterRef("pk"), finished_at=None)
    is_followed = Exists(AsyncOperation.objects.filter(run=OuterRef("pk")))
    running = Run.objects.filter(state=Run.State.RUNNING, leased_until__gte=now)
    taken = running.filter(Exists(polls) | Q(Exists(calls), ~Q(is_followed)))
    ids = list(taken.values_list("pk", flat=True))
    if ids:
        Run.objects.filter(pk__in=ids, state=Run.State.RUNNING).update(leased_until=just_before(now))
        rescue_all(now)
