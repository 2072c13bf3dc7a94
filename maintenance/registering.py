"""Make, change and remove the resources to which maintenance is announced."""

import secrets
import uuid
from datetime import datetime

from django.db import IntegrityError, transaction

from accounts.models import TOKEN_BYTES, Subscription, digest_of
from maintenance import turns
from maintenance.errors import MaintenanceError
from maintenance.lifecycle import bump_views
from maintenance.models import Notice, Resource, View


def register(
    subscription: Subscription, name: str, scope_group: str, labels: dict[str, str], now: datetime
) -> tuple[Resource, str]:
    """Make a resource; the second value is the text of its token, which nobody can read again.

    Raises MaintenanceError when there is one of this name.
    """
    token = secrets.token_urlsafe(TOKEN_BYTES)
    try:
        with transaction.atomic():
            resource = Resource.objects.create(
                subscription=subscription,
                name=name,
                scope_group=scope_group,
                labels=labels,
                digest=digest_of(token),
                created_at=now,
            )
    except IntegrityError:
        raise MaintenanceError(f"there is a resource {name!r} already", path="name", code="conflict") from None
    return resource, token


def new_token(resource: Resource) -> str:
    """Give the resource another token; the one before is worth nothing from now on."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    Resource.objects.filter(pk=resource.pk).update(digest=digest_of(token))
    return token


def change(resource: Resource, **changes) -> Resource:
    """Change its scope group or labels.  In another group it is shown other events, under a number that is higher."""
    with turns.alone():
        resource = locked(resource)
        before = resource.view
        for name, value in changes.items():
            setattr(resource, name, value)
        resource.save(update_fields=list(changes))
        if resource.view != before:
            _carry_over(resource.subscription_id, before, resource.view)
    return resource


def remove(resource: Resource) -> None:
    """Delete it.  Notices keep its name."""
    with turns.alone():
        resource = locked(resource)
        if Notice.objects.shown().filter(resources=resource).exists():
            bump_views(resource.subscription_id, {resource.view})
        resource.delete()


def locked(resource: Resource) -> Resource:
    """Read it anew and keep it: what is announced to it meanwhile waits, and then knows its group."""
    return Resource.objects.select_for_update().get(pk=resource.pk)


def _carry_over(subscription_id: uuid.UUID, before: str, after: str) -> None:
    """Let the view that it comes to count on from the higher of both: its number never falls, nor stays the same."""
    numbers = bump_views(subscription_id, {before, after})
    View.objects.filter(subscription=subscription_id, key=after).update(incarnation=max(numbers.values()))
