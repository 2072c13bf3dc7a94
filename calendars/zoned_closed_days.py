"""Recompute the days that events in changed zones close, see `triggers.zone_updates`.

Registered after `calendars.zoned_events`: the events of the subscription are recomputed first.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from accounts.models import Subscription
from calendars.closed_days import calendar_keys
from calendars.models import Event
from triggers.closed_days import locked, renew
from triggers.models import ClosedDays, ClosedDaysQuerySet
from triggers.zone_updates import Step, register_dependents


class ZonedClosedDays:
    """The calendars of closed days that name a calendar with events in a changed zone."""

    name = "closed days"

    def subscriptions(self, zones: Collection[str], now: datetime) -> set[UUID]:
        found: set[UUID] = set()
        for calendar in _with_events():
            if calendar.subscription_id not in found and _has_events_in(calendar, zones):
                found.add(calendar.subscription_id)
        return found

    def count(self, subscription_id: UUID, zones: Collection[str], now: datetime) -> int:
        return _with_events().filter(subscription=subscription_id).count()

    def recompute(self, subscription_id: UUID, zones: Collection[str], after: Any, now: datetime) -> Step:
        """Recompute one calendar, and the next fire times of the triggers that name it."""
        rows = _with_events().filter(subscription=subscription_id, pk__gt=after or 0)
        calendar = rows.first()
        if calendar is None:
            return Step(None)
        if not _has_events_in(calendar, zones):
            return Step(calendar.pk, seen=1)
        try:
            with locked(calendar) as stored:
                return Step(calendar.pk, seen=1, examined=1, moved=int(renew(stored, now)))
        except (ClosedDays.DoesNotExist, Subscription.DoesNotExist):  # deleted meanwhile
            return Step(calendar.pk, seen=1)


def _with_events() -> ClosedDaysQuerySet:
    return ClosedDays.objects.filter(has_events=True).select_related("version").order_by("pk")


def _has_events_in(calendar: ClosedDays, zones: Collection[str]) -> bool:
    keys = calendar_keys(calendar.document["calendars"])
    return Event.objects.filter(calendar__in=keys, zone__in=zones).exists()


register_dependents(ZonedClosedDays())
