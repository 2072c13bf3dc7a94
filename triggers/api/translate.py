"""/api/schedules/translate: what a schedule is in another format."""

from collections.abc import Mapping
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.fields import InstantField, WordField, read, rendered
from recurrence.differences import differences
from recurrence.translate import FORMATS, parse, translate
from triggers.api.fields import ScheduleField, member_paths

YEARS = 10
MOST = 10  # differences that are answered
SIDES = {True: "source", False: "translation"}
LAST_NOW = 9989  # a later year has no ten years before it


@extend_schema_field(
    {
        "type": "object",
        "required": ["format"],
        "properties": {"format": {"type": "string", "enum": list(FORMATS)}},
        "additionalProperties": True,
        "description": (
            "`cron` takes `expression`, the five fields of a crontab line such as `*/15 9-17 * * MON-FRI`, and"
            " `timeZone`; `quartz` and `azure` take what the preview takes."
        ),
    }
)
class TranslatableField(ScheduleField):
    """A schedule in one of the formats that are translated."""

    formats = FORMATS


class TranslateRequest(serializers.Serializer):
    schedule = TranslatableField()
    to = WordField(list(FORMATS))
    now = InstantField(required=False, help_text="When the schedule counts as created; by default the present moment.")

    def validate_now(self, now):
        if now.year > LAST_NOW:
            raise serializers.ValidationError(f"must not be later than the year {LAST_NOW}", "out_of_range")
        return now


class DifferenceSerializer(serializers.Serializer):
    at = InstantField()
    only = serializers.ChoiceField([*SIDES.values()], help_text="Which of the two fires then.")


class TranslateAnswer(serializers.Serializer):
    schedule = TranslatableField(allow_null=True, help_text="The translation; null: the other format cannot say it.")
    cannotSay = serializers.ListField(
        child=serializers.CharField(),
        help_text="What the other format has no words for, each with the member that says it. With a translation beside"
        " it, that comes close.",
    )
    differences = DifferenceSerializer(
        many=True, help_text=f"The first times within {YEARS} years at which only one of the two fires."
    )
    warnings = serializers.ListField(child=serializers.CharField(), help_text="What was understood but looks odd.")


class ScheduleTranslation(APIView):
    """A schedule in another format.  Nothing is written."""

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


def translated(question: Mapping[str, Any]) -> dict[str, Any]:
    # whole: a fraction of a second at which a schedule is created is nothing that anybody wrote
    now = question.get("now") or timezone.now().replace(microsecond=0)
    (format, definition), to = question["schedule"], question["to"]
    source = parse(format, definition, now)
    translation = translate(format, definition, to, now)
    found = []
    if translation.definition is not None:
        theirs = parse(to, translation.definition, now)
        found = differences(source, theirs, now, now.replace(year=now.year + YEARS, day=min(now.day, 28)), MOST)
    return {
        "schedule": None if translation.definition is None else {"format": to, **translation.definition},
        "cannotSay": translation.losses,
        "differences": [
            {"at": rendered(each.at), "only": "source" if each.is_ours else "translation"} for each in found
        ],
        "warnings": [*source.warnings, *translation.notes],
    }
