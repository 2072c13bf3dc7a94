"""Which rows a viewer may see and change on the pages of maintenance.  The roles are the same as in the API.

Superusers see and do everything, as in the admin.
"""

from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404

from accounts.models import Role, Subscription


def seen_by(user, rows, role: Role = Role.READER) -> Any:
    """Return the rows of subscriptions in which the user has at least `role`; for superusers all rows."""
    return rows.all() if user.is_superuser else rows.visible_to(user, role)


def subscriptions_of(user, role: Role = Role.READER) -> dict[UUID, str]:
    """Return the names, by id, of the subscriptions in which the user has at least `role`, in order of the names."""
    rows = seen_by(user, Subscription.objects.order_by("name"), role)
    return dict(rows.values_list("pk", "name"))


def require(user, rows, role: Role, **lookup):
    """Return the row that `lookup` names.

    Raises Http404 if the user does not see the row, and PermissionDenied if the role of the user is too low.
    """
    row = seen_by(user, rows).filter(**lookup).first()
    if row is None:
        raise Http404
    if not seen_by(user, rows, role).filter(pk=row.pk).exists():
        raise PermissionDenied
    return row
