"""Compare the schedules of triggers with the limits of the plan of their collection."""

from collections.abc import Mapping

from jobs import quotas
from jobs.models import JobCollection
from triggers.definitions import FORMAT, azure_members, is_azure
from triggers.models import MAIN, Trigger


def recurrence_of(trigger: Trigger) -> Mapping | None:
    """Return the recurrence of a schedule of Azure Scheduler, whose frequency and interval are compared with limits."""
    return (azure_members(trigger.format, trigger.definition) or {}).get("recurrence")


def refuse_own_schedule(collection: JobCollection, main: Trigger) -> None:
    """Raise QuotaExceeded when a job's own schedule fires more often than the collection allows.

    For schedules that Azure Scheduler does not have.  `recurrence_of` has the rule for the others.
    """
    if not is_azure(main):
        refuse_trigger(collection, main, "schedule")


def refuse_trigger(collection: JobCollection, trigger: Trigger, path: str) -> None:
    """Raise QuotaExceeded when a trigger fires more often than the collection allows."""
    quotas.refuse_fires(collection, trigger.parsed, trigger.anchored_at, trigger.format == FORMAT, path)


def refuse_move(collection: JobCollection) -> None:
    """Raise QuotaExceeded when a job of the collection does not fit the new plan."""
    before = JobCollection.objects.filter(pk=collection.pk).values_list("sku", flat=True).get()
    if before == collection.sku:
        return
    quotas.refuse_move(collection)
    for trigger in Trigger.objects.filter(job__collection=collection).select_related("job__action"):
        quotas.refuse_job(collection, trigger.job.action.document, recurrence_of(trigger))
        if not (trigger.name == MAIN and is_azure(trigger)) and quotas.allows_less(collection, before):
            refuse_trigger(collection, trigger, "properties.sku.name")
