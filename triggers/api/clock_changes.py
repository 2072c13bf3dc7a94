"""/api/clock-changes: the coming clock changes of zones in use, and the triggers that they touch."""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.access import visible_rows
from accounts.examples import with_example
from api.fields import InstantField, rendered
from api.viewsets import DescribedView
from recurrence.clock_effects import ClockEffect, Effect
from recurrence.english_words import clock
from recurrence.zones import DAY
from triggers.clock_rules import MOST_TRIGGERS, FiringTrigger, TouchedTriggers, coming_changes
from triggers.models import Trigger

DAYS = 400
KINDS = ["gap", "repeat"]
EFFECTS = [each.value for each in Effect]
PARAMETERS = [
    OpenApiParameter(
        "days",
        {"type": "integer", "minimum": 1, "maximum": DAYS, "default": DAYS, "example": 400},
        description="How many days from now on are examined.",
    )
]


@with_example(
    {
        "trigger": 2,
        "triggerName": "default",
        "job": 1,
        "jobName": "collect-orders",
        "collectionName": "nightly",
        "effect": "moved",
        "text": "Clocks in Europe/Berlin go forward from 02:00 to 03:00 on 29 March 2026: 02:30 fires at 03:00.",
    }
)
class TouchedTriggerSerializer(serializers.Serializer):
    trigger = serializers.IntegerField(help_text="The id of the trigger.")
    triggerName = serializers.CharField(help_text="`default` is the schedule in the job itself.")
    job = serializers.IntegerField(help_text="The id of its job.")
    jobName = serializers.CharField(help_text="The name of its job.")
    collectionName = serializers.CharField(help_text="The name of the collection of its job.")
    effect = serializers.ChoiceField(
        EFFECTS,
        help_text="What happens with its times that clocks skip or show twice.  `none`: they fire once, or an interval"
        " goes on evenly.",
    )
    text = serializers.CharField(help_text="The change and its effect in words.")


@with_example(
    {
        "zone": "Europe/Berlin",
        "at": "2026-03-29T01:00:00Z",
        "kind": "gap",
        "from": "02:00",
        "to": "03:00",
        "offsetBefore": "+01:00",
        "offsetAfter": "+02:00",
    }
)
class ClockChangeSerializer(serializers.Serializer):
    zone = serializers.CharField(help_text="The time zone.")
    at = InstantField(help_text="When clocks change.")
    kind = serializers.ChoiceField(
        KINDS, help_text="`gap`: clocks go forward and skip times.  `repeat`: they show times twice."
    )
    to = serializers.CharField(help_text="The time on clocks at which the skipped or repeated times end.")
    offsetBefore = serializers.CharField(help_text="The offset from UTC before the change.")
    offsetAfter = serializers.CharField(help_text="The offset from UTC after the change.")
    triggers = TouchedTriggerSerializer(many=True, help_text="The triggers with times that are skipped or repeated.")

    def get_fields(self):
        start = serializers.CharField(help_text="The time on clocks at which the skipped or repeated times begin.")
        return {"from": start, **super().get_fields()}


@with_example({"complete": True})
class ClockChangesAnswer(serializers.Serializer):
    value = ClockChangeSerializer(many=True, help_text="The changes of the zones of your triggers, earliest first.")
    complete = serializers.BooleanField(
        help_text=f"False: you have more than {MOST_TRIGGERS:,} triggers that fire, and only the first are examined."
    )


class ClockChanges(DescribedView, APIView):
    """The coming clock changes, and what they do to triggers."""

    @extend_schema(
        operation_id="listClockChanges",
        summary="List the coming clock changes and the triggers that they touch",
        parameters=PARAMETERS,
        responses=ClockChangesAnswer,
    )
    def get(self, request):
        now, days = timezone.now(), days_of(request)
        changes, is_complete = coming_changes(visible_rows(request, Trigger), now, now + timedelta(days=days))
        return Response({"value": [rendered_change(each) for each in changes], "complete": is_complete})


def days_of(request: Request) -> int:
    text = request.query_params.get("days")
    if text is None:
        return DAYS
    is_whole = text.isascii() and text.isdigit() and len(text) <= len(str(DAYS))
    if not (is_whole and 1 <= int(text) <= DAYS):
        raise ValidationError({"days": [ErrorDetail(f"must be a whole number, 1 to {DAYS}", "out_of_range")]})
    return int(text)


def rendered_change(touched: TouchedTriggers) -> dict[str, Any]:
    change = touched.change
    return {
        "zone": str(change.zone),
        "at": rendered(change.at),
        "kind": "gap" if change.is_gap else "repeat",
        "from": clock(change.first % DAY),
        "to": clock(change.beyond % DAY),
        "offsetBefore": _offset(change.offset_before),
        "offsetAfter": _offset(change.offset_after),
        "triggers": [rendered_trigger(*each) for each in touched.effects],
    }


def rendered_trigger(trigger: FiringTrigger, effect: ClockEffect) -> dict[str, Any]:
    return {
        "trigger": trigger.id,
        "triggerName": trigger.name,
        "job": trigger.job_id,
        "jobName": trigger.job_name,
        "collectionName": trigger.collection_name,
        "effect": effect.effect,
        "text": effect.text,
    }


def _offset(seconds: int) -> str:
    return f"{'-' if seconds < 0 else '+'}{clock(abs(seconds))}"
