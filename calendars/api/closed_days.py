"""POST /api/closed-days/{name}/import: take dates from an .ics file."""

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import Role
from api.conditional import ETAG, IF_ABSENT, IF_MATCH, refuse_stale
from api.errors import RequestError
from api.viewsets import DescribedView
from calendars.api.importing import FILE
from calendars.api.parsers import BytesParser, CalendarParser, FileParser
from calendars.closed_days import FUTURE, dates_of_file
from operations.arm_base import caller_of
from triggers import closed_days
from triggers.api.closed_days import OPERATION, SUBSCRIPTION, calendar_response, find, version_of
from triggers.api.closed_days_documents import ClosedDaysSerializer


class ClosedDaysImport(DescribedView, APIView):
    """Dates of an iCalendar file for a calendar of closed days."""

    parser_classes = [CalendarParser, BytesParser, FileParser]

    @extend_schema(
        operation_id="importClosedDays",
        summary="Add the days of an iCalendar file to a calendar of closed days",
        description=(
            f"The days of the events within the next {FUTURE.days} days are added to `dates`. Dates that already"
            " exist are not added again. The body is the file, as in the import of a calendar."
        ),
        request={
            "application/octet-stream": OpenApiTypes.BINARY,
            "multipart/form-data": {
                "type": "object",
                "required": ["file"],
                "properties": {
                    "file": {"type": "string", "format": "binary", "description": "The .ics file.", "example": FILE}
                },
            },
        },
        examples=[
            OpenApiExample("A file with one event", FILE, request_only=True, media_type="application/octet-stream")
        ],
        parameters=[SUBSCRIPTION, IF_MATCH, IF_ABSENT, ETAG, OPERATION],
        responses=ClosedDaysSerializer,
    )
    def post(self, request: Request, pk: str) -> Response:
        found, now = find(request, pk, Role.OPERATOR), timezone.now()
        content = request.data if isinstance(request.data, bytes) else b""
        dates = dates_of_file(content, request.user, now)
        with closed_days.locked(found) as calendar:
            refuse_stale(request, version_of(calendar))
            stored = calendar.document["dates"]
            document = {**calendar.document, "dates": [*stored, *(each for each in dates if each not in stored)]}
            try:
                operation = closed_days.change(calendar, document, calendar.name, caller_of(request), now)
            except RequestError as error:
                error.path = "file"
                raise
        return calendar_response(calendar, operation, request)
