"""POST /api/calendars/{id}/import: import an .ics file."""

from typing import Any

from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter
from rest_framework import serializers
from rest_framework.response import Response

from accounts.examples import with_example
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


@with_example(
    {
        "line": 5,
        "component": "VEVENT",
        "uid": "stand-up@example.com",
        "summary": "Stand-up",
        "status": "taken",
        "notes": [],
        "eventId": "5b2f8a522c3c4a47a7de8a2f7f3c9d10",
    }
)
class LineSerializer(serializers.Serializer):
    line = serializers.IntegerField(help_text="Where its component begins in the file, from 1.")
    component = serializers.CharField(help_text="Such as `VEVENT`.")
    uid = serializers.CharField(help_text="What the file calls it.")
    summary = serializers.CharField(help_text="Its subject in the file.")
    status = serializers.ChoiceField([each.value for each in Status], help_text="What became of it.")
    notes = serializers.ListField(
        child=serializers.CharField(), help_text="Why it was refused; what could not be said here as the file says it."
    )
    eventId = serializers.CharField(allow_null=True, help_text="The event that it is now; null in a dry run.")


@with_example({"dryRun": False, "taken": 1, "changed": 0, "unchanged": 0, "refused": 0})
class ReportSerializer(serializers.Serializer):
    dryRun = serializers.BooleanField(help_text="Whether nothing was written.")
    taken = serializers.IntegerField(help_text="How many components are new here.")
    changed = serializers.IntegerField(help_text="How many were here and are otherwise now.")
    unchanged = serializers.IntegerField(help_text="How many were here and are the same.")
    refused = serializers.IntegerField(help_text="How many could not be taken.")
    lines = LineSerializer(many=True, help_text="Each component, in the order of the file.")


IMPORT: dict[str, Any] = {
    "operation_id": "importCalendar",
    "summary": "Import an iCalendar file",
    "description": "Events are known by their UID: what is here already is changed, not doubled.  What cannot be taken"
    " is refused with its reason, and the rest is taken all the same, in one transaction.  The body is the file,"
    " sent as `text/calendar` or `application/octet-stream`, or a form with the file.",
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
            description="`true`: the report of what would be done.  Nothing is written.",
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
    return {
        "dryRun": report.dry_run,
        **{status.value: report.count(status) for status in Status},
        "lines": [
            {
                "line": each.line,
                "component": each.component,
                "uid": each.uid,
                "summary": each.summary,
                "status": each.status.value,
                "notes": list(each.notes),
                "eventId": None if each.event_id is None or report.dry_run else each.event_id.hex,
            }
            for each in report.lines
        ],
    }
