"""What job collections, jobs and their history have in common: how they are found, and the members of each of them."""

from datetime import datetime
from typing import Any

from django.http import Http404

from accounts import access
from accounts.models import Role
from jobs.members import Members, shown
from jobs.models import Job, JobCollection
from jobs.names import NAME_LENGTH
from operations.resource_manager import ArmView

DONE = "Succeeded"  # the provisioningState of whatever nothing is being done to


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
