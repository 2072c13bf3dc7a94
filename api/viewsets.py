"""Base classes of the resources of our own API."""

from collections.abc import Iterator, Sequence
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from accounts.access import visible_rows
from accounts.models import Subscription
from api.fields import Document, NoMembers, read, shown_name, unknown
from api.links import absolute
from api.pagination import MOST, RenderRows

LOCATION = OpenApiParameter(
    "Location",
    {"type": "string", "format": "uri", "example": "https://quando.example.org/api/jobs/1"},
    OpenApiParameter.HEADER,
    description="The URL of the created resource.",
    response=[201],
)
HTTP_410 = OpenApiResponse(description="The resource was deleted.")
NO_STORE = {"Cache-Control": "no-store"}  # for an answer that shows a secret, which is shown only once
MOST_PARTS = 10  # parts of a list of history that are queried separately
PAGING = ("limit", "cursor")
WITH_BODY = ("POST", "PUT", "PATCH")


class DescribedView:
    """A view of our own API. It refuses query parameters and bodies that its OpenAPI description does not declare.

    Otherwise a misspelt filter would list everything, and an unused member of a body would have no effect.
    """

    def initial(self, request, *args, **kwargs):
        super().initial(request, *args, **kwargs)
        handler = getattr(self, request.method.lower(), None)
        if hasattr(handler, "kwargs"):
            schema = handler.kwargs["schema"]()
            schema.view, schema.method = self, request.method
            refuse_parameters(request, {*self.undeclared_parameters(handler), *parameters_of(schema)})
            if request.method not in WITH_BODY or schema.get_request_serializer() is None:
                read(NoMembers, request.data)

    def undeclared_parameters(self, handler) -> Iterator[str]:
        """Yield the names of query parameters of a list that `extend_schema` does not declare."""
        yield from ()


class ApiViewSet(DescribedView, GenericViewSet):
    """A resource of our own API. `queryset` has the rows of all tenants, in the order of the list."""

    rows_at_once = MOST + 1  # of a list; fewer where a row, or what is loaded to render it, is large

    def get_queryset(self):
        return visible_rows(self.request, self.queryset)

    def undeclared_parameters(self, handler):
        if self.action == "list":
            yield from PAGING
            yield from self.filterset_class.base_filters if hasattr(self, "filterset_class") else ()

    def read(self, document: type[Document], **options) -> dict:
        """Return the checked members of the request's body. Members of the resource's answer may be sent back."""
        return read(document, self.request.data, **{"answer": self.serializer_class, **options})

    def list_response(self, render: RenderRows, *columns: str) -> Response:
        """Answer one page of the list.  `render` gets rows; with `columns`, dicts of these columns."""
        rows = self.filter_queryset(self.list_queryset())
        return self.paginator.page_response(rows.values(*columns) if columns else rows, self, render)

    def list_queryset(self) -> QuerySet:
        return self.get_queryset()


class HistoryViewSet(ApiViewSet):
    """A resource with very many rows, whose number grows all the time, such as runs."""

    def list_queryset(self) -> QuerySet:
        """Return the rows of all tenants; `split_by_subscription` limits them to the caller's.

        With both conditions in one query SQLite may choose an index that does not have the order.
        """
        return self.queryset.all()

    def split_by_subscription(self, rows: QuerySet, times: int = 1) -> Sequence[QuerySet]:
        """Return the caller's rows, split by subscription.

        An index has the rows of one subscription in order; for several, a database would sort all of their rows.
        The caller of this method may divide each part into `times` parts.  With more than MOST_PARTS parts in all,
        the rows are not split.
        """
        own = list(visible_rows(self.request, Subscription).values_list("pk", flat=True))
        if len(own) * times > MOST_PARTS:
            return [self.filter_by_subscriptions(rows, own)]
        return [rows.filter(subscription=pk) for pk in own]

    def filter_by_subscriptions(self, rows: QuerySet, ids: Sequence[UUID]) -> QuerySet:
        return rows.filter(subscription__in=ids)


def created(request: Request, address: str, answer: Response) -> Response:
    """Return the answer with status 201 and `Location`: the resource was created and is at `address`."""
    answer.status_code = 201
    answer["Location"] = absolute(request, address)
    return answer


def parameters_of(schema) -> Iterator[str]:
    """Yield the names of the query parameters that a view's description declares."""
    for parameter in schema.get_override_parameters():
        if isinstance(parameter, OpenApiParameter) and parameter.location == OpenApiParameter.QUERY:
            yield parameter.name


def refuse_parameters(request: Request, known: set[str]) -> None:
    """Raise ValidationError for query parameters that are unknown or given more than once."""
    errors = {}
    for name, values in request.query_params.lists():
        if name not in known:
            errors[shown_name(name)] = [unknown(name, sorted(known))]
        elif len(values) > 1:
            errors[name] = [ErrorDetail("must not be given more than once", "duplicate")]
    if errors:
        raise ValidationError(errors)
