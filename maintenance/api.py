"""/api/resources, /api/notices, and what a job does about maintenance."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef
from django.http import Http404
from django.urls import include, path
from django.utils import timezone
from django_filters import CharFilter, ChoiceFilter, FilterSet, UUIDFilter
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter
from rest_framework.views import APIView
from rest_framework.viewsets import GenericViewSet

from accounts.access import require, visible
from accounts.fields import FlagField, InstantField, TextField, WholeNumberField, WordField, read
from accounts.models import Role, Subscription
from jobs.api.answers import GONE, created
from jobs.api.fields import DurationField
from jobs.models import Job
from maintenance import heeding, lifecycle, registering
from maintenance.errors import MaintenanceError
from maintenance.models import UNKNOWN_DURATION, Affected, EventType, Heed, Notice, Resource
from maintenance.wishes import LABELS_MOST, RESOURCES_MOST, TEXT_LENGTH

NAME_LENGTH = TEXT_LENGTH
FARTHEST_S = int(lifecycle.FARTHEST.total_seconds())
QUIETLY = "Machines are not told."


class LabelsField(serializers.DictField):
    child = TextField(max_length=TEXT_LENGTH, allow_blank=True)


class ResourceReplacement(serializers.Serializer):
    scopeGroup = TextField(
        max_length=NAME_LENGTH,
        allow_blank=True,
        default="",
        help_text="Resources of one group see each other's notices; without one it is its own.",
    )
    labels = LabelsField(default=dict, help_text=f"At most {LABELS_MOST}.")


class ResourceRequest(ResourceReplacement):
    name = TextField(min_length=1, max_length=NAME_LENGTH, help_text="As clients compare it, with case.")
    subscription = serializers.UUIDField(required=False, help_text="Needed by callers who may write to several.")


class ResourceSerializer(serializers.Serializer):
    id = serializers.IntegerField()
    subscription = serializers.UUIDField()
    name = serializers.CharField()
    scopeGroup = serializers.CharField()
    labels = LabelsField()
    lastSeenAt = InstantField(allow_null=True, help_text="When it last polled.")
    listening = serializers.BooleanField(help_text="Whether it has polled within the last day.")
    createdAt = InstantField()


class NewResourceSerializer(ResourceSerializer):
    token = serializers.CharField(help_text="Shown this once.")


class ResourceTokenSerializer(serializers.Serializer):
    token = serializers.CharField(help_text="Shown this once.")


class ResourceFilter(FilterSet):
    name = CharFilter(max_length=NAME_LENGTH)
    scopeGroup = CharFilter(field_name="scope_group", max_length=NAME_LENGTH)
    subscription = UUIDFilter(field_name="subscription")

    class Meta:
        model = Resource
        fields: list[str] = []


class Resources(GenericViewSet):
    """Machines and services to which maintenance is announced."""

    queryset = Resource.objects.none()
    serializer_class = ResourceSerializer
    filterset_class = ResourceFilter
    lookup_value_converter = "int"

    def get_queryset(self):
        return visible(self.request, Resource).order_by("id")

    @extend_schema(operation_id="listResources", summary="List resources")
    def list(self, request):
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response([rendered_resource(row) for row in page])

    @extend_schema(operation_id="readResource", summary="Read a resource")
    def retrieve(self, request, pk):
        return Response(rendered_resource(require(request, Resource, pk=pk)))

    @extend_schema(
        operation_id="createResource",
        summary="Create a resource",
        description="The answer has the token with which it polls, this once.",
        request=ResourceRequest,
        responses={201: NewResourceSerializer},
        examples=[
            OpenApiExample(
                "A database",
                {"name": "db-2", "scopeGroup": "databases", "labels": {"rack": "r7"}},
                request_only=True,
            )
        ],
    )
    def create(self, request):
        wanted = read(ResourceRequest, request.data)
        subscription = subscription_for(request, wanted.get("subscription"))
        resource, token = registering.register(
            subscription, wanted["name"], wanted["scopeGroup"], wanted["labels"], timezone.now()
        )
        return created(f"/api/resources/{resource.pk}", {**rendered_resource(resource), "token": token})

    @extend_schema(operation_id="patchResource", summary="Change a resource", request=ResourceReplacement)
    def partial_update(self, request, pk):
        resource = require(request, Resource, Role.OPERATOR, pk=pk)
        wanted = read(ResourceReplacement, request.data, partial=True)
        names = {"scopeGroup": "scope_group", "labels": "labels"}
        changes = {names[member]: value for member, value in wanted.items()}
        return Response(rendered_resource(registering.change(resource, **changes)))

    @extend_schema(operation_id="deleteResource", summary="Delete a resource", responses={204: GONE})
    def destroy(self, request, pk):
        registering.remove(require(request, Resource, Role.OPERATOR, pk=pk))
        return Response(status=204)

    @extend_schema(
        operation_id="renewResourceToken",
        summary="Give a resource a new token",
        description="The one before is worth nothing from then on.",
        request=None,
        responses={201: ResourceTokenSerializer},
    )
    @action(detail=True, methods=["post"])
    def token(self, request, pk):
        return Response({"token": registering.new_token(require(request, Resource, Role.OPERATOR, pk=pk))}, 201)


def rendered_resource(resource: Resource) -> dict[str, Any]:
    return {
        "id": resource.pk,
        "subscription": resource.subscription_id,
        "name": resource.name,
        "scopeGroup": resource.scope_group,
        "labels": resource.labels,
        "lastSeenAt": resource.last_seen_at,
        "listening": resource.is_listening(timezone.now()),
        "createdAt": resource.created_at,
    }


# Notices


class NoticeChange(serializers.Serializer):
    """The members that can be changed while it is announced; of those, machines are told at once."""

    eventType = WordField(EventType.values)
    resources = serializers.ListField(
        child=TextField(min_length=1, max_length=NAME_LENGTH), min_length=1, max_length=lifecycle.RESOURCES_MOST
    )
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
    resource = CharFilter(method="filter_resource", max_length=NAME_LENGTH)
    subscription = UUIDFilter(field_name="subscription")

    class Meta:
        model = Notice
        fields: list[str] = []

    def filter_resource(self, rows, name, value):
        return rows.filter(Exists(Affected.objects.filter(notice=OuterRef("pk"), name=value)))

    def filter_status(self, rows, name, value):
        return rows.filter(status=value.lower())


class Notices(GenericViewSet):
    """Announced maintenance, and what became of it."""

    queryset = Notice.objects.none()
    serializer_class = NoticeSerializer
    filterset_class = NoticeFilter
    lookup_value_converter = "uuid"

    def get_queryset(self):
        rows = visible(self.request, Notice).prefetch_related("affected", "transitions")
        return rows.order_by("-announced_at", "-id")

    @extend_schema(operation_id="listNotices", summary="List notices, newest first")
    def list(self, request):
        self._brought_up_to_date()
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()))
        return self.get_paginated_response([rendered_notice(row) for row in page])

    @extend_schema(operation_id="readNotice", summary="Read a notice")
    def retrieve(self, request, pk):
        self._brought_up_to_date()
        return Response(rendered_notice(require(request, Notice, pk=pk)))

    @extend_schema(
        operation_id="announceNotice",
        summary="Announce maintenance",
        request=NoticeRequest,
        responses={201: NoticeSerializer},
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
        wanted, now = read(NoticeRequest, request.data), timezone.now()
        subscription = subscription_for(request, wanted.get("subscription"))
        announcement = lifecycle.Announcement(
            **announced(wanted, subscription, now), has_started=wanted["eventStatus"] == "Started"
        )
        notice = lifecycle.announce(subscription, announcement, str(request.user), now)
        warning = lifecycle.shorter_than_usual(announcement, now)
        return created(f"/api/notices/{notice.pk}", rendered_notice(notice, [warning] if warning else []))

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


def subscription_for(request, wanted) -> Subscription:
    """The subscription to write to: the one that is named, or the only one that the caller may write to."""
    if wanted is not None:
        try:
            return require(request, Subscription, Role.OPERATOR, pk=wanted)
        except Http404:
            raise MaintenanceError(
                "no subscription that you may see", path="subscription", code="does_not_exist"
            ) from None
    own = list(visible(request, Subscription, Role.OPERATOR)[:2])
    if len(own) == 1:
        return own[0]
    if not own:
        raise PermissionDenied(f"this takes the role of {Role.OPERATOR.label} in a subscription")
    raise MaintenanceError("is required: you may write to more than one", path="subscription", code="required")


# Jobs


class HeedSerializer(serializers.Serializer):
    resources = serializers.ListField(
        child=TextField(min_length=1, max_length=NAME_LENGTH),
        default=list,
        max_length=RESOURCES_MOST,
        help_text="Names of resources whose maintenance concerns the job.",
    )
    labels = LabelsField(default=dict, help_text="Also every resource that has all of these.")
    during = WordField(
        Heed.During.values, default="nothing", help_text="hold: what is due from the lead time until the end waits."
    )
    after = WordField(["runOnce", "drop"], default="runOnce", help_text="What becomes of what was held.")
    lead = DurationField(default=timedelta(0), help_text="How long before not-before holding begins, up to a week.")
    runOn = serializers.ListField(
        child=WordField(heeding.STEPS),
        default=list,
        max_length=len(heeding.STEPS),
        help_text="The steps of a notice that order a run, each once.",
    )


AFTER = {"runOnce": Heed.After.RUN_ONCE, "drop": Heed.After.DROP}
AFTER_WORDS = {value.value: word for word, value in AFTER.items()}


class HeedOfJob(APIView):
    """What a job does about maintenance."""

    @extend_schema(operation_id="readJobMaintenance", summary="Read what a job does", responses=HeedSerializer)
    def get(self, request, pk):
        heed = Heed.objects.filter(job=require(request, Job, pk=pk)).first()
        return Response(rendered_heed(heed or Heed()))

    @extend_schema(
        operation_id="replaceJobMaintenance",
        summary="Say what a job does about maintenance",
        request=HeedSerializer,
        responses=HeedSerializer,
    )
    def put(self, request, pk):
        job = require(request, Job, Role.OPERATOR, pk=pk)
        wanted = read(HeedSerializer, request.data)
        wish = heeding.Wish(
            resource_names=wanted["resources"],
            labels=wanted["labels"],
            during=wanted["during"],
            after=AFTER[wanted["after"]],
            lead=wanted["lead"],
            run_on=wanted["runOn"],
        )
        return Response(rendered_heed(heeding.heed(job, wish, timezone.now())))

    @extend_schema(operation_id="deleteJobMaintenance", summary="Let a job do nothing", responses={204: GONE})
    def delete(self, request, pk):
        heeding.ignore(require(request, Job, Role.OPERATOR, pk=pk), timezone.now())
        return Response(status=204)


def rendered_heed(heed: Heed) -> dict[str, Any]:
    return {
        "resources": heed.resource_names,
        "labels": heed.labels,
        "during": heed.during,
        "after": AFTER_WORDS[heed.after],
        "lead": DurationField().to_representation(heed.lead),
        "runOn": heed.run_on,
    }


router = SimpleRouter(trailing_slash=False, use_regex_path=False)
router.register("resources", Resources, basename="resource")
router.register("notices", Notices, basename="notice")

urlpatterns = [
    path("", include(router.urls)),
    path("jobs/<int:pk>/maintenance", HeedOfJob.as_view(), name="job-maintenance"),
]
