"""What a window holds for a viewer, after the filter: events, runs, maintenance, and the layers of them."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from typing import Generic, TypeVar
from uuid import UUID

from django.db.models import CharField, Value
from django.db.models.functions import Cast

from calendars.briefs import Look
from calendars.expansion import Occurrence
from calendars.models import Calendar
from calendars.pages.bands import AN_HOUR
from calendars.pages.filters import Filter
from calendars.pages.held import leads_of, spells_of, with_held
from calendars.pages.items import Band, NoticeItem, RunItem, hue_of
from calendars.pages.kept import Shelf, merged, occurrences_in
from calendars.pages.notices import announced, drawn
from calendars.pages.rights import seen_by
from calendars.pages.runs import collect
from jobs.models import JobCollection

Id = TypeVar("Id", UUID, int)


@dataclass(frozen=True, slots=True)
class Layer(Generic[Id]):
    """A calendar or a job collection, and how much of it is in view."""

    id: Id
    name: str
    hue: str
    is_shown: bool
    shelf: Shelf | None = None  # of a calendar, as is the next
    version: str = ""
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
    calendars: list[Layer[UUID]]
    collections: list[Layer[int]]
    is_cut: bool = False
    notices: list[NoticeItem] = field(default_factory=list)


def contents(
    user, chosen: Filter, start: datetime, end: datetime, zone: tzinfo, now: datetime, *, has_hours: bool
) -> Contents:
    """What is in [start, end): with a query for the layers, two for events, three for runs and one for maintenance,
    however many; while any is announced and not over, one more for the runs that it holds.

    Pages without a scale of hours sum up jobs that run every hour as well.
    """
    calendars, collections = layers_of(user, chosen)
    versions = {layer.shelf: layer.version for layer in calendars if layer.is_shown and layer.shelf}
    brought = occurrences_in(versions, user, start, end, zone, cancelled=chosen.cancelled)
    found = merged(brought.values())
    calendars = [replace(layer, count=len(brought.get(layer.id, ()))) for layer in calendars]

    told = announced(user, start, end, now)
    running: list = [layer.id for layer in collections if layer.is_shown]
    if not running:
        notices = [] if chosen.nomaintenance else drawn(told, start, end, zone, now)
        return Contents(found, [], [], calendars, collections, notices=notices)
    only: Collection[int] | None = None if len(running) == len(collections) else running
    view = collect(
        *(user, start, end, zone, now, only),
        skipped=not chosen.noskipped,
        only_failures=chosen.failures,
        an_hour=AN_HOUR if has_hours else 0,
    )
    collections = [replace(layer, count=view.counts[layer.id]) for layer in collections]
    spells = spells_of(view, told, start, end, now)
    view = with_held(view, spells, told, zone, end, now)
    notices = [] if chosen.nomaintenance else drawn(told, start, end, zone, now, leads_of(spells))
    return Contents(found, view.runs, view.bands, calendars, collections, view.is_cut, notices)


def layers_of(user, chosen: Filter) -> tuple[list[Layer[UUID]], list[Layer[int]]]:
    """The user's calendars, the default one first, and their job collections, by name: in one query."""
    key, since = Cast("pk", CharField()), Cast("updated_at", CharField())
    calendars = Calendar.objects.visible_to(user).values_list(
        Value("calendar"), key, "name", Cast("hue", CharField()), "is_default", "owner_id", "revision", since
    )
    collections = seen_by(user, JobCollection.objects).values_list(
        Value("collection"), key, "name", Value(""), Value(False), Value(0), Value(0), Value("")
    )
    found: tuple[list[Layer[UUID]], list[Layer[int]]] = [], []
    rows = sorted(calendars.union(collections, all=True), key=lambda row: (not row[4], row[2].casefold(), row[1]))
    for kind, text, name, hue, _, owner, *version in rows:
        if kind == "calendar":
            calendar = UUID(text)
            shelf = Shelf(Look(calendar, owner, name, hue), owner == user.pk)
            found[0].append(Layer(calendar, name, hue, calendar not in chosen.off, shelf, str(version)))
        else:
            found[1].append(Layer(int(text), name, hue_of(int(text)), int(text) not in chosen.noruns))
    return found
