"""Whose maintenance a viewer sees, and whose they may announce, approve and end: the same roles as in the API.

Superusers see and do everything, as in the administration.
"""

from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404

from accounts.models import Role, Subscription


def seen_by(user, rows, role: Role = Role.READER) -> Any:
    """The rows of subscriptions in which the user has at least `role`."""
    return rows.all() if user.is_superuser else rows.visible_to(user, role)


def subscriptions_of(user, role: Role = Role.READER) -> dict[UUID, str]:
    """The names of the subscriptions in which the user has at least `role`."""
    rows = seen_by(user, Subscription.objects.order_by("name"), role)
    return dict(rows.values_list("pk", "name"))


def require(user, rows, role: Role, **lookup):
    """The one row that `lookup` names.

    Raises Http404 for what the user does not see, and PermissionDenied for what they see with too low a role.
    """
    row = seen_by(user, rows).filter(**lookup).first()
    if row is None:
        raise Http404
    if not seen_by(user, rows, role).filter(pk=row.pk).exists():
        raise PermissionDenied
    return row
