"""Which rows the caller of an API may see and change.  Every query of an API starts here."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Manager, Model, QuerySet
from django.http import Http404
from rest_framework.serializers import ValidationError

from accounts.models import ApiToken, Role, Subscription


def visible_rows(request, rows: type[Model] | Manager | QuerySet, role: Role = Role.READER) -> QuerySet:
    """Return the rows of subscriptions in which the caller has at least `role`.

    There are none when the caller signs in with a token whose own role is lower than `role`.
    """
    # Any: `visible_to` is a method of the models' own querysets, which the types of Django do not know
    queryset: Any = rows._default_manager.all() if isinstance(rows, type) else rows.all()
    if role > highest_role(request):
        return queryset.none()
    return queryset.visible_to(request.user, role)


def require_role(request, rows: type[Model] | Manager | QuerySet, role: Role = Role.READER, **lookup):
    """Return the one row that matches `lookup`.

    Raises Http404 when no row matches or the caller may not see it: both look the same to the caller.  Raises
    PermissionDenied when the caller may see the row, but has a lower role than `role`.
    """
    permitted = visible_rows(request, rows, role).filter(**lookup)
    found = permitted.first()
    if found is None and role > Role.READER and visible_rows(request, rows).filter(**lookup).exists():
        found = permitted.first()  # the row may have been created between the two queries
        if found is None:
            raise PermissionDenied(f"this requires the role of {role.label}")
    if found is None:
        raise Http404
    return found


@contextmanager
def as_field_error(member: str, message: str) -> Iterator[None]:
    """Turn an Http404 raised inside into a 400 at `member`: the document, not the URL, named the missing row."""
    try:
        yield
    except Http404:
        raise ValidationError({member: [message]}, "does_not_exist") from None


def subscription_for(request, subscription_id: uuid.UUID | None) -> Subscription:
    """Return the subscription to write to: the named one, else the caller's default, else the only writable one.

    A caller with a default subscription never writes to another one without naming it.  Raises PermissionDenied if the
    caller may write to none, and ValidationError if the subscription must be named.
    """
    if subscription_id is not None:
        with as_field_error("subscription", "no subscription that you may see"):
            return require_role(request, Subscription, Role.OPERATOR, pk=subscription_id)
    writable: Any = visible_rows(request, Subscription, Role.OPERATOR)
    found = writable.default_of(request.user)
    if found is not None:
        return found
    if not writable.exists():
        raise PermissionDenied(f"this requires the role of {Role.OPERATOR.label} in a subscription")
    has_default = request.user.default_subscription_id is not None
    reason = "you may no longer write to your default one" if has_default else "you may write to more than one"
    raise ValidationError({"subscription": [f"is required: {reason}"]}, "required")


def only_default(request, rows: QuerySet, subscription: str = "subscription") -> QuerySet:
    """Return the rows of the caller's default subscription, or all rows when the caller has no default.

    Use it for a name that exists in several subscriptions.  `subscription` is the field look-up from a row to its
    subscription.
    """
    default = request.user.default_subscription_id
    return rows.filter(**{subscription: default}) if default else rows


def highest_role(request) -> Role:
    """Return the highest role that the sign-in allows: the role of the API token; owner without a token."""
    return Role(request.auth.role) if isinstance(request.auth, ApiToken) else Role.OWNER
