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
        "The id of the run. It is also the `Idempotency-Key` of the HTTP requests of the run.",
        example="0b9e5c1e-7d1f-4f5c-9a57-8b1d6c2f3e10",
    )
    subscription = Member(
        UUIDField, "The id of the subscription.", "subscription_id", example="00000000-0000-0000-0000-000000000001"
    )
    job = Member(IntegerField, "The id of the job; null: the job was deleted.", "job_id", nullable=True, example=1)
    jobName = Member(CharField, "The name of the job at the creation of the run.", example="collect-orders")
    collectionName = Member(CharField, "The name of the collection at the creation of the run.", example="nightly")
    trigger = Member(CharField, "The trigger that created the run.", "trigger_name", nullable=True, example="default")
    origin = Member(ChoiceField, "The origin of the run.", choices=Run.Origin.values, example="schedule")
    parent = Member(
        UUIDField,
        "The id of the failed run after which this error action runs.",
        "parent_id",
        nullable=True,
        example=None,
    )
    errorRun = Member(
        UUIDField,
        "The id of the run of the error action, if there is one.",
        "error_run__id",
        nullable=True,
        example=None,
    )
    key = Member(CharField, "The idempotency key of a manual run.", "manual_key", nullable=True, example=None)
    fireAt = Member(InstantField, "The fire time, in UTC, without jitter.", example="2026-01-05T08:00:00Z")
    startsAt = Member(
        InstantField,
        "The planned start, in UTC: `fireAt` plus the jitter of the schedule.",
        lambda row: row["starts_at"] or row["fire_at"],
        example="2026-01-05T08:00:00Z",
    )
    occurrence = Member(
        IntegerField, "The number of this fire time of the trigger, counted from 1.", nullable=True, example=12
    )
    state = Member(ChoiceField, "The state of the run.", choices=Run.State.values, example="succeeded")
    reason = Member(
        CharField,
        "The reason why the run was skipped or is waiting. For a failed run or attempt: the message of the last"
        " attempt.",
        GIVEN,
        example="",
    )
    statusCode = Member(
        IntegerField,
        "The status code of the last HTTP response to the last attempt, including responses to polls; null:"
        " there was no response.",
        GIVEN,
        nullable=True,
        example=200,
    )
    blockedBy = Member(
        UUIDField,
        "The id of the run that was still active when the overlap policy skipped this run or made it wait. That"
        " run may already have been deleted.",
        nullable=True,
        example=None,
    )
    missedCount = Member(
        IntegerField,
        "The number of fire times that the run represents. Greater than 1 only for missed fire times.",
        example=1,
    )
    missedUntil = Member(
        InstantField, "The last fire time that the run represents, in UTC.", nullable=True, example=None
    )
    attemptCount = Member(IntegerField, "The number of attempts that have started.", example=1)
    nextAttemptAt = Member(
        InstantField,
        "The time of the next attempt after a failed attempt, in UTC.",
        lambda row: row["not_before"] if row["state"] == Run.State.RETRYING else None,
        nullable=True,
        example=None,
    )
    nextPollAt = Member(
        InstantField,
        "The time of the next poll of the operation that the run follows, in UTC.",
        lambda row: row["not_before"] if row["state"] == Run.State.FOLLOWING else None,
        nullable=True,
        example=None,
    )
    createdAt = Member(InstantField, "The time of creation, in UTC.", example="2026-01-05T08:00:00Z")
    startedAt = Member(
        InstantField,
        "The time at which the first attempt started, in UTC; null: no attempt has started.",
        nullable=True,
        example="2026-01-05T08:00:00.250000Z",
    )
    finishedAt = Member(
        InstantField,
        "The time at which the run finished, in UTC; null: it has not finished.",
        nullable=True,
        example="2026-01-05T08:00:01.500000Z",
    )


class PollSerializer(Answer):
    number = Member(IntegerField, "The number of the poll, counted from 1.", example=1)
    worker = Member(CharField, "The worker process that sent the poll.", example="host-1:4711")
    startedAt = Member(InstantField, "The time at which the poll started, in UTC.", example="2026-01-05T08:00:05Z")
    finishedAt = Member(
        InstantField,
        "The time at which the poll finished, in UTC; null: it has not finished.",
        nullable=True,
        example="2026-01-05T08:00:05.100000Z",
    )
    statusCode = Member(
        IntegerField, "The status code of the HTTP response; null: there was no response.", nullable=True, example=200
    )
    status = Member(
        CharField,
        "The status of the operation as the target reported it. Empty: the target did not report one.",
        example="Running",
    )
    percentComplete = Member(
        FloatField,
        "The progress of the operation in percent; null: the target did not report it.",
        "percent",
        nullable=True,
        example=40.0,
    )
    retryAfterInSeconds = Member(
        IntegerField,
        "The number of seconds that the target asked to wait before the next poll.",
        "retry_after_s",
        nullable=True,
        example=5,
    )
    message = Member(CharField, "The result, for people.", example="200 OK")
    responseBody = Member(
        CharField, "The response body, if the response ended the operation or had no status of it.", "body", example=""
    )


class AttemptSerializer(Answer):
    number = Member(IntegerField, "The number of the attempt, counted from 1.", example=1)
    state = Member(ChoiceField, "The state of the attempt.", choices=Attempt.State.values, example="succeeded")
    worker = Member(CharField, "The worker process that made the attempt.", example="host-1:4711")
    startedAt = Member(
        InstantField, "The time at which the attempt started, in UTC.", example="2026-01-05T08:00:00.250000Z"
    )
    finishedAt = Member(
        InstantField,
        "The time at which the attempt finished, in UTC; null: it has not finished.",
        nullable=True,
        example="2026-01-05T08:00:01.500000Z",
    )
    statusCode = Member(IntegerField, "The status code of the HTTP response.", nullable=True, example=200)
    message = Member(CharField, "The result, for people.", example="200 OK")
    responseHeaders = Member(
        ListField,
        "The names and values of the HTTP response headers, in their order.",
        child=ListField(child=CharField()),
        example=[["content-type", "application/json"]],
    )
    responseBody = Member(
        CharField, "The first 2048 bytes of the response body at most.", example='{"state": "collected"}'
    )
    polls = Member(
        PollSerializer, "The polls of the operation that the attempt started, if it was followed.", GIVEN, many=True
    )


class RunDetailSerializer(RunSerializer):
    holds = Member(RunHoldSerializer, "The holds of the run, earliest first.", GIVEN, many=True)
    attempts = Member(AttemptSerializer, "The attempts of the run, earliest first.", GIVEN, many=True)


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
    job = WholeNumberFilter(field_name="job_id", help_text="Filters by the id of the job.")
    trigger = TextFilter(
        field_name="trigger_name",
        max_length=NAME_LENGTH,
        help_text="Filters by the name of the trigger at the creation of the run. Requires `job`.",
    )
    collection = WholeNumberFilter(field_name="job__collection_id", help_text="Filters by the id of the collection.")
    subscription = IdFilter(help_text="Filters by the id of the subscription.")
    state = WordsFilter(
        choices=Run.State.choices, help_text=("Filters by state: one state, or several states separated by commas.")
    )
    origin = WordFilter(
        choices=Run.Origin.choices,
        help_text=(
            "Filters by origin. Runs of error actions are listed only with `error_action`. Their ids are in"
            " `errorRun` of the failed runs."
        ),
    )
    order = WordFilter(
        choices=[("newest", "newest first"), ("oldest", "oldest first")],
        method="filter_order",
        help_text="The order by `fireAt`. Default: `newest` first.",
    )

    def filter_queryset(self, queryset: QuerySet) -> QuerySet:
        if self.form.cleaned_data["trigger"] and self.form.cleaned_data["job"] is None:
            raise ValidationError(
                {"trigger": [("requires `job`: the name of a trigger is unique in its job only")]}, "required"
            )
        rows = super().filter_queryset(queryset)
        return rows if self.form.cleaned_data["origin"] else rows.without_error_actions()

    def filter_order(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        return rows.order_by("fire_at", "id") if value == "oldest" else rows


RunFilter.base_filters["from"] = InstantFilter(
    field_name="fire_at", lookup_expr="gte", help_text="Filters by `fireAt`: only runs at or after this time."
)
RunFilter.base_filters["to"] = InstantFilter(
    field_name="fire_at", lookup_expr="lt", help_text="Filters by `fireAt`: only runs before this time."
)


class Runs(HistoryViewSet):
    """Runs of jobs: finished, active and waiting."""

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
        description=(
            "A run can be cancelled while it waits for a worker, waits for its next attempt, or follows an"
            " operation. The operation itself continues."
        ),
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
