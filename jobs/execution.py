"""Carry out runs: lease them, make their calls, record what came of it.

A message about a run is only a hint, and done with once the run is leased: from then on the lease protects it.  A run
for whose host there is no room is not leased.  It waits here for a moment, else in its row, where any worker may find
it.

Threads that get messages call `take`; one more calls `step` over and over, and nobody else writes results.
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

from django.db import InterfaceError, OperationalError, close_old_connections, connection

from jobs.calling import Calls
from jobs.leasing import LEASE, RENEWAL, host_of, lease, renew
from jobs.models import Run
from jobs.reclaiming import hand_back
from jobs.recording import record
from jobs.room import Place, Room

logger = logging.getLogger(__name__)

ROUND_S = 0.2  # how soon a shutdown, or the end of patience, is noticed while no call ends
PATIENCE = timedelta(seconds=2)  # how long a run waits here for room
ABSENCE = timedelta(seconds=1)  # by a multiple of it one is put off that has waited, or would wait longer:
ABSENCES = 5  # at most; steps, so that many come back together
WAITING_BATCH = 200  # runs that waited, and are tried again at once

Write = Callable[[Sequence[Any], datetime], None]


class Target(NamedTuple):
    """Whom a run calls, and for whom."""

    host: str
    tenant: UUID


class Worker:
    """What a worker process does with runs.

    Once `stopping()` is true, calls that are out get the time `drain` to end; then their runs are handed back.
    """

    def __init__(
        self,
        name: str,
        calls: Calls,
        clock: Callable[[], datetime],
        stopping: Callable[[], bool] = lambda: False,
        drain: timedelta = timedelta(0),
    ):
        self.name = name
        self.calls = calls
        self.clock = clock
        self.stopping = stopping
        self.drain = drain
        self._next = Batch()
        self._leasing = threading.Lock()
        self._waiting: dict[UUID, tuple[Target, datetime]] = {}  # for room: where, and until when
        self._lock = threading.Lock()
        self._renewed_at = clock()
        self._drained_at: datetime | None = None
        self._closing = threading.Event()
        self._recorder = threading.Thread(target=self._work, name="recorder", daemon=True)

    def start(self) -> None:
        self.calls.start()
        self._recorder.start()

    def close(self, within_s: float) -> None:
        """Wait until everything is recorded or handed back, but not longer; nobody calls `take` any more."""
        self._closing.set()
        self._recorder.join(within_s)

    def take(self, run_ids: Sequence[str]) -> int:
        """Begin those of the runs that are due, free and have room; return how many these are.

        Messages that come while others are at it are done in one go by the thread that came first, and counted as one.
        """
        with self._lock:
            batch = self._next
            batch.run_ids += run_ids
            if is_first := not batch.has_leader:
                batch.has_leader = True
        if is_first:
            self._lead(batch)
        return batch.begun.result()

    def step(self, wait_s: float = ROUND_S) -> None:
        """Wait for the end of a call, at most so long; record it, and do what else is due."""
        ended = self.calls.ended(wait_s)
        now = self.clock()
        self._write(record, [(item, outcome) for item, outcome in ended if outcome], now)
        self._write(hand_back, [item for item, outcome in ended if outcome is None], now)
        if now - self._renewed_at >= RENEWAL:
            self._write(renew, self.calls.in_hand(), now)
            self._renewed_at = now
        if self._drained_at is None and self.stopping():
            self._drained_at = now + self.drain
        if self._drained_at is not None:
            self._forget_waiting()
            if now >= self._drained_at:
                self.calls.cut_off()
        self._try_again(now)

    def settle(self) -> None:
        """Step until no call is out and no run waits for room."""
        while not self.is_idle:
            self.step()

    @property
    def is_idle(self) -> bool:
        return self.calls.room.is_empty and not self._waiting

    def _lead(self, batch: "Batch") -> None:
        with self._leasing:
            with self._lock:
                self._next = Batch()
            try:
                batch.begun.set_result(self._take(batch.run_ids, self._fitting(self.clock())))
            except Exception as error:
                batch.begun.set_exception(error)

    def _take(self, run_ids: Sequence[str], fitting: "Fitting") -> int:
        try:
            leased = lease(run_ids, self.name, fitting.now, fitting)
            self.calls.begin({fitting.places.pop(item.run.pk): item for item in leased})
        finally:
            fitting.give_back()
        with self._lock:
            self._waiting.update(fitting.waiting)
        return len(leased)

    def _try_again(self, now: datetime) -> None:
        """Take runs that have waited until there is room, or long enough.  Targets get places in turn."""
        fitting = self._fitting(now)
        with self._lock:
            turns: dict[Target, deque[UUID]] = defaultdict(deque)
            for run_id, (target, _) in self._waiting.items():
                turns[target].append(run_id)
            while turns and len(fitting.places) < WAITING_BATCH:
                for target in list(turns):
                    if turns[target] and (place := self.calls.room.take(*target)):
                        fitting.places[turns[target].popleft()] = place
                    else:
                        del turns[target]
            overdue = (run_id for run_id, (_, until) in self._waiting.items() if now >= until)
            for run_id in [*fitting.places, *itertools.islice(overdue, WAITING_BATCH)]:
                if run_id in self._waiting:
                    _, fitting.until[run_id] = self._waiting.pop(run_id)
        if fitting.until:
            self._take([str(run_id) for run_id in fitting.until], fitting)

    def _fitting(self, now: datetime) -> "Fitting":
        with self._lock:
            return Fitting(self.calls.room, now, Counter(target.host for target, _ in self._waiting.values()))

    def _forget_waiting(self) -> None:
        """They are rung for again."""
        with self._lock:
            self._waiting.clear()

    def _write(self, write: Write, items: Sequence[Any], now: datetime) -> None:
        """Write, and let none that cannot be written keep the others from it: a run without its result is reaped."""
        try:
            insist(write, items, now)
        except (OperationalError, InterfaceError):
            logger.exception("%s of %s runs has failed", write.__name__, len(items))
        except Exception:
            if len(items) == 1:
                logger.exception("%s of a run has failed", write.__name__)
                return
            for item in items:
                self._write(write, [item], now)

    def _work(self) -> None:
        while not (self._closing.is_set() and self.is_idle):
            try:
                self.step()
            except Exception:
                logger.exception("runs that waited for room wait for another message")
                close_old_connections()
            if self.is_idle:
                close_old_connections()
        self.calls.close()
        connection.close()


@dataclass(slots=True)
class Batch:
    """The runs of messages that are taken together."""

    run_ids: list[str] = field(default_factory=list)
    has_leader: bool = False
    begun: "Future[int]" = field(default_factory=Future)


class Fitting:
    """Which runs of a message there is room for.  Of the others, some wait for it here, the rest are put off."""

    def __init__(self, room: Room, now: datetime, ahead: Counter[str]):
        self.room = room
        self.now = now
        self.ahead = ahead  # by host: how many wait already
        self.until: dict[UUID, datetime] = {}  # how long those may wait that have waited already
        self.places: dict[UUID, Place] = {}
        self.waiting: dict[UUID, tuple[Target, datetime]] = {}

    def __call__(self, runs: Sequence[Run]) -> tuple[list[Run], dict[UUID, timedelta]]:
        """Those that fit, and for how long some of the others are put off."""
        fitting, put_off = [], {}
        for run in runs:
            target = Target(host_of(run), run.subscription_id)
            if self._has_place(run.pk, target):
                fitting.append(run)
            elif absence := self._absence(run.pk, target):
                put_off[run.pk] = absence
        return fitting, put_off

    def give_back(self) -> None:
        for place in self.places.values():
            self.room.leave(place)

    def _has_place(self, run_id: UUID, target: Target) -> bool:
        if run_id not in self.places and (place := self.room.take(*target)):
            self.places[run_id] = place
        return run_id in self.places

    def _absence(self, run_id: UUID, target: Target) -> timedelta | None:
        """For how long the run is put off; None when it waits here."""
        until = self.until.get(run_id)
        if until is None and self.room.pace_s(target.host) * (self.ahead[target.host] + 1) <= PATIENCE.total_seconds():
            until = self.now + PATIENCE
        if until is None or self.now >= until:
            steps = math.ceil(self.room.promise(target.host) / ABSENCE.total_seconds())
            return min(max(steps, 1), ABSENCES) * ABSENCE
        self.ahead[target.host] += 1
        self.waiting[run_id] = target, until
        return None


def insist(write: Write, items: Sequence[Any], now: datetime) -> None:
    """Write, and when the database is away, try until the leases have run out: after that the result is fenced off."""
    if not items:
        return
    deadline = time.monotonic() + LEASE.total_seconds()
    for failures in itertools.count(1):
        try:
            return write(items, now)
        except (OperationalError, InterfaceError) as error:
            if time.monotonic() >= deadline:
                raise
            if failures == 1:
                logger.warning("%s of %s runs waits for the database: %s", write.__name__, len(items), error)
        close_old_connections()
        time.sleep(1)
