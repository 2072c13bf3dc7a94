"""Make, change and remove the resources to which maintenance is announced."""

import secrets
import uuid
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from django.db import IntegrityError, transaction

from accounts.models import TOKEN_BYTES, Subscription, digest_of
from maintenance import turns
from maintenance.errors import MaintenanceError
from maintenance.lifecycle import bump_views
from maintenance.models import Notice, Resource, View
from maintenance.wishes import LABELS_MOST, check_text


def register(
    subscription: Subscription, name: str, scope_group: str, labels: dict[str, str], now: datetime
) -> tuple[Resource, str]:
    """Make a resource; the second value is the text of its token, which nobody can read again.

    Raises MaintenanceError for what it cannot be called, and when there is one of this name.
    """
    check_text(name, "name", least=1)
    if not name.isprintable():  # clients put it into headers, and compare it with what they are told
        raise MaintenanceError(f"must be printable, not {name!r:.80}", path="name")
    check(scope_group=scope_group, labels=labels)
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
        raise MaintenanceError(f"there is a resource {name!r:.80} already", path="name", code="conflict") from None
    return resource, token


def check(scope_group: str = "", labels: Mapping[str, str] = MappingProxyType({})) -> None:
    """Raises MaintenanceError for what a resource cannot have."""
    check_text(scope_group, "scopeGroup")
    if len(labels) > LABELS_MOST:
        raise MaintenanceError(f"may be {LABELS_MOST} at most", path="labels", code="out_of_range")
    for name, text in labels.items():
        check_text(name, "labels", least=1)
        check_text(text, f"labels.{name}")


def new_token(resource: Resource) -> str:
    """Give the resource another token; the one before is worth nothing from now on."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    Resource.objects.filter(pk=resource.pk).update(digest=digest_of(token))
    return token


def change(resource: Resource, **changes) -> Resource:
    """Change its scope group or labels.  In another group it is shown other events, under a number that is higher."""
    check(**changes)
    with turns.alone():
        resource = Resource.objects.get(pk=resource.pk)
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
        resource = Resource.objects.get(pk=resource.pk)
        if Notice.objects.shown().filter(resources=resource).exists():
            bump_views(resource.subscription_id, {resource.view})
        resource.delete()


def _carry_over(subscription_id: uuid.UUID, before: str, after: str) -> None:
    """Let the view that it comes to count on from the higher of both: its number never falls, nor stays the same."""
    numbers = bump_views(subscription_id, {before, after})
    View.objects.filter(subscription=subscription_id, key=after).update(incarnation=max(numbers.values()))
