"""The members of a schedule in each format, for the OpenAPI description.  These serializers check nothing."""

from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from accounts.examples import with_example
from jobs.api.schemas import RecurrenceSerializer
from recurrence.wire import common, graph, json_values, simple, solar
from recurrence.wire.clocks import GAPS, PRESETS, REPEATS

CLOCK_CHANGE_HELP = (
    "What happens when clocks are changed: the rule of `cron`, the rule of `quartz`, or an object, which treats"
    " intervals like other fire times."
)
MILLISECONDS = "  Milliseconds since 1970 are read too."


@extend_schema_field(OpenApiTypes.DATETIME)
class TimeField(serializers.Field):
    """An instant; a time without an offset is in UTC."""


@with_example({"gap": "next", "repeat": "both"})
@extend_schema_serializer(component_name="ClockChangePolicy")
class ClockChangePolicySerializer(serializers.Serializer):
    """What happens with wall times that clocks skip, and with those that they show twice."""

    gap = serializers.ChoiceField(
        [*GAPS],
        required=False,
        help_text="Wall times that clocks skip fire once when the gap ends (`next`, the default), each fires later by"
        " the length of the gap (`shift`), or they do not fire (`skip`).",
    )
    repeat = serializers.ChoiceField(
        [*REPEATS],
        required=False,
        help_text="Wall times that clocks show twice fire the `first` time, the default, the `second` time, or `both`"
        " times.",
    )


class ClockChangeField(serializers.Field):
    """The name of a preset, or a policy."""


class ClockChangeFieldExtension(OpenApiSerializerFieldExtension):
    """Describe both forms, each as a component."""

    target_class = ClockChangeField

    def map_serializer_field(self, auto_schema, direction):
        preset = ResolvedComponent(
            name="ClockChangePreset",
            type=ResolvedComponent.SCHEMA,
            object="ClockChangePreset",
            schema={"type": "string", "enum": [*PRESETS]},
        )
        auto_schema.registry.register_on_missing(preset)
        policy = auto_schema.resolve_serializer(ClockChangePolicySerializer, direction)
        return {"anyOf": [preset.ref, policy.ref]}


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


@with_example({"calendar": "berlin", "rule": "after"})
@extend_schema_serializer(component_name="ScheduleClosedDays")
class ClosedDaysRuleSerializer(serializers.Serializer):
    """What happens with fire times on the closed days of a calendar."""

    calendar = serializers.CharField(help_text="The name of a closed-day calendar of the subscription.")
    rule = serializers.ChoiceField(
        list(common.RULES),
        help_text="`skip`: a fire time on a closed day is left out.  Else it moves to the same time on the open day"
        " `before`, `after` or `nearest`, of two equally near days the later one.  Fire times that meet are one.",
    )


@with_example({"skips": ["2026-12-24", "2026-12-31T08:00:00Z"], "extras": ["2026-12-23T08:00:00Z"], "jitter": "PT10M"})
class CommonMembersSerializer(serializers.Serializer):
    """The members that a schedule has in every format.  They apply in this order."""

    skips = serializers.ListField(
        child=serializers.CharField(),
        max_length=json_values.LONGEST_LIST,
        required=False,
        help_text="What is left out: dates such as `2026-12-24` in the zone of the schedule, and fire times such as"
        " `2026-12-24T08:00:00Z`.",
    )
    closedDays = ClosedDaysRuleSerializer(
        required=False, help_text="A calendar of closed days, and what happens with fire times on them."
    )
    extras = serializers.ListField(
        child=TimeField(),
        max_length=json_values.LONGEST_LIST,
        required=False,
        help_text="Further fire times.  Skips and closed days do not apply to them.",
    )
    jitter = serializers.CharField(
        required=False,
        help_text="An ISO 8601 duration up to `PT24H`, shorter than the time between two fire times.  Each run starts"
        " later than its fire time by a part of it, which is always the same for this fire time of the trigger.",
    )


@with_example(
    {
        "timeZone": "Europe/Berlin",
        "clockChange": "cron",
        "startTime": "2026-01-05T08:00:00Z",
        "endTime": "2030-01-01T00:00:00Z",
    }
)
class ClocksSerializer(CommonMembersSerializer):
    """The members that say how a schedule reads clocks."""

    timeZone = serializers.CharField(
        required=False, help_text="The zone of its clocks, by a name of IANA's or of Windows.  By default UTC."
    )
    clockChange = ClockChangeField(required=False, help_text=f"{CLOCK_CHANGE_HELP}  By default `cron`.")
    startTime = TimeField(required=False, help_text="It does not fire before.")
    endTime = TimeField(required=False, help_text="It does not fire after.")


@with_example({"format": "azure", "startTime": "2026-01-05T08:00:00Z"})
class AzureScheduleSerializer(ClocksSerializer):
    """The start time and recurrence of Azure Scheduler, with a time zone in which they are read."""

    format = serializers.ChoiceField(["azure"], help_text="How the other members are read.")
    startTime = TimeField(
        required=False,
        help_text="The first fire time; without an offset, on the clocks of `timeZone`.  Without a start it also fires"
        " when it is created.",
    )
    recurrence = RecurrenceSerializer(required=False, help_text="How it repeats.  Without one it fires once.")


@with_example({"format": "cron", "expression": "*/15 9-17 * * MON-FRI"})
class CronScheduleSerializer(ClocksSerializer):
    """A line of a crontab."""

    format = serializers.ChoiceField(["cron"], help_text="How the other members are read.")
    expression = serializers.CharField(
        help_text="The five fields of a crontab line, such as `*/15 9-17 * * MON-FRI`, or a word such as `@daily`."
    )


@with_example(
    {
        "format": "quartz",
        "expression": "0 15 10 ? * 6L",
    }
)
class QuartzScheduleSerializer(ClocksSerializer):
    """A cron expression of Quartz."""

    format = serializers.ChoiceField(["quartz"], help_text="How the other members are read.")
    expression = serializers.CharField(help_text="Six or seven fields, such as `0 15 10 ? * MON-FRI`.")


@with_example({"timeZone": "Europe/Berlin"})
class DisplayZoneSerializer(CommonMembersSerializer):
    """The time zone of a schedule that follows no clocks."""

    timeZone = serializers.CharField(
        required=False, help_text="The zone in which people see its times.  By default UTC."
    )


@with_example(
    {
        "format": "simple",
        "startTime": "2026-01-05T08:00:00Z",
        "endTime": "2030-01-01T00:00:00Z",
        "interval": 5_400_000,
        "repeatCount": 4,
    }
)
class SimpleScheduleSerializer(DisplayZoneSerializer):
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
class OnceScheduleSerializer(DisplayZoneSerializer):
    """A single fire time."""

    format = serializers.ChoiceField(["once"], help_text="How the other members are read.")
    at = TimeField(help_text="When it fires." + MILLISECONDS)


@with_example({"format": "outlook", "end": {"dateTime": "2026-01-05T11:00:00", "timeZone": "Europe/Berlin"}})
class OutlookScheduleSerializer(ClocksSerializer):
    """A calendar series in the form of Microsoft Graph."""

    timeZone = serializers.CharField(required=False, help_text="The zone of the recurrence again, and no other one.")
    clockChange = ClockChangeField(
        required=False, help_text=f"{CLOCK_CHANGE_HELP}  By default `shift` and `first`, as in calendars."
    )

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
        "timeZone": "Europe/Berlin",
        "clockChange": {"gap": "shift", "repeat": "first"},
        "startTime": "2026-01-05T08:00:00Z",
        "endTime": "2030-01-01T00:00:00Z",
    }
)
@extend_schema_serializer(component_name="RRuleSchedule")
class RRuleScheduleSerializer(CommonMembersSerializer):
    """A calendar series as a rule of iCalendar; the rule can also have several times a day."""

    format = serializers.ChoiceField(["rrule"], help_text="How the other members are read.")
    start = WallTimeSerializer(help_text="When the first occurrence starts.")
    end = WallTimeSerializer(
        required=False,
        help_text="When the first occurrence ends.  Without it they have no length.  Not with several times a day.",
    )
    rrule = serializers.CharField(
        help_text="A rule of iCalendar (RFC 5545), of the frequencies `SECONDLY` to `YEARLY`, such as"
        " `FREQ=DAILY;BYHOUR=9,17`."
    )
    exdates = serializers.ListField(
        child=serializers.DateField(), required=False, help_text="Dates on which it is not."
    )
    rdates = serializers.ListField(
        child=serializers.DateField(), required=False, help_text="Dates on which it is besides."
    )
    timeZone = serializers.CharField(required=False, help_text="The zone of the start, or absent.")
    clockChange = ClockChangeField(
        required=False,
        help_text="What happens when clocks are changed.  By default fire times move by the length of a gap, and a time"
        " that clocks show twice fires the first time.",
    )
    startTime = TimeField(required=False, help_text="It does not fire before.")
    endTime = TimeField(required=False, help_text="It does not fire after.")


@with_example(
    {
        "format": "solar",
        "event": "sunset",
        "latitude": 52.52,
        "longitude": 13.41,
        "offset": "-PT45M",
        "timeZone": "Europe/Berlin",
        "startTime": "2026-01-05T08:00:00Z",
        "endTime": "2030-01-01T00:00:00Z",
    }
)
class SolarScheduleSerializer(CommonMembersSerializer):
    """An event of the sun at a place.  Days without the event have no fire time."""

    format = serializers.ChoiceField(["solar"], help_text="How the other members are read.")
    event = serializers.ChoiceField(
        [*solar.EVENTS],
        help_text="`sunrise`, `sunset`, civil `dawn` or `dusk` (the sun is 6 degrees below the horizon), solar `noon`"
        " or `midnight`.",
    )
    latitude = serializers.FloatField(min_value=-90, max_value=90, help_text="In degrees; north is positive.")
    longitude = serializers.FloatField(min_value=-180, max_value=180, help_text="In degrees; east is positive.")
    offset = serializers.CharField(
        required=False,
        help_text="How much later than the event it fires, in ISO 8601, up to 12 hours; `-PT45M` is 45 minutes before.",
    )
    timeZone = serializers.CharField(
        required=False, help_text="The zone in which times are shown, by a name of IANA's or of Windows.  Default: UTC."
    )
    startTime = TimeField(required=False, help_text="It does not fire before.")
    endTime = TimeField(required=False, help_text="It does not fire after.")


SCHEDULES = PolymorphicProxySerializer(
    "Schedule",
    {
        "azure": AzureScheduleSerializer,
        "cron": CronScheduleSerializer,
        "once": OnceScheduleSerializer,
        "outlook": OutlookScheduleSerializer,
        "quartz": QuartzScheduleSerializer,
        "rrule": RRuleScheduleSerializer,
        "simple": SimpleScheduleSerializer,
        "solar": SolarScheduleSerializer,
    },
    resource_type_field_name="format",
)
