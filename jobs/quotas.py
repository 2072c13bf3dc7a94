"""How much a collection may hold and how often its jobs may recur.

Source: the original service's plans (jobs and collections per plan, fastest recurrence, no outbound authentication in
Free) and its limits page (at most 200,000 collections in a subscription; beyond a quota the answer is a conflict).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from jobs.errors import QuotaExceeded
from jobs.models import JobCollection, Sku

COLLECTIONS_PER_SUBSCRIPTION = 200_000

# a month counts as 30 days where it is compared with other units
UNITS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
    "month": timedelta(days=30),
}


@dataclass(frozen=True, slots=True)
class Plan:
    jobs: int  # in a collection
    collections: int  # of this plan in a subscription
    fastest: timedelta  # shortest time between two occurrences
    outbound_authentication: bool = True


PLANS = {
    Sku.FREE: Plan(jobs=5, collections=1, fastest=timedelta(hours=1), outbound_authentication=False),
    Sku.STANDARD: Plan(jobs=50, collections=100, fastest=timedelta(minutes=1)),
    Sku.P10_PREMIUM: Plan(jobs=50, collections=10_000, fastest=timedelta(minutes=1)),
    Sku.P20_PREMIUM: Plan(jobs=1000, collections=10_000, fastest=timedelta(minutes=1)),
}


def period(frequency: str, interval: int) -> timedelta:
    """How far apart two occurrences are, by frequency and interval alone: a schedule's own times are not weighed."""
    return UNITS[frequency.lower()] * interval


def job_limit(collection: JobCollection) -> int:
    plan = PLANS[Sku(collection.sku)].jobs
    return plan if collection.max_job_count is None else min(plan, collection.max_job_count)


def fastest(collection: JobCollection) -> timedelta:
    """The shortest period that the plan and the collection's own quota both allow."""
    plan = PLANS[Sku(collection.sku)].fastest
    if not collection.max_recurrence_frequency:
        return plan
    own = period(collection.max_recurrence_frequency, collection.max_recurrence_interval or 1)
    return max(plan, own)


def refuse_another_job(collection: JobCollection) -> None:
    limit = job_limit(collection)
    if collection.jobs.count() >= limit:
        raise QuotaExceeded(f"collection {collection.name!r} may hold {limit} jobs and does so already")


def refuse_job(collection: JobCollection, action: Mapping, recurrence: Mapping | None) -> None:
    """Raise QuotaExceeded when the plan or the quota does not allow such a job.  Both documents have been checked."""
    if recurrence:
        shortest = fastest(collection)
        if period(recurrence["frequency"], recurrence.get("interval") or 1) < shortest:
            raise QuotaExceeded(
                f"collection {collection.name!r} allows a recurrence of {_words(shortest)} or slower", path="recurrence"
            )
    if not PLANS[Sku(collection.sku)].outbound_authentication:
        for path, part in (("action", action), ("action.errorAction", action.get("errorAction") or {})):
            if "authentication" in part.get("request", {}):
                raise QuotaExceeded(
                    "the Free plan has no outbound authentication", path=f"{path}.request.authentication"
                )


def refuse_fires(collection: JobCollection, fires: Iterable[datetime], path: str) -> None:
    """Raise QuotaExceeded when two of the fire times are closer than the quota allows.

    For schedules that are not written as a recurrence.  A plan that allows every minute allows them every second.
    """
    shortest = fastest(collection)
    if shortest > UNITS["minute"] and any(later - earlier < shortest for earlier, later in pairwise(fires)):
        raise QuotaExceeded(
            f"collection {collection.name!r} allows fire times that are {_words(shortest)} or more apart", path=path
        )


def refuse_collection(collection: JobCollection) -> None:
    """Raise QuotaExceeded when the subscription has no room for `collection` in its plan, new or changed."""
    others = JobCollection.objects.filter(subscription_id=collection.subscription_id).exclude(pk=collection.pk)
    limit = PLANS[Sku(collection.sku)].collections
    if others.filter(sku=collection.sku).count() >= limit:
        raise QuotaExceeded(f"a subscription may have {limit} {collection.sku} collections", path="properties.sku.name")
    if others.count() >= COLLECTIONS_PER_SUBSCRIPTION:
        raise QuotaExceeded(f"a subscription may have {COLLECTIONS_PER_SUBSCRIPTION} collections")


def refuse_move(collection: JobCollection) -> None:
    """Raise QuotaExceeded when the jobs already in `collection` do not fit its plan any more."""
    limit = PLANS[Sku(collection.sku)].jobs
    if collection.jobs.count() > limit:
        raise QuotaExceeded(
            f"the {collection.sku} plan allows {limit} jobs in a collection", path="properties.sku.name"
        )


def _words(span: timedelta) -> str:
    for unit in reversed(UNITS):
        if span % UNITS[unit] == timedelta(0):
            return f"{span // UNITS[unit]} {unit}s" if span > UNITS[unit] else f"one {unit}"
    return str(span)
