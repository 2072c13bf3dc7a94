"""Which rows a viewer may see and change on the pages and in the administration.

The roles are those of the APIs, see accounts/access.py.  The difference: here a superuser sees and changes everything.
"""

from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404

from accounts.models import Role, Subscription


def rows_visible_to(user, rows, role: Role = Role.READER) -> Any:
    """Return the rows of subscriptions in which the user has at least `role`; for superusers all rows.

    `rows` is a manager or a query of a model whose queryset has `visible_to`.
    """
    return rows.all() if user.is_superuser else rows.visible_to(user, role)


def visible_subscription_ids(user) -> list[UUID] | None:
    """Return the ids of the subscriptions whose rows the user sees; None means all."""
    if user.is_superuser:
        return None
    return list(Subscription.objects.visible_to(user).values_list("pk", flat=True))


def visible_subscription_names(user, role: Role = Role.READER) -> dict[UUID, str]:
    """Return the names, by id, of the subscriptions in which the user has at least `role`, in order of the names."""
    rows = rows_visible_to(user, Subscription.objects.order_by("name"), role)
    return dict(rows.values_list("pk", "name"))


def get_row_or_404(user, rows, role: Role, **lookup):
    """Return the row that `lookup` names.

    Raises Http404 if the user does not see the row, and PermissionDenied if the role of the user is too low.
    """
    row = rows_visible_to(user, rows).filter(**lookup).first()
    if row is None:
        raise Http404
    if not rows_visible_to(user, rows, role).filter(pk=row.pk).exists():
        raise PermissionDenied
    return row
