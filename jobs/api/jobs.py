"""Resources at /api/jobs."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import as_field_error, require_role, visible_rows
from accounts.models import Role
from api.conditional import ETAG, IF_ABSENT, IF_MATCH, IF_NONE_MATCH, etag, respond
from api.errors import Conflict
from api.fields import read
from api.idempotency import IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_OR_MEMBER, idempotency_key, repeatable
from api.viewsets import HTTP_410, LOCATION, NO_STORE, ApiViewSet, created
from jobs import signing
from jobs.api import examples
from jobs.api.conditional_writes import get_if_match, locked_collection, locked_job, version
from jobs.api.job_answers import (
    JOB_COLUMNS,
    JobSerializer,
    NewSigningSecretSerializer,
    SigningSerializer,
    rendered_jobs,
    rendered_signing,
    signing_secrets_of,
)
from jobs.api.job_requests import (
    JobFilter,
    JobReplacement,
    JobRequest,
    RunRequest,
    SigningSecretRequest,
    merge_into_job,
    schedule_paths,
    settings_in,
)
from jobs.api.runs import RunSerializer, run_response
from jobs.api.upcoming import PARAMETERS as UPCOMING_PARAMETERS
from jobs.api.upcoming import UpcomingAnswer, upcoming
from jobs.models import Job, JobCollection, Run
from jobs.run_now import KEY_LENGTH, run_now
from triggers.definitions import JobDefinition
from triggers.deletion import delete_job
from triggers.scheduling import Destination, load_secrets, patch_job, refuse_ended, save_job, set_job_state


class Jobs(ApiViewSet):
    """Jobs: an action, and the schedule on which it runs."""

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
        with as_field_error("collection", "must be the id of a collection that you have access to"):
            collection = require_role(request, JobCollection, Role.OPERATOR, pk=members["collection"])
        with locked_collection(collection.pk):
            if Job.objects.named(collection, members["name"]).exists():
                raise Conflict(f"a job {members['name']!r} already exists in this collection", path="name")
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
        description=(
            "Objects are merged. Lists and single values are replaced. null removes an optional member. A"
            " `schedule` in another format replaces the stored schedule. `startTime` and `recurrence` change only a"
            " schedule that has no other members. `name` renames the job, and `collection` moves it. Existing runs"
            " keep the names that they were created with."
        ),
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
        description="The history of the job is kept for the retention time. Runs that are waiting are cancelled.",
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
        description=(
            "Creates one run in addition to the runs of the schedule. If the idempotency key was used before, the"
            " response is 200 with the run that the first request created."
        ),
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
        summary="List the expected results of the next fire times of a job",
        description=(
            "Includes the job's own schedule and all additional triggers, and the holds that are expected to affect"
            " them."
        ),
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
        summary="Create a signing secret for a job",
        description=(
            "From now on the HTTP requests of the job have the headers of Standard Webhooks. A repeated request"
            " with the same key returns 200 with `signing` of the job, without the secret."
        ),
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
        document = NewSigningSecretSerializer.render(
            secret=secret, createdAt=now, overlapEndsAt=replaced and replaced.expires_at
        )
        return Response(document, 201, headers=NO_STORE)

    @extend_schema(
        operation_id="deleteSigningSecret",
        summary="Remove the signing secrets of a job",
        request=None,
        responses={204: HTTP_410},
    )
    @signing_secret.mapping.delete
    def remove_signing_secret(self, request, pk):
        signing.remove_secrets(require_role(request, Job, Role.OPERATOR, pk=pk))
        return Response(status=204)


WITH_ACTION = Job.objects.select_related("collection", "action").defer("action__secrets")
DOCUMENT_MEMBERS = ("action", "schedule", "startTime", "recurrence", "state")


def destination_in(request: Request, members: Mapping[str, Any]) -> Destination:
    """Return the collection and the name that the request gives the job.

    Raise ValidationError for a collection that the caller may not see.
    """
    collection = None
    if "collection" in members:
        with as_field_error("collection", "must be the id of a collection that you have access to"):
            collection = require_role(request, JobCollection, Role.OPERATOR, pk=members["collection"])
    return Destination(collection, members.get("name"))


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
