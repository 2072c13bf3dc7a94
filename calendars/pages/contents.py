"""What a window holds for a viewer, after the filter: events, runs, and the layers that they belong to."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from uuid import UUID

from django.db.models import BooleanField, CharField, Value
from django.db.models.functions import Cast

from calendars.expansion import Occurrence, occurrences
from calendars.models import Calendar, Event
from calendars.pages.filters import Filter
from calendars.pages.items import Band, RunItem, hue_of
from calendars.pages.runs import collect, seen_by
from jobs.models import JobCollection


@dataclass(frozen=True, slots=True)
class Layer:
    """A calendar or a job collection, and how much of it is in view."""

    id: UUID | int
    name: str
    hue: str
    is_shown: bool
    count: int | None = None

    @property
    def key(self) -> str:
        return self.id.hex if isinstance(self.id, UUID) else str(self.id)


@dataclass(frozen=True, slots=True)
class Contents:
    """`is_cut`: there are more runs than can be shown."""

    occurrences: list[Occurrence]
    runs: list[RunItem]
    bands: list[Band]
    calendars: list[Layer]
    collections: list[Layer]
    is_cut: bool = False


def contents(user, chosen: Filter, start: datetime, end: datetime, zone: tzinfo, now: datetime) -> Contents:
    """What is in [start, end): with a query for the layers, two for events and three for runs, however many."""
    calendars, collections = layers_of(user, chosen)
    on = [layer.id for layer in calendars if layer.is_shown]
    events = Event.objects.filter(calendar__in=on)
    found = occurrences(events, start, end, zone, viewer=user, cancelled=chosen.cancelled) if on else []
    counts = Counter(each.event.calendar_id for each in found)
    calendars = [replace(layer, count=counts[layer.id]) for layer in calendars]

    running: list = [layer.id for layer in collections if layer.is_shown]
    if not running:
        return Contents(found, [], [], calendars, collections)
    only: Collection[int] | None = None if len(running) == len(collections) else running
    view = collect(user, start, end, zone, now, only, skipped=not chosen.noskipped, only_failures=chosen.failures)
    collections = [replace(layer, count=view.counts[layer.id]) for layer in collections]
    return Contents(found, view.runs, view.bands, calendars, collections, view.is_cut)


def layers_of(user, chosen: Filter) -> tuple[list[Layer], list[Layer]]:
    """The user's calendars, the default one first, and their job collections, by name: in one query."""
    columns = "kind", "key", "name", "tone", "first"
    calendars = (
        Calendar.objects.visible_to(user)
        .annotate(kind=Value("calendar"), key=Cast("pk", CharField()), tone=Cast("hue", CharField()))
        .annotate(first=Cast("is_default", BooleanField()))
        .values_list(*columns)
    )
    collections = (
        seen_by(user, JobCollection.objects)
        .annotate(kind=Value("collection"), key=Cast("pk", CharField()), tone=Value("", CharField()))
        .annotate(first=Value(False))
        .values_list(*columns)
    )
    found: tuple[list[Layer], list[Layer]] = [], []
    for kind, key, name, hue, _ in calendars.union(collections, all=True).order_by("-first", "name", "key"):
        if kind == "calendar":
            found[0].append(Layer(UUID(key), name, hue, UUID(key) not in chosen.off))
        else:
            found[1].append(Layer(int(key), name, hue_of(int(key)), int(key) not in chosen.noruns))
    return found
