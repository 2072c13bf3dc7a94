"""The days that events close in calendars of closed days."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db import transaction

from accounts.models import User
from calendars.errors import CalendarError
from calendars.expansion import Occurrence, exceptions_in, expand
from calendars.ics import parser
from calendars.ics.import_plan import parse_groups
from calendars.ics.importing import Import, groups_by_transaction
from calendars.models import Calendar, Event, EventQuerySet
from recurrence.wire import WireError

DAY = timedelta(days=1)
TICK = timedelta(microseconds=1)
PAST, FUTURE = 31 * DAY, 800 * DAY  # the days around today whose events count
NAME_LENGTH = 200
MOST_EVENTS, MOST_OCCURRENCES = 2_000, 5_000  # of a calendar; later ones close no day
LARGEST_FILE = 100_000  # bytes of an iCalendar file


class ClosingCalendars:
    """The calendars of people whose events close days, see `triggers.closed_days.EventCalendars`.

    A calendar counts as one of the subscription while its owner is a member.  A day has the subject of its first event;
    private events have none.  Days are those of the event's zone.
    """

    def check(
        self,
        items: Sequence[Mapping[str, str]],
        subscription_id: UUID,
        user: User | None,
        known: Sequence[Mapping[str, str]],
    ) -> None:
        visible = Calendar.objects.visible_to(user) if user else Calendar.objects.none()
        allowed = set(_of_subscription(items, subscription_id).filter(pk__in=visible.values("pk")).values_list("pk"))
        for index, item in enumerate(items):
            if item not in known and (_key(item),) not in allowed:
                message = "must be the id of a calendar that you see, of a member of the subscription"
                raise WireError(f"calendars[{index}].calendar", "unknown_value", message)

    def state(self, items: Sequence[Mapping[str, str]], now: datetime) -> dict[str, Any]:
        rows = Calendar.objects.filter(pk__in=calendar_keys(items)).order_by("pk")
        revisions = rows.values_list("pk", "revision")
        return {"day": now.date().isoformat(), "revisions": [[key.hex, revision] for key, revision in revisions]}

    def days(self, items: Sequence[Mapping[str, str]], subscription_id: UUID, now: datetime) -> dict[date, str]:
        calendars = {each.pk: each for each in _of_subscription(items, subscription_id).select_related("owner")}
        today = now.date()
        found: dict[date, str] = {}
        for item in items:
            calendar = calendars.get(_key(item))
            if calendar is not None:
                days = days_with_events(calendar, today - PAST, today + FUTURE, item.get("category"))
                found = {**days, **found}
        return found


def _of_subscription(items: Sequence[Mapping[str, str]], subscription_id: UUID):
    return Calendar.objects.filter(pk__in=calendar_keys(items), owner__membership__subscription=subscription_id)


def calendar_keys(items: Sequence[Mapping[str, str]]) -> list[UUID]:
    """Return the keys of the calendars that the items name."""
    return [key for key in map(_key, items) if key is not None]


def _key(item: Mapping[str, str]) -> UUID | None:
    try:
        return UUID(item["calendar"])
    except ValueError:
        return None


def days_with_events(calendar: Calendar, first: date, last: date, category: str | None = None) -> dict[date, str]:
    """Return the days from `first` to `last` on which the calendar has events, with the subjects of these events.

    With a category, only its events count.
    """
    start, end = (datetime.combine(day, time(), UTC) for day in (first - DAY, last + 2 * DAY))  # of any zone
    events = Event.objects.filter(calendar=calendar)
    found = islice(_occurrences(events, start, end), MOST_OCCURRENCES)
    spans = [
        (*_days_of(each), each.details.subject[:NAME_LENGTH])
        for each in found
        if category is None or category in each.details.categories
    ]
    days: dict[date, str] = {}
    free = first  # each day from here on is in no span so far
    for begins, ends, subject in sorted(spans, key=lambda span: span[0]):
        for number in range((min(ends, last + DAY) - max(begins, free)).days):
            days[max(begins, free) + number * DAY] = subject
        free = max(free, ends)
    return days


def _occurrences(events: EventQuerySet, start: datetime, end: datetime) -> Iterator[Occurrence]:
    """Yield the occurrences of the first MOST_EVENTS events, event by event, without those that are cancelled."""
    rows = list(events.overlapping(start, end).select_related("calendar").order_by("pk")[:MOST_EVENTS])
    exceptions = exceptions_in([event for event in rows if event.is_series], start, end)
    for event in rows:
        for each in expand(event, exceptions[event.pk], start, end, UTC, AnonymousUser()):
            if not each.is_cancelled:
                yield each


def _days_of(occurrence: Occurrence) -> tuple[date, date]:
    """Return the days [first, end) on which an occurrence lies, on the clocks of the zone of its event."""
    if occurrence.days is not None:
        return occurrence.days
    zone = occurrence.event.tzinfo
    last_moment = max(occurrence.start, occurrence.end - TICK)
    return occurrence.start.astimezone(zone).date(), last_moment.astimezone(zone).date() + DAY


def dates_of_file(content: bytes, user: User, now: datetime) -> list[dict[str, str]]:
    """Return the days of the events of an iCalendar file near `now`, as items of `dates`.

    Days in a row with the same name are one range.  Nothing is stored: the file is imported into calendars that are
    rolled back, in several transactions like every import.  Raises CalendarError.
    """
    if len(content) > LARGEST_FILE:
        raise CalendarError(f"the file must have at most {LARGEST_FILE:,} bytes", code="too_long")
    days: dict[date, str] = {}
    change_count = 0
    for groups in groups_by_transaction(parse_groups(parser.read(content), Calendar(owner=user), now, [])):
        with transaction.atomic():
            calendar = Calendar.objects.create(owner=user, name="import")
            importer = Import(calendar, groups, now, user, change_count)
            importer.import_groups()
            days = {**days_with_events(calendar, now.date() - PAST, now.date() + FUTURE), **days}
            transaction.set_rollback(True)
        change_count = importer.change_count
    ranges: list[tuple[date, date, str]] = []
    for day in sorted(days):
        name = days[day].strip()
        if ranges and ranges[-1][1:] == (day - DAY, name):
            ranges[-1] = ranges[-1][0], day, name
        else:
            ranges.append((day, day, name))
    return [_item(*each) for each in ranges]


def _item(first: date, last: date, name: str) -> dict[str, str]:
    when = {"date": str(first)} if first == last else {"from": str(first), "to": str(last)}
    return when | ({"name": name} if name else {})
