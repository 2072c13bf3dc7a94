"""What the caller of an API may see and do.  Every query of a surface starts here."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Manager, Model, QuerySet
from django.http import Http404
from rest_framework.serializers import ValidationError

from accounts.models import ApiToken, Role, Subscription


def visible(request, rows: type[Model] | Manager | QuerySet, role: Role = Role.READER) -> QuerySet:
    """The rows of subscriptions in which the caller has at least `role`; a token's own role caps its user's."""
    # Any: `visible_to` belongs to the models' own querysets, of which the types of Django know nothing
    queryset: Any = rows._default_manager.all() if isinstance(rows, type) else rows.all()
    if role > highest_role(request):
        return queryset.none()
    return queryset.visible_to(request.user, role)


def require(request, rows: type[Model] | Manager | QuerySet, role: Role = Role.READER, **lookup):
    """Return the one row that `lookup` names.

    Raises Http404 when there is none or the caller may not see it, which look the same, and PermissionDenied when
    the caller sees it with too low a role.
    """
    permitted = visible(request, rows, role).filter(**lookup)
    found = permitted.first()
    if found is None and role > Role.READER and visible(request, rows).filter(**lookup).exists():
        found = permitted.first()  # for it may have been made between the two looks
        if found is None:
            raise PermissionDenied(f"this takes the role of {role.label}")
    if found is None:
        raise Http404
    return found


@contextmanager
def naming(member: str, message: str) -> Iterator[None]:
    """What is not there within was named by a `member` of the caller's document, so that it is the document's fault."""
    try:
        yield
    except Http404:
        raise ValidationError({member: [message]}, "does_not_exist") from None


def subscription_for(request, wanted: uuid.UUID | None) -> Subscription:
    """The subscription to write to: the one that is named, or the only one that the caller may write to."""
    if wanted is not None:
        with naming("subscription", "no subscription that you may see"):
            return require(request, Subscription, Role.OPERATOR, pk=wanted)
    own = list(visible(request, Subscription, Role.OPERATOR)[:2])
    if not own:
        raise PermissionDenied(f"this takes the role of {Role.OPERATOR.label} in a subscription")
    if len(own) > 1:
        raise ValidationError({"subscription": ["is required: you may write to more than one"]}, "required")
    return own[0]


def highest_role(request) -> Role:
    """The most that the caller's way of signing in allows."""
    return Role(request.auth.role) if isinstance(request.auth, ApiToken) else Role.OWNER
