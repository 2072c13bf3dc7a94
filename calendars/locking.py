"""Lock rows of calendars and events for a change, and save them with their revisions and bounds."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from django.db import transaction
from django.db.models import Count, F, Max, Min, OuterRef, Subquery
from django.db.models.lookups import LessThanOrEqual

from calendars.errors import ChangedSince, Gone
from calendars.expansion import localize, wall_times
from calendars.models import ONE_DAY, YEARS, Calendar, Event

Revision = tuple[int, int]


def lock_calendars(*keys: uuid.UUID) -> list[Calendar]:
    """Lock the calendars with these keys until the transaction ends, and return them in the order of `keys`.

    The rows are locked in the order of their keys, to avoid deadlocks.  Raises Gone when one does not exist.
    """
    rows = Calendar.objects.select_for_update(no_key=True).filter(pk__in=keys).order_by("pk")
    locked = {row.pk: row for row in rows}
    if len(locked) < len(set(keys)):
        raise Gone("there is no such calendar")
    return [locked[key] for key in keys]


@contextmanager
def locked_event(event: Event) -> Iterator[Event]:
    """Yield the current version of the event, locked until the block ends.  The block is one transaction.

    Raises Gone when the event was deleted or moved meanwhile.
    """
    with transaction.atomic():
        (calendar,) = lock_calendars(event.calendar_id)
        yield get_event(calendar, event)


def get_event(calendar: Calendar, event: Event) -> Event:
    """Return the current version of the event.  Raises Gone when it is no longer in `calendar`.

    An event that was moved is not followed: the caller may have no rights in its new calendar.
    """
    found = calendar.events.filter(pk=event.pk).first()
    if found is None:
        raise Gone("there is no such event")
    return found


def check_version(present: Revision, read: Revision | None) -> None:
    """Raise ChangedSince unless `read` is the present revision; None allows any."""
    if read is not None and read != present:
        raise ChangedSince


def save(event: Event, now: datetime, *, series: bool = True) -> None:
    """Save a changed event, and increase its revisions and that of its calendar.

    `series` is False when only exceptions changed: then `master_revision` stays.
    """
    event.revision += 1
    if series:
        event.master_revision += 1
    event.updated_at = now
    update_bounds(event)
    event.save()
    bump_revision(event.calendar, now)


def bump_revision(calendar: Calendar, now: datetime, *, max_events: int | None = None) -> bool:
    """Increase the revision of the calendar.  Return False if the calendar has more than `max_events` events.

    This is one query, because imports create thousands of events.
    """
    rows = Calendar.objects.filter(pk=calendar.pk)
    if max_events is not None:
        events = Event.objects.filter(calendar=OuterRef("pk")).order_by().values("calendar")
        rows = rows.filter(LessThanOrEqual(Subquery(events.annotate(count=Count("*")).values("count")), max_events))
    return rows.update(revision=F("revision") + 1, updated_at=now) == 1


def update_bounds(event: Event) -> None:
    """Set `covers_from` and `covers_until` around all occurrences of the event, moved ones included.

    `covers_until` is None when the series has no end, or one after the last year in YEARS.
    """
    own = localize(event, None, event.start, event.end, event.is_all_day, UTC, event.details)
    event.covers_from, event.covers_until = own.start, own.end
    if not event.is_series:
        return
    last = event.series.last
    if last is None or last.year not in YEARS:
        event.covers_until = None
    elif last_day := event.series.day_before(last + ONE_DAY):
        event.covers_until = localize(event, last_day, *wall_times(event, last_day, {}), UTC, event.details).end
    if event._state.adding:
        return
    moved = event.exceptions.aggregate(first=Min("start_at"), last=Max("end_at"))
    if moved["first"] is not None:
        event.covers_from = min(event.covers_from, moved["first"])
        event.covers_until = event.covers_until and max(event.covers_until, moved["last"])
