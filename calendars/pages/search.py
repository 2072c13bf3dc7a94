"""Search by name: events with their nearest occurrences, jobs with their nearest runs, and notices."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, TypeVar
from uuid import UUID

from calendars.event_rows import HAS_EXCEPTIONS, ID, CalendarSummary, EventSummary, load_rows
from calendars.expansion import Occurrence, details_for, occurrences
from calendars.items import Band, RunItem
from calendars.json_members import WithoutMembers
from calendars.models import DETAILS, Details, Event, EventException
from calendars.pages.maintenance_holds import apply_holds
from calendars.pages.notices import load_announced, names_of, notice_items, title_of
from calendars.pages.page_data import Contents, layers_of
from calendars.pages.runs import load_runs
from calendars.pages.view_context import ViewContext
from calendars.pages.window import ONE_DAY, midnight, run_of_days
from jobs.models import Job
from maintenance.hold_windows import NoticeWithResources

BEFORE, AFTER = 3, 5  # occurrences or runs of each event or job
EVENTS_BACK, EVENTS_AHEAD = 92, 366  # days
RUNS_BACK, RUNS_AHEAD = 31, 31
MOST_EVENTS, MOST_JOBS = 100, 100
MAX_SEARCHED, MAX_EXCEPTIONS = 5_000, 10_000  # events and exceptions that one search reads
NOT_SEARCHED = ("body", "body_text", "attendees")
Item = TypeVar("Item", Occurrence, RunItem, Band)


@dataclass(frozen=True, slots=True)
class SearchResults:
    contents: Contents
    event_count: int
    job_count: int
    days: tuple[date, ...]
    is_partial: bool = False  # there are more events than one search reads or shows


def search(user, context: ViewContext) -> SearchResults:
    """Return everything that matches the text of the query. Case is ignored.

    Private details of other people's events are not searched.
    """
    wanted = context.query.text.casefold()
    calendars, collections, closed = layers_of(user, context.query.filter)
    start, end = (midnight(context.today + days * ONE_DAY, context.zone) for days in (-EVENTS_BACK, EVENTS_AHEAD))
    shown = [layer.cache_key.calendar for layer in calendars if layer.is_shown and layer.cache_key]
    events, is_partial = matching_events(user, shown, wanted, start, end)
    found = occurrences(
        Event.objects.filter(pk__in=events),
        start,
        end,
        context.zone,
        viewer=user,
        cancelled=context.query.filter.cancelled,
    )
    matching = (each for each in found if text_matches(each.details, wanted))
    found = nearest(matching, context.now, lambda each: (each.event.pk, each.start))
    announced = load_announced(user, start, end, context.now)
    runs, bands, folded = matching_runs(
        user, context, wanted, [layer.id for layer in collections if layer.is_shown], announced
    )
    matching_notices = (
        [] if context.query.filter.nomaintenance else [each for each in announced if notice_matches(each, wanted)]
    )
    notices = notice_items(matching_notices, start, end, context.zone, context.now)
    contents = Contents(*(found, runs, bands, calendars, collections, folded), notices=notices, closed_calendars=closed)
    jobs = {run.job_id for run in runs} | {band.job_id for band in bands}
    days = run_of_days(context.today - EVENTS_BACK * ONE_DAY, EVENTS_BACK + EVENTS_AHEAD)
    return SearchResults(contents, len({each.event.pk for each in found}), len(jobs), days, is_partial)


def matching_events(
    user, calendars: Sequence[CalendarSummary], wanted: str, start: datetime, end: datetime
) -> tuple[list[str], bool]:
    """Return the ids of at most MOST_EVENTS events that match, or of which an exception matches.

    The second value is True if more match, or if there are more than MAX_SEARCHED events or MAX_EXCEPTIONS exceptions.
    These are not read: own calendars come first, and in each the events that start earlier.
    """
    calendars = sorted(calendars, key=lambda calendar: calendar.owner_id != user.pk)
    by_calendar = load_rows([each.id for each in calendars], start, end, MAX_SEARCHED, "categories")
    rows = [(each, row) for each in calendars for row in by_calendar.get(each.id, ())]
    changed, has_more_exceptions = changed_details([row[ID] for _, row in rows if row[HAS_EXCEPTIONS]], start, end)
    found: list[str] = []
    for calendar, (*row, categories) in rows[:MAX_SEARCHED]:
        event = EventSummary.from_row(calendar, tuple(row))
        details = replace(event.details, categories=categories)
        versions = [details, *(Details(**changes) for changes in changed.get(event.pk.hex, ()))]
        if any(text_matches(details_for(user, event, each), wanted) for each in versions):
            found.append(event.id_text)
    is_partial = has_more_exceptions or len(rows) > MAX_SEARCHED or len(found) > MOST_EVENTS
    return found[:MOST_EVENTS], is_partial


def changed_details(events: list[str], start: datetime, end: datetime) -> tuple[dict[str, list[dict]], bool]:
    """Return the changed details of at most MAX_EXCEPTIONS exceptions by event, and whether there are more."""
    rows = EventException.objects.filter(
        event__in=[UUID(each) for each in events], is_cancelled=False, start_at__lt=end, end_at__gte=start
    )
    changes = WithoutMembers("changes", NOT_SEARCHED)
    found = list(rows.order_by("event", "start_at").values_list("event", changes)[: MAX_EXCEPTIONS + 1])
    by_event: dict[str, list[dict]] = defaultdict(list)
    for event, values in found[:MAX_EXCEPTIONS]:
        by_event[event.hex].append({name: value for name, value in values.items() if name in DETAILS})
    return by_event, len(found) > MAX_EXCEPTIONS


def text_matches(details: Details, wanted: str) -> bool:
    places = (str(place.get("displayName") or "") for place in details.locations)
    return any(wanted in text.casefold() for text in (details.subject, *places, *map(str, details.categories)))


def notice_matches(notice_with_resources: NoticeWithResources, wanted: str) -> bool:
    texts = (
        title_of(notice_with_resources),
        notice_with_resources.notice.description,
        *names_of(notice_with_resources),
    )
    return any(wanted in text.casefold() for text in texts)


def matching_runs(
    user, context: ViewContext, wanted: str, collections: Iterable, announced: list[NoticeWithResources]
) -> tuple[list[RunItem], list[Band], int | None]:
    """Return runs and bands of matching jobs, and a lower bound of the jobs left out; None: unknown."""
    matching = Job.objects.filter(collection__in=collections, name__icontains=wanted)  # names are ASCII
    jobs = list(matching.order_by("pk").values_list("pk", flat=True)[: MOST_JOBS + 1])
    if not jobs:
        return [], [], 0
    start, end = (midnight(context.today + days * ONE_DAY, context.zone) for days in (-RUNS_BACK, RUNS_AHEAD))
    chosen = context.query.filter
    view = load_runs(
        user,
        start,
        end,
        context.zone,
        context.now,
        jobs=jobs[:MOST_JOBS],
        skipped=not chosen.noskipped,
        only_failures=chosen.failures,
    )
    view, _ = apply_holds(view, announced, start, end, context.zone, context.now)
    return (
        nearest(view.runs, context.now, lambda each: (each.job_id, each.fire_at)),
        nearest(view.bands, context.now, lambda each: (each.job_id, midnight(each.day, context.zone))),
        view.hidden_jobs if len(jobs) <= MOST_JOBS else None,
    )


def nearest(items: Iterable[Item], now: datetime, key) -> list[Item]:
    """Return the last BEFORE items up to now and the first AFTER items later, of each owner.

    `key` returns the owner of a item and its time.
    """
    by_owner: dict[Any, list] = defaultdict(list)
    for item in items:
        owner, at = key(item)
        by_owner[owner].append((at, item))
    selected = []
    for each in by_owner.values():
        before = [item for at, item in each if at <= now]
        selected += before[-BEFORE:] + [item for at, item in each if at > now][:AFTER]
    return selected
