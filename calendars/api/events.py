"""/api/events: single events, and series as a whole."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.utils import timezone
from django_filters import FilterSet
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from accounts.access import as_field_error, require_role, visible_rows
from accounts.examples import with_example
from accounts.models import Role
from api.conditional import ETAG, IF_ABSENT, IF_MATCH, IF_NONE_MATCH, etag, names_version, refuse_stale, respond
from api.fields import rendered
from api.filters import IdFilter, InstantFilter, TextFilter
from api.idempotency import IDEMPOTENCY_KEY_OR_MEMBER, idempotency_key, repeatable
from api.viewsets import HTTP_410, LOCATION, ApiViewSet, created
from calendars import editing
from calendars.api import examples
from calendars.api.documents import (
    EventReplacement,
    EventRequest,
    EventSerializer,
    RenderContext,
    changes_of,
    member_paths,
    render_event,
)
from calendars.errors import CalendarError
from calendars.expansion import ROWS_AT_ONCE
from calendars.models import PRIVATE, Calendar, Event, EventException

SEARCH_LENGTH = 200


@with_example(
    {
        "calendar": "5b2f8a52-2c3c-4a47-a7de-8a2f7f3c9d10",
        "search": "budget",
        "from": "2026-01-01T00:00:00Z",
        "to": "2026-02-01T00:00:00Z",
    }
)
class EventFilter(FilterSet):
    calendar = IdFilter(field_name="calendar_id", help_text="Filters by the id of the calendar.")
    search = TextFilter(
        method="filter_search",
        max_length=SEARCH_LENGTH,
        help_text=("Searches in subject and body, not case-sensitive."),
    )

    def filter_from(self, rows: QuerySet, name: str, value: datetime) -> QuerySet:
        return rows.filter(Q(covers_until=None) | Q(covers_until__gt=value) | Q(covers_until=value, covers_from=value))

    def filter_search(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        has_text = Q(subject__icontains=value) | Q(body__icontains=value)
        return rows.filter(has_text & (Q(calendar__owner=self.request.user) | ~Q(sensitivity__in=PRIVATE)))


EventFilter.base_filters["from"] = InstantFilter(
    method="filter_from", help_text="Only events that end after this time or start at it. For a series: its last end."
)
EventFilter.base_filters["to"] = InstantFilter(
    field_name="covers_from",
    lookup_expr="lt",
    help_text=("Only events that start before this time. For a series: its first start."),
)


class Events(ApiViewSet):
    """Single events, and series as a whole."""

    queryset = Event.objects.select_related("calendar").order_by("start_at", "id")
    serializer_class = EventSerializer
    filterset_class = EventFilter
    lookup_value_converter = "event"
    rows_at_once = ROWS_AT_ONCE

    @extend_schema(
        operation_id="listEvents",
        summary="List events",
        description=(
            "Earliest first. A series is one entry, sorted by its start. To find what takes place in a period, list"
            " occurrences."
        ),
    )
    def list(self, request):
        return self.list_response(lambda rows: render_events(request, rows))

    @extend_schema(operation_id="readEvent", summary="Read an event", parameters=[IF_NONE_MATCH, ETAG])
    def retrieve(self, request, pk):
        event = require_role(request, Event.objects.select_related("calendar"), pk=pk)
        return event_response(request, event, is_reading=True)

    @extend_schema(
        operation_id="createEvent",
        summary="Create an event",
        description=(
            "With `recurrence` the event is a series. If the idempotency key was used before, the response is 200"
            " with the event that the first request created."
        ),
        request=EventRequest,
        parameters=[IDEMPOTENCY_KEY_OR_MEMBER, ETAG, LOCATION],
        responses={200: EventSerializer, 201: EventSerializer},
        examples=examples.EVENTS,
    )
    @repeatable(
        lambda view, request, pk: event_response(request, require_role(request, Event, pk=pk)),
        most=editing.KEY_LENGTH,
        is_member=True,
    )
    def create(self, request):
        wanted = self.read(EventRequest)
        calendar = calendar_for(request, wanted.get("calendarId"))
        key = idempotency_key(request, wanted.get("key"), editing.KEY_LENGTH)
        with member_paths():
            changes = changes_of(wanted, None) | {"recurrence": wanted["recurrence"]}
            event, is_new = editing.create(calendar, changes, timezone.now(), transaction_id=key)
        response = event_response(request, event)
        return created(request, f"/api/events/{event.pk.hex}", response) if is_new else response

    @extend_schema(
        operation_id="replaceEvent",
        summary="Replace an event",
        description=(
            "A member that is omitted gets its default. Changed and cancelled occurrences are kept, unless a new"
            " recurrence, start, end or time zone changes the occurrences of the series."
        ),
        request=EventReplacement,
        parameters=[IF_MATCH, IF_ABSENT, ETAG],
    )
    def update(self, request, pk):
        event = get_for_update(request, pk)
        return self._change(request, event, self.read(EventReplacement))

    @extend_schema(
        operation_id="patchEvent",
        summary="Change an event",
        description=(
            "Only the given members change. Lists and `recurrence` are replaced as a whole. A new start without a"
            " recurrence moves the series. A new recurrence without a start begins on its `startDate`."
        ),
        request=EventReplacement,
        parameters=[IF_MATCH, IF_ABSENT, ETAG],
        examples=examples.EVENT_PATCHES,
    )
    def partial_update(self, request, pk):
        event = get_for_update(request, pk)
        refuse_read_only(request.data, event)
        return self._change(request, event, self.read(EventReplacement, partial=True))

    @extend_schema(
        operation_id="deleteEvent",
        summary="Delete an event",
        description="Deletes all occurrences of a series.",
        parameters=[IF_MATCH],
        responses={204: HTTP_410},
    )
    def destroy(self, request, pk):
        event = get_for_update(request, pk)
        editing.delete(event, timezone.now(), revision=read_revision(request, event))
        return Response(status=204)

    def _change(self, request, event: Event, wanted: Mapping[str, Any]) -> Response:
        now, changes = timezone.now(), changes_of_event(wanted, event)
        revision = read_revision(request, event)
        with member_paths():
            if wanted.get("calendarId") in (None, event.calendar_id):
                event = editing.change(event, changes, now, revision=revision)
            else:
                calendar = calendar_for(request, wanted["calendarId"])
                event = editing.change_and_move(event, changes, calendar, now, revision=revision)
        return event_response(request, event)


def get_for_update(request, pk: uuid.UUID) -> Event:
    event = require_role(request, Event.objects.select_related("calendar"), Role.OPERATOR, pk=pk)
    forbid_private(request, event, event.sensitivity)
    return event


def forbid_private(request, event: Event, sensitivity: str) -> None:
    """Raise PermissionDenied if the event is private and the caller does not own its calendar."""
    if sensitivity in PRIVATE and event.calendar.owner_id != request.user.pk:
        raise PermissionDenied(f"only the owner of the calendar may change events that are {sensitivity}")


def changes_of_event(wanted: Mapping[str, Any], event: Event) -> dict[str, Any]:
    changes = changes_of(wanted, RenderContext.from_event(event))
    if "recurrence" in wanted and wanted["recurrence"] != event.recurrence:
        changes["recurrence"] = wanted["recurrence"]
    return changes | changes_of_zone(wanted, event)


def changes_of_zone(wanted: Mapping[str, Any], event: Event) -> dict[str, Any]:
    """Return a changed recurrence if only a new `timeZone` is sent for a series; otherwise return no changes.

    Without this change, the series would keep its zone, and its start would be converted to another wall time.
    """
    stored, zone = event.recurrence, wanted.get("timeZone", event.zone)
    if stored is None or "recurrence" in wanted or zone == event.zone:
        return {}
    return {"recurrence": {**stored, "range": {**stored["range"], "recurrenceTimeZone": zone}}}


def refuse_read_only(data: object, event: Event) -> None:
    """Raise CalendarError for a new `start` or `end` as an instant.

    An instant has no zone, but a series needs one for its wall times.
    """
    if not isinstance(data, Mapping):
        return
    for member, local in (("start", "startLocal"), ("end", "endLocal")):
        if member in data and local not in data and data[member] != rendered(getattr(event, f"{member}_at")):
            raise CalendarError(f"is read only: set {local} and timeZone instead", path=member, code="read_only")


def calendar_for(request, wanted: uuid.UUID | None) -> Calendar:
    """Return the calendar for an event, or the caller's default.  Raises ValidationError and PermissionDenied."""
    if wanted is None:
        wanted = Calendar.objects.default_of(request.user).pk
    with as_field_error("calendarId", "must be a calendar that you have access to"):
        return require_role(request, Calendar, Role.OPERATOR, pk=wanted)


def version(event: Event) -> str:
    return f"{event.pk.hex}-{event.revision}"


def read_revision(request, event: Event) -> tuple[int, int] | None:
    """Return the version in If-Match, or None for any.  Raises Stale if it is not that of `event`."""
    refuse_stale(request, version(event))
    return event.revision_pair if names_version(request) else None


def event_response(request, event: Event, is_reading: bool = False) -> Response:
    current = Event.objects.select_related("calendar").get(pk=event.pk)
    document = next(render_events(request, [current]))
    return respond(document, etag(version(current), document), request=request if is_reading else None)


def render_events(request, events: Iterable[Event]) -> Iterator[dict[str, Any]]:
    """Render events with two queries in total.  Their calendars must already be loaded."""
    rows = list(events)
    calendars = {row.calendar_id for row in rows}
    editable = set(visible_rows(request, Calendar, Role.OPERATOR).filter(pk__in=calendars).values_list("pk", flat=True))
    exceptions: dict[uuid.UUID, list[EventException]] = defaultdict(list)
    series = [row.pk for row in rows if row.is_series]
    # without their changes: each of these may be as large as an event
    stored = EventException.objects.filter(event__in=series).only("event_id", "original_day", "is_cancelled")
    for each in stored.order_by("original_day"):
        exceptions[each.event_id].append(each)
    for row in rows:
        is_redacted = row.sensitivity in PRIVATE and row.calendar.owner_id != request.user.pk
        can_edit = row.calendar_id in editable and not is_redacted
        yield render_event(row, request.user, exceptions[row.pk], can_edit)
