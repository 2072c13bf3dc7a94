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
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.response import Response
from rest_framework.serializers import ValidationError

from accounts.access import require_role, visible_rows
from accounts.examples import with_example
from accounts.models import Role, Subscription
from api.fields import InstantField
from api.filters import IdFilter, InstantFilter, TextFilter, WholeNumberFilter, WordFilter, WordsFilter
from api.viewsets import HistoryViewSet
from jobs.api.holds import RunHoldSerializer, rendered_run_hold
from jobs.cancel import cancel
from jobs.models import Attempt, Poll, Run, RunHold
from jobs.names import NAME_LENGTH


@with_example(
    {
        "id": "0b9e5c1e-7d1f-4f5c-9a57-8b1d6c2f3e10",
        "subscription": "00000000-0000-0000-0000-000000000001",
        "job": 1,
        "jobName": "collect-orders",
        "collectionName": "nightly",
        "trigger": "default",
        "origin": "schedule",
        "parent": None,
        "errorRun": None,
        "key": None,
        "fireAt": "2026-01-05T08:00:00Z",
        "startsAt": "2026-01-05T08:00:00Z",
        "occurrence": 12,
        "state": "succeeded",
        "reason": "",
        "statusCode": 200,
        "blockedBy": None,
        "missedCount": 1,
        "missedUntil": None,
        "attemptCount": 1,
        "nextAttemptAt": None,
        "nextPollAt": None,
        "createdAt": "2026-01-05T08:00:00Z",
        "startedAt": "2026-01-05T08:00:00.250000Z",
        "finishedAt": "2026-01-05T08:00:01.500000Z",
    }
)
class RunSerializer(serializers.Serializer):
    id = serializers.UUIDField(help_text="Also the `Idempotency-Key` of the calls that it makes.")
    subscription = serializers.UUIDField(help_text="The id of its subscription.")
    job = serializers.IntegerField(allow_null=True, help_text="The id of its job; null when that is gone.")
    jobName = serializers.CharField(help_text="The name that its job had when it was made.")
    collectionName = serializers.CharField(help_text="The name that the collection of its job had when it was made.")
    trigger = serializers.CharField(allow_null=True, help_text="The trigger that it comes from.")
    origin = serializers.ChoiceField(Run.Origin.values, help_text="What ordered it.")
    parent = serializers.UUIDField(allow_null=True, help_text="The failed run that an error action follows.")
    errorRun = serializers.UUIDField(allow_null=True, help_text="The run of its error action, if one follows it.")
    key = serializers.CharField(allow_null=True, help_text="The caller's own key of a run by hand.")
    fireAt = InstantField(help_text="When it is due by its schedule, without jitter.")
    startsAt = InstantField(help_text="When it is meant to start: `fireAt`, and the jitter of its schedule.")
    occurrence = serializers.IntegerField(allow_null=True, help_text="Its number among its trigger's, from 1.")
    state = serializers.ChoiceField(Run.State.values, help_text="How far it is.")
    reason = serializers.CharField(
        help_text="Why it was not run or what it waits for; of a failed run or attempt, what the last attempt says."
    )
    statusCode = serializers.IntegerField(
        allow_null=True,
        help_text="Of the last HTTP answer to its last attempt, those to polls included; null: there was none.",
    )
    blockedBy = serializers.UUIDField(
        allow_null=True,
        help_text="The last run that was still going when the overlap policy skipped this one or let it wait; it may "
        "be forgotten by now.",
    )
    missedCount = serializers.IntegerField(help_text="Occurrences it stands for; above 1 only when they were missed.")
    missedUntil = InstantField(allow_null=True, help_text="The last of them.")
    attemptCount = serializers.IntegerField(help_text="How many attempts were begun.")
    nextAttemptAt = InstantField(allow_null=True, help_text="When a failed attempt is followed by the next.")
    nextPollAt = InstantField(allow_null=True, help_text="When the operation that it follows is asked after again.")
    createdAt = InstantField(help_text="When it was made.")
    startedAt = InstantField(allow_null=True, help_text="When its first attempt began; null: none has.")
    finishedAt = InstantField(allow_null=True, help_text="When it ended; null: it has not.")


@with_example(
    {
        "number": 1,
        "worker": "host-1:4711",
        "startedAt": "2026-01-05T08:00:05Z",
        "finishedAt": "2026-01-05T08:00:05.100000Z",
        "statusCode": 200,
        "status": "Running",
        "percentComplete": 40.0,
        "retryAfterInSeconds": 5,
        "message": "200 OK",
        "responseBody": "",
    }
)
class PollSerializer(serializers.Serializer):
    number = serializers.IntegerField(help_text="From 1.")
    worker = serializers.CharField(help_text="The process that made it.")
    startedAt = InstantField(help_text="When it began.")
    finishedAt = InstantField(allow_null=True, help_text="When it ended; null: it has not.")
    statusCode = serializers.IntegerField(allow_null=True, help_text="Of the HTTP answer; null: there was none.")
    status = serializers.CharField(help_text="Of the operation, in the target's word; empty when it was not told.")
    percentComplete = serializers.FloatField(
        allow_null=True, help_text="How much of the operation is done; null: the target did not say."
    )
    retryAfterInSeconds = serializers.IntegerField(
        allow_null=True, help_text="How long the target asked to be left alone."
    )
    message = serializers.CharField(help_text="What came of it, in words.")
    responseBody = serializers.CharField(help_text="Of an answer that ended the operation, or told nothing of it.")


@with_example(
    {
        "number": 1,
        "state": "succeeded",
        "worker": "host-1:4711",
        "startedAt": "2026-01-05T08:00:00.250000Z",
        "finishedAt": "2026-01-05T08:00:01.500000Z",
        "statusCode": 200,
        "message": "200 OK",
        "responseHeaders": [["content-type", "application/json"]],
        "responseBody": '{"state": "collected"}',
    }
)
class AttemptSerializer(serializers.Serializer):
    number = serializers.IntegerField(help_text="From 1.")
    state = serializers.ChoiceField(Attempt.State.values, help_text="How far it is.")
    worker = serializers.CharField(help_text="The process that made it.")
    startedAt = InstantField(help_text="When it began.")
    finishedAt = InstantField(allow_null=True, help_text="When it ended; null: it has not.")
    statusCode = serializers.IntegerField(allow_null=True, help_text="Of an HTTP answer.")
    message = serializers.CharField(help_text="What came of it, in words.")
    responseHeaders = serializers.ListField(
        child=serializers.ListField(child=serializers.CharField()),
        help_text="Of an HTTP answer: names and values, in its order.",
    )
    responseBody = serializers.CharField(help_text="At most its first 2048 bytes.")
    polls = PollSerializer(many=True, help_text="Of the operation that it began, if that was followed.")


class RunDetailSerializer(RunSerializer):
    holds = RunHoldSerializer(many=True, help_text="What held it, and from when to when, in this order.")
    attempts = AttemptSerializer(many=True, help_text="Its attempts, the first one first.")


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
        attempts = Attempt.objects.filter(run=pk).order_by("number").values(*ATTEMPT_COLUMNS)
        polls: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for poll in Poll.objects.filter(attempt__run=pk).order_by("number").values(*POLL_COLUMNS):
            polls[poll["attempt_id"]].append(rendered_poll(poll))
        return Response(
            {
                **rendered_runs([row])[0],
                "holds": [rendered_run_hold(hold) for hold in RunHold.objects.filter(run=pk).order_by("held_at", "pk")],
                "attempts": [rendered_attempt(attempt, polls[attempt["id"]]) for attempt in attempts],
            }
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
RUN_COLUMNS = (
    *("id", "subscription_id", "job_id", "job_name", "collection_name", "trigger_name", "origin", "parent_id"),
    "error_run__id",
    *(
        "manual_key",
        "fire_at",
        "starts_at",
        "occurrence",
        "state",
        "reason",
        "blocked_by",
        "missed_count",
        "missed_until",
    ),
    *("attempt_count", "not_before", "created_at", "started_at", "finished_at"),
)
ATTEMPT_COLUMNS = (
    *("id", "number", "state", "worker", "started_at", "finished_at", "status_code", "message"),
    *("response_headers", "response_body"),
)
POLL_COLUMNS = (
    *("attempt_id", "number", "worker", "started_at", "finished_at", "status_code", "status", "percent"),
    *("retry_after_s", "message", "body"),
)


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
    return {
        "id": row["id"],
        "subscription": row["subscription_id"],
        "job": row["job_id"],
        "jobName": row["job_name"],
        "collectionName": row["collection_name"],
        "trigger": row["trigger_name"],
        "origin": row["origin"],
        "parent": row["parent_id"],
        "errorRun": row["error_run__id"],
        "key": row["manual_key"],
        "fireAt": row["fire_at"],
        "startsAt": row["starts_at"] or row["fire_at"],
        "occurrence": row["occurrence"],
        "state": row["state"],
        "reason": row["reason"] or (last.message if row["state"] in EXPLAINED else ""),
        "statusCode": last.status_code,
        "blockedBy": row["blocked_by"],
        "missedCount": row["missed_count"],
        "missedUntil": row["missed_until"],
        "attemptCount": row["attempt_count"],
        "nextAttemptAt": row["not_before"] if row["state"] == Run.State.RETRYING else None,
        "nextPollAt": row["not_before"] if row["state"] == Run.State.FOLLOWING else None,
        "createdAt": row["created_at"],
        "startedAt": row["started_at"],
        "finishedAt": row["finished_at"],
    }


def rendered_attempt(row: Mapping[str, Any], polls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "number": row["number"],
        "state": row["state"],
        "worker": row["worker"],
        "startedAt": row["started_at"],
        "finishedAt": row["finished_at"],
        "statusCode": row["status_code"],
        "message": row["message"],
        "responseHeaders": row["response_headers"],
        "responseBody": row["response_body"],
        "polls": polls,
    }


def rendered_poll(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "number": row["number"],
        "worker": row["worker"],
        "startedAt": row["started_at"],
        "finishedAt": row["finished_at"],
        "statusCode": row["status_code"],
        "status": row["status"],
        "percentComplete": row["percent"],
        "retryAfterInSeconds": row["retry_after_s"],
        "message": row["message"],
        "responseBody": row["body"],
    }
