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
    """The parts of the calendar page that a feed shows."""

    calendars = Member(
        ListField,
        "Their ids; null: all that you see.",
        nullable=True,
        child=IdField(),
        default=None,
        example=["5b2f8a52-2c3c-4a47-a7de-8a2f7f3c9d10"],
    )
    collections = Member(
        ListField,
        "Of jobs, whose runs are shown; null: all that you see.",
        nullable=True,
        child=WholeNumberField(min_value=1),
        default=None,
        example=[1],
    )
    runs = Member(
        FlagField, "Whether runs of jobs are shown, from 31 days back to 92 days ahead.", default=False, example=True
    )


class FeedSerializer(Answer):
    id = Member(IntegerField, "The id in its address.", "pk", example=3)
    name = Member(CharField, "What reads it.", example="Wall display")
    calendarId = Member(UUIDField, "The calendar that it shows; null: see `query`.", nullable=True, example=None)
    query = Member(
        QuerySerializer,
        "What it shows; null: the one calendar.",
        lambda feed: None if feed.calendar_id else feeds.filter_of(feed).as_document(),
        nullable=True,
    )
    createdAt = Member(InstantField, "When it was made.", example="2026-01-01T09:30:00Z")
    lastReadAt = Member(InstantField, "To the minute.", nullable=True, example="2026-01-05T08:00:00Z")


class NewFeedSerializer(FeedSerializer):
    address = Member(
        CharField,
        "Where it is read.  It is shown this once.",
        GIVEN,
        example="https://quando.example.org/calendar/feeds/...",
    )


@with_example({"name": "Phone", "calendarId": "5b2f8a52-2c3c-4a47-a7de-8a2f7f3c9d10"})
class FeedRequest(Document):
    name = TextField(min_length=1, max_length=feeds.NAME_LENGTH, help_text="What will read it.")
    calendarId = IdField(required=False, allow_null=True, help_text="The calendar that it shows; or")
    query = QuerySerializer(required=False, allow_null=True, help_text="What it shows, if it is not one calendar.")


@with_example({"calendar": "5b2f8a52-2c3c-4a47-a7de-8a2f7f3c9d10"})
class FeedFilter(FilterSet):
    calendar = IdFilter(field_name="calendar_id", help_text="The id of a calendar.")


class Feeds(ApiViewSet):
    """The caller's feeds.  Anybody who knows the address of a feed can read it without a token, until it is revoked."""

    queryset = Feed.objects.none()
    serializer_class = FeedSerializer
    filterset_class = FeedFilter
    lookup_value_converter = "int"

    def get_queryset(self):
        return Feed.objects.filter(owner=self.request.user).order_by("id")

    @extend_schema(operation_id="listFeeds", summary="List your feeds")
    def list(self, request):
        return self.list_response(lambda rows: map(FeedSerializer.render, rows))

    @extend_schema(operation_id="readFeed", summary="Read a feed's description")
    def retrieve(self, request, pk):
        return Response(FeedSerializer.render(get_object_or_404(self.get_queryset(), pk=pk)))

    @extend_schema(
        operation_id="createFeed",
        summary="Make a feed",
        description="It has no end, so a token can make one only with the role of owner and without an end of its own."
        "  Repeated with its key, 200 answers the feed without its address.",
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
        description="Its address is refused from then on.",
        responses={204: HTTP_410},
    )
    def destroy(self, request, pk):
        feed = get_object_or_404(self.get_queryset(), pk=pk)
        if highest_role(request) < Role.OPERATOR:
            raise PermissionDenied(f"this takes the role of {Role.OPERATOR.label}")
        feed.delete()
        return Response(status=204)


def refuse_escalation(request) -> None:
    """Raise PermissionDenied if a feed would show more, or for longer, than the token that creates it."""
    own = request.auth
    if isinstance(own, ApiToken) and (own.role < Role.OWNER or own.expires_at is not None):
        raise PermissionDenied("a feed has no end: this takes a token with the role of owner that has none either")


def calendar_of(request, wanted) -> Calendar | None:
    if wanted is None:
        return None
    with as_field_error("calendarId", "must be a calendar that you may see"):
        return require_role(request, Calendar, pk=wanted)
