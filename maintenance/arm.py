"""Approval for control planes: the resource manager's acknowledge paths, api-version 2025-10-01-preview.

Source: the published management client, which accepts only status 200.  The view finds a resource by its name alone:
a name is unique in a subscription.  The group and the type in the address are ignored.
"""

import uuid
from collections.abc import Iterable
from typing import Any

from django.http import Http404
from django.utils import timezone
from rest_framework import serializers
from rest_framework.response import Response

from accounts.access import require_role
from accounts.models import Role
from api.fields import ECHO, TextField, read
from maintenance import lifecycle
from maintenance.models import Notice, Resource
from maintenance.visibility import EventFeed
from operations.arm_base import ERROR_CODES, GUID, SUBSCRIPTION, ArmView, address

APPROVED = "Successfully approved"
MAX_EVENTS = 1_000


class EventsRequest(serializers.Serializer):
    value = serializers.ListField(child=TextField(), max_length=MAX_EVENTS)


class AcknowledgeView(ArmView):
    versions = ("2025-10-01-preview",)

    def find_feed(self) -> EventFeed:
        lookup = {"subscription": self.subscription_id, "name": self.kwargs["resource"]}
        return EventFeed.for_resource(require_role(self.request, Resource, Role.OPERATOR, **lookup))

    def approve(self, notices: Iterable[Notice]) -> Response:
        user = self.request.user
        lifecycle.approve(notices, str(user), timezone.now(), user=user)
        return Response({"value": APPROVED})


class Acknowledgement(AcknowledgeView):
    def post(self, request, **kwargs):
        notices = notices_by_id(self.find_feed(), [kwargs["event"]])
        if not notices:
            raise Http404
        return self.approve(notices.values())


class Acknowledgements(AcknowledgeView):
    """Approve several events at once: all of them, or none if one is unknown."""

    def post(self, request, **kwargs):
        feed = self.find_feed()
        ids = read(EventsRequest, request.data)["value"]
        notices = notices_by_id(feed, ids)
        unknown = [each for each in ids if each.lower() not in notices]
        return Response(render_unknown(unknown), 400) if unknown else self.approve(notices.values())


def render_unknown(unknown: Iterable[str]) -> dict[str, Any]:
    """Return the error body from which the client tells its caller which event is wrong, and why."""
    message = "no event of this id is known here"
    details = [{"target": each[:ECHO], "code": ERROR_CODES[404], "message": message} for each in unknown]
    return {"error": {"code": ERROR_CODES[400], "message": "unknown events: none was approved", "details": details}}


def notices_by_id(feed: EventFeed, ids: list[str]) -> dict[str, Notice]:
    """Return the notices that the feed shows, by id in lower case.  Ids that name none of them are left out."""
    notices = feed.find_notices([uuid.UUID(each) for each in ids if GUID.fullmatch(each)])
    return {str(pk): notice for pk, notice in notices.items()}


RESOURCE = f"{SUBSCRIPTION}/resourcegroups/[^/]+/providers/Microsoft.Compute/[^/]+/(?P<resource>[^/]+)"
EVENTS = f"{RESOURCE}/providers/Microsoft.Maintenance/scheduledevents"

urlpatterns = [
    address(EVENTS, Acknowledgements.as_view()),
    address(f"{EVENTS}/(?P<event>[^/]+)/acknowledge", Acknowledgement.as_view()),
]
