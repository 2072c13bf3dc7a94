"""Approval for control planes: the resource manager's acknowledge paths, api-version 2025-10-01-preview.

Source: the published management client, which takes nothing but 200.  A resource is found by its name alone: there is
one of that name in a subscription, whatever group and type the address names.
"""

import uuid
from collections.abc import Iterable
from typing import Any

from django.http import Http404
from django.utils import timezone
from rest_framework import serializers
from rest_framework.response import Response

from accounts.access import require
from accounts.fields import ECHO, TextField, read
from accounts.models import Role
from maintenance import lifecycle
from maintenance.models import Notice, Resource
from maintenance.sights import Sight
from operations.resource_manager import ERROR_CODES, GUID, SUBSCRIPTION, ArmView, address

APPROVED = "Successfully approved"
EVENTS_MOST = 1_000


class EventsRequest(serializers.Serializer):
    value = serializers.ListField(child=TextField(), max_length=EVENTS_MOST)


class AcknowledgeView(ArmView):
    versions = ("2025-10-01-preview",)

    def find_sight(self) -> Sight:
        found = {"subscription": self.subscription_id, "name": self.kwargs["resource"]}
        return Sight.of(require(self.request, Resource, Role.OPERATOR, **found))

    def approve(self, notices: Iterable[Notice]) -> Response:
        user = self.request.user
        lifecycle.approve(notices, str(user), timezone.now(), user=user)
        return Response({"value": APPROVED})


class Acknowledgement(AcknowledgeView):
    def post(self, request, **kwargs):
        known = known_as(self.find_sight(), [kwargs["event"]])
        if not known:
            raise Http404
        return self.approve(known.values())


class Acknowledgements(AcknowledgeView):
    """Several at once: all of them, or when one is unknown none."""

    def post(self, request, **kwargs):
        sight = self.find_sight()
        ids = read(EventsRequest, request.data)["value"]
        known = known_as(sight, ids)
        unknown = [each for each in ids if each.lower() not in known]
        return Response(refusal_of(unknown), 400) if unknown else self.approve(known.values())


def refusal_of(unknown: Iterable[str]) -> dict[str, Any]:
    """In the form in which the client tells its caller what is wrong with which event."""
    message = "no event of this id is known here"
    details = [{"target": each[:ECHO], "code": ERROR_CODES[404], "message": message} for each in unknown]
    return {"error": {"code": ERROR_CODES[400], "message": "unknown events: none was approved", "details": details}}


def known_as(sight: Sight, ids: list[str]) -> dict[str, Notice]:
    """Those of the ids, in lower case, that name a notice which the resource is shown."""
    known = sight.known([uuid.UUID(each) for each in ids if GUID.fullmatch(each)])
    return {str(pk): notice for pk, notice in known.items()}


RESOURCE = f"{SUBSCRIPTION}/resourcegroups/[^/]+/providers/Microsoft.Compute/[^/]+/(?P<resource>[^/]+)"
EVENTS = f"{RESOURCE}/providers/Microsoft.Maintenance/scheduledevents"

urlpatterns = [
    address(EVENTS, Acknowledgements.as_view()),
    address(f"{EVENTS}/(?P<event>[^/]+)/acknowledge", Acknowledgement.as_view()),
]
