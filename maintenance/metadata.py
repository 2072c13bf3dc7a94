"""Announced maintenance as machines poll and approve it: `/metadata/scheduledevents`, in seven versions.

Source: the published contract of Scheduled Events.  Where it is silent, this is how it stands here:

* A caller is a resource by its token, in the header or in the path `/r/<token>/metadata/scheduledevents`; or somebody
  with an account, who looks through the eyes of the resource that `?resource=` or `X-Scheduler-Resource` names, and
  without a name at everything.
* An approval of something that has started or ended is 200 and changes nothing.  An id that the caller is not shown
  refuses the whole body.  An empty list of requests is 200.  The answer is the caller's document.
* Resources have their plain names at every version, `NotBefore` is RFC 1123 at every version, and an error is a string.
* It is answered under whatever name or address it was called, also without TLS, and never with a redirect: the clients
  follow none (see `scheduler_site.middleware`).
"""

import json
import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils import timezone
from django.utils.http import http_date
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import APIException, AuthenticationFailed, MethodNotAllowed, NotAuthenticated, Throttled
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.access import require, visible
from accounts.authentication import REALM, BasicAuthentication, BearerAuthentication, credentials_of
from accounts.limits import Limit
from accounts.models import ApiToken, Role, Subscription, digest_of
from maintenance import lifecycle
from maintenance.models import EventType, Notice, Resource
from maintenance.sights import Sight
from operations.resource_manager import GUID, AlwaysJson, address

VERSIONS = ("2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01")
NEWEST_VERSIONS = VERSIONS[:-4:-1]
SINCE = {  # the version from which a member, or an event of a type, is shown
    "Description": "2019-04-01",
    "EventSource": "2019-08-01",
    "DurationInSeconds": "2020-07-01",
    EventType.PREEMPT: "2017-11-01",
    EventType.TERMINATE: "2019-01-01",
}
WITHOUT_HEADER = ("POST", "2017-03-01")  # the official sample of that year approves without the metadata header
RESOURCE_TYPE = "VirtualMachine"  # the only one that clients know
RESOURCE_HEADER = "X-Scheduler-Resource"
SEEN_EVERY_S = 5  # the precision of `last_seen_at`
REQUESTS_LIMIT = 1000


class Wrong(APIException):
    """A request that the contract refuses."""

    status_code = 400


class WrongVersion(Wrong):
    default_detail = "Bad request. api-version is missing or not supported"


class ResourceAuthentication(BaseAuthentication):
    """The token of a resource, as a bearer or in the path; `request.auth` is the Resource, and there is no user."""

    def authenticate(self, request):
        bearer, in_path = credentials_of(request, b"bearer"), getattr(request._request, "path_token", None)
        own = resource_with(bearer) if bearer else None
        if in_path is not None:
            named = resource_with(in_path)
            if own and named and own != named:
                raise PermissionDenied("the token in the path is another resource's")
            if named is None:
                raise AuthenticationFailed("the token in the path is unknown or revoked")
            return None, named
        if own is None and bearer and not ApiToken.objects.matching(bearer, timezone.now()):
            # not counted as a failure to log in: a machine goes on polling with a token that was revoked,
            # and is not to lock out the people behind the same address
            raise AuthenticationFailed("this token is unknown, expired or revoked")
        return own and (None, own)

    def authenticate_header(self, request) -> str:
        return f'Bearer realm="{REALM}"'


def resource_with(token: str) -> Resource | None:
    return Resource.objects.filter(digest=digest_of(token)).first()


class ScheduledEvents(APIView):
    schema = None  # the protocol is described by whoever defined it
    authentication_classes = [ResourceAuthentication, BearerAuthentication, BasicAuthentication]
    permission_classes: Sequence[type] = []
    throttle_classes: Sequence[type] = []
    parser_classes: Sequence[type] = []  # of whatever type it says to be, a body is JSON
    content_negotiation_class = AlwaysJson
    http_method_names = ["get", "post"]

    def get(self, request: Request) -> Response:
        now = timezone.now()
        return self.document(self.sight(now), now)

    def post(self, request: Request) -> Response:
        now = timezone.now()
        sight = self.sight(now)
        ids = requested(request._request.body)
        known = sight.known(ids)
        for each in ids:
            if each not in known:
                raise Wrong(f"no event {str(each).upper()} is known here")
        self.approve(list(known.values()), now)
        return self.document(sight, now)

    def initial(self, request, *args, **kwargs):
        if request.method.lower() not in self.http_method_names:
            raise MethodNotAllowed(request.method)
        refuse_forwarded(request)
        query = request.query_params
        for name in query:
            if len(query.getlist(name)) > 1:
                raise Wrong(f"the query parameter {name!r:.80} is given more than once")
        self.version = query.get("api-version", "")
        given = request.headers.get("Metadata")
        if given is None and (request.method, self.version) == WITHOUT_HEADER:
            given = "true"
        if given is None or given.strip().lower() != "true":
            raise Wrong("Bad request. Required metadata header not specified")
        if self.version not in VERSIONS:
            raise WrongVersion
        super().initial(request, *args, **kwargs)

    def sight(self, now: datetime) -> Sight:
        """Who asks, and what they are shown.  Raises the refusals of the contract."""
        request, name = self.request, self.resource_named()
        if isinstance(request.auth, Resource):
            limit(f"resource {request.auth.pk}", now)
            if name is not None and name != request.auth.name:
                raise PermissionDenied("this token is another resource's")
            note_poll(request.auth, now)
            return Sight.of(request.auth)
        if not request.user.is_authenticated:
            raise NotAuthenticated("say who asks: by the token of a resource, or as somebody with an account")
        limit(f"user {request.user.pk} {name}", now)
        if name is not None:
            return Sight.of(self.find_resource(name))
        subscriptions = tuple(visible(request, Subscription).values_list("pk", flat=True))
        if not subscriptions:
            raise PermissionDenied("you are a member of no subscription")
        return Sight(subscriptions, user=request.user)

    def resource_named(self) -> str | None:
        """The name in the query or the header; an empty one, of a variable that was not set, is not none."""
        named = {self.request.query_params.get("resource"), self.request.headers.get(RESOURCE_HEADER)} - {None}
        if len(named) > 1:
            raise Wrong("the query and the header name different resources")
        if "" in named:
            raise Wrong("the name of the resource is empty")
        return named.pop() if named else None

    def find_resource(self, name: str) -> Resource:
        found = [] if "\0" in name else list(visible(self.request, Resource).filter(name=name)[:2])
        if not found:
            raise Http404
        if len(found) > 1:
            raise Wrong(f"several subscriptions have a resource {name!r:.80}: use its token")
        return found[0]

    def approve(self, notices: list[Notice], now: datetime) -> None:
        resource = self.request.auth if isinstance(self.request.auth, Resource) else None
        if resource is None:
            for subscription in {notice.subscription_id for notice in notices}:
                require(self.request, Subscription, Role.OPERATOR, pk=subscription)
        if resource is not None:
            lifecycle.approve(notices, f"resource {resource.name}", now, resource=resource)
        else:
            lifecycle.approve(notices, str(self.request.user), now, user=self.request.user)

    def document(self, sight: Sight, now: datetime) -> Response:
        lifecycle.advance(now, sight.notices)
        incarnation, notices = sight.read()
        events = [rendered(notice, self.version) for notice in notices if is_shown(notice.event_type, self.version)]
        return Response({"DocumentIncarnation": incarnation, "Events": events}, headers={"Cache-Control": "no-store"})

    def handle_exception(self, exception):
        response = super().handle_exception(exception)
        body: dict[str, Any] = {"error": response.data["error"]["message"]}
        if isinstance(exception, WrongVersion):
            body["newest-versions"] = list(NEWEST_VERSIONS)
        response.data = body
        return response


def refuse_forwarded(request: Request) -> None:
    """Refuse what came over more proxies than the settings know of: somebody may be asking for somebody else."""
    forwarded = request.headers.get("X-Forwarded-For")
    if forwarded is not None and len(forwarded.split(",")) > settings.PROXIES:
        raise Wrong("Bad request. X-Forwarded-For is not allowed")


def limit(origin: str, now: datetime) -> None:
    most = Limit("metadata", settings.METADATA_REQUESTS_PER_SECOND, 1)
    if most.most and most.count(origin, now) > most.most:
        raise Throttled(1, "too many requests.")


def note_poll(resource: Resource, now: datetime) -> None:
    if resource.last_seen_at is None or (now - resource.last_seen_at).total_seconds() >= SEEN_EVERY_S:
        Resource.objects.filter(pk=resource.pk).update(last_seen_at=now)


def requested(body: bytes) -> list[uuid.UUID]:
    """The ids of the events that a body approves."""
    try:
        document = json.loads(body, parse_int=float)  # no number means anything here, however long it is
    except (ValueError, RecursionError):
        raise Wrong("the body must be JSON") from None
    requests = document.get("StartRequests") if isinstance(document, dict) else None
    if not isinstance(requests, list) or len(requests) > REQUESTS_LIMIT:
        raise Wrong(f"StartRequests must be a list of at most {REQUESTS_LIMIT} requests")
    return [event_id_of(each) for each in requests]


def event_id_of(request: object) -> uuid.UUID:
    given = request.get("EventId") if isinstance(request, dict) else None
    if not isinstance(given, str) or not GUID.fullmatch(given):
        raise Wrong("each of StartRequests must have an EventId that is a GUID")
    return uuid.UUID(given)


def rendered(notice: Notice, version: str) -> dict[str, Any]:
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
    return {member: value for member, value in event.items() if is_shown(member, version)}


def is_shown(name: str, version: str) -> bool:
    """Whether a version knows the member, or events of the type."""
    return SINCE.get(name, "") <= version


urlpatterns = [address("metadata/scheduledevents", ScheduledEvents.as_view())]
