"""Resources at /api/jobs."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.conf import settings
from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django_filters import FilterSet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import as_field_error, require_role, visible_rows
from accounts.examples import with_example
from accounts.models import Role
from api.conditional import ETAG, IF_ABSENT, IF_MATCH, IF_NONE_MATCH, etag, respond
from api.errors import Conflict, Invalid, RequestError
from api.fields import Document, FlagField, InstantField, Messages, TextField, WholeNumberField, WordField, read
from api.filters import TextFilter, WholeNumberFilter, WordFilter
from api.idempotency import IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_OR_MEMBER, idempotency_key, repeatable
from api.viewsets import HTTP_410, LOCATION, NO_STORE, ApiViewSet, created
from jobs import signing
from jobs.actions.hosts import unicode_hosts
from jobs.api import examples
from jobs.api.conditional_writes import get_if_match, locked_collection, locked_job, version
from jobs.api.fields import DurationField
from jobs.api.holds import HoldSerializer, rendered_hold
from jobs.api.runs import RunSerializer, run_response
from jobs.api.schemas import ActionField, RecurrenceField
from jobs.api.upcoming import PARAMETERS as UPCOMING_PARAMETERS
from jobs.api.upcoming import UpcomingAnswer, upcoming
from jobs.models import Job, JobCollection, Run, SigningSecret
from jobs.names import NAME_LENGTH
from jobs.run_now import KEY_LENGTH, run_now
from jobs.signing import OVERLAP_MOST
from jobs.warnings import warnings_of
from recurrence.wire import WireError, json_values
from triggers.api.fields import ScheduleField
from triggers.api.triggers import canonical_definition
from triggers.definitions import SCHEDULE_MEMBERS, JobDefinition, azure_members, document_of, merge_job_patch
from triggers.deletion import delete_job
from triggers.descriptions import job_schedule_warnings
from triggers.models import MAIN, Trigger
from triggers.scheduling import Destination, load_secrets, patch_job, refuse_ended, save_job, set_job_state
from triggers.upcoming import next_runs

SIGNING_OVERLAP = timedelta(hours=24)


@extend_schema_field(OpenApiTypes.DATETIME)
class StartTimeField(Messages, serializers.Field):
    """The start time as it was sent.  The schedule's format parses it later; this field only checks it."""

    def to_internal_value(self, data: object) -> object:
        try:
            json_values.instant(data, "startTime")
        except WireError as error:
            raise serializers.ValidationError(error.message, error.code) from None
        return data

    def to_representation(self, value: str) -> str:
        return value


@with_example(
    {
        "action": {"type": "Https", "request": {"method": "POST", "uri": "https://shop.example.com/orders/collect"}},
        "schedule": {
            "format": "azure",
            "startTime": "2026-01-05T08:00:00Z",
            "recurrence": {"frequency": "Day", "interval": 1},
        },
        "startTime": "2026-01-05T08:00:00Z",
        "recurrence": {"frequency": "Day", "interval": 1},
        "ownSchedule": True,
        "state": "enabled",
        "overlap": "skip",
        "delivery": "at_least_once",
        "misfire": "fire_once",
        "collection": 1,
        "name": "collect-orders",
        "runNow": False,
    }
)
class JobReplacement(Document):
    """The new definition of a job.  A member that is left out gets its default."""

    # scheduler_site.patches replaces "a member that is left out gets its default" for PATCH

    action = ActionField(help_text="What a run does.")
    ownSchedule = FlagField(
        required=False,
        help_text="`false`: it has no schedule of its own, so that it runs by hand and by the triggers beside it only."
        "  Left out, a new job has one, and a job without one stays so until it is given a schedule.",
    )
    schedule = ScheduleField(
        required=False,
        allow_null=True,
        help_text="When it runs, in any format.  Together with `startTime` or `recurrence` it must say the same.",
    )
    startTime = StartTimeField(
        required=False,
        allow_null=True,
        help_text="When it runs first; a time without an offset is in UTC.  Short for a schedule of the format"
        " `azure`.",
    )
    recurrence = RecurrenceField(
        required=False,
        allow_null=True,
        help_text="How it repeats; without one it runs once.  Short for a schedule of the format `azure`.",
    )
    state = WordField(
        ["enabled", "disabled"], default="enabled", help_text="While it is disabled, its schedule does not run it."
    )
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
        help_text="What becomes of occurrences of its own schedule that are found too late.  Those of `fire_all` run"
        " one after the other, whatever `overlap` says.  Null is the default.",
    )
    collection = WholeNumberField(
        min_value=1,
        required=False,
        help_text="The id of a collection of the same subscription, to move it there.  Left out, it stays.",
    )
    name = TextField(
        min_length=1, max_length=NAME_LENGTH, required=False, help_text="Its new name.  Left out, it keeps its name."
    )
    runNow = FlagField(
        default=False,
        help_text="`true`: it also runs once now, besides its schedule.  A change alone never runs a job at once.",
    )


class JobRequest(JobReplacement):
    runNow = FlagField(
        required=False,
        help_text="`true`: it also runs once now, besides its schedule.  `false`: it does not; without a startTime its"
        " first run is at the next time of its recurrence, which becomes its startTime.  Left out, a job without a"
        " startTime runs at its creation.",
    )
    collection = WholeNumberField(min_value=1, help_text="The id of its collection.")
    name = TextField(min_length=1, max_length=NAME_LENGTH, help_text="Unique in its collection, in any case.")


@with_example({"createdAt": "2026-01-01T09:30:00Z", "expiresAt": "2026-01-08T09:30:00Z"})
class SigningSecretSerializer(serializers.Serializer):
    createdAt = InstantField(help_text="When it was made.")
    expiresAt = InstantField(allow_null=True, help_text="Null for the newest, which has no end.")


@with_example({"since": "2026-01-01T09:30:00Z"})
class SigningSerializer(serializers.Serializer):
    since = InstantField(help_text="When the newest secret was made.")
    secrets = SigningSecretSerializer(many=True, help_text="Those that sign now, newest first.")


@with_example(
    {
        "code": "credentials_over_http",
        "target": "action.request.authentication",
        "message": "The address begins with http: the credentials travel unencrypted. Take https.",
    }
)
class JobWarningSerializer(serializers.Serializer):
    code = serializers.CharField(help_text="The kind of warning, for programs.")
    target = serializers.CharField(help_text="The path of the member.")
    message = serializers.CharField(help_text="What you should know, for people.")


@with_example(
    {
        "id": 1,
        "collection": 1,
        "collectionName": "nightly",
        "name": "collect-orders",
        "state": "enabled",
        "action": {"type": "Https", "request": {"method": "POST", "uri": "https://shop.example.com/orders/collect"}},
        "schedule": {
            "format": "azure",
            "startTime": "2026-01-05T08:00:00Z",
            "recurrence": {"frequency": "Day", "interval": 1},
        },
        "startTime": "2026-01-05T08:00:00Z",
        "recurrence": {"frequency": "Day", "interval": 1},
        "ownSchedule": True,
        "triggerCount": 0,
        "overlap": "skip",
        "delivery": "at_least_once",
        "misfire": "fire_once",
        "nextRunAt": "2026-01-06T08:10:00Z",
        "lastRunAt": "2026-01-05T08:00:00Z",
        "executionCount": 42,
        "failureCount": 2,
        "faultedCount": 0,
        "revision": 3,
        "createdAt": "2026-01-01T09:30:00Z",
        "updatedAt": "2026-01-02T10:00:00Z",
        "finishedAt": None,
        "secretsSetAt": {"request.authentication.password": "2026-01-01T09:30:00Z"},
        "unicodeHosts": {"request.uri": "bücher.example"},
    }
)
class JobSerializer(serializers.Serializer):
    id = serializers.IntegerField(help_text="The id in its address.")
    collection = serializers.IntegerField(help_text="The id of its collection.")
    collectionName = serializers.CharField(help_text="The name of its collection.")
    name = serializers.CharField(help_text="Unique in its collection, in any case.")
    state = serializers.ChoiceField(Job.State.values, help_text="`completed` and `faulted` are final.")
    action = ActionField(help_text="What a run does, without its secrets.")
    schedule = ScheduleField(allow_null=True, help_text="When it runs; null: it has no schedule of its own.")
    startTime = InstantField(
        allow_null=True,
        help_text="That of `schedule`, if this is in the format `azure` and in UTC and has no other members; null:"
        " it is another schedule, or has none.",
    )
    recurrence = RecurrenceField(
        allow_null=True,
        help_text="That of `schedule`, if this is in the format `azure` and in UTC and has no other members; null:"
        " it is another schedule, or has none.",
    )
    ownSchedule = serializers.BooleanField(
        help_text="Whether it has a `schedule`; `false`: it runs only by hand and by its additional triggers."
    )
    triggerCount = serializers.IntegerField(help_text="How many triggers it has beside its own schedule.")
    overlap = serializers.ChoiceField(
        Job.Overlap.values, help_text="What happens to an occurrence while an earlier one is still going."
    )
    delivery = serializers.ChoiceField(
        Job.Delivery.values, help_text="Whether an attempt that a crash cut off is made again."
    )
    misfire = serializers.ChoiceField(
        Trigger.Misfire.values, allow_null=True, help_text="Of its own schedule; null: it has none."
    )
    nextRunAt = InstantField(
        allow_null=True,
        help_text="When it runs next, as far as is known: after a hold, if its fire time is held.  Null while it is "
        "stopped, when nothing is left, and where nobody knows how long a hold lasts.",
    )
    hold = HoldSerializer(allow_null=True, help_text="What holds the next run; null: nothing.")
    lastRunAt = InstantField(allow_null=True, help_text="When the last attempt began; null: there was none.")
    executionCount = serializers.IntegerField(
        help_text="Attempts, retries included; the name is that of Azure Scheduler."
    )
    failureCount = serializers.IntegerField(help_text="Attempts that failed.")
    faultedCount = serializers.IntegerField(help_text="Occurrences whose every attempt failed.")
    revision = serializers.IntegerField(help_text="Counts the changes of its definition and state.")
    createdAt = InstantField(help_text="When it was made.")
    updatedAt = InstantField(help_text="When its definition or state was last changed.")
    finishedAt = InstantField(allow_null=True, help_text="When it became completed or faulted.")
    secretsSetAt = serializers.DictField(
        child=InstantField(), help_text="When each secret of the action was written, by its path below `action`."
    )
    unicodeHosts = serializers.DictField(
        child=serializers.CharField(),
        help_text="International hosts of the action as people read them, by the path of their address below `action`."
        "  The addresses have the ASCII form.",
    )
    signing = SigningSerializer(
        allow_null=True, help_text="With what its requests are signed (Standard Webhooks); null: they are not."
    )
    warnings = JobWarningSerializer(many=True, help_text="What was accepted, but you should know.")


@with_example({"key": "release-2026-01"})
class RunRequest(Document):
    key = TextField(
        required=False,
        min_length=1,
        max_length=KEY_LENGTH,
        help_text="Makes the order repeatable: the same key answers the run that it made the first time.",
    )


@with_example({"overlap": "P7D"})
class SigningSecretRequest(Document):
    overlap = DurationField(
        default=SIGNING_OVERLAP,
        help_text=f"How long the secret that is replaced signs beside the new one, up to {OVERLAP_MOST.days} days.",
    )


@with_example({"secret": "whsec_...", "createdAt": "2026-01-01T09:30:00Z", "overlapEndsAt": "2026-01-08T09:30:00Z"})
class NewSigningSecretSerializer(serializers.Serializer):
    secret = serializers.CharField(help_text="Shown this once.")
    createdAt = InstantField(help_text="When it was made.")
    overlapEndsAt = InstantField(
        allow_null=True, help_text="Until when the secret that was replaced signs too; null: there was none."
    )


@with_example({"collection": 1, "name": "collect-orders", "state": "enabled"})
class JobFilter(FilterSet):
    collection = WholeNumberFilter(field_name="collection_id", help_text="The id of a collection.")
    name = TextFilter(method="filter_name", max_length=NAME_LENGTH, help_text="The name, in any case.")
    state = WordFilter(choices=Job.State.choices, help_text="Only those in this state.")

    def filter_name(self, rows: QuerySet, name: str, value: str) -> QuerySet:
        return rows.filter(name__lower=value.lower())


class Jobs(ApiViewSet):
    """A job: what is done, and when."""

    queryset = Job.objects.order_by("id")
    serializer_class = JobSerializer
    filterset_class = JobFilter
    lookup_value_converter = "int"
    body_limit = settings.JOB_BODY_LIMIT
    rows_at_once = 50  # each may have 100 triggers of 16 KiB

    @extend_schema(operation_id="listJobs", summary="List jobs")
    def list(self, request):
        return self.list_response(rendered_jobs, *JOB_COLUMNS)

    @extend_schema(operation_id="readJob", summary="Read a job", parameters=[IF_NONE_MATCH, ETAG])
    def retrieve(self, request, pk):
        return job_response(visible_rows(request, Job), pk, request=request)

    @extend_schema(
        operation_id="createJob",
        summary="Create a job",
        request=JobRequest,
        parameters=[IDEMPOTENCY_KEY, ETAG, LOCATION],
        responses={200: JobSerializer, 201: JobSerializer},
        examples=examples.JOBS,
    )
    @repeatable(lambda view, request, pk: job_response(visible_rows(request, Job), pk))
    def create(self, request):
        members = self.read(JobRequest)
        with as_field_error("collection", "no collection that you may see"):
            collection = require_role(request, JobCollection, Role.OPERATOR, pk=members["collection"])
        with locked_collection(collection.pk):
            if Job.objects.named(collection, members["name"]).exists():
                raise Conflict(f"there is a job {members['name']!r} in this collection already", path="name")
            definition = JobDefinition.of(
                request.data, run_now=members.get("runNow"), **settings_in(request.data, members)
            )
            with schedule_paths(request.data):
                job, _ = save_job(collection, members["name"], definition, timezone.now())
        return created(request, f"/api/jobs/{job.pk}", job_response(Job.objects, job.pk))

    @extend_schema(
        operation_id="replaceJob",
        summary="Replace a job",
        request=JobReplacement,
        parameters=[IF_MATCH, IF_ABSENT, ETAG],
    )
    def update(self, request, pk):
        job = require_role(request, WITH_ACTION, Role.OPERATOR, pk=pk)
        refuse_ended(job)  # before reading: the state of an ended job is not among the states that can be written
        members = self.read(JobReplacement, context={"replaced": load_secrets(job.action)})
        to = destination_in(request, members)
        with locked_job(request, job, to) as job:
            definition = JobDefinition.of(request.data, run_now=members["runNow"], **settings_in(request.data, members))
            with schedule_paths(request.data):
                save_job(job.collection, job.name, definition, timezone.now(), to)
        return job_response(Job.objects, pk)

    @extend_schema(
        operation_id="patchJob",
        summary="Change a job",
        description="Objects are merged, lists and values replaced; null removes an optional member.  A `schedule` of"
        " another format replaces the one before, and `startTime` and `recurrence` change only a schedule that consists"
        " of them.  `name` renames it and `collection` moves it; its runs keep the names that they were made with.",
        request=JobReplacement,
        parameters=[IF_MATCH, IF_ABSENT, ETAG],
    )
    def partial_update(self, request, pk):
        job = require_role(request, WITH_ACTION, Role.OPERATOR, pk=pk)
        refuse_ended(job)  # before reading: the state of an ended job is not among the states that can be written
        members = read(
            JobReplacement,
            merge_into_job(job, request.data),
            answer=JobSerializer,
            sent=request.data,
            partial=True,
            context={"replaced": load_secrets(job.action)},
        )
        patch = {name: request.data[name] for name in DOCUMENT_MEMBERS if name in request.data}
        to, run_now = destination_in(request, members), members.get("runNow", False)
        with locked_job(request, job, to) as job, schedule_paths(request.data):
            patch_job(job, patch, timezone.now(), to, run_now=run_now, **settings_in(patch, members))
        return job_response(Job.objects, pk)

    @extend_schema(
        operation_id="deleteJob",
        summary="Delete a job",
        description="Its history stays for the retention time; what still waits is cancelled.",
        parameters=[IF_MATCH],
        responses={204: HTTP_410},
    )
    def destroy(self, request, pk):
        job = require_role(request, Job.objects.select_related("collection"), Role.OPERATOR, pk=pk)
        with get_if_match(request, job):
            delete_job(job, timezone.now())
        return Response(status=204)

    @extend_schema(
        operation_id="runJob",
        summary="Run a job now",
        description="One run besides those of its schedule.  With a key, 200 answers the run that the key made before.",
        request=RunRequest,
        parameters=[IDEMPOTENCY_KEY_OR_MEMBER, IF_MATCH, LOCATION],
        responses={200: RunSerializer, 201: RunSerializer},
    )
    @action(detail=True, methods=["post"])
    @repeatable(lambda view, request, made, pk: run_response(visible_rows(request, Run), made), is_member=True)
    def run(self, request, pk):
        job = require_role(request, Job.objects.select_related("collection"), Role.OPERATOR, pk=pk)
        now, key = timezone.now(), idempotency_key(request, read(RunRequest, request.data).get("key"), KEY_LENGTH)
        with get_if_match(request, job) as job:
            run = run_now(job, now, key)
        answer = run_response(Run.objects, run.pk)
        return created(request, f"/api/runs/{run.pk}", answer) if run.fire_at == now else answer

    @extend_schema(
        operation_id="listUpcomingRunsOfJob",
        summary="List what will become of a job's next fire times",
        description="Of its own schedule and of all triggers, with what is going to hold them, as far as is known.",
        parameters=UPCOMING_PARAMETERS,
        responses=UpcomingAnswer,
        filters=False,
    )
    @action(detail=True, methods=["get"], pagination_class=None)
    def upcoming(self, request, pk):
        job = get_object_or_404(visible_rows(request, Job).values("id"), pk=pk)
        return upcoming(request, job["id"], timezone.now())

    @extend_schema(operation_id="pauseJob", summary="Pause a job", request=None, parameters=[IF_MATCH, ETAG])
    @action(detail=True, methods=["post"])
    def pause(self, request, pk):
        return change_state(request, pk, Job.State.DISABLED)

    @extend_schema(operation_id="resumeJob", summary="Resume a job", request=None, parameters=[IF_MATCH, ETAG])
    @action(detail=True, methods=["post"])
    def resume(self, request, pk):
        return change_state(request, pk, Job.State.ENABLED)

    @extend_schema(
        operation_id="createSigningSecret",
        summary="Sign a job's requests with a new secret",
        description="From now on its HTTP requests carry the headers of Standard Webhooks.  Repeated with its key, 200"
        " answers `signing` of the job, without the secret.",
        request=SigningSecretRequest,
        parameters=[IDEMPOTENCY_KEY],
        responses={200: SigningSerializer, 201: NewSigningSecretSerializer},
        examples=examples.SIGNING,
    )
    @action(detail=True, methods=["post"], url_path="signing-secret")
    @repeatable(lambda view, request, made, pk: signing_response(visible_rows(request, Job), pk), id_member=None)
    def signing_secret(self, request, pk):
        job = require_role(request, Job, Role.OPERATOR, pk=pk)
        overlap = read(SigningSecretRequest, request.data)["overlap"]
        now = timezone.now()
        secret = signing.new_secret(job, overlap, now)
        replaced = job.signing_secrets.exclude(expires_at=None).order_by("-created_at", "-pk").first()
        document = {"secret": secret, "createdAt": now, "overlapEndsAt": replaced and replaced.expires_at}
        return Response(document, 201, headers=NO_STORE)

    @extend_schema(
        operation_id="deleteSigningSecret",
        summary="Stop signing a job's requests",
        request=None,
        responses={204: HTTP_410},
    )
    @signing_secret.mapping.delete
    def remove_signing_secret(self, request, pk):
        signing.remove_secrets(require_role(request, Job, Role.OPERATOR, pk=pk))
        return Response(status=204)


WITH_ACTION = Job.objects.select_related("collection", "action").defer("action__secrets")
MERGED = ("action", "schedule", "recurrence")
DOCUMENT_MEMBERS = ("action", "schedule", "startTime", "recurrence", "state")
SETTINGS = ("overlap", "delivery", "misfire")
JOB_COLUMNS = (
    *("id", "collection_id", "collection__name", "name", "state", "overlap", "delivery"),
    *("action__document", "action__secrets_set_at"),
    *("execution_count", "failure_count", "faulted_count", "last_execution_at", "revision"),
    *("created_at", "updated_at", "finished_at"),
)
TRIGGER_FIELDS = (
    *("name", "format", "definition", "anchored_at", "closed_days", "misfire"),
    *("next_fire_at", "previous_fire_at", "fires_left"),
)


def merge_into_job(job: Job, patch: object) -> object:
    """Return the patch with its objects merged into those of the job, so that whole objects can be checked.

    Raise Invalid for a recurrence that the job's schedule does not have.
    """
    if not isinstance(patch, Mapping):
        return patch
    objects = {name: patch[name] for name in MERGED if isinstance(patch.get(name), Mapping)}
    removal = {"schedule": None} if patch.get("schedule", {}) is None else {}
    merged = merge_job_patch(document_of(job), objects | removal)
    return {**patch, **{name: merged[name] for name in objects if name in merged}}


def destination_in(request: Request, members: Mapping[str, Any]) -> Destination:
    """Return the collection and the name that the request gives the job.

    Raise ValidationError for a collection that the caller may not see.
    """
    collection = None
    if "collection" in members:
        with as_field_error("collection", "no collection that you may see"):
            collection = require_role(request, JobCollection, Role.OPERATOR, pk=members["collection"])
    return Destination(collection, members.get("name"))


def settings_in(document: Mapping[str, Any], members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings among `members`, the checked members of `document`, as arguments of a definition.

    These are the members that the document of the original service does not have.
    Raise Invalid if the document has both a schedule and `ownSchedule: false`.
    """
    chosen = {name: members[name] for name in SETTINGS if name in members}
    if "misfire" in chosen:
        chosen["misfire"] = chosen["misfire"] or Trigger.Misfire.FIRE_ONCE.value
    given = [name for name in (*SCHEDULE_MEMBERS, "schedule") if document.get(name) is not None]
    if given and not members.get("ownSchedule", True):
        raise Invalid("cannot stand beside `ownSchedule: false`", path=given[0], code="not_allowed")
    own_schedule = members.get("ownSchedule")
    needs_schedule = own_schedule is True or "schedule" in given
    return chosen | {"own_schedule": own_schedule is not False, "needs_schedule": needs_schedule}


@contextmanager
def schedule_paths(document: Mapping[str, Any]) -> Iterator[None]:
    """Rewrite the paths of errors that cores raise in the block, if the request has its schedule in `schedule`.

    The members of a schedule are then below `schedule`.
    """
    if document.get("schedule") is None:
        yield
        return
    try:
        yield
    except WireError as error:
        for each in (error, *error.others):
            each.path = f"schedule.{each.path}"
        raise
    except RequestError as error:
        if error.path == "ownSchedule" and "ownSchedule" not in document:
            error.path = "schedule"
        if (error.path or "").split(".")[0] in SCHEDULE_MEMBERS:
            error.path = f"schedule.{error.path}"
        raise


def change_state(request, pk: int, state: Job.State) -> Response:
    with get_if_match(request, require_role(request, Job, Role.OPERATOR, pk=pk)) as job:
        set_job_state(job, state, timezone.now())
    return job_response(Job.objects, pk)


def job_response(jobs, pk: int, request: Request | None = None) -> Response:
    row = get_object_or_404(jobs.values(*JOB_COLUMNS), pk=pk)
    document = next(rendered_jobs([row]))
    return respond(document, etag(version(pk, row["revision"]), document), request=request)


def signing_response(jobs, pk: int) -> Response:
    """Answer `signing` of the job, without the secrets.  Raise Http404 if its requests are not signed."""
    job = get_object_or_404(jobs.values("id"), pk=pk)
    document = rendered_signing(signing_secrets_of([job["id"]], timezone.now())[job["id"]])
    if document is None:
        raise Http404
    return Response(document)


def rendered_jobs(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the documents of jobs.

    The number of queries does not depend on the number of rows: three, one more if a trigger has fired lately, and two
    more while any job may be held.
    """
    rows, now = list(rows), timezone.now()
    ids = [row["id"] for row in rows]
    triggers: dict[int, dict[str, Trigger]] = defaultdict(dict)
    for trigger in Trigger.objects.filter(job__in=ids).only("job_id", *TRIGGER_FIELDS):
        triggers[trigger.job_id][trigger.name] = trigger
    expected = next_runs(ids, [each for of_job in triggers.values() for each in of_job.values()], now)
    signed = signing_secrets_of(ids, now)
    for row in rows:
        own = triggers[row["id"]].get(MAIN)
        definition = canonical_definition(own.format, orjson.dumps(own.definition)) if own else {}
        azure = (azure_members(own.format, definition) if own else None) or {}
        next_run = expected.get(row["id"])
        yield {
            "id": row["id"],
            "collection": row["collection_id"],
            "collectionName": row["collection__name"],
            "name": row["name"],
            "state": row["state"],
            "action": row["action__document"],
            "schedule": {"format": own.format, **definition} if own else None,
            "startTime": azure.get("startTime"),
            "recurrence": azure.get("recurrence"),
            "ownSchedule": own is not None,
            "triggerCount": len(triggers[row["id"]].keys() - {MAIN}),
            "overlap": row["overlap"],
            "delivery": row["delivery"],
            "misfire": own.misfire if own else None,
            "nextRunAt": next_run and next_run.runs_at,
            "hold": next_run and rendered_hold(next_run.fire_at, next_run.hold),
            "lastRunAt": row["last_execution_at"],
            "executionCount": row["execution_count"],
            "failureCount": row["failure_count"],
            "faultedCount": row["faulted_count"],
            "revision": row["revision"],
            "createdAt": row["created_at"],
            "updatedAt": row["updated_at"],
            "finishedAt": row["finished_at"],
            "secretsSetAt": row["action__secrets_set_at"],
            "unicodeHosts": unicode_hosts(row["action__document"]),
            "signing": rendered_signing(signed[row["id"]]),
            "warnings": [
                asdict(warning)
                for warning in (
                    *warnings_of(row["action__document"], now),
                    *(job_schedule_warnings(own, now) if own else ()),
                )
            ],
        }


def signing_secrets_of(job_ids: Sequence[int], now: datetime) -> dict[int, list[dict[str, Any]]]:
    """Return by job when the secrets that sign now were made and when they expire, newest first."""
    by_job = defaultdict(list)
    for row in SigningSecret.objects.live(now).filter(job__in=job_ids).values("job_id", "created_at", "expires_at"):
        by_job[row["job_id"]].append({"createdAt": row["created_at"], "expiresAt": row["expires_at"]})
    return by_job


def rendered_signing(secrets: list[dict[str, Any]]) -> dict[str, Any] | None:
    return {"since": secrets[0]["createdAt"], "secrets": secrets} if secrets else None
