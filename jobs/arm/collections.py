"""Job collections: read, written, and ordered to be deleted, enabled or disabled."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Lower
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import access
from accounts.models import Role, Subscription
from jobs.api import versions
from jobs.api.versions import Conditions, answer, etag, meant_collection, version_of
from jobs.arm.lists import NUMBER_LIMIT, page, wrong_token
from jobs.arm.resources import DONE, SchedulerView, present, refuse_other_id, refuse_other_progress
from jobs.locations import display_name
from jobs.members import PRINTABLE, Members, shown
from jobs.models import Frequency, JobCollection, Sku
from operations.arm import RETRY_AFTER_S, accepted
from operations.resource_manager import PROVIDER, ArmView, caller_of, parameter
from triggers import collection_orders, definitions, scheduling

INTERVAL_LIMIT = 1000
LOCATION_LIMIT = 64
TAGS_LIMIT, TAG_NAME_LIMIT, TAG_LIMIT = 50, 512, 256

COLLECTION_STATES = ("Enabled", "Disabled", "Suspended")


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


class Enabling(CollectionState):
    kind = collection_orders.ENABLE


class Disabling(CollectionState):
    kind = collection_orders.DISABLE


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
    return definitions.merged(document, patch)


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
    if token := parameter(request, "$skiptoken"):
        group, slash, name = token.partition("/")
        if not slash or "\0" in token:
            raise wrong_token(token)
        rows = rows.filter(
            Q(resource_group__lower__gt=group) | Q(resource_group__lower=group, name__lower__gt=name),
            resource_group__lower__gte=group,
        )
    return page(request, rows, render_collection, lambda row: f"{row.resource_group}/{row.name}".lower())


def collection_id(collection: JobCollection) -> str:
    group = f"/subscriptions/{collection.subscription_id}/resourceGroups/{collection.resource_group}"
    return f"{group}/providers/{PROVIDER}/jobCollections/{collection.name}"
