"""Create, change and delete the resources to which maintenance is announced."""

import secrets
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from types import MappingProxyType

from django.db import IntegrityError, transaction

from accounts.models import TOKEN_BYTES, Subscription, digest_of
from maintenance import holds, locking
from maintenance.errors import MaintenanceError
from maintenance.lifecycle import raise_incarnations
from maintenance.models import EventScope, Notice, NoticeResource, Resource
from maintenance.policies import LABELS_MOST, check_text


def register(
    subscription: Subscription, name: str, scope_group: str, labels: dict[str, str], now: datetime
) -> tuple[Resource, str]:
    """Create a resource, and return it with the text of its token.  Only a digest of the token is stored.

    Raises MaintenanceError if a value is not allowed, or if the subscription has a resource of this name.
    """
    check(name=name, scope_group=scope_group, labels=labels)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    with refusing_taken_name(name):
        resource = Resource.objects.create(
            subscription=subscription,
            name=name,
            scope_group=scope_group,
            labels=labels,
            digest=digest_of(token),
            created_at=now,
        )
    return resource, token


@contextmanager
def refusing_taken_name(name: str) -> Iterator[None]:
    """Raise MaintenanceError if the database refuses the block because the name is taken in the subscription."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError:
        raise MaintenanceError(f"there is a resource {name!r:.80} already", path="name", code="conflict") from None


def check(name: str | None = None, scope_group: str = "", labels: Mapping[str, str] = MappingProxyType({})) -> None:
    """Raise MaintenanceError if a value is not allowed for a resource.  A `name` of None is not checked."""
    if name is not None:
        check_text(name, "name", least=1)
        if not name.isprintable():  # clients put the name into headers, and compare it with the names in events
            raise MaintenanceError(f"must be printable, not {name!r:.80}", path="name")
    check_text(scope_group, "scopeGroup")
    if len(labels) > LABELS_MOST:
        raise MaintenanceError(f"may be {LABELS_MOST} at most", path="labels", code="out_of_range")
    for label, text in labels.items():
        check_text(label, "labels", least=1)
        check_text(text, f"labels.{label}")


def new_token(resource: Resource) -> str:
    """Replace the token of the resource, and return the new one.  The old token is invalid from now on."""
    token = secrets.token_urlsafe(TOKEN_BYTES)
    Resource.objects.filter(pk=resource.pk).update(digest=digest_of(token))
    return token


def change(resource: Resource, **changes) -> Resource:
    """Change the name, scope group or labels of a resource.

    In a new group the resource is shown other events, under a higher incarnation.  A new name also replaces the old
    name in the policies of jobs and in notices that are not over.  Notices that are over keep the old name.  Raises
    MaintenanceError if a value is not allowed, or if the name is taken.
    """
    check(**changes)
    with locking.exclusive_lock():
        resource = Resource.objects.get(pk=resource.pk)
        old_name, old_scope_key = resource.name, resource.scope_key
        for name, value in changes.items():
            setattr(resource, name, value)
        with refusing_taken_name(resource.name):
            resource.save(update_fields=list(changes))
        if resource.scope_key != old_scope_key:
            carry_incarnation_over(resource.subscription_id, old_scope_key, resource.scope_key)
        if resource.name != old_name:
            _rename(resource, old_name)
    return resource


def _rename(resource: Resource, old_name: str) -> None:
    """Write the new name of a resource into the policies of jobs and into notices that are not over."""
    holds.rename_resource(resource.subscription_id, old_name, resource.name)
    if NoticeResource.objects.filter(resource=resource, notice__status__in=Notice.ACTIVE).update(name=resource.name):
        raise_incarnations(resource.subscription_id, {resource.scope_key, EventScope.EVERYTHING})


def unregister(resource: Resource) -> None:
    """Delete the resource.  Its notices keep its name."""
    with locking.exclusive_lock():
        resource = Resource.objects.get(pk=resource.pk)
        if Notice.objects.active().filter(resources=resource).exists():
            raise_incarnations(resource.subscription_id, {resource.scope_key})
        resource.delete()


def carry_incarnation_over(subscription_id: uuid.UUID, before: str, after: str) -> None:
    """Raise the incarnations of both scopes, and set that of the scope `after` to the higher one.

    So the incarnation that a resource sees always grows when the resource moves from the scope `before` to `after`.
    """
    incarnations = raise_incarnations(subscription_id, {before, after})
    EventScope.objects.filter(subscription=subscription_id, scope_key=after).update(
        incarnation=max(incarnations.values())
    )
