"""What a caller is shown of announced maintenance, and the number under which it is shown."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from django.db import transaction
from django.db.models import Exists, OuterRef

from accounts.models import User, digest_of
from maintenance.models import FIRST_INCARNATION, Affected, Notice, NoticeQuerySet, Overview, Resource, View


@dataclass(frozen=True, slots=True)
class Sight:
    """The notices of a resource's view, or those of all subscriptions of a person."""

    subscriptions: tuple[uuid.UUID, ...]
    resource: Resource | None = None
    user: User | None = None  # without a resource

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

    def read(self) -> tuple[int, list[Notice]]:
        """Return the number, and the notices that are shown under it.

        A change is committed together with the number of its view, and numbers only grow.  So when these are the same
        before and after, no change came between the queries in the middle; else they are asked again.  This takes no
        lock, and no snapshot, which with SQLite would be the only writer's.
        """
        after = self.numbers()
        while True:
            before, shown = after, list(self.notices.shown().order_by().prefetch_related("affected"))
            after = self.numbers()
            if before == after and (number := self._number_of(after)) is not None:
                # put in order here: asked for it, SQLite goes through all of the history, which has an index by time
                return number, sorted(shown, key=lambda each: (each.announced_at, each.pk))

    def numbers(self) -> list[tuple[uuid.UUID, int]]:
        """Those of the view in each subscription; there is none of a view that never changed."""
        key = self.resource.view if self.resource else View.EVERYTHING
        views = View.objects.filter(subscription__in=self.subscriptions, key=key).order_by("subscription")
        return list(views.values_list("subscription", "incarnation"))

    def _number_of(self, numbers: list[tuple[uuid.UUID, int]]) -> int | None:
        """The number of all these together; None when they have changed meanwhile."""
        least = sum(incarnation for _, incarnation in numbers) or FIRST_INCARNATION
        if self.user is None:
            return least
        digest = digest_of(str(numbers))
        known = Overview.objects.filter(user=self.user, digest=digest).first()
        if known is None:
            with transaction.atomic():
                known, _ = Overview.objects.select_for_update(no_key=True).get_or_create(user=self.user)
                if self.numbers() != numbers:
                    return None
                if known.digest != digest:  # else somebody else has counted just now
                    known.digest, known.incarnation = digest, max(known.incarnation + 1, least)
                    known.save()
        return known.incarnation
