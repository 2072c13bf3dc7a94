"""Members of the documents of calendars: what clocks show, names of zones, ids of items, and other people."""

import re
import uuid
from datetime import datetime

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from accounts.fields import ECHO, read
from calendars import ids
from recurrence.wire import WireError, graph
from recurrence.wire.zone_names import iana_name

LOCAL = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?)?", re.ASCII)
WITHOUT_OFFSET = {"type": "string", "example": "2026-01-05T09:00:00"}


class WholeSerializer(serializers.Serializer):
    """Something inside a document: it is whole also where of the document only parts are sent."""

    def to_internal_value(self, data: object) -> dict:
        if not getattr(self.root, "partial", False):
            return super().to_internal_value(data)
        return read(type(self), data)


@extend_schema_field(WITHOUT_OFFSET)
class LocalField(serializers.Field):
    """What clocks show, to the second; a date alone is its midnight."""

    default_error_messages = {
        "invalid": "must be what clocks show, such as 2026-01-05T09:00:00 without an offset, not {shown}",
        "out_of_range": "must be a time that exists, not {shown}",
    }

    def to_internal_value(self, data: object) -> datetime:
        if not isinstance(data, str) or not LOCAL.fullmatch(data):
            # here and below `return` is for type checkers, which nobody tells that `fail` raises
            return self.fail("invalid", shown=repr(data)[:ECHO])
        try:
            return datetime.fromisoformat(data).replace(microsecond=0)
        except ValueError:
            return self.fail("out_of_range", shown=repr(data)[:ECHO])

    def to_representation(self, value: datetime) -> str:
        return shown(value)


def shown(wall: datetime) -> str:
    """A reading of the clocks, without zone and offset."""
    return wall.replace(tzinfo=None).isoformat(timespec="seconds")


@extend_schema_field({"type": "string", "example": "Europe/Berlin"})
class ZoneNameField(serializers.Field):
    """A zone by IANA's or Windows's name."""

    def to_internal_value(self, data: object) -> str:
        try:
            iana_name(data, "timeZone")
        except WireError as error:
            raise serializers.ValidationError(error.message, error.code) from None
        return str(data)

    def to_representation(self, value: str) -> str:
        return value


class ItemConverter:
    """An event or an occurrence in an address."""

    regex = "[0-9a-f]{32}(?:_[0-9]{8})?"

    def to_python(self, text: str) -> ids.ItemId:
        found = ids.parse(text)
        if found is None:
            raise ValueError("names no event and no occurrence")
        return found

    def to_url(self, value: object) -> str:
        return str(value)


class EventConverter:
    """An event in an address: a single one, or a series as a whole."""

    regex = "[0-9a-f]{32}"

    def to_python(self, text: str) -> uuid.UUID:
        found = ids.parse(text)
        if found is None or found.day is not None:
            raise ValueError("names no event")
        return found.event

    def to_url(self, value: object) -> str:
        return value.hex if isinstance(value, uuid.UUID) else str(value)


WEEKDAY = {"type": "string", "enum": list(graph.WEEKDAYS)}
PATTERN = {
    "type": "object",
    "required": ["type", "interval"],
    "properties": {
        "type": {"type": "string", "enum": list(graph.TYPES)},
        "interval": {"type": "integer", "minimum": 1, "description": "Every so many days, weeks, months or years."},
        "daysOfWeek": {"type": "array", "items": WEEKDAY, "description": "Of `weekly` and the relative types."},
        "firstDayOfWeek": {**WEEKDAY, "default": "sunday", "description": "Of `weekly`: where its weeks begin."},
        "dayOfMonth": {
            "type": "integer",
            "description": "Of the absolute types, 1 to 31; in a month that has fewer days its last one.",
        },
        "month": {"type": "integer", "description": "Of the yearly types, 1 to 12."},
        "index": {
            "type": "string",
            "enum": list(graph.INDEXES),
            "default": "first",
            "description": "Of the relative types: which of the days of a month that are one of `daysOfWeek`.",
        },
    },
}
RANGE = {
    "type": "object",
    "required": ["type", "startDate"],
    "properties": {
        "type": {"type": "string", "enum": list(graph.RANGE_TYPES)},
        "startDate": {"type": "string", "format": "date", "description": "The date of the start."},
        "endDate": {"type": "string", "format": "date", "description": "Of `endDate`: the last day, included."},
        "numberOfOccurrences": {"type": "integer", "description": "Of `numbered`."},
        "recurrenceTimeZone": {
            "type": "string",
            "description": "Whose dates these are; by default those of the start.",
        },
    },
}


@extend_schema_field(
    {
        "type": "object",
        "required": ["pattern", "range"],
        "properties": {"pattern": PATTERN, "range": RANGE},
        "description": (
            "The `recurrence` of Microsoft Graph. What a type has no use for is ignored, and answered as Graph"
            " answers it: `0`, `first`, `sunday`, `0001-01-01`."
        ),
    }
)
class RecurrenceField(serializers.Field):
    """Graph's `recurrence`; the engine reads what is in it."""

    default_error_messages = {"invalid": "must be an object or null"}

    def to_internal_value(self, data: object) -> dict:
        if not isinstance(data, dict):
            return self.fail("invalid")
        return data

    def to_representation(self, value: dict) -> dict:
        return value
