"""Announced maintenance as machines poll and approve it: `/metadata/scheduledevents`, in seven versions.

Source: the published contract of Scheduled Events.  Where it is silent, this is how it stands here:

* A caller is a resource by its token, in the header or in the path; or somebody with an account, who looks through the
  eyes of the resource that `?resource=` or `X-Scheduler-Resource` names, and without a name at everything.
* An approval of something that has started or ended is 200 and changes nothing.  An id that the caller is not shown
  refuses the whole body.  An empty list of requests is 200.  The answer is the caller's document.
* Resources have their plain names at every version, `NotBefore` is RFC 1123 at every version, and an error is a string.
"""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db.models import Q, Sum
from django.http import Http404
from django.utils import timezone
from django.utils.http import http_date
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import APIException, AuthenticationFailed, NotAuthenticated, Throttled
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import access
from accounts.authentication import BasicAuthentication, BearerAuthentication, credentials_of
from accounts.limits import Limit
from accounts.models import Role, Subscription, digest_of
from maintenance.lifecycle import advance, approve
from maintenance.models import FIRST_INCARNATION, EventType, Notice, Resource, View
from operations.resource_manager import AlwaysJson, address

VERSIONS = ("2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01")
NEWEST_VERSIONS = VERSIONS[:-4:-1]
SINCE = {  # the version from which a member, or an event of a type, is shown
    "Description": "2019-04-01",
    "EventSource": "2019-08-01",
    "DurationInSeconds": "2020-07-01",
    EventType.PREEMPT: "2017-11-01",
    EventType.TERMINATE: "2019-01-01",
}
FIRST_VERSION = VERSIONS[0]
RESOURCE_TYPE = "VirtualMachine"  # the only one that clients know
RESOURCE_HEADER = "X-Scheduler-Resource"
SEEN_EVERY_S = 5  # the precision of `last_seen_at`
BODY_LIMIT = 64 * 1024
REQUESTS_LIMIT = 1000


class Wrong(APIException):
    """A request that the contract refuses."""

    status_code = 400


class ResourceAuthentication(BaseAuthentication):
    """`Authorization: Bearer` with the token of a resource; `request.auth` is the Resource."""

    def authenticate(self, request):
        text = credentials_of(request, b"bearer")
        resource = resource_with(text) if text else None
        return None if resource is None else (None, resource)


def resource_with(token: str) -> Resource | None:
    return Resource.objects.filter(digest=digest_of(token)).first()


@dataclass(frozen=True, slots=True)
class Sight:
    """What a caller is shown: the notices of a resource's view, or of whole subscriptions."""

    subscriptions: tuple[uuid.UUID, ...]
    resource: Resource | None = None

    @property
    def notices(self):
        rows = Notice.objects.filter(subscription__in=self.subscriptions)
        if self.resource is None:
            return rows
        mine = Q(pk=self.resource.pk)
        if self.resource.scope_group:
            mine |= Q(subscription=self.resource.subscription_id, scope_group=self.resource.scope_group)
        return rows.filter(resources__in=Resource.objects.filter(mine)).distinct()

    def incarnation(self) -> int:
        key = self.resource.view if self.resource else View.EVERYTHING
        counted = View.objects.filter(subscription__in=self.subscriptions, key=key)
        return counted.aggregate(sum=Sum("incarnation"))["sum"] or FIRST_INCARNATION


class ScheduledEvents(APIView):
    schema = None  # the protocol is described by whoever defined it
    authentication_classes = [ResourceAuthentication, BearerAuthentication, BasicAuthentication]
    permission_classes: Sequence[type] = []
    throttle_classes: Sequence[type] = []
    parser_classes: Sequence[type] = []  # of whatever type it says to be, a body is JSON
    content_negotiation_class = AlwaysJson
    http_method_names = ["get", "post"]

    def get(self, request: Request, token: str | None = None) -> Response:
        now = timezone.now()
        return Response(document(self.sight(request, token, Role.READER, now), self.version, now))

    def post(self, request: Request, token: str | None = None) -> Response:
        now = timezone.now()
        sight = self.sight(request, token, Role.OPERATOR, now)
        ids = requested(request._request.body)
        advance(now)
        shown = {notice.pk: notice for notice in sight.notices.filter(pk__in=ids)}
        for each in ids:
            if each not in shown:
                raise Wrong(f"no event {str(each).upper()} is known here")
        if sight.resource:
            approve(shown.values(), f"resource {sight.resource.name}", now, resource=sight.resource)
        else:
            approve(shown.values(), f"{request.user}", now, user=request.user)
        return Response(document(sight, self.version, now))

    def initial(self, request, *args, **kwargs):
        refuse_forwarded(request)
        query = request.query_params
        for name in query:
            if len(query.getlist(name)) > 1:
                raise Wrong(f"the query parameter {name!r:.80} is given more than once")
        self.version = query.get("api-version", "")
        is_first_post = request.method == "POST" and self.version == FIRST_VERSION
        given = request.headers.get("Metadata")
        if (given is None and not is_first_post) or (given is not None and given.strip().lower() != "true"):
            raise Wrong("Bad request. Required metadata header not specified")
        if self.version not in VERSIONS:
            raise Wrong("Bad request. api-version is missing or not supported", "version")
        super().initial(request, *args, **kwargs)

    def sight(self, request, token: str | None, role: Role, now: datetime) -> Sight:
        """Who asks.  Raises the refusals of the contract."""
        name = request.query_params.get("resource") or request.headers.get(RESOURCE_HEADER)
        own = resource_with(token) if token else request.auth if isinstance(request.auth, Resource) else None
        if token and own is None:
            raise AuthenticationFailed("this token is unknown or revoked")
        if own is None and not (request.user and request.user.is_authenticated):
            raise NotAuthenticated("say who asks: by the token of a resource, or as somebody with an account")
        self.limit(f"resource {own.pk}" if own else f"user {request.user.pk} {name}", now)
        if own is not None:
            if name and name != own.name:
                raise PermissionDenied("this token is another resource's")
            seen(own, now)
            return Sight((own.subscription_id,), own)
        if role > access.highest_role(request):
            raise PermissionDenied(f"this takes the role of {role.label}")
        subscriptions = tuple(access.visible(request, Subscription, role).values_list("pk", flat=True))
        if not name:
            return Sight(subscriptions)
        named = list(Resource.objects.filter(subscription__in=subscriptions, name=name)[:2])
        if not named:
            raise Http404
        if len(named) > 1:
            raise Wrong(f"several subscriptions have a resource {name!r:.80}: use its token")
        return Sight((named[0].subscription_id,), named[0])

    def limit(self, origin: str, now: datetime) -> None:
        limit = Limit("metadata", settings.METADATA_REQUESTS_PER_SECOND, 1)
        if limit.most and limit.count(origin, now) > limit.most:
            raise Throttled(1, "too many requests")

    def handle_exception(self, exception):
        response = super().handle_exception(exception)
        body: dict[str, Any] = {"error": response.data["error"]["message"]}
        if isinstance(exception, Wrong) and exception.detail.code == "version":
            body["newest-versions"] = list(NEWEST_VERSIONS)
        response.data = body
        return response


def refuse_forwarded(request) -> None:
    """Refuse what came over more proxies than the settings know of: somebody may be asking for somebody else."""
    forwarded = request.headers.get("X-Forwarded-For")
    if forwarded and len(forwarded.split(",")) > settings.PROXIES:
        raise Wrong("Bad request. X-Forwarded-For is not allowed")


def requested(body: bytes) -> list[uuid.UUID]:
    """The ids of the events that a body approves."""
    if len(body) > BODY_LIMIT:
        raise Wrong(f"the body must have at most {BODY_LIMIT} bytes")
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        raise Wrong("the body must be JSON") from None
    requests = document.get("StartRequests") if isinstance(document, dict) else None
    if not isinstance(requests, list) or len(requests) > REQUESTS_LIMIT:
        raise Wrong(f"StartRequests must be a list of at most {REQUESTS_LIMIT} requests")
    return [id_of(each) for each in requests]


def id_of(request: object) -> uuid.UUID:
    given = request.get("EventId") if isinstance(request, dict) else None
    try:
        if not isinstance(given, str) or len(given) != 36:
            raise ValueError
        return uuid.UUID(given)
    except ValueError:
        raise Wrong("each of StartRequests must have an EventId that is a GUID") from None


def document(sight: Sight, version: str, now: datetime) -> dict[str, Any]:
    """What the caller is shown.  The number is read before and after the events, so that both tell the same."""
    advance(now)
    before = None
    while before != (incarnation := sight.incarnation()):
        before = incarnation
        shown = list(sight.notices.shown().prefetch_related("affected"))
    events = [event_of(notice, version) for notice in shown if SINCE.get(notice.event_type, "") <= version]
    return {"DocumentIncarnation": incarnation, "Events": events}


def event_of(notice: Notice, version: str) -> dict[str, Any]:
    event: dict[str, Any] = {
        "EventId": str(notice.pk).upper(),
        "EventStatus": notice.status.capitalize(),
        "EventType": notice.event_type,
        "ResourceType": RESOURCE_TYPE,
        "Resources": [each.name for each in notice.affected.all()],
        "NotBefore": http_date(notice.not_before.timestamp()) if notice.status == Notice.Status.SCHEDULED else "",
        "Description": notice.description,
        "EventSource": notice.source,
        "DurationInSeconds": notice.duration_s,
    }
    return {name: value for name, value in event.items() if SINCE.get(name, "") <= version}


def seen(resource: Resource, now: datetime) -> None:
    if resource.last_seen_at is None or (now - resource.last_seen_at).total_seconds() >= SEEN_EVERY_S:
        Resource.objects.filter(pk=resource.pk).update(last_seen_at=now)


PATH = "metadata/scheduledevents/?"

urlpatterns = [
    address(PATH, ScheduledEvents.as_view()),
    address(f"r/(?P<token>[^/]+)/{PATH}", ScheduledEvents.as_view()),
]
