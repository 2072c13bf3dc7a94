"""The wire document of a job: the fields `action` and `recurrence`, and serializers that describe them for OpenAPI.

The two fields only pass the document on: `triggers.scheduling` receives it whole and gives it to
`jobs.actions.documents` and `recurrence.wire`, which check it.  The serializers here check no value.  They provide the
OpenAPI description.  Those of actions are derived from the declarations in `jobs.actions.members`.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from accounts.examples import with_example
from api.errors import RequestError
from api.fields import SharedField
from jobs import registry
from jobs.actions import documents, members
from jobs.actions import member_types as types
from jobs.actions.member_types import Member, ObjectType
from jobs.actions.members import ACTIONS, AUTHENTICATIONS, ERROR_ACTIONS
from jobs.actions.previous import SECRET_LIMIT
from jobs.api.examples import HIDDEN
from jobs.models import Action
from recurrence.wire import WireError, azure, unknown_members

TASK_NAMES = registry.names()  # all apps have registered theirs when the URLs are read


@extend_schema_field(
    {
        "oneOf": [
            {"type": "integer", "minimum": 100, "maximum": 599},
            {"type": "string", "pattern": "^[1-5][0-9]{2}-[1-5][0-9]{2}$"},
        ]
    }
)
class StatusCodeField(serializers.Field):
    """A status code as a number, or a range of status codes as a text."""


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string", "maxLength": members.TEXT_LIMIT},
            {"type": "number", "minimum": -(2**63), "maximum": 2**63 - 1},
            {"type": "boolean"},
        ]
    }
)
class ScalarField(serializers.Field):
    """A text, a number, true or false."""


def field_of(member: Member) -> serializers.Field:
    """Return the field that describes a member."""
    options: dict[str, Any] = {"required": member.required, "help_text": member.help_text}
    match member:
        case types.Secret():
            limit = None if isinstance(member, types.PfxFile) else SECRET_LIMIT
            return serializers.CharField(**options | {"required": False}, write_only=True, max_length=limit)
        case types.ReadOnly():
            field = serializers.DateTimeField if member.is_instant else serializers.CharField
            return field(**options, read_only=True)
        case types.TaskName():
            return serializers.ChoiceField(TASK_NAMES, **options)
        case types.Text() | types.Address():
            return serializers.CharField(**options, max_length=member.limit)
        case types.Choice():
            return serializers.ChoiceField(member.choices, **options, default=_default_of(member))
        case types.Flag():
            return serializers.BooleanField(**options, default=_default_of(member))
        case types.Number():
            return serializers.IntegerField(**options, min_value=member.low, max_value=member.high)
        case types.Duration():
            return serializers.CharField(**options)
        case types.Instant():
            return serializers.DateTimeField(**options)
        case types.Scalar():
            return ScalarField(**options)
        case types.Names():
            names = serializers.CharField(max_length=256)
            return serializers.ListField(**options, child=names, max_length=members.MARKS_LIMIT)
        case types.StatusCodes():
            return serializers.ListField(**options, child=StatusCodeField(), max_length=member.limit)
        case types.Headers() | types.Texts():
            return serializers.DictField(**options, child=serializers.CharField())
        case types.JsonValues():
            return serializers.DictField(**options)
        case types.Object():
            return serializer_of(member.type)(**options)
        case types.OneOf():
            kinds = list(member.kinds.values())
            field = HttpAuthenticationField if len(kinds) > 1 else serializer_of(kinds[0])
            return field(**options, allow_null=True)
        case types.ErrorAction():
            return ErrorActionField(**options, allow_null=True)
    raise TypeError(f"{member.name} has no field")


@cache
def serializer_of(described: ObjectType) -> type[serializers.Serializer]:
    attributes = {"__doc__": described.description, **{each.name: field_of(each) for each in described.members}}
    serializer = type(f"{described.name}Serializer", (serializers.Serializer,), attributes)
    return with_example({each.name: example for each in described.members if (example := _example_of(each))})(
        serializer
    )


def _default_of(member: types.Choice | types.Flag) -> Any:
    return serializers.empty if member.default is None else member.default


def _example_of(member: Member) -> Any:
    """Return an example of a member; None for an object with members that have examples."""
    match member:
        case types.Secret():
            return HIDDEN
        case types.Flag():
            return True
        case types.Choice(example=None):
            return member.choices[-1]
    return member.example


def serializers_of(kinds: Mapping[str, ObjectType]) -> dict[str, type[serializers.Serializer]]:
    return {name: serializer_of(kind) for name, kind in kinds.items()}


@extend_schema_field(
    PolymorphicProxySerializer("HttpAuthentication", serializers_of(AUTHENTICATIONS), resource_type_field_name="type")
)
class HttpAuthenticationField(serializers.JSONField):
    """One of three kinds of authentication; `type` names the kind."""


@extend_schema_field(
    PolymorphicProxySerializer("ErrorAction", serializers_of(ERROR_ACTIONS), resource_type_field_name="type")
)
class ErrorActionField(serializers.JSONField):
    """The action that runs after the last attempt has failed.  `type` names its kind."""


@with_example({"day": "Friday", "Occurrence": -1})
class MonthlyOccurrenceSerializer(serializers.Serializer):
    day = serializers.ChoiceField(azure.WEEKDAYS, help_text="The day of the week.")
    Occurrence = serializers.IntegerField(
        required=False,
        min_value=-5,
        max_value=5,
        help_text=("Selects one of these weekdays in the month; -1 is the last one. Without it, every one of them."),
    )


@with_example({"minutes": [0, 30], "hours": [9], "weekDays": ["Monday", "Wednesday"], "monthDays": [1, -1]})
@extend_schema_serializer(component_name="RecurrenceSchedule")
class ScheduleSerializer(serializers.Serializer):
    minutes = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=59), required=False, help_text="The minutes of the hour."
    )
    hours = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=23),
        required=False,
        help_text=("The hours of the day, in UTC."),
    )
    weekDays = serializers.ListField(
        child=serializers.ChoiceField(azure.WEEKDAYS),
        required=False,
        help_text=("The days of the week, for the frequency Week."),
    )
    monthDays = serializers.ListField(
        child=serializers.IntegerField(min_value=-31, max_value=31),
        required=False,
        help_text="The days of the month, for the frequency Month; -1 is the last day.",
    )
    monthlyOccurrences = MonthlyOccurrenceSerializer(
        many=True, required=False, help_text=("The weekdays of the month, for the frequency Month.")
    )


@with_example(
    {
        "frequency": "Week",
        "interval": 2,
        "count": 50,
        "endTime": "2030-01-01T00:00:00Z",
        "schedule": {"minutes": [0, 30], "hours": [9], "weekDays": ["Monday", "Wednesday"]},
    }
)
class RecurrenceSerializer(serializers.Serializer):
    frequency = serializers.ChoiceField(
        [frequency.value for frequency in azure.Frequency], help_text="The unit of the interval."
    )
    interval = serializers.IntegerField(
        required=False, min_value=1, max_value=1000, help_text="The number of units between two runs. Default: 1."
    )
    count = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=azure.LARGEST_COUNT,
        help_text="The maximum number of runs. Default: no limit.",
    )
    endTime = serializers.DateTimeField(
        required=False,
        help_text=("The end of the recurrence. A run at exactly this time is the last one. Default: no end."),
    )
    schedule = ScheduleSerializer(
        required=False, help_text=("The times of the day, week or month at which the job runs.")
    )


def known_members(described: ObjectType, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that an object in an action may have.

    The value of each is the members that it may have itself, or None if it has none or the caller chooses their names.
    """
    return {member.name: _known_below(member, document.get(member.name)) for member in described.members}


def known_members_of_kind(kinds: Mapping[str, ObjectType], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that an object of one of several kinds may have.

    If the type of the object is unknown, return the members of all kinds.
    """
    type_ = str(document.get("type")).lower()
    matching = [kind for name, kind in kinds.items() if name.lower() == type_]
    known = [known_members(kind, document) for kind in matching or kinds.values()]
    return {name: members for each in known for name, members in each.items()}


def known_members_of_action(kinds: Mapping[str, ObjectType], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that an action or error action may have.

    They include the switches of other kinds: those may be present if they are off, and a patch that changes the type
    removes them.
    """
    return dict.fromkeys(("template", "follow", "followLimit")) | known_members_of_kind(kinds, document)


def _known_below(member: Member, value: object) -> dict[str, Any] | None:
    document = value if isinstance(value, Mapping) else {}
    match member:
        case types.Object():
            return known_members(member.type, document)
        case types.OneOf():
            nothing = {name: ObjectType("", (member.type,)) for name in members.NO_AUTHENTICATION}
            return known_members_of_kind(member.kinds if len(member.kinds) == 1 else member.kinds | nothing, document)
        case types.ErrorAction():
            return known_members_of_action(ERROR_ACTIONS, document)
    return None


@extend_schema_field(PolymorphicProxySerializer("Action", serializers_of(ACTIONS), resource_type_field_name="type"))
class ActionField(SharedField):
    """An action's document.  It is passed on unchanged when written, and answered without its secrets."""

    refusals = (RequestError,)

    def check(self, data):
        documents.parse(data, self.context.get("replaced"), path="")

    def find_unknown_members(self, sent, data):
        return unknown_members(sent, known_members_of_action(ACTIONS, data))

    def to_representation(self, value: Action) -> dict[str, Any]:
        return documents.render(value)


@extend_schema_field(RecurrenceSerializer)
class RecurrenceField(SharedField):
    """The `recurrence` of a stored definition.

    It is passed on unchanged when written, and answered in the published form.
    """

    refusals = (WireError,)
    path_prefix = "recurrence"

    def check(self, data):
        azure.read({"recurrence": data})

    def find_unknown_members(self, sent, data):
        return unknown_members(sent, azure.RECURRENCE_MEMBERS)

    def to_representation(self, value: Mapping[str, Any]) -> object:
        return azure.render({"recurrence": value})["recurrence"]
