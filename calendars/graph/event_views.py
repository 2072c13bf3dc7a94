"""/v1.0/me/events and its like: single events, series as a whole, and single occurrences by their ids."""

from datetime import UTC
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Case, F, QuerySet, Value, When
from django.http import Http404
from django.utils import timezone
from rest_framework.response import Response

from accounts import access
from accounts.models import Role
from calendars import editing, expansion, ids
from calendars.errors import ChangedSince
from calendars.expansion import Occurrence
from calendars.graph import documents, items, queries, reading
from calendars.graph.base import GraphView
from calendars.graph.documents import CANCELLED, EVENTS, EXCEPTIONS, Manner
from calendars.graph.prefer import preferences_of
from calendars.graph.queries import Options
from calendars.models import Calendar, Event, Sensitivity
from jobs.members import Members

EVERYTHING = Options()
PRIVATE = (Sensitivity.PRIVATE, Sensitivity.CONFIDENTIAL)


class EventView(GraphView):
    def initial(self, request, *args, **kwargs):
        super().initial(request, *args, **kwargs)
        self.preferences = preferences_of(request.headers.get("Prefer", ""))  # refused before anything is done

    @property
    def manner(self) -> Manner:
        return Manner(self.request.user, self.preferences, self.root)

    def events(self) -> QuerySet[Event]:
        """Those that an id can mean at this address; the caller's right is not looked at yet."""
        rows = Event.objects.select_related("calendar__owner")
        if "calendar" in self.kwargs or "default" in self.kwargs:
            return rows.filter(calendar=self.calendar())
        return rows if self.is_own else rows.filter(calendar__owner=self.person)

    def visible_events(self, **lookup) -> Any:  # an EventQuerySet, of which the types of Django know nothing
        return access.visible(self.request, Event.objects.filter(**lookup))

    def item(self, role: Role = Role.READER) -> Occurrence:
        """What the id names.  Raises Http404 and PermissionDenied."""
        id = ids.parse(self.kwargs["event"])
        if id is None:
            raise Http404
        event = access.require(self.request, self.events(), role, pk=id.event)
        if id.day is None:
            return items.whole(event, self.request.user)
        found = expansion.find(event, id.day, UTC, viewer=self.request.user)
        if found is None:
            raise Http404
        return found

    def item_to_change(self) -> Occurrence:
        item = self.item(Role.OPERATOR)
        if item.details.is_private and item.event.calendar.owner_id != self.request.user.pk:
            raise PermissionDenied("it is private, so its owner changes it")
        return item

    def revision(self, item: Occurrence) -> tuple[int, int] | None:
        """The revision that the caller has read and wants to change; None: whatever there is.  Raises ChangedSince."""
        tags = [tag.strip() for tag in self.request.headers.get("If-Match", "*").split(",")]
        if "*" in tags:
            return None
        if not is_among(items.etag(item), tags):
            raise ChangedSince
        return item.revision

    def answer(self, item: Occurrence, options: Options = EVERYTHING, status: int = 200) -> Response:
        document = options.selected(documents.render_event(item, self.manner))
        if items.type_of(item) == "seriesMaster":
            if CANCELLED in (options.select or ()):
                document[CANCELLED] = documents.cancelled_occurrences(item.event)
            if EXCEPTIONS in options.expand:
                document[EXCEPTIONS] = self.exceptions_of(item.event)
        response = Response({"@odata.context": self.context("/events/$entity"), **document}, status)
        response["ETag"] = items.etag(item)
        return self.events_answer(response)

    def events_answer(self, response: Response) -> Response:
        """The answer, which has events in it and says which preferences they follow."""
        if self.preferences.applied:
            response["Preference-Applied"] = ", ".join(self.preferences.applied)
        return response

    def exceptions_of(self, event: Event) -> list[dict]:
        rows = event.exceptions.filter(is_cancelled=False).order_by("original_day")
        return [
            documents.render_event(each, self.manner) for each in items.exceptions_of(event, rows, self.request.user)
        ]


class Events(EventView):
    def get(self, request, **kwargs):
        options = queries.options_of(request, queries.LIST, EVENTS)
        calendar = self.calendar()
        rows = askable(self.visible_events(calendar=calendar), calendar, request.user).order_by("start_at", "pk")
        rows = options.applied_to(rows)
        length = options.top or self.preferences.page_length or queries.PAGE_LENGTH
        found = list(rows.select_related("calendar__owner")[options.skip : options.skip + length + 1])
        rendered = [documents.render_event(items.whole(event, request.user), self.manner) for event in found[:length]]
        count = rows.count() if options.count else None
        return self.events_answer(self.page("/events", rendered, options, len(found) > length, count))

    def post(self, request, **kwargs):
        calendar = self.calendar(Role.OPERATOR)
        changes = reading.event_changes(request.data, None)
        key = Members(request.data, "").text("transactionId", editing.KEY_LENGTH)
        event, _ = editing.create(calendar, changes, timezone.now(), transaction_id=key or None)
        event.calendar = calendar
        response = self.answer(items.whole(event, request.user), status=201)
        response["Location"] = f"{self.root}{request.path.rstrip('/')}/{event.pk.hex}"
        return response


class OneEvent(EventView):
    def get(self, request, **kwargs):
        options = queries.options_of(request, queries.ITEM, EVENTS)
        item = self.item()
        tags = [tag.strip() for tag in request.headers.get("If-None-Match", "").split(",")]
        if "*" in tags or is_among(items.etag(item), tags):
            return Response(status=304, headers={"ETag": items.etag(item)})
        return self.answer(item, options)

    def patch(self, request, **kwargs):
        item = self.item_to_change()
        revision = self.revision(item)
        reading.refuse_other_transaction(request.data, None if item.day else item.event.transaction_id)
        changes = reading.event_changes(request.data, item)
        if changes and item.day is None:
            editing.change(item.event, changes, timezone.now(), revision=revision)
        elif changes:
            editing.change_occurrence(item.event, item.day, changes, timezone.now(), revision=revision)
        return self.answer(self.item())

    def delete(self, request, **kwargs):
        item = self.item_to_change()
        if item.day is None:
            editing.delete(item.event, timezone.now(), revision=self.revision(item))
        else:
            editing.cancel_occurrence(item.event, item.day, timezone.now(), revision=self.revision(item))
        return Response(status=204)


class Cancel(OneEvent):
    """As deleting, with a word about it to attendees; here there is nobody to tell."""

    http_method_names = ["post"]

    def post(self, request, **kwargs):
        reading.comment(request.data)
        self.delete(request, **kwargs)
        return Response(status=202)


def is_among(tag: str, tags: list[str]) -> bool:
    """Compared weakly: an ETag here says that nothing was changed, not that every byte is the same."""
    return tag.removeprefix("W/") in [each.removeprefix("W/") for each in tags]


def askable(rows: QuerySet[Event], calendar: Calendar, viewer) -> QuerySet[Event]:
    """With what filters ask for.  Nobody finds out by asking what they do not see: of others' private events, the
    subject."""
    subject: Case | F = F("subject")
    if calendar.owner_id != viewer.pk:
        subject = Case(When(sensitivity__in=PRIVATE, then=Value("")), default=subject)
    kind = Case(When(recurrence__isnull=True, then=Value("singleInstance")), default=Value("seriesMaster"))
    return rows.annotate(shown_subject=subject, type=kind)
