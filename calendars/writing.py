"""Rows of calendars and events, held while they change and written with what follows from them."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from django.db import transaction
from django.db.models import F, Max, Min

from calendars.errors import ChangedSince, Gone
from calendars.expansion import place, walls_of
from calendars.models import ONE_DAY, YEARS, Calendar, Event

Revision = tuple[int, int]


def hold(*keys: uuid.UUID) -> list[Calendar]:
    """The calendars with these keys, which nobody else writes until the transaction ends."""
    rows = Calendar.objects.select_for_update(no_key=True).filter(pk__in=keys).order_by("pk")
    held = {row.pk: row for row in rows}
    if len(held) < len(set(keys)):
        raise Gone("there is no such calendar")
    return [held[key] for key in keys]


@contextmanager
def held(event: Event) -> Iterator[Event]:
    """The event as it is by now, which nobody else writes until the block, one transaction, ends."""
    with transaction.atomic():
        (calendar,) = hold(event.calendar_id)
        yield event_in(calendar, event)


def event_in(calendar: Calendar, event: Event) -> Event:
    """It may have been moved to where its caller has no rights."""
    found = calendar.events.filter(pk=event.pk).first()
    if found is None:
        raise Gone("there is no such event")
    return found


def require(present: Revision, read: Revision | None) -> None:
    if read is not None and read != present:
        raise ChangedSince


def save(event: Event, now: datetime, *, series: bool = True) -> None:
    """Write an event that has changed: the `series` as a whole, or something of one occurrence."""
    event.revision += 1
    if series:
        event.series_revision += 1
    event.updated_at = now
    surround(event)
    event.save()
    count(event.calendar, now)


def count(calendar: Calendar, now: datetime) -> None:
    Calendar.objects.filter(pk=calendar.pk).update(revision=F("revision") + 1, updated_at=now)


def surround(event: Event) -> None:
    """Set `first_at` and `ends_at` around all that the event brings."""
    own = place(event, None, event.start, event.end, event.is_all_day, UTC, event.details)
    event.first_at, event.ends_at = own.start, own.end
    if not event.is_series:
        return
    last = event.series.last
    if last is None or last.year not in YEARS:
        event.ends_at = None
    elif last_day := event.series.day_before(last + ONE_DAY):
        event.ends_at = place(event, last_day, *walls_of(event, last_day, {}), UTC, event.details).end
    if event._state.adding:
        return
    moved = event.exceptions.aggregate(first=Min("start_at"), last=Max("end_at"))
    if moved["first"] is not None:
        event.first_at = min(event.first_at, moved["first"])
        event.ends_at = event.ends_at and max(event.ends_at, moved["last"])
