"""The members of a schedule in each format, for the OpenAPI description.  These serializers check nothing."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from accounts.examples import with_example
from jobs.api.schemas import RecurrenceSerializer
from recurrence.wire import graph, quartz, simple

MILLISECONDS = "  Milliseconds since 1970 are read too."


@extend_schema_field(OpenApiTypes.DATETIME)
class TimeField(serializers.Field):
    """An instant; a time without an offset is in UTC."""


@with_example({"dateTime": "2026-01-05T10:00:00", "timeZone": "Europe/Berlin"})
@extend_schema_serializer(component_name="WallTime")
class WallTimeSerializer(serializers.Serializer):
    """A wall time and its time zone: the `dateTimeTimeZone` of Microsoft Graph."""

    dateTime = serializers.CharField(help_text="What clocks show, to the second, without an offset.")
    timeZone = serializers.CharField(
        required=False, help_text="The zone of the clocks, by a name of IANA's or of Windows.  By default UTC."
    )


@with_example(
    {
        "type": "weekly",
        "interval": 2,
        "daysOfWeek": ["monday", "wednesday"],
        "firstDayOfWeek": "sunday",
        "dayOfMonth": 0,
        "month": 0,
        "index": "first",
    }
)
@extend_schema_serializer(component_name="RecurrencePattern")
class PatternSerializer(serializers.Serializer):
    """The days of a series.  A member that the type does not use is ignored; answers have the value of Graph."""

    type = serializers.ChoiceField(graph.TYPES, help_text="What is counted, and how days are named.")
    interval = serializers.IntegerField(min_value=1, help_text="Every so many days, weeks, months or years.")
    daysOfWeek = serializers.ListField(
        child=serializers.ChoiceField(list(graph.WEEKDAYS)),
        required=False,
        help_text="Of `weekly` and the relative types.",
    )
    firstDayOfWeek = serializers.ChoiceField(
        list(graph.WEEKDAYS), required=False, help_text="Of `weekly`: where its weeks begin.  By default `sunday`."
    )
    dayOfMonth = serializers.IntegerField(
        required=False, help_text="Of the absolute types, 1 to 31; in a month that has fewer days its last one."
    )
    month = serializers.IntegerField(required=False, help_text="Of the yearly types, 1 to 12.")
    index = serializers.ChoiceField(
        list(graph.INDEXES),
        required=False,
        help_text="Of the relative types: which of the days of a month that are one of `daysOfWeek`.  By default"
        " `first`.",
    )


@with_example(
    {
        "type": "numbered",
        "startDate": "2026-01-05",
        "endDate": "0001-01-01",
        "numberOfOccurrences": 20,
        "recurrenceTimeZone": "Europe/Berlin",
    }
)
@extend_schema_serializer(component_name="RecurrenceRange")
class RangeSerializer(serializers.Serializer):
    """The start and the end of a series."""

    type = serializers.ChoiceField(list(graph.RANGE_TYPES), help_text="What ends it.")
    startDate = serializers.DateField(help_text="The date of the start.")
    endDate = serializers.DateField(required=False, help_text="Of `endDate`: the last day, included.")
    numberOfOccurrences = serializers.IntegerField(
        required=False,
        help_text=f"Of `numbered`, 1 to {graph.MOST_OCCURRENCES}; a longer series has an end date.",
    )
    recurrenceTimeZone = serializers.CharField(
        required=False, help_text="The zone of these dates; by default that of the start."
    )


@extend_schema_serializer(component_name="GraphRecurrence")
class GraphRecurrenceSerializer(serializers.Serializer):
    """The `recurrence` of Microsoft Graph."""

    pattern = PatternSerializer(help_text="On which days it is.")
    range = RangeSerializer(help_text="From when to when it is.")


@with_example({"format": "azure", "startTime": "2026-01-05T08:00:00Z"})
class AzureScheduleSerializer(serializers.Serializer):
    """The start time and recurrence of Azure Scheduler."""

    format = serializers.ChoiceField(["azure"], help_text="How the other members are read.")
    startTime = TimeField(
        required=False, help_text="The first fire time.  Without one it also fires when it is created."
    )
    recurrence = RecurrenceSerializer(required=False, help_text="How it repeats.  Without one it fires once.")


@with_example(
    {
        "format": "quartz",
        "expression": "0 15 10 ? * 6L",
        "timeZone": "Europe/Berlin",
        "clockChange": "cron",
        "startTime": "2026-01-05T08:00:00Z",
        "endTime": "2030-01-01T00:00:00Z",
    }
)
class QuartzScheduleSerializer(serializers.Serializer):
    """A cron expression of Quartz."""

    format = serializers.ChoiceField(["quartz"], help_text="How the other members are read.")
    expression = serializers.CharField(help_text="Six or seven fields, such as `0 15 10 ? * MON-FRI`.")
    timeZone = serializers.CharField(
        required=False, help_text="The zone of its clocks, by a name of IANA's or of Windows.  By default UTC."
    )
    clockChange = serializers.ChoiceField(
        quartz.CLOCK_CHANGES,
        required=False,
        help_text="Whose rule holds when clocks are changed: that of `cron`, the default, or of `quartz`.",
    )
    startTime = TimeField(required=False, help_text="It does not fire before.")
    endTime = TimeField(required=False, help_text="It does not fire after.")


@with_example(
    {
        "format": "simple",
        "startTime": "2026-01-05T08:00:00Z",
        "endTime": "2030-01-01T00:00:00Z",
        "interval": 5_400_000,
        "repeatCount": 4,
    }
)
class SimpleScheduleSerializer(serializers.Serializer):
    """A simple trigger of Quartz: a start, and repetitions at an interval of elapsed time."""

    format = serializers.ChoiceField(["simple"], help_text="How the other members are read.")
    startTime = TimeField(required=False, help_text="The first fire time, by default its creation." + MILLISECONDS)
    endTime = TimeField(required=False, help_text="It does not fire at this instant or after." + MILLISECONDS)
    interval = serializers.IntegerField(
        min_value=1,
        max_value=simple.LONGEST_INTERVAL,
        required=False,
        help_text="In milliseconds.  Without one it fires once.",
    )
    repeatCount = serializers.IntegerField(
        min_value=simple.FOREVER,
        max_value=simple.MOST_REPEATS,
        required=False,
        help_text="How often it fires after the first time; -1, the default beside an interval: without end.",
    )


@with_example({"format": "once", "at": "2030-01-01T00:00:00Z"})
class OnceScheduleSerializer(serializers.Serializer):
    """A single fire time."""

    format = serializers.ChoiceField(["once"], help_text="How the other members are read.")
    at = TimeField(help_text="When it fires." + MILLISECONDS)


@with_example({"format": "outlook", "end": {"dateTime": "2026-01-05T11:00:00", "timeZone": "Europe/Berlin"}})
class OutlookScheduleSerializer(serializers.Serializer):
    """A calendar series in the form of Microsoft Graph."""

    format = serializers.ChoiceField(["outlook"], help_text="How the other members are read.")
    start = WallTimeSerializer(help_text="When the first occurrence starts.")
    end = WallTimeSerializer(help_text="When the first occurrence ends.")
    recurrence = GraphRecurrenceSerializer(help_text="How it repeats.")


@with_example(
    {
        "format": "rrule",
        "end": {"dateTime": "2026-01-05T11:00:00", "timeZone": "Europe/Berlin"},
        "rrule": "FREQ=MONTHLY;BYMONTHDAY=1,15",
        "exdates": ["2026-02-01"],
        "rdates": ["2026-02-02"],
    }
)
@extend_schema_serializer(component_name="RRuleSchedule")
class RRuleScheduleSerializer(serializers.Serializer):
    """A calendar series as a rule of iCalendar."""

    format = serializers.ChoiceField(["rrule"], help_text="How the other members are read.")
    start = WallTimeSerializer(help_text="When the first occurrence starts.")
    end = WallTimeSerializer(
        required=False, help_text="When the first occurrence ends.  Without it they have no length."
    )
    rrule = serializers.CharField(help_text="A rule of iCalendar (RFC 5545).")
    exdates = serializers.ListField(
        child=serializers.DateField(), required=False, help_text="Dates on which it is not."
    )
    rdates = serializers.ListField(
        child=serializers.DateField(), required=False, help_text="Dates on which it is besides."
    )


@with_example({"format": "cron", "expression": "*/15 9-17 * * MON-FRI", "timeZone": "Europe/Berlin"})
class CronScheduleSerializer(serializers.Serializer):
    """A line of a crontab."""

    format = serializers.ChoiceField(["cron"], help_text="How the other members are read.")
    expression = serializers.CharField(help_text="The five fields of a crontab line, such as `*/15 9-17 * * MON-FRI`.")
    timeZone = serializers.CharField(
        required=False, help_text="The zone of its clocks, by a name of IANA's or of Windows.  By default UTC."
    )


SCHEDULES = PolymorphicProxySerializer(
    "Schedule",
    {
        "azure": AzureScheduleSerializer,
        "once": OnceScheduleSerializer,
        "outlook": OutlookScheduleSerializer,
        "quartz": QuartzScheduleSerializer,
        "rrule": RRuleScheduleSerializer,
        "simple": SimpleScheduleSerializer,
    },
    resource_type_field_name="format",
)
TRANSLATABLE_SCHEDULES = PolymorphicProxySerializer(
    "TranslatableSchedule",
    {"azure": AzureScheduleSerializer, "cron": CronScheduleSerializer, "quartz": QuartzScheduleSerializer},
    resource_type_field_name="format",
)
