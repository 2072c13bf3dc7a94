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
NOT_SHOWN_TO_MACHINES = "Machines are not told."


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
    """The members that can be changed until the notice starts.  Machines are shown these changes at once."""

    eventType = WordField(EventType.values, help_text="What is going to be done.")
    resources = ListField(
        child=NameField(),
        min_length=1,
        max_length=lifecycle.RESOURCES_MOST,
        help_text="Names of the resources that it concerns.",
    )
    notBefore = InstantField(required=False, help_text="By default as far ahead as its type is usually announced.")
    notBeforeSeconds = WholeNumberField(
        required=False, min_value=0, max_value=FARTHEST_S, help_text="The same, from now on."
    )
    description = TextField(
        max_length=lifecycle.DESCRIPTION_LENGTH, allow_blank=True, default="", help_text="What is done, for people."
    )
    durationInSeconds = WholeNumberField(
        default=UNKNOWN_DURATION,
        min_value=UNKNOWN_DURATION,
        max_value=lifecycle.LONGEST_S,
        help_text="Of the interruption: 0 for none, -1 for unknown.",
    )
    eventSource = WordField(Notice.Source.values, default=Notice.Source.PLATFORM.value, help_text="Who it comes from.")
    approveWhenIdle = FlagField(
        default=False,
        help_text="It starts when the last run on its resources has ended, and none begins meanwhile. "
        + NOT_SHOWN_TO_MACHINES,
    )
    endAfterDuration = FlagField(
        default=False, help_text="It is completed after durationInSeconds. " + NOT_SHOWN_TO_MACHINES
    )
    keepOpen = FlagField(
        default=False, help_text="It goes on when the work has ended that hangs on its start. " + NOT_SHOWN_TO_MACHINES
    )

    def validate(self, wanted):
        if "notBefore" in wanted and "notBeforeSeconds" in wanted:
            raise serializers.ValidationError({"notBeforeSeconds": "cannot stand beside notBefore"}, "not_allowed")
        return wanted


@with_example(
    {"eventStatus": "Scheduled", "subscription": "00000000-0000-0000-0000-000000000001", "key": "kernel-2026-01"}
)
class NoticeRequest(NoticeChange):
    eventStatus = WordField(["Scheduled", "Started"], default="Scheduled", help_text="Started: it waits for nobody.")
    subscription = IdField(required=False, help_text="Needed by callers who may write to several.")
    key = TextField(
        required=False,
        min_length=1,
        max_length=lifecycle.KEY_LENGTH,
        help_text="Makes the announcement repeatable: the same key answers the notice that it made the first time.",
    )

    def validate(self, wanted):
        must_wait = "notBefore" in wanted or "notBeforeSeconds" in wanted or wanted["approveWhenIdle"]
        if wanted["eventStatus"] == "Started" and must_wait:
            message = "Started waits for nothing: neither notBefore, notBeforeSeconds nor approveWhenIdle goes with it"
            raise serializers.ValidationError({"eventStatus": message}, "not_allowed")
        return super().validate(wanted)


class TransitionSerializer(Answer):
    at = Member(InstantField, "When it happened.", example="2026-01-05T07:00:00Z")
    status = Member(
        CharField, "The status that it got.", lambda transition: transition.status.capitalize(), example="Scheduled"
    )
    actor = Member(CharField, "Who did it.", example="ada")
    note = Member(CharField, "What was said of it.", "detail", example="")
    incarnations = Member(
        DictField,
        "The version numbers of the lists that machines saw it in, by resource.",
        child=IntegerField(),
        example={"db-2": 4},
    )


class NoticeSerializer(Answer):
    eventId = Member(
        UUIDField,
        "The id in its address.",
        lambda notice: str(notice.pk),
        example="c7061bac-afdc-4513-b24b-aa5f13a16123",
    )
    subscription = Member(
        UUIDField, "The id of its subscription.", "subscription_id", example="00000000-0000-0000-0000-000000000001"
    )
    eventType = Member(ChoiceField, "What is going to be done.", choices=EventType.values, example="Reboot")
    eventStatus = Member(
        ChoiceField,
        "How far it is.",
        lambda notice: notice.status.capitalize(),
        choices=["Scheduled", "Started", "Completed", "Cancelled"],
        example="Started",
    )
    resources = Member(
        ListField,
        "Names of the resources that it concerns.",
        lambda notice: [each.name for each in notice.affected_resources.all()],
        child=CharField(),
        example=["db-2"],
    )
    notBefore = Member(InstantField, "When it starts at the earliest.", example="2026-01-05T08:00:00Z")
    description = Member(CharField, "What is done, for people.", example="New kernel")
    durationInSeconds = Member(
        IntegerField, "Of the interruption: 0 for none, -1 for unknown.", "duration_s", example=300
    )
    eventSource = Member(ChoiceField, "Who it comes from.", "source", choices=Notice.Source.values, example="User")
    approveWhenIdle = Member(
        BooleanField, "Whether it starts when the last run on its resources has ended.", example=False
    )
    endAfterDuration = Member(
        BooleanField, "Whether it is completed after durationInSeconds.", "ends_after_duration", example=True
    )
    keepOpen = Member(
        BooleanField,
        "Whether it goes on when the work has ended that hangs on its start.",
        "end_manually",
        example=False,
    )
    runningAtStart = Member(
        ListField,
        "Jobs whose runs were still going when it started.",
        "runs_at_start",
        child=CharField(),
        example=["nightly/collect-orders"],
    )
    announcedAt = Member(InstantField, "When it was announced.", example="2026-01-05T07:00:00Z")
    startedAt = Member(
        InstantField, "When it started; null: it has not.", nullable=True, example="2026-01-05T08:00:00Z"
    )
    endsAt = Member(
        InstantField,
        "When it ended, or is expected to; null: nobody knows.",
        nullable=True,
        example="2026-01-05T08:05:00Z",
    )
    endedAt = Member(InstantField, "When it was completed or cancelled; null: it was not.", nullable=True, example=None)
    history = Member(
        TransitionSerializer, "What happened to it, earliest first.", lambda notice: notice.transitions.all(), many=True
    )
    warnings = Member(
        ListField, "Of an announcement that gives less notice than is usual.", GIVEN, child=CharField(), example=[]
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
        help_text="Only those with this status.",
    )
    eventType = WordFilter(field_name="event_type", choices=EventType.choices, help_text="Only those of this type.")
    resource = TextFilter(
        method="filter_resource", max_length=TEXT_LENGTH, help_text="Only those that concern the resource of this name."
    )
    subscription = IdFilter(field_name="subscription", help_text="The id of a subscription.")

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
        description="With a key, 200 answers the notice that the key made before.",
        request=NoticeRequest,
        parameters=[IDEMPOTENCY_KEY_OR_MEMBER, LOCATION],
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
        summary="Change what is announced",
        description="Members that are left out stay.  Of one that has started only endAfterDuration and keepOpen can "
        "be changed, of one that is over nothing.",
        request=NoticeChange,
        examples=[
            OpenApiExample(
                "Later, and for longer", {"notBeforeSeconds": 7200, "durationInSeconds": 600}, request_only=True
            )
        ],
    )
    def partial_update(self, request, pk):
        notice = require_role(request, Notice, Role.OPERATOR, pk=pk)
        fixed = {"subscription": notice.subscription_id, "eventStatus": notice.status.capitalize()}
        wanted, now = self.read(NoticeChange, fixed=fixed, partial=True), timezone.now()
        changes = announcement_fields(wanted, notice.subscription, now)
        return Response(rendered_notice(lifecycle.change(notice, changes, str(request.user), now)))

    @extend_schema(operation_id="approveNotice", summary="Let a notice start now", request=None)
    @action(detail=True, methods=["post"])
    def approve(self, request, pk):
        now = self._advance()
        notice = require_role(request, Notice, Role.OPERATOR, pk=pk)
        lifecycle.approve([notice], str(request.user), now, user=request.user)
        return Response(rendered_notice(notice))

    @extend_schema(operation_id="completeNotice", summary="End a notice that has started", request=None)
    @action(detail=True, methods=["post"])
    def complete(self, request, pk):
        return self._apply(request, pk, lifecycle.complete)

    @extend_schema(operation_id="cancelNotice", summary="Withdraw a notice that has not started", request=None)
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
