"""POST /api/calendars/{id}/import: import an .ics file."""

from typing import Any

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField, ListField

from api.answers import GIVEN, Answer, Member
from calendars.ics.import_report import Report, Status
from calendars.ics.importing import import_calendar
from calendars.models import Calendar

FILE = "\r\n".join(
    [
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Example//EN",
        "BEGIN:VEVENT",
        "UID:stand-up@example.com",
        "DTSTAMP:20260101T000000Z",
        "DTSTART:20260105T080000Z",
        "DTEND:20260105T081500Z",
        "SUMMARY:Stand-up",
        "END:VEVENT",
        "END:VCALENDAR",
        "",
    ]
)


class LineSerializer(Answer):
    line = Member(IntegerField, "The line at which the component begins in the file, counted from 1.", example=5)
    component = Member(CharField, "The type of the component, such as `VEVENT`.", example="VEVENT")
    uid = Member(CharField, "The UID in the file.", example="stand-up@example.com")
    summary = Member(CharField, "The summary in the file.", example="Stand-up")
    status = Member(
        ChoiceField,
        "The result for the component.",
        "status.value",
        choices=[each.value for each in Status],
        example="taken",
    )
    notes = Member(
        ListField,
        "The reasons for a refusal, and properties of the file that cannot be represented.",
        child=CharField(),
        example=[],
    )
    eventId = Member(
        CharField,
        "The id of the imported event; null in a dry run.",
        GIVEN,
        nullable=True,
        example="5b2f8a522c3c4a47a7de8a2f7f3c9d10",
    )


class ReportSerializer(Answer):
    dryRun = Member(BooleanField, "Whether the import was a dry run, which saves nothing.", example=False)
    taken = Member(
        IntegerField, "The number of created components.", lambda report: report.count(Status.TAKEN), example=1
    )
    changed = Member(
        IntegerField,
        "The number of changed components.",
        lambda report: report.count(Status.CHANGED),
        example=0,
    )
    unchanged = Member(
        IntegerField, "The number of unchanged components.", lambda report: report.count(Status.UNCHANGED), example=0
    )
    refused = Member(
        IntegerField, "The number of refused components.", lambda report: report.count(Status.REFUSED), example=0
    )
    lines = Member(LineSerializer, "The components, in the order of the file.", GIVEN, many=True)


IMPORT: dict[str, Any] = {
    "operation_id": "importCalendar",
    "summary": "Import an iCalendar file",
    "description": (
        "Events are identified by their UID: an event that already exists is changed, not duplicated. Components"
        " that cannot be imported are refused with a reason, and all others are imported in one transaction. The"
        " body is the file, sent as `text/calendar` or `application/octet-stream`, or a form with the file."
    ),
    "request": {
        "application/octet-stream": OpenApiTypes.BINARY,
        "multipart/form-data": {
            "type": "object",
            "required": ["file"],
            "properties": {
                "file": {"type": "string", "format": "binary", "description": "The .ics file.", "example": FILE}
            },
        },
    },
    "examples": [
        OpenApiExample("A file with one event", FILE, request_only=True, media_type="application/octet-stream")
    ],
    "parameters": [
        OpenApiParameter(
            "dryRun",
            {"type": "boolean", "example": True},
            description="`true`: returns the report without saving anything.",
        )
    ],
    "responses": ReportSerializer,
}


def import_file(request, calendar: Calendar) -> Response:
    dry_run = request.query_params.get("dryRun", "false")
    if dry_run not in ("true", "false"):
        raise serializers.ValidationError({"dryRun": ["must be true or false"]}, "invalid")
    content = request.data if isinstance(request.data, bytes) else b""
    report = import_calendar(calendar, content, timezone.now(), dry_run=dry_run == "true", viewer=request.user)
    return Response(render_report(report))


def render_report(report: Report) -> dict[str, Any]:
    lines = [
        LineSerializer.render(each, eventId=each.event_id.hex if each.event_id and not report.dry_run else None)
        for each in report.lines
    ]
    return ReportSerializer.render(report, lines=lines)
