"""/api/feeds: secret addresses at which calendar programs read what the caller sees."""

from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django_filters import FilterSet, UUIDFilter
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from accounts.access import highest_role, naming, require
from accounts.fields import FlagField, InstantField, TextField, WholeNumberField, read
from accounts.models import ApiToken, Role
from accounts.viewsets import GONE, NO_STORE, ApiViewSet, created
from calendars import feeds
from calendars.api import examples
from calendars.models import Calendar, Feed


class QuerySerializer(serializers.Serializer):
    """What of the calendar page is shown."""

    calendars = serializers.ListField(
        child=serializers.UUIDField(), allow_null=True, default=None, help_text="Their ids; null: all that you see."
    )
    collections = serializers.ListField(
        child=WholeNumberField(min_value=1),
        allow_null=True,
        default=None,
        help_text="Of jobs, whose runs are shown; null: all that you see.",
    )
    runs = FlagField(default=False, help_text="Whether runs of jobs are shown, from 31 days back to 92 days ahead.")


class FeedSerializer(serializers.Serializer):
    id = serializers.IntegerField()
    name = serializers.CharField()
    calendarId = serializers.UUIDField(allow_null=True)
    query = QuerySerializer(allow_null=True)
    createdAt = InstantField()
    lastReadAt = InstantField(allow_null=True, help_text="To the minute.")


class NewFeedSerializer(FeedSerializer):
    address = serializers.CharField(help_text="Where it is read.  It is shown this once.")


class FeedRequest(serializers.Serializer):
    name = TextField(min_length=1, max_length=feeds.NAME_LENGTH, help_text="What will read it.")
    calendarId = serializers.UUIDField(required=False, allow_null=True, help_text="The calendar that it shows; or")
    query = QuerySerializer(required=False, allow_null=True)


class FeedFilter(FilterSet):
    calendar = UUIDFilter(field_name="calendar_id", help_text="The id of a calendar.")


class Feeds(ApiViewSet):
    """The caller's feeds.  Whoever knows the address of one reads it, without a token, until it is revoked."""

    queryset = Feed.objects.none()
    serializer_class = FeedSerializer
    filterset_class = FeedFilter
    lookup_value_converter = "int"

    def get_queryset(self):
        return Feed.objects.filter(owner=self.request.user).order_by("id")

    @extend_schema(operation_id="listFeeds", summary="List your feeds")
    def list(self, request):
        return self.get_paginated_response([rendered_feed(feed) for feed in self.page()])

    @extend_schema(operation_id="readFeed", summary="Read a feed's description")
    def retrieve(self, request, pk):
        return Response(rendered_feed(get_object_or_404(self.get_queryset(), pk=pk)))

    @extend_schema(
        operation_id="createFeed",
        summary="Make a feed",
        description="It has no end, so a token can make one only with the role of owner and without an end of its own.",
        request=FeedRequest,
        responses={201: NewFeedSerializer},
        examples=examples.FEEDS,
    )
    def create(self, request):
        wanted = read(FeedRequest, request.data)
        refuse_escalation(request)
        feed, secret = feeds.make(
            request.user,
            wanted["name"],
            timezone.now(),
            calendar=calendar_of(request, wanted.get("calendarId")),
            query=wanted.get("query"),
        )
        address = reverse("calendar:feed", args=[secret])
        absolute = settings.PUBLIC_URL + address if settings.PUBLIC_URL else request.build_absolute_uri(address)
        document = {**rendered_feed(feed), "address": absolute}
        return created(f"/api/feeds/{feed.pk}", Response(document, headers=NO_STORE))

    @extend_schema(
        operation_id="revokeFeed",
        summary="Revoke a feed",
        description="Its address is refused from then on.",
        responses={204: GONE},
    )
    def destroy(self, request, pk):
        feed = get_object_or_404(self.get_queryset(), pk=pk)
        if highest_role(request) < Role.OPERATOR:
            raise PermissionDenied(f"this takes the role of {Role.OPERATOR.label}")
        feed.delete()
        return Response(status=204)


def refuse_escalation(request) -> None:
    """Raise PermissionDenied where a feed would show more, or for longer, than the token that makes it."""
    own = request.auth
    if isinstance(own, ApiToken) and (own.role < Role.OWNER or own.expires_at is not None):
        raise PermissionDenied("a feed has no end: this takes a token with the role of owner that has none either")


def calendar_of(request, wanted) -> Calendar | None:
    if wanted is None:
        return None
    with naming("calendarId", "must be a calendar that you may see"):
        return require(request, Calendar, pk=wanted)


def rendered_feed(feed: Feed) -> dict[str, Any]:
    return {
        "id": feed.pk,
        "name": feed.name,
        "calendarId": feed.calendar_id,
        "query": None if feed.calendar_id else feeds.filter_of(feed).query(),
        "createdAt": feed.created_at,
        "lastReadAt": feed.last_read_at,
    }
