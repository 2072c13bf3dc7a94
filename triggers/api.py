"""Our own REST resources about schedules: what one would do, before anyone saves it."""

from datetime import datetime, tzinfo

from django.urls import path
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.fields import InstantField, WholeNumberField, read, rendered
from recurrence import wire
from recurrence.describe import describe
from recurrence.preview import preview
from recurrence.wire import WireError

COUNT = 10
MOST = 1_000


@extend_schema_field(
    {
        "type": "object",
        "required": ["format"],
        "properties": {"format": {"type": "string", "enum": sorted(wire.PARSERS)}},
        "additionalProperties": True,
        "description": (
            "`format` says how the other members are read. `azure` takes `startTime` and `recurrence`. `quartz` takes "
            "`expression` (six or seven fields, such as `0 15 10 ? * MON-FRI`), `timeZone` (a name of IANA's or of "
            "Windows, by default UTC), `clockChange` (`cron` by default, or `quartz`), `startTime` and `endTime`, "
            "both included. An expression that never fires again has no occurrences and a warning."
        ),
    }
)
class ScheduleField(serializers.Field):
    """A schedule in one of the formats we read: which one, and its definition."""

    default_error_messages = {"invalid": "must be an object"}

    def to_internal_value(self, data: object) -> tuple[str, dict]:
        if not isinstance(data, dict):
            return self.fail("invalid")
        format = data.get("format")
        if not isinstance(format, str):
            raise WireError("format", "required", f"must be one of {', '.join(wire.PARSERS)}")
        return format, {name: value for name, value in data.items() if name != "format"}


class PreviewRequest(serializers.Serializer):
    schedule = ScheduleField()
    now = InstantField(required=False, help_text="When the schedule counts as created; by default the present moment.")
    count = WholeNumberField(default=COUNT, min_value=1, max_value=MOST, help_text="How many occurrences to answer.")
    after = InstantField(required=False, help_text="Answer only occurrences after this instant.")

    def get_fields(self):
        return {
            **super().get_fields(),
            "from": InstantField(required=False, help_text="Answer only occurrences at or after this instant."),
            "to": InstantField(required=False, help_text="Answer only occurrences before this instant."),
        }


class OccurrenceSerializer(serializers.Serializer):
    at = InstantField(help_text="In UTC.")
    local = serializers.DateTimeField(help_text="The same instant on the clocks of the schedule's zone.")


class PreviewAnswer(serializers.Serializer):
    description = serializers.CharField(help_text="The schedule in words.")
    occurrences = OccurrenceSerializer(many=True)
    more = serializers.BooleanField(help_text="Whether further occurrences follow within the limits.")
    warnings = serializers.ListField(child=serializers.CharField(), help_text="What was understood but looks odd.")


class SchedulePreview(APIView):
    """What a schedule would do.  Nothing is written."""

    @extend_schema(
        operation_id="previewSchedule",
        summary="Preview a schedule",
        request=PreviewRequest,
        responses=PreviewAnswer,
        examples=[
            OpenApiExample(
                "Every day at five",
                {
                    "schedule": {
                        "format": "azure",
                        "startTime": "2026-01-05T08:00:00Z",
                        "recurrence": {"frequency": "day", "schedule": {"hours": [5]}},
                    },
                    "now": "2026-01-01T00:00:00Z",
                    "count": 8,
                },
                request_only=True,
            ),
            OpenApiExample(
                "A quarter past ten on the last Friday of each month, in Berlin",
                {
                    "schedule": {"format": "quartz", "expression": "0 15 10 ? * 6L", "timeZone": "Europe/Berlin"},
                    "now": "2026-01-01T00:00:00Z",
                },
                request_only=True,
            ),
        ],
    )
    def post(self, request):
        question = read(PreviewRequest, request.data)
        now = question.get("now") or timezone.now()
        format, definition = question["schedule"]
        parsed = wire.parse(format, definition, now)
        wire.refuse_unreachable(parsed, now)
        fires, more = preview(
            parsed,
            created_at=now,
            after=question.get("after"),
            start=question.get("from"),
            end=question.get("to"),
            limit=question["count"],
        )
        return Response(
            {
                "description": describe(parsed),
                "occurrences": [{"at": rendered(fire), "local": local(fire, parsed.zone)} for fire in fires],
                "more": more,
                "warnings": parsed.warnings,
            }
        )


def local(fire: datetime, zone: tzinfo) -> str:
    return fire.astimezone(zone).isoformat()


urlpatterns = [path("schedules/preview", SchedulePreview.as_view(), name="schedule-preview")]
