"""Jobs: one document with action and schedule, written together; and running a job on demand."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Lower
from django.utils import timezone
from rest_framework.response import Response

from accounts import access
from accounts.models import Role
from api.conditional import Conditions, etag
from api.errors import RequestError
from api.json_object import JsonObject
from jobs.actions import documents
from jobs.api.conditional_writes import get_if_match, version_of
from jobs.arm.collections import collection_id, operation_response, progress_headers
from jobs.arm.lists import filter_of, page, wrong_token
from jobs.arm.resources import SchedulerView, instant, present, refuse_other_id, refuse_other_progress
from jobs.arm.schedules import keep_schedule, patch_definition, render_schedule
from jobs.models import Job
from jobs.run_now import run_now
from operations.arm_base import PROVIDER, parameter
from recurrence.wire import WireError
from triggers import deletion, scheduling
from triggers.definitions import JobDefinition, main_trigger
from triggers.models import MAIN

JOB_MEMBERS = ("action", "recurrence", "startTime", "state")  # members that are below `properties` in this contract


class JobView(SchedulerView):
    body_limit = settings.JOB_BODY_LIMIT

    def handle_exception(self, exception):
        if isinstance(exception, RequestError | WireError):
            for each in (exception, *exception.others):
                if (each.path or "").split(".")[0] in JOB_MEMBERS:
                    each.path = f"properties.{each.path}"
        return super().handle_exception(exception)


class Jobs(SchedulerView):
    def get(self, request, **kwargs):
        collection = self.find_collection()
        rows = access.visible_rows(request, Job).filter(collection=collection).order_by(Lower("name"))
        if state := filter_of(request, "state", [state.capitalize() for state in Job.State.values]):
            rows = rows.filter(state=state.lower())
        if token := parameter(request, "$skiptoken"):
            if "\0" in token:
                raise wrong_token(token)
            rows = rows.filter(name__lower__gt=token)
        rows = rows.select_related("collection", "action").defer("action__secrets").prefetch_related("triggers")
        return progress_headers(
            page(request, rows, lambda found: list(map(render_job, found)), lambda job: job.name.lower()), collection
        )


class OneJob(JobView):
    def get(self, request, **kwargs):
        job = self.find_job()
        return progress_headers(operation_response(render_job(job), request=request), job.collection)

    def put(self, request, **kwargs):
        collection = self.find_collection(Role.OPERATOR)
        conditions = Conditions.from_request(request)
        properties = JsonObject(request.data, "").required_members("properties")
        refuse_other_progress(properties)
        document = {name: properties.value[name] for name in JOB_MEMBERS if name in properties.value}
        definition = JobDefinition.of(document)
        with transaction.atomic():
            scheduling.lock_collection(collection.pk)
            found = Job.objects.named(collection, kwargs["job"]).only("revision").first()
            conditions.refuse(found and version_of(found))
            definition = keep_schedule(main_trigger(found), definition) if found else definition
            job, created = scheduling.save_job(collection, kwargs["job"], definition, timezone.now())
        return operation_response(render_job(job), 201 if created else 200)

    def patch(self, request, **kwargs):
        job = self.find_job(Role.OPERATOR)
        patch = JsonObject(request.data, "")
        refuse_other_id(patch, job_id(job))
        properties = patch.members("properties") or JsonObject({}, "properties")
        if "status" in properties:
            properties.refuse("status", "is read only")
        refuse_other_progress(properties)
        changes = {name: properties.value[name] for name in JOB_MEMBERS if name in properties.value}
        if changes.get("state", "") is None:
            del changes["state"]  # a state cannot be removed
        with get_if_match(request, job):
            job = scheduling.change_job(job, lambda job: patch_definition(job, changes), timezone.now())
        return operation_response(render_job(job))

    def delete(self, request, **kwargs):
        job = self.find_job(Role.OPERATOR)
        with get_if_match(request, job):
            deletion.delete_job(job, timezone.now())
        return Response()


class JobRun(SchedulerView):
    def post(self, request, **kwargs):
        with get_if_match(request, self.find_job(Role.OPERATOR)) as job:
            run_now(job, timezone.now())
        return Response()


def render_job(job: Job) -> dict[str, Any]:
    triggers = list(job.triggers.all())
    schedule = render_schedule(next((each for each in triggers if each.name == MAIN), None))
    next_fire_at = min((each.next_fire_at for each in triggers if each.next_fire_at), default=None)
    properties = present(
        startTime=schedule.get("startTime"),
        action=documents.render(job.action),
        recurrence=schedule.get("recurrence"),
        state=job.state.capitalize(),
        status=render_status(job, next_fire_at),
    )
    document = {
        "id": job_id(job),
        "type": f"{PROVIDER}/jobCollections/jobs",
        "name": f"{job.collection.name}/{job.name}",
        "properties": properties,
    }
    return {**document, "etag": etag(version_of(job), document)}


def render_status(job: Job, next_fire_at: datetime | None) -> dict[str, Any] | None:
    """Return None for a disabled job that has never run: the original service left the whole object out."""
    if job.state == Job.State.DISABLED and not job.execution_count:
        return None
    return present(
        nextExecutionTime=next_fire_at and instant(next_fire_at),
        lastExecutionTime=job.last_execution_at and instant(job.last_execution_at),
        executionCount=job.execution_count,
        failureCount=job.failure_count,
        faultedCount=job.faulted_count,
    )


def job_id(job: Job) -> str:
    return f"{collection_id(job.collection)}/jobs/{job.name}"
