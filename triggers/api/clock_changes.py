"""/api/clock-changes: the coming clock changes of zones in use, and the triggers that they touch."""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ChoiceField, IntegerField
from rest_framework.views import APIView

from accounts.access import visible_rows
from api.answers import GIVEN, Answer, Member
from api.fields import InstantField
from api.viewsets import DescribedView
from recurrence.clock_effects import Effect
from recurrence.english_words import clock
from recurrence.zones import DAY
from triggers.clock_rules import MOST_TRIGGERS, TouchedTriggers, coming_changes
from triggers.models import Trigger

DAYS = 400
KINDS = ["gap", "repeat"]
EFFECTS = [each.value for each in Effect]
PARAMETERS = [
    OpenApiParameter(
        "days",
        {"type": "integer", "minimum": 1, "maximum": DAYS, "default": DAYS, "example": 400},
        description="The number of days to examine, beginning now.",
    )
]


class TouchedTriggerSerializer(Answer):
    trigger = Member(IntegerField, "The id of the trigger.", "id", example=2)
    triggerName = Member(
        CharField, "The name of the trigger. `default` is the job's own schedule.", "name", example="default"
    )
    job = Member(IntegerField, "The id of the job.", "job_id", example=1)
    jobName = Member(CharField, "The name of the job.", example="collect-orders")
    collectionName = Member(CharField, "The name of the collection.", example="nightly")
    effect = Member(
        ChoiceField,
        "The effect on fire times that the clock change skips or repeats. `none`: they fire once, or an"
        " interval continues evenly.",
        GIVEN,
        choices=EFFECTS,
        example="moved",
    )
    text = Member(
        CharField,
        "The clock change and its effect, for people.",
        GIVEN,
        example="Clocks in Europe/Berlin go forward from 02:00 to 03:00 on 29 March 2026: 02:30 fires at 03:00.",
    )


def rendered_offset(seconds: int) -> str:
    return f"{'-' if seconds < 0 else '+'}{clock(abs(seconds))}"


class ClockChangeSerializer(Answer):
    zone = Member(CharField, "The time zone.", lambda change: str(change.zone), example="Europe/Berlin")
    at = Member(InstantField, "The time of the clock change, in UTC.", example="2026-03-29T01:00:00Z")
    kind = Member(
        ChoiceField,
        "The kind of clock change. `gap`: clocks go forward and skip wall times. `repeat`: clocks go back and"
        " show wall times twice.",
        lambda change: "gap" if change.is_gap else "repeat",
        choices=KINDS,
        example="gap",
    )
    from_ = Member(
        CharField,
        "The wall time at which the skipped or repeated times begin.",
        lambda change: clock(change.first % DAY),
        example="02:00",
    )
    to = Member(
        CharField,
        "The wall time at which the skipped or repeated times end.",
        lambda change: clock(change.beyond % DAY),
        example="03:00",
    )
    offsetBefore = Member(
        CharField,
        "The offset from UTC before the change.",
        lambda change: rendered_offset(change.offset_before),
        example="+01:00",
    )
    offsetAfter = Member(
        CharField,
        "The offset from UTC after the change.",
        lambda change: rendered_offset(change.offset_after),
        example="+02:00",
    )
    triggers = Member(
        TouchedTriggerSerializer, "The triggers with fire times that are skipped or repeated.", GIVEN, many=True
    )


class ClockChangesAnswer(Answer):
    value = Member(
        ClockChangeSerializer, "The clock changes in the zones of the triggers, earliest first.", GIVEN, many=True
    )
    complete = Member(
        BooleanField,
        f"Whether all triggers were examined. False: you have more than {MOST_TRIGGERS:,} active triggers, and"
        " only the first ones were examined.",
        GIVEN,
        example=True,
    )


class ClockChanges(DescribedView, APIView):
    """Clock changes in the near future, and their effects on triggers."""

    @extend_schema(
        operation_id="listClockChanges",
        summary="List the next clock changes and the affected triggers",
        parameters=PARAMETERS,
        responses=ClockChangesAnswer,
    )
    def get(self, request):
        now, days = timezone.now(), days_of(request)
        changes, is_complete = coming_changes(visible_rows(request, Trigger), now, now + timedelta(days=days))
        value = [rendered_change(each) for each in changes]
        return Response(ClockChangesAnswer.render(value=value, complete=is_complete))


def days_of(request: Request) -> int:
    text = request.query_params.get("days")
    if text is None:
        return DAYS
    is_whole = text.isascii() and text.isdigit() and len(text) <= len(str(DAYS))
    if not (is_whole and 1 <= int(text) <= DAYS):
        raise ValidationError({"days": [ErrorDetail(f"must be a whole number, 1 to {DAYS}", "out_of_range")]})
    return int(text)


def rendered_change(touched: TouchedTriggers) -> dict[str, Any]:
    triggers = [
        TouchedTriggerSerializer.render(trigger, effect=found.effect, text=found.text)
        for trigger, found in touched.effects
    ]
    return ClockChangeSerializer.render(touched.change, triggers=triggers)
