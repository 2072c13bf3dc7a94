"""Shared parts of job collections, jobs and their history: how to find them, and members that all of them have."""

from datetime import datetime
from typing import Any

from django.http import Http404

from accounts import access
from accounts.models import Role
from api.json_object import JsonObject, shorten_repr
from jobs.models import Job, JobCollection
from jobs.names import NAME_LENGTH
from operations.arm_base import ArmView

DONE = "Succeeded"  # the provisioningState of a resource on which no operation is running


class SchedulerView(ArmView):
    def find_collection(self, role: Role = Role.READER) -> JobCollection:
        rows = JobCollection.objects.named(self.subscription_id, self.kwargs["group"], self.kwargs["collection"])
        return access.require_role(self.request, rows.select_related("subscription"), role)

    def find_job(self, role: Role = Role.READER) -> Job:
        rows = Job.objects.filter(
            collection__subscription_id=self.subscription_id,
            collection__resource_group__lower=self.kwargs["group"].lower(),
            collection__name__lower=self.kwargs["collection"].lower(),
            name__lower=self.kwargs["job"].lower(),
        )
        return access.require_role(
            self.request, rows.select_related("collection", "action").defer("action__secrets"), role
        )


class Elsewhere(ArmView):
    """Any other address below /subscriptions: answers 404 in the form of this contract."""

    def initial(self, request, *args, **kwargs):
        super().initial(request, *args, **kwargs)
        raise Http404


def refuse_other_id(members: JsonObject, own: str) -> None:
    sent = members.value.get("id")
    if sent is not None and (not isinstance(sent, str) or sent.lower() != own.lower()):
        members.refuse("id", f"must be the id in the address, {own}, or omitted")


def refuse_other_progress(properties: JsonObject) -> None:
    """Raise Invalid for any provisioningState but DONE, the only state of resources that can be written."""
    sent = properties.text("provisioningState", NAME_LENGTH)
    if sent is not None and sent.lower() != DONE.lower():
        properties.refuse(
            "provisioningState", f"must be {DONE}, the current value, or omitted, not {shorten_repr(sent)}"
        )


def instant(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def present(**members: object) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
