"""What all resources of Graph's interface have in common: headers, refusals, and whose calendars an address means.

`/me` is the caller with everything that is shared with them; `/users/{id}`, by number, user name or e-mail address, is
the same for the caller, and of anybody else what that person shares with the caller.  Whoever shares nothing is not
found, and looks like nobody.  `/me/events` and `/me/calendarView` are of the default calendar, but an event is found
there in whichever calendar it is.
"""

import re
import uuid
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import Http404
from django.utils import timezone
from django.utils.encoding import escape_uri_path
from django.utils.functional import cached_property
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts import access
from accounts.models import Role, User
from calendars.errors import CalendarError
from calendars.graph import errors
from calendars.graph.queries import Options
from calendars.graph.reading import named_as_graph_does
from calendars.models import Calendar
from operations.resource_manager import AlwaysJson

VERSION = "/v1.0"
READABLE_IN_LINKS = "$/:,()'"
CALENDAR_ID = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class GraphView(APIView):
    schema = None  # the interface is described by whoever defined it
    content_negotiation_class = AlwaysJson

    def initial(self, request, *args, **kwargs):
        super().initial(request, *args, **kwargs)
        if any("\0" in part for part in kwargs.values()):
            raise Http404

    def handle_exception(self, exception):
        if isinstance(exception, CalendarError) and exception.path:
            exception.path = named_as_graph_does(exception.path)
        response = super().handle_exception(exception)
        if response.status_code == 409:  # which Graph does not answer
            response.status_code = 400
        error = response.data["error"]
        message = f"{error['target']}: {error['message']}" if error["target"] else error["message"]
        code = errors.code_of(exception, response.status_code)
        response.data = errors.body(code, message, self.request, timezone.now())
        return response

    def finalize_response(self, request, response, *args, **kwargs):
        response = super().finalize_response(request, response, *args, **kwargs)
        response.content_type = "application/json"
        response["Cache-Control"] = "no-cache"
        response["request-id"] = request.id
        if sent := errors.client_request_id(request):
            response["client-request-id"] = sent
        return response

    # Whose

    @cached_property
    def person(self) -> User:
        """Who stands in the address.  Raises Http404."""
        name = self.kwargs.get("user")
        return self.request.user if name is None else person_named(self.request, name)

    @property
    def is_own(self) -> bool:
        return self.person == self.request.user

    def calendars(self, role: Role = Role.READER) -> QuerySet[Calendar]:
        rows = access.visible(self.request, Calendar, role)
        return rows if self.is_own else rows.filter(owner=self.person)

    def calendar(self, role: Role = Role.READER) -> Calendar:
        """The one in the address, or the person's default one."""
        rows = Calendar.objects.select_related("owner")
        if (name := self.kwargs.get("calendar")) is not None:
            if not CALENDAR_ID.fullmatch(name):
                raise Http404
            rows = rows if self.is_own else rows.filter(owner=self.person)
            return access.require(self.request, rows, role, pk=uuid.UUID(name))
        if self.is_own:
            Calendar.objects.default_of(self.request.user)
        return access.require(self.request, rows, role, owner=self.person, is_default=True)

    # What is answered

    @cached_property
    def root(self) -> str:
        return settings.PUBLIC_URL or self.request.build_absolute_uri("/").rstrip("/")

    def context(self, resource: str) -> str:
        return f"{self.root}{VERSION}/$metadata#users('{self.person.pk}'){resource}"

    def link(self, **changed: object) -> str:
        """This very address with its options, some of them `changed`, named as in the query but for the dollar."""
        names = {f"${name}": str(value) for name, value in changed.items()}
        kept = {name: value for name, value in self.request.query_params.items() if name.lower() not in names}
        query = urlencode({**kept, **names}, safe=READABLE_IN_LINKS, quote_via=quote)
        return f"{self.root}{escape_uri_path(self.request.path)}?{query}"

    def page(self, resource: str, documents: list[dict[str, Any]], options: Options, more: bool, count: int | None):
        """A page of a list; `more` says that another one follows."""
        answer: dict[str, Any] = {"@odata.context": self.context(resource)}
        if count is not None:
            answer["@odata.count"] = count
        answer["value"] = [options.selected(document) for document in documents]
        if more:
            answer["@odata.nextLink"] = self.link(skip=options.skip + len(documents))
        return Response(answer)


class Elsewhere(GraphView):
    """Any other address below /v1.0: not there, in the form of the protocol."""

    def initial(self, request, *args, **kwargs):
        super().initial(request, *args, **kwargs)
        raise Http404


def person_named(request, name: str) -> User:
    """The caller, or somebody who shares a calendar with them.  A number comes before a user name, that before a mail
    address, and an address that several have names nobody."""
    seen = Q(pk=request.user.pk) | Q(calendars__in=access.visible(request, Calendar))
    means = (
        Q(pk=int(name)) if re.fullmatch("[0-9]{1,18}", name, re.ASCII) else Q(pk__in=()),
        Q(username=name),
        Q(email__iexact=name),
    )
    for meant in means:
        found = list(User.objects.filter(seen, meant).distinct()[:2])
        if len(found) == 1:
            return found[0]
    raise Http404


def require_writer(request) -> None:
    if access.highest_role(request) < Role.OPERATOR:
        raise PermissionDenied(f"this takes the role of {Role.OPERATOR.label}")
