"""What the resources of our own API have in common."""

from collections.abc import Sequence

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiResponse
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from accounts.access import visible
from accounts.models import Subscription

GONE = OpenApiResponse(description="It is gone.")
NO_STORE = {"Cache-Control": "no-store"}  # of an answer that shows a secret, this once
MOST_PARTS = 10  # of a list of history


class ApiViewSet(GenericViewSet):
    """A resource of our own API: `queryset` has the rows of everybody, in the order of the list."""

    def get_queryset(self):
        return visible(self.request, self.queryset)

    def page(self, *columns: str) -> list:
        """The rows of a page of the list, or with `columns` dicts of these."""
        rows = self.filter_queryset(self.listed())
        return self.paginate_queryset(rows.values(*columns) if columns else rows)

    def listed(self) -> QuerySet:
        return self.get_queryset()


class HistoryViewSet(ApiViewSet):
    """A resource of which there is ever more."""

    def listed(self) -> QuerySet:
        """Everybody's: `parts` takes the caller's.  By both conditions SQLite may take an index without the order."""
        return self.queryset.all()

    def parts(self, rows: QuerySet) -> Sequence[QuerySet]:
        """The caller's rows by subscription: an index has each one's in order; of several a database would sort all."""
        own = visible(self.request, Subscription).values_list("pk", flat=True)[: MOST_PARTS + 1]
        if len(own) > MOST_PARTS:
            return [visible(self.request, rows)]
        return [rows.filter(subscription=pk) for pk in own]


def created(address: str, answer: Response) -> Response:
    """The answer as that of what was made just now, and is at the address."""
    answer.status_code = 201
    answer["Location"] = address
    return answer
