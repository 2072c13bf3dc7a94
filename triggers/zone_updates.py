"""Notice that a process has started with other time zone data, and recompute the stored times that depend on it.

The database keeps the version of the data and a digest of each zone.  A beat compares them when it starts.  One
conditional UPDATE decides which process accepts the work: one operation for each subscription that is concerned.  The
registered dependents do the work in short steps: triggers here, events in `calendars`.
"""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from celery import signals
from django.db import transaction

from accounts.models import Subscription
from operations.handlers import OperationFailed, WorkerNotReady, register
from operations.models import Operation
from operations.reports import Move, add_moves, set_facts
from operations.service import Caller, create
from recurrence.zone_data import ZoneData, current
from triggers.models import TimeZoneData

logger = logging.getLogger(__name__)

KIND = "time_zone_data.apply"


@dataclass(frozen=True, slots=True)
class Step:
    """What one step has done: `seen` rows, of which `examined` use a changed zone, and of which `moved` changed.

    `after` is the position of the next step, a JSON value; None: no rows are left.
    """

    after: Any
    seen: int = 0
    examined: int = 0
    moved: int = 0
    moves: Sequence[Move] = ()


class Dependents(Protocol):
    """Rows with times that were computed from zones.  `name` is their plural, for people."""

    name: str

    def subscriptions(self, zones: Collection[str], now: datetime) -> set[UUID]:
        """Return the ids of the subscriptions with rows that use one of the zones."""

    def count(self, subscription_id: UUID, zones: Collection[str], now: datetime) -> int:
        """Return about how many rows the steps will see."""

    def recompute(self, subscription_id: UUID, zones: Collection[str], after: Any, now: datetime) -> Step:
        """Recompute some rows that come after the position `after`; None: from the first one.

        Called in a transaction, which must be short.
        """


_dependents: list[Dependents] = []


def register_dependents(dependents: Dependents) -> None:
    _dependents.append(dependents)


def apply_data(data: ZoneData, now: datetime) -> list[Operation]:
    """Accept operations if the stored times were computed with other data than `data`, and return them.

    The first start of an installation stores the version only.  If several processes call this function at the same
    time, one of them accepts the operations, and the others return an empty list.
    """
    stored, is_new = TimeZoneData.objects.get_or_create(
        pk=TimeZoneData.ROW, defaults={"label": data.label, "digests": dict(data.digests), "since": now}
    )
    if is_new:
        logger.info("stored times are computed with time zone data %s", data.label)
        return []
    zones = set(data.changed_since(stored.digests))
    if not zones and stored.label == data.label:
        return []
    return _claim(stored, data, zones, now)


def recompute_all(data: ZoneData, now: datetime) -> list[Operation]:
    """Accept operations that recompute the times in all zones, whatever data they were computed with."""
    apply_data(data, now)
    return _claim(TimeZoneData.objects.get(pk=TimeZoneData.ROW), data, set(data.digests), now)


def _claim(stored: TimeZoneData, data: ZoneData, zones: set[str], now: datetime) -> list[Operation]:
    """Store `data` and accept one operation for each subscription concerned, unless another process has done so."""
    if Operation.objects.open().filter(kind=KIND).exists():  # it will end as superseded, so its zones are done again
        zones = zones.union(stored.changed_zones)
    concerned = {pk for each in _dependents for pk in each.subscriptions(zones, now)} if zones else set()
    with transaction.atomic():
        claimed = TimeZoneData.objects.filter(pk=stored.pk, revision=stored.revision).update(
            revision=stored.revision + 1,
            label=data.label,
            digests=dict(data.digests),
            changed_zones=sorted(zones),
            since=now,
        )
        if not claimed:
            return []
        subscriptions = Subscription.objects.filter(pk__in=concerned).order_by("pk")
        operations = [_accept(each, stored, data, now) for each in subscriptions]
    logger.info(
        *("time zone data %s instead of %s: zones with changes: %d, operations: %d",),
        *(data.label, stored.label, len(zones), len(operations)),
    )
    return operations


def _accept(subscription: Subscription, stored: TimeZoneData, data: ZoneData, now: datetime) -> Operation:
    revision = stored.revision + 1
    return create(
        subscription,
        KIND,
        target=data.label,
        target_key=f"time zone data {revision} {subscription.pk.hex}",
        location="global",
        caller=Caller(),
        now=now,
        state_data={"revision": revision, "before": stored.label, "dependents": {}},
    )


class Recomputation:
    """Recomputes the times of one subscription, one kind of dependents after the other."""

    def step(self, operation: Operation, now: datetime) -> int:
        stored = TimeZoneData.objects.get(pk=TimeZoneData.ROW)
        if stored.revision != operation.state_data["revision"]:
            raise OperationFailed("Superseded", f"a later operation recomputes the times with data {stored.label}")
        if current().digests != stored.digests:
            raise WorkerNotReady(f"it works with time zone data {current().label}, not {stored.label}: restart it")
        progress = operation.state_data["dependents"]
        for dependents in _dependents:
            own = progress.get(dependents.name, {})
            if not own.get("is_done"):
                progress[dependents.name] = self._advance(dependents, own, operation, stored, now)
                break
        is_done = all(progress.get(each.name, {}).get("is_done") for each in _dependents)
        set_facts(operation, _facts(operation))
        if is_done:
            words = "; ".join(f"{name}: {value}" for name, value in _facts(operation))
            logger.info("recomputed times of subscription %s: %s", operation.subscription_id, words)
            return 100
        return _percent(progress)

    def _advance(
        self, dependents: Dependents, own: dict[str, Any], operation: Operation, stored: TimeZoneData, now: datetime
    ) -> dict[str, Any]:
        """Do one step of the dependents; return their progress after it."""
        subscription_id, zones = operation.subscription_id, frozenset(stored.changed_zones)
        if not own:
            total = dependents.count(subscription_id, zones, now)
            own = {"total": total, "seen": 0, "examined": 0, "moved": 0, "after": None}
        step = dependents.recompute(subscription_id, zones, own["after"], now)
        add_moves(operation, step.moves)
        sums = {name: own[name] + getattr(step, name) for name in ("seen", "examined", "moved")}
        return own | sums | {"after": step.after, "is_done": step.after is None}

    def undo(self, operation: Operation, now: datetime) -> None:
        """Do nothing: the times that were recomputed are right, and the others stay as they were."""


def _facts(operation: Operation) -> list[tuple[str, str]]:
    """Return what the report says: the version before and after, and how many rows moved."""
    data = operation.state_data
    counts = [
        (name.capitalize(), f"{own['moved']:,} of {own['examined']:,} moved")
        for name, own in data["dependents"].items()
    ]
    return [("Time zone data", f"{operation.target}, before {data['before']}"), *counts]


def _percent(progress: dict[str, Any]) -> int:
    """Return the progress in percent, at most 99, if the dependents take equally long."""
    shares = [1 if own["is_done"] else own["seen"] / max(own["total"], own["seen"], 1) for own in progress.values()]
    return min(99, int(sum(shares) * 100 / len(_dependents)))


@signals.worker_init.connect
def read_zone_data(**_: object) -> None:
    """Read the time zone data when a worker starts, because it works with this data even if the files change."""
    current()


register(KIND, Recomputation(), is_cancellable=False)
