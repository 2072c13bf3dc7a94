"""Recompute the next fire times of triggers whose zones have changed, see `triggers.zone_updates`."""

from collections.abc import Collection, Sequence
from datetime import datetime
from time import perf_counter
from typing import Any
from uuid import UUID

from jobs import bulk_sql
from jobs.models import JobCollection
from operations.reports import Move
from recurrence.wire.zone_names import zones_in
from triggers import next_fire
from triggers.models import MAIN, Trigger, TriggerQuerySet
from triggers.notify import notify_beat
from triggers.zone_updates import Step, register_dependents

BATCH = 100  # triggers that a step reads
MAX_STEP_S = 0.1  # the search of a step: on SQLite, others cannot write meanwhile


class ZonedTriggers:
    """The triggers with a next fire time in the future; one that is due keeps its fire time."""

    name = "triggers"

    def subscriptions(self, zones: Collection[str], now: datetime) -> set[UUID]:
        rows = _waiting(now).values_list("job__collection__subscription", "definition")
        found: set[UUID] = set()
        for subscription_id, definition in rows.iterator(chunk_size=1000):
            if subscription_id not in found and not zones_in(definition).isdisjoint(zones):
                found.add(subscription_id)
        return found

    def count(self, subscription_id: UUID, zones: Collection[str], now: datetime) -> int:
        return _of(subscription_id, now).count()

    def recompute(self, subscription_id: UUID, zones: Collection[str], after: Any, now: datetime) -> Step:
        """Look at the next triggers in the order of their keys.  Only the collections of those that move are locked."""
        rows = list(_of(subscription_id, now).filter(pk__gt=after or 0).order_by("pk")[:BATCH])
        began, seen, examined, moving = perf_counter(), 0, 0, []
        for trigger in rows:
            seen += 1
            if not zones_in(trigger.definition).isdisjoint(zones):
                examined += 1
                if _next_fire_at(trigger, now) != trigger.next_fire_at:
                    moving.append(trigger.pk)
            if perf_counter() - began > MAX_STEP_S:
                break
        moves = _move(moving, now)
        is_over = seen == len(rows) < BATCH
        return Step(None if is_over else rows[seen - 1].pk, seen, examined, len(moves), moves)


def _waiting(now: datetime) -> TriggerQuerySet:
    return Trigger.objects.filter(next_fire_at__gt=now)


def _of(subscription_id: UUID, now: datetime) -> TriggerQuerySet:
    return _waiting(now).filter(job__collection__subscription=subscription_id)


def _next_fire_at(trigger: Trigger, now: datetime) -> datetime | None:
    """Return the first fire time from now on that is later than the last one.

    A trigger whose schedule can no longer be followed keeps its next fire time: there, dispatch says so in a run.
    """
    schedule = trigger.schedule_or_none
    if schedule is None:
        return trigger.next_fire_at
    since = now - next_fire.RESOLUTION
    return schedule.after(max(since, trigger.previous_fire_at or since))


def _move(trigger_ids: Sequence[int], now: datetime) -> list[Move]:
    """Set the next fire times of these triggers, and return those that moved.

    Triggers whose collection is being deleted, or that a write has changed meanwhile, may be left out.
    """
    if not trigger_ids:
        return []
    keys = Trigger.objects.filter(pk__in=trigger_ids).values("job__collection")
    collections = JobCollection.objects.filter(pk__in=keys).exclude(state=JobCollection.State.DELETED)
    locked = list(collections.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
    rows = _waiting(now).filter(pk__in=trigger_ids, job__collection__in=locked).select_related("job__collection")
    moved, moves = [], []
    for trigger in rows.order_by("pk").select_for_update(of=("self",), no_key=True):
        before, after = trigger.next_fire_at, _next_fire_at(trigger, now)
        if before is not None and after != before:
            trigger.next_fire_at = after
            moved.append(trigger)
            moves.append(Move(f"{trigger.job.collection.name}/{trigger.job.name}", trigger.name, before, after))
    if not moved:
        return []
    bulk_sql.update(Trigger, [each.pk for each in moved], {"next_fire_at": [each.next_fire_at for each in moved]})
    for trigger in moved:
        if trigger.name == MAIN and trigger.next_fire_at is None:
            next_fire.complete_after_last_run(trigger)
            next_fire.complete_if_exhausted(trigger, now)
    notify_beat()
    return moves


register_dependents(ZonedTriggers())
