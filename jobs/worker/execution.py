"""Carry out runs: lease them, make their calls, record the results.

A message about a run is only a hint.  It is no longer needed once the run is leased, because the lease protects the
run.  A run is not leased while its host has no free slot.  It waits in this process for a short time, and after that in
its row, where any worker may find it.

Threads that receive messages call `start_runs`.  One more thread calls `step` in a loop; only that thread writes
results.
"""

import itertools
import logging
import math
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.db import close_old_connections, connection

from jobs.errors import DATABASE_OUTAGE
from jobs.models import Run
from jobs.worker.calls import HttpPool
from jobs.worker.concurrency import CallLimiter, Slot
from jobs.worker.leasing import LEASE, RENEWAL, host_of, lease, renew
from jobs.worker.rescue import release_leases
from jobs.worker.results import record

logger = logging.getLogger(__name__)

ROUND_S = 0.2  # a shutdown, or the end of a wait, is noticed after this time if no call ends
MAX_WAIT_FOR_SLOT = timedelta(seconds=2)  # how long a run waits in this process for a slot
# a run that got no slot, or would wait longer, is tried again after 1 or more steps
BACKOFF_STEP = timedelta(seconds=1)
MAX_BACKOFF_STEPS = 5  # whole steps, so that many runs come back in one batch
WAITING_BATCH = 200  # waiting runs that are tried again in one batch

Write = Callable[[Sequence[Any], datetime], None]


class Target(NamedTuple):
    """The host that a run calls, and the subscription for which it does."""

    host: str
    tenant: UUID


class Worker:
    """The part of a worker process that carries out runs.

    Once `is_stopping()` returns True, active calls have the time `drain` to end.  After that their leases are released.
    """

    def __init__(
        self,
        name: str,
        calls: HttpPool,
        clock: Callable[[], datetime],
        is_stopping: Callable[[], bool] = lambda: False,
        drain: timedelta = timedelta(0),
    ):
        self.name = name
        self.calls = calls
        self.clock = clock
        self.is_stopping = is_stopping
        self.drain = drain
        self._next_batch = Batch()
        self._leasing_lock = threading.Lock()
        # runs that wait for a slot: their target, and until when
        self._waiting: dict[UUID, tuple[Target, datetime]] = {}
        self._lock = threading.Lock()
        self._renewed_at = clock()
        self._drain_until: datetime | None = None
        self._closing = threading.Event()
        self._recorder = threading.Thread(target=self._run, name="recorder", daemon=True)

    def start(self) -> None:
        self.calls.start()
        self._recorder.start()

    def close(self, within_s: float) -> None:
        """Wait at most `within_s` seconds until every run is recorded or released.

        No thread may call `start_runs` then.
        """
        self._closing.set()
        self._recorder.join(within_s)

    def start_runs(self, run_ids: Sequence[str]) -> int:
        """Start the runs that are due, not leased, and have a free slot; return how many were started.

        Messages that arrive during a `start_runs` of other threads form one batch.  The first thread of the batch
        starts all its runs, and each of its threads returns the count of the whole batch.
        """
        with self._lock:
            batch = self._next_batch
            batch.run_ids += run_ids
            if is_first := not batch.has_leader:
                batch.has_leader = True
        if is_first:
            self._run_leader(batch)
        return batch.started_count.result()

    def step(self, wait_s: float = ROUND_S) -> None:
        """Wait at most `wait_s` seconds for a call to end; record its result, and do everything else that is due."""
        finished = self.calls.collect_finished(wait_s)
        now = self.clock()
        self._write(record, [(item, result) for item, result in finished if result], now)
        self._write(release_leases, [item for item, result in finished if result is None], now)
        if now - self._renewed_at >= RENEWAL:
            self._write(renew, self.calls.active_runs(), now)
            self._renewed_at = now
        if self._drain_until is None and self.is_stopping():
            self._drain_until = now + self.drain
        if self._drain_until is not None:
            self._forget_waiting()
            if now >= self._drain_until:
                self.calls.cancel_all()
        self._retry_waiting(now)

    def run_until_idle(self) -> None:
        """Step until no call is active and no run waits for a slot."""
        while not self.is_idle:
            self.step()

    @property
    def is_idle(self) -> bool:
        return self.calls.limiter.is_empty and not self._waiting

    def _run_leader(self, batch: "Batch") -> None:
        with self._leasing_lock:
            with self._lock:
                self._next_batch = Batch()
            try:
                batch.started_count.set_result(
                    self._lease_and_submit(batch.run_ids, self._capacity_filter(self.clock()))
                )
            except Exception as error:
                batch.started_count.set_exception(error)

    def _lease_and_submit(self, run_ids: Sequence[str], capacity: "CapacityFilter") -> int:
        try:
            leased = lease(run_ids, self.name, capacity.now, capacity)
            self.calls.submit({capacity.slots.pop(item.run.pk): item for item in leased})
        finally:
            capacity.release_unused()
        with self._lock:
            self._waiting.update(capacity.waiting)
        return len(leased)

    def _retry_waiting(self, now: datetime) -> None:
        """Start waiting runs that get a slot now, or whose time is over.  Targets get slots in rotation."""
        capacity = self._capacity_filter(now)
        with self._lock:
            waiting_by_target: dict[Target, deque[UUID]] = defaultdict(deque)
            for run_id, (target, _) in self._waiting.items():
                waiting_by_target[target].append(run_id)
            while waiting_by_target and len(capacity.slots) < WAITING_BATCH:
                for target in list(waiting_by_target):
                    if waiting_by_target[target] and (slot := self.calls.limiter.acquire(*target)):
                        capacity.slots[waiting_by_target[target].popleft()] = slot
                    else:
                        del waiting_by_target[target]
            overdue = (run_id for run_id, (_, deadline) in self._waiting.items() if now >= deadline)
            for run_id in [*capacity.slots, *itertools.islice(overdue, WAITING_BATCH)]:
                if run_id in self._waiting:
                    _, capacity.deadlines[run_id] = self._waiting.pop(run_id)
        if capacity.deadlines:
            self._lease_and_submit([str(run_id) for run_id in capacity.deadlines], capacity)

    def _capacity_filter(self, now: datetime) -> "CapacityFilter":
        with self._lock:
            return CapacityFilter(self.calls.limiter, now, Counter(target for target, _ in self._waiting.values()))

    def _forget_waiting(self) -> None:
        """Drop the waiting runs; they are published again later."""
        with self._lock:
            self._waiting.clear()

    def _write(self, write: Write, items: Sequence[Any], now: datetime) -> None:
        """Write the items; if that fails, write them one by one, so that a faulty one does not block the others.

        A run whose result cannot be written is rescued later.
        """
        try:
            write_with_retry(write, items, now)
        except DATABASE_OUTAGE:
            logger.exception("%s of %s runs has failed", write.__name__, len(items))
        except Exception:
            if len(items) == 1:
                logger.exception("%s of a run has failed", write.__name__)
                return
            for item in items:
                self._write(write, [item], now)

    def _run(self) -> None:
        while not (self._closing.is_set() and self.is_idle):
            try:
                self.step()
            except Exception:
                logger.exception("runs that waited for a slot wait for another message")
                close_old_connections()
            if self.is_idle:
                close_old_connections()
        self.calls.close()
        connection.close()


@dataclass(slots=True)
class Batch:
    """The runs of several messages that are started together."""

    run_ids: list[str] = field(default_factory=list)
    has_leader: bool = False
    started_count: "Future[int]" = field(default_factory=Future)


class CapacityFilter:
    """Select the runs of a message that get a slot.  Some others wait in this process, the rest are postponed."""

    def __init__(self, limiter: CallLimiter, now: datetime, waiting_count: Counter[Target]):
        self.limiter = limiter
        self.now = now
        self.waiting_count = waiting_count  # how many runs wait already for each target
        self.tenant_count = Counter(target.host for target in waiting_count)  # how many tenants wait for each host
        self.deadlines: dict[UUID, datetime] = {}  # of runs that have waited already: until when they may wait
        self.slots: dict[UUID, Slot] = {}
        self.waiting: dict[UUID, tuple[Target, datetime]] = {}

    def __call__(self, runs: Sequence[Run]) -> tuple[list[Run], dict[UUID, timedelta]]:
        """Return the runs that get a slot, and the delays of the runs that are postponed, by id."""
        accepted, postponed = [], {}
        for run in runs:
            target = Target(host_of(run), run.subscription_id)
            if self._has_slot(run.pk, target):
                accepted.append(run)
            elif delay := self._delay_for(run.pk, target):
                postponed[run.pk] = delay
        return accepted, postponed

    def release_unused(self) -> None:
        for slot in self.slots.values():
            self.limiter.release(slot)

    def _has_slot(self, run_id: UUID, target: Target) -> bool:
        if run_id not in self.slots and (slot := self.limiter.acquire(*target)):
            self.slots[run_id] = slot
        return run_id in self.slots

    def _delay_for(self, run_id: UUID, target: Target) -> timedelta | None:
        """Return for how long the run is postponed; None when it waits in this process."""
        deadline = self.deadlines.get(run_id)
        if deadline is None and self._expected_wait_s(target) <= MAX_WAIT_FOR_SLOT.total_seconds():
            deadline = self.now + MAX_WAIT_FOR_SLOT
        if deadline is None or self.now >= deadline:
            steps = math.ceil(self.limiter.reserve_slot(target.host) / BACKOFF_STEP.total_seconds())
            return min(max(steps, 1), MAX_BACKOFF_STEPS) * BACKOFF_STEP
        self.tenant_count[target.host] += not self.waiting_count[target]
        self.waiting_count[target] += 1
        self.waiting[run_id] = target, deadline
        return None

    def _expected_wait_s(self, target: Target) -> float:
        """Return how long one more run of the target would wait: the tenants that wait for a host take turns."""
        tenants = self.tenant_count[target.host] + (not self.waiting_count[target])
        return self.limiter.seconds_per_slot(target.host) * (self.waiting_count[target] + 1) * tenants


def write_with_retry(write: Write, items: Sequence[Any], now: datetime) -> None:
    """Write the items; while the database is unavailable, try again until the leases have expired.

    After that the lease token of a run may have changed, and its result would be refused.
    """
    if not items:
        return
    deadline = time.monotonic() + LEASE.total_seconds()
    for failures in itertools.count(1):
        try:
            write(items, now)
            return
        except DATABASE_OUTAGE as error:
            if time.monotonic() >= deadline:
                raise
            if failures == 1:
                logger.warning("%s of %s runs waits for the database: %s", write.__name__, len(items), error)
        close_old_connections()
        time.sleep(1)
