"""Job collections and jobs as the original service's clients know them: its REST contract, api-version 2016-03-01.

An envelope around `triggers.scheduling`: it finds, parses, calls and renders, and owns no rule.  Where the published
contract leaves a point open, this is how it stands here:

* A page holds PAGE_LENGTH entries and `nextLink` goes on after the last of them; with `$top` there is none.
* Collections and jobs are listed by name, history newest first.  History has an entry for each attempt that ended.
* Enums are answered in the published spelling, a successful attempt as `Completed`; none is ever `Postponed`.
* Deleting, enabling and disabling a collection is an operation that a worker carries out: 202.  All else is done when
  it is answered.  A collection that is gone is 404 to a DELETE, since the published client takes 204 for a failure.
* Resources have an `etag`, which is the header `ETag` as well: see `jobs.api.versions`.  A condition is judged when a
  request begins, before 202; the same order again while it is carried out is meant for the version that it began with.
* What is read of a collection that is being deleted, and of its jobs, says by `Retry-After` when to read it again.
* `provisioningState` may be sent back as it is, by jobs too, which count as Succeeded; `etag` in a body is not read.
* Running a job while a run of it is going is 200: the extra run is skipped, or waits, as the job's `overlap` says.
* What our own API adds to an action (`template`, `success` and so on) is read and answered here as well; what it adds
  to a job (`signing`, `warnings` and so on) is not.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Lower
from django.http import Http404
from django.utils import timezone
from django.utils.encoding import escape_uri_path
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import access
from accounts.models import Role, Subscription
from jobs.actions import documents
from jobs.api import versions
from jobs.api.versions import Conditions, answer, etag, meant, meant_collection, version_of
from jobs.errors import JobError
from jobs.locations import display_name
from jobs.members import PRINTABLE, Members, shown
from jobs.models import Attempt, Frequency, Job, JobCollection, Run, Sku
from jobs.names import NAME_LENGTH
from jobs.run_now import run_now
from operations.arm import RETRY_AFTER_S, accepted
from operations.resource_manager import PROVIDER, SUBSCRIPTION, ArmView, WrongQuery, absolute, address, caller_of
from recurrence.wire import WireError, azure
from triggers import collection_orders, deleting, scheduling
from triggers.models import MAIN

PAGE_LENGTH = 1000  # the original answered 135 entries at once, so its page was longer than the longest `$top`
TOP_LIMIT = 100
FILTER_LIMIT = 1024  # characters
NUMBER_LIMIT = 2**31 - 1
INTERVAL_LIMIT = 1000
LOCATION_LIMIT = 64
TAGS_LIMIT, TAG_NAME_LIMIT, TAG_LIMIT = 50, 512, 256

COLLECTION_STATES = ("Enabled", "Disabled", "Suspended")
ATTEMPT_STATES = {
    "Completed": (Attempt.State.SUCCEEDED,),
    "Failed": (Attempt.State.FAILED, Attempt.State.LOST),
    "Postponed": (),
}
STATUSES = {state: status for status, states in ATTEMPT_STATES.items() for state in states}
DONE = "Succeeded"  # the provisioningState of whatever nothing is being done to
JOB_MEMBERS = ("action", "recurrence", "startTime", "state")  # that stand below `properties` in this form


class SchedulerView(ArmView):
    def find_collection(self, role: Role = Role.READER) -> JobCollection:
        rows = JobCollection.objects.named(self.subscription_id, self.kwargs["group"], self.kwargs["collection"])
        return access.require(self.request, rows.select_related("subscription"), role)

    def find_job(self, role: Role = Role.READER) -> Job:
        rows = Job.objects.filter(
            collection__subscription_id=self.subscription_id,
            collection__resource_group__lower=self.kwargs["group"].lower(),
            collection__name__lower=self.kwargs["collection"].lower(),
            name__lower=self.kwargs["job"].lower(),
        )
        return access.require(self.request, rows.select_related("collection", "action").defer("action__secrets"), role)


class Elsewhere(ArmView):
    """Any other address below /subscriptions: not there, in the form of the protocol."""

    def initial(self, request, *args, **kwargs):
        super().initial(request, *args, **kwargs)
        raise Http404


# Collections


class CollectionsOfSubscription(ArmView):
    def get(self, request, **kwargs):
        subscription = access.require(request, Subscription, pk=self.subscription_id)
        return page_of_collections(request, access.visible(request, JobCollection).filter(subscription=subscription))


class CollectionsOfGroup(ArmView):
    def get(self, request, **kwargs):
        subscription = access.require(request, Subscription, pk=self.subscription_id)
        rows = access.visible(request, JobCollection).filter(
            subscription=subscription, resource_group__lower=kwargs["group"].lower()
        )
        return page_of_collections(request, rows)


class Collection(SchedulerView):
    def get(self, request, **kwargs):
        collection = self.find_collection()
        return watched(answered(render_collection(collection), request=request), collection)

    def put(self, request, **kwargs):
        subscription = access.require(request, Subscription, Role.OPERATOR, pk=self.subscription_id)
        conditions = Conditions.of(request)
        document = Members(request.data, "")  # read before others have to wait
        with scheduling.writing_to(subscription.pk):
            named = JobCollection.objects.named(subscription.pk, kwargs["group"], kwargs["collection"])
            found = named.first()
            collection = scheduling.lock_collection(found.pk) if found else None
            conditions.refuse(collection and version_of(collection))
            collection = collection or JobCollection(
                subscription=subscription, resource_group=kwargs["group"], name=kwargs["collection"]
            )
            fill_collection(collection, document)
            created = scheduling.save_collection(collection, timezone.now())
        return answered(render_collection(collection), 201 if created else 200)

    def patch(self, request, **kwargs):
        found = self.find_collection(Role.OPERATOR)
        patch = Members(request.data, "")
        with meant_collection(request, found) as collection:
            refuse_other_id(patch, collection_id(collection))
            fill_collection(collection, Members(patched(collection, patch.value), ""))
            scheduling.save_collection(collection, timezone.now())
        return answered(render_collection(collection))

    def delete(self, request, **kwargs):
        return ordered(self, collection_orders.DELETE)


class CollectionState(SchedulerView):
    """Enable or disable: the collection's own state, which stops its jobs without changing theirs."""

    kind = ""

    def post(self, request, **kwargs):
        return ordered(self, self.kind)


def ordered(view: SchedulerView, kind: str) -> Response:
    request, collection = view.request, view.find_collection(Role.OPERATOR)
    return accepted(request, versions.ordered(request, kind, collection, caller_of(request), timezone.now()))


def answered(document: Mapping[str, Any], status: int = 200, request: Request | None = None) -> Response:
    """The resource; 304 for one that the caller, whose reading `request` is, has as it is."""
    return answer(document, document["etag"], status, request)


def watched(response: Response, collection: JobCollection) -> Response:
    """What was read of a collection, with when to read it again while it is on its way to another state."""
    if progress_of(collection) != DONE:
        response["Retry-After"] = str(RETRY_AFTER_S)
    return response


def patched(collection: JobCollection, patch: Mapping[str, Any]) -> object:
    """The collection's document with `patch` merged into it; tags alone are replaced, as the service did."""
    document = render_collection(collection)
    if "tags" in patch:
        document.pop("tags", None)
    return scheduling.merged(document, patch)


def fill_collection(collection: JobCollection, members: Members) -> None:
    """Give `collection` what the document says, and defaults for what it leaves out."""
    name = members.text("name", TAG_NAME_LIMIT)
    if name and name.lower() != collection.name.lower():
        members.refuse("name", f"must be {collection.name!r}, as in the address, not {shown(name)}")
    properties = members.members("properties") or Members({}, "properties")
    refuse_other_progress(properties)
    sku = properties.members("sku") or Members({}, "properties.sku")
    quota = properties.members("quota") or Members({}, "properties.quota")
    fastest = quota.members("maxRecurrence")
    location = members.text("location", LOCATION_LIMIT, PRINTABLE, "printable") or ""
    if display_name(location) != display_name(collection.location):  # the same place in another spelling is no change
        collection.location = location
    collection.tags = members.texts("tags", TAGS_LIMIT, TAG_NAME_LIMIT, TAG_LIMIT)
    collection.sku = sku.choice("name", Sku.values) or Sku.STANDARD
    collection.state = (properties.choice("state", COLLECTION_STATES) or "Enabled").lower()
    collection.max_job_count = quota.integer("maxJobCount", 0, NUMBER_LIMIT)
    collection.max_job_occurrence = quota.integer("maxJobOccurrence", 1, NUMBER_LIMIT)
    collection.max_recurrence_frequency = fastest.required_choice("frequency", Frequency.values) if fastest else None
    collection.max_recurrence_interval = fastest.integer("interval", 1, INTERVAL_LIMIT) if fastest else None


def render_collection(collection: JobCollection) -> dict[str, Any]:
    fastest = collection.max_recurrence_frequency and present(
        frequency=collection.max_recurrence_frequency.capitalize(), interval=collection.max_recurrence_interval
    )
    quota = present(
        maxJobCount=collection.max_job_count,
        maxJobOccurrence=collection.max_job_occurrence,
        maxRecurrence=fastest or None,
    )
    properties = present(
        sku={"name": collection.sku},
        state=collection.state.capitalize(),
        quota=quota or None,
        provisioningState=progress_of(collection),
    )
    document = present(
        id=collection_id(collection),
        type=f"{PROVIDER}/jobCollections",
        name=collection.name,
        location=display_name(collection.location) or None,
        tags=collection.tags,
        properties=properties,
    )
    return {**document, "etag": etag(version_of(collection), document)}


def progress_of(collection: JobCollection) -> str:
    return "Deleting" if collection.state == JobCollection.State.DELETED else DONE


def page_of_collections(request: Request, rows: QuerySet[JobCollection]) -> Response:
    rows = rows.order_by(Lower("resource_group"), Lower("name"))
    if token := request.query_params.get("$skiptoken"):
        group, slash, name = token.partition("/")
        if not slash or "\0" in token:
            raise wrong_token(token)
        rows = rows.filter(
            Q(resource_group__lower__gt=group) | Q(resource_group__lower=group, name__lower__gt=name),
            resource_group__lower__gte=group,
        )
    return page(request, rows, render_collection, lambda row: f"{row.resource_group}/{row.name}".lower())


# Jobs


class JobView(SchedulerView):
    body_limit = settings.JOB_BODY_LIMIT

    def handle_exception(self, exception):
        if isinstance(exception, JobError | WireError) and (exception.path or "").split(".")[0] in JOB_MEMBERS:
            exception.path = f"properties.{exception.path}"
        return super().handle_exception(exception)


class Jobs(SchedulerView):
    def get(self, request, **kwargs):
        collection = self.find_collection()
        rows = access.visible(request, Job).filter(collection=collection).order_by(Lower("name"))
        if state := filter_of(request, "state", [state.capitalize() for state in Job.State.values]):
            rows = rows.filter(state=state.lower())
        if token := request.query_params.get("$skiptoken"):
            if "\0" in token:
                raise wrong_token(token)
            rows = rows.filter(name__lower__gt=token)
        rows = rows.select_related("collection", "action").defer("action__secrets").prefetch_related("triggers")
        return watched(page(request, rows, render_job, lambda job: job.name.lower()), collection)


class OneJob(JobView):
    def get(self, request, **kwargs):
        job = self.find_job()
        return watched(answered(render_job(job), request=request), job.collection)

    def put(self, request, **kwargs):
        collection = self.find_collection(Role.OPERATOR)
        conditions = Conditions.of(request)
        properties = Members(request.data, "").required_members("properties")
        refuse_other_progress(properties)
        definition = scheduling.JobDefinition.of(properties.value)
        with transaction.atomic():
            scheduling.lock_collection(collection.pk)
            found = Job.objects.named(collection, kwargs["job"]).only("revision").first()
            conditions.refuse(found and version_of(found))
            job, created = scheduling.save_job(collection, kwargs["job"], definition, timezone.now())
        return answered(render_job(job), 201 if created else 200)

    def patch(self, request, **kwargs):
        job = self.find_job(Role.OPERATOR)
        patch = Members(request.data, "")
        refuse_other_id(patch, job_id(job))
        properties = patch.members("properties") or Members({}, "properties")
        if "status" in properties:
            properties.refuse("status", "is read only")
        refuse_other_progress(properties)
        changes = {name: properties.value[name] for name in JOB_MEMBERS if name in properties.value}
        if changes.get("state", "") is None:
            del changes["state"]  # a state cannot be removed
        with meant(request, job):
            job = scheduling.patch_job(job, changes, timezone.now())
        return answered(render_job(job))

    def delete(self, request, **kwargs):
        job = self.find_job(Role.OPERATOR)
        with meant(request, job):
            deleting.delete_job(job, timezone.now())
        return Response()


class JobRun(SchedulerView):
    def post(self, request, **kwargs):
        with meant(request, self.find_job(Role.OPERATOR)) as job:
            run_now(job, timezone.now())
        return Response()


def render_job(job: Job) -> dict[str, Any]:
    triggers = list(job.triggers.all())
    schedule = next((azure.render(each.definition) for each in triggers if each.name == MAIN), {})
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
    """None for a disabled job that has never run: the service left the whole object out."""
    if job.state == Job.State.DISABLED and not job.execution_count:
        return None
    return present(
        nextExecutionTime=next_fire_at and instant(next_fire_at),
        lastExecutionTime=job.last_execution_at and instant(job.last_execution_at),
        executionCount=job.execution_count,
        failureCount=job.failure_count,
        faultedCount=job.faulted_count,
    )


# History


class History(SchedulerView):
    def get(self, request, **kwargs):
        job = self.find_job()
        status = filter_of(request, "status", ATTEMPT_STATES)
        states = ATTEMPT_STATES[status] if status else tuple(STATUSES)
        rows = Attempt.objects.filter(job=job, state__in=states).select_related("run__parent")
        if token := request.query_params.get("$skiptoken"):
            started_at, number = place_of(token)
            rows = rows.filter(
                Q(started_at__lt=started_at) | Q(started_at=started_at, pk__lt=number), started_at__lte=started_at
            )
        return page(request, rows.order_by("-started_at", "-pk"), lambda attempt: render_attempt(attempt, job), key_of)


def render_attempt(attempt: Attempt, job: Job) -> dict[str, Any]:
    run, key = attempt.run, key_of(attempt)
    is_error_action = run.origin == Run.Origin.ERROR_ACTION
    return {
        "id": f"{job_id(job)}/history/{key}",
        "type": f"{PROVIDER}/jobCollections/jobs/history",
        "name": f"{job.collection.name}/{job.name}/{key}",
        "properties": present(
            startTime=instant(attempt.started_at),
            endTime=attempt.finished_at and instant(attempt.finished_at),
            expectedExecutionTime=instant(run.fire_at),
            actionName="ErrorAction" if is_error_action else "MainAction",
            status=STATUSES[Attempt.State(attempt.state)],
            message=message_of(attempt),
            retryCount=attempt.number - 1,
            repeatCount=run.parent.occurrence if is_error_action and run.parent else run.occurrence,
        ),
    }


def message_of(attempt: Attempt) -> str:
    """The sentence, then the headers and the beginning of the body that came back."""
    headers = "\r\n".join(f"{name}: {value}" for name, value in attempt.response_headers)
    message = f"{attempt.message} Response headers: {headers}" if headers else attempt.message
    return f"{message}\r\nBody: {attempt.response_body}" if attempt.response_body else message


# The key of an entry: its start and its number, both counted down so that the newest sorts first

FIRST_DAY = datetime(1, 1, 1, tzinfo=UTC)
LAST_TICK = 3_155_378_975_999_999_999  # of the year 9999, in units of 100 ns since the first day
KEY = re.compile(r"([0-9]{20}):([0-9]{20})")


def key_of(attempt: Attempt) -> str:
    ticks = (attempt.started_at - FIRST_DAY) // timedelta(microseconds=1) * 10
    return f"{LAST_TICK - ticks:020}:{LAST_TICK - attempt.pk:020}"


def place_of(key: str) -> tuple[datetime, int]:
    """The start and the number that a key stands for."""
    match = KEY.fullmatch(key)
    ticks, number = (LAST_TICK - int(part) for part in match.groups()) if match else (-1, -1)
    if ticks < 0 or number < 0:
        raise wrong_token(key)
    return FIRST_DAY + timedelta(microseconds=ticks // 10), number


# Lists


def page(
    request: Request, rows: QuerySet, render: Callable[[Any], dict[str, Any]], token_of: Callable[[Any], str]
) -> Response:
    """One page of `rows`; `token_of` says after which row the next one goes on."""
    top = number_of(request, "$top", 1, TOP_LIMIT)
    skip = number_of(request, "$skip", 0, NUMBER_LIMIT) or 0
    length = top or PAGE_LENGTH
    found = list(rows[skip : skip + length + 1])
    shown_rows = found[:length]
    has_more = len(found) > length and top is None
    return Response(
        {
            "value": [render(row) for row in shown_rows],
            "nextLink": next_link(request, token_of(shown_rows[-1])) if has_more else None,
        }
    )


def next_link(request: Request, token: str) -> str:
    query = {name: value for name, value in request.query_params.items() if name != "$skip"}
    address = f"{escape_uri_path(request.path)}?{urlencode({**query, '$skiptoken': token})}"
    return absolute(request, address)


def number_of(request: Request, name: str, low: int, high: int) -> int | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,10}", text) or not low <= int(text) <= high:
        raise WrongQuery(name, f"must be a whole number, {low} to {high}, not {shown(text)}")
    return int(text)


def filter_of(request: Request, member: str, values: Mapping[str, Any] | list[str]) -> str | None:
    """The value that `$filter` asks `member` to have, in its own spelling; None without a filter.

    The grammar has one sentence: the member, `eq`, and a value, in any case and with or without quotes.
    """
    text = request.query_params.get("$filter")
    if text is None:
        return None
    if len(text) <= FILTER_LIMIT and (
        match := re.fullmatch(rf"\s*{member}\s+eq\s+('?)([a-z]+)\1\s*", text, re.IGNORECASE)
    ):
        for value in values:
            if value.lower() == match[2].lower():
                return value
    raise WrongQuery("$filter", f"must be `{member} eq` one of {', '.join(values)}, not {shown(text)}")


def wrong_token(token: str) -> WrongQuery:
    return WrongQuery("$skiptoken", f"does not come from a nextLink of this list: {shown(token)}")


# Names and values


def collection_id(collection: JobCollection) -> str:
    group = f"/subscriptions/{collection.subscription_id}/resourceGroups/{collection.resource_group}"
    return f"{group}/providers/{PROVIDER}/jobCollections/{collection.name}"


def job_id(job: Job) -> str:
    return f"{collection_id(job.collection)}/jobs/{job.name}"


def refuse_other_id(members: Members, own: str) -> None:
    sent = members.value.get("id")
    if sent is not None and (not isinstance(sent, str) or sent.lower() != own.lower()):
        members.refuse("id", f"must be the address's own, {own}, or left out")


def refuse_other_progress(properties: Members) -> None:
    """Raise Invalid for a provisioningState that is not the server's: what can be written is in none but DONE."""
    sent = properties.text("provisioningState", NAME_LENGTH)
    if sent is not None and sent.lower() != DONE.lower():
        properties.refuse("provisioningState", f"must be {DONE}, as it is here, or left out, not {shown(sent)}")


def instant(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def present(**members: object) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


# Addresses

GROUP = f"{SUBSCRIPTION}/resourceGroups/(?P<group>[^/]+)"
COLLECTION = f"{GROUP}/providers/{PROVIDER}/jobCollections/(?P<collection>[^/]+)"
JOB = f"{COLLECTION}/jobs/(?P<job>[^/]+)"


urlpatterns = [
    address(f"{SUBSCRIPTION}/providers/{PROVIDER}/jobCollections", CollectionsOfSubscription.as_view()),
    address(f"{GROUP}/providers/{PROVIDER}/jobCollections", CollectionsOfGroup.as_view()),
    address(COLLECTION, Collection.as_view()),
    address(f"{COLLECTION}/enable", CollectionState.as_view(kind=collection_orders.ENABLE)),
    address(f"{COLLECTION}/disable", CollectionState.as_view(kind=collection_orders.DISABLE)),
    address(f"{COLLECTION}/jobs", Jobs.as_view()),
    address(JOB, OneJob.as_view()),
    address(f"{JOB}/run", JobRun.as_view()),
    address(f"{JOB}/history", History.as_view()),
    address("subscriptions(/.*)?", Elsewhere.as_view()),
]
