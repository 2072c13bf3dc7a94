"""/api/feeds: secret addresses at which calendar programs read what the caller sees."""

from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django_filters import FilterSet
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.serializers import CharField, IntegerField, UUIDField

from accounts.access import as_field_error, highest_role, require_role
from accounts.examples import with_example
from accounts.models import ApiToken, Role
from api.answers import GIVEN, Answer, Member
from api.fields import Document, FlagField, IdField, InstantField, ListField, TextField, WholeNumberField
from api.filters import IdFilter
from api.idempotency import IDEMPOTENCY_KEY, repeatable
from api.links import absolute
from api.viewsets import HTTP_410, LOCATION, NO_STORE, ApiViewSet, created
from calendars import feeds
from calendars.api import examples
from calendars.models import Calendar, Feed


class QuerySerializer(Answer, Document):
    """The selection of calendars and runs that a feed contains."""

    calendars = Member(
        ListField,
        "The ids of the calendars; null: all calendars that you have access to.",
        nullable=True,
        child=IdField(),
        default=None,
        example=["5b2f8a52-2c3c-4a47-a7de-8a2f7f3c9d10"],
    )
    collections = Member(
        ListField,
        "The ids of the job collections whose runs are included; null: all collections that you have access to.",
        nullable=True,
        child=WholeNumberField(min_value=1),
        default=None,
        example=[1],
    )
    runs = Member(
        FlagField,
        "Whether runs of jobs are included, from 31 days in the past to 92 days in the future.",
        default=False,
        example=True,
    )


class FeedSerializer(Answer):
    id = Member(IntegerField, "The id of the feed.", "pk", example=3)
    name = Member(CharField, "The name, for example of the program that reads the feed.", example="Wall display")
    calendarId = Member(
        UUIDField, "The id of the calendar in the feed; null: see `query`.", nullable=True, example=None
    )
    query = Member(
        QuerySerializer,
        "The selection of the feed; null: the feed contains one calendar.",
        lambda feed: None if feed.calendar_id else feeds.filter_of(feed).as_document(),
        nullable=True,
    )
    createdAt = Member(InstantField, "The time of creation, in UTC.", example="2026-01-01T09:30:00Z")
    lastReadAt = Member(
        InstantField,
        "The time of the last use, in UTC, accurate to one minute.",
        nullable=True,
        example="2026-01-05T08:00:00Z",
    )


class NewFeedSerializer(FeedSerializer):
    address = Member(
        CharField,
        "The URL of the feed. It is returned only once.",
        GIVEN,
        example="https://quando.example.org/calendar/feeds/...",
    )


@with_example({"name": "Phone", "calendarId": "5b2f8a52-2c3c-4a47-a7de-8a2f7f3c9d10"})
class FeedRequest(Document):
    name = TextField(
        min_length=1,
        max_length=feeds.NAME_LENGTH,
        help_text=("The name, for example of the program that reads the feed."),
    )
    calendarId = IdField(
        required=False,
        allow_null=True,
        help_text=("The id of the calendar in the feed. Not allowed together with `query`."),
    )
    query = QuerySerializer(
        required=False, allow_null=True, help_text=("The selection of the feed, if the feed is not one calendar.")
    )


@with_example({"calendar": "5b2f8a52-2c3c-4a47-a7de-8a2f7f3c9d10"})
class FeedFilter(FilterSet):
    calendar = IdFilter(field_name="calendar_id", help_text="Filters by the id of the calendar.")


class Feeds(ApiViewSet):
    """The caller's feeds. Anyone who knows the URL of a feed can read it without a token, until the feed is revoked."""

    queryset = Feed.objects.none()
    serializer_class = FeedSerializer
    filterset_class = FeedFilter
    lookup_value_converter = "int"

    def get_queryset(self):
        return Feed.objects.filter(owner=self.request.user).order_by("id")

    @extend_schema(operation_id="listFeeds", summary="List your feeds")
    def list(self, request):
        return self.list_response(lambda rows: map(FeedSerializer.render, rows))

    @extend_schema(operation_id="readFeed", summary="Read a feed")
    def retrieve(self, request, pk):
        return Response(FeedSerializer.render(get_object_or_404(self.get_queryset(), pk=pk)))

    @extend_schema(
        operation_id="createFeed",
        summary="Create a feed",
        description=(
            "A feed does not expire. With a token, this request requires a token with the role of owner that does"
            " not expire either. A repeated request with the same key returns 200 with the feed, without its URL."
        ),
        request=FeedRequest,
        parameters=[IDEMPOTENCY_KEY, LOCATION],
        responses={200: FeedSerializer, 201: NewFeedSerializer},
        examples=examples.FEEDS,
    )
    @repeatable(
        lambda view, request, pk: Response(FeedSerializer.render(get_object_or_404(view.get_queryset(), pk=pk)))
    )
    def create(self, request):
        wanted = self.read(FeedRequest)
        refuse_escalation(request)
        feed, secret = feeds.make(
            request.user,
            wanted["name"],
            timezone.now(),
            calendar=calendar_of(request, wanted.get("calendarId")),
            query=wanted.get("query"),
        )
        address = reverse("calendar:feed", args=[secret])
        document = NewFeedSerializer.render(feed, address=absolute(request, address))
        return created(request, f"/api/feeds/{feed.pk}", Response(document, headers=NO_STORE))

    @extend_schema(
        operation_id="revokeFeed",
        summary="Revoke a feed",
        description="The URL of the feed does not work any more.",
        responses={204: HTTP_410},
    )
    def destroy(self, request, pk):
        feed = get_object_or_404(self.get_queryset(), pk=pk)
        if highest_role(request) < Role.OPERATOR:
            raise PermissionDenied(f"this requires the role of {Role.OPERATOR.label}")
        feed.delete()
        return Response(status=204)


def refuse_escalation(request) -> None:
    """Raise PermissionDenied if a feed would show more, or for longer, than the token that creates it."""
    own = request.auth
    if isinstance(own, ApiToken) and (own.role < Role.OWNER or own.expires_at is not None):
        raise PermissionDenied(
            "a feed does not expire: this request requires a token with the role of owner that does not expire either"
        )


def calendar_of(request, wanted) -> Calendar | None:
    if wanted is None:
        return None
    with as_field_error("calendarId", "must be a calendar that you have access to"):
        return require_role(request, Calendar, pk=wanted)
