"""The notices that a caller is shown, and the incarnation under which they are shown."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from django.db import transaction
from django.db.models import Exists, OuterRef

from accounts.models import User, digest_of
from maintenance.models import FIRST_INCARNATION, Affected, Notice, NoticeQuerySet, Overview, Resource, View


@dataclass(frozen=True, slots=True)
class EventFeed:
    """The notices of a resource's view, or the notices of all subscriptions of a person."""

    subscriptions: tuple[uuid.UUID, ...]
    resource: Resource | None = None
    user: User | None = None  # set when `resource` is None

    @classmethod
    def of(cls, resource: Resource) -> Self:
        return cls((resource.subscription_id,), resource)

    @property
    def notices(self) -> NoticeQuerySet:
        """All notices of the feed, also those that have ended.

        Only the key of the view decides.  So a resource that has just moved to another group finds no notice of its
        new group under the incarnation of the old one.
        """
        rows = Notice.objects.filter(subscription__in=self.subscriptions)
        if self.resource is None:
            return rows
        group = self.resource.scope_group
        own = {"resource__subscription": self.resource.subscription_id} if group else {"resource": self.resource}
        # EXISTS, because a list of ids would grow with the history
        return rows.filter(Exists(Affected.objects.filter(notice=OuterRef("pk"), resource__scope_group=group, **own)))

    def known(self, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, Notice]:
        return {notice.pk: notice for notice in self.notices.filter(pk__in=ids)}

    def read(self) -> tuple[int, list[Notice]]:
        """Return the incarnation, and the notices that are shown under it, oldest first.

        A change is committed together with the incarnation of its view, and incarnations only grow.  If they are equal
        before and after the queries, no change came in between; otherwise the queries are repeated.  This takes no
        lock.  It also takes no snapshot: on SQLite only one transaction at a time could have it.
        """
        after = self.numbers()
        while True:
            before, shown = after, list(self.notices.shown().order_by().prefetch_related("affected"))
            after = self.numbers()
            if before == after and (incarnation := self._incarnation_of(after)) is not None:
                # sorted here: with ORDER BY, SQLite would use the index by time and read the whole history
                return incarnation, sorted(shown, key=lambda each: (each.announced_at, each.pk))

    def numbers(self) -> list[tuple[uuid.UUID, int]]:
        """Return (subscription, incarnation) of the view in each subscription.

        A view that never changed has no row, and is left out.
        """
        key = self.resource.view if self.resource else View.EVERYTHING
        views = View.objects.filter(subscription__in=self.subscriptions, key=key).order_by("subscription")
        return list(views.values_list("subscription", "incarnation"))

    def _incarnation_of(self, numbers: list[tuple[uuid.UUID, int]]) -> int | None:
        """Return one incarnation for all these numbers together, or None if they have changed meanwhile."""
        lowest = sum(incarnation for _, incarnation in numbers) or FIRST_INCARNATION
        if self.user is None:
            return lowest
        digest = digest_of(str(numbers))
        overview = Overview.objects.filter(user=self.user, digest=digest).first()
        if overview is None:
            with transaction.atomic():
                overview, _ = Overview.objects.select_for_update(no_key=True).get_or_create(user=self.user)
                if self.numbers() != numbers:
                    return None
                if overview.digest != digest:  # if equal, another process has just raised the incarnation
                    overview.digest, overview.incarnation = digest, max(overview.incarnation + 1, lowest)
                    overview.save()
        return overview.incarnation
