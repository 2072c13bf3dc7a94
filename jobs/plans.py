"""Decide who may choose a plan: operators up to Standard, owners of the subscription any plan.

A plan sets the limits of a collection.  An operator who could choose a premium plan would raise their own limits.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import PermissionDenied

from accounts.access import visible_rows
from accounts.models import Role, Subscription
from jobs.models import JobCollection, Sku

PREMIUM = (Sku.P10_PREMIUM, Sku.P20_PREMIUM)
ASCENDING = tuple(Sku)
REFUSAL = f"choosing a premium plan requires the role of {Role.OWNER.label}"


def takes_owner(before: str, plan: str) -> bool:
    """Return True if only an owner may change the plan from `before` to `plan`.

    For a new collection `before` is Standard.
    """
    return plan in PREMIUM and ASCENDING.index(Sku(plan)) > ASCENDING.index(Sku(before))


@contextmanager
def choosing_plan(request, collection: JobCollection) -> Iterator[None]:
    """Raise PermissionDenied when the block gives `collection` a plan that the caller may not choose."""
    before = collection.sku
    yield
    owned = visible_rows(request, Subscription, Role.OWNER).filter(pk=collection.subscription_id)
    if takes_owner(before, collection.sku) and not owned.exists():
        raise PermissionDenied(REFUSAL)
