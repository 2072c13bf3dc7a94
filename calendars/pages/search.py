"""Search by name: events with their nearest occurrences, jobs with their nearest runs, and notices."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, TypeVar

from calendars.expansion import Occurrence, details_for, occurrences
from calendars.items import Band, RunItem
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
Item = TypeVar("Item", Occurrence, RunItem, Band)


@dataclass(frozen=True, slots=True)
class SearchResults:
    contents: Contents
    event_count: int
    job_count: int
    days: tuple[date, ...]


def search(user, context: ViewContext) -> SearchResults:
    """Return everything that matches the text of the query. Case is ignored.

    Private details of other people's events are not searched.
    """
    wanted = context.query.text.casefold()
    calendars, collections = layers_of(user, context.query.filter)
    start, end = (midnight(context.today + days * ONE_DAY, context.zone) for days in (-EVENTS_BACK, EVENTS_AHEAD))
    events = matching_events(user, [layer.id for layer in calendars if layer.is_shown], wanted, start, end)
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
    contents = Contents(found, runs, bands, calendars, collections, folded, notices)
    jobs = {run.job_id for run in runs} | {band.job_id for band in bands}
    days = run_of_days(context.today - EVENTS_BACK * ONE_DAY, EVENTS_BACK + EVENTS_AHEAD)
    return SearchResults(contents, len({each.event.pk for each in found}), len(jobs), days)


def matching_events(user, calendars: list, wanted: str, start: datetime, end: datetime) -> list:
    """Return the ids of at most MOST_EVENTS events that match, or of which an exception matches."""
    events = list(Event.objects.filter(calendar__in=calendars).overlapping(start, end).select_related("calendar"))
    changed: dict[Any, list[dict]] = defaultdict(list)
    exceptions = EventException.objects.filter(
        event__calendar__in=calendars, is_cancelled=False, start_at__lt=end, end_at__gte=start
    )
    for event_id, changes in exceptions.values_list("event_id", "changes"):
        changed[event_id].append({name: value for name, value in changes.items() if name in DETAILS})
    found = [
        event.pk
        for event in events
        if text_matches(details_for(user, event, event.details), wanted)
        or any(text_matches(details_for(user, event, Details(**changes)), wanted) for changes in changed[event.pk])
    ]
    return found[:MOST_EVENTS]


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
