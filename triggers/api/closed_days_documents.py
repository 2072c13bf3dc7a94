"""Documents of /api/closed-days: requests and answers."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Count
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateField,
    IntegerField,
    ListField,
    UUIDField,
)

from accounts.examples import with_example
from api.answers import GIVEN, Answer, Member
from api.fields import Document, IdField, InstantField, Messages, TextField, details_of
from jobs.names import NAME_LENGTH
from recurrence.closed_days import WEEKDAYS
from recurrence.wire import WireError
from recurrence.wire import closed_days as documents
from triggers.closed_days import COMPARED_DAYS, COMPARED_TRIGGERS
from triggers.models import ClosedDays

SOURCES = ("dates", "calendars", "holidays", "weekend")
DOCUMENT = ("weekend", "holidays", "dates", "calendars")


@with_example({"country": "DE", "subdivision": "BE"})
class HolidaysSerializer(serializers.Serializer):
    """The public holidays of a country or of one of its subdivisions."""

    country = serializers.CharField(help_text="The country: an ISO 3166-1 code, such as DE.")
    subdivision = serializers.CharField(
        required=False,
        help_text=(
            "The subdivision: an ISO 3166-2 code without the country. If omitted, the holidays of the whole country"
            " apply."
        ),
    )


@with_example(
    {
        "date": "2026-06-05",
        "from": "2026-12-24",
        "to": "2027-01-01",
        "month": 12,
        "day": 31,
        "name": "Company holidays",
    }
)
class ClosedDatesSerializer(serializers.Serializer):
    """A single date, a range of dates, or a day of each year."""

    date = serializers.DateField(required=False, help_text="A single date.")
    month = serializers.IntegerField(
        min_value=1,
        max_value=12,
        required=False,
        help_text=("The month. Together with `day`, it selects a day of each year."),
    )
    day = serializers.IntegerField(min_value=1, max_value=31, required=False, help_text="The day of the month.")
    name = serializers.CharField(
        max_length=documents.MAX_NAME, required=False, help_text="The name, such as Summer break."
    )

    def get_fields(self):
        return {
            **super().get_fields(),
            "from": serializers.DateField(required=False, help_text="The first date of a range."),
            "to": serializers.DateField(required=False, help_text="The last date of a range, included."),
        }


@with_example({"calendar": "0d6a3f6e-5b0e-4c53-8d6c-1f1f6a1f9b77", "category": "Closed"})
class ClosedCalendarSerializer(serializers.Serializer):
    """A calendar whose events define closed days."""

    calendar = serializers.CharField(
        help_text=(
            "The id of a calendar. You must have access to it, and its owner must be a member of the subscription."
        )
    )
    category = serializers.CharField(
        required=False, help_text=("The category of the events. If omitted, all events define closed days.")
    )


class MemberField(Messages, serializers.Field):
    """A member that `documents.render` reads, as a whole with the others."""

    def to_internal_value(self, data: Any) -> Any:
        return data


@extend_schema_field(serializers.ListField(child=serializers.ChoiceField(WEEKDAYS), max_length=6))
class WeekendField(MemberField):
    pass


@extend_schema_field(HolidaysSerializer(many=True, max_length=documents.MAX_HOLIDAYS))
class HolidaysField(MemberField):
    pass


@extend_schema_field(ClosedDatesSerializer(many=True, max_length=documents.MAX_DATES))
class DatesField(MemberField):
    pass


@extend_schema_field(ClosedCalendarSerializer(many=True, max_length=documents.MAX_CALENDARS))
class CalendarsField(MemberField):
    pass


class ClosedDaysDocument(Document):
    """The days of a calendar.  A member that is left out closes no days."""

    weekend = WeekendField(default=list, help_text="The closed days of each week.")
    holidays = HolidaysField(
        default=list,
        help_text=(
            "The countries whose public holidays, including substitute days, are closed days. They are calculated"
            " for each year."
        ),
    )
    dates = DatesField(default=list, help_text="Single dates, ranges of dates, and days of each year.")
    calendars = CalendarsField(default=list, help_text="The calendars whose events define closed days.")

    def validate(self, members: dict[str, Any]) -> dict[str, Any]:
        sent = {name: members[name] for name in DOCUMENT if name in members}
        try:
            canonical = documents.render(sent)
        except WireError as error:
            raise serializers.ValidationError(details_of(error)) from None
        return {**members, **{name: canonical[name] for name in sent}}


@with_example(
    {
        "name": "germany",
        "weekend": ["saturday", "sunday"],
        "holidays": [{"country": "DE", "subdivision": "BE"}],
        "dates": [{"from": "2026-12-24", "to": "2027-01-01", "name": "Company holidays"}],
        "calendars": [],
    }
)
class ClosedDaysReplacement(ClosedDaysDocument):
    """The new closed days of a calendar. A member that is omitted gets its default."""

    name = TextField(
        min_length=1,
        max_length=NAME_LENGTH,
        required=False,
        help_text="The new name. Allowed only while no schedule names the calendar. If omitted, the name is kept.",
    )


@with_example({"subscription": "00000000-0000-0000-0000-000000000001"})
class ClosedDaysRequest(ClosedDaysReplacement):
    name = TextField(
        min_length=1, max_length=NAME_LENGTH, help_text=("The name, unique in the subscription, not case-sensitive.")
    )
    subscription = IdField(
        required=False,
        help_text=("The subscription. Required if the caller has write access to several subscriptions."),
    )


@with_example(
    {
        "weekend": ["saturday", "sunday"],
        "holidays": [{"country": "DE", "subdivision": "BE"}],
        "dates": [{"month": 12, "day": 24, "name": "Christmas Eve"}],
        "calendars": [],
    }
)
class ComparisonRequest(ClosedDaysDocument):
    """The closed days to compare with the stored ones."""


class ClosedDaysSerializer(Answer):
    id = Member(
        IntegerField, "The id of the calendar. It does not change when the calendar is renamed.", "pk", example=3
    )
    subscription = Member(
        UUIDField, "The id of the subscription.", "subscription_id", example="00000000-0000-0000-0000-000000000001"
    )
    name = Member(
        CharField, "The name, part of the URL, unique in the subscription, not case-sensitive.", example="germany"
    )
    weekend = Member(
        ListField,
        "The closed days of each week.",
        GIVEN,
        child=ChoiceField(WEEKDAYS),
        example=["saturday", "sunday"],
    )
    holidays = Member(
        HolidaysSerializer,
        "The countries whose public holidays are closed days.",
        GIVEN,
        many=True,
        example=[{"country": "DE", "subdivision": "BE"}],
    )
    dates = Member(
        ClosedDatesSerializer,
        "Single dates, ranges of dates, and days of each year.",
        GIVEN,
        many=True,
        example=[{"from": "2026-12-24", "to": "2027-01-01", "name": "Company holidays"}],
    )
    calendars = Member(
        ClosedCalendarSerializer, "The calendars whose events define closed days.", GIVEN, many=True, example=[]
    )
    triggerCount = Member(
        IntegerField,
        "The number of triggers that name the calendar. `/api/triggers?closedDays=` lists them.",
        GIVEN,
        example=4,
    )
    revision = Member(IntegerField, "The number of changes.", example=2)
    createdAt = Member(InstantField, "The time of creation, in UTC.", example="2026-01-01T09:30:00Z")
    updatedAt = Member(InstantField, "The time of the last change, in UTC.", example="2026-01-05T08:00:00Z")


class ClosedDaySerializer(Answer):
    date = Member(DateField, "The closed day.", "day", example="2026-12-26")
    name = Member(
        CharField,
        "The name of the holiday or date; null: it has none.",
        nullable=True,
        example="Second Day of Christmas",
    )
    source = Member(
        ChoiceField,
        "The first source that closes the day, in this order: `dates`, `calendars`, `holidays`, `weekend`.",
        choices=SOURCES,
        example="holidays",
    )


class ClosedDayList(Answer):
    from_ = Member(DateField, "The first day.", example="2026-12-01")
    to = Member(DateField, "The last day, included.", example="2026-12-31")
    value = Member(ClosedDaySerializer, "The closed days, earliest first.", GIVEN, many=True)


class MovedFireTimeSerializer(Answer):
    from_ = Member(
        InstantField, "The fire time before the change, in UTC.", lambda moved: moved[0], example="2026-12-25T08:00:00Z"
    )
    to = Member(
        InstantField,
        "The fire time after the change, in UTC.",
        lambda moved: moved[1],
        example="2026-12-28T08:00:00Z",
    )


class TriggerChangesSerializer(Answer):
    id = Member(IntegerField, "The id of the trigger.", "trigger.pk", example=2)
    name = Member(
        CharField,
        "The name of the trigger. `default` is the job's own schedule.",
        "trigger.name",
        example="last-friday",
    )
    job = Member(IntegerField, "The id of the job.", "trigger.job_id", example=1)
    jobName = Member(CharField, "The name of the job.", "trigger.job.name", example="collect-orders")
    collectionName = Member(CharField, "The name of the collection.", "trigger.job.collection.name", example="nightly")
    addedCount = Member(IntegerField, "The number of added fire times.", "changes.added_count", example=0)
    removedCount = Member(IntegerField, "The number of removed fire times.", "changes.removed_count", example=1)
    movedCount = Member(
        IntegerField, "The number of fire times that move to another day.", "changes.moved_count", example=1
    )
    added = Member(ListField, "The first added fire times.", "changes.added", child=InstantField(), example=[])
    removed = Member(
        ListField,
        "The first removed fire times.",
        "changes.removed",
        child=InstantField(),
        example=["2026-12-24T08:00:00Z"],
    )
    moved = Member(MovedFireTimeSerializer, "The first moved fire times.", "changes.moved", many=True)
    complete = Member(
        BooleanField,
        "Whether the comparison is complete. False: the trigger fires too often, and the numbers are lower bounds.",
        "changes.is_complete",
        example=True,
    )


class ComparisonAnswer(Answer):
    from_ = Member(
        InstantField,
        "The start of the comparison: the current time, in UTC.",
        "start",
        example="2026-01-05T08:00:00Z",
    )
    to = Member(
        InstantField,
        f"The end of the comparison, {COMPARED_DAYS} days after the start, in UTC.",
        "end",
        example="2027-02-09T08:00:00Z",
    )
    triggerCount = Member(IntegerField, "The number of triggers that name the calendar.", example=4)
    comparedCount = Member(
        IntegerField,
        f"The number of triggers that were compared: the oldest ones, at most {COMPARED_TRIGGERS}.",
        example=4,
    )
    complete = Member(
        BooleanField, "Whether all fire times of all triggers were compared.", "is_complete", example=True
    )
    triggers = Member(
        TriggerChangesSerializer, "The triggers whose fire times change or could not be compared completely.", many=True
    )


def document_in(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: members[name] for name in DOCUMENT if name in members}


def rendered_calendars(calendars: Iterable[ClosedDays]) -> list[dict[str, Any]]:
    """Return the calendars as documents.  One query counts the triggers of all of them."""
    calendars = list(calendars)
    counts = dict(
        ClosedDays.objects.filter(pk__in=[each.pk for each in calendars])
        .annotate(trigger_count=Count("versions__triggers"))
        .values_list("pk", "trigger_count")
    )
    return [
        ClosedDaysSerializer.render(each, triggerCount=counts.get(each.pk, 0), **document_in(each.document))
        for each in calendars
    ]
