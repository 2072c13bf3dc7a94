"""/api/runs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django_filters import ChoiceFilter, FilterSet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.response import Response

from accounts.access import require, visible
from accounts.fields import InstantField
from accounts.filters import InstantFilter, WholeNumberFilter
from accounts.models import Role
from accounts.viewsets import HistoryViewSet
from jobs.cancel import cancel
from jobs.models import Attempt, Poll, Run


class RunSerializer(serializers.Serializer):
    id = serializers.UUIDField(help_text="Also the `Idempotency-Key` of the calls that it makes.")
    subscription = serializers.UUIDField()
    job = serializers.IntegerField(allow_null=True, help_text="The id of its job; null when that is gone.")
    jobName = serializers.CharField()
    collectionName = serializers.CharField()
    trigger = serializers.CharField(allow_null=True, help_text="The trigger that it comes from.")
    origin = serializers.ChoiceField(Run.Origin.values)
    parent = serializers.UUIDField(allow_null=True, help_text="The failed run that an error action follows.")
    key = serializers.CharField(allow_null=True, help_text="The caller's own key of a run by hand.")
    fireAt = InstantField(help_text="When it is meant to run.")
    occurrence = serializers.IntegerField(allow_null=True, help_text="Its number among its trigger's, from 1.")
    state = serializers.ChoiceField(Run.State.values)
    reason = serializers.CharField(help_text="Why it was not run, or how what it followed failed.")
    missedCount = serializers.IntegerField(help_text="Occurrences it stands for; above 1 only when they were missed.")
    missedUntil = InstantField(allow_null=True, help_text="The last of them.")
    attemptCount = serializers.IntegerField()
    nextAttemptAt = InstantField(allow_null=True, help_text="When a failed attempt is followed by the next.")
    nextPollAt = InstantField(allow_null=True, help_text="When the operation that it follows is asked after again.")
    createdAt = InstantField()
    startedAt = InstantField(allow_null=True)
    finishedAt = InstantField(allow_null=True)


class PollSerializer(serializers.Serializer):
    number = serializers.IntegerField(help_text="From 1.")
    worker = serializers.CharField()
    startedAt = InstantField()
    finishedAt = InstantField(allow_null=True)
    statusCode = serializers.IntegerField(allow_null=True)
    status = serializers.CharField(help_text="Of the operation, in the target's word; empty when it was not told.")
    percentComplete = serializers.FloatField(allow_null=True)
    retryAfterInSeconds = serializers.IntegerField(
        allow_null=True, help_text="How long the target asked to be left alone."
    )
    message = serializers.CharField()
    responseBody = serializers.CharField(help_text="Of an answer that ended the operation, or told nothing of it.")


class AttemptSerializer(serializers.Serializer):
    number = serializers.IntegerField(help_text="From 1.")
    state = serializers.ChoiceField(Attempt.State.values)
    worker = serializers.CharField()
    startedAt = InstantField()
    finishedAt = InstantField(allow_null=True)
    statusCode = serializers.IntegerField(allow_null=True, help_text="Of an HTTP answer.")
    message = serializers.CharField()
    responseHeaders = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))
    responseBody = serializers.CharField(help_text="At most its first 2048 bytes.")
    polls = PollSerializer(many=True, help_text="Of the operation that it began, if that was followed.")


class RunDetailSerializer(RunSerializer):
    errorRun = serializers.UUIDField(allow_null=True, help_text="The run of its error action.")
    attempts = AttemptSerializer(many=True)


class RunFilter(FilterSet):
    job = WholeNumberFilter(field_name="job_id", help_text="The id of a job.")
    collection = WholeNumberFilter(field_name="job__collection_id", help_text="The id of a collection.")
    state = ChoiceFilter(choices=Run.State.choices)
    origin = ChoiceFilter(choices=Run.Origin.choices)
    order = ChoiceFilter(
        choices=[("newest", "newest first"), ("oldest", "oldest first")],
        method="filter_order",
        help_text="By `fireAt`, `newest` first by default.",
    )

    def filter_order(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        return rows.order_by("fire_at", "id") if value == "oldest" else rows


RunFilter.base_filters["from"] = InstantFilter(
    field_name="fire_at", lookup_expr="gte", help_text="Only runs with `fireAt` at or after this instant."
)
RunFilter.base_filters["to"] = InstantFilter(
    field_name="fire_at", lookup_expr="lt", help_text="Only runs with `fireAt` before this instant."
)


class Runs(HistoryViewSet):
    """What happened, and what is about to."""

    queryset = Run.objects.order_by("-fire_at", "-id")
    serializer_class = RunSerializer
    filterset_class = RunFilter
    lookup_value_converter = "uuid"

    @extend_schema(operation_id="listRuns", summary="List runs")
    def list(self, request):
        return self.get_paginated_response([rendered_run(row) for row in self.page(*RUN_COLUMNS)])

    @extend_schema(operation_id="readRun", summary="Read a run with its attempts", responses=RunDetailSerializer)
    def retrieve(self, request, pk):
        row = get_object_or_404(visible(request, Run).values(*RUN_COLUMNS, "error_run__id"), pk=pk)
        attempts = Attempt.objects.filter(run=pk).order_by("number").values(*ATTEMPT_COLUMNS)
        polls: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for poll in Poll.objects.filter(attempt__run=pk).order_by("number").values(*POLL_COLUMNS):
            polls[poll["attempt_id"]].append(rendered_poll(poll))
        return Response(
            {
                **rendered_run(row),
                "errorRun": row["error_run__id"],
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
        run = require(request, Run, Role.OPERATOR, pk=pk)
        cancel(run, f"cancelled by {request.user.get_username()}", timezone.now())
        return Response(rendered_run(Run.objects.values(*RUN_COLUMNS).get(pk=pk)))


RUN_COLUMNS = (
    *("id", "subscription_id", "job_id", "job_name", "collection_name", "trigger_name", "origin", "parent_id"),
    *("manual_key", "fire_at", "occurrence", "state", "reason", "missed_count", "missed_until", "attempt_count"),
    *("not_before", "created_at", "started_at", "finished_at"),
)
ATTEMPT_COLUMNS = (
    *("id", "number", "state", "worker", "started_at", "finished_at", "status_code", "message"),
    *("response_headers", "response_body"),
)
POLL_COLUMNS = (
    *("attempt_id", "number", "worker", "started_at", "finished_at", "status_code", "status", "percent"),
    *("retry_after_s", "message", "body"),
)


def rendered_run(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": row["id"],
        "subscription": row["subscription_id"],
        "job": row["job_id"],
        "jobName": row["job_name"],
        "collectionName": row["collection_name"],
        "trigger": row["trigger_name"],
        "origin": row["origin"],
        "parent": row["parent_id"],
        "key": row["manual_key"],
        "fireAt": row["fire_at"],
        "occurrence": row["occurrence"],
        "state": row["state"],
        "reason": row["reason"],
        "missedCount": row["missed_count"],
        "missedUntil": row["missed_until"],
        "attemptCount": row["attempt_count"],
        "nextAttemptAt": None if row["state"] == Run.State.FOLLOWING else row["not_before"],
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
