"""/api/events: single events, and series as a whole."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.utils import timezone
from django_filters import CharFilter, FilterSet, UUIDFilter
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from accounts.access import naming, require, visible
from accounts.fields import read, rendered
from accounts.filters import InstantFilter
from accounts.keys import IDEMPOTENCY_KEY, key_of
from accounts.models import Role
from accounts.viewsets import GONE, ApiViewSet, created
from calendars import editing
from calendars.api import examples
from calendars.api.documents import (
    EventReplacement,
    EventRequest,
    EventSerializer,
    Present,
    changes_of,
    member_paths,
    rendered_event,
)
from calendars.errors import CalendarError
from calendars.models import Calendar, Event, EventException, Sensitivity
from jobs.api.versions import IF_MATCH, refuse_stale

SEARCH_LENGTH = 200
VEILED = (Sensitivity.PRIVATE.value, Sensitivity.CONFIDENTIAL.value)


class EventFilter(FilterSet):
    calendar = UUIDFilter(field_name="calendar_id", help_text="The id of a calendar.")
    search = CharFilter(method="filter_search", max_length=SEARCH_LENGTH, help_text="In subject or body, in any case.")

    def filter_from(self, rows: QuerySet, name: str, value: datetime) -> QuerySet:
        return rows.filter(Q(ends_at=None) | Q(ends_at__gt=value) | Q(ends_at=value, first_at=value))

    def filter_search(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        said = Q(subject__icontains=value) | Q(body__icontains=value)
        return rows.filter(said & (Q(calendar__owner=self.request.user) | ~Q(sensitivity__in=VEILED)))


EventFilter.base_filters["from"] = InstantFilter(
    method="filter_from", help_text="Only events that end after this instant, or start at it; series at their end."
)
EventFilter.base_filters["to"] = InstantFilter(
    field_name="first_at", lookup_expr="lt", help_text="Only events that start, or series that begin, before it."
)


class Events(ApiViewSet):
    """Single events, and series as a whole."""

    queryset = Event.objects.select_related("calendar").order_by("start_at", "id")
    serializer_class = EventSerializer
    filterset_class = EventFilter
    lookup_value_converter = "event"

    @extend_schema(
        operation_id="listEvents",
        summary="List events",
        description="Earliest first; a series is one of them, where it begins.  For what is when, list occurrences.",
    )
    def list(self, request):
        return self.get_paginated_response(list(rendered_events(request, self.page())))

    @extend_schema(operation_id="readEvent", summary="Read an event")
    def retrieve(self, request, pk):
        return answered(request, require(request, Event.objects.select_related("calendar"), pk=pk))

    @extend_schema(
        operation_id="createEvent",
        summary="Create an event",
        description="With `recurrence` it is a series.  With a key, 200 answers the event that the key made before.",
        request=EventRequest,
        parameters=[IDEMPOTENCY_KEY],
        responses={200: EventSerializer, 201: EventSerializer},
        examples=examples.EVENTS,
    )
    def create(self, request):
        wanted = read(EventRequest, request.data)
        calendar = calendar_for(request, wanted.get("calendarId"))
        key = key_of(request, wanted.get("key"), editing.KEY_LENGTH)
        with member_paths():
            changes = changes_of(wanted, None) | {"recurrence": wanted["recurrence"]}
            event, is_new = editing.create(calendar, changes, timezone.now(), transaction_id=key)
        told = answered(request, event)
        return created(f"/api/events/{event.pk.hex}", told) if is_new else told

    @extend_schema(
        operation_id="replaceEvent",
        summary="Replace an event",
        description="What is left out gets its default.  Occurrences that were changed or cancelled stay so, unless the"
        " series gives others now: with another recurrence, start, end or zone.",
        request=EventReplacement,
        parameters=[IF_MATCH],
    )
    def update(self, request, pk):
        event = to_change(request, pk)
        return self._changed(request, event, read(EventReplacement, request.data))

    @extend_schema(
        operation_id="patchEvent",
        summary="Change an event",
        description="Only what is sent changes; lists and `recurrence` are replaced as a whole.  A start without a"
        " recurrence takes its series along; a recurrence without a start begins on its `startDate`.",
        request=EventReplacement,
        parameters=[IF_MATCH],
        examples=examples.EVENT_PATCHES,
    )
    def partial_update(self, request, pk):
        event = to_change(request, pk)
        refuse_read_only(request.data, event)
        return self._changed(request, event, read(EventReplacement, request.data, partial=True))

    @extend_schema(
        operation_id="deleteEvent",
        summary="Delete an event",
        description="Of a series all occurrences.",
        parameters=[IF_MATCH],
        responses={204: GONE},
    )
    def destroy(self, request, pk):
        event = to_change(request, pk)
        editing.delete(event, timezone.now(), revision=read_version(request, event))
        return Response(status=204)

    def _changed(self, request, event: Event, wanted: Mapping[str, Any]) -> Response:
        now, changes = timezone.now(), changes_of_event(wanted, event)
        revision = read_version(request, event)
        with member_paths():
            if wanted.get("calendarId") in (None, event.calendar_id):
                event = editing.change(event, changes, now, revision=revision)
            else:
                calendar = calendar_for(request, wanted["calendarId"])
                event = editing.change_and_move(event, changes, calendar, now, revision=revision)
        return answered(request, event)


def to_change(request, pk: uuid.UUID) -> Event:
    event = require(request, Event.objects.select_related("calendar"), Role.OPERATOR, pk=pk)
    refuse_veiled(request, event, event.sensitivity)
    return event


def refuse_veiled(request, event: Event, sensitivity: str) -> None:
    """Raise PermissionDenied where the caller does not see what there is to change."""
    if sensitivity in VEILED and event.calendar.owner_id != request.user.pk:
        raise PermissionDenied(f"what is {sensitivity} is changed by the calendar's owner only")


def changes_of_event(wanted: Mapping[str, Any], event: Event) -> dict[str, Any]:
    changes = changes_of(wanted, Present.of(event))
    if "recurrence" in wanted and wanted["recurrence"] != event.recurrence:
        changes["recurrence"] = wanted["recurrence"]
    return changes


def refuse_read_only(data: object, event: Event) -> None:
    """Raise CalendarError for a new start that is given as an instant: on which clocks would it recur?"""
    if not isinstance(data, Mapping):
        return
    for member, local in (("start", "startLocal"), ("end", "endLocal")):
        if member in data and local not in data and data[member] != rendered(getattr(event, f"{member}_at")):
            raise CalendarError(f"is read only: write {local} and timeZone", path=member, code="read_only")


def calendar_for(request, wanted: uuid.UUID | None) -> Calendar:
    """Where an event is to be.  Raises ValidationError and PermissionDenied."""
    if wanted is None:
        wanted = Calendar.objects.default_of(request.user).pk
    with naming("calendarId", "must be a calendar that you may see"):
        return require(request, Calendar, Role.OPERATOR, pk=wanted)


def etag(event: Event) -> str:
    return f'"{event.pk.hex}-{event.revision}"'


def read_version(request, event: Event) -> tuple[int, int] | None:
    """The version that the caller means; None: any.  Raises Stale when it is not that of `event`."""
    refuse_stale(request, etag(event))
    return event.version if request.headers.get("If-Match", "*").strip() != "*" else None


def answered(request, event: Event) -> Response:
    current = Event.objects.select_related("calendar").get(pk=event.pk)
    return Response(next(rendered_events(request, [current])), headers={"ETag": etag(current)})


def rendered_events(request, events: Iterable[Event]) -> Iterator[dict[str, Any]]:
    """Two queries, however many events; each with its calendar at hand."""
    rows = list(events)
    calendars = {row.calendar_id for row in rows}
    editable = set(visible(request, Calendar, Role.OPERATOR).filter(pk__in=calendars).values_list("pk", flat=True))
    exceptions: dict[uuid.UUID, list[EventException]] = defaultdict(list)
    series = [row.pk for row in rows if row.is_series]
    for each in EventException.objects.filter(event__in=series).order_by("original_day"):
        exceptions[each.event_id].append(each)
    for row in rows:
        is_veiled = row.sensitivity in VEILED and row.calendar.owner_id != request.user.pk
        can_edit = row.calendar_id in editable and not is_veiled
        yield rendered_event(row, request.user, exceptions[row.pk], can_edit)
