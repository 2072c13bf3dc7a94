"""/api/jobs."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import orjson
from django.conf import settings
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django_filters import CharFilter, ChoiceFilter, FilterSet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import naming, require, visible
from accounts.fields import FlagField, InstantField, TextField, WholeNumberField, WordField, read
from accounts.filters import WholeNumberFilter
from accounts.keys import IDEMPOTENCY_KEY, key_of
from accounts.models import Role
from accounts.viewsets import GONE, NO_STORE, ApiViewSet, created
from jobs import signing
from jobs.api import examples
from jobs.api.fields import DurationField
from jobs.api.runs import RUN_COLUMNS, RunSerializer, rendered_run
from jobs.api.versions import ETAG, IF_ABSENT, IF_MATCH, IF_NONE_MATCH, answer, etag, locked, meant, version
from jobs.cautions import cautions_of
from jobs.documents import ActionField, RecurrenceField
from jobs.errors import Conflict, Invalid
from jobs.models import Job, JobCollection, Run, SigningSecret
from jobs.names import NAME_LENGTH
from jobs.run_now import KEY_LENGTH, run_now
from jobs.signing import OVERLAP_MOST
from recurrence.wire import azure
from triggers.definitions import SCHEDULE_MEMBERS, JobDefinition
from triggers.deleting import delete_job
from triggers.models import MAIN, Trigger
from triggers.scheduling import patch_job, save_job, set_job_state

SIGNING_OVERLAP = timedelta(hours=24)


@extend_schema_field(OpenApiTypes.DATETIME)
class StartTimeField(serializers.Field):
    """Passed on to the schedule's format, which reads it."""

    def to_internal_value(self, data: object) -> object:
        return data

    def to_representation(self, value: str) -> str:
        return value


class JobReplacement(serializers.Serializer):
    """What a job is to be; what is left out gets its default."""

    action = ActionField()
    ownSchedule = FlagField(
        required=False,
        help_text="`false`: it has no schedule of its own, so that it runs by hand and by the triggers beside it only."
        "  Left out, a new job has one, and a job without one stays so until it is given a startTime or a recurrence.",
    )
    startTime = StartTimeField(
        required=False, allow_null=True, help_text="When it runs first; a time without an offset is in UTC."
    )
    recurrence = RecurrenceField(required=False, allow_null=True, help_text="Without one it runs once.")
    state = WordField(["enabled", "disabled"], default="enabled")
    overlap = WordField(
        Job.Overlap.values,
        default=Job.Overlap.SKIP.value,
        help_text="What happens to an occurrence while an earlier one is still going.",
    )
    delivery = WordField(
        Job.Delivery.values,
        default=Job.Delivery.AT_LEAST_ONCE.value,
        help_text="Whether an attempt that a crash cut off is made again.",
    )
    misfire = WordField(
        Trigger.Misfire.values,
        default=Trigger.Misfire.FIRE_ONCE.value,
        allow_null=True,
        help_text="What becomes of occurrences of its own schedule that are found too late.  Null is the default.",
    )


class JobRequest(JobReplacement):
    collection = WholeNumberField(min_value=1, help_text="The id of its collection.")
    name = TextField(min_length=1, max_length=NAME_LENGTH)


class SigningSecretSerializer(serializers.Serializer):
    createdAt = InstantField()
    expiresAt = InstantField(allow_null=True, help_text="Null for the newest, which has no end.")


class SigningSerializer(serializers.Serializer):
    since = InstantField(help_text="When the newest secret was made.")
    secrets = SigningSecretSerializer(many=True, help_text="Those that sign now, newest first.")


class WarningSerializer(serializers.Serializer):
    code = serializers.CharField()
    target = serializers.CharField(help_text="The path of the member.")
    message = serializers.CharField()


class JobSerializer(serializers.Serializer):
    id = serializers.IntegerField()
    collection = serializers.IntegerField(help_text="The id of its collection.")
    collectionName = serializers.CharField()
    name = serializers.CharField()
    state = serializers.ChoiceField(Job.State.values, help_text="`completed` and `faulted` are final.")
    action = ActionField()
    startTime = InstantField(allow_null=True)
    recurrence = RecurrenceField(allow_null=True)
    ownSchedule = serializers.BooleanField(
        help_text="Whether it runs by startTime and recurrence; `false`: only by hand and by the triggers beside it."
    )
    triggerCount = serializers.IntegerField(help_text="How many triggers it has beside its own schedule.")
    overlap = serializers.ChoiceField(Job.Overlap.values)
    delivery = serializers.ChoiceField(Job.Delivery.values)
    misfire = serializers.ChoiceField(
        Trigger.Misfire.values, allow_null=True, help_text="Of its own schedule; null: it has none."
    )
    nextRunAt = InstantField(allow_null=True)
    lastRunAt = InstantField(allow_null=True)
    executionCount = serializers.IntegerField(help_text="Attempts, retries included.")
    failureCount = serializers.IntegerField(help_text="Attempts that failed.")
    faultedCount = serializers.IntegerField(help_text="Occurrences whose every attempt failed.")
    revision = serializers.IntegerField(help_text="Counts the changes of its definition and state.")
    createdAt = InstantField()
    updatedAt = InstantField()
    finishedAt = InstantField(allow_null=True, help_text="When it became completed or faulted.")
    secretsSetAt = serializers.DictField(
        child=InstantField(), help_text="When each secret of the action was written, by its path below `action`."
    )
    signing = SigningSerializer(
        allow_null=True, help_text="With what its requests are signed (Standard Webhooks); null: they are not."
    )
    warnings = WarningSerializer(many=True, help_text="What was accepted, but you should know.")


class RunRequest(serializers.Serializer):
    key = TextField(
        required=False,
        min_length=1,
        max_length=KEY_LENGTH,
        help_text="Makes the order repeatable: the same key answers the run that it made the first time.",
    )


class SigningSecretRequest(serializers.Serializer):
    overlap = DurationField(
        default=SIGNING_OVERLAP,
        help_text=f"How long the secret that is replaced signs beside the new one, up to {OVERLAP_MOST.days} days.",
    )


class NewSigningSecretSerializer(serializers.Serializer):
    secret = serializers.CharField(help_text="Shown this once.")
    createdAt = InstantField()
    overlapEndsAt = InstantField(
        allow_null=True, help_text="Until when the secret that was replaced signs too; null: there was none."
    )


class JobFilter(FilterSet):
    collection = WholeNumberFilter(field_name="collection_id", help_text="The id of a collection.")
    name = CharFilter(method="filter_name", max_length=NAME_LENGTH, help_text="The name, in any case.")
    state = ChoiceFilter(choices=Job.State.choices)

    def filter_name(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        return rows.filter(name__lower=value.lower())


class Jobs(ApiViewSet):
    """What is done, and when."""

    queryset = Job.objects.order_by("id")
    serializer_class = JobSerializer
    filterset_class = JobFilter
    lookup_value_converter = "int"
    body_limit = settings.JOB_BODY_LIMIT

    @extend_schema(operation_id="listJobs", summary="List jobs")
    def list(self, request):
        return self.get_paginated_response(list(rendered_jobs(self.page(*JOB_COLUMNS))))

    @extend_schema(operation_id="readJob", summary="Read a job", parameters=[IF_NONE_MATCH, ETAG])
    def retrieve(self, request, pk):
        return answered(visible(request, Job), pk, request=request)

    @extend_schema(
        operation_id="createJob",
        summary="Create a job",
        request=JobRequest,
        parameters=[ETAG],
        responses={201: JobSerializer},
        examples=examples.JOBS,
    )
    def create(self, request):
        wanted = read(JobRequest, request.data)
        with naming("collection", "no collection that you may see"):
            collection = require(request, JobCollection, Role.OPERATOR, pk=wanted["collection"])
        with locked(collection.pk):
            if Job.objects.named(collection, wanted["name"]).exists():
                raise Conflict(f"there is a job {wanted['name']!r} in this collection already", path="name")
            definition = definition_of(request.data, wanted, has_own=True)
            job, _ = save_job(collection, wanted["name"], definition, timezone.now())
        return created(f"/api/jobs/{job.pk}", answered(Job.objects, job.pk))

    @extend_schema(
        operation_id="replaceJob",
        summary="Replace a job",
        request=JobReplacement,
        parameters=[IF_MATCH, IF_ABSENT, ETAG],
    )
    def update(self, request, pk):
        job = require(request, Job.objects.select_related("collection"), Role.OPERATOR, pk=pk)
        wanted = read(JobReplacement, request.data)
        with locked(job.collection_id), meant(request, job):
            definition = definition_of(request.data, wanted, has_own=has_own_schedule(job))
            save_job(job.collection, job.name, definition, timezone.now())
        return answered(Job.objects, pk)

    @extend_schema(
        operation_id="patchJob",
        summary="Change a job",
        description="Objects are merged, lists and values replaced; null removes an optional member.",
        request=JobReplacement,
        parameters=[IF_MATCH, IF_ABSENT, ETAG],
    )
    def partial_update(self, request, pk):
        job = require(request, Job.objects.select_related("collection"), Role.OPERATOR, pk=pk)
        wanted = read(JobReplacement, request.data, partial=True)
        patch = {name: request.data[name] for name in DOCUMENT_MEMBERS if name in request.data}
        with locked(job.collection_id), meant(request, job):
            own_schedule = refuse_contradiction(patch, wanted, has_own=has_own_schedule(job))
            patch_job(job, patch, timezone.now(), own_schedule=own_schedule, **settings_in(wanted))
        return answered(Job.objects, pk)

    @extend_schema(
        operation_id="deleteJob",
        summary="Delete a job",
        description="Its history stays for the retention time; what still waits is cancelled.",
        parameters=[IF_MATCH],
        responses={204: GONE},
    )
    def destroy(self, request, pk):
        job = require(request, Job.objects.select_related("collection"), Role.OPERATOR, pk=pk)
        with meant(request, job):
            delete_job(job, timezone.now())
        return Response(status=204)

    @extend_schema(
        operation_id="runJob",
        summary="Run a job now",
        description="One run besides those of its schedule.  With a key, 200 answers the run that the key made before.",
        request=RunRequest,
        parameters=[IDEMPOTENCY_KEY, IF_MATCH],
        responses={200: RunSerializer, 201: RunSerializer},
    )
    @action(detail=True, methods=["post"])
    def run(self, request, pk):
        job = require(request, Job.objects.select_related("collection"), Role.OPERATOR, pk=pk)
        now, key = timezone.now(), key_of(request, read(RunRequest, request.data).get("key"), KEY_LENGTH)
        with meant(request, job) as job:
            run = run_now(job, now, key)
        told = Response(rendered_run(Run.objects.values(*RUN_COLUMNS).get(pk=run.pk)))
        return created(f"/api/runs/{run.pk}", told) if run.fire_at == now else told

    @extend_schema(operation_id="pauseJob", summary="Pause a job", request=None, parameters=[IF_MATCH, ETAG])
    @action(detail=True, methods=["post"])
    def pause(self, request, pk):
        return turned(request, pk, Job.State.DISABLED)

    @extend_schema(operation_id="resumeJob", summary="Resume a job", request=None, parameters=[IF_MATCH, ETAG])
    @action(detail=True, methods=["post"])
    def resume(self, request, pk):
        return turned(request, pk, Job.State.ENABLED)

    @extend_schema(
        operation_id="createSigningSecret",
        summary="Sign a job's requests with a new secret",
        description="From now on its HTTP requests carry the headers of Standard Webhooks.",
        request=SigningSecretRequest,
        responses={201: NewSigningSecretSerializer},
        examples=examples.SIGNING,
    )
    @action(detail=True, methods=["post"], url_path="signing-secret")
    def signing_secret(self, request, pk):
        job = require(request, Job, Role.OPERATOR, pk=pk)
        overlap = read(SigningSecretRequest, request.data)["overlap"]
        now = timezone.now()
        secret = signing.new_secret(job, overlap, now)
        replaced = job.signing_secrets.exclude(expires_at=None).order_by("-created_at", "-pk").first()
        document = {"secret": secret, "createdAt": now, "overlapEndsAt": replaced and replaced.expires_at}
        return Response(document, 201, headers=NO_STORE)

    @extend_schema(
        operation_id="deleteSigningSecret", summary="Stop signing a job's requests", request=None, responses={204: GONE}
    )
    @signing_secret.mapping.delete
    def remove_signing_secret(self, request, pk):
        signing.remove_secrets(require(request, Job, Role.OPERATOR, pk=pk))
        return Response(status=204)


DOCUMENT_MEMBERS = ("action", "startTime", "recurrence", "state")
SETTINGS = ("overlap", "delivery", "misfire")
JOB_COLUMNS = (
    *("id", "collection_id", "collection__name", "name", "state", "overlap", "delivery"),
    *("action__document", "action__secrets_set_at"),
    *("execution_count", "failure_count", "faulted_count", "last_execution_at", "revision"),
    *("created_at", "updated_at", "finished_at"),
)


def definition_of(document: Mapping[str, Any], wanted: Mapping[str, Any], has_own: bool) -> JobDefinition:
    own_schedule = refuse_contradiction(document, wanted, has_own)
    return JobDefinition.of(document, own_schedule=own_schedule, **settings_in(wanted))


def has_own_schedule(job: Job) -> bool:
    return job.triggers.filter(name=MAIN).exists()


def refuse_contradiction(document: Mapping[str, Any], wanted: Mapping[str, Any], has_own: bool) -> bool:
    """Whether the job is to have a schedule of its own, as far as the document says.

    Raises Invalid when it says both, or asks for one without saying which.
    """
    given = [name for name in SCHEDULE_MEMBERS if document.get(name) is not None]
    own_schedule = wanted.get("ownSchedule", True)
    if given and not own_schedule:
        raise Invalid("cannot stand beside `ownSchedule: false`", path=given[0], code="not_allowed")
    if "ownSchedule" in wanted and own_schedule and not (given or has_own):
        raise Invalid("needs a startTime or a recurrence", path="ownSchedule", code="required")
    return own_schedule


def settings_in(wanted: Mapping[str, Any]) -> dict[str, str]:
    chosen = {name: wanted[name] for name in SETTINGS if name in wanted}
    if "misfire" in chosen:
        chosen["misfire"] = chosen["misfire"] or Trigger.Misfire.FIRE_ONCE.value
    return chosen


def turned(request, pk: int, state: Job.State) -> Response:
    with meant(request, require(request, Job, Role.OPERATOR, pk=pk)) as job:
        set_job_state(job, state, timezone.now())
    return answered(Job.objects, pk)


def answered(jobs, pk: int, request: Request | None = None) -> Response:
    row = get_object_or_404(jobs.values(*JOB_COLUMNS), pk=pk)
    document = next(rendered_jobs([row]))
    return answer(document, etag(version(pk, row["revision"]), document), request=request)


def rendered_jobs(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Two queries, however many rows."""
    rows, now = list(rows), timezone.now()
    ids = [row["id"] for row in rows]
    triggers: dict[int, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for trigger in Trigger.objects.filter(job__in=ids).values(
        "job_id", "name", "definition", "misfire", "next_fire_at"
    ):
        triggers[trigger["job_id"]][trigger["name"]] = trigger
    signed = signing_secrets_of(ids, now)
    for row in rows:
        own = triggers[row["id"]].get(MAIN)
        when = spelled(orjson.dumps(own["definition"])) if own else {}
        fires = [trigger["next_fire_at"] for trigger in triggers[row["id"]].values() if trigger["next_fire_at"]]
        yield {
            "id": row["id"],
            "collection": row["collection_id"],
            "collectionName": row["collection__name"],
            "name": row["name"],
            "state": row["state"],
            "action": row["action__document"],
            "startTime": when.get("startTime"),
            "recurrence": when.get("recurrence"),
            "ownSchedule": own is not None,
            "triggerCount": len(triggers[row["id"]].keys() - {MAIN}),
            "overlap": row["overlap"],
            "delivery": row["delivery"],
            "misfire": own["misfire"] if own else None,
            "nextRunAt": min(fires, default=None),
            "lastRunAt": row["last_execution_at"],
            "executionCount": row["execution_count"],
            "failureCount": row["failure_count"],
            "faultedCount": row["faulted_count"],
            "revision": row["revision"],
            "createdAt": row["created_at"],
            "updatedAt": row["updated_at"],
            "finishedAt": row["finished_at"],
            "secretsSetAt": row["action__secrets_set_at"],
            "signing": rendered_signing(signed[row["id"]]),
            "warnings": [asdict(caution) for caution in cautions_of(row["action__document"], now)],
        }


def signing_secrets_of(job_ids: Sequence[int], now: datetime) -> dict[int, list[dict[str, Any]]]:
    """When those that sign now were made and end, newest first, by job."""
    by_job = defaultdict(list)
    for row in SigningSecret.objects.live(now).filter(job__in=job_ids).values("job_id", "created_at", "expires_at"):
        by_job[row["job_id"]].append({"createdAt": row["created_at"], "expiresAt": row["expires_at"]})
    return by_job


def rendered_signing(secrets: list[dict[str, Any]]) -> dict[str, Any] | None:
    return {"since": secrets[0]["createdAt"], "secrets": secrets} if secrets else None


@lru_cache(maxsize=10_000)
def spelled(definition: bytes) -> dict[str, Any]:
    """A stored schedule in its published spelling."""
    return azure.render(orjson.loads(definition))
