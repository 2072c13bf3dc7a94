"""/api/schedules/compare: what a change of a schedule changes in its fire times."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, IntegerField
from rest_framework.views import APIView

from accounts.examples import with_example
from api.answers import GIVEN, Answer, Member
from api.fields import Document, InstantField, WholeNumberField, read
from api.viewsets import DescribedView
from recurrence import wire
from recurrence.comparison import LIMIT, Window, compare
from triggers.api.closed_days import find_visible
from triggers.api.fields import ScheduleField, member_paths

DAYS = 30
MOST_DAYS = 400
LAST_START = 9990  # the last year of a window, so that it ends within the calendar


@with_example({"days": 30, "from": "2026-01-01T00:00:00Z"})
class CompareRequest(Document):
    before = ScheduleField(help_text="The schedule before the change.")
    after = ScheduleField(help_text="The schedule after the change.")
    days = WholeNumberField(
        default=DAYS, min_value=1, max_value=MOST_DAYS, help_text=("The length of the window in days.")
    )
    from_ = InstantField(required=False, help_text="The start of the window, included. Default: now.")


class ChangedTimesSerializer(Answer):
    count = Member(IntegerField, "The number of fire times.", len, example=1)
    first = Member(
        InstantField,
        "The first of these fire times, in UTC; null: none.",
        lambda times: times[0] if times else None,
        nullable=True,
        example="2026-01-05T09:00:00Z",
    )


class MoveSerializer(Answer):
    from_ = Member(
        InstantField, "The fire time of the schedule `before`, in UTC.", "before", example="2026-01-05T09:00:00Z"
    )
    to = Member(InstantField, "The fire time of the schedule `after`, in UTC.", "after", example="2026-01-05T10:00:00Z")


class MovedTimesSerializer(Answer):
    count = Member(IntegerField, "The number of fire times.", len, example=1)
    first = Member(
        MoveSerializer,
        "The first of these fire times, in UTC; null: none.",
        lambda moves: moves[0] if moves else None,
        nullable=True,
    )


class CompareAnswer(Answer):
    from_ = Member(InstantField, "The start of the window, included.", GIVEN, example="2026-01-01T00:00:00Z")
    to = Member(InstantField, "The end of the compared window, excluded.", "end", example="2026-01-31T00:00:00Z")
    complete = Member(
        BooleanField,
        f"Whether the whole window was compared. False: a schedule has more than {LIMIT:,} fire times, and the"
        " comparison ends at `to`.",
        GIVEN,
        example=True,
    )
    unchanged = Member(
        IntegerField, "The number of fire times that both schedules have.", "unchanged_count", example=20
    )
    added = Member(ChangedTimesSerializer, "The fire times that only the schedule `after` has.")
    removed = Member(ChangedTimesSerializer, "The fire times that only the schedule `before` has.")
    moved = Member(MovedTimesSerializer, "The fire times that move to another time.")


class ScheduleComparison(DescribedView, APIView):
    """Compares the fire times of two schedules. Nothing is saved."""

    @extend_schema(
        operation_id="compareSchedules",
        summary="Compare two schedules",
        request=CompareRequest,
        responses=CompareAnswer,
        examples=[
            OpenApiExample(
                "One hour later on weekdays",
                {
                    "before": {"format": "quartz", "expression": "0 0 9 ? * MON-FRI", "timeZone": "Europe/Berlin"},
                    "after": {"format": "quartz", "expression": "0 0 10 ? * MON-FRI", "timeZone": "Europe/Berlin"},
                    "from": "2026-01-01T00:00:00Z",
                    "days": 30,
                },
                request_only=True,
            )
        ],
    )
    def post(self, request):
        document = read(CompareRequest, request.data)
        start = document.get("from") or timezone.now()
        if start.year > LAST_START:
            raise serializers.ValidationError({"from": [f"must not be later than the year {LAST_START}"]})
        end = start + timedelta(days=document["days"])
        before, after = (window_of(request, document, name, start, end) for name in ("before", "after"))
        comparison = compare(before, after)
        return Response(CompareAnswer.render(comparison, **{"from": start}, complete=comparison.end == end))


def window_of(request: Request, document: dict[str, Any], name: str, start: datetime, end: datetime) -> Window:
    with member_paths(name):
        format, definition = document[name]
        find = find_visible(request)
        parsed, created_at = wire.parse_for_window(format, definition, None, timezone.now(), start, find)
    return Window.of(parsed, created_at, start, end)
