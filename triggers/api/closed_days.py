"""/api/closed-days: the calendars of closed days that schedules name."""

from datetime import date, timedelta
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone
from django_filters import FilterSet
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
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
from api.fields import ECHO
from api.filters import NameFilter, TextFilter
from api.idempotency import IDEMPOTENCY_KEY, repeatable
from api.links import absolute
from api.viewsets import HTTP_410, LOCATION, ApiViewSet, created
from jobs.names import NAME_LENGTH
from operations.arm_base import caller_of
from operations.models import Operation
from recurrence.closed_days import ClosedDays as Days
from recurrence.wire import WireError, json_values
from recurrence.wire.common import FindClosedDays
from triggers import closed_days
from triggers.api.closed_days_documents import (
    ClosedDayList,
    ClosedDaySerializer,
    ClosedDaysReplacement,
    ClosedDaysRequest,
    ClosedDaysSerializer,
    ComparisonAnswer,
    ComparisonRequest,
    document_in,
    rendered_calendars,
)
from triggers.closed_days import COMPARED_DAYS
from triggers.models import ClosedDays

YEAR = timedelta(days=365)
LISTED_DAYS = 5 * 366  # of one list of days
ADDRESS = "/api/closed-days"
SUBSCRIPTION = OpenApiParameter(
    "subscription",
    {"type": "string", "maxLength": NAME_LENGTH, "example": "default"},
    description=(
        "The id or the short name of the subscription. Required if several subscriptions have a calendar of this name."
    ),
)
OPERATION = OpenApiParameter(
    "Location",
    {"type": "string", "format": "uri", "example": "https://quando.example.org/api/operations/7b0a5c1e"},
    OpenApiParameter.HEADER,
    description=(
        f"The operation that recalculates the next fire times, if more than {closed_days.TRIGGERS_AT_ONCE} triggers"
        " name the calendar."
    ),
    response=[200],
)
DAY = {"type": "string", "format": "date"}
DATES = [
    OpenApiParameter("from", {**DAY, "example": "2026-12-01"}, description="The first day. Default: today, in UTC."),
    OpenApiParameter(
        "to",
        {**DAY, "example": "2026-12-31"},
        description=f"The last day, at most {LISTED_DAYS} days after the first. Default: one year after the first.",
    ),
]


@with_example({"name": "germany", "subscription": "default"})
class ClosedDaysFilter(FilterSet):
    name = NameFilter(max_length=NAME_LENGTH, help_text="Filters by name, not case-sensitive.")
    subscription = TextFilter(
        method="filter_subscription",
        max_length=NAME_LENGTH,
        help_text=("Filters by the id or the short name of the subscription."),
    )

    def filter_subscription(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        return of_subscription(rows, value)


class ClosedDaysViews(ApiViewSet):
    """Calendars of closed days. A schedule that names such a calendar does not fire on its closed days."""

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
        description=(
            "The next fire times of all triggers that name the calendar are recalculated. A fire time that is"
            " already due stays due. `compare` shows the changes in advance."
        ),
        request=ClosedDaysReplacement,
        parameters=[SUBSCRIPTION, IF_MATCH, IF_ABSENT, ETAG, OPERATION],
    )
    def update(self, request, pk):
        return self._changed(request, pk)

    @extend_schema(
        operation_id="patchClosedDays",
        summary="Change a calendar of closed days",
        description=(
            "A list in the request replaces the stored list. `name` renames the calendar, which is possible only"
            " while no schedule names it."
        ),
        request=ClosedDaysReplacement,
        parameters=[SUBSCRIPTION, IF_MATCH, IF_ABSENT, ETAG, OPERATION],
    )
    def partial_update(self, request, pk):
        return self._changed(request, pk, partial=True)

    @extend_schema(
        operation_id="deleteClosedDays",
        summary="Delete a calendar of closed days",
        description="Refused while schedules name the calendar. The error lists the triggers.",
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
        description="Includes the names of the days, and public holidays that fall on a weekend.",
        parameters=[SUBSCRIPTION, *DATES],
        responses=ClosedDayList,
        filters=False,
    )
    @action(detail=True, methods=["get"], pagination_class=None)
    def dates(self, request, pk):
        first, last = days_in(request, timezone.now().date())
        value = [ClosedDaySerializer.render(each) for each in find(request, pk).days.closed_between(first, last)]
        return Response(ClosedDayList.render({"from": first, "to": last}, value=value))

    @extend_schema(
        operation_id="compareClosedDays",
        summary="Compare new closed days with those of a calendar",
        description=(
            f"Shows the fire times of the next {COMPARED_DAYS} days that a change would move, add or remove. Nothing"
            " is saved."
        ),
        request=ComparisonRequest,
        parameters=[SUBSCRIPTION],
        responses={200: OpenApiResponse(ComparisonAnswer)},
    )
    @action(detail=True, methods=["post"])
    def compare(self, request, pk):
        calendar = find(request, pk, Role.OPERATOR)
        document = self.read(ComparisonRequest)
        comparison = closed_days.compare(calendar, document_in(document), request.user, timezone.now())
        return Response(ComparisonAnswer.render(comparison))

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
        raise Conflict("several subscriptions have a calendar of this name: select one with `subscription`")
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
