"""/api/occurrences: occurrences in a window, and changes of one occurrence, or of one and all that follow."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, NoReturn

from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone
from django_filters import FilterSet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.response import Response

from accounts.access import require_role
from accounts.examples import with_example
from accounts.models import Role
from api.conditional import ETAG, IF_ABSENT, IF_MATCH, IF_NONE_MATCH, etag, names_version, refuse_stale, respond
from api.filters import FlagFilter, IdFilter, InstantFilter, TextFilter
from api.links import page_of
from api.pagination import decode_cursor, encode_cursor, fill_page, parse_limit, wrong_cursor
from api.viewsets import HTTP_410, ApiViewSet
from calendars import editing, ids
from calendars.api import examples
from calendars.api.documents import (
    DetailsMembers,
    EventSerializer,
    FollowingReplacement,
    OccurrenceDetailSerializer,
    OccurrenceReplacement,
    OccurrenceSerializer,
    RenderContext,
    changes_of,
    member_paths,
    render_occurrence,
)
from calendars.api.events import changes_of_event, changes_of_zone, event_response, forbid_private
from calendars.errors import Gone
from calendars.event_times import YEARS, convert_wall
from calendars.expansion import (
    Occurrence,
    exceptions_in,
    expand,
    find_occurrence,
    load_long_details,
    without_long_details,
)
from calendars.ids import ItemId
from calendars.models import Event, EventQuerySet
from recurrence.wire.zone_names import zone_of

ORDER = ("start", "id")  # of lists, and of the values in their cursors
WINDOW_MOST = timedelta(days=1_830)  # five years
FIRST_PART = timedelta(days=1)  # of the window, which is expanded part by part until a page is full
LARGEST_PART = timedelta(days=32)
TIME_ZONE = OpenApiParameter(
    "timeZone",
    {"type": "string", "example": "Europe/Berlin"},
    description=(
        "The time zone of `startLocal` and `endLocal` in the response, of a request body without a time zone, and"
        " of the midnights of all-day events. Default: the time zone of each event."
    ),
)


@with_example(
    {
        "calendar": "5b2f8a52-2c3c-4a47-a7de-8a2f7f3c9d10",
        "event": "5b2f8a522c3c4a47a7de8a2f7f3c9d10",
        "timeZone": "Europe/Berlin",
        "cancelled": True,
        "from": "2026-01-01T00:00:00Z",
        "to": "2026-02-01T00:00:00Z",
    }
)
class OccurrenceFilter(FilterSet):
    calendar = IdFilter(field_name="calendar_id", help_text="Filters by the id of the calendar.")
    event = TextFilter(method="filter_event", max_length=64, help_text="Filters by the id of the event.")
    timeZone = TextFilter(method="filter_nothing", max_length=100, help_text=TIME_ZONE.description)
    cancelled = FlagFilter(method="filter_nothing", help_text="Whether cancelled occurrences are included.")

    def filter_event(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        item = ids.parse(value)
        return rows.none() if item is None or item.day else rows.filter(pk=item.event)

    def filter_nothing(self, rows: QuerySet, name: str, value: object) -> QuerySet:
        """Return `rows` unchanged: this parameter concerns occurrences, not events."""
        return rows


OccurrenceFilter.base_filters["from"] = InstantFilter(
    method="filter_nothing", required=True, help_text="Only events that end after this time or start at it."
)
OccurrenceFilter.base_filters["to"] = InstantFilter(
    method="filter_nothing",
    required=True,
    help_text=f"Only events that start before this time. It must be at most {WINDOW_MOST.days} days after `from`.",
)


class Occurrences(ApiViewSet):
    """Single events, and occurrences of series."""

    queryset = Event.objects.select_related("calendar")
    serializer_class = OccurrenceSerializer
    filterset_class = OccurrenceFilter
    lookup_value_converter = "item"

    @extend_schema(
        operation_id="listOccurrences",
        summary="List the events and occurrences in a window",
        description=(
            "Earliest first. The list contains single events and the occurrences of series, with their changes."
        ),
    )
    def list(self, request):
        events = self.filter_queryset(self.get_queryset())
        window = Window.from_request(request, OccurrenceFilter(request.query_params, events, request=request))
        found, has_more = window.load_page(events, request.user)
        complete = load_long_details(found, request.user)
        page = fill_page(render_occurrence(each, *requested_zone(request, each.event)) for each in complete)
        has_more = has_more or len(found) > len(page)
        return Response(
            page_of(request, page, encode_cursor(ORDER, sort_key(found[len(page) - 1])) if has_more else None)
        )

    @extend_schema(
        operation_id="readOccurrence",
        summary="Read an occurrence",
        parameters=[TIME_ZONE, IF_NONE_MATCH, ETAG],
        responses=OccurrenceDetailSerializer,
    )
    def retrieve(self, request, pk):
        return occurrence_response(request, get_occurrence(request, pk, Role.READER), is_reading=True)

    @extend_schema(
        operation_id="patchOccurrence",
        summary="Change an occurrence",
        description=(
            "Only this occurrence changes, not its series. Only the given members change. The default of `timeZone`"
            " is the query parameter, then the time zone of the event. An occurrence can be moved between the days"
            " of its neighbours only."
        ),
        request=OccurrenceReplacement,
        parameters=[TIME_ZONE, IF_MATCH, IF_ABSENT, ETAG],
        responses=OccurrenceDetailSerializer,
        examples=examples.OCCURRENCE_PATCHES,
    )
    def partial_update(self, request, pk):
        occurrence = get_occurrence(request, pk, Role.OPERATOR)
        wanted = self.read(
            OccurrenceReplacement, answer=OccurrenceDetailSerializer, fixed=fixed_members(occurrence), partial=True
        )
        present = RenderContext.from_occurrence(occurrence)
        changes = changes_of(convert_from_requested_zone(request, wanted, present, occurrence.event), present)
        revision, now = read_revision(request, occurrence), timezone.now()
        with member_paths():
            if occurrence.day is None:
                editing.change(occurrence.event, changes, now, revision=revision)
            else:
                editing.change_occurrence(occurrence.event, occurrence.day, changes, now, revision=revision)
        return occurrence_response(request, get_occurrence(request, pk, Role.READER))

    @extend_schema(
        operation_id="cancelOccurrence",
        summary="Cancel an occurrence",
        description=(
            "Only this occurrence is cancelled. A series with a number of occurrences does not get another one"
            " instead. A single event is deleted."
        ),
        parameters=[IF_MATCH],
        responses={204: HTTP_410},
    )
    def destroy(self, request, pk):
        return self._remove(request, pk, editing.cancel_occurrence)

    @extend_schema(
        operation_id="restoreOccurrence",
        summary="Restore an occurrence",
        description="Removes the changes or the cancellation of the occurrence.",
        request=None,
        parameters=[TIME_ZONE, ETAG],
        responses=OccurrenceDetailSerializer,
    )
    @action(detail=True, methods=["post"])
    def restore(self, request, pk):
        event = get_event(request, pk, Role.OPERATOR)
        if pk.day is None:
            raise Gone("a single event is not an occurrence of a series")
        if exception := event.exceptions.filter(original_day=pk.day).first():
            forbid_private(request, event, exception.changes.get("sensitivity", event.sensitivity))
        editing.restore_occurrence(event, pk.day, timezone.now())
        return occurrence_response(request, get_occurrence(request, pk, Role.READER))

    @extend_schema(
        operation_id="patchFollowing",
        summary="Change an occurrence and all following ones",
        description=(
            "The series ends before the occurrence, and a new series begins with it. The response is the new"
            " series. Only the given members change. For the first occurrence, the series itself is changed."
        ),
        request=FollowingReplacement,
        parameters=[IF_MATCH, IF_ABSENT, ETAG],
        responses=EventSerializer,
        examples=examples.FOLLOWING_PATCHES,
    )
    @action(detail=True, methods=["patch"])
    def following(self, request, pk):
        occurrence = get_occurrence(request, pk, Role.OPERATOR)
        event, now = occurrence.event, timezone.now()
        wanted = self.read(
            FollowingReplacement, answer=OccurrenceDetailSerializer, fixed=fixed_members(occurrence), partial=True
        )
        with member_paths():
            if occurrence.day is None:
                changes, revision = changes_of_event(wanted, event), read_revision(request, occurrence)
                return event_response(request, editing.change(event, changes, now, revision=revision))
            begin = datetime.combine(occurrence.day, event.start.time())
            present = replace(RenderContext.from_event(event), start=begin, end=begin + (event.end - event.start))
            changes = changes_of(wanted, present)
            if "recurrence" in wanted:
                changes["recurrence"] = wanted["recurrence"]
            changes |= changes_of_zone(wanted, event)
            revision = read_revision(request, occurrence)
            return event_response(
                request, editing.change_following(event, occurrence.day, changes, now, revision=revision)
            )

    @extend_schema(
        operation_id="cancelFollowing",
        summary="Cancel an occurrence and all following ones",
        description="The series ends before the occurrence. For the first occurrence, the event is deleted.",
        request=None,
        parameters=[IF_MATCH],
        responses={204: HTTP_410},
    )
    @following.mapping.delete
    def cancel_following(self, request, pk):
        return self._remove(request, pk, editing.truncate_series)

    def _remove(self, request, pk, remove) -> Response:
        """Remove the occurrence from its series with `remove`; delete a single event."""
        occurrence = get_occurrence(request, pk, Role.OPERATOR)
        revision, now = read_revision(request, occurrence), timezone.now()
        if occurrence.day is None:
            editing.delete(occurrence.event, now, revision=revision)
        else:
            remove(occurrence.event, occurrence.day, now, revision=revision)
        return Response(status=204)


# One occurrence


def fixed_members(occurrence: Occurrence) -> dict[str, Any]:
    """Return members that an occurrence takes from its event, and that cannot be changed."""
    return {"calendarId": occurrence.event.calendar_id, "eventId": occurrence.event.pk.hex}


def get_event(request, pk: ItemId, role: Role) -> Event:
    event = require_role(request, Event.objects.select_related("calendar"), role, pk=pk.event)
    if role > Role.READER:
        forbid_private(request, event, event.sensitivity)
    return event


def get_occurrence(request, pk: ItemId, role: Role) -> Occurrence:
    event = get_event(request, pk, role)
    occurrence = find_occurrence(event, pk.day, requested_zone(request, event)[0], viewer=request.user)
    if occurrence is None:
        raise Http404
    if role > Role.READER:
        forbid_private(request, event, occurrence.details.sensitivity)
    return occurrence


def occurrence_response(request, occurrence: Occurrence, is_reading: bool = False) -> Response:
    members = render_occurrence(occurrence, *requested_zone(request, occurrence.event))
    document = OccurrenceDetailSerializer.render(**members | DetailsMembers.render(occurrence.details))
    return respond(document, etag(version(occurrence), document), request=request if is_reading else None)


def requested_zone(request, event: Event) -> tuple[tzinfo, str]:
    """Return the zone in the address and its name, by default the zone of the event.  Raises WireError."""
    name = request.query_params.get("timeZone") or event.zone
    return zone_of(name, "timeZone"), name


def convert_from_requested_zone(
    request, wanted: dict[str, Any], present: RenderContext, event: Event
) -> dict[str, Any]:
    """Convert times in a body without a zone from the zone in the address to the zone of the event.

    A client may send back the response from the same address.  Dates of an all-day event are not converted.
    """
    if "timeZone" in wanted or wanted.get("isAllDay", present.is_all_day):
        return wanted
    zone = requested_zone(request, event)[0]
    times = {name: wanted[name] for name in ("startLocal", "endLocal") if name in wanted}
    return wanted | {name: convert_wall(event.tzinfo, wall, zone) for name, wall in times.items()}


def version(occurrence: Occurrence) -> str:
    series, own = occurrence.revision_pair
    return f"{occurrence.id}-{series}-{own}"


def read_revision(request, occurrence: Occurrence) -> tuple[int, int] | None:
    """Return the version in If-Match, or None for any.  Raises Stale if it is not that of the occurrence."""
    refuse_stale(request, version(occurrence))
    return occurrence.revision_pair if names_version(request) else None


# A window of occurrences, page by page


@dataclass(frozen=True, slots=True)
class Window:
    start: datetime
    end: datetime
    zone: tzinfo | None  # None: the zone of each event
    with_cancelled: bool
    limit: int
    cursor: tuple[datetime, str] | None

    @classmethod
    def from_request(cls, request, filterset: OccurrenceFilter) -> "Window":
        """Return the window in the query parameters.  Raises ValidationError and WireError."""
        filterset.is_valid()
        parameters = filterset.form.cleaned_data
        start, end = parameters["from"], parameters["to"]
        for name in ("from", "to"):
            if parameters[name].year not in YEARS:
                refuse(name, f"must be in the years {YEARS[0]} to {YEARS[-1]}", "out_of_range")
        if end <= start:
            refuse("to", "must be after `from`", "out_of_range")
        if end - start > WINDOW_MOST:
            refuse("to", f"must be at most {WINDOW_MOST.days} days after `from`", "out_of_range")
        limit, cursor = parse_limit(request), parse_cursor(request)
        name = request.query_params.get("timeZone")
        zone = zone_of(name, "timeZone") if name else None
        return cls(start, end, zone, parameters["cancelled"] == "true", limit, cursor)

    def load_page(self, events: EventQuerySet, viewer) -> tuple[list[Occurrence], bool]:
        """Return at most `limit` occurrences after the cursor, and whether more follow.  Two queries.

        They are without long details, see `load_long_details`.
        """
        start = max(self.start, self.cursor[0]) if self.cursor else self.start
        if start >= self.end:
            return [], False
        rows = without_long_details(events.overlapping(start, self.end))
        exceptions = exceptions_in([row for row in rows if row.is_series], start, self.end, with_long_details=False)
        found: list[Occurrence] = []
        for part_start, part_end in chunks(start, self.end):
            expanded = (
                occurrence
                for row in rows
                for occurrence in expand(row, exceptions[row.pk], part_start, part_end, self.zone or row.tzinfo, viewer)
                if occurrence.start >= part_start or part_start == start
            )
            found += sorted((occurrence for occurrence in expanded if self.is_wanted(occurrence)), key=sort_key)
            if len(found) > self.limit:
                break
        return found[: self.limit], len(found) > self.limit

    def is_wanted(self, item: Occurrence) -> bool:
        return (self.with_cancelled or not item.is_cancelled) and (self.cursor is None or sort_key(item) > self.cursor)


def chunks(start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    """Yield the window in growing parts, so that the rest is not expanded once a page is full."""
    length = FIRST_PART
    while start < end:
        yield start, min(start + length, end)
        start, length = start + length, min(2 * length, LARGEST_PART)


def sort_key(occurrence: Occurrence) -> tuple[datetime, str]:
    return occurrence.start, str(occurrence.id)


def parse_cursor(request) -> tuple[datetime, str] | None:
    """Return the sort key of the last occurrence of the page before.  None: this is the first page."""
    cursor = request.query_params.get("cursor")
    if cursor is None:
        return None
    start, item = decode_cursor(cursor, ORDER)
    try:
        return datetime.fromisoformat(start).astimezone(UTC), item
    except (ValueError, OverflowError):
        raise wrong_cursor() from None


def refuse(member: str, message: str, code: str) -> NoReturn:
    raise serializers.ValidationError({member: [message]}, code)
