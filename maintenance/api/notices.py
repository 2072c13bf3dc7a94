"""/api/notices"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django_filters import CharFilter, ChoiceFilter, FilterSet, UUIDFilter
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.response import Response

from accounts.access import require, subscription_for, visible
from accounts.fields import FlagField, InstantField, TextField, WholeNumberField, WordField, read
from accounts.keys import IDEMPOTENCY_KEY, key_of
from accounts.models import Role, Subscription
from accounts.viewsets import HistoryViewSet, created
from maintenance import lifecycle
from maintenance.api.fields import NameField
from maintenance.errors import MaintenanceError
from maintenance.models import UNKNOWN_DURATION, Affected, EventType, Notice, Resource
from maintenance.wishes import TEXT_LENGTH

FARTHEST_S = int(lifecycle.FARTHEST.total_seconds())
QUIETLY = "Machines are not told."


class NoticeChange(serializers.Serializer):
    """The members that can be changed while it is announced; of those, machines are told at once."""

    eventType = WordField(EventType.values)
    resources = serializers.ListField(child=NameField(), min_length=1, max_length=lifecycle.RESOURCES_MOST)
    notBefore = InstantField(required=False, help_text="By default as far ahead as its type is usually announced.")
    notBeforeSeconds = WholeNumberField(
        required=False, min_value=0, max_value=FARTHEST_S, help_text="The same, from now on."
    )
    description = TextField(max_length=lifecycle.DESCRIPTION_LENGTH, allow_blank=True, default="")
    durationInSeconds = WholeNumberField(
        default=UNKNOWN_DURATION,
        min_value=UNKNOWN_DURATION,
        max_value=lifecycle.LONGEST_S,
        help_text="Of the interruption: 0 for none, -1 for unknown.",
    )
    eventSource = WordField(Notice.Source.values, default=Notice.Source.PLATFORM.value)
    approveWhenIdle = FlagField(
        default=False,
        help_text="It starts when the last run on its resources has ended, and none begins meanwhile. " + QUIETLY,
    )
    endAfterDuration = FlagField(default=False, help_text="It is completed after durationInSeconds. " + QUIETLY)
    keepOpen = FlagField(
        default=False, help_text="It goes on when the work has ended that hangs on its start. " + QUIETLY
    )

    def validate(self, wanted):
        if "notBefore" in wanted and "notBeforeSeconds" in wanted:
            raise serializers.ValidationError({"notBeforeSeconds": "cannot stand beside notBefore"}, "not_allowed")
        return wanted


class NoticeRequest(NoticeChange):
    eventStatus = WordField(["Scheduled", "Started"], default="Scheduled", help_text="Started: it waits for nobody.")
    subscription = serializers.UUIDField(required=False, help_text="Needed by callers who may write to several.")
    key = TextField(
        required=False,
        min_length=1,
        max_length=lifecycle.KEY_LENGTH,
        help_text="Makes the announcement repeatable: the same key answers the notice that it made the first time.",
    )

    def validate(self, wanted):
        waits = "notBefore" in wanted or "notBeforeSeconds" in wanted or wanted["approveWhenIdle"]
        if wanted["eventStatus"] == "Started" and waits:
            message = "Started waits for nothing: neither notBefore, notBeforeSeconds nor approveWhenIdle goes with it"
            raise serializers.ValidationError({"eventStatus": message}, "not_allowed")
        return super().validate(wanted)


class TransitionSerializer(serializers.Serializer):
    at = InstantField()
    status = serializers.CharField()
    actor = serializers.CharField()
    note = serializers.CharField()
    incarnations = serializers.DictField(child=serializers.IntegerField())


class NoticeSerializer(serializers.Serializer):
    eventId = serializers.UUIDField()
    subscription = serializers.UUIDField()
    eventType = serializers.ChoiceField(EventType.values)
    eventStatus = serializers.ChoiceField(["Scheduled", "Started", "Completed", "Cancelled"])
    resources = serializers.ListField(child=serializers.CharField())
    notBefore = InstantField()
    description = serializers.CharField()
    durationInSeconds = serializers.IntegerField()
    eventSource = serializers.ChoiceField(Notice.Source.values)
    approveWhenIdle = serializers.BooleanField()
    endAfterDuration = serializers.BooleanField()
    keepOpen = serializers.BooleanField()
    runningAtStart = serializers.ListField(
        child=serializers.CharField(), help_text="Jobs whose runs were still going when it started."
    )
    announcedAt = InstantField()
    startedAt = InstantField(allow_null=True)
    endsAt = InstantField(allow_null=True, help_text="When it ended, or is expected to; null: nobody knows.")
    endedAt = InstantField(allow_null=True)
    history = TransitionSerializer(many=True)
    warnings = serializers.ListField(
        child=serializers.CharField(), help_text="Of an announcement that gives less notice than is usual."
    )


class NoticeFilter(FilterSet):
    eventStatus = ChoiceFilter(
        choices=[(each.value.capitalize(), each.label) for each in Notice.Status], method="filter_status"
    )
    eventType = ChoiceFilter(field_name="event_type", choices=EventType.choices)
    resource = CharFilter(method="filter_resource", max_length=TEXT_LENGTH)
    subscription = UUIDFilter(field_name="subscription")

    def filter_resource(self, rows, name, value):
        return rows.filter(pk__in=Affected.objects.filter(name=value).values("notice"))

    def filter_status(self, rows, name, value):
        return rows.filter(status=value.lower())


class Notices(HistoryViewSet):
    """Announced maintenance, and what became of it."""

    queryset = Notice.objects.prefetch_related("affected", "transitions").order_by("-announced_at", "-id")
    serializer_class = NoticeSerializer
    filterset_class = NoticeFilter
    lookup_value_converter = "uuid"

    @extend_schema(operation_id="listNotices", summary="List notices, newest first")
    def list(self, request):
        self._brought_up_to_date()
        return self.get_paginated_response([rendered_notice(row) for row in self.page()])

    @extend_schema(operation_id="readNotice", summary="Read a notice")
    def retrieve(self, request, pk):
        self._brought_up_to_date()
        return Response(rendered_notice(require(request, Notice, pk=pk)))

    @extend_schema(
        operation_id="announceNotice",
        summary="Announce maintenance",
        description="With a key, 200 answers the notice that the key made before.",
        request=NoticeRequest,
        parameters=[IDEMPOTENCY_KEY],
        responses={200: NoticeSerializer, 201: NoticeSerializer},
        examples=[
            OpenApiExample(
                "A reboot in an hour",
                {
                    "eventType": "Reboot",
                    "resources": ["db-2"],
                    "notBeforeSeconds": 3600,
                    "description": "New kernel",
                    "durationInSeconds": 300,
                },
                request_only=True,
            )
        ],
    )
    def create(self, request):
        wanted, now = read(NoticeRequest, request.data), self._brought_up_to_date()
        subscription = subscription_for(request, wanted.get("subscription"))
        key = key_of(request, wanted.get("key"), lifecycle.KEY_LENGTH)
        announcement = lifecycle.Announcement(
            **announced(wanted, subscription, now), has_started=wanted["eventStatus"] == "Started"
        )
        notice = lifecycle.announce(subscription, announcement, str(request.user), now, key)
        warning = lifecycle.shorter_than_usual(announcement, now)
        told = Response(rendered_notice(notice, [warning] if warning else []))
        return created(f"/api/notices/{notice.pk}", told) if notice.announced_at == now else told

    @extend_schema(
        operation_id="changeNotice",
        summary="Change what is announced",
        description="Members that are left out stay.  Of one that has started only endAfterDuration and keepOpen can "
        "be changed, of one that is over nothing.",
        request=NoticeChange,
    )
    def partial_update(self, request, pk):
        notice = require(request, Notice, Role.OPERATOR, pk=pk)
        wanted, now = read(NoticeChange, request.data, partial=True), timezone.now()
        changes = announced(wanted, notice.subscription, now)
        return Response(rendered_notice(lifecycle.change(notice, changes, str(request.user), now)))

    @extend_schema(operation_id="approveNotice", summary="Let a notice start now", request=None)
    @action(detail=True, methods=["post"])
    def approve(self, request, pk):
        now = self._brought_up_to_date()
        notice = require(request, Notice, Role.OPERATOR, pk=pk)
        lifecycle.approve([notice], str(request.user), now, user=request.user)
        return Response(rendered_notice(notice))

    @extend_schema(operation_id="completeNotice", summary="End a notice that has started", request=None)
    @action(detail=True, methods=["post"])
    def complete(self, request, pk):
        return self._moved(request, pk, lifecycle.complete)

    @extend_schema(operation_id="cancelNotice", summary="Withdraw a notice that has not started", request=None)
    @action(detail=True, methods=["post"])
    def cancel(self, request, pk):
        return self._moved(request, pk, lifecycle.cancel)

    def _moved(self, request, pk, move):
        now = self._brought_up_to_date()
        notice = require(request, Notice, Role.OPERATOR, pk=pk)
        move(notice, str(request.user), now)
        return Response(rendered_notice(notice))

    def _brought_up_to_date(self) -> datetime:
        """Let what is due start before anybody is told of it or moves it; return the moment at which."""
        now = timezone.now()
        lifecycle.advance(now, visible(self.request, Notice))
        return now


def announced(wanted: Mapping[str, Any], subscription: Subscription, now: datetime) -> dict[str, Any]:
    """The members of a request as those of an Announcement; what is left out is left out here."""
    members = {name: wanted[member] for name, member in lifecycle.MEMBERS.items() if member in wanted}
    if "notBeforeSeconds" in wanted:
        members["not_before"] = now + timedelta(seconds=wanted["notBeforeSeconds"])
    if "resources" in members:
        members["resources"] = resources_named(subscription, members["resources"])
    return members


def resources_named(subscription: Subscription, names: list[str]) -> list[Resource]:
    """In the order in which they are named, each once.  Raises MaintenanceError for one that is not there."""
    found = {each.name: each for each in Resource.objects.filter(subscription=subscription, name__in=names)}
    for position, name in enumerate(names):
        if name not in found:
            raise MaintenanceError(
                f"there is no resource {name!r:.80}", path=f"resources[{position}]", code="does_not_exist"
            )
    return [found[name] for name in dict.fromkeys(names)]


def rendered_notice(notice: Notice, warnings: list[str] | None = None) -> dict[str, Any]:
    return {
        "eventId": str(notice.pk),
        "subscription": notice.subscription_id,
        "eventType": notice.event_type,
        "eventStatus": notice.status.capitalize(),
        "resources": [each.name for each in notice.affected.all()],
        "notBefore": notice.not_before,
        "description": notice.description,
        "durationInSeconds": notice.duration_s,
        "eventSource": notice.source,
        "approveWhenIdle": notice.approve_when_idle,
        "endAfterDuration": notice.ends_after_duration,
        "keepOpen": notice.keep_open,
        "runningAtStart": notice.running_at_start,
        "announcedAt": notice.announced_at,
        "startedAt": notice.started_at,
        "endsAt": notice.ends_at,
        "endedAt": notice.ended_at,
        "history": [
            {
                "at": each.at,
                "status": each.status.capitalize(),
                "actor": each.actor,
                "note": each.note,
                "incarnations": each.incarnations,
            }
            for each in notice.transitions.all()
        ],
        "warnings": warnings or [],
    }
