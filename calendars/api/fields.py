"""Fields and converters of the API of calendars: wall times, names of zones, recurrences, and ids in addresses."""

import re
import uuid
from datetime import datetime

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from api.fields import ECHO, Document, Messages, SharedField, read
from calendars import ids
from recurrence.wire import WireError, graph, unknown_members
from recurrence.wire.zone_names import iana_name
from triggers.api.schedules import GraphRecurrenceSerializer

LOCAL = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?)?", re.ASCII)
WITHOUT_OFFSET = {"type": "string", "example": "2026-01-05T09:00:00"}


class WholeDocument(Document):
    """A nested document that is always sent as a whole, even in a PATCH of the outer document."""

    def to_internal_value(self, data: object) -> dict:
        if not getattr(self.root, "partial", False):
            return super().to_internal_value(data)
        return read(type(self), data)


@extend_schema_field(WITHOUT_OFFSET)
class LocalField(Messages, serializers.Field):
    """A wall time to the second.  A date alone means its midnight."""

    default_error_messages = {
        "invalid": "must be a wall time such as 2026-01-05T09:00:00 without an offset, not {shown}",
        "out_of_range": "must be a time that exists, not {shown}",
    }

    def to_internal_value(self, data: object) -> datetime:
        if not isinstance(data, str) or not LOCAL.fullmatch(data):
            # `return`, here and below, is for type checkers, which do not know that `fail` always raises
            return self.fail("invalid", shown=repr(data)[:ECHO])
        try:
            return datetime.fromisoformat(data).replace(microsecond=0)
        except ValueError:
            return self.fail("out_of_range", shown=repr(data)[:ECHO])

    def to_representation(self, value: datetime) -> str:
        return format_wall(value)


def format_wall(wall: datetime) -> str:
    """Render a wall time without zone and offset."""
    return wall.replace(tzinfo=None).isoformat(timespec="seconds")


@extend_schema_field({"type": "string", "example": "Europe/Berlin"})
class ZoneNameField(Messages, serializers.Field):
    """The name of a zone, from IANA or from Windows."""

    def to_internal_value(self, data: object) -> str:
        try:
            iana_name(data, "timeZone")
        except WireError as error:
            raise serializers.ValidationError(error.message, error.code) from None
        return str(data)

    def to_representation(self, value: str) -> str:
        return value


class ItemConverter:
    """The id of an event or an occurrence in an address."""

    regex = "[0-9a-f]{32}(?:_[0-9]{8})?"

    def to_python(self, text: str) -> ids.ItemId:
        item_id = ids.parse(text)
        if item_id is None:
            raise ValueError("is not the id of an event or occurrence")
        return item_id

    def to_url(self, value: object) -> str:
        return str(value)


class EventConverter:
    """The id of an event in an address: a single event, or a series as a whole."""

    regex = "[0-9a-f]{32}"

    def to_python(self, text: str) -> uuid.UUID:
        item_id = ids.parse(text)
        if item_id is None or item_id.day is not None:
            raise ValueError("is not the id of an event")
        return item_id.event

    def to_url(self, value: object) -> str:
        return value.hex if isinstance(value, uuid.UUID) else str(value)


@extend_schema_field(GraphRecurrenceSerializer)
class RecurrenceField(SharedField):
    """Graph's `recurrence`.  The engine parses its content."""

    default_error_messages = {"invalid": "must be an object or null"}
    refusals = (WireError,)
    path_prefix = "recurrence"

    def check(self, data):
        graph.read_parts(data, "recurrence")

    def find_unknown_members(self, sent, data):
        return unknown_members(sent, graph.RECURRENCE_MEMBERS)

    def to_representation(self, value: dict) -> dict:
        return value
