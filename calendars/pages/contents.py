"""What a window holds for a viewer, after the filter: events, runs, and the layers that they belong to."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, tzinfo

from calendars.expansion import Occurrence, occurrences
from calendars.models import Calendar, Event
from calendars.pages.filters import Filter
from calendars.pages.items import Band, RunItem, hue_of

try:
    from calendars.pages.runs import collect
except ImportError:
    collect = lambda *a, **k: ([], [])
from jobs.models import JobCollection

SKIPPED = ("skipped", "missed")
FAILED = ("failure", "lost", "missed")


@dataclass(frozen=True, slots=True)
class Layer:
    """A calendar or a job collection, and how much of it is in view."""

    id: str
    name: str
    hue: str
    is_shown: bool
    count: int


@dataclass(frozen=True, slots=True)
class Contents:
    occurrences: list[Occurrence]
    runs: list[RunItem]
    bands: list[Band]
    calendars: list[Layer]
    collections: list[Layer]


def contents(user, chosen: Filter, start: datetime, end: datetime, zone: tzinfo, now: datetime) -> Contents:
    """What is in [start, end); with one query each for calendars and collections, and those of the two sources."""
    calendars = list(Calendar.objects.visible_to(user).order_by("-is_default", "name", "pk"))
    collections = dict(JobCollection.objects.visible_to(user).order_by("name", "pk").values_list("pk", "name"))
    found = occurrences_of([each for each in calendars if each.pk not in chosen.off], user, chosen, start, end, zone)
    runs: list[RunItem] = []
    bands: list[Band] = []
    if shown := [pk for pk in collections if pk not in chosen.noruns]:
        runs, bands = collect(user, start, end, zone, now, None if len(shown) == len(collections) else shown)
        runs = [each for each in runs if is_wanted(each, chosen)]
        bands = [each for each in bands if each.failed or not chosen.failures]

    of_calendars = Counter(each.event.calendar_id for each in found)
    of_collections: Counter = Counter()
    for run in runs:
        of_collections[run.collection_id] += run.count
    for band in bands:
        of_collections[band.collection_id] += band.total
    return Contents(
        found,
        runs,
        bands,
        [
            Layer(each.pk.hex, each.name, each.hue, each.pk not in chosen.off, of_calendars[each.pk])
            for each in calendars
        ],
        [
            Layer(str(pk), name, hue_of(pk), pk not in chosen.noruns, of_collections[pk])
            for pk, name in collections.items()
        ],
    )


def occurrences_of(
    calendars: list[Calendar], user, chosen: Filter, start: datetime, end: datetime, zone: tzinfo
) -> list[Occurrence]:
    if not calendars:
        return []
    events = Event.objects.filter(calendar__in=[each.pk for each in calendars])
    return occurrences(events, start, end, zone, viewer=user, cancelled=chosen.cancelled)


def is_wanted(run: RunItem, chosen: Filter) -> bool:
    if chosen.failures:
        return run.state in FAILED
    return not (chosen.noskipped and run.state in SKIPPED)
