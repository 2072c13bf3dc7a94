"""/api/closed-days: the calendars of closed days that schedules name."""

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, QuerySet
from django.http import Http404
from django.utils import timezone
from django_filters import FilterSet
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.exceptions import ErrorDetail
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import only_default, require_role, subscription_for, visible_rows
from accounts.examples import with_example
from accounts.models import Role
from api.conditional import ETAG, IF_ABSENT, IF_MATCH, IF_NONE_MATCH, etag, refuse_stale, respond
from api.errors import Conflict
from api.fields import ECHO, Document, IdField, InstantField, Messages, TextField, details_of, rendered
from api.filters import TextFilter
from api.idempotency import IDEMPOTENCY_KEY, repeatable
from api.links import absolute
from api.viewsets import HTTP_410, LOCATION, ApiViewSet, created
from jobs.names import NAME_LENGTH
from operations.arm_base import caller_of
from operations.models import Operation
from recurrence.closed_days import WEEKDAYS
from recurrence.closed_days import ClosedDay as Day
from recurrence.closed_days import ClosedDays as Days
from recurrence.wire import WireError, json_values
from recurrence.wire import closed_days as documents
from recurrence.wire.common import FindClosedDays
from triggers import closed_days
from triggers.closed_days import COMPARED_DAYS, COMPARED_TRIGGERS, Comparison, TriggerChanges
from triggers.models import ClosedDays

YEAR = timedelta(days=365)
LISTED_DAYS = 5 * 366  # of one list of days
SOURCES = ("dates", "calendars", "holidays", "weekend")
DOCUMENT = ("weekend", "holidays", "dates", "calendars")
ADDRESS = "/api/closed-days"
SUBSCRIPTION = OpenApiParameter(
    "subscription",
    {"type": "string", "maxLength": NAME_LENGTH, "example": "default"},
    description="The id or the short name of the subscription, if calendars of several have this name.",
)
OPERATION = OpenApiParameter(
    "Location",
    {"type": "string", "format": "uri", "example": "https://quando.example.org/api/operations/7b0a5c1e"},
    OpenApiParameter.HEADER,
    description=f"The operation that recomputes the next fire times, if more than {closed_days.TRIGGERS_AT_ONCE}"
    " triggers name the calendar.",
    response=[200],
)
DAY = {"type": "string", "format": "date"}
DATES = [
    OpenApiParameter("from", {**DAY, "example": "2026-12-01"}, description="The first day.  By default today, in UTC."),
    OpenApiParameter(
        "to",
        {**DAY, "example": "2026-12-31"},
        description=f"The last day, at most {LISTED_DAYS} days later.  By default a year after the first.",
    ),
]


@with_example({"country": "DE", "subdivision": "BE"})
class HolidaysSerializer(serializers.Serializer):
    """The public holidays of a country or of one of its subdivisions."""

    country = serializers.CharField(help_text="A code of ISO 3166-1, such as DE.")
    subdivision = serializers.CharField(
        required=False, help_text="A code of ISO 3166-2 without the country.  Left out: the whole country."
    )


@with_example(
    {
        "date": "2026-06-05",
        "from": "2026-12-24",
        "to": "2027-01-01",
        "month": 12,
        "day": 31,
        "name": "Company holidays",
    }
)
class ClosedDatesSerializer(serializers.Serializer):
    """A single date, a range of dates, or a day of each year."""

    date = serializers.DateField(required=False, help_text="A single date.")
    month = serializers.IntegerField(
        min_value=1, max_value=12, required=False, help_text="With `day`: this day of each year."
    )
    day = serializers.IntegerField(min_value=1, max_value=31, required=False, help_text="The day of the month.")
    name = serializers.CharField(
        max_length=documents.MAX_NAME, required=False, help_text="What people call it, such as Summer break."
    )

    def get_fields(self):
        return {
            **super().get_fields(),
            "from": serializers.DateField(required=False, help_text="The first date of a range."),
            "to": serializers.DateField(required=False, help_text="The last date of a range, included."),
        }


@with_example({"calendar": "0d6a3f6e-5b0e-4c53-8d6c-1f1f6a1f9b77", "category": "Closed"})
class ClosedCalendarSerializer(serializers.Serializer):
    """A calendar whose events close their days."""

    calendar = serializers.CharField(help_text="The id of a calendar that you see, of a member of the subscription.")
    category = serializers.CharField(required=False, help_text="Only events of this category.  Left out: all events.")


class MemberField(Messages, serializers.Field):
    """A member that `documents.render` reads, as a whole with the others."""

    def to_internal_value(self, data: Any) -> Any:
        return data


@extend_schema_field(serializers.ListField(child=serializers.ChoiceField(WEEKDAYS), max_length=6))
class WeekendField(MemberField):
    pass


@extend_schema_field(HolidaysSerializer(many=True, max_length=documents.MAX_HOLIDAYS))
class HolidaysField(MemberField):
    pass


@extend_schema_field(ClosedDatesSerializer(many=True, max_length=documents.MAX_DATES))
class DatesField(MemberField):
    pass


@extend_schema_field(ClosedCalendarSerializer(many=True, max_length=documents.MAX_CALENDARS))
class CalendarsField(MemberField):
    pass


class ClosedDaysDocument(Document):
    """The days of a calendar.  A member that is left out closes no days."""

    weekend = WeekendField(default=list, help_text="The days of each week that are closed.")
    holidays = HolidaysField(
        default=list,
        help_text="Countries whose public holidays are closed, with substitute days.  They are computed for each year.",
    )
    dates = DatesField(default=list, help_text="Single dates, ranges, and days of each year.")
    calendars = CalendarsField(default=list, help_text="Calendars whose events close their days.")

    def validate(self, members: dict[str, Any]) -> dict[str, Any]:
        sent = {name: members[name] for name in DOCUMENT if name in members}
        try:
            canonical = documents.render(sent)
        except WireError as error:
            raise serializers.ValidationError(details_of(error)) from None
        return {**members, **{name: canonical[name] for name in sent}}


@with_example(
    {
        "name": "germany",
        "weekend": ["saturday", "sunday"],
        "holidays": [{"country": "DE", "subdivision": "BE"}],
        "dates": [{"from": "2026-12-24", "to": "2027-01-01", "name": "Company holidays"}],
        "calendars": [],
    }
)
class ClosedDaysReplacement(ClosedDaysDocument):
    """The new days of a calendar.  A member that is left out gets its default."""

    name = TextField(
        min_length=1,
        max_length=NAME_LENGTH,
        required=False,
        help_text="Its new name, while no schedule names it.  Left out, it keeps its name.",
    )


@with_example({"subscription": "00000000-0000-0000-0000-000000000001"})
class ClosedDaysRequest(ClosedDaysReplacement):
    name = TextField(min_length=1, max_length=NAME_LENGTH, help_text="Unique in its subscription, in any case.")
    subscription = IdField(required=False, help_text="Needed by callers who may write to more than one subscription.")


@with_example(
    {
        "weekend": ["saturday", "sunday"],
        "holidays": [{"country": "DE", "subdivision": "BE"}],
        "dates": [{"month": 12, "day": 24, "name": "Christmas Eve"}],
        "calendars": [],
    }
)
class ComparisonRequest(ClosedDaysDocument):
    """The days that a calendar would get."""


@with_example(
    {
        "id": 3,
        "subscription": "00000000-0000-0000-0000-000000000001",
        "name": "germany",
        "weekend": ["saturday", "sunday"],
        "holidays": [{"country": "DE", "subdivision": "BE"}],
        "dates": [{"from": "2026-12-24", "to": "2027-01-01", "name": "Company holidays"}],
        "calendars": [],
        "triggerCount": 4,
        "revision": 2,
        "createdAt": "2026-01-01T09:30:00Z",
        "updatedAt": "2026-01-05T08:00:00Z",
    }
)
class ClosedDaysSerializer(serializers.Serializer):
    id = serializers.IntegerField(help_text="It stays when the calendar is renamed.")
    subscription = serializers.UUIDField(help_text="The id of its subscription.")
    name = serializers.CharField(help_text="The name in its address, unique in its subscription, in any case.")
    weekend = serializers.ListField(
        child=serializers.ChoiceField(WEEKDAYS), help_text="The days of each week that are closed."
    )
    holidays = HolidaysSerializer(many=True, help_text="Countries whose public holidays are closed.")
    dates = ClosedDatesSerializer(many=True, help_text="Single dates, ranges, and days of each year.")
    calendars = ClosedCalendarSerializer(many=True, help_text="Calendars whose events close their days.")
    triggerCount = serializers.IntegerField(
        help_text="How many schedules name it; `/api/triggers?closedDays=` lists them."
    )
    revision = serializers.IntegerField(help_text="Counts its changes.")
    createdAt = InstantField(help_text="When it was made.")
    updatedAt = InstantField(help_text="When it was last changed.")


@with_example({"date": "2026-12-26", "name": "Second Day of Christmas", "source": "holidays"})
class ClosedDaySerializer(serializers.Serializer):
    date = serializers.DateField(help_text="The closed day.")
    name = serializers.CharField(allow_null=True, help_text="The name of the holiday or of the date; null: none.")
    source = serializers.ChoiceField(
        SOURCES, help_text="The first of these that closes the day: `dates`, `calendars`, `holidays`, `weekend`."
    )


@with_example({"from": "2026-12-01", "to": "2026-12-31"})
class ClosedDayList(serializers.Serializer):
    to = serializers.DateField(help_text="The last day, included.")
    value = ClosedDaySerializer(many=True, help_text="The closed days, earliest first.")

    def get_fields(self):
        return {**super().get_fields(), "from": serializers.DateField(help_text="The first day.")}


@with_example({"from": "2026-12-25T08:00:00Z", "to": "2026-12-28T08:00:00Z"})
class MovedFireTimeSerializer(serializers.Serializer):
    to = InstantField(help_text="The fire time after the change.")

    def get_fields(self):
        return {**super().get_fields(), "from": InstantField(help_text="The fire time before the change.")}


@with_example(
    {
        "id": 2,
        "name": "last-friday",
        "job": 1,
        "jobName": "collect-orders",
        "collectionName": "nightly",
        "addedCount": 0,
        "removedCount": 1,
        "movedCount": 1,
        "added": [],
        "removed": ["2026-12-24T08:00:00Z"],
        "complete": True,
    }
)
class TriggerChangesSerializer(serializers.Serializer):
    id = serializers.IntegerField(help_text="The id of the trigger.")
    name = serializers.CharField(help_text="The name of the trigger; `default` is the schedule in the job itself.")
    job = serializers.IntegerField(help_text="The id of its job.")
    jobName = serializers.CharField(help_text="The name of its job.")
    collectionName = serializers.CharField(help_text="The name of the collection of its job.")
    addedCount = serializers.IntegerField(help_text="How many fire times it gets.")
    removedCount = serializers.IntegerField(help_text="How many fire times it loses.")
    movedCount = serializers.IntegerField(help_text="How many fire times move to another day.")
    added = serializers.ListField(child=InstantField(), help_text="The first fire times that it gets.")
    removed = serializers.ListField(child=InstantField(), help_text="The first fire times that it loses.")
    moved = MovedFireTimeSerializer(many=True, help_text="The first fire times that move.")
    complete = serializers.BooleanField(
        help_text="False: it fires too often for a complete comparison, and the numbers are lower bounds."
    )


@with_example(
    {
        "from": "2026-01-05T08:00:00Z",
        "to": "2027-02-09T08:00:00Z",
        "triggerCount": 4,
        "comparedCount": 4,
        "complete": True,
    }
)
class ComparisonAnswer(serializers.Serializer):
    to = InstantField(help_text=f"The end of the comparison, {COMPARED_DAYS} days later.")
    triggerCount = serializers.IntegerField(help_text="How many schedules name the calendar.")
    comparedCount = serializers.IntegerField(
        help_text=f"How many of them were compared, at most {COMPARED_TRIGGERS}, those made first."
    )
    complete = serializers.BooleanField(help_text="Whether all of their fire times were compared.")
    triggers = TriggerChangesSerializer(
        many=True, help_text="Those whose fire times change, or that could not be compared completely."
    )

    def get_fields(self):
        return {**super().get_fields(), "from": InstantField(help_text="The start of the comparison: now.")}


@with_example({"name": "germany", "subscription": "default"})
class ClosedDaysFilter(FilterSet):
    name = TextFilter(method="filter_name", max_length=NAME_LENGTH, help_text="The name, in any case.")
    subscription = TextFilter(
        method="filter_subscription", max_length=NAME_LENGTH, help_text="The id or the short name of a subscription."
    )

    def filter_name(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        return rows.filter(name__lower=value.lower())

    def filter_subscription(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        return of_subscription(rows, value)


class ClosedDaysViews(ApiViewSet):
    """Calendars of the days on which schedules that name them do not fire."""

    queryset = ClosedDays.objects.select_related("version").order_by("id")
    serializer_class = ClosedDaysSerializer
    filterset_class = ClosedDaysFilter
    lookup_value_converter = "str"  # the name
    rows_at_once = 50  # each may have 1,000 dates

    @extend_schema(operation_id="listClosedDays", summary="List calendars of closed days")
    def list(self, request):
        return self.list_response(rendered_calendars)

    @extend_schema(
        operation_id="readClosedDays",
        summary="Read a calendar of closed days",
        parameters=[SUBSCRIPTION, IF_NONE_MATCH, ETAG],
    )
    def retrieve(self, request, pk):
        return calendar_response(find(request, pk), request=request)

    @extend_schema(
        operation_id="createClosedDays",
        summary="Create a calendar of closed days",
        request=ClosedDaysRequest,
        parameters=[IDEMPOTENCY_KEY, ETAG, LOCATION],
        responses={200: ClosedDaysSerializer, 201: ClosedDaysSerializer},
    )
    @repeatable(lambda view, request, pk: calendar_response(require_role(request, ClosedDays, pk=pk)))
    def create(self, request):
        members = self.read(ClosedDaysRequest)
        subscription = subscription_for(request, members.get("subscription"))
        calendar = closed_days.create(subscription, members["name"], document_in(members), timezone.now(), request.user)
        return created(request, address_of(request, calendar), calendar_response(calendar))

    @extend_schema(
        operation_id="replaceClosedDays",
        summary="Replace a calendar of closed days",
        description="The next fire times of all triggers that name it are recomputed; a fire time that is due stays"
        " due.  `compare` says before what changes.",
        request=ClosedDaysReplacement,
        parameters=[SUBSCRIPTION, IF_MATCH, IF_ABSENT, ETAG, OPERATION],
    )
    def update(self, request, pk):
        return self._changed(request, pk)

    @extend_schema(
        operation_id="patchClosedDays",
        summary="Change a calendar of closed days",
        description="A list that is sent replaces the stored one.  `name` renames it, while no schedule names it.",
        request=ClosedDaysReplacement,
        parameters=[SUBSCRIPTION, IF_MATCH, IF_ABSENT, ETAG, OPERATION],
    )
    def partial_update(self, request, pk):
        return self._changed(request, pk, partial=True)

    @extend_schema(
        operation_id="deleteClosedDays",
        summary="Delete a calendar of closed days",
        description="Refused with the names of the triggers while schedules name it.",
        parameters=[SUBSCRIPTION, IF_MATCH],
        responses={204: HTTP_410},
    )
    def destroy(self, request, pk):
        with closed_days.locked(find(request, pk, Role.OPERATOR)) as calendar:
            refuse_stale(request, version_of(calendar))
            closed_days.delete(calendar)
        return Response(status=204)

    @extend_schema(
        operation_id="listDatesOfClosedDays",
        summary="List the closed days of a calendar",
        description="With their names; public holidays on a weekend too.",
        parameters=[SUBSCRIPTION, *DATES],
        responses=ClosedDayList,
        filters=False,
    )
    @action(detail=True, methods=["get"], pagination_class=None)
    def dates(self, request, pk):
        first, last = days_in(request, timezone.now().date())
        value = [rendered_day(each) for each in find(request, pk).days.closed_between(first, last)]
        return Response({"from": first, "to": last, "value": value})

    @extend_schema(
        operation_id="compareClosedDays",
        summary="Compare new closed days with those of a calendar",
        description=f"Which fire times of the next {COMPARED_DAYS} days a change would move, add or leave out. Nothing"
        " is saved.",
        request=ComparisonRequest,
        parameters=[SUBSCRIPTION],
        responses={200: OpenApiResponse(ComparisonAnswer)},
    )
    @action(detail=True, methods=["post"])
    def compare(self, request, pk):
        calendar = find(request, pk, Role.OPERATOR)
        document = self.read(ComparisonRequest)
        comparison = closed_days.compare(calendar, document_in(document), request.user, timezone.now())
        return Response(rendered_comparison(comparison))

    def _changed(self, request: Request, pk: str, **options: Any) -> Response:
        found = find(request, pk, Role.OPERATOR)
        members = self.read(ClosedDaysReplacement, fixed={"subscription": found.subscription_id}, **options)
        with closed_days.locked(found) as calendar:
            refuse_stale(request, version_of(calendar))
            document = {**calendar.document, **document_in(members)}
            new_name = members.get("name", calendar.name)
            operation = closed_days.change(calendar, document, new_name, caller_of(request), timezone.now())
        return calendar_response(calendar, operation, request)


def find_visible(request: Request) -> FindClosedDays:
    """Return the function with which a parser finds a calendar by name, for schedules that no subscription has yet."""

    def find_days(name: str) -> Days | None:
        found = preferred(request, calendars_named(request, name))
        return found[0].days if len(found) == 1 else None

    return find_days


def find(request: Request, name: str, role: Role = Role.READER) -> ClosedDays:
    """Return the calendar of this name: of the subscription in the query, else of the only one that has it.

    If several subscriptions have one, it is that of the caller's default subscription.
    """
    rows = calendars_named(request, name)
    if "subscription" in request.query_params:
        rows = of_subscription(rows, request.query_params["subscription"])
    found = preferred(request, rows)
    if len(found) > 1:
        raise Conflict("several subscriptions have a calendar of this name: name one with `subscription`")
    if not found:
        raise Http404
    return require_role(request, ClosedDays.objects.select_related("version"), role, pk=found[0].pk)


def preferred(request: Request, rows: QuerySet) -> list[ClosedDays]:
    """Return the only row, or that of the caller's default subscription; more than one if there is no such choice."""
    found = list(rows[:2])
    return found if len(found) < 2 else list(only_default(request, rows)[:2])


def calendars_named(request: Request, name: str) -> QuerySet:
    """Return the calendars with this name, in any case, that the caller may see."""
    return visible_rows(request, ClosedDays.objects.named(name))


def of_subscription(rows: QuerySet, value: str) -> QuerySet:
    """Return the rows of the subscription with this id or short name."""
    try:
        return rows.filter(subscription_id=UUID(value))
    except ValueError:
        return rows.filter(subscription__name=value[:NAME_LENGTH].replace("\0", ""))


def address_of(request: Request, calendar: ClosedDays) -> str:
    """Return the address of a calendar, with the subscription if calendars of several have its name."""
    address = f"{ADDRESS}/{calendar.name}"
    is_unique = calendars_named(request, calendar.name).count() == 1
    return address if is_unique else f"{address}?subscription={calendar.subscription_id}"


def document_in(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: members[name] for name in DOCUMENT if name in members}


def days_in(request: Request, today: date) -> tuple[date, date]:
    """Return the first and the last day of the query.  Raise ValidationError with all parameters that are wrong."""
    errors: dict[str, list[ErrorDetail]] = {}
    days: dict[str, date] = {}
    for name in ("from", "to"):
        if (text := request.query_params.get(name)) is not None:
            try:
                days[name] = json_values.day(text[:ECHO], name)
            except WireError as error:
                errors[name] = [ErrorDetail(error.message, error.code)]
    if errors:
        raise serializers.ValidationError(errors)
    first = days.get("from", today)
    last = days.get("to") or (first + YEAR if first < date.max - YEAR else date.max)
    if not 0 <= (last - first).days < LISTED_DAYS:
        message = f"must be {first} or later, and less than {LISTED_DAYS} days later"
        raise serializers.ValidationError({"to": [ErrorDetail(message, "out_of_range")]})
    return first, last


def version_of(calendar: ClosedDays) -> str:
    return f"{calendar.pk}-{calendar.revision}"


def calendar_response(
    calendar: ClosedDays, operation: Operation | None = None, request: Request | None = None
) -> Response:
    document = rendered_calendars([calendar])[0]
    is_read = request if request and request.method == "GET" else None
    response = respond(document, etag(version_of(calendar), document), request=is_read)
    if operation is not None and request is not None:
        response["Location"] = absolute(request, f"/api/operations/{operation.pk}")
    return response


def rendered_calendars(calendars: Iterable[ClosedDays]) -> list[dict[str, Any]]:
    """Return the calendars as documents.  One query counts the triggers of all of them."""
    calendars = list(calendars)
    counts = dict(
        ClosedDays.objects.filter(pk__in=[each.pk for each in calendars])
        .annotate(trigger_count=Count("versions__triggers"))
        .values_list("pk", "trigger_count")
    )
    return [rendered_calendar(each, counts.get(each.pk, 0)) for each in calendars]


def rendered_calendar(calendar: ClosedDays, trigger_count: int) -> dict[str, Any]:
    return {
        "id": calendar.pk,
        "subscription": calendar.subscription_id,
        "name": calendar.name,
        **{name: calendar.document[name] for name in DOCUMENT},
        "triggerCount": trigger_count,
        "revision": calendar.revision,
        "createdAt": calendar.created_at,
        "updatedAt": calendar.updated_at,
    }


def rendered_day(day: Day) -> dict[str, Any]:
    return {"date": day.day, "name": day.name, "source": day.source}


def rendered_comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "from": comparison.start,
        "to": comparison.end,
        "triggerCount": comparison.trigger_count,
        "comparedCount": comparison.compared_count,
        "complete": comparison.is_complete,
        "triggers": [rendered_changes(each) for each in comparison.triggers],
    }


def rendered_changes(found: TriggerChanges) -> dict[str, Any]:
    trigger, changes = found.trigger, found.changes
    return {
        "id": trigger.pk,
        "name": trigger.name,
        "job": trigger.job_id,
        "jobName": trigger.job.name,
        "collectionName": trigger.job.collection.name,
        "addedCount": changes.added_count,
        "removedCount": changes.removed_count,
        "movedCount": changes.moved_count,
        "added": [rendered(each) for each in changes.added],
        "removed": [rendered(each) for each in changes.removed],
        "moved": [{"from": rendered(before), "to": rendered(after)} for before, after in changes.moved],
        "complete": changes.is_complete,
    }
