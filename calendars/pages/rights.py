"""Filters for the jobs that a viewer sees on the calendar, and for the rows that belong to these jobs."""

from collections.abc import Sequence
from uuid import UUID

from accounts.models import Subscription


def subscriptions_of(user) -> Sequence[UUID] | None:
    """Return the ids of the subscriptions whose jobs the user sees; None means all."""
    if user.is_superuser:
        return None
    return list(Subscription.objects.visible_to(user).values_list("pk", flat=True))


def seen_by(user, rows):
    """Filter jobs, collections, triggers or runs by what the user may see; superusers see all."""
    return rows.all() if user.is_superuser else rows.visible_to(user)
