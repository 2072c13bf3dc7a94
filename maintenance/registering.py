"""Make, change and remove the resources to which maintenance is announced."""

import secrets
from datetime import datetime

from django.db import IntegrityError, transaction

from accounts.models import TOKEN_BYTES, Subscription, digest_of
from maintenance.errors import MaintenanceError
from maintenance.lifecycle import bump_views
from maintenance.models import Notice, Resource


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
    """Change its scope group or labels.  Who sees other events for it is told so by a new incarnation."""
    with transaction.atomic():
        before = resource.view
        for name, value in changes.items():
            setattr(resource, name, value)
        resource.save(update_fields=list(changes))
        if resource.view != before and _has_news(resource):
            bump_views(resource.subscription_id, {before, resource.view})
    return resource


def remove(resource: Resource) -> None:
    """Delete it.  Notices keep its name."""
    with transaction.atomic():
        if _has_news(resource):
            bump_views(resource.subscription_id, {resource.view})
        resource.delete()


def _has_news(resource: Resource) -> bool:
    return Notice.objects.shown().filter(resources=resource).exists()
