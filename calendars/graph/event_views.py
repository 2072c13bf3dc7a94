"""/v1.0/me/events and similar addresses: single events, series as a whole, and occurrences by their ids."""

from collections.abc import Iterator, Sequence
from datetime import UTC
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import Case, F, QuerySet, Value, When
from django.http import Http404
from django.utils import timezone
from rest_framework.response import Response

from accounts import access
from accounts.models import Role
from api.conditional import ANY, parse_tags
from api.json_object import JsonObject
from api.pagination import fill_page
from calendars import editing, expansion, ids
from calendars.errors import ChangedSince
from calendars.expansion import ROWS_AT_ONCE, Occurrence
from calendars.graph import documents, items, queries, reading
from calendars.graph.base import GraphView
from calendars.graph.documents import CANCELLED, EVENTS, EXCEPTIONS, RenderOptions
from calendars.graph.preferences import parse_preferences
from calendars.graph.queries import Options
from calendars.models import Calendar, Event, Sensitivity

EVERYTHING = Options()
PRIVATE = (Sensitivity.PRIVATE, Sensitivity.CONFIDENTIAL)


class EventView(GraphView):
    def initial(self, request, *args, **kwargs):
        super().initial(request, *args, **kwargs)
        # before the method runs, so that a request with a wrong header changes nothing
        self.preferences = parse_preferences(request.headers.get("Prefer", ""))

    @property
    def render_options(self) -> RenderOptions:
        return RenderOptions(self.request.user, self.preferences, self.base_url)

    def addressed_events(self) -> QuerySet[Event]:
        """Return the events that an id can name at this address.  The rights of the caller are checked later."""
        rows = Event.objects.select_related("calendar__owner")
        if "calendar" in self.kwargs or "default" in self.kwargs:
            return rows.filter(calendar=self.get_calendar())
        return rows if self.is_own else rows.filter(calendar__owner=self.person)

    def visible_events(self, **lookup) -> Any:  # an EventQuerySet, which the types of Django do not know
        return access.visible_rows(self.request, Event.objects.filter(**lookup))

    def get_item(self, role: Role = Role.READER) -> Occurrence:
        """Return the item with the id in the address.  Raises Http404 and PermissionDenied."""
        id = ids.parse(self.kwargs["event"])
        if id is None:
            raise Http404
        event = access.require_role(self.request, self.addressed_events(), role, pk=id.event)
        if id.day is None:
            return items.as_item(event, self.request.user)
        found = expansion.find_occurrence(event, id.day, UTC, viewer=self.request.user)
        if found is None:
            raise Http404
        return found

    def get_item_to_change(self) -> Occurrence:
        item = self.get_item(Role.OPERATOR)
        if item.details.is_private and item.event.calendar.owner_id != self.request.user.pk:
            raise PermissionDenied("only the owner may change a private event")
        return item

    def read_revision(self, item: Occurrence) -> tuple[int, int] | None:
        """Return the revision in If-Match, or None for any.  Raises ChangedSince if it is not the present one."""
        tags = parse_tags(self.request.headers.get("If-Match", ANY))
        if ANY in tags:
            return None
        if items.tag(item) not in tags:
            raise ChangedSince
        return item.revision_pair

    def item_response(self, item: Occurrence, options: Options = EVERYTHING, status: int = 200) -> Response:
        document = options.select_members(documents.render_event(item, self.render_options))
        if items.type_of(item) == "seriesMaster":
            if CANCELLED in (options.select or ()):
                document[CANCELLED] = documents.cancelled_occurrences(item.event)
            if EXCEPTIONS in options.expand:
                document[EXCEPTIONS] = self.render_exceptions(item.event)
        response = Response({"@odata.context": self.context_url("/events/$entity"), **document}, status)
        response["ETag"] = items.etag(item)
        return self.add_preference_header(response)

    def add_preference_header(self, response: Response) -> Response:
        """Add the header Preference-Applied to a response that contains events."""
        if self.preferences.applied:
            response["Preference-Applied"] = ", ".join(self.preferences.applied)
        return response

    def render_exceptions(self, event: Event) -> list[dict]:
        rows = event.exceptions.filter(is_cancelled=False).order_by("original_day")
        return [
            documents.render_event(item, self.render_options)
            for item in items.exceptions_of(event, rows, self.request.user)
        ]


class Events(EventView):
    def get(self, request, **kwargs):
        options = queries.parse_options(request, queries.LIST, EVENTS)
        calendar = self.get_calendar()
        rows = queryable_fields(self.visible_events(calendar=calendar), calendar, request.user).order_by(
            "start_at", "pk"
        )
        rows = options.apply_to(rows)
        length = options.top or self.preferences.page_length or queries.PAGE_LENGTH
        keys = list(rows.values_list("pk", flat=True)[options.skip : options.skip + length + 1])
        found = load_events(keys[:length])
        rendered = fill_page(
            options.select_members(documents.render_event(items.as_item(event, request.user), self.render_options))
            for event in found
        )
        count = rows.count() if options.count else None
        return self.add_preference_header(
            self.page_response("/events", rendered, options, len(keys) > len(rendered), count)
        )

    def post(self, request, **kwargs):
        calendar = self.get_calendar(Role.OPERATOR)
        changes = reading.event_changes(request.data, None)
        key = JsonObject(request.data, "").text("transactionId", editing.KEY_LENGTH)
        event, _ = editing.create(calendar, changes, timezone.now(), transaction_id=key or None)
        event.calendar = calendar
        response = self.item_response(items.as_item(event, request.user), status=201)
        response["Location"] = f"{self.base_url}{request.path.rstrip('/')}/{event.pk.hex}"
        return response


class OneEvent(EventView):
    def get(self, request, **kwargs):
        options = queries.parse_options(request, queries.ITEM, EVENTS)
        item = self.get_item()
        tags = parse_tags(request.headers.get("If-None-Match", ""))
        if ANY in tags or items.tag(item) in tags:
            return Response(status=304, headers={"ETag": items.etag(item)})
        return self.item_response(item, options)

    def patch(self, request, **kwargs):
        item = self.get_item_to_change()
        revision = self.read_revision(item)
        reading.refuse_other_transaction(request.data, None if item.day else item.event.transaction_id)
        changes = reading.event_changes(request.data, item)
        if changes and item.day is None:
            editing.change(item.event, changes, timezone.now(), revision=revision)
        elif changes:
            editing.change_occurrence(item.event, item.day, changes, timezone.now(), revision=revision)
        return self.item_response(self.get_item())

    def delete(self, request, **kwargs):
        item = self.get_item_to_change()
        if item.day is None:
            editing.delete(item.event, timezone.now(), revision=self.read_revision(item))
        else:
            editing.cancel_occurrence(item.event, item.day, timezone.now(), revision=self.read_revision(item))
        return Response(status=204)


class Cancel(OneEvent):
    """Delete an item, as `delete` does.  The comment for attendees is checked, but nobody is informed."""

    http_method_names = ["post"]

    def post(self, request, **kwargs):
        reading.comment(request.data)
        self.delete(request, **kwargs)
        return Response(status=202)


def load_events(keys: Sequence[UUID]) -> Iterator[Event]:
    """Yield the events with these ids, in this order; ROWS_AT_ONCE are loaded together.

    An event that was deleted in the meantime is left out.
    """
    for position in range(0, len(keys), ROWS_AT_ONCE):
        some = keys[position : position + ROWS_AT_ONCE]
        events = Event.objects.select_related("calendar__owner").in_bulk(some)
        yield from (events[key] for key in some if key in events)


def queryable_fields(rows: QuerySet[Event], calendar: Calendar, viewer) -> QuerySet[Event]:
    """Annotate the fields for filters.

    The subject of a private event is empty for a viewer who does not own the calendar, so that a filter does not reveal
    it.
    """
    subject: Case | F = F("subject")
    if calendar.owner_id != viewer.pk:
        subject = Case(When(sensitivity__in=PRIVATE, then=Value("")), default=subject)
    kind = Case(When(recurrence__isnull=True, then=Value("singleInstance")), default=Value("seriesMaster"))
    return rows.annotate(shown_subject=subject, type=kind)
