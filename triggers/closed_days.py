"""Calendars of closed days: create, change and delete them, and keep the triggers whose schedules name them up to date.

A change stores a new version and recomputes the next fire times of all triggers that name the calendar.  It locks the
subscription, then all collections of the subscription in the order of their keys, then the triggers.  A schedule is
saved with the lock of its collection, so that it cannot take over an old version meanwhile.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Protocol

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.module_loading import import_string

from accounts.models import Subscription, User
from api.errors import Conflict, Invalid
from jobs.models import JobCollection
from operations import service
from operations.handlers import OperationFailed, register
from operations.models import Operation
from operations.service import AlreadyRunning, Caller
from recurrence import wire
from recurrence.closed_day_changes import Changes, changed_spans, changes
from recurrence.closed_days import ClosedDays as Days
from recurrence.wire import closed_days as documents
from triggers.models import (
    MAIN,
    ClosedDays,
    ClosedDaysVersion,
    Trigger,
    TriggerQuerySet,
    parse_event_days,
    parsed_or_none,
)
from triggers.notify import notify_beat

CALENDARS_LIMIT = 100  # calendars of a subscription
TRIGGERS_AT_ONCE = 100  # recomputed in one transaction; an operation recomputes more
NAMED_USERS = 10  # of a refusal
COMPARED_DAYS = 400
COMPARED_TRIGGERS = 100
COMPARED_FIRES = 20_000  # of all triggers of one comparison
FIRES_OF_TRIGGER = 2_000  # of one trigger of a comparison
OLD_VERSION = timedelta(days=1)  # how long an unused version stays, for readers that loaded a trigger before
RECOMPUTE = "closed_days.recompute"

# Look-up by schedules


def current_version_id(subscription_id: uuid.UUID, definition: Mapping[str, Any]) -> uuid.UUID | None:
    """Return the newest version of the calendar that a definition names; None without a calendar of that name."""
    rule = definition.get("closedDays")
    name = rule.get("calendar") if isinstance(rule, Mapping) else None
    return _version_id_named(subscription_id, name) if isinstance(name, str) else None


def _version_id_named(subscription_id: uuid.UUID, name: str) -> uuid.UUID | None:
    if not name.isascii() or "\0" in name:
        return None
    calendars = ClosedDays.objects.filter(subscription=subscription_id).named(name)
    return calendars.values_list("version_id", flat=True).first()


def users_of(calendar: ClosedDays) -> TriggerQuerySet:
    """Return the triggers whose schedules name the calendar, also stopped ones."""
    return Trigger.objects.filter(closed_days__calendar=calendar)


# Changes


@contextmanager
def locked(calendar: ClosedDays) -> Iterator[ClosedDays]:
    """Open a transaction in which nobody else changes calendars or schedules of the subscription.

    Yield the calendar as it is stored now.  Raises DoesNotExist when it is gone.
    """
    with transaction.atomic():
        _lock_schedules(calendar.subscription_id)
        yield ClosedDays.objects.select_related("version").get(pk=calendar.pk)


def create(
    subscription: Subscription, name: str, document: Mapping[str, Any], now: datetime, user: User | None = None
) -> ClosedDays:
    """Create a calendar for `user`, who must see the calendars of events that the document names.

    Raises Invalid or WireError for a wrong member, and Conflict when the name is taken.
    """
    document = _checked(document, subscription.pk, user)
    with transaction.atomic():
        Subscription.objects.select_for_update(no_key=True).get(pk=subscription.pk)
        if ClosedDays.objects.filter(subscription=subscription).count() >= CALENDARS_LIMIT:
            raise Conflict(
                f"a subscription may have {CALENDARS_LIMIT} calendars of closed days and does so already",
                code="quota_exceeded",
            )
        calendar = ClosedDays(subscription=subscription)
        _rename(calendar, name)
        calendar.save()
        _store_version(calendar, document, now)
        calendar.save()
    return calendar


def change(
    calendar: ClosedDays, document: Mapping[str, Any], name: str, caller: Caller, now: datetime
) -> Operation | None:
    """Change the days or the name of a calendar that is `locked`, and recompute the triggers that name it.

    Return the operation that recomputes them if there are more than TRIGGERS_AT_ONCE.  A write that repeats the stored
    values recomputes only triggers that an earlier operation has left out.  Raises Invalid or WireError for a wrong
    member, and Conflict for a new name that is taken, or while schedules name the calendar.
    """
    document = _checked(document, calendar.subscription_id, caller.user, calendar)
    if (calendar.name, calendar.document) == (name, document):
        return _recompute(calendar, caller, now) if outdated_triggers(calendar).exists() else None
    if name.lower() != calendar.name.lower():
        refuse_used(calendar, "name")
    if name != calendar.name:
        _rename(calendar, name)
    calendar.revision += 1
    if document == calendar.document:
        calendar.save()
        return None
    _store_version(calendar, document, now)
    calendar.save()
    return _recompute(calendar, caller, now)


def delete(calendar: ClosedDays) -> None:
    """Delete a calendar that is `locked`.  Raises Conflict while schedules name it."""
    refuse_used(calendar)
    calendar.delete()


def refuse_used(calendar: ClosedDays, path: str | None = None) -> None:
    """Raise Conflict with the names of the first users while schedules name the calendar."""
    users = users_of(calendar).order_by("pk").values_list("job__collection__name", "job__name", "name")
    shown = [name_of_user(*row) for row in users[: NAMED_USERS + 1]]
    if not shown:
        return
    if len(shown) > NAMED_USERS:
        shown[NAMED_USERS:] = [f"and {users.count() - NAMED_USERS} more"]
    raise Conflict(f"{calendar.name!r} is in use: {', '.join(shown)}", path=path, code="in_use")


def name_of_user(collection: str, job: str, trigger: str) -> str:
    return f"{collection}/{job}" if trigger == MAIN else f"{collection}/{job}/{trigger}"


def _checked(
    document: Mapping[str, Any], subscription_id: uuid.UUID, user: User | None, stored: ClosedDays | None = None
) -> dict[str, Any]:
    """Return the canonical form of a document.  Raises WireError, also for a calendar that `user` does not see."""
    document = documents.render(document)
    if document["calendars"]:
        known = stored.document["calendars"] if stored else []
        _event_calendars().check(document["calendars"], subscription_id, user, known)
    return document


def _lock_schedules(subscription_id: uuid.UUID) -> None:
    """Lock the subscription and all of its collections: nobody else saves a schedule until the transaction ends."""
    Subscription.objects.select_for_update(no_key=True).get(pk=subscription_id)
    collections = JobCollection.objects.filter(subscription=subscription_id).order_by("pk")
    list(collections.select_for_update(no_key=True).values_list("pk"))


def _rename(calendar: ClosedDays, name: str) -> None:
    calendar.name = name
    try:
        calendar.clean_fields(exclude={"version"})
    except ValidationError as error:
        raise Invalid(error.message_dict["name"][0], path="name") from None
    others = ClosedDays.objects.filter(subscription=calendar.subscription_id).exclude(pk=calendar.pk)
    if others.named(name).exists():
        raise Conflict(f"there is a calendar of closed days {name!r} already", path="name")


def _store_version(calendar: ClosedDays, document: Mapping[str, Any], now: datetime) -> None:
    """Store a new version and make it the newest one.  Unused versions that are old enough are deleted.

    The caller saves the calendar.
    """
    items = document["calendars"]
    calendar.has_events = bool(items)
    calendar.event_state = _event_calendars().state(items, now) if items else {}
    calendar.version = ClosedDaysVersion.objects.create(
        calendar=calendar,
        document=document,
        event_days=_event_days(document, calendar.subscription_id, now),
        created_at=now,
    )
    unused = calendar.versions.exclude(pk=calendar.version.pk).filter(triggers=None)
    unused.filter(created_at__lt=now - OLD_VERSION).delete()


# Calendars of events


class EventCalendars(Protocol):
    """The calendars whose events close days.  The setting CLOSED_DAY_CALENDARS names the class."""

    def check(
        self,
        items: Sequence[Mapping[str, str]],
        subscription_id: uuid.UUID,
        user: User | None,
        known: Sequence[Mapping[str, str]],
    ) -> None:
        """Raise WireError for an item with a calendar that is not of the subscription, or that `user` does not see.

        Items in `known` are stored already, and pass.
        """

    def state(self, items: Sequence[Mapping[str, str]], now: datetime) -> dict[str, Any]:
        """Return a JSON value that changes when the days of the items may have changed."""

    def days(self, items: Sequence[Mapping[str, str]], subscription_id: uuid.UUID, now: datetime) -> dict[date, str]:
        """Return the days with events near `now`, and their names.  Calendars that are gone have none."""


def _event_calendars() -> EventCalendars:
    return import_string(settings.CLOSED_DAY_CALENDARS)()


def _event_days(document: Mapping[str, Any], subscription_id: uuid.UUID, now: datetime) -> dict[str, str]:
    items = document["calendars"]
    days = _event_calendars().days(items, subscription_id, now) if items else {}
    return {day.isoformat(): name for day, name in days.items()}


def renew_event_days(now: datetime, is_over: Callable[[], bool]) -> bool:
    """Store new versions of the calendars whose events have changed, and of all once a day.

    Return False if `is_over` returned True before the end.
    """
    for calendar in ClosedDays.objects.filter(has_events=True).select_related("version").order_by("pk"):
        if is_over():
            return False
        if calendar.event_state != _event_calendars().state(calendar.document["calendars"], now):
            try:
                with locked(calendar) as stored:
                    renew(stored, now)
            except (ClosedDays.DoesNotExist, Subscription.DoesNotExist):  # deleted meanwhile
                continue
    return True


def renew(calendar: ClosedDays, now: datetime) -> bool:
    """Store a new version of a calendar that is `locked` if its events close other days.  Return True if they do."""
    document = calendar.document
    if calendar.version and _event_days(document, calendar.subscription_id, now) == calendar.version.event_days:
        calendar.event_state = _event_calendars().state(document["calendars"], now)
        calendar.save(update_fields=["event_state"])
        return False
    _store_version(calendar, document, now)
    calendar.save(update_fields=["version", "event_state"])
    _recompute(calendar, Caller(), now)
    return True


# Next fire times


def _recompute(calendar: ClosedDays, caller: Caller, now: datetime) -> Operation | None:
    """Recompute the triggers of a changed calendar now, or accept an operation that does."""
    count = outdated_triggers(calendar).count()
    if count <= TRIGGERS_AT_ONCE:
        recompute_next_fire_times(calendar, now)
        return None
    try:
        return service.create(
            calendar.subscription,
            RECOMPUTE,
            target=calendar.name,
            target_key=f"closed_days {calendar.pk}",
            location="global",
            caller=caller,
            now=now,
            state_data={"calendar": calendar.pk, "triggers": count},
        )
    except AlreadyRunning as error:  # its next step takes the new version
        return error.operation


def outdated_triggers(calendar: ClosedDays) -> TriggerQuerySet:
    """Return the triggers of the calendar that do not have its newest version yet."""
    return users_of(calendar).exclude(closed_days=calendar.version_id)


def recompute_next_fire_times(calendar: ClosedDays, now: datetime) -> int:
    """Give the first TRIGGERS_AT_ONCE outdated triggers the newest version; return the number of the others.

    A fire time that is due stays due.  A trigger without a further fire time waits for the next change of the calendar:
    its job does not end, because a wrong calendar must not end jobs for good.
    """
    rows = outdated_triggers(calendar).select_related("job__collection").order_by("pk")
    triggers = list(rows.select_for_update(of=("self",), no_key=True)[:TRIGGERS_AT_ONCE])
    for trigger in triggers:
        trigger.closed_days_id = calendar.version_id
        trigger.next_fire_at = _next_fire_at(trigger, now)
    Trigger.objects.bulk_update(triggers, ["closed_days", "next_fire_at"])
    notify_beat()
    return outdated_triggers(calendar).count()


def _next_fire_at(trigger: Trigger, now: datetime) -> datetime | None:
    """Return the next fire time later than `now`; a due one stays, and so does one that cannot be computed."""
    stored = trigger.next_fire_at
    if not (trigger.job.is_runnable and trigger.enabled) or trigger.fires_left == 0:
        return stored
    schedule = trigger.schedule_or_none
    if schedule is None or (stored is not None and stored <= now):
        return stored
    return schedule.after(max(now, trigger.previous_fire_at or now))


class Recomputation:
    """The operation that recomputes the next fire times of more than TRIGGERS_AT_ONCE triggers."""

    def step(self, operation: Operation, now: datetime) -> int:
        _lock_schedules(operation.subscription_id)
        calendar = ClosedDays.objects.filter(pk=operation.state_data["calendar"]).first()
        if calendar is None:
            raise OperationFailed("ResourceNotFound", "the calendar of closed days is not there any more")
        left = recompute_next_fire_times(calendar, now)
        total = max(operation.state_data["triggers"], 1)
        return 100 if left == 0 else max(1, min(99, (total - left) * 100 // total))

    def undo(self, operation: Operation, now: datetime) -> None:
        """Do nothing: the change is stored.  The next write to the calendar recomputes the triggers that are left."""


register(RECOMPUTE, Recomputation(), is_cancellable=False)


# Comparison


@dataclass(frozen=True, slots=True)
class TriggerChanges:
    """The changes of one trigger's fire times."""

    trigger: Trigger
    changes: Changes


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a change of a calendar would do to the fire times in [start, end).

    `trigger_count` is the number of triggers that name the calendar, of which `compared_count` were compared.
    `triggers` are those of them whose fire times change or that could not be compared completely.
    """

    start: datetime
    end: datetime
    trigger_count: int
    compared_count: int
    triggers: list[TriggerChanges]

    @property
    def is_complete(self) -> bool:
        return self.compared_count == self.trigger_count and all(each.changes.is_complete for each in self.triggers)


def compare(calendar: ClosedDays, document: Mapping[str, Any], user: User | None, now: datetime) -> Comparison:
    """Return what storing `document` for `user` would do to the fire times of the next COMPARED_DAYS days.

    Stopped triggers are compared too.  Raises WireError.
    """
    document = _checked(document, calendar.subscription_id, user, calendar)
    after = Days.of(document, parse_event_days(_event_days(document, calendar.subscription_id, now)))
    before = calendar.days
    end = now + timedelta(days=COMPARED_DAYS)
    spans = changed_spans(before, after, now.date() - timedelta(days=1), end.date())
    users = users_of(calendar)
    triggers = users.select_related("job__collection").order_by("pk")[:COMPARED_TRIGGERS] if spans else []
    found, fires_left = [], COMPARED_FIRES
    for trigger in triggers:
        new = _parsed_with(trigger, after)
        old = parsed_or_none(trigger.format, trigger.definition, trigger.anchored_at, calendar.version_id)
        if old is None or new is None:
            continue
        changed = changes(old, new, spans, now, end, min(fires_left, FIRES_OF_TRIGGER))
        fires_left -= changed.compared_count
        if not (changed.is_empty and changed.is_complete):
            found.append(TriggerChanges(trigger, changed))
    count = users.count()
    return Comparison(now, end, count, min(count, COMPARED_TRIGGERS) if spans else count, found)


def _parsed_with(trigger: Trigger, days: Days) -> wire.Parsed | None:
    try:
        return wire.parse(trigger.format, trigger.definition, trigger.anchored_at, closed_days=lambda name: days)
    except wire.WireError:
        return None
