"""The base of all views of Graph's interface: headers, errors, and the person and calendars of an address.

`/me` is the caller, with all calendars that are shared with the caller.  `/users/{id}` is a person by number, user name
or e-mail address: for the caller, the same as `/me`; for another person, only what that person shares with the caller.
A person who shares nothing is not found, like a person who does not exist.  `/me/events` and `/me/calendarView` list
the default calendar, but an event by its id is found there in any calendar.
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
from accounts.models import Role, User, users_with_email
from calendars.errors import CalendarError
from calendars.graph import errors
from calendars.graph.queries import Options
from calendars.graph.reading import graph_paths
from calendars.models import Calendar
from operations.arm_base import JsonOnlyNegotiation

VERSION = "/v1.0"
READABLE_IN_LINKS = "$/:,()'"
CALENDAR_ID = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class GraphView(APIView):
    schema = None  # not in our OpenAPI description, because Microsoft describes this interface
    content_negotiation_class = JsonOnlyNegotiation

    def initial(self, request, *args, **kwargs):
        super().initial(request, *args, **kwargs)
        if any("\0" in part for part in kwargs.values()):
            raise Http404

    def handle_exception(self, exception):
        if isinstance(exception, CalendarError) and exception.path:
            exception.path = graph_paths(exception.path)
        response = super().handle_exception(exception)
        if response.status_code == 409:  # Graph does not use this status
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

    # The person and the calendars

    @cached_property
    def person(self) -> User:
        """Return the person in the address.  Raises Http404."""
        name = self.kwargs.get("user")
        return self.request.user if name is None else person_named(self.request, name)

    @property
    def is_own(self) -> bool:
        return self.person == self.request.user

    def visible_calendars(self, role: Role = Role.READER) -> QuerySet[Calendar]:
        rows = access.visible_rows(self.request, Calendar, role)
        return rows if self.is_own else rows.filter(owner=self.person)

    def get_calendar(self, role: Role = Role.READER) -> Calendar:
        """Return the calendar in the address, or the default calendar of the person.

        Raises Http404 and PermissionDenied.
        """
        rows = Calendar.objects.select_related("owner")
        if (name := self.kwargs.get("calendar")) is not None:
            if not CALENDAR_ID.fullmatch(name):
                raise Http404
            rows = rows if self.is_own else rows.filter(owner=self.person)
            return access.require_role(self.request, rows, role, pk=uuid.UUID(name))
        if self.is_own:
            Calendar.objects.default_of(self.request.user)
        return access.require_role(self.request, rows, role, owner=self.person, is_default=True)

    # Responses

    @cached_property
    def base_url(self) -> str:
        return settings.PUBLIC_URL or self.request.build_absolute_uri("/").rstrip("/")

    def context_url(self, resource: str) -> str:
        return f"{self.base_url}{VERSION}/$metadata#users('{self.person.pk}'){resource}"

    def build_link(self, **changed: object) -> str:
        """Return the address of this request with some options `changed`; their names have no dollar."""
        names = {f"${name}": str(value) for name, value in changed.items()}
        unchanged = {name: value for name, value in self.request.query_params.items() if name.lower() not in names}
        query = urlencode({**unchanged, **names}, safe=READABLE_IN_LINKS, quote_via=quote)
        return f"{self.base_url}{escape_uri_path(self.request.path)}?{query}"

    def page_response(
        self, resource: str, documents: list[dict[str, Any]], options: Options, more: bool, count: int | None
    ):
        """Return a page of a list; `more` is True if another page follows."""
        document: dict[str, Any] = {"@odata.context": self.context_url(resource)}
        if count is not None:
            document["@odata.count"] = count
        document["value"] = [options.select_members(each) for each in documents]
        if more:
            document["@odata.nextLink"] = self.build_link(skip=options.skip + len(documents))
        return Response(document)


class NotFoundView(GraphView):
    """Any other address below /v1.0: a 404 in the form of the protocol."""

    def initial(self, request, *args, **kwargs):
        super().initial(request, *args, **kwargs)
        raise Http404


def person_named(request, name: str) -> User:
    """Return the caller, or a person who shares a calendar with the caller.  Raises Http404.

    `name` is tried as a number first, then as a user name, then as an e-mail address.
    """
    visible = Q(pk=request.user.pk) | Q(calendars__in=access.visible_rows(request, Calendar))
    conditions = (
        Q(pk=int(name)) if re.fullmatch("[0-9]{1,18}", name, re.ASCII) else Q(pk__in=()),
        Q(username=name),
        Q(pk__in=users_with_email(name).values("pk")),
    )
    for condition in conditions:
        found = list(User.objects.filter(visible, condition).distinct()[:2])
        if len(found) == 1:
            return found[0]
    raise Http404


def require_writer(request) -> None:
    """Raise PermissionDenied unless the caller has at least the role of operator."""
    if access.highest_role(request) < Role.OPERATOR:
        raise PermissionDenied(f"this requires the role of {Role.OPERATOR.label}")
