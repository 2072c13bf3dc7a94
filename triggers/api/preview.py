"""/api/schedules/preview: what a schedule would do, before anyone saves it."""

from datetime import datetime

from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.fields import InstantField, WholeNumberField, read, rendered
from recurrence import wire
from recurrence.describe import describe
from recurrence.preview import preview
from recurrence.series import Series
from recurrence.wire import Parsed
from triggers.api.fields import ScheduleField

COUNT = 10
MOST = 1_000


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
    end = InstantField(required=False, help_text="When it ends, in UTC: of a calendar series (`outlook`) only.")
    endLocal = serializers.DateTimeField(required=False, help_text="The same end on the clocks of the schedule's zone.")


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
            OpenApiExample(
                "A calendar series: every other Monday and Wednesday of one month",
                {
                    "schedule": {
                        "format": "outlook",
                        "start": {"dateTime": "2026-01-05T10:00:00", "timeZone": "Europe/Berlin"},
                        "end": {"dateTime": "2026-01-05T11:00:00", "timeZone": "Europe/Berlin"},
                        "recurrence": {
                            "pattern": {"type": "weekly", "interval": 2, "daysOfWeek": ["monday", "wednesday"]},
                            "range": {"type": "noEnd", "startDate": "2026-01-05"},
                        },
                    },
                    "from": "2026-03-01T00:00:00Z",
                    "to": "2026-04-01T00:00:00Z",
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
                "occurrences": [occurrence(fire, parsed) for fire in fires],
                "more": more,
                "warnings": parsed.warnings,
            }
        )


def occurrence(fire: datetime, parsed: Parsed) -> dict[str, str]:
    answer = {"at": rendered(fire), "local": fire.astimezone(parsed.zone).isoformat()}
    found = parsed.schedule.starting_at(fire) if isinstance(parsed.schedule, Series) else None
    if found is not None:
        answer |= {"end": rendered(found.end), "endLocal": found.end.astimezone(parsed.zone).isoformat()}
    return answer
