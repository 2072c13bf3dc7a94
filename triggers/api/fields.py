"""A schedule as a member of our own documents, and refusals that name its members."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from jobs.errors import JobError
from recurrence import wire
from recurrence.wire import WireError

# where the core, which speaks of its own fields, means a member of ours
MEMBERS = {"definition": "schedule", "data_map": "triggerDataMap", "misfire_threshold": "misfireThreshold"}


@extend_schema_field(
    {
        "type": "object",
        "required": ["format"],
        "properties": {"format": {"type": "string", "enum": sorted(wire.PARSERS)}},
        "additionalProperties": True,
        "description": (
            "`format` says how the other members are read. `azure` takes `startTime` and `recurrence`. `quartz` takes "
            "`expression` (six or seven fields, such as `0 15 10 ? * MON-FRI`), `timeZone` (a name of IANA's or of "
            "Windows, by default UTC), `clockChange` (`cron` by default, or `quartz`), `startTime` and `endTime`, "
            "both included. `simple` takes `startTime` (by default at once), `endTime` (not included), `interval` in "
            "milliseconds and `repeatCount` (-1: without end), times also in milliseconds since 1970. `once` takes "
            "`at`. `outlook` takes `start`, `end` and `recurrence` as events of Microsoft Graph have them: what clocks "
            "show (`dateTime` and `timeZone`), and a `pattern` with its `range`. `rrule` takes such a `start`, perhaps "
            "an `end`, a rule of iCalendar such as `FREQ=MONTHLY;BYMONTHDAY=1,15`, and lists of dates: "
            "`exdates`, on which it is not, and `rdates`, on which it is besides. Of all but `azure`, one that never "
            "fires again has no occurrences and a warning."
        ),
    }
)
class ScheduleField(serializers.Field):
    """A schedule in one of the formats we read: which one, and its definition."""

    default_error_messages = {"invalid": "must be an object"}
    formats: Collection[str] = wire.PARSERS

    def to_internal_value(self, data: object) -> tuple[str, dict]:
        if not isinstance(data, dict):
            return self.fail("invalid")
        format = data.get("format")
        if not isinstance(format, str):
            raise WireError("format", "required", f"must be one of {', '.join(self.formats)}")
        return format, {name: value for name, value in data.items() if name != "format"}


@contextmanager
def member_paths() -> Iterator[None]:
    """Refusals of the cores name the members of our document: a schedule's are below `schedule`."""
    try:
        yield
    except WireError as error:
        error.path = f"schedule.{error.path}"
        raise
    except JobError as error:
        error.path = MEMBERS.get(error.path or "", error.path)
        raise
