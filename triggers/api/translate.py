"""/api/schedules/translate: a schedule in another format."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.examples import with_example
from api.fields import Document, InstantField, WordField, read, rendered
from api.viewsets import DescribedView
from recurrence import wire
from recurrence.differences import differences
from recurrence.translation import FORMATS, translate
from recurrence.wire import Parsed
from triggers.api.fields import ScheduleField, member_paths

YEARS = 10
MOST = 10  # differences in one answer
SAME_MEMBERS = ("closedDays", "jitter")
SIDES = {True: "source", False: "translation"}
LAST_NOW = 9989  # the last year after which YEARS more years exist in the calendar


@with_example({"to": "quartz", "now": "2026-01-01T00:00:00Z"})
class TranslateRequest(Document):
    schedule = ScheduleField(help_text="The schedule that is translated.")
    to = WordField(list(FORMATS), help_text="The format that it is translated into.")
    now = InstantField(required=False, help_text="When the schedule counts as created; by default the present moment.")

    def validate_now(self, now):
        if now.year > LAST_NOW:
            raise serializers.ValidationError(f"must not be later than the year {LAST_NOW}", "out_of_range")
        return now


@with_example({"at": "2026-03-29T01:00:00Z", "only": "source"})
class DifferenceSerializer(serializers.Serializer):
    at = InstantField(help_text="A time at which only one of the two fires.")
    only = serializers.ChoiceField([*SIDES.values()], help_text="Which of the two fires then.")


@with_example(
    {
        "schedule": {"format": "quartz", "expression": "0 0/15 9-17 ? * MON-FRI", "timeZone": "Europe/Berlin"},
        "cannotSay": ["startTime: a cron expression has no start"],
        "warnings": [],
    }
)
class TranslateAnswer(serializers.Serializer):
    schedule = ScheduleField(allow_null=True, help_text="The translation; null: the other format cannot say it.")
    cannotSay = serializers.ListField(
        child=serializers.CharField(),
        help_text="What the other format has no words for, each with the member that says it. With a translation beside"
        " it, that comes close.",
    )
    differences = DifferenceSerializer(
        many=True, help_text=f"The first times within {YEARS} years at which only one of the two fires."
    )
    warnings = serializers.ListField(child=serializers.CharField(), help_text="What was understood but looks odd.")


class ScheduleTranslation(DescribedView, APIView):
    """A schedule in another format.  Nothing is saved."""

    @extend_schema(
        operation_id="translateSchedule",
        summary="Translate a schedule",
        request=TranslateRequest,
        responses=TranslateAnswer,
        examples=[
            OpenApiExample(
                "A crontab line for Quartz",
                {
                    "schedule": {"format": "cron", "expression": "*/15 9-17 * * MON-FRI", "timeZone": "Europe/Berlin"},
                    "to": "quartz",
                },
                request_only=True,
            ),
            OpenApiExample(
                "Every second day, for which cron has no words",
                {
                    "schedule": {
                        "format": "azure",
                        "startTime": "2026-01-01T12:00:00Z",
                        "recurrence": {"frequency": "Day", "interval": 2},
                    },
                    "to": "quartz",
                    "now": "2026-01-01T00:00:00Z",
                },
                request_only=True,
            ),
        ],
    )
    def post(self, request):
        with member_paths():
            return Response(translated(read(TranslateRequest, request.data)))


def translated(document: Mapping[str, Any]) -> dict[str, Any]:
    # whole seconds: nobody wrote the fraction of a second at which a schedule counts as created
    now = document.get("now") or timezone.now().replace(microsecond=0)
    (format, definition), to = document["schedule"], document["to"]
    translation = translate(format, definition, to, now)
    source = parsed(format, definition, now)
    found = []
    if translation.definition is not None:
        target = parsed(to, translation.definition, now)
        found = differences(source, target, now, now.replace(year=now.year + YEARS, day=min(now.day, 28)), MOST)
    return {
        "schedule": None if translation.definition is None else {"format": to, **translation.definition},
        "cannotSay": translation.losses,
        "differences": [
            {"at": rendered(each.at), "only": "source" if each.only_in_first else "translation"} for each in found
        ],
        "warnings": [*source.warnings, *translation.notes],
    }


def parsed(format: str, definition: Mapping[str, Any], now: datetime) -> Parsed:
    """Return the schedule with its skips and extras; closed days and jitter are the same in every format."""
    return wire.parse(format, {name: value for name, value in definition.items() if name not in SAME_MEMBERS}, now)
