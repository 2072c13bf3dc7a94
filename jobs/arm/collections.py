"""Job collections: read and write them, and start operations that delete, enable or disable them."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Lower
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import access
from accounts.models import Role, Subscription
from api.conditional import Conditions, etag, respond
from api.json_object import PRINTABLE, JsonObject, shorten_repr
from jobs.api.conditional_writes import get_collection_if_match, start_collection_operation, version_of
from jobs.arm.lists import NUMBER_LIMIT, page, wrong_token
from jobs.arm.resources import DONE, SchedulerView, present, refuse_other_id, refuse_other_progress
from jobs.azure_regions import display_name
from jobs.models import Frequency, JobCollection, Sku
from jobs.plans import choosing_plan
from jobs.quotas import RECURRENCE_INTERVAL_LIMIT
from operations.arm import RETRY_AFTER_S, accepted_response
from operations.arm_base import PROVIDER, ArmView, caller_of, parameter
from triggers import collection_operations, definitions, scheduling

LOCATION_LIMIT = 64
TAGS_LIMIT, TAG_NAME_LIMIT, TAG_LIMIT = 50, 512, 256

COLLECTION_STATES = ("Enabled", "Disabled", "Suspended")


class CollectionsOfSubscription(ArmView):
    def get(self, request, **kwargs):
        subscription = access.require_role(request, Subscription, pk=self.subscription_id)
        return page_of_collections(
            request, access.visible_rows(request, JobCollection).filter(subscription=subscription)
        )


class CollectionsOfGroup(ArmView):
    def get(self, request, **kwargs):
        subscription = access.require_role(request, Subscription, pk=self.subscription_id)
        rows = access.visible_rows(request, JobCollection).filter(
            subscription=subscription, resource_group__lower=kwargs["group"].lower()
        )
        return page_of_collections(request, rows)


class Collection(SchedulerView):
    def get(self, request, **kwargs):
        collection = self.find_collection()
        return progress_headers(operation_response(render_collection(collection), request=request), collection)

    def put(self, request, **kwargs):
        subscription = access.require_role(request, Subscription, Role.OPERATOR, pk=self.subscription_id)
        conditions = Conditions.from_request(request)
        document = JsonObject(request.data, "")  # parsed before the lock, so that other requests do not wait for it
        with scheduling.locked_for_write(subscription.pk):
            rows = JobCollection.objects.named(subscription.pk, kwargs["group"], kwargs["collection"])
            found = rows.first()
            collection = scheduling.lock_collection(found.pk) if found else None
            conditions.refuse(collection and version_of(collection))
            collection = collection or JobCollection(
                subscription=subscription, resource_group=kwargs["group"], name=kwargs["collection"]
            )
            with choosing_plan(request, collection):
                fill_collection(collection, document)
            created = scheduling.save_collection(collection, timezone.now())
        return operation_response(render_collection(collection), 201 if created else 200)

    def patch(self, request, **kwargs):
        found = self.find_collection(Role.OPERATOR)
        patch = JsonObject(request.data, "")
        with get_collection_if_match(request, found) as collection:
            refuse_other_id(patch, collection_id(collection))
            with choosing_plan(request, collection):
                fill_collection(collection, JsonObject(apply_patch(collection, patch.value), ""))
            scheduling.save_collection(collection, timezone.now())
        return operation_response(render_collection(collection))

    def delete(self, request, **kwargs):
        return start_operation(self, collection_operations.DELETE)


class CollectionState(SchedulerView):
    """Enable or disable a collection.

    A disabled collection stops its jobs, but does not change the states of the jobs themselves.
    """

    kind = ""

    def post(self, request, **kwargs):
        return start_operation(self, self.kind)


class Enabling(CollectionState):
    kind = collection_operations.ENABLE


class Disabling(CollectionState):
    kind = collection_operations.DISABLE


def start_operation(view: SchedulerView, kind: str) -> Response:
    request, collection = view.request, view.find_collection(Role.OPERATOR)
    return accepted_response(
        request,
        start_collection_operation(request, kind, collection, caller_of(request), timezone.now()),
    )


def operation_response(document: Mapping[str, Any], status: int = 200, request: Request | None = None) -> Response:
    """Return the document with its ETag.  For a GET, pass `request`: 304 if its If-None-Match names the tag."""
    return respond(document, document["etag"], status, request)


def progress_headers(response: Response, collection: JobCollection) -> Response:
    """Add `Retry-After` to the response while the collection is being deleted."""
    if progress_of(collection) != DONE:
        response["Retry-After"] = str(RETRY_AFTER_S)
    return response


def apply_patch(collection: JobCollection, patch: Mapping[str, Any]) -> object:
    """Return the collection's document with `patch` merged into it.

    Only tags are replaced as a whole, as the original service did.
    """
    document = render_collection(collection)
    if "tags" in patch:
        document.pop("tags", None)
    return definitions.merge_patch(document, patch)


def fill_collection(collection: JobCollection, members: JsonObject) -> None:
    """Set the fields of `collection` from the document. A member that is left out gets its default."""
    name = members.text("name", TAG_NAME_LIMIT)
    if name and name.lower() != collection.name.lower():
        members.refuse("name", f"must be {collection.name!r}, as in the address, not {shorten_repr(name)}")
    properties = members.members("properties") or JsonObject({}, "properties")
    refuse_other_progress(properties)
    sku = properties.members("sku") or JsonObject({}, "properties.sku")
    quota = properties.members("quota") or JsonObject({}, "properties.quota")
    fastest = quota.members("maxRecurrence")
    location = members.text("location", LOCATION_LIMIT, PRINTABLE, "printable") or ""
    if display_name(location) != display_name(collection.location):  # the same region written differently is no change
        collection.location = location
    collection.tags = members.texts("tags", TAGS_LIMIT, TAG_NAME_LIMIT, TAG_LIMIT)
    collection.sku = sku.choice("name", Sku.values) or Sku.STANDARD
    collection.state = (properties.choice("state", COLLECTION_STATES) or "Enabled").lower()
    collection.max_job_count = quota.integer("maxJobCount", 0, NUMBER_LIMIT)
    collection.max_job_occurrence = quota.integer("maxJobOccurrence", 1, NUMBER_LIMIT)
    collection.max_recurrence_frequency = fastest.required_choice("frequency", Frequency.values) if fastest else None
    collection.max_recurrence_interval = fastest.integer("interval", 1, RECURRENCE_INTERVAL_LIMIT) if fastest else None


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
    if token := parameter(request, "$skiptoken"):
        group, slash, name = token.partition("/")
        if not slash or "\0" in token:
            raise wrong_token(token)
        rows = rows.filter(
            Q(resource_group__lower__gt=group) | Q(resource_group__lower=group, name__lower__gt=name),
            resource_group__lower__gte=group,
        )
    return page(request, rows, lambda found: list(map(render_collection, found)), token_of)


def token_of(collection: JobCollection) -> str:
    return f"{collection.resource_group}/{collection.name}".lower()


def collection_id(collection: JobCollection) -> str:
    group = f"/subscriptions/{collection.subscription_id}/resourceGroups/{collection.resource_group}"
    return f"{group}/providers/{PROVIDER}/jobCollections/{collection.name}"
