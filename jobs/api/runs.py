"""Resources at /api/runs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django_filters import FilterSet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.response import Response
from rest_framework.serializers import (
    CharField,
    ChoiceField,
    FloatField,
    IntegerField,
    ListField,
    UUIDField,
    ValidationError,
)

from accounts.access import require_role, visible_rows
from accounts.examples import with_example
from accounts.models import Role, Subscription
from api.answers import GIVEN, Answer, Member
from api.fields import InstantField
from api.filters import IdFilter, InstantFilter, TextFilter, WholeNumberFilter, WordFilter, WordsFilter
from api.viewsets import HistoryViewSet
from jobs.api.holds import RunHoldSerializer
from jobs.cancel import cancel
from jobs.models import Attempt, Poll, Run, RunHold
from jobs.names import NAME_LENGTH


class RunSerializer(Answer):
    id = Member(
        UUIDField,
        "Also the `Idempotency-Key` of the calls that it makes.",
        example="0b9e5c1e-7d1f-4f5c-9a57-8b1d6c2f3e10",
    )
    subscription = Member(
        UUIDField, "The id of its subscription.", "subscription_id", example="00000000-0000-0000-0000-000000000001"
    )
    job = Member(IntegerField, "The id of its job; null when that is gone.", "job_id", nullable=True, example=1)
    jobName = Member(CharField, "The name that its job had when it was made.", example="collect-orders")
    collectionName = Member(
        CharField, "The name that the collection of its job had when it was made.", example="nightly"
    )
    trigger = Member(CharField, "The trigger that it comes from.", "trigger_name", nullable=True, example="default")
    origin = Member(ChoiceField, "What ordered it.", choices=Run.Origin.values, example="schedule")
    parent = Member(UUIDField, "The failed run that an error action follows.", "parent_id", nullable=True, example=None)
    errorRun = Member(
        UUIDField, "The run of its error action, if one follows it.", "error_run__id", nullable=True, example=None
    )
    key = Member(CharField, "The caller's own key of a run by hand.", "manual_key", nullable=True, example=None)
    fireAt = Member(InstantField, "When it is due by its schedule, without jitter.", example="2026-01-05T08:00:00Z")
    startsAt = Member(
        InstantField,
        "When it is meant to start: `fireAt`, and the jitter of its schedule.",
        lambda row: row["starts_at"] or row["fire_at"],
        example="2026-01-05T08:00:00Z",
    )
    occurrence = Member(IntegerField, "Its number among its trigger's, from 1.", nullable=True, example=12)
    state = Member(ChoiceField, "How far it is.", choices=Run.State.values, example="succeeded")
    reason = Member(
        CharField,
        "Why it was not run or what it waits for; of a failed run or attempt, what the last attempt says.",
        GIVEN,
        example="",
    )
    statusCode = Member(
        IntegerField,
        "Of the last HTTP answer to its last attempt, those to polls included; null: there was none.",
        GIVEN,
        nullable=True,
        example=200,
    )
    blockedBy = Member(
        UUIDField,
        "The last run that was still going when the overlap policy skipped this one or let it wait; it may "
        "be forgotten by now.",
        nullable=True,
        example=None,
    )
    missedCount = Member(IntegerField, "Occurrences it stands for; above 1 only when they were missed.", example=1)
    missedUntil = Member(InstantField, "The last of them.", nullable=True, example=None)
    attemptCount = Member(IntegerField, "How many attempts were begun.", example=1)
    nextAttemptAt = Member(
        InstantField,
        "When a failed attempt is followed by the next.",
        lambda row: row["not_before"] if row["state"] == Run.State.RETRYING else None,
        nullable=True,
        example=None,
    )
    nextPollAt = Member(
        InstantField,
        "When the operation that it follows is asked after again.",
        lambda row: row["not_before"] if row["state"] == Run.State.FOLLOWING else None,
        nullable=True,
        example=None,
    )
    createdAt = Member(InstantField, "When it was made.", example="2026-01-05T08:00:00Z")
    startedAt = Member(
        InstantField,
        "When its first attempt began; null: none has.",
        nullable=True,
        example="2026-01-05T08:00:00.250000Z",
    )
    finishedAt = Member(
        InstantField, "When it ended; null: it has not.", nullable=True, example="2026-01-05T08:00:01.500000Z"
    )


class PollSerializer(Answer):
    number = Member(IntegerField, "From 1.", example=1)
    worker = Member(CharField, "The process that made it.", example="host-1:4711")
    startedAt = Member(InstantField, "When it began.", example="2026-01-05T08:00:05Z")
    finishedAt = Member(
        InstantField, "When it ended; null: it has not.", nullable=True, example="2026-01-05T08:00:05.100000Z"
    )
    statusCode = Member(IntegerField, "Of the HTTP answer; null: there was none.", nullable=True, example=200)
    status = Member(CharField, "Of the operation, in the target's word; empty when it was not told.", example="Running")
    percentComplete = Member(
        FloatField,
        "How much of the operation is done; null: the target did not say.",
        "percent",
        nullable=True,
        example=40.0,
    )
    retryAfterInSeconds = Member(
        IntegerField, "How long the target asked to be left alone.", "retry_after_s", nullable=True, example=5
    )
    message = Member(CharField, "What came of it, in words.", example="200 OK")
    responseBody = Member(
        CharField, "Of an answer that ended the operation, or told nothing of it.", "body", example=""
    )


class AttemptSerializer(Answer):
    number = Member(IntegerField, "From 1.", example=1)
    state = Member(ChoiceField, "How far it is.", choices=Attempt.State.values, example="succeeded")
    worker = Member(CharField, "The process that made it.", example="host-1:4711")
    startedAt = Member(InstantField, "When it began.", example="2026-01-05T08:00:00.250000Z")
    finishedAt = Member(
        InstantField, "When it ended; null: it has not.", nullable=True, example="2026-01-05T08:00:01.500000Z"
    )
    statusCode = Member(IntegerField, "Of an HTTP answer.", nullable=True, example=200)
    message = Member(CharField, "What came of it, in words.", example="200 OK")
    responseHeaders = Member(
        ListField,
        "Of an HTTP answer: names and values, in its order.",
        child=ListField(child=CharField()),
        example=[["content-type", "application/json"]],
    )
    responseBody = Member(CharField, "At most its first 2048 bytes.", example='{"state": "collected"}')
    polls = Member(PollSerializer, "Of the operation that it began, if that was followed.", GIVEN, many=True)


class RunDetailSerializer(RunSerializer):
    holds = Member(RunHoldSerializer, "What held it, and from when to when, in this order.", GIVEN, many=True)
    attempts = Member(AttemptSerializer, "Its attempts, the first one first.", GIVEN, many=True)


@with_example(
    {
        "job": 1,
        "trigger": "default",
        "collection": 1,
        "subscription": "00000000-0000-0000-0000-000000000001",
        "state": ["failed", "lost"],
        "origin": "manual",
        "order": "oldest",
        "from": "2026-01-05T08:00:00Z",
        "to": "2026-01-06T08:00:00Z",
    }
)
class RunFilter(FilterSet):
    job = WholeNumberFilter(field_name="job_id", help_text="The id of a job.")
    trigger = TextFilter(
        field_name="trigger_name",
        max_length=NAME_LENGTH,
        help_text="The name that its trigger had when the run was made; needs `job` beside it.",
    )
    collection = WholeNumberFilter(field_name="job__collection_id", help_text="The id of a collection.")
    subscription = IdFilter(help_text="The id of a subscription.")
    state = WordsFilter(choices=Run.State.choices, help_text="One state, or several with commas between.")
    origin = WordFilter(
        choices=Run.Origin.choices,
        help_text="Error actions are listed only with `error_action`: their ids stand at the runs that they follow.",
    )
    order = WordFilter(
        choices=[("newest", "newest first"), ("oldest", "oldest first")],
        method="filter_order",
        help_text="By `fireAt`, `newest` first by default.",
    )

    def filter_queryset(self, queryset: QuerySet) -> QuerySet:
        if self.form.cleaned_data["trigger"] and self.form.cleaned_data["job"] is None:
            raise ValidationError({"trigger": ["needs `job` beside it: its name is one of that job's"]}, "required")
        rows = super().filter_queryset(queryset)
        return rows if self.form.cleaned_data["origin"] else rows.without_error_actions()

    def filter_order(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        return rows.order_by("fire_at", "id") if value == "oldest" else rows


RunFilter.base_filters["from"] = InstantFilter(
    field_name="fire_at", lookup_expr="gte", help_text="Only runs with `fireAt` at or after this instant."
)
RunFilter.base_filters["to"] = InstantFilter(
    field_name="fire_at", lookup_expr="lt", help_text="Only runs with `fireAt` before this instant."
)


class Runs(HistoryViewSet):
    """Executions of jobs: those that ended, that are going on, and that are waiting."""

    queryset = Run.objects.order_by("-fire_at", "-id")
    serializer_class = RunSerializer
    filterset_class = RunFilter
    lookup_value_converter = "uuid"

    def filter_by_subscriptions(self, rows, ids):
        return rows.of_subscriptions(ids)

    def split_by_subscription(self, rows, times=1):
        """Split by state as well: an index has the runs of one state in order, but not the runs of several states."""
        if "job" in self.request.query_params:  # an index has the runs of a job in order
            own = list(visible_rows(self.request, Subscription).values_list("pk", flat=True))
            return [rows.restricted_to_subscriptions(own)]
        states = set(self.request.query_params.get("state", "").split(","))
        parts = super().split_by_subscription(rows, times * len(states))
        return parts if len(states) == 1 else [part.filter(state=state) for part in parts for state in states]

    @extend_schema(operation_id="listRuns", summary="List runs")
    def list(self, request):
        return self.list_response(rendered_runs, *RUN_COLUMNS)

    @extend_schema(operation_id="readRun", summary="Read a run with its attempts", responses=RunDetailSerializer)
    def retrieve(self, request, pk):
        row = get_object_or_404(visible_rows(request, Run).values(*RUN_COLUMNS), pk=pk)
        attempts = Attempt.objects.filter(run=pk).order_by("number").values("id", *AttemptSerializer.columns())
        polls: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for poll in Poll.objects.filter(attempt__run=pk).order_by("number").values(*POLL_COLUMNS):
            polls[poll["attempt_id"]].append(PollSerializer.render(poll))
        holds = RunHold.objects.filter(run=pk).order_by("held_at", "pk")
        return Response(
            RunDetailSerializer.render(
                **rendered_runs([row])[0],
                holds=[RunHoldSerializer.render(hold) for hold in holds],
                attempts=[AttemptSerializer.render(each, polls=polls[each["id"]]) for each in attempts],
            )
        )

    @extend_schema(
        operation_id="cancelRun",
        summary="Cancel a run",
        description="Only a run that waits for a worker or for its next attempt can be cancelled, or that follows an"
        " operation, which goes on.",
        request=None,
    )
    @action(detail=True, methods=["post"])
    def cancel(self, request, pk):
        run = require_role(request, Run, Role.OPERATOR, pk=pk)
        cancel(run, f"cancelled by {request.user.get_username()}", timezone.now())
        return run_response(Run.objects, pk)


EXPLAINED = (Run.State.FAILED, Run.State.LOST, Run.State.RETRYING)  # states whose reason is that of the last attempt
RUN_COLUMNS = (*RunSerializer.columns(), "reason", "starts_at", "not_before")
POLL_COLUMNS = ("attempt_id", *PollSerializer.columns())


class LastAttempt(NamedTuple):
    """The result of a run's last attempt: its message, and the status code of the last answer to it or to a poll."""

    message: str = ""
    status_code: int | None = None


def run_response(runs: QuerySet, pk: object) -> Response:
    return Response(rendered_runs([get_object_or_404(runs.values(*RUN_COLUMNS), pk=pk)])[0])


def rendered_runs(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the documents of runs.  It takes one query for all runs, and none if no run was attempted."""
    last = last_attempts([row["id"] for row in rows if row["attempt_count"]])
    return [rendered_run(row, last.get(row["id"], LastAttempt())) for row in rows]


def last_attempts(run_ids: Sequence[UUID]) -> dict[UUID, LastAttempt]:
    if not run_ids:
        return {}
    answered = Poll.objects.filter(attempt=OuterRef("pk"), status_code__isnull=False).order_by("-number")
    code = Coalesce(Subquery(answered.values("status_code")[:1]), "status_code")
    last = Attempt.objects.filter(run__in=run_ids, number=F("run__attempt_count"))
    return {row[0]: LastAttempt(*row[1:]) for row in last.values_list("run_id", "message", code)}


def rendered_run(row: Mapping[str, Any], last: LastAttempt) -> dict[str, Any]:
    reason = row["reason"] or (last.message if row["state"] in EXPLAINED else "")
    return RunSerializer.render(row, reason=reason, statusCode=last.status_code)
