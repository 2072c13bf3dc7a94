"""What a caller is shown of announced maintenance, and the number under which it is shown."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from django.db.models import Exists, OuterRef, Sum

from maintenance.models import FIRST_INCARNATION, Affected, Notice, NoticeQuerySet, Resource, View


@dataclass(frozen=True, slots=True)
class Sight:
    """The notices of a resource's view, or without a resource those of whole subscriptions."""

    subscriptions: tuple[uuid.UUID, ...]
    resource: Resource | None = None

    @classmethod
    def of(cls, resource: Resource) -> Self:
        return cls((resource.subscription_id,), resource)

    @property
    def notices(self) -> NoticeQuerySet:
        """Also those that have ended.

        Only the key of the view decides, so that a resource which has just moved elsewhere finds nothing of its new
        place under the number of the old one.
        """
        rows = Notice.objects.filter(subscription__in=self.subscriptions)
        if self.resource is None:
            return rows
        group = self.resource.scope_group
        mine = {"resource__subscription": self.resource.subscription_id} if group else {"resource": self.resource}
        # not as a list of ids, which grows with the history
        return rows.filter(Exists(Affected.objects.filter(notice=OuterRef("pk"), resource__scope_group=group, **mine)))

    def known(self, ids: Collection[uuid.UUID]) -> dict[uuid.UUID, Notice]:
        return {notice.pk: notice for notice in self.notices.filter(pk__in=ids)}

    def incarnation(self) -> int:
        key = self.resource.view if self.resource else View.EVERYTHING
        counted = View.objects.filter(subscription__in=self.subscriptions, key=key)
        return counted.aggregate(sum=Sum("incarnation"))["sum"] or FIRST_INCARNATION

    def read(self) -> tuple[int, list[Notice]]:
        """Return the number, and the notices that are shown under it.

        A change is committed together with its number, and numbers only grow.  So when the number is the same before
        and after, no change came between the queries in the middle; else they are asked again.  This takes no lock,
        and no snapshot, which with SQLite would be the only writer's.
        """
        after = self.incarnation()
        while True:
            before, shown = after, list(self.notices.shown().order_by().prefetch_related("affected"))
            after = self.incarnation()
            if before == after:
                # put in order here: asked for it, SQLite goes through all of the history, which has an index by time
                return after, sorted(shown, key=lambda each: (each.announced_at, each.pk))
