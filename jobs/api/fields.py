"""Fields of our own documents that more than one resource uses."""

from datetime import timedelta

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from api.fields import Messages
from jobs import durations


@extend_schema_field({"type": "string", "format": "duration"})
class DurationField(Messages, serializers.Field):
    """A length of time in ISO 8601 or as hh:mm:ss."""

    def to_internal_value(self, data: object) -> timedelta:
        try:
            return durations.parse(data if isinstance(data, str) else "")
        except ValueError:
            raise serializers.ValidationError("must be a duration such as PT24H or 24:00:00", "malformed") from None

    def to_representation(self, value: timedelta) -> str:
        return durations.render(value)
