"""What a job's wire document looks like, for serializers and their OpenAPI description.

The two fields shape the envelope only: what is written goes whole to `triggers.scheduling`, which asks
`jobs.actions.documents` and `recurrence.wire`.  The serializers below describe; nothing is checked by them.
"""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field
from rest_framework import serializers

from jobs import registry
from jobs.actions import documents, requests, service_bus, storage_queue, stored, success, task, templates
from jobs.models import Action
from recurrence.wire import azure


class RetryPolicySerializer(serializers.Serializer):
    retryType = serializers.ChoiceField(
        documents.RETRY_TYPES,
        required=False,
        default="Fixed",
        help_text="`Exponential`, an addition of ours, doubles the interval with each failure, less up to half of it.",
    )
    retryInterval = serializers.CharField(
        required=False, help_text="15 seconds to 18 months, as `PT30S` or `00:00:30`.  Without one: 30 seconds."
    )
    retryCount = serializers.IntegerField(
        required=False, min_value=0, max_value=documents.RETRY_COUNT_LIMIT, help_text="Without one: 4."
    )
    maximumRetryInterval = serializers.CharField(
        required=False,
        help_text="An addition of ours: where doubling ends, and the most that a target's `Retry-After` can ask for."
        "  Without one: a day.",
    )


class BasicAuthenticationSerializer(serializers.Serializer):
    """Secrets are never answered.  Left out or sent as `********`, a stored one is kept while user and host stay."""

    type = serializers.ChoiceField(["Basic"])
    username = serializers.CharField(max_length=stored.SHORT_LIMIT)
    password = serializers.CharField(required=False, write_only=True, max_length=stored.SECRET_LIMIT)


class ClientCertificateAuthenticationSerializer(serializers.Serializer):
    type = serializers.ChoiceField(["ClientCertificate"])
    pfx = serializers.CharField(required=False, write_only=True, help_text="Base64 of a PKCS #12 file.")
    password = serializers.CharField(required=False, write_only=True, max_length=stored.SECRET_LIMIT)
    certificateThumbprint = serializers.CharField(read_only=True, help_text="SHA-1, in upper-case hexadecimal digits.")
    certificateSubjectName = serializers.CharField(read_only=True)
    certificateExpirationDate = serializers.DateTimeField(read_only=True)
    certificateExpiration = serializers.DateTimeField(read_only=True)


class OAuthAuthenticationSerializer(serializers.Serializer):
    type = serializers.ChoiceField(["ActiveDirectoryOAuth"])
    tenant = serializers.CharField(max_length=stored.SHORT_LIMIT)
    audience = serializers.CharField(required=False, max_length=requests.URI_LIMIT)
    clientId = serializers.CharField(max_length=stored.SHORT_LIMIT)
    authority = serializers.CharField(
        required=False,
        max_length=requests.URI_LIMIT,
        help_text="An addition of ours: the https address of who issues the tokens.  Without one: the installation's.",
    )
    secret = serializers.CharField(required=False, write_only=True, max_length=stored.SECRET_LIMIT)


@extend_schema_field(
    PolymorphicProxySerializer(
        "HttpAuthentication",
        {
            "Basic": BasicAuthenticationSerializer,
            "ClientCertificate": ClientCertificateAuthenticationSerializer,
            "ActiveDirectoryOAuth": OAuthAuthenticationSerializer,
        },
        resource_type_field_name="type",
    )
)
class HttpAuthenticationField(serializers.JSONField):
    """One of three kinds, told apart by `type`."""


@extend_schema_field(
    {
        "oneOf": [
            {"type": "integer", "minimum": 100, "maximum": 599},
            {"type": "string", "pattern": "^[1-5][0-9]{2}-[1-5][0-9]{2}$"},
        ]
    }
)
class StatusCodeField(serializers.Field):
    """A number, or a range as a text."""


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string", "maxLength": success.TEXT_LIMIT},
            {"type": "number", "minimum": -(2**63), "maximum": 2**63 - 1},
            {"type": "boolean"},
        ]
    }
)
class ScalarField(serializers.Field):
    """A text, a number, true or false."""


class SuccessSerializer(serializers.Serializer):
    """Which answers count as success; all that is given must hold.  An addition of ours."""

    statusCodes = serializers.ListField(
        child=StatusCodeField(),
        required=False,
        max_length=success.CODES_LIMIT,
        help_text="Numbers and ranges such as `200-299`.  Without them: 2xx.",
    )
    bodyContains = serializers.CharField(required=False, max_length=success.TEXT_LIMIT)
    bodyPath = serializers.CharField(
        required=False,
        max_length=success.PATH_LIMIT,
        help_text="A path of names and indexes into a JSON body, such as `$.items[0].state` (RFC 9535): it must lead"
        " somewhere.",
    )
    bodyValue = ScalarField(required=False, help_text="What must stand at `bodyPath`.")


class HttpRequestSerializer(serializers.Serializer):
    uri = serializers.CharField(max_length=requests.URI_LIMIT, help_text="http or https, without user information.")
    method = serializers.ChoiceField(requests.METHODS)
    headers = serializers.DictField(child=serializers.CharField(allow_blank=True), required=False)
    body = serializers.CharField(required=False, allow_blank=True, max_length=requests.BODY_LIMIT)
    authentication = HttpAuthenticationField(required=False, allow_null=True)
    followRedirects = serializers.BooleanField(
        required=False,
        default=False,
        help_text="An addition of ours.  Each hop is checked like the first; credentials stay with their host.",
    )
    certificateAuthority = serializers.CharField(
        required=False,
        max_length=requests.AUTHORITY_LIMIT,
        help_text="An addition of ours: certificates (PEM) that the target's may come from besides the usual ones.",
    )
    success = SuccessSerializer(required=False)


class StorageQueueMessageSerializer(serializers.Serializer):
    storageAccount = serializers.CharField(max_length=24)
    queueName = serializers.CharField(max_length=63)
    sasToken = serializers.CharField(required=False, write_only=True, max_length=stored.SECRET_LIMIT)
    message = serializers.CharField(max_length=stored.MESSAGE_LIMIT)
    messageFormat = serializers.ChoiceField(
        storage_queue.FORMATS,
        required=False,
        default="Text",
        help_text="An addition of ours.  `Xml` wraps the message as the original service did.",
    )
    messageEncoding = serializers.ChoiceField(
        storage_queue.ENCODINGS,
        required=False,
        default="None",
        help_text="An addition of ours: what the queue's readers expect.",
    )


class ServiceBusAuthenticationSerializer(serializers.Serializer):
    type = serializers.ChoiceField(["SharedAccessKey"])
    sasKeyName = serializers.CharField(required=False, max_length=stored.SHORT_LIMIT)
    sasKey = serializers.CharField(required=False, write_only=True, max_length=stored.SECRET_LIMIT)


class BrokeredMessagePropertiesSerializer(serializers.Serializer):
    forcePersistence = serializers.BooleanField(required=False)
    scheduledEnqueueTimeUtc = serializers.DateTimeField(required=False)
    timeToLive = serializers.CharField(required=False, help_text="A duration, as `PT30S` or `00:00:30`.")

    def get_fields(self) -> dict[str, serializers.Field]:
        texts = {
            name: serializers.CharField(required=False, max_length=stored.SHORT_LIMIT)
            for name in service_bus.BROKERED_TEXTS
        }
        return {**texts, **super().get_fields()}


class ServiceBusMessageSerializer(serializers.Serializer):
    namespace = serializers.CharField(max_length=253)
    transportType = serializers.ChoiceField(service_bus.TRANSPORT_TYPES, required=False)
    message = serializers.CharField(required=False, max_length=stored.MESSAGE_LIMIT)
    authentication = ServiceBusAuthenticationSerializer(required=False, allow_null=True)
    brokeredMessageProperties = BrokeredMessagePropertiesSerializer(required=False)
    customMessageProperties = serializers.DictField(child=serializers.CharField(), required=False)


class ServiceBusQueueMessageSerializer(ServiceBusMessageSerializer):
    queueName = serializers.CharField(max_length=260)


class ServiceBusTopicMessageSerializer(ServiceBusMessageSerializer):
    topicPath = serializers.CharField(max_length=260)


class TaskSerializer(serializers.Serializer):
    """A callable of the installation.  An addition of ours."""

    name = serializers.ChoiceField(registry.names(), help_text="Those that this installation has registered.")
    arguments = serializers.DictField(
        required=False, help_text=f"What it is called with: at most {task.ARGUMENTS_LIMIT} characters of JSON."
    )


class ErrorActionSerializer(serializers.Serializer):
    """What runs after the last attempt has failed; without a retry policy of its own it has the main action's."""

    type = serializers.ChoiceField(documents.ACTION_TYPES)
    request = HttpRequestSerializer(required=False, help_text="With type Http or Https.")
    queueMessage = StorageQueueMessageSerializer(required=False, help_text="With type StorageQueue.")
    serviceBusQueueMessage = ServiceBusQueueMessageSerializer(required=False, help_text="With type ServiceBusQueue.")
    serviceBusTopicMessage = ServiceBusTopicMessageSerializer(required=False, help_text="With type ServiceBusTopic.")
    task = TaskSerializer(required=False, help_text="With type Task.")
    retryPolicy = RetryPolicySerializer(required=False)
    template = serializers.BooleanField(
        required=False,
        default=False,
        help_text="An addition of ours: fill in the placeholders "
        + ", ".join(f"`{{{{ {name} }}}}`" for name in templates.NAMES)
        + ' in uri (behind the host), headers, body and message.  `{{ "{{" }}` stands for two opening braces.',
    )
    follow = serializers.BooleanField(
        required=False,
        default=False,
        help_text="An addition of ours, with type Http or Https: a 202, or the answer to a PUT or PATCH whose"
        " `provisioningState` has not ended, begins an operation, which is polled until it ends.  The attempt succeeds"
        " or fails with it.",
    )
    followLimit = serializers.CharField(
        required=False,
        help_text="With `follow`: for how long at most, 1 second to 24 hours, as `PT2H`.  Without one: an hour.",
    )


class ActionSerializer(ErrorActionSerializer):
    """What a run does: a type and the member that goes with it."""

    errorAction = ErrorActionSerializer(required=False, allow_null=True)


class MonthlyOccurrenceSerializer(serializers.Serializer):
    day = serializers.ChoiceField(azure.WEEKDAYS)
    Occurrence = serializers.IntegerField(
        required=False, min_value=-5, max_value=5, help_text="-1 is the last; without it every such day of the month."
    )


class ScheduleSerializer(serializers.Serializer):
    minutes = serializers.ListField(child=serializers.IntegerField(min_value=0, max_value=59), required=False)
    hours = serializers.ListField(child=serializers.IntegerField(min_value=0, max_value=23), required=False)
    weekDays = serializers.ListField(
        child=serializers.ChoiceField(azure.WEEKDAYS), required=False, help_text="With frequency Week."
    )
    monthDays = serializers.ListField(
        child=serializers.IntegerField(min_value=-31, max_value=31),
        required=False,
        help_text="With frequency Month; -1 is the last day.",
    )
    monthlyOccurrences = MonthlyOccurrenceSerializer(many=True, required=False, help_text="With frequency Month.")


class RecurrenceSerializer(serializers.Serializer):
    frequency = serializers.ChoiceField([frequency.value for frequency in azure.Frequency])
    interval = serializers.IntegerField(required=False, min_value=1, max_value=1000)
    count = serializers.IntegerField(required=False, min_value=1, max_value=azure.LARGEST_COUNT)
    endTime = serializers.DateTimeField(required=False)
    schedule = ScheduleSerializer(required=False)


@extend_schema_field(ActionSerializer)
class ActionField(serializers.Field):
    """An action's document, written as it comes and answered without its secrets."""

    def to_internal_value(self, data: object) -> object:
        return data

    def to_representation(self, value: Action) -> dict[str, Any]:
        return documents.render(value)


@extend_schema_field(RecurrenceSerializer)
class RecurrenceField(serializers.Field):
    """The `recurrence` of a stored definition, written as it comes and answered in its published spelling."""

    def to_internal_value(self, data: object) -> object:
        return data

    def to_representation(self, value: Mapping[str, Any]) -> object:
        return azure.render({"recurrence": value})["recurrence"]
