"""Create, change, move and delete events, series and single occurrences: the rules of Graph's event, once for all.

Every surface comes here.  Each function is one transaction: it is done whole, or it raises CalendarError and nothing
was changed.  Whoever writes holds the calendar's row first (several in the order of their keys), so that two changes
of one calendar follow each other; its events are only touched below that.

`changes` names what is to be different: any of the names of Details, `is_all_day`, `start` and `end` as WallTime, and
`recurrence`, Graph's document or None.  All else stays as it is.  A `revision` is what the caller has read,
`Event.version` or `Occurrence.revision`; ChangedSince is raised when it is so no more.
"""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from datetime import date, datetime
from typing import Any

from django.db import transaction
from django.db.models import Count

from calendars.details import checked, refuse, text
from calendars.errors import CalendarError, ChangedSince
from calendars.models import PRIVATE, Calendar, Event, EventException, Hue
from calendars.occurrences import Occurrences, place_all
from calendars.times import Times, WallTime, merged, resumed
from calendars.writing import Revision, count, event_in, held, hold, require, save, surround
from recurrence.wire.reading import shown

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
    "end_before",
    "move",
    "occurrences_of",
    "restore_occurrence",
]

KEY_LENGTH = 255  # characters of an iCalendar uid, and of a caller's own key of a creation
NAME_LENGTH = 255
CALENDARS = 250  # of one person
WHEN = ("start", "end", "is_all_day", "recurrence")


def create(
    calendar: Calendar,
    changes: Mapping[str, Any],
    now: datetime,
    *,
    transaction_id: str | None = None,
    uid: str | None = None,
) -> tuple[Event, bool]:
    """Make an event; `start` and `end` are required.  The second value tells whether it is new.

    A second call with the same `transaction_id` finds the event of the first.
    """
    event = Event(created_at=now, updated_at=now)
    event.uid = text(uid, "uid", KEY_LENGTH) if uid else str(event.pk)
    event.transaction_id = text(transaction_id, "transactionId", KEY_LENGTH) if transaction_id else None
    _say(event, checked(changes))
    merged(None, changes).give(event)
    with transaction.atomic():
        (calendar,) = hold(calendar.pk)
        made = event.transaction_id and calendar.events.filter(transaction_id=event.transaction_id).first()
        if made:
            return made, False
        event.calendar = calendar
        surround(event)
        event.save(force_insert=True)
        count(calendar, now)
    return event, True


def change(event: Event, changes: Mapping[str, Any], now: datetime, *, revision: Revision | None = None) -> Event:
    """Change a single event or a whole series, and return it.

    Exceptions keep what they say otherwise and take over the rest.  They are dropped, cancellations too, when the
    series gives other occurrences: by another pattern or range, start, end or zone, or because it is none any more.
    """
    with held(event) as event:
        require(event.version, revision)
        _change(event, changes, now)
    return event


def change_occurrence(
    event: Event, day: date, changes: Mapping[str, Any], now: datetime, *, revision: Revision | None = None
) -> EventException | None:
    """Let the occurrence that the series gives `day` differ from it; None when it does not, or no more.

    It stays strictly between the days on which its neighbours are now; one that is cancelled is no neighbour.
    Raises Gone when there is no such occurrence, or it is cancelled.
    """
    with occurrences_of(event, now) as occurrences:
        occurrences.change(day, changes, revision)
    return occurrences.rows.get(day)


def cancel_occurrence(event: Event, day: date, now: datetime, *, revision: Revision | None = None) -> None:
    """Leave the occurrence out; a count is not refilled.  Raises Gone when there is none, or it is cancelled."""
    with occurrences_of(event, now) as occurrences:
        occurrences.cancel(day, revision)


def restore_occurrence(event: Event, day: date, now: datetime) -> None:
    """Let the occurrence be again as its series has it.  Raises Gone when it is."""
    with occurrences_of(event, now) as occurrences:
        occurrences.restore(day)


@contextmanager
def occurrences_of(event: Event, now: datetime) -> Iterator[Occurrences]:
    """Change as many occurrences of a series as wanted; what was done is written together when the block ends."""
    with held(event) as event:
        occurrences = Occurrences(event)
        yield occurrences
        occurrences.write(now)


def change_following(
    event: Event, day: date, changes: Mapping[str, Any], now: datetime, *, revision: Revision | None = None
) -> Event:
    """Let the series end before `day`, and another one with `changes` begin there; return that one.

    A count is split between the two.  Exceptions from `day` on go along if `changes` leave the occurrences where they
    are.  From the first day on, it is the series itself that is changed.  A recurrence may repeat the stored range,
    or its `startDate`: those of the rest are meant.
    Raises Gone when there is no such occurrence, or it is cancelled.
    """
    with held(event) as event:
        Occurrences(event).of(day, revision)
        stored = event.recurrence
        rest = event if day == event.series.days.start else _split(event, day, now)
        if changes.get("recurrence") is not None:
            first = changes["start"].wall.date() if changes.get("start") else day
            changes = {**changes, "recurrence": resumed(changes["recurrence"], stored, rest.recurrence, first)}
        _change(rest, changes, now)
    return rest


def end_before(event: Event, day: date, now: datetime, *, revision: Revision | None = None) -> None:
    """Remove the occurrence of `day` and all that follow; from the first day on, the whole series."""
    with held(event) as event:
        Occurrences(event).of(day, revision)
        if day == event.series.days.start:
            event.delete()
            count(event.calendar, now)
        else:
            _split(event, day, now).delete()


def move(event: Event, calendar: Calendar, now: datetime) -> Event:
    """Put an event into another calendar, and return it.  A `transaction_id` that is taken there is dropped.

    With an occurrence that is private alone, a series stays with its owner, or another owner would see that.
    """
    with transaction.atomic():
        here, there = hold(event.calendar_id, calendar.pk)
        event = event_in(here, event)
        if there == here:
            return event
        if there.owner_id != here.owner_id and event.exceptions.filter(changes__sensitivity__in=PRIVATE).exists():
            raise CalendarError("must be one of the same owner: an occurrence is private", path="calendarId")
        if there.events.filter(transaction_id=event.transaction_id, transaction_id__isnull=False).exists():
            event.transaction_id = None
        event.calendar = there
        save(event, now)
        count(here, now)
    return event


def change_and_move(
    event: Event, changes: Mapping[str, Any], calendar: Calendar, now: datetime, *, revision: Revision | None = None
) -> Event:
    """Do both as `change` and `move` do, or neither; an event that is in the calendar stays there."""
    with transaction.atomic():
        hold(event.calendar_id, calendar.pk)
        return move(change(event, changes, now, revision=revision), calendar, now)


def delete(event: Event, now: datetime, *, revision: Revision | None = None) -> None:
    """Delete a single event, or a series with all that became of its occurrences."""
    with held(event) as event:
        require(event.version, revision)
        event.delete()
        count(event.calendar, now)


def create_calendar(owner, name: str, hue: str | None, now: datetime) -> Calendar:
    """Make a calendar; without a hue it gets the one that its owner uses least."""
    name, hue = _checked_name(name), _checked_hue(hue) if hue else _rarest_hue(owner)
    if owner.calendars.count() >= CALENDARS:
        raise CalendarError(f"nobody has more than {CALENDARS} calendars", code="too_many")
    return Calendar.objects.create(owner=owner, name=name, hue=hue, created_at=now, updated_at=now)


def change_calendar(
    calendar: Calendar, changes: Mapping[str, Any], now: datetime, *, revision: int | None = None
) -> Calendar:
    """Change its `name` or `hue`, and return it."""
    checks = {"name": _checked_name, "hue": _checked_hue}
    wanted = {name: checks[name](value) for name, value in changes.items()}
    with transaction.atomic():
        (calendar,) = hold(calendar.pk)
        if revision not in (None, calendar.revision):
            raise ChangedSince
        if any(getattr(calendar, name) != value for name, value in wanted.items()):
            Calendar.objects.filter(pk=calendar.pk).update(**wanted)
            count(calendar, now)
            calendar.refresh_from_db()
    return calendar


def delete_calendar(calendar: Calendar, now: datetime) -> None:
    """Delete a calendar with all its events.  The default one stays."""
    with transaction.atomic():
        (calendar,) = hold(calendar.pk)
        if calendar.is_default:
            raise CalendarError("the default calendar cannot be deleted", code="is_default")
        calendar.delete()


def _change(event: Event, changes: Mapping[str, Any], now: datetime) -> None:
    details = checked(changes)
    old = Times.of(event)
    new = merged(old, changes) if any(name in changes for name in WHEN) else old
    if new == old and all(getattr(event, name) == value for name, value in details.items()):
        return
    _say(event, details)
    new.give(event)
    if not new.gives_the_same(old):
        event.exceptions.all().delete()
    elif new.zone != old.zone:
        place_all(event)
    save(event, now)


def _say(event: Event, details: Mapping[str, Any]) -> None:
    for name, value in details.items():
        setattr(event, name, value)


def _split(event: Event, day: date, now: datetime) -> Event:
    """End the series before `day`, which is not its first.  Return the rest, a series of its own."""
    rest = copy(event)
    rest.pk, rest._state.adding = uuid.uuid4(), True
    rest.uid, rest.transaction_id, rest.created_at = str(rest.pk), None, now
    until, since = Times.of(event).split(day)
    since.give(rest)
    surround(rest)
    rest.save(force_insert=True)
    event.exceptions.filter(original_day__gte=day).update(event=rest)
    save(rest, now)
    until.give(event)
    save(event, now)
    return rest


def _checked_name(value: object) -> str:
    name = text(value, "name", NAME_LENGTH).strip()
    if not name or not name.isprintable():
        refuse("name", "must be a name: something in one line")
    return name


def _checked_hue(value: object) -> str:
    if value not in Hue.values:
        refuse("hue", f"must be one of {', '.join(Hue.values)}, not {shown(value)}", "unknown_value")
    return str(value)


def _rarest_hue(owner) -> str:
    used = dict(owner.calendars.values_list("hue").annotate(Count("pk")))
    return min(Hue.values, key=lambda hue: used.get(hue, 0))
