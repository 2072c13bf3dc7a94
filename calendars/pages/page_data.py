"""The contents of a window for a viewer after the filter: events, runs, maintenance, and the layers."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import date, datetime, tzinfo
from typing import Generic, TypeVar
from uuid import UUID

from django.db.models import CharField, Value
from django.db.models.functions import Cast

from accounts.visibility import rows_visible_to
from calendars.event_rows import CalendarSummary
from calendars.expansion import Occurrence
from calendars.items import Band, NoticeItem, RunItem, hue_of
from calendars.models import Calendar
from calendars.pages.closed_days import (
    ClosedCalendar,
    DayNote,
    calendar_of,
    calendar_rows,
    closed_days_within,
)
from calendars.pages.filters import Filter
from calendars.pages.frequent_runs import FREQUENT_PER_HOUR
from calendars.pages.maintenance_holds import apply_holds, lead_times
from calendars.pages.notices import load_announced, notice_items
from calendars.pages.occurrence_cache import CalendarKey, merge_sorted, occurrences_in
from calendars.pages.runs import load_runs
from jobs.models import JobCollection
from recurrence.schedules import TICK

Id = TypeVar("Id", UUID, int)


@dataclass(frozen=True, slots=True)
class Layer(Generic[Id]):
    """A calendar or a job collection, and the number of its items in view."""

    id: Id
    name: str
    hue: str
    is_shown: bool
    cache_key: CalendarKey | None = None  # only for calendars, as is `version`
    version: str = ""
    count: int | None = None

    @property
    def id_text(self) -> str:
        return self.id.hex if isinstance(self.id, UUID) else str(self.id)


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a window.

    `hidden_jobs` is a lower bound of the number of jobs with more runs than are shown. None means that there may be
    such jobs, in unknown number. `first_events` is the number of expanded events if there are more; None if not.
    """

    occurrences: list[Occurrence]
    runs: list[RunItem]
    bands: list[Band]
    calendars: list[Layer[UUID]]
    collections: list[Layer[int]]
    hidden_jobs: int | None = 0
    first_events: int | None = None
    notices: list[NoticeItem] = field(default_factory=list)
    closed_calendars: list[ClosedCalendar] = field(default_factory=list)
    closed_days: dict[date, DayNote] = field(default_factory=dict)


def load_contents(
    user, chosen: Filter, start: datetime, end: datetime, zone: tzinfo, now: datetime, *, has_hours: bool
) -> Contents:
    """Return the contents of [start, end).

    The number of queries does not depend on the number of items: one for the layers, two for events, five for runs,
    one for maintenance, one for the runs that maintenance holds, unless all of it is over, and one for closed days.
    Without `has_hours`, the page has no scale of hours, and jobs that run every hour are frequent as well.
    """
    calendars, collections, closed = layers_of(user, chosen)
    closed_days = closed_days_within(closed, start.astimezone(zone).date(), (end - TICK).astimezone(zone).date())
    versions = {layer.cache_key: layer.version for layer in calendars if layer.is_shown and layer.cache_key}
    found = occurrences_in(versions, user, start, end, zone, cancelled=chosen.cancelled)
    occurrences = merge_sorted(found.by_calendar.values())
    first_events = None if len(found.complete) == len(versions) else found.event_count
    calendars = [
        replace(layer, count=len(found.by_calendar.get(layer.id, ()))) if layer.id in found.complete else layer
        for layer in calendars
    ]

    announced = load_announced(user, start, end, now)
    shown_ids: list = [layer.id for layer in collections if layer.is_shown]
    if not shown_ids:
        notices = [] if chosen.nomaintenance else notice_items(announced, start, end, zone, now)
        return Contents(occurrences, [], [], calendars, collections, 0, first_events, notices, closed, closed_days)
    collection_ids: Collection[int] | None = None if len(shown_ids) == len(collections) else shown_ids
    view = load_runs(
        *(user, start, end, zone, now, collection_ids),
        skipped=not chosen.noskipped,
        only_failures=chosen.failures,
        max_per_hour=FREQUENT_PER_HOUR if has_hours else 0,
    )
    collections = [replace(layer, count=view.counts[layer.id]) for layer in collections]
    view, windows = apply_holds(view, announced, start, end, zone, now)
    notices = [] if chosen.nomaintenance else notice_items(announced, start, end, zone, now, lead_times(windows))
    return Contents(
        *(occurrences, view.runs, view.bands, calendars, collections, view.hidden_jobs, first_events, notices),
        *(closed, closed_days),
    )


def layers_of(user, chosen: Filter) -> tuple[list[Layer[UUID]], list[Layer[int]], list[ClosedCalendar]]:
    """Return the user's calendars, job collections and calendars of closed days, each by name, with one query.

    The default calendar comes first, and so do calendars of closed days that are in use.
    """
    key, updated_at = Cast("pk", CharField()), Cast("updated_at", CharField())
    calendars = Calendar.objects.visible_to(user).values_list(
        Value("calendar"), key, "name", Cast("hue", CharField()), "is_default", "owner_id", "revision", updated_at
    )
    collections = rows_visible_to(user, JobCollection.objects).values_list(
        Value("collection"), key, "name", Value(""), Value(False), Value(0), Value(0), Value("")
    )
    found: tuple[list[Layer[UUID]], list[Layer[int]], list[ClosedCalendar]] = [], [], []
    union = calendars.union(collections, calendar_rows(user, chosen), all=True)
    rows = sorted(union, key=lambda row: (not row[4], row[2].casefold(), row[1]))
    for row in rows:
        kind, text, name, hue, _, owner, *version = row
        if kind == "closed":
            found[2].append(calendar_of(row, chosen))
        elif kind == "calendar":
            calendar = UUID(text)
            calendar_key = CalendarKey(CalendarSummary(calendar, owner, name, hue), owner == user.pk)
            found[0].append(Layer(calendar, name, hue, calendar not in chosen.off, calendar_key, str(version)))
        else:
            found[1].append(Layer(int(text), name, hue_of(int(text)), int(text) not in chosen.noruns))
    return found
