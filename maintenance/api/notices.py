"""/api/notices: announced maintenance."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import prefetch_related_objects
from django.utils import timezone
from django_filters import FilterSet
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, DictField, IntegerField, UUIDField

from accounts.access import require_role, subscription_for, visible_rows
from accounts.examples import with_example
from accounts.models import Role, Subscription
from api.answers import GIVEN, Answer, Member
from api.fields import Document, FlagField, IdField, InstantField, ListField, TextField, WholeNumberField, WordField
from api.filters import IdFilter, TextFilter, WordFilter
from api.idempotency import IDEMPOTENCY_KEY_OR_MEMBER, idempotency_key, repeatable
from api.viewsets import LOCATION, HistoryViewSet, created
from maintenance import lifecycle
from maintenance.api.fields import NameField
from maintenance.errors import MaintenanceError
from maintenance.models import UNKNOWN_DURATION, EventType, Notice, NoticeResource, Resource
from maintenance.policies import TEXT_LENGTH

FARTHEST_S = int(lifecycle.FARTHEST.total_seconds())
NOTICES_AT_ONCE = 25  # rendered; each may have a thousand resources
NOT_SHOWN_TO_MACHINES = "Not visible to machines."


@with_example(
    {
        "eventType": "Reboot",
        "resources": ["db-2"],
        "notBefore": "2030-01-05T08:00:00Z",
        "notBeforeSeconds": 3600,
        "description": "New kernel",
        "durationInSeconds": 300,
        "eventSource": "User",
        "approveWhenIdle": False,
        "endAfterDuration": True,
        "keepOpen": False,
    }
)
class NoticeChange(Document):
    """The members that can be changed until the notice starts. Machines see these changes immediately."""

    eventType = WordField(EventType.values, help_text="The type of maintenance.")
    resources = ListField(
        child=NameField(),
        min_length=1,
        max_length=lifecycle.RESOURCES_MOST,
        help_text="The names of the affected resources.",
    )
    notBefore = InstantField(
        required=False, help_text=("The earliest start. Default: the usual advance notice for the type.")
    )
    notBeforeSeconds = WholeNumberField(
        required=False,
        min_value=0,
        max_value=FARTHEST_S,
        help_text=("The earliest start in seconds from now. An alternative to notBefore."),
    )
    description = TextField(
        max_length=lifecycle.DESCRIPTION_LENGTH,
        allow_blank=True,
        default="",
        help_text=("A description of the maintenance, for people."),
    )
    durationInSeconds = WholeNumberField(
        default=UNKNOWN_DURATION,
        min_value=UNKNOWN_DURATION,
        max_value=lifecycle.LONGEST_S,
        help_text="The duration of the interruption in seconds; 0: no interruption, -1: unknown.",
    )
    eventSource = WordField(
        Notice.Source.values, default=Notice.Source.PLATFORM.value, help_text=("The source of the notice.")
    )
    approveWhenIdle = FlagField(
        default=False,
        help_text=(
            "Whether the maintenance starts as soon as the last run on its resources has finished. Until then no"
            " run starts. "
        )
        + NOT_SHOWN_TO_MACHINES,
    )
    endAfterDuration = FlagField(
        default=False, help_text="Whether the notice is completed after durationInSeconds. " + NOT_SHOWN_TO_MACHINES
    )
    keepOpen = FlagField(
        default=False,
        help_text=("Whether the notice stays open after the runs that it started have finished. ")
        + NOT_SHOWN_TO_MACHINES,
    )

    def validate(self, wanted):
        if "notBefore" in wanted and "notBeforeSeconds" in wanted:
            raise serializers.ValidationError(
                {"notBeforeSeconds": ("must not be combined with notBefore")}, "not_allowed"
            )
        return wanted


@with_example(
    {"eventStatus": "Scheduled", "subscription": "00000000-0000-0000-0000-000000000001", "key": "kernel-2026-01"}
)
class NoticeRequest(NoticeChange):
    eventStatus = WordField(
        ["Scheduled", "Started"],
        default="Scheduled",
        help_text=("The initial status. Started: the maintenance starts immediately."),
    )
    subscription = IdField(
        required=False,
        help_text=("The subscription. Required if the caller has write access to several subscriptions."),
    )
    key = TextField(
        required=False,
        min_length=1,
        max_length=lifecycle.KEY_LENGTH,
        help_text=(
            "Makes the request idempotent: a repeated request with the same key returns the notice that the first"
            " request created."
        ),
    )

    def validate(self, wanted):
        must_wait = "notBefore" in wanted or "notBeforeSeconds" in wanted or wanted["approveWhenIdle"]
        if wanted["eventStatus"] == "Started" and must_wait:
            message = "with eventStatus Started, notBefore, notBeforeSeconds and approveWhenIdle are not allowed"
            raise serializers.ValidationError({"eventStatus": message}, "not_allowed")
        return super().validate(wanted)


class TransitionSerializer(Answer):
    at = Member(InstantField, "The time of the change, in UTC.", example="2026-01-05T07:00:00Z")
    status = Member(
        CharField,
        "The status after the change.",
        lambda transition: transition.status.capitalize(),
        example="Scheduled",
    )
    actor = Member(CharField, "The user or machine that made the change.", example="ada")
    note = Member(CharField, "A comment on the change.", "detail", example="")
    incarnations = Member(
        DictField,
        "The version numbers of the lists that contained the notice with this status, by resource.",
        child=IntegerField(),
        example={"db-2": 4},
    )


class NoticeSerializer(Answer):
    eventId = Member(
        UUIDField,
        "The id of the notice.",
        lambda notice: str(notice.pk),
        example="c7061bac-afdc-4513-b24b-aa5f13a16123",
    )
    subscription = Member(
        UUIDField, "The id of the subscription.", "subscription_id", example="00000000-0000-0000-0000-000000000001"
    )
    eventType = Member(ChoiceField, "The type of maintenance.", choices=EventType.values, example="Reboot")
    eventStatus = Member(
        ChoiceField,
        "The status of the notice.",
        lambda notice: notice.status.capitalize(),
        choices=["Scheduled", "Started", "Completed", "Cancelled"],
        example="Started",
    )
    resources = Member(
        ListField,
        "The names of the affected resources.",
        lambda notice: [each.name for each in notice.affected_resources.all()],
        child=CharField(),
        example=["db-2"],
    )
    notBefore = Member(InstantField, "The earliest start, in UTC.", example="2026-01-05T08:00:00Z")
    description = Member(CharField, "A description of the maintenance, for people.", example="New kernel")
    durationInSeconds = Member(
        IntegerField,
        "The duration of the interruption in seconds; 0: no interruption, -1: unknown.",
        "duration_s",
        example=300,
    )
    eventSource = Member(
        ChoiceField, "The source of the notice.", "source", choices=Notice.Source.values, example="User"
    )
    approveWhenIdle = Member(
        BooleanField,
        "Whether the maintenance starts as soon as the last run on its resources has finished.",
        example=False,
    )
    endAfterDuration = Member(
        BooleanField, "Whether the notice is completed after durationInSeconds.", "ends_after_duration", example=True
    )
    keepOpen = Member(
        BooleanField,
        "Whether the notice stays open after the runs that it started have finished.",
        "end_manually",
        example=False,
    )
    runningAtStart = Member(
        ListField,
        "The jobs that had active runs at the start.",
        "runs_at_start",
        child=CharField(),
        example=["nightly/collect-orders"],
    )
    announcedAt = Member(InstantField, "The time of the announcement, in UTC.", example="2026-01-05T07:00:00Z")
    startedAt = Member(
        InstantField,
        "The time at which the maintenance started, in UTC; null: it has not started.",
        nullable=True,
        example="2026-01-05T08:00:00Z",
    )
    endsAt = Member(
        InstantField,
        "The actual or expected end, in UTC; null: unknown.",
        nullable=True,
        example="2026-01-05T08:05:00Z",
    )
    endedAt = Member(
        InstantField,
        "The time at which the notice was completed or cancelled, in UTC; null: it is still open.",
        nullable=True,
        example=None,
    )
    history = Member(
        TransitionSerializer,
        "The history of the notice, earliest first.",
        lambda notice: notice.transitions.all(),
        many=True,
    )
    warnings = Member(
        ListField,
        "Warnings about an announcement with less advance notice than usual.",
        GIVEN,
        child=CharField(),
        example=[],
    )


@with_example(
    {
        "eventStatus": "Scheduled",
        "eventType": "Reboot",
        "resource": "db-2",
        "subscription": "00000000-0000-0000-0000-000000000001",
    }
)
class NoticeFilter(FilterSet):
    eventStatus = WordFilter(
        choices=[(each.value.capitalize(), each.label) for each in Notice.Status],
        method="filter_status",
        help_text="Filters by status.",
    )
    eventType = WordFilter(field_name="event_type", choices=EventType.choices, help_text="Filters by type.")
    resource = TextFilter(
        method="filter_resource", max_length=TEXT_LENGTH, help_text="Filters by the name of an affected resource."
    )
    subscription = IdFilter(field_name="subscription", help_text="Filters by the id of the subscription.")

    def filter_resource(self, rows, name, value):
        return rows.filter(pk__in=NoticeResource.objects.filter(name=value).values("notice"))

    def filter_status(self, rows, name, value):
        return rows.filter(status=value.lower())


class Notices(HistoryViewSet):
    """Announced maintenance, and its history."""

    queryset = Notice.objects.order_by("-announced_at", "-id")
    serializer_class = NoticeSerializer
    filterset_class = NoticeFilter
    lookup_value_converter = "uuid"

    @extend_schema(operation_id="listNotices", summary="List notices, newest first")
    def list(self, request):
        return self.list_response(rendered_notices)

    @extend_schema(operation_id="readNotice", summary="Read a notice")
    def retrieve(self, request, pk):
        return Response(rendered_notice(require_role(request, Notice, pk=pk)))

    @extend_schema(
        operation_id="announceNotice",
        summary="Announce maintenance",
        description=(
            "If the idempotency key was used before, the response is 200 with the notice that the first request"
            " created."
        ),
        request=NoticeRequest,
        parameters=[IDEMPOTENCY_KEY_OR_MEMBER, LOCATION],
        responses={200: NoticeSerializer, 201: NoticeSerializer},
        examples=[
            OpenApiExample(
                "A reboot in one hour",
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
        # steps that are due are taken first, because they take locks in an order of their own
        return self._announce(request, self.read(NoticeRequest), self._advance())

    @repeatable(
        lambda view, request, pk, *_: Response(rendered_notice(require_role(request, Notice, pk=pk))),
        id_member="eventId",
        is_member=True,
    )
    def _announce(self, request, wanted: Mapping[str, Any], now: datetime) -> Response:
        subscription = subscription_for(request, wanted.get("subscription"))
        key = idempotency_key(request, wanted.get("key"), lifecycle.KEY_LENGTH)
        announcement = lifecycle.Announcement(
            **announcement_fields(wanted, subscription, now), has_started=wanted["eventStatus"] == "Started"
        )
        notice = lifecycle.announce(subscription, announcement, str(request.user), now, key)
        warning = lifecycle.notice_warning(announcement, now)
        response = Response(rendered_notice(notice, [warning] if warning else []))
        return created(request, f"/api/notices/{notice.pk}", response) if notice.announced_at == now else response

    @extend_schema(
        operation_id="changeNotice",
        summary="Change a notice",
        description=(
            "Members that are omitted keep their values. After the start only endAfterDuration and keepOpen can be"
            " changed. After the end nothing can be changed."
        ),
        request=NoticeChange,
        examples=[
            OpenApiExample(
                "A later start and a longer duration",
                {"notBeforeSeconds": 7200, "durationInSeconds": 600},
                request_only=True,
            )
        ],
    )
    def partial_update(self, request, pk):
        notice = require_role(request, Notice, Role.OPERATOR, pk=pk)
        fixed = {"subscription": notice.subscription_id, "eventStatus": notice.status.capitalize()}
        wanted, now = self.read(NoticeChange, fixed=fixed, partial=True), timezone.now()
        changes = announcement_fields(wanted, notice.subscription, now)
        return Response(rendered_notice(lifecycle.change(notice, changes, str(request.user), now)))

    @extend_schema(operation_id="approveNotice", summary="Approve the start of a notice", request=None)
    @action(detail=True, methods=["post"])
    def approve(self, request, pk):
        now = self._advance()
        notice = require_role(request, Notice, Role.OPERATOR, pk=pk)
        lifecycle.approve([notice], str(request.user), now, user=request.user)
        return Response(rendered_notice(notice))

    @extend_schema(operation_id="completeNotice", summary="Complete a notice that has started", request=None)
    @action(detail=True, methods=["post"])
    def complete(self, request, pk):
        return self._apply(request, pk, lifecycle.complete)

    @extend_schema(operation_id="cancelNotice", summary="Cancel a notice that has not started", request=None)
    @action(detail=True, methods=["post"])
    def cancel(self, request, pk):
        return self._apply(request, pk, lifecycle.cancel)

    def _apply(self, request, pk, change_notice):
        now = self._advance()
        notice = require_role(request, Notice, Role.OPERATOR, pk=pk)
        change_notice(notice, str(request.user), now)
        return Response(rendered_notice(notice))

    def _advance(self) -> datetime:
        """Take the steps of notices that are due, before a notice is changed.  Return the time that was used."""
        now = timezone.now()
        lifecycle.advance(now, visible_rows(self.request, Notice))
        return now


def announcement_fields(wanted: Mapping[str, Any], subscription: Subscription, now: datetime) -> dict[str, Any]:
    """Return the members of a request as fields of an Announcement.  Members that are left out stay left out."""
    members = {name: wanted[member] for name, member in lifecycle.MEMBERS.items() if member in wanted}
    if "notBeforeSeconds" in wanted:
        members["not_before"] = now + timedelta(seconds=wanted["notBeforeSeconds"])
    if "resources" in members:
        members["resources"] = find_resources(subscription, members["resources"])
    return members


def find_resources(subscription: Subscription, names: list[str]) -> list[Resource]:
    """Return the resources in the order of `names`, each once.  Raises MaintenanceError if one does not exist."""
    found = {each.name: each for each in Resource.objects.filter(subscription=subscription, name__in=names)}
    for position, name in enumerate(names):
        if name not in found:
            raise MaintenanceError(
                f"there is no resource {name!r:.80}", path=f"resources[{position}]", code="does_not_exist"
            )
    return [found[name] for name in dict.fromkeys(names)]


def rendered_notices(notices: Sequence[Notice]) -> Iterator[dict[str, Any]]:
    """Yield the documents of notices.  The resources and histories of NOTICES_AT_ONCE are loaded together."""
    for position in range(0, len(notices), NOTICES_AT_ONCE):
        some = notices[position : position + NOTICES_AT_ONCE]
        prefetch_related_objects(some, "affected_resources", "transitions")
        yield from map(rendered_notice, some)


def rendered_notice(notice: Notice, warnings: Sequence[str] = ()) -> dict[str, Any]:
    return NoticeSerializer.render(notice, warnings=list(warnings))
