"""What is called as somebody asks: events and jobs, each with its occurrences or runs that are nearest to now, and
maintenance."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, TypeVar

from calendars.expansion import Occurrence, details_for, occurrences
from calendars.models import DETAILS, Details, Event, EventException
from calendars.pages.contents import Contents, layers_of
from calendars.pages.held import spells_of, with_held
from calendars.pages.items import Band, RunItem
from calendars.pages.notices import announced, drawn, names_of, title_of
from calendars.pages.runs import collect
from calendars.pages.sight import Sight
from calendars.pages.window import ONE_DAY, midnight, run_of_days
from jobs.models import Job
from maintenance.spells import Told

BEFORE, AFTER = 3, 5  # of each event or job, nearest to now
EVENTS_BACK, EVENTS_AHEAD = 92, 366  # days
RUNS_BACK, RUNS_AHEAD = 31, 31
MOST_EVENTS, MOST_JOBS = 100, 100
Thing = TypeVar("Thing", Occurrence, RunItem, Band)


@dataclass(frozen=True, slots=True)
class Found:
    contents: Contents
    events: int
    jobs: int
    days: tuple[date, ...]


def search(user, sight: Sight) -> Found:
    """Case does not matter.  What others keep private is found by nobody else."""
    wanted = sight.query.text.casefold()
    calendars, collections = layers_of(user, sight.query.filter)
    start, end = (midnight(sight.today + days * ONE_DAY, sight.zone) for days in (-EVENTS_BACK, EVENTS_AHEAD))
    events = called(user, [layer.id for layer in calendars if layer.is_shown], wanted, start, end)
    found = occurrences(
        Event.objects.filter(pk__in=events), start, end, sight.zone, viewer=user, cancelled=sight.query.filter.cancelled
    )
    said = (each for each in found if says(each.details, wanted))
    found = nearest(said, sight.now, lambda each: (each.event.pk, each.start))
    told = announced(user, start, end, sight.now)
    runs, bands = runs_of(user, sight, wanted, [layer.id for layer in collections if layer.is_shown], told)
    called_so = [] if sight.query.filter.nomaintenance else [each for each in told if concerns(each, wanted)]
    notices = drawn(called_so, start, end, sight.zone, sight.now)
    contents = Contents(found, runs, bands, calendars, collections, notices=notices)
    jobs = {run.job_id for run in runs} | {band.job_id for band in bands}
    days = run_of_days(sight.today - EVENTS_BACK * ONE_DAY, EVENTS_BACK + EVENTS_AHEAD)
    return Found(contents, len({each.event.pk for each in found}), len(jobs), days)


def called(user, calendars: list, wanted: str, start: datetime, end: datetime) -> list:
    """The events that say it, or of which an occurrence does."""
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
        if says(details_for(user, event, event.details), wanted)
        or any(says(details_for(user, event, Details(**changes)), wanted) for changes in changed[event.pk])
    ]
    return found[:MOST_EVENTS]


def says(details: Details, wanted: str) -> bool:
    places = (str(place.get("displayName") or "") for place in details.locations)
    return any(wanted in text.casefold() for text in (details.subject, *places, *map(str, details.categories)))


def concerns(told: Told, wanted: str) -> bool:
    texts = (title_of(told), told.notice.description, *names_of(told))
    return any(wanted in text.casefold() for text in texts)


def runs_of(
    user, sight: Sight, wanted: str, collections: Iterable, told: list[Told]
) -> tuple[list[RunItem], list[Band]]:
    names = Job.objects.filter(collection__in=collections).values_list("pk", "name")
    jobs = [pk for pk, name in names if wanted in name.casefold()]
    if not jobs:
        return [], []
    start, end = (midnight(sight.today + days * ONE_DAY, sight.zone) for days in (-RUNS_BACK, RUNS_AHEAD))
    chosen = sight.query.filter
    view = collect(
        user,
        start,
        end,
        sight.zone,
        sight.now,
        jobs=jobs[:MOST_JOBS],
        skipped=not chosen.noskipped,
        only_failures=chosen.failures,
    )
    view = with_held(view, spells_of(view, told, start, end, sight.now), told, sight.zone, end, sight.now)
    return (
        nearest(view.runs, sight.now, lambda each: (each.job_id, each.at)),
        nearest(view.bands, sight.now, lambda each: (each.job_id, midnight(each.day, sight.zone))),
    )


def nearest(things: Iterable[Thing], now: datetime, key) -> list[Thing]:
    """Of each, by what `key` says first, the last few before now and the first few after."""
    by_owner: dict[Any, list] = defaultdict(list)
    for thing in things:
        owner, at = key(thing)
        by_owner[owner].append((at, thing))
    kept = []
    for each in by_owner.values():
        before = [thing for at, thing in each if at <= now]
        kept += before[-BEFORE:] + [thing for at, thing in each if at > now][:AFTER]
    return kept
