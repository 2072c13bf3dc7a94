"""Create, change, move and delete events, series and single occurrences, by the rules of Graph's event.

All surfaces change events with these functions.  Each function is one transaction: it succeeds completely, or it raises
CalendarError and changes nothing.  Each function locks the row of the calendar first (several rows in the order of
their keys), so that changes of one calendar run one after the other.  Events are written only under this lock.

`changes` contains the values to change: any of the names of Details, `is_all_day`, `start` and `end` as WallTime, and
`recurrence`, Graph's document or None.  All other values stay.  A `revision` is the one that the caller has read,
`Event.revision_pair` or `Occurrence.revision_pair`; ChangedSince is raised if it is no longer the present one.
"""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from datetime import date, datetime
from typing import Any

from django.db import transaction
from django.db.models import Count

from calendars.body_text import BODY, complete_body
from calendars.errors import CalendarError, ChangedSince, TooManyEvents
from calendars.event_times import Times, WallTime, apply_changes, rebase_recurrence
from calendars.locking import (
    Revision,
    bump_revision,
    check_version,
    get_event,
    lock_calendars,
    locked_event,
    save,
    update_bounds,
)
from calendars.models import PRIVATE, Calendar, Color, Event, EventException
from calendars.occurrences import Occurrences, localize_all
from calendars.validation import check_changes, refuse, text
from recurrence.wire.json_values import shown

__all__ = [
    "WallTime",
    "cancel_occurrence",
    "change",
    "change_and_move",
    "change_calendar",
    "change_following",
    "change_occurrence",
    "create",
    "create_calendar",
    "delete",
    "delete_calendar",
    "move",
    "occurrences_of",
    "restore_occurrence",
    "truncate_series",
]

KEY_LENGTH = 255  # characters of an iCalendar uid, and of an idempotency key (`transaction_id`)
NAME_LENGTH = 255
CALENDARS = 250  # of one person
EVENTS = 10_000  # of one calendar; a series is one event
TIME_NAMES = ("start", "end", "is_all_day", "recurrence")


def create(
    calendar: Calendar,
    changes: Mapping[str, Any],
    now: datetime,
    *,
    transaction_id: str | None = None,
    uid: str | None = None,
) -> tuple[Event, bool]:
    """Create an event; `start` and `end` are required.  The second value is True if the event is new.

    A second call with the same `transaction_id` returns the event of the first call, and False.
    """
    event = Event(created_at=now, updated_at=now)
    event.uid = text(uid, "uid", KEY_LENGTH) if uid else str(event.pk)
    event.transaction_id = text(transaction_id, "transactionId", KEY_LENGTH) if transaction_id else None
    _set_details(event, check_changes(changes))
    apply_changes(None, changes).apply_to(event)
    with transaction.atomic():
        (calendar,) = lock_calendars(calendar.pk)
        existing = event.transaction_id and calendar.events.filter(transaction_id=event.transaction_id).first()
        if existing:
            return existing, False
        event.calendar = calendar
        update_bounds(event)
        event.save(force_insert=True)
        if not bump_revision(calendar, now, max_events=EVENTS):
            raise TooManyEvents(EVENTS)
    return event, True


def change(event: Event, changes: Mapping[str, Any], now: datetime, *, revision: Revision | None = None) -> Event:
    """Change a single event or a whole series, and return it.

    Exceptions keep their own values and take the other values from the changed series.  All exceptions, cancellations
    too, are deleted if the series has other occurrences now: another pattern or range, start, end or zone, or no
    recurrence any more.
    """
    with locked_event(event) as event:
        check_version(event.revision_pair, revision)
        _change(event, changes, now)
    return event


def change_occurrence(
    event: Event, day: date, changes: Mapping[str, Any], now: datetime, *, revision: Revision | None = None
) -> EventException | None:
    """Change the occurrence with the original day `day`.  Return its exception, or None if it equals its series.

    The occurrence must stay strictly between the present days of its neighbours; cancelled occurrences do not count
    as neighbours.  Raises Gone if there is no such occurrence, or it is cancelled.
    """
    with occurrences_of(event, now) as occurrences:
        occurrences.change(day, changes, revision)
    return occurrences.rows.get(day)


def cancel_occurrence(event: Event, day: date, now: datetime, *, revision: Revision | None = None) -> None:
    """Cancel the occurrence.  The series gets no further occurrence in its place, even with a count.

    Raises Gone if there is no such occurrence, or it is already cancelled.
    """
    with occurrences_of(event, now) as occurrences:
        occurrences.cancel(day, revision)


def restore_occurrence(event: Event, day: date, now: datetime) -> None:
    """Remove the exception of the occurrence, changed or cancelled.  Raises Gone if there is none."""
    with occurrences_of(event, now) as occurrences:
        occurrences.restore(day)


@contextmanager
def occurrences_of(event: Event, now: datetime) -> Iterator[Occurrences]:
    """Lock the event and yield its Occurrences; all changes are written together when the block ends."""
    with locked_event(event) as event:
        occurrences = Occurrences(event)
        yield occurrences
        occurrences.write(now)


def change_following(
    event: Event, day: date, changes: Mapping[str, Any], now: datetime, *, revision: Revision | None = None
) -> Event:
    """End the series before `day`, start a new series with `changes` there, and return the new one.

    A count is split between the two series.  The new series takes the exceptions from `day` on, if `changes` keep its
    occurrences.  If `day` is the first day, no new series is made: the series itself changes.  A recurrence in
    `changes` may repeat the stored range, or its `startDate`; then the range, or the start, of the rest is meant.
    Raises Gone if there is no such occurrence, or it is cancelled.
    """
    with locked_event(event) as event:
        Occurrences(event).get_exception(day, revision)
        stored = event.recurrence
        if day == event.series.days.start:
            rest = event
        else:
            _refuse_full(event.calendar)
            rest = _split_series(event, day, now)
        if changes.get("recurrence") is not None:
            first = changes["start"].wall.date() if changes.get("start") else day
            changes = {
                **changes,
                "recurrence": rebase_recurrence(changes["recurrence"], stored, rest.recurrence, first),
            }
        _change(rest, changes, now)
    return rest


def truncate_series(event: Event, day: date, now: datetime, *, revision: Revision | None = None) -> None:
    """Delete the occurrence of `day` and all later ones; for the first day, delete the whole series."""
    with locked_event(event) as event:
        Occurrences(event).get_exception(day, revision)
        if day == event.series.days.start:
            event.delete()
            bump_revision(event.calendar, now)
        else:
            _split_series(event, day, now).delete()


def move(event: Event, calendar: Calendar, now: datetime) -> Event:
    """Move an event to another calendar, and return it.  A `transaction_id` that exists there is removed.

    A series with an exception that is private cannot move to a calendar of another owner, who would see the private
    occurrence.
    """
    with transaction.atomic():
        source, target = lock_calendars(event.calendar_id, calendar.pk)
        event = get_event(source, event)
        if target == source:
            return event
        if target.owner_id != source.owner_id and event.exceptions.filter(changes__sensitivity__in=PRIVATE).exists():
            raise CalendarError("must be one of the same owner: an occurrence is private", path="calendarId")
        _refuse_full(target)
        if target.events.filter(transaction_id=event.transaction_id, transaction_id__isnull=False).exists():
            event.transaction_id = None
        event.calendar = target
        save(event, now)
        bump_revision(source, now)
    return event


def change_and_move(
    event: Event, changes: Mapping[str, Any], calendar: Calendar, now: datetime, *, revision: Revision | None = None
) -> Event:
    """Change and move an event in one transaction, as `change` and `move` do.  An event of `calendar` stays there."""
    with transaction.atomic():
        lock_calendars(event.calendar_id, calendar.pk)
        return move(change(event, changes, now, revision=revision), calendar, now)


def delete(event: Event, now: datetime, *, revision: Revision | None = None) -> None:
    """Delete a single event, or a series with its exceptions."""
    with locked_event(event) as event:
        check_version(event.revision_pair, revision)
        event.delete()
        bump_revision(event.calendar, now)


def create_calendar(owner, name: str, hue: str | None, now: datetime) -> Calendar:
    """Create a calendar.  Without a hue, it gets the hue that its owner uses least."""
    name, hue = _checked_name(name), _checked_hue(hue) if hue else _least_used_color(owner)
    if owner.calendars.count() >= CALENDARS:
        raise CalendarError(f"nobody has more than {CALENDARS} calendars", code="too_many")
    return Calendar.objects.create(owner=owner, name=name, hue=hue, created_at=now, updated_at=now)


def change_calendar(
    calendar: Calendar, changes: Mapping[str, Any], now: datetime, *, revision: int | None = None
) -> Calendar:
    """Change the `name` or the `hue` of a calendar, and return the calendar."""
    checks = {"name": _checked_name, "hue": _checked_hue}
    checked = {name: checks[name](value) for name, value in changes.items()}
    with transaction.atomic():
        (calendar,) = lock_calendars(calendar.pk)
        if revision not in (None, calendar.revision):
            raise ChangedSince
        if any(getattr(calendar, name) != value for name, value in checked.items()):
            Calendar.objects.filter(pk=calendar.pk).update(**checked)
            bump_revision(calendar, now)
            calendar.refresh_from_db()
    return calendar


def delete_calendar(calendar: Calendar, now: datetime) -> None:
    """Delete a calendar with all its events.  Raises CalendarError for the default calendar."""
    with transaction.atomic():
        (calendar,) = lock_calendars(calendar.pk)
        if calendar.is_default:
            raise CalendarError("the default calendar cannot be deleted", code="is_default")
        calendar.delete()


def _change(event: Event, changes: Mapping[str, Any], now: datetime) -> None:
    details = check_changes(changes)
    old = Times.from_event(event)
    new = apply_changes(old, changes) if any(name in changes for name in TIME_NAMES) else old
    if new == old and all(getattr(event, name) == value for name, value in details.items()):
        return
    _set_details(event, details)
    new.apply_to(event)
    if not new.has_same_occurrences(old):
        event.exceptions.all().delete()
    elif new.zone != old.zone:
        localize_all(event)
    save(event, now)


def _refuse_full(calendar: Calendar) -> None:
    """Raise TooManyEvents if the calendar has EVENTS events or more.  The caller has locked the calendar."""
    if calendar.events.count() >= EVENTS:
        raise TooManyEvents(EVENTS)


def _set_details(event: Event, details: Mapping[str, Any]) -> None:
    for name, value in complete_body(details, {name: getattr(event, name) for name in BODY}).items():
        setattr(event, name, value)


def _split_series(event: Event, day: date, now: datetime) -> Event:
    """End the series before `day`, which is not its first day.  Return the rest as a new, saved series."""
    rest = copy(event)
    rest.pk, rest._state.adding = uuid.uuid4(), True
    rest.uid, rest.transaction_id, rest.created_at = str(rest.pk), None, now
    head, tail = Times.from_event(event).split(day)
    tail.apply_to(rest)
    update_bounds(rest)
    rest.save(force_insert=True)
    event.exceptions.filter(original_day__gte=day).update(event=rest)
    save(rest, now)
    head.apply_to(event)
    save(event, now)
    return rest


def _checked_name(value: object) -> str:
    name = text(value, "name", NAME_LENGTH).strip()
    if not name or not name.isprintable():
        refuse("name", "must be a name: something in one line")
    return name


def _checked_hue(value: object) -> str:
    if value not in Color.values:
        refuse("hue", f"must be one of {', '.join(Color.values)}, not {shown(value)}", "unknown_value")
    return str(value)


def _least_used_color(owner) -> str:
    used = dict(owner.calendars.values_list("hue").annotate(Count("pk")))
    return min(Color.values, key=lambda hue: used.get(hue, 0))
