"""/api/schedules/preview: the fire times of a schedule that is not saved."""

from datetime import datetime

from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, DateTimeField, ListField
from rest_framework.views import APIView

from accounts.examples import with_example
from api.answers import GIVEN, Answer, Member
from api.fields import Document, InstantField, WholeNumberField, read, rendered
from api.viewsets import DescribedView
from recurrence import wire
from recurrence.describe import describe
from recurrence.jitter import start_of
from recurrence.preview import preview
from recurrence.series import occurrence_starting_at
from recurrence.wire import Parsed
from recurrence.zones import to_zone
from triggers.api.closed_days import find_visible
from triggers.api.fields import ScheduleField, member_paths
from triggers.descriptions import clock_change_warnings

COUNT = 10
PREVIEW = "preview"  # the key of the delays of a schedule that is not saved
MOST = 1_000


@with_example(
    {
        "now": "2026-01-01T00:00:00Z",
        "count": 8,
        "after": "2026-01-04T00:00:00Z",
        "from": "2026-01-05T00:00:00Z",
        "to": "2026-02-01T00:00:00Z",
    }
)
class PreviewRequest(Document):
    schedule = ScheduleField(help_text="The schedule, in the same form as in triggers.")
    now = InstantField(
        required=False,
        help_text=(
            "The assumed time of creation of the schedule. Default: now. It does not limit the window: `from` and"
            " `after` may be earlier."
        ),
    )
    count = WholeNumberField(
        default=COUNT, min_value=1, max_value=MOST, help_text=("The number of occurrences to return.")
    )
    after = InstantField(required=False, help_text="Returns only occurrences after this time.")
    from_ = InstantField(required=False, help_text="Returns only occurrences at or after this time.")
    to = InstantField(required=False, help_text="Returns only occurrences before this time.")


class OccurrenceSerializer(Answer):
    at = Member(InstantField, "The fire time, in UTC.", GIVEN, example="2026-01-05T09:00:00Z")
    startsAt = Member(
        InstantField,
        "The fire time plus jitter, in UTC. Present only for a schedule with jitter. The delay depends on the"
        " trigger, therefore a saved trigger has other delays.",
        required=False,
        example="2026-01-05T09:00:00Z",
    )
    local = Member(
        DateTimeField,
        "The fire time as wall time in the zone of the schedule.",
        GIVEN,
        example="2026-01-05T10:00:00+01:00",
    )
    end = Member(
        InstantField,
        "The end of the occurrence, in UTC. Present only for a calendar series (`outlook`).",
        required=False,
        example="2026-01-05T10:00:00Z",
    )
    endLocal = Member(
        DateTimeField,
        "The end of the occurrence as wall time in the zone of the schedule.",
        required=False,
        example="2026-01-05T11:00:00+01:00",
    )


class PreviewAnswer(Answer):
    description = Member(
        CharField,
        "A description of the schedule, for people.",
        GIVEN,
        example="every 2 weeks on Monday and Wednesday from 10:00 to 11:00 Europe/Berlin",
    )
    occurrences = Member(OccurrenceSerializer, "The fire times in the window, earliest first.", GIVEN, many=True)
    more = Member(BooleanField, "Whether there are further occurrences within the limits.", GIVEN, example=True)
    warnings = Member(
        ListField,
        "Warnings about valid parts of the schedule that may be unintended.",
        GIVEN,
        child=CharField(),
        example=[],
    )


class SchedulePreview(DescribedView, APIView):
    """Calculates the next fire times of a schedule. Nothing is saved."""

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
                        "recurrence": {"frequency": "Day", "schedule": {"hours": [5]}},
                    },
                    "now": "2026-01-01T00:00:00Z",
                    "count": 8,
                },
                request_only=True,
            ),
            OpenApiExample(
                "At 10:15 on the last Friday of each month, in Berlin",
                {
                    "schedule": {"format": "quartz", "expression": "0 15 10 ? * 6L", "timeZone": "Europe/Berlin"},
                    "now": "2026-01-01T00:00:00Z",
                },
                request_only=True,
            ),
            OpenApiExample(
                "A calendar series: every second Monday and Wednesday for one month",
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
        document = read(PreviewRequest, request.data)
        created_at, now = document.get("now"), timezone.now()
        after, start = document.get("after"), document.get("from")
        end = document.get("to")
        begins_at = max((bound for bound in (after, start) if bound), default=created_at or now)
        if end is not None and end <= begins_at:
            message = f"must be after the start of the window, {rendered(begins_at)}; `from` can set an earlier start"
            raise serializers.ValidationError({"to": [ErrorDetail(message, "out_of_range")]})
        with member_paths():
            parsed, created_at = wire.parse_for_window(
                *document["schedule"], created_at, now, begins_at, find_visible(request)
            )
            wire.refuse_unreachable(parsed, created_at)
        fires, more = preview(
            parsed,
            created_at=created_at,
            after=after,
            start=start,
            end=end,
            limit=document["count"],
        )
        return Response(
            PreviewAnswer.render(
                description=describe(parsed),
                occurrences=[occurrence(fire, parsed) for fire in fires],
                more=more,
                warnings=[*parsed.warnings, *clock_change_warnings(parsed, created_at)],
            )
        )


def occurrence(fire: datetime, parsed: Parsed) -> dict[str, str]:
    optional = {"startsAt": rendered(start_of(fire, parsed.jitter, PREVIEW))} if parsed.jitter else {}
    found = occurrence_starting_at(wire.base_of(parsed.schedule), fire)
    if found is not None:
        optional |= {"end": rendered(found.end), "endLocal": to_zone(found.end, parsed.zone).isoformat()}
    return OccurrenceSerializer.render(at=rendered(fire), local=to_zone(fire, parsed.zone).isoformat(), **optional)
