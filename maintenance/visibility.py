"""The notices that a caller is shown, and the incarnation under which they are shown."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from django.db import transaction
from django.db.models import Exists, OuterRef

from accounts.models import User, digest_of
from maintenance.models import (
    FIRST_INCARNATION,
    EventScope,
    Notice,
    NoticeQuerySet,
    NoticeResource,
    Resource,
    UserEventScope,
)


@dataclass(frozen=True, slots=True)
class EventFeed:
    """The notices of a resource's scope, or the notices of all subscriptions of a person."""

    subscriptions: tuple[uuid.UUID, ...]
    resource: Resource | None = None
    user: User | None = None  # set when `resource` is None

    @classmethod
    def for_resource(cls, resource: Resource) -> Self:
        return cls((resource.subscription_id,), resource)

    @property
    def notices(self) -> NoticeQuerySet:
        """All notices of the feed, also those that have ended.

        Only the key of the scope decides.  So a resource that has just moved to another group finds no notice of its
        new group under the incarnation of the old one.
        """
        rows = Notice.objects.filter(subscription__in=self.subscriptions)
        if self.resource is None:
            return rows
        group = self.resource.scope_group
        own = {"resource__subscription": self.resource.subscription_id} if group else {"resource": self.resource}
        # EXISTS, because a list of ids would grow with the history
        return rows.filter(
            Exists(NoticeResource.objects.filter(notice=OuterRef("pk"), resource__scope_group=group, **own))
        )

    def find_notices(self, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, Notice]:
        return {notice.pk: notice for notice in self.notices.filter(pk__in=ids)}

    def read_snapshot(self) -> tuple[int, list[Notice]]:
        """Return the incarnation, and the notices that are shown under it, oldest first.

        A change is committed together with the incarnation of its scope, and incarnations only grow.  If they are equal
        before and after the queries, no change came in between; otherwise the queries are repeated.  This takes no
        lock.  It also takes no snapshot: on SQLite only one transaction at a time could have it.
        """
        after = self.load_incarnations()
        while True:
            before, active = after, list(self.notices.active().order_by().prefetch_related("affected_resources"))
            after = self.load_incarnations()
            if before == after and (incarnation := self._incarnation_of(after)) is not None:
                # sorted here: with ORDER BY, SQLite would use the index by time and read the whole history
                return incarnation, sorted(active, key=lambda each: (each.announced_at, each.pk))

    def load_incarnations(self) -> list[tuple[uuid.UUID, int]]:
        """Return (subscription, incarnation) of the scope in each subscription.

        A scope that never changed has no row, and is left out.
        """
        key = self.resource.scope_key if self.resource else EventScope.EVERYTHING
        scopes = EventScope.objects.filter(subscription__in=self.subscriptions, scope_key=key).order_by("subscription")
        return list(scopes.values_list("subscription", "incarnation"))

    def _incarnation_of(self, incarnations: list[tuple[uuid.UUID, int]]) -> int | None:
        """Return one incarnation for all these incarnations together, or None if they have changed meanwhile."""
        lowest = sum(incarnation for _, incarnation in incarnations) or FIRST_INCARNATION
        if self.user is None:
            return lowest
        digest = digest_of(str(incarnations))
        user_scope = UserEventScope.objects.filter(user=self.user, scope_digest=digest).first()
        if user_scope is None:
            with transaction.atomic():
                user_scope, _ = UserEventScope.objects.select_for_update(no_key=True).get_or_create(user=self.user)
                if self.load_incarnations() != incarnations:
                    return None
                if user_scope.scope_digest != digest:  # if equal, another process has just raised the incarnation
                    user_scope.scope_digest, user_scope.incarnation = digest, max(user_scope.incarnation + 1, lowest)
                    user_scope.save()
        return user_scope.incarnation
