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
    "The rule for fire times at clock changes: the preset `cron`, the preset `quartz`, or an object. The"
    " presets treat intervals differently from other fire times, an object does not."
)
MILLISECONDS = " Milliseconds since 1970 are accepted too."


@extend_schema_field(OpenApiTypes.DATETIME)
class TimeField(serializers.Field):
    """An instant; a time without an offset is in UTC."""


@with_example({"gap": "next", "repeat": "both"})
@extend_schema_serializer(component_name="ClockChangePolicy")
class ClockChangePolicySerializer(serializers.Serializer):
    """The rules for wall times that a clock change skips or repeats."""

    gap = serializers.ChoiceField(
        [*GAPS],
        required=False,
        help_text=(
            "The rule for wall times that a clock change skips. `next`, the default: they fire once, at the end of"
            " the gap. `shift`: each fires later by the length of the gap. `skip`: they do not fire."
        ),
    )
    repeat = serializers.ChoiceField(
        [*REPEATS],
        required=False,
        help_text=(
            "The rule for wall times that occur twice. `first`, the default: they fire the first time. `second`:"
            " they fire the second time. `both`: they fire both times."
        ),
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
    """A wall time and its time zone, as in the type `dateTimeTimeZone` of Microsoft Graph."""

    dateTime = serializers.CharField(help_text="The wall time, to the second, without an offset.")
    timeZone = serializers.CharField(
        required=False, help_text="The time zone of the wall time: an IANA or Windows name. Default: UTC."
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
    """The days of a series. Members that the type does not use are ignored.

    In responses they have the values of Microsoft Graph.
    """

    type = serializers.ChoiceField(graph.TYPES, help_text="The type of the pattern.")
    interval = serializers.IntegerField(
        min_value=1, help_text=("The number of days, weeks, months or years between two occurrences.")
    )
    daysOfWeek = serializers.ListField(
        child=serializers.ChoiceField(list(graph.WEEKDAYS)),
        required=False,
        help_text="The days of the week, for `weekly` and the relative types.",
    )
    firstDayOfWeek = serializers.ChoiceField(
        list(graph.WEEKDAYS), required=False, help_text="The first day of the week, for `weekly`. Default: `sunday`."
    )
    dayOfMonth = serializers.IntegerField(
        required=False,
        help_text=("The day of the month, 1 to 31, for the absolute types. In a shorter month it is the last day."),
    )
    month = serializers.IntegerField(required=False, help_text="The month, 1 to 12, for the yearly types.")
    index = serializers.ChoiceField(
        list(graph.INDEXES),
        required=False,
        help_text="For the relative types: which of the days of the month that match `daysOfWeek`. Default: `first`.",
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

    type = serializers.ChoiceField(list(graph.RANGE_TYPES), help_text="The kind of end.")
    startDate = serializers.DateField(help_text="The first date of the series.")
    endDate = serializers.DateField(required=False, help_text="The last day, included, for the type `endDate`.")
    numberOfOccurrences = serializers.IntegerField(
        required=False,
        help_text=(
            f"The number of occurrences, 1 to {graph.MOST_OCCURRENCES}, for the type `numbered`. A longer series"
            " needs an end date."
        ),
    )
    recurrenceTimeZone = serializers.CharField(
        required=False, help_text="The time zone of the dates. Default: the time zone of the start."
    )


@extend_schema_serializer(component_name="GraphRecurrence")
class GraphRecurrenceSerializer(serializers.Serializer):
    """The `recurrence` of Microsoft Graph."""

    pattern = PatternSerializer(help_text="The days of the series.")
    range = RangeSerializer(help_text="The start and the end of the series.")


@with_example({"calendar": "berlin", "rule": "after"})
@extend_schema_serializer(component_name="ScheduleClosedDays")
class ClosedDaysRuleSerializer(serializers.Serializer):
    """The rule for fire times on the closed days of a calendar."""

    calendar = serializers.CharField(help_text="The name of a calendar of closed days of the subscription.")
    rule = serializers.ChoiceField(
        list(common.RULES),
        help_text=(
            "The rule for a fire time on a closed day. `skip`: it is left out. `before`, `after` or `nearest`: it"
            " moves to the same time on an open day in this direction; if two days are equally near, to the later"
            " one. Fire times that move to the same time fire once."
        ),
    )


@with_example({"skips": ["2026-12-24", "2026-12-31T08:00:00Z"], "extras": ["2026-12-23T08:00:00Z"], "jitter": "PT10M"})
class CommonMembersSerializer(serializers.Serializer):
    """The members that a schedule has in every format.  They apply in this order."""

    skips = serializers.ListField(
        child=serializers.CharField(),
        max_length=json_values.LONGEST_LIST,
        required=False,
        help_text=(
            "Exclusions: dates such as `2026-12-24` in the zone of the schedule, and fire times such as"
            " `2026-12-24T08:00:00Z`."
        ),
    )
    closedDays = ClosedDaysRuleSerializer(
        required=False, help_text="A calendar of closed days, and the rule for fire times on them."
    )
    extras = serializers.ListField(
        child=TimeField(),
        max_length=json_values.LONGEST_LIST,
        required=False,
        help_text="Additional fire times. `skips` and `closedDays` do not apply to them.",
    )
    jitter = serializers.CharField(
        required=False,
        help_text=(
            "The maximum delay: an ISO 8601 duration up to `PT24H`, shorter than the time between two fire times."
            " Each run starts with a delay up to this value. The delay is always the same for the same trigger and"
            " fire time."
        ),
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
        required=False, help_text="The time zone of the schedule: an IANA or Windows name. Default: UTC."
    )
    clockChange = ClockChangeField(required=False, help_text=f"{CLOCK_CHANGE_HELP} Default: `cron`.")
    startTime = TimeField(required=False, help_text="The start: the schedule does not fire before this time.")
    endTime = TimeField(required=False, help_text="The end: the schedule does not fire after this time.")


@with_example({"format": "azure", "startTime": "2026-01-05T08:00:00Z"})
class AzureScheduleSerializer(ClocksSerializer):
    """The start time and recurrence of Azure Scheduler, with the time zone in which they are interpreted."""

    format = serializers.ChoiceField(["azure"], help_text="The format, which defines the other members.")
    startTime = TimeField(
        required=False,
        help_text=(
            "The first fire time. A time without an offset is a wall time in `timeZone`. Without a start time the"
            " schedule also fires at its creation."
        ),
    )
    recurrence = RecurrenceSerializer(
        required=False, help_text=("The rule for repetitions. Without a recurrence the schedule fires once.")
    )


@with_example({"format": "cron", "expression": "*/15 9-17 * * MON-FRI"})
class CronScheduleSerializer(ClocksSerializer):
    """A crontab schedule."""

    format = serializers.ChoiceField(["cron"], help_text="The format, which defines the other members.")
    expression = serializers.CharField(
        help_text=(
            "The five fields of a crontab schedule, such as `*/15 9-17 * * MON-FRI`, or a nickname such as `@daily`."
        )
    )


@with_example(
    {
        "format": "quartz",
        "expression": "0 15 10 ? * 6L",
    }
)
class QuartzScheduleSerializer(ClocksSerializer):
    """A cron expression of Quartz."""

    format = serializers.ChoiceField(["quartz"], help_text="The format, which defines the other members.")
    expression = serializers.CharField(
        help_text=("The expression with six or seven fields, such as `0 15 10 ? * MON-FRI`.")
    )


@with_example({"timeZone": "Europe/Berlin"})
class DisplayZoneSerializer(CommonMembersSerializer):
    """The time zone of a schedule that follows no clocks."""

    timeZone = serializers.CharField(
        required=False, help_text="The time zone in which fire times are displayed. Default: UTC."
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
    """A simple trigger of Quartz: a start time, and repetitions at a fixed interval of elapsed time."""

    format = serializers.ChoiceField(["simple"], help_text="The format, which defines the other members.")
    startTime = TimeField(
        required=False, help_text=("The first fire time. Default: the time of creation.") + MILLISECONDS
    )
    endTime = TimeField(
        required=False,
        help_text=("The end, excluded: the schedule does not fire at or after this time.") + MILLISECONDS,
    )
    interval = serializers.IntegerField(
        min_value=1,
        max_value=simple.LONGEST_INTERVAL,
        required=False,
        help_text="The interval in milliseconds. Without an interval the schedule fires once.",
    )
    repeatCount = serializers.IntegerField(
        min_value=simple.FOREVER,
        max_value=simple.MOST_REPEATS,
        required=False,
        help_text="The number of fire times after the first one. -1, the default with an interval: no end.",
    )


@with_example({"format": "once", "at": "2030-01-01T00:00:00Z"})
class OnceScheduleSerializer(DisplayZoneSerializer):
    """A single fire time."""

    format = serializers.ChoiceField(["once"], help_text="The format, which defines the other members.")
    at = TimeField(help_text="The fire time." + MILLISECONDS)


@with_example({"format": "outlook", "end": {"dateTime": "2026-01-05T11:00:00", "timeZone": "Europe/Berlin"}})
class OutlookScheduleSerializer(ClocksSerializer):
    """A calendar series in the format of Microsoft Graph."""

    timeZone = serializers.CharField(
        required=False, help_text=("The time zone of the recurrence. Another time zone is refused.")
    )
    clockChange = ClockChangeField(
        required=False, help_text=f"{CLOCK_CHANGE_HELP} Default: `shift` and `first`, as in calendars."
    )

    format = serializers.ChoiceField(["outlook"], help_text="The format, which defines the other members.")
    start = WallTimeSerializer(help_text="The start of the first occurrence.")
    end = WallTimeSerializer(help_text="The end of the first occurrence.")
    recurrence = GraphRecurrenceSerializer(help_text="The recurrence rule.")


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
    """A calendar series with a recurrence rule of iCalendar. The rule can also have several times on a day."""

    format = serializers.ChoiceField(["rrule"], help_text="The format, which defines the other members.")
    start = WallTimeSerializer(help_text="The start of the first occurrence.")
    end = WallTimeSerializer(
        required=False,
        help_text=(
            "The end of the first occurrence. Without it, occurrences do not have a duration. Not allowed with"
            " several times on a day."
        ),
    )
    rrule = serializers.CharField(
        help_text=(
            "A recurrence rule of iCalendar (RFC 5545) with a frequency from `SECONDLY` to `YEARLY`, such as"
            " `FREQ=DAILY;BYHOUR=9,17`."
        )
    )
    exdates = serializers.ListField(child=serializers.DateField(), required=False, help_text="Excluded dates.")
    rdates = serializers.ListField(child=serializers.DateField(), required=False, help_text="Additional dates.")
    timeZone = serializers.CharField(
        required=False, help_text=("The time zone of the start. If given, it must be the same.")
    )
    clockChange = ClockChangeField(
        required=False,
        help_text=(
            "The rule for fire times at clock changes. By default fire times in a gap move by the length of the"
            " gap, and a wall time that occurs twice fires the first time."
        ),
    )
    startTime = TimeField(required=False, help_text="The start: the schedule does not fire before this time.")
    endTime = TimeField(required=False, help_text="The end: the schedule does not fire after this time.")


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
    """A solar event at a location. Days without the event have no fire time."""

    format = serializers.ChoiceField(["solar"], help_text="The format, which defines the other members.")
    event = serializers.ChoiceField(
        [*solar.EVENTS],
        help_text=(
            "The solar event: `sunrise`, `sunset`, civil `dawn` or `dusk` (the sun is 6 degrees below the horizon),"
            " solar `noon` or `midnight`."
        ),
    )
    latitude = serializers.FloatField(
        min_value=-90, max_value=90, help_text=("The latitude in degrees; north is positive.")
    )
    longitude = serializers.FloatField(
        min_value=-180, max_value=180, help_text=("The longitude in degrees; east is positive.")
    )
    offset = serializers.CharField(
        required=False,
        help_text=(
            "The offset from the event: an ISO 8601 duration up to 12 hours. `-PT45M` is 45 minutes before the event."
        ),
    )
    timeZone = serializers.CharField(
        required=False,
        help_text=("The time zone in which fire times are displayed: an IANA or Windows name. Default: UTC."),
    )
    startTime = TimeField(required=False, help_text="The start: the schedule does not fire before this time.")
    endTime = TimeField(required=False, help_text="The end: the schedule does not fire after this time.")


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
