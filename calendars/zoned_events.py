"""Recompute the stored instants of events whose zones have changed, see `triggers.zone_updates`.

These are the instants and the bounds of events, and the instants of exceptions.  What others have cached is made
invalid by new revisions: files of feeds by that of the calendar, items of clients by those of events.

An event belongs to a person, and an operation to a subscription.  So the events of a person are recomputed with the
person's default subscription, or the first one; those of somebody without a subscription with the oldest one.  The
report only counts events: other members must not see more of a calendar.
"""

from collections.abc import Collection
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from django.db.models import Case, F, OuterRef, Subquery, UUIDField, Value, When
from django.db.models.functions import Coalesce

from accounts.models import Membership, Subscription
from calendars.locking import bump_revision, save, update_bounds
from calendars.model_fields import InstantField
from calendars.models import Calendar, Event, EventQuerySet
from calendars.occurrences import localize_all
from triggers.zone_updates import Step, register_dependents

BATCH = 50  # events that a step recomputes
INSTANTS = ("start_at", "end_at")
BOUNDS = ("covers_from", "covers_until")


class ZonedEvents:
    """The events with times in a changed zone."""

    name = "events"

    def subscriptions(self, zones: Collection[str], now: datetime) -> set[UUID]:
        homes = Event.objects.filter(zone__in=zones).annotate(home=_home()).values_list("home", flat=True)
        return {home for home in homes.distinct() if home is not None}

    def count(self, subscription_id: UUID, zones: Collection[str], now: datetime) -> int:
        return _of(subscription_id, zones).count()

    def recompute(self, subscription_id: UUID, zones: Collection[str], after: Any, now: datetime) -> Step:
        events = _of(subscription_id, zones).order_by("pk")
        if after is not None:
            events = events.filter(pk__gt=UUID(after))
        rows = list(events.values_list("pk", "calendar")[:BATCH])
        moved = _recompute([pk for pk, _ in rows], {calendar for _, calendar in rows}, now)
        return Step(str(rows[-1][0]) if len(rows) == BATCH else None, len(rows), len(rows), moved)


def _of(subscription_id: UUID, zones: Collection[str]) -> EventQuerySet:
    return Event.objects.filter(zone__in=zones).alias(home=_home()).filter(home=subscription_id)


def _home() -> Coalesce:
    """Return the expression for the id of the subscription with which an event is recomputed."""
    is_default = Case(When(subscription=F("user__default_subscription"), then=Value(0)), default=Value(1))
    own = Membership.objects.filter(user=OuterRef("calendar__owner")).order_by(is_default, "subscription")
    oldest = Subscription.objects.order_by("created_at", "pk")
    first = own.values("subscription")[:1], oldest.values("pk")[:1]
    return Coalesce(*(Subquery(keys, output_field=UUIDField()) for keys in first))


def _recompute(event_ids: Collection[UUID], calendar_ids: Collection[UUID], now: datetime) -> int:
    """Recompute events, and return how many of them moved.  What was deleted or moved meanwhile is left out."""
    locked = Calendar.objects.select_for_update(no_key=True).filter(pk__in=calendar_ids).order_by("pk")
    calendars = {calendar.pk: calendar for calendar in locked}
    moved = 0
    for event in Event.objects.filter(pk__in=event_ids, calendar__in=list(calendars)):
        event.calendar = calendars[event.calendar_id]
        has_moved = _recompute_instants(event)
        moved += has_moved
        if has_moved or event.is_series:  # occurrences can move even if the first and the last one stay
            save(event, now)
    for calendar in calendars.values():
        bump_revision(calendar, now)  # also without a moved event: the files of feeds describe the zone
    return moved


def _recompute_instants(event: Event) -> bool:
    """Set the instants and bounds of the event, and those of its exceptions.  Return True if one is different now."""
    names = INSTANTS + BOUNDS
    before = [getattr(event, name) for name in names]
    has_moved = localize_all(event)
    update_bounds(event)
    for name in INSTANTS:
        cast(InstantField, Event._meta.get_field(name)).pre_save(event, add=False)
    return has_moved or before != [getattr(event, name) for name in names]


register_dependents(ZonedEvents())
