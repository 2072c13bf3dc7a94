"""Limits of a collection: how many jobs it may have, and how often they may run.

Source: the original service's plans (jobs and collections per plan, fastest recurrence, no outbound authentication in
Free) and its limits page (at most 200,000 collections in a subscription; beyond a quota the response is a conflict).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.errors import QuotaExceeded
from jobs.models import Frequency, JobCollection, Sku
from recurrence.schedules import just_after
from recurrence.spacing import shortest_gap_below
from recurrence.wire import Parsed

COLLECTIONS_PER_SUBSCRIPTION = 200_000
RECURRENCE_INTERVAL_LIMIT = 1000  # highest interval of a collection's own limit, in the unit of its frequency

# a month counts as 30 days when it is compared with other units
UNITS = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
    "month": timedelta(days=30),
}
SHORTEST_MONTH = timedelta(days=28)  # length of a month when it is compared with the time between two fire times
SPANS = {"millisecond": timedelta(milliseconds=1), "second": timedelta(seconds=1), **UNITS}


@dataclass(frozen=True, slots=True)
class Plan:
    jobs: int  # in a collection
    collections: int  # of this plan in a subscription
    min_interval: timedelta  # shortest time between two occurrences of an Azure recurrence
    min_fire_interval: timedelta  # shortest time between two fire times of a trigger in another format
    outbound_authentication: bool = True


PLANS = {
    Sku.FREE: Plan(
        jobs=5,
        collections=1,
        min_interval=timedelta(hours=1),
        min_fire_interval=timedelta(minutes=1),
        outbound_authentication=False,
    ),
    Sku.STANDARD: Plan(
        jobs=50, collections=100, min_interval=timedelta(minutes=1), min_fire_interval=timedelta(seconds=1)
    ),
    Sku.P10_PREMIUM: Plan(
        jobs=50, collections=10_000, min_interval=timedelta(minutes=1), min_fire_interval=timedelta(milliseconds=100)
    ),
    Sku.P20_PREMIUM: Plan(
        jobs=1000, collections=10_000, min_interval=timedelta(minutes=1), min_fire_interval=timedelta(milliseconds=100)
    ),
}


def period(frequency: str, interval: int) -> timedelta:
    """Return the time between two occurrences by frequency and interval only, without the times of the schedule."""
    return UNITS[frequency.lower()] * interval


def job_limit(collection: JobCollection) -> int:
    plan = PLANS[Sku(collection.sku)].jobs
    return plan if collection.max_job_count is None else min(plan, collection.max_job_count)


def min_interval(collection: JobCollection) -> timedelta:
    """Return the shortest period that the plan and the collection's own quota both allow."""
    plan = PLANS[Sku(collection.sku)].min_interval
    if not collection.max_recurrence_frequency:
        return plan
    own = period(collection.max_recurrence_frequency, collection.max_recurrence_interval or 1)
    return max(plan, own)


def refuse_another_job(collection: JobCollection) -> None:
    limit = job_limit(collection)
    if collection.jobs.count() >= limit:
        raise QuotaExceeded(f"collection {collection.name!r} may hold {limit} jobs and does so already")


def refuse_job(collection: JobCollection, action: Mapping, recurrence: Mapping | None) -> None:
    """Raise QuotaExceeded when the plan or the quota does not allow the job.  Both documents must be valid."""
    if recurrence:
        shortest = min_interval(collection)
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


def refuse_fires(collection: JobCollection, parsed: Parsed, anchored_at: datetime, is_azure: bool, path: str) -> None:
    """Raise QuotaExceeded when a schedule fires more often than the collection allows.

    For additional triggers, and for a job's own schedule that Azure Scheduler does not have.

    Its real fire times are compared, from its creation `anchored_at` on.  A recurrence without a start time also runs
    at its creation; this run does not count.
    """
    plan = PLANS[Sku(collection.sku)]
    limit = plan.min_interval if is_azure else plan.min_fire_interval
    rate, source = _rate(limit), f"the {collection.sku} plan"
    unit, number = collection.max_recurrence_frequency, collection.max_recurrence_interval or 1
    if unit:
        own = (SHORTEST_MONTH if unit == Frequency.MONTH else UNITS[unit]) * number
        if own > limit:
            limit, rate, source = own, _rate_of(number, unit), f"collection {collection.name!r}"
    gap = shortest_gap_below(parsed, just_after(anchored_at) if is_azure else anchored_at, limit)
    if gap is not None:
        message = f"must fire at most {rate}, the limit of {source}; two fire times are {_words(gap)} apart"
        raise QuotaExceeded(message, path=path)


def allows_less(collection: JobCollection, sku: str) -> bool:
    """Return True if the plan of `collection` allows triggers to fire less often than the plan `sku`."""
    new, old = PLANS[Sku(collection.sku)], PLANS[Sku(sku)]
    return new.min_interval > old.min_interval or new.min_fire_interval > old.min_fire_interval


def refuse_collection(collection: JobCollection) -> None:
    """Raise QuotaExceeded when the subscription may not have `collection`, new or changed, with its plan."""
    others = JobCollection.objects.filter(subscription_id=collection.subscription_id).exclude(pk=collection.pk)
    limit = PLANS[Sku(collection.sku)].collections
    if others.filter(sku=collection.sku).count() >= limit:
        raise QuotaExceeded(f"a subscription may have {limit} {collection.sku} collections", path="properties.sku.name")
    if others.count() >= COLLECTIONS_PER_SUBSCRIPTION:
        raise QuotaExceeded(f"a subscription may have {COLLECTIONS_PER_SUBSCRIPTION} collections")


def refuse_move(collection: JobCollection) -> None:
    """Raise QuotaExceeded when `collection` has more jobs than its plan allows."""
    limit = PLANS[Sku(collection.sku)].jobs
    if collection.jobs.count() > limit:
        raise QuotaExceeded(
            f"the {collection.sku} plan allows {limit} jobs in a collection", path="properties.sku.name"
        )


def _words(span: timedelta) -> str:
    unit = next((unit for unit in reversed(SPANS) if not span % SPANS[unit]), "millisecond")
    number = span // SPANS[unit]
    return f"one {unit}" if number == 1 else f"{number} {unit}s"


def _rate(span: timedelta) -> str:
    if span < SPANS["second"]:
        return f"{SPANS['second'] // span} times a second"
    unit = next(unit for unit in reversed(SPANS) if not span % SPANS[unit])
    return _rate_of(span // SPANS[unit], unit)


def _rate_of(number: int, unit: str) -> str:
    if number == 1:
        return f"once an {unit}" if unit == "hour" else f"once a {unit}"
    return f"once every {number} {unit}s"
