"""Announced maintenance as machines poll and approve it: `/metadata/scheduledevents`, in seven versions.

Source: the published contract of Scheduled Events.  Where the contract says nothing, these rules hold:

* A resource signs in with its token, in the header or in the path `/r/<token>/metadata/scheduledevents`.  A person
  signs in with an account.  A person sees what the resource sees that `?resource=` or `X-Scheduler-Resource` names,
  and without a name everything.
* An approval of a notice that has started or ended is answered with 200 and changes nothing.  One id that the caller is
  not shown makes the whole body refused.  An empty list of requests is answered with 200.  The answer to an approval
  is the caller's document.
* At every version, resources have their plain names, `NotBefore` is RFC 1123, and an error is a string.
* The endpoint answers under every host name and address, also without TLS, and never with a redirect, because the
  clients follow no redirects (see `scheduler_site.middleware`).
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

from accounts.access import only_default, require_role, visible_rows
from accounts.authentication import REALM, BasicAuthentication, BearerAuthentication, credentials_of
from accounts.models import ApiToken, Role, Subscription, digest_of
from accounts.rate_limits import RateLimit
from maintenance import lifecycle
from maintenance.models import EventType, Notice, Resource
from maintenance.visibility import EventFeed
from operations.arm_base import GUID, JsonOnlyNegotiation, address

VERSIONS = ("2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01")
NEWEST_VERSIONS = VERSIONS[:-4:-1]
SINCE = {  # the version from which a member, or an event of a type, is shown
    "Description": "2019-04-01",
    "EventSource": "2019-08-01",
    "DurationInSeconds": "2020-07-01",
    EventType.PREEMPT: "2017-11-01",
    EventType.TERMINATE: "2019-01-01",
}
WITHOUT_HEADER = ("POST", "2017-03-01")  # the official sample of that version approves without the metadata header
RESOURCE_TYPE = "VirtualMachine"  # the only type that clients know
RESOURCE_HEADER = "X-Scheduler-Resource"
SEEN_EVERY_S = 5  # `last_seen_at` is written at most once in this time
REQUESTS_LIMIT = 1000


class BadMetadataRequest(APIException):
    """A request that the contract refuses."""

    status_code = 400


class UnsupportedVersion(BadMetadataRequest):
    default_detail = "Bad request. api-version is missing or not supported"


class ResourceAuthentication(BaseAuthentication):
    """Sign in with the token of a resource, as a bearer token or in the path.

    Then `request.auth` is the Resource, and there is no user.
    """

    def authenticate(self, request):
        bearer, path_token = credentials_of(request, b"bearer"), request._request.path_secret
        by_bearer = resource_with(bearer) if bearer else None
        if path_token is not None:
            by_path = resource_with(path_token)
            if by_bearer and by_path and by_bearer != by_path:
                raise PermissionDenied("the token in the path is another resource's")
            if by_path is None:
                raise AuthenticationFailed("the token in the path is unknown or revoked")
            return None, by_path
        if by_bearer is None and bearer and not ApiToken.objects.matching(bearer, timezone.now()):
            # does not count as a failed login: a machine goes on polling with a revoked token, and must not lock out
            # the people behind the same address
            raise AuthenticationFailed("this token is unknown, expired or revoked")
        return by_bearer and (None, by_bearer)

    def authenticate_header(self, request) -> str:
        return f'Bearer realm="{REALM}"'


def resource_with(token: str) -> Resource | None:
    return Resource.objects.filter(digest=digest_of(token)).first()


class ScheduledEvents(APIView):
    schema = None  # not in our OpenAPI schema: the protocol is described by its owner
    authentication_classes = [ResourceAuthentication, BearerAuthentication, BasicAuthentication]
    permission_classes: Sequence[type] = []
    throttle_classes: Sequence[type] = []
    parser_classes: Sequence[type] = []  # every body is read as JSON, whatever its Content-Type
    content_negotiation_class = JsonOnlyNegotiation
    http_method_names = ["get", "post"]

    def get(self, request: Request) -> Response:
        return self.document(self.event_feed(timezone.now()))

    def post(self, request: Request) -> Response:
        now = timezone.now()
        feed = self.event_feed(now)
        ids = parse_start_requests(request._request.body)
        notices = feed.find_notices(ids)
        for each in ids:
            if each not in notices:
                raise BadMetadataRequest(f"no event {str(each).upper()} is known here")
        self.approve(list(notices.values()), now)
        return self.document(feed)

    def initial(self, request, *args, **kwargs):
        if request.method.lower() not in self.http_method_names:
            raise MethodNotAllowed(request.method)
        refuse_forwarded(request)
        query = request.query_params
        for name in query:
            if len(query.getlist(name)) > 1:
                raise BadMetadataRequest(f"the query parameter {name!r:.80} is given more than once")
        self.version = query.get("api-version", "")
        header = request.headers.get("Metadata")
        if header is None and (request.method, self.version) == WITHOUT_HEADER:
            header = "true"
        if header is None or header.strip().lower() != "true":
            raise BadMetadataRequest("Bad request. Required metadata header not specified")
        if self.version not in VERSIONS:
            raise UnsupportedVersion
        super().initial(request, *args, **kwargs)

    def event_feed(self, now: datetime) -> EventFeed:
        """Return the events that the caller is shown, and record the poll of a resource.

        Raises the errors of the contract for callers that are unknown, not allowed or too fast.
        """
        request, name = self.request, self.resource_named()
        if isinstance(request.auth, Resource):
            limit(f"resource {request.auth.pk}", now)
            if name is not None and name != request.auth.name:
                raise PermissionDenied("this token is another resource's")
            record_poll(request.auth, now)
            return EventFeed.for_resource(request.auth)
        if not request.user.is_authenticated:
            raise NotAuthenticated("say who asks: by the token of a resource, or as somebody with an account")
        limit(f"user {request.user.pk}", now)
        if name is not None:
            return EventFeed.for_resource(self.find_resource(name))
        subscriptions = tuple(visible_rows(request, Subscription).values_list("pk", flat=True))
        if not subscriptions:
            raise PermissionDenied("you are a member of no subscription")
        return EventFeed(subscriptions, user=request.user)

    def resource_named(self) -> str | None:
        """Return the name of a resource in the query or the header; None if there is none.

        Raises BadMetadataRequest for an empty name, which a client with an unset variable sends, and for two different
        names.
        """
        names = {self.request.query_params.get("resource"), self.request.headers.get(RESOURCE_HEADER)} - {None}
        if len(names) > 1:
            raise BadMetadataRequest("the query and the header name different resources")
        if "" in names:
            raise BadMetadataRequest("the name of the resource is empty")
        return names.pop() if names else None

    def find_resource(self, name: str) -> Resource:
        if "\0" in name:
            raise Http404
        rows = visible_rows(self.request, Resource).filter(name=name)
        found = list(rows[:2])
        if not found:
            raise Http404
        if len(found) > 1:
            found = list(only_default(self.request, rows)[:2])
        if len(found) != 1:
            raise BadMetadataRequest(f"several subscriptions have a resource {name!r:.80}: use its token")
        return found[0]

    def approve(self, notices: list[Notice], now: datetime) -> None:
        resource = self.request.auth if isinstance(self.request.auth, Resource) else None
        if resource is None:
            for subscription in {notice.subscription_id for notice in notices}:
                require_role(self.request, Subscription, Role.OPERATOR, pk=subscription)
        if resource is not None:
            lifecycle.approve(notices, f"resource {resource.name}", now, resource=resource)
        else:
            lifecycle.approve(notices, str(self.request.user), now, user=self.request.user)

    def document(self, feed: EventFeed) -> Response:
        incarnation, notices = feed.read_snapshot()
        events = [render_event(notice, self.version) for notice in notices if is_shown(notice.event_type, self.version)]
        return Response({"DocumentIncarnation": incarnation, "Events": events}, headers={"Cache-Control": "no-store"})

    def handle_exception(self, exception):
        response = super().handle_exception(exception)
        body: dict[str, Any] = {"error": response.data["error"]["message"]}
        if isinstance(exception, UnsupportedVersion):
            body["newest-versions"] = list(NEWEST_VERSIONS)
        response.data = body
        return response


def refuse_forwarded(request: Request) -> None:
    """Refuse a request that came over more proxies than `settings.PROXIES`: it may be forwarded for somebody else."""
    forwarded = request.headers.get("X-Forwarded-For")
    if forwarded is not None and len(forwarded.split(",")) > settings.PROXIES:
        raise BadMetadataRequest("Bad request. X-Forwarded-For is not allowed")


def limit(origin: str, now: datetime) -> None:
    rate = RateLimit("metadata", settings.METADATA_REQUESTS_PER_SECOND, 1)
    if rate.most and rate.count(origin, now) > rate.most:
        raise Throttled(1, "too many requests.")


def record_poll(resource: Resource, now: datetime) -> None:
    if resource.last_seen_at is None or (now - resource.last_seen_at).total_seconds() >= SEEN_EVERY_S:
        Resource.objects.filter(pk=resource.pk).update(last_seen_at=now)


def parse_start_requests(body: bytes) -> list[uuid.UUID]:
    """Return the ids of the events that a body approves, in their order."""
    try:
        # numbers mean nothing here; as floats, very long ones are no error
        document = json.loads(body, parse_int=float)
    except (ValueError, RecursionError):
        raise BadMetadataRequest("the body must be JSON") from None
    requests = document.get("StartRequests") if isinstance(document, dict) else None
    if not isinstance(requests, list) or len(requests) > REQUESTS_LIMIT:
        raise BadMetadataRequest(f"StartRequests must be a list of at most {REQUESTS_LIMIT} requests")
    return [event_id_of(each) for each in requests]


def event_id_of(request: object) -> uuid.UUID:
    event_id = request.get("EventId") if isinstance(request, dict) else None
    if not isinstance(event_id, str) or not GUID.fullmatch(event_id):
        raise BadMetadataRequest("each of StartRequests must have an EventId that is a GUID")
    return uuid.UUID(event_id)


def render_event(notice: Notice, version: str) -> dict[str, Any]:
    event: dict[str, Any] = {
        "EventId": str(notice.pk).upper(),
        "EventStatus": notice.status.capitalize(),
        "EventType": notice.event_type,
        "ResourceType": RESOURCE_TYPE,
        "Resources": [each.name for each in notice.affected_resources.all()],
        "NotBefore": http_date(notice.not_before.timestamp()) if notice.status == Notice.Status.SCHEDULED else "",
        "Description": notice.description,
        "EventSource": notice.source,
        "DurationInSeconds": notice.duration_s,
    }
    return {member: value for member, value in event.items() if is_shown(member, version)}


def is_shown(name: str, version: str) -> bool:
    """Return True if the version has this member, or events of this type."""
    return SINCE.get(name, "") <= version


urlpatterns = [address("metadata/scheduledevents", ScheduledEvents.as_view())]
