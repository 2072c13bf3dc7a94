"""/api/occurrences: what is when, single occurrences of series, and series from one of them on."""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NoReturn
from urllib.parse import urlencode

from django.conf import settings
from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone
from django_filters import CharFilter, ChoiceFilter, FilterSet, UUIDFilter
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.response import Response

from accounts.access import require
from accounts.fields import read
from accounts.filters import InstantFilter
from accounts.models import Role
from accounts.viewsets import GONE, ApiViewSet
from calendars import editing, ids
from calendars.api import examples
from calendars.api.documents import (
    EventSerializer,
    FollowingReplacement,
    OccurrenceDetailSerializer,
    OccurrenceReplacement,
    OccurrenceSerializer,
    Present,
    changes_of,
    member_paths,
    rendered_details,
    rendered_occurrence,
)
from calendars.api.events import answered, changes_of_event, refuse_veiled
from calendars.errors import Gone
from calendars.expansion import Occurrence, exceptions_in, find, lay_out
from calendars.ids import ItemId
from calendars.models import Event, EventQuerySet
from calendars.times import YEARS
from jobs.api.versions import IF_MATCH, refuse_stale
from recurrence.wire.zone_names import zone_of

LIMIT = 100
MOST = 1_000
WINDOW_MOST = timedelta(days=1_830)  # five years
FIRST_PART = timedelta(days=1)  # of the window: it is laid out part by part, until a page is full
LARGEST_PART = timedelta(days=32)
TIME_ZONE = OpenApiParameter(
    "timeZone",
    OpenApiTypes.STR,
    description="The zone of `startLocal` and `endLocal`, and of the midnights of what is all-day; by default UTC.",
)


class OccurrenceFilter(FilterSet):
    calendar = UUIDFilter(field_name="calendar_id", help_text="The id of a calendar.")
    event = CharFilter(method="filter_event", max_length=64, help_text="The id of an event.")
    timeZone = CharFilter(method="keep", max_length=100, help_text=TIME_ZONE.description)
    cancelled = ChoiceFilter(
        choices=[("true", "true"), ("false", "false")],
        method="keep",
        help_text="`true`: cancelled occurrences come along.",
    )

    def filter_event(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        item = ids.parse(value)
        return rows.none() if item is None or item.day else rows.filter(pk=item.event)

    def keep(self, rows: QuerySet, name: str, value: object) -> QuerySet:
        """Not about events but about what is made of them."""
        return rows


OccurrenceFilter.base_filters["from"] = InstantFilter(
    method="keep", required=True, help_text="Only what ends after this instant, or starts at it."
)
OccurrenceFilter.base_filters["to"] = InstantFilter(
    method="keep",
    required=True,
    help_text=f"Only what starts before this instant, which is at most {WINDOW_MOST.days} days after `from`.",
)


class Occurrences(ApiViewSet):
    """What is when: single events and occurrences of series."""

    queryset = Event.objects.select_related("calendar")
    serializer_class = OccurrenceSerializer
    filterset_class = OccurrenceFilter
    lookup_value_converter = "item"

    @extend_schema(
        operation_id="listOccurrences",
        summary="List what is in a window",
        description="Earliest first: single events, and the occurrences of series with what became of them.",
    )
    def list(self, request):
        events = self.filter_queryset(self.get_queryset())
        window = Window.of(request, OccurrenceFilter(request.query_params, events, request=request))
        page, has_more = window.page(events, request.user)
        return Response(
            {
                "value": [rendered_occurrence(each, window.zone, window.zone_name) for each in page],
                "nextLink": next_link(request, page[-1]) if has_more else None,
            }
        )

    @extend_schema(
        operation_id="readOccurrence",
        summary="Read an occurrence",
        parameters=[TIME_ZONE],
        responses=OccurrenceDetailSerializer,
    )
    def retrieve(self, request, pk):
        return shown_to(request, found_by(request, pk, Role.READER))

    @extend_schema(
        operation_id="patchOccurrence",
        summary="Change an occurrence",
        description="It alone becomes otherwise than its series.  Only what is sent changes; `timeZone` is by default"
        " that of the event.  It can be moved between the days of its neighbours, not onto or beyond one.",
        request=OccurrenceReplacement,
        parameters=[TIME_ZONE, IF_MATCH],
        responses=OccurrenceDetailSerializer,
        examples=examples.OCCURRENCE_PATCHES,
    )
    def partial_update(self, request, pk):
        found = found_by(request, pk, Role.OPERATOR)
        changes = changes_of(read(OccurrenceReplacement, request.data, partial=True), Present.of_occurrence(found))
        if request.data.get("recurrence") is not None:
            changes["recurrence"] = request.data["recurrence"]
        revision, now = read_revision(request, found), timezone.now()
        with member_paths():
            if found.day is None:
                editing.change(found.event, changes, now, revision=revision)
            else:
                editing.change_occurrence(found.event, found.day, changes, now, revision=revision)
        return shown_to(request, found_by(request, pk, Role.READER))

    @extend_schema(
        operation_id="cancelOccurrence",
        summary="Cancel an occurrence",
        description="It alone is left out, and a count is not refilled.  A single event is deleted.",
        parameters=[IF_MATCH],
        responses={204: GONE},
    )
    def destroy(self, request, pk):
        return self._without(request, pk, editing.cancel_occurrence)

    @extend_schema(
        operation_id="restoreOccurrence",
        summary="Restore an occurrence",
        description="It is as its series has it again, whether it was changed or cancelled.",
        request=None,
        parameters=[TIME_ZONE],
        responses=OccurrenceDetailSerializer,
    )
    @action(detail=True, methods=["post"])
    def restore(self, request, pk):
        event = event_of(request, pk, Role.OPERATOR)
        if pk.day is None:
            raise Gone("a single event is no occurrence of a series")
        if exception := event.exceptions.filter(original_day=pk.day).first():
            refuse_veiled(request, event, exception.changes.get("sensitivity", event.sensitivity))
        editing.restore_occurrence(event, pk.day, timezone.now())
        return shown_to(request, found_by(request, pk, Role.READER))

    @extend_schema(
        operation_id="patchFollowing",
        summary="Change an occurrence and all that follow",
        description="The series ends before it, and another one begins with it, which is answered.  Only what is sent"
        " changes.  From the first occurrence on, it is the series itself.",
        request=FollowingReplacement,
        parameters=[IF_MATCH],
        responses=EventSerializer,
        examples=examples.FOLLOWING_PATCHES,
    )
    @action(detail=True, methods=["patch"])
    def following(self, request, pk):
        found = found_by(request, pk, Role.OPERATOR)
        event, now = found.event, timezone.now()
        wanted = read(FollowingReplacement, request.data, partial=True)
        with member_paths():
            if found.day is None:
                changes, revision = changes_of_event(wanted, event), read_revision(request, found)
                return answered(request, editing.change(event, changes, now, revision=revision))
            begin = datetime.combine(found.day, event.start.time())
            present = replace(Present.of(event), start=begin, end=begin + (event.end - event.start))
            changes = changes_of(wanted, present)
            if "recurrence" in wanted:
                changes["recurrence"] = wanted["recurrence"]
            revision = read_revision(request, found)
            return answered(request, editing.change_following(event, found.day, changes, now, revision=revision))

    @extend_schema(
        operation_id="cancelFollowing",
        summary="Cancel an occurrence and all that follow",
        description="The series ends before it.  From the first occurrence on, the event is deleted.",
        request=None,
        parameters=[IF_MATCH],
        responses={204: GONE},
    )
    @following.mapping.delete
    def cancel_following(self, request, pk):
        return self._without(request, pk, editing.end_before)

    def _without(self, request, pk, leave_out) -> Response:
        """Have `leave_out` take the occurrence out of its series; a single event is deleted."""
        found = found_by(request, pk, Role.OPERATOR)
        revision, now = read_revision(request, found), timezone.now()
        if found.day is None:
            editing.delete(found.event, now, revision=revision)
        else:
            leave_out(found.event, found.day, now, revision=revision)
        return Response(status=204)


# One of them


def event_of(request, pk: ItemId, role: Role) -> Event:
    event = require(request, Event.objects.select_related("calendar"), role, pk=pk.event)
    if role > Role.READER:
        refuse_veiled(request, event, event.sensitivity)
    return event


def found_by(request, pk: ItemId, role: Role) -> Occurrence:
    event = event_of(request, pk, role)
    found = find(event, pk.day, zone_asked(request)[0], viewer=request.user)
    if found is None:
        raise Http404
    if role > Role.READER:
        refuse_veiled(request, event, found.details.sensitivity)
    return found


def shown_to(request, found: Occurrence) -> Response:
    document = rendered_occurrence(found, *zone_asked(request)) | rendered_details(found.details)
    return Response(document, headers={"ETag": etag(found)})


def zone_asked(request) -> tuple[tzinfo, str]:
    """The zone and its name as it was asked for.  Raises WireError."""
    name = request.query_params.get("timeZone") or "UTC"
    return zone_of(name, "timeZone"), name


def etag(found: Occurrence) -> str:
    series, own = found.revision
    return f'"{found.id}-{series}-{own}"'


def read_revision(request, found: Occurrence) -> tuple[int, int] | None:
    """The version that the caller means; None: any.  Raises Stale when it is not that of `found`."""
    refuse_stale(request, etag(found))
    return found.revision if request.headers.get("If-Match", "*").strip() != "*" else None


# A window of them, page by page: the cursor is the start and the id of the last one that was answered


@dataclass(frozen=True, slots=True)
class Window:
    start: datetime
    end: datetime
    zone: tzinfo
    zone_name: str
    cancelled: bool
    limit: int
    after: tuple[datetime, str] | None

    @classmethod
    def of(cls, request, filterset: OccurrenceFilter) -> "Window":
        """Raises ValidationError and WireError."""
        filterset.is_valid()
        asked = filterset.form.cleaned_data
        start, end = asked["from"], asked["to"]
        for name in ("from", "to"):
            if asked[name].year not in YEARS:
                refuse(name, f"must be in the years {YEARS[0]} to {YEARS[-1]}", "out_of_range")
        if end <= start:
            refuse("to", "must be after `from`", "out_of_range")
        if end - start > WINDOW_MOST:
            refuse("to", f"must be at most {WINDOW_MOST.days} days after `from`", "out_of_range")
        limit, after = limit_of(request.query_params.get("limit")), after_of(request.query_params.get("cursor"))
        return cls(start, end, *zone_asked(request), asked["cancelled"] == "true", limit, after)

    def page(self, events: EventQuerySet, viewer) -> tuple[list[Occurrence], bool]:
        """The occurrences behind the cursor, at most `limit`, and whether more follow.  Two queries."""
        start = max(self.start, self.after[0]) if self.after else self.start
        if start >= self.end:
            return [], False
        rows = list(events.overlapping(start, self.end))
        exceptions = exceptions_in([row for row in rows if row.is_series], start, self.end)
        found: list[Occurrence] = []
        for part_start, part_end in parts(start, self.end):
            brought = (
                each
                for row in rows
                for each in lay_out(row, exceptions[row.pk], part_start, part_end, self.zone, viewer)
                if each.start >= part_start or part_start == start
            )
            found += sorted((each for each in brought if self.is_wanted(each)), key=place_of)
            if len(found) > self.limit:
                break
        return found[: self.limit], len(found) > self.limit

    def is_wanted(self, each: Occurrence) -> bool:
        return (self.cancelled or not each.is_cancelled) and (self.after is None or place_of(each) > self.after)


def parts(start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
    """The window in parts that grow, so that a full page is found without laying out the rest."""
    length = FIRST_PART
    while start < end:
        yield start, min(start + length, end)
        start, length = start + length, min(2 * length, LARGEST_PART)


def place_of(each: Occurrence) -> tuple[datetime, str]:
    return each.start, str(each.id)


def limit_of(text: str | None) -> int:
    if text is None:
        return LIMIT
    if text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= MOST:
        return int(text)
    refuse("limit", f"must be a whole number, 1 to {MOST}", "out_of_range")


def next_link(request, last: Occurrence) -> str:
    start, item = place_of(last)
    cursor = base64.urlsafe_b64encode(f"{start.isoformat()} {item}".encode()).decode().rstrip("=")
    address = f"{request.path}?{urlencode({**request.query_params.dict(), 'cursor': cursor})}"
    return settings.PUBLIC_URL + address if settings.PUBLIC_URL else request.build_absolute_uri(address)


def after_of(cursor: str | None) -> tuple[datetime, str] | None:
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        start, _, item = base64.b64decode(padded, altchars=b"-_", validate=True).decode().partition(" ")
        return datetime.fromisoformat(start).astimezone(UTC), item
    except (ValueError, OverflowError, binascii.Error):
        refuse("cursor", "this cursor does not come from a nextLink of this list", "invalid_cursor")


def refuse(member: str, message: str, code: str) -> NoReturn:
    raise serializers.ValidationError({member: [message]}, code)
