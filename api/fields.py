"""Documents of our own API and the fields of their members.

Types are strict: a number must be a JSON number, a text a JSON string, and an instant must have an offset.
A document refuses members that it does not declare, so that no part of a request is silently ignored.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from difflib import SequenceMatcher
from itertools import islice
from typing import Any
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.settings import api_settings

INSTANT = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(:\d\d(\.\d{1,9})?)?([Zz]|[+-]\d\d:[0-5]\d)", re.ASCII)
ECHO = 100  # characters of a refused value that a message shows
UNKNOWN_LISTED = 20  # unknown members of one object that a refusal lists


class Messages:
    """Error messages that all fields of our own API share."""

    default_error_messages = {"required": "is required", "null": "must not be null"}


class ListMessages(Messages):
    default_error_messages = {
        "not_a_list": "must be a list",
        "empty": "must not be empty",
        "min_length": "must have at least {min_length} entries",
        "max_length": "must have at most {max_length} entries",
    }


@extend_schema_field(OpenApiTypes.DATETIME)
class InstantField(Messages, serializers.Field):
    """A point in time in ISO 8601 with any offset. Digits finer than a microsecond are cut off."""

    default_error_messages = {
        "invalid": "must be a time with its offset such as 2026-01-05T08:00:00Z, not {shown}",
        "out_of_range": "must be a time that exists, not {shown}",
    }

    def to_internal_value(self, data: object) -> datetime:
        if not isinstance(data, str) or not INSTANT.fullmatch(data):
            # here and below: `fail` always raises; `return` is only for type checkers, which do not know that
            return self.fail("invalid", shown=repr(data)[:ECHO])
        try:
            return datetime.fromisoformat(data.upper()).astimezone(UTC)
        except (ValueError, OverflowError):
            return self.fail("out_of_range", shown=repr(data)[:ECHO])

    def to_representation(self, value: datetime) -> str:
        return rendered(value)


def rendered(instant: datetime) -> str:
    """Return the instant in UTC as ISO 8601 text. A fraction of zero is left out."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


class WholeNumberField(Messages, serializers.IntegerField):
    default_error_messages = {
        "invalid": "must be a whole number",
        "min_value": "must be {min_value} or more",
        "max_value": "must be {max_value} or less",
    }

    def to_internal_value(self, data: object) -> int:
        if type(data) is not int:
            return self.fail("invalid")
        return super().to_internal_value(data)


class FlagField(Messages, serializers.BooleanField):
    default_error_messages = {"invalid": "must be true or false"}

    def to_internal_value(self, data: object) -> bool:
        if not isinstance(data, bool):
            return self.fail("invalid")
        return data


class TextField(Messages, serializers.CharField):
    default_error_messages = {
        "invalid": "must be a text",
        "blank": "must not be empty",
        "min_length": "must have at least {min_length} characters",
        "max_length": "must have at most {max_length} characters",
    }

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str):
            return self.fail("invalid")
        return super().to_internal_value(data)


class WordField(Messages, serializers.ChoiceField):
    """One of a fixed set of words."""

    default_error_messages = {"invalid_choice": "must be one of {choices}, not {shown}"}

    def to_internal_value(self, data: object) -> str:
        if isinstance(data, str) and data in self.choices:
            return data
        return self.fail("invalid_choice", choices=", ".join(map(str, self.choices)), shown=repr(data)[:ECHO])


class IdField(Messages, serializers.UUIDField):
    """The id of a resource that has a UUID, such as a subscription."""

    default_error_messages = {"invalid": "must be a UUID, not {shown}"}

    def to_internal_value(self, data: object) -> UUID:
        try:
            return UUID(data if isinstance(data, str) else "")
        except ValueError:
            return self.fail("invalid", shown=repr(data)[:ECHO])


class ListField(ListMessages, serializers.ListField):
    pass


class MapField(Messages, serializers.DictField):
    """An object whose member names the caller chooses."""

    default_error_messages = {"not_a_dict": "must be an object"}


class DocumentList(ListMessages, serializers.ListSerializer):
    pass


class Document(Messages, serializers.Serializer):
    """A JSON object in a request body."""

    # `from`, a keyword of Python, is declared as `from_`

    default_error_messages = {"invalid": "must be an object"}

    class Meta:
        list_serializer_class = DocumentList

    def __init__(
        self,
        *args: Any,
        answer: type[serializers.Serializer] | None = None,
        fixed: Mapping[str, object] | None = None,
        sent: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ):
        """Set up the document.

        `answer` is the serializer of the resource's answer. A request may send its members back; they are ignored.
        `fixed` maps names of members that only a creation sets to their values. A request may not change these values.
        `sent` is the body of the request, for a body that was merged into the stored document before this reads it.
        """
        super().__init__(*args, **kwargs)
        self.ignored = frozenset(answer().fields) if answer else frozenset()
        self.fixed = fixed or {}
        self.sent = sent

    def get_fields(self) -> dict[str, serializers.Field]:
        return {name.removesuffix("_"): field for name, field in super().get_fields().items()}

    def to_internal_value(self, data: Any) -> dict:
        """Raise ValidationError with all members that are wrong or unknown."""
        try:
            value, errors = super().to_internal_value(data), {}
        except serializers.ValidationError as error:
            if not isinstance(data, Mapping):
                raise
            value, errors = {}, error.detail
        sent = data if self.sent is None else self.sent
        if errors := {**errors, **self.find_unknown_members(sent), **self.find_changed_fixed_members(sent)}:
            raise serializers.ValidationError(errors)
        return value

    def find_unknown_members(self, data: Mapping[str, object]) -> dict[str, list[ErrorDetail]]:
        names = (name for name in data if name not in self.fields and name not in self.ignored)
        return {shown_name(name): [unknown(name, self.fields)] for name in islice(names, UNKNOWN_LISTED)}

    def find_changed_fixed_members(self, data: Mapping[str, object]) -> dict[str, list[ErrorDetail]]:
        changed = {name: value for name, value in self.fixed.items() if name in data and not is_same(data[name], value)}
        return {
            name: [ErrorDetail(f"cannot be changed, it is {str(value)[:ECHO]!r}", "read_only")]
            for name, value in changed.items()
        }


class NoMembers(Document):
    """The body of a request that takes no members."""


class SharedField(Messages, serializers.Field):
    """A member whose value a parser checks that other protocols use too.

    That parser ignores unknown members; this field refuses them. `refusals` are the exception types of the parser.
    Each exception has a path, a code, a message and `others`, the further exceptions of the same document.
    """

    default_error_messages = {"invalid": "must be an object"}
    refusals: tuple[type[Exception], ...] = ()
    path_prefix = ""  # prefix of the paths that the parser reports

    def check(self, data: Mapping[str, Any]) -> None:
        """Raise one of `refusals` if the parser refuses the value."""
        raise NotImplementedError

    def find_unknown_members(self, sent: object, data: Mapping[str, Any]) -> Iterable[Any]:
        """Return the unknown members of `sent`. Each has a `path`, a `name`, and the names that are `known` there.

        `data` is the whole value; it decides which members are known.
        """
        raise NotImplementedError

    def to_internal_value(self, data: Any) -> Any:
        """Raise ValidationError with all members that are wrong or unknown."""
        if not isinstance(data, dict):
            return self.fail("invalid")
        errors = {}
        try:
            self.check(data)
        except self.refusals as error:
            errors = details_of(error, self.path_prefix)
        sent = getattr(self.parent, "sent", None)
        own_value = data if sent is None else sent.get(self.field_name)
        for each in islice(self.find_unknown_members(own_value, data), UNKNOWN_LISTED):
            errors.setdefault(shown_name(each.path), [unknown(each.name, each.known)])
        if errors:
            raise serializers.ValidationError(errors)
        return data


def details_of(error: Any, within: str = "") -> dict[str, list[ErrorDetail]]:
    """Return the errors of a parser's exception by path. Paths are relative to the member `within`."""
    details: dict[str, list[ErrorDetail]] = {}
    for each in (error, *error.others):
        path = (each.path or "").removeprefix(within).removeprefix(".")
        details.setdefault(path or api_settings.NON_FIELD_ERRORS_KEY, []).append(ErrorDetail(each.message, each.code))
    return details


def unknown(name: str, known: Iterable[str]) -> ErrorDetail:
    """Return the error for an unknown member `name`. It lists the known names, the most similar first."""
    nearest = sorted(known, key=lambda each: -SequenceMatcher(None, each.lower(), name[:ECHO].lower()).quick_ratio())
    return ErrorDetail(f"is not known here; {'take ' if nearest else 'none is taken'}{', '.join(nearest)}", "unknown")


def shown_name(name: str) -> str:
    """Return a name from the request as an error path shows it: shortened to ECHO characters and escaped to ASCII."""
    return name[:ECHO].encode("ascii", "backslashreplace").decode().replace("\0", "\\x00")


def is_same(sent: object, value: object) -> bool:
    """Return True if `sent`, a JSON value, equals `value` as our answers show it. Letter case is ignored."""
    return str(sent).lower() == str(value).lower()


def read(serializer: type[serializers.Serializer], data: object, **options) -> dict:
    """Return the checked members of a request's body. Raise ValidationError with all members that are wrong."""
    if data is None:  # the body is `null`; the REST framework would refuse it with a message of its own
        raise serializers.ValidationError([ErrorDetail("must be an object", "invalid")])
    reader = serializer(data=data, **options)
    reader.is_valid(raise_exception=True)
    return reader.validated_data
