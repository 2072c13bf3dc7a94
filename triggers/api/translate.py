"""/api/schedules/translate: a schedule in another format."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.serializers import CharField, ChoiceField, ListField
from rest_framework.views import APIView

from accounts.examples import with_example
from api.answers import GIVEN, Answer, Member
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
    schedule = ScheduleField(help_text="The schedule to translate.")
    to = WordField(list(FORMATS), help_text="The target format.")
    now = InstantField(required=False, help_text="The assumed time of creation of the schedule. Default: now.")

    def validate_now(self, now):
        if now.year > LAST_NOW:
            raise serializers.ValidationError(f"must not be later than the year {LAST_NOW}", "out_of_range")
        return now


class DifferenceSerializer(Answer):
    at = Member(
        InstantField,
        "A time at which only one of the two schedules fires, in UTC.",
        lambda difference: rendered(difference.at),
        example="2026-03-29T01:00:00Z",
    )
    only = Member(
        ChoiceField,
        "The schedule that fires at this time.",
        lambda difference: SIDES[difference.only_in_first],
        choices=[*SIDES.values()],
        example="source",
    )


class TranslateAnswer(Answer):
    schedule = Member(
        ScheduleField,
        "The translated schedule; null: the other format cannot express it.",
        GIVEN,
        nullable=True,
        example={"format": "quartz", "expression": "0 0/15 9-17 ? * MON-FRI", "timeZone": "Europe/Berlin"},
    )
    cannotSay = Member(
        ListField,
        "The features that the other format cannot express, each with its member. If there is also a"
        " translation, it is an approximation.",
        GIVEN,
        child=CharField(),
        example=["startTime: a cron expression has no start"],
    )
    differences = Member(
        DifferenceSerializer,
        f"The first times within {YEARS} years at which only one of the two schedules fires.",
        GIVEN,
        many=True,
    )
    warnings = Member(
        ListField,
        "Warnings about valid parts of the schedule that may be unintended.",
        GIVEN,
        child=CharField(),
        example=[],
    )


class ScheduleTranslation(DescribedView, APIView):
    """Translates a schedule into another format. Nothing is saved."""

    @extend_schema(
        operation_id="translateSchedule",
        summary="Translate a schedule",
        request=TranslateRequest,
        responses=TranslateAnswer,
        examples=[
            OpenApiExample(
                "A crontab schedule in the format of Quartz",
                {
                    "schedule": {"format": "cron", "expression": "*/15 9-17 * * MON-FRI", "timeZone": "Europe/Berlin"},
                    "to": "quartz",
                },
                request_only=True,
            ),
            OpenApiExample(
                "Every second day, which cron cannot express",
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
    return TranslateAnswer.render(
        schedule=None if translation.definition is None else {"format": to, **translation.definition},
        cannotSay=translation.losses,
        differences=[DifferenceSerializer.render(each) for each in found],
        warnings=[*source.warnings, *translation.notes],
    )


def parsed(format: str, definition: Mapping[str, Any], now: datetime) -> Parsed:
    """Return the schedule with its skips and extras; closed days and jitter are the same in every format."""
    return wire.parse(format, {name: value for name, value in definition.items() if name not in SAME_MEMBERS}, now)
