"""/api/schedules/compare: what a change of a schedule changes in its fire times."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.examples import with_example
from api.fields import Document, InstantField, WholeNumberField, read, rendered
from api.viewsets import DescribedView
from recurrence import wire
from recurrence.comparison import LIMIT, Comparison, Window, compare
from triggers.api.closed_days import find_visible
from triggers.api.fields import ScheduleField, member_paths

DAYS = 30
MOST_DAYS = 400
LAST_START = 9990  # the last year of a window, so that it ends within the calendar


@with_example({"days": 30, "from": "2026-01-01T00:00:00Z"})
class CompareRequest(Document):
    before = ScheduleField(help_text="The schedule as it is now.")
    after = ScheduleField(help_text="The schedule as it would be.")
    days = WholeNumberField(default=DAYS, min_value=1, max_value=MOST_DAYS, help_text="The length of the window.")

    def get_fields(self):
        return {
            **super().get_fields(),
            "from": InstantField(
                required=False, help_text="The start of the window, included; by default the present moment."
            ),
        }


@with_example({"count": 1, "first": "2026-01-05T09:00:00Z"})
class ChangedTimesSerializer(serializers.Serializer):
    count = serializers.IntegerField(help_text="How many fire times.")
    first = InstantField(allow_null=True, help_text="The first of them; null: there is none.")


@with_example({"from": "2026-01-05T09:00:00Z", "to": "2026-01-05T10:00:00Z"})
class MoveSerializer(serializers.Serializer):
    to = InstantField(help_text="The fire time in the schedule after.")

    def get_fields(self):
        return {"from": InstantField(help_text="The fire time in the schedule before."), **super().get_fields()}


@with_example({"count": 1})
class MovedTimesSerializer(serializers.Serializer):
    count = serializers.IntegerField(help_text="How many fire times.")
    first = MoveSerializer(allow_null=True, help_text="The first of them; null: there is none.")


@with_example({"from": "2026-01-01T00:00:00Z", "to": "2026-01-31T00:00:00Z", "complete": True, "unchanged": 20})
class CompareAnswer(serializers.Serializer):
    to = InstantField(help_text="The end of the window that was compared, not included.")
    complete = serializers.BooleanField(
        help_text=f"False: a schedule has more than {LIMIT:,} fire times, and the comparison ends at `to`."
    )
    unchanged = serializers.IntegerField(help_text="How many fire times both schedules have.")
    added = ChangedTimesSerializer(help_text="The fire times that only the schedule after has.")
    removed = ChangedTimesSerializer(help_text="The fire times that only the schedule before has.")
    moved = MovedTimesSerializer(help_text="The fire times that move to another time.")

    def get_fields(self):
        return {"from": InstantField(help_text="The start of the window, included."), **super().get_fields()}


class ScheduleComparison(DescribedView, APIView):
    """What a change of a schedule changes in its fire times.  Nothing is saved."""

    @extend_schema(
        operation_id="compareSchedules",
        summary="Compare two schedules",
        request=CompareRequest,
        responses=CompareAnswer,
        examples=[
            OpenApiExample(
                "An hour later on weekdays",
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
        return Response(rendered_comparison(compare(before, after), start, end))


def window_of(request: Request, document: dict[str, Any], name: str, start: datetime, end: datetime) -> Window:
    with member_paths(name):
        format, definition = document[name]
        find = find_visible(request)
        parsed, created_at = wire.parse_for_window(format, definition, None, timezone.now(), start, find)
    return Window.of(parsed, created_at, start, end)


def rendered_comparison(comparison: Comparison, start: datetime, end: datetime) -> dict[str, Any]:
    first = comparison.moved[0] if comparison.moved else None
    return {
        "from": rendered(start),
        "to": rendered(comparison.end),
        "complete": comparison.end == end,
        "unchanged": comparison.unchanged_count,
        "added": _rendered_times(comparison.added),
        "removed": _rendered_times(comparison.removed),
        "moved": {
            "count": len(comparison.moved),
            "first": first and {"from": rendered(first.before), "to": rendered(first.after)},
        },
    }


def _rendered_times(times: tuple[datetime, ...]) -> dict[str, Any]:
    return {"count": len(times), "first": rendered(times[0]) if times else None}
