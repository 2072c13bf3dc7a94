"""Members of our own API's documents: a number is a number, a text is a text, and an instant says its offset."""

import re
from datetime import UTC, datetime

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:[0-5]\d)", re.ASCII)
ECHO = 100  # characters of a refused value that a message shows


@extend_schema_field(OpenApiTypes.DATETIME)
class InstantField(serializers.Field):
    """A point in time in ISO 8601, read with any offset, finer than a microsecond cut off."""

    default_error_messages = {
        "invalid": "must be a time with its offset such as 2026-01-05T08:00:00Z, not {shown}",
        "out_of_range": "must be a time that exists, not {shown}",
    }

    def to_internal_value(self, data: object) -> datetime:
        if not isinstance(data, str) or not INSTANT.fullmatch(data):
            # here and below `return` is for type checkers, which nobody tells that `fail` raises
            return self.fail("invalid", shown=repr(data)[:ECHO])
        try:
            return datetime.fromisoformat(data.upper()).astimezone(UTC)
        except (ValueError, OverflowError):
            return self.fail("out_of_range", shown=repr(data)[:ECHO])

    def to_representation(self, value: datetime) -> str:
        return rendered(value)


def rendered(instant: datetime) -> str:
    """The instant in UTC, with a fraction only when it has one."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


class WholeNumberField(serializers.IntegerField):
    default_error_messages = {"invalid": "must be a whole number"}

    def to_internal_value(self, data: object) -> int:
        if type(data) is not int:
            return self.fail("invalid")
        return super().to_internal_value(data)


class FlagField(serializers.BooleanField):
    default_error_messages = {"invalid": "must be true or false"}

    def to_internal_value(self, data: object) -> bool:
        if not isinstance(data, bool):
            return self.fail("invalid")
        return data


class TextField(serializers.CharField):
    default_error_messages = {"invalid": "must be a text"}

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            return self.fail("invalid")
        return super().to_internal_value(data)


class WordField(serializers.ChoiceField):
    """One of a few words."""

    default_error_messages = {"invalid_choice": "must be one of {choices}, not {shown}"}

    def to_internal_value(self, data: object) -> str:
        if isinstance(data, str) and data in self.choices:
            return data
        return self.fail("invalid_choice", choices=", ".join(map(str, self.choices)), shown=repr(data)[:ECHO])


def read(serializer: type[serializers.Serializer], data: object, **options) -> dict:
    """Return the members of a request's body, checked; raises ValidationError for all that are wrong."""
    reader = serializer(data=data, **options)
    reader.is_valid(raise_exception=True)
    return reader.validated_data
