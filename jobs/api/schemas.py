"""The wire document of a job: the fields `action` and `recurrence`, and serializers that describe them for OpenAPI.

The two fields only pass the document on: `triggers.scheduling` receives it whole and gives it to
`jobs.actions.documents` and `recurrence.wire`, which check it.  The serializers here check no value.  They provide the
OpenAPI description and the names of the known members.
"""

from collections.abc import Mapping
from typing import Any, TypeVar

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema_field, extend_schema_serializer
from rest_framework import serializers

from accounts.examples import with_example
from api.fields import SharedField
from jobs import registry
from jobs.actions import (
    authentication,
    documents,
    previous,
    requests,
    service_bus,
    storage_queue,
    success,
    task,
    templates,
)
from jobs.errors import JobError
from jobs.models import Action
from recurrence.wire import WireError, azure, unknown_members

T = TypeVar("T")


@with_example({"retryType": "Exponential", "retryInterval": "PT30S", "retryCount": 6, "maximumRetryInterval": "PT1H"})
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


@with_example({"type": "Basic", "username": "quando", "password": "..."})
class BasicAuthenticationSerializer(serializers.Serializer):
    """Answers never contain secrets.

    A secret that is left out or sent as `********` keeps its stored value, as long as user and host stay the same.
    """

    type = serializers.ChoiceField(["Basic"], help_text="The kind of authentication.")
    username = serializers.CharField(max_length=previous.SHORT_LIMIT, help_text="The user name.")
    password = serializers.CharField(
        required=False, write_only=True, max_length=previous.SECRET_LIMIT, help_text="The password."
    )


@with_example(
    {
        "type": "ClientCertificate",
        "pfx": "...",
        "password": "...",
        "certificateThumbprint": "2AAE6C35C94FCFB415DBE95F408B9CE91EE846ED",
        "certificateSubjectName": "CN=quando",
        "certificateExpirationDate": "2030-01-01T00:00:00Z",
        "certificateExpiration": "2030-01-01T00:00:00Z",
    }
)
class ClientCertificateAuthenticationSerializer(serializers.Serializer):
    type = serializers.ChoiceField(["ClientCertificate"], help_text="The kind of authentication.")
    pfx = serializers.CharField(required=False, write_only=True, help_text="Base64 of a PKCS #12 file.")
    password = serializers.CharField(
        required=False, write_only=True, max_length=previous.SECRET_LIMIT, help_text="The password of the file."
    )
    certificateThumbprint = serializers.CharField(read_only=True, help_text="SHA-1, in upper-case hexadecimal digits.")
    certificateSubjectName = serializers.CharField(read_only=True, help_text="The subject of the certificate.")
    certificateExpirationDate = serializers.DateTimeField(read_only=True, help_text="When the certificate expires.")
    certificateExpiration = serializers.DateTimeField(read_only=True, help_text="The same, by its other name.")


@with_example(
    {
        "type": "ActiveDirectoryOAuth",
        "tenant": "example.onmicrosoft.com",
        "audience": "https://machines.example.com/",
        "clientId": "11111111-2222-3333-4444-555555555555",
        "authority": "https://login.example.com",
        "secret": "...",
    }
)
class OAuthAuthenticationSerializer(serializers.Serializer):
    type = serializers.ChoiceField(["ActiveDirectoryOAuth"], help_text="The kind of authentication.")
    tenant = serializers.CharField(max_length=previous.SHORT_LIMIT, help_text="The tenant that issues the token.")
    audience = serializers.CharField(required=False, max_length=requests.URI_LIMIT, help_text="What the token is for.")
    clientId = serializers.CharField(max_length=previous.SHORT_LIMIT, help_text="The id of the client.")
    authority = serializers.CharField(
        required=False,
        max_length=requests.URI_LIMIT,
        help_text="An addition of ours: the https address of who issues the tokens.  Without one: the installation's.",
    )
    secret = serializers.CharField(
        required=False, write_only=True, max_length=previous.SECRET_LIMIT, help_text="The secret of the client."
    )


AUTHENTICATIONS = {
    "Basic": BasicAuthenticationSerializer,
    "ClientCertificate": ClientCertificateAuthenticationSerializer,
    "ActiveDirectoryOAuth": OAuthAuthenticationSerializer,
}


class NoAuthentication(serializers.Serializer):
    type = serializers.CharField()


@extend_schema_field(PolymorphicProxySerializer("HttpAuthentication", AUTHENTICATIONS, resource_type_field_name="type"))
class HttpAuthenticationField(serializers.JSONField):
    """One of three kinds of authentication; `type` names the kind."""


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
            {"type": "string", "maxLength": success.TEXT_LIMIT},
            {"type": "number", "minimum": -(2**63), "maximum": 2**63 - 1},
            {"type": "boolean"},
        ]
    }
)
class ScalarField(serializers.Field):
    """A text, a number, true or false."""


@with_example({"statusCodes": ["200-299", 304], "bodyContains": "warm", "bodyPath": "$.state", "bodyValue": "warm"})
class SuccessSerializer(serializers.Serializer):
    """Which answers count as success: all conditions that are given must hold.  An addition of ours."""

    statusCodes = serializers.ListField(
        child=StatusCodeField(),
        required=False,
        max_length=success.CODES_LIMIT,
        help_text="Numbers and ranges such as `200-299`.  Without them: 2xx.",
    )
    bodyContains = serializers.CharField(
        required=False, max_length=success.TEXT_LIMIT, help_text="A text that stands somewhere in the body."
    )
    bodyPath = serializers.CharField(
        required=False,
        max_length=success.PATH_LIMIT,
        help_text="A path of names and indexes into a JSON body, such as `$.items[0].state` (RFC 9535): it must lead"
        " somewhere.",
    )
    bodyValue = ScalarField(required=False, help_text="What must stand at `bodyPath`.")


@with_example(
    {
        "uri": "https://shop.example.com/orders/collect",
        "secretQuery": ["site"],
        "method": "POST",
        "headers": {"Content-Type": "application/json"},
        "secretHeaders": ["X-Shop"],
        "body": '{"collect": true}',
        "followRedirects": True,
        "certificateAuthority": "-----BEGIN CERTIFICATE-----\n...\n-----END CERTIFICATE-----\n",
    }
)
class HttpRequestSerializer(serializers.Serializer):
    uri = serializers.CharField(
        max_length=requests.URI_LIMIT,
        help_text="http or https, without user information.  Keys in its query are answered as `********`, which keeps"
        " them when it is sent back.",
    )
    secretQuery = serializers.ListField(
        child=serializers.CharField(max_length=256),
        required=False,
        max_length=requests.MARKS_LIMIT,
        help_text="An addition of ours: names of query parameters of `uri` whose values are secrets, in addition to"
        " those whose names say so.  Left out, stored names stay.",
    )
    method = serializers.ChoiceField(requests.METHODS, help_text="The HTTP method.")
    headers = serializers.DictField(
        child=serializers.CharField(allow_blank=True),
        required=False,
        help_text="Headers and their values.  Those that are secrets are answered as `********`, which keeps them.",
    )
    secretHeaders = serializers.ListField(
        child=serializers.CharField(max_length=256),
        required=False,
        max_length=requests.MARKS_LIMIT,
        help_text="An addition of ours: names of headers whose values are secrets, in addition to those whose names"
        " say so.  Left out, stored names stay.",
    )
    body = serializers.CharField(
        required=False, allow_blank=True, max_length=requests.BODY_LIMIT, help_text="The body, sent in UTF-8."
    )
    authentication = HttpAuthenticationField(
        required=False, allow_null=True, help_text="With what the request proves who sends it; null: with nothing."
    )
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
    success = SuccessSerializer(
        required=False, help_text="Which answers count as success.  An addition of ours; without it: those with 2xx."
    )


@with_example(
    {
        "storageAccount": "exampleaccount",
        "queueName": "orders",
        "sasToken": "...",
        "message": "collect",
        "messageFormat": "Text",
        "messageEncoding": "Base64",
    }
)
class StorageQueueMessageSerializer(serializers.Serializer):
    storageAccount = serializers.CharField(max_length=24, help_text="The name of the storage account.")
    queueName = serializers.CharField(max_length=63, help_text="The name of the queue.")
    sasToken = serializers.CharField(
        required=False,
        write_only=True,
        max_length=previous.SECRET_LIMIT,
        help_text="The shared access signature with which the message is put.",
    )
    message = serializers.CharField(max_length=previous.MESSAGE_LIMIT, help_text="The text of the message.")
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


@with_example({"type": "SharedAccessKey", "sasKeyName": "send", "sasKey": "..."})
class ServiceBusAuthenticationSerializer(serializers.Serializer):
    type = serializers.ChoiceField(["SharedAccessKey"], help_text="The kind of authentication.")
    sasKeyName = serializers.CharField(
        required=False, max_length=previous.SHORT_LIMIT, help_text="The name of the key."
    )
    sasKey = serializers.CharField(
        required=False, write_only=True, max_length=previous.SECRET_LIMIT, help_text="The key."
    )


@with_example(
    {
        "contentType": "text/plain",
        "correlationId": "order-7",
        "label": "alarm",
        "messageId": "alarm-7",
        "partitionKey": "orders",
        "replyTo": "answers",
        "replyToSessionId": "answers-7",
        "sessionId": "orders",
        "to": "shop",
        "viaPartitionKey": "orders",
        "forcePersistence": True,
        "scheduledEnqueueTimeUtc": "2030-01-05T08:00:00Z",
        "timeToLive": "PT1H",
    }
)
class BrokeredMessagePropertiesSerializer(serializers.Serializer):
    forcePersistence = serializers.BooleanField(
        required=False, help_text="Whether the message is stored before it is accepted."
    )
    scheduledEnqueueTimeUtc = serializers.DateTimeField(
        required=False, help_text="When the message appears in the queue."
    )
    timeToLive = serializers.CharField(required=False, help_text="A duration, as `PT30S` or `00:00:30`.")

    def get_fields(self) -> dict[str, serializers.Field]:
        texts = {
            name: serializers.CharField(
                required=False,
                max_length=previous.SHORT_LIMIT,
                help_text=f"`{name}` of the message, as Service Bus has it.",
            )
            for name in service_bus.BROKERED_TEXTS
        }
        return {**texts, **super().get_fields()}


@with_example(
    {
        "namespace": "example",
        "transportType": "AMQP",
        "message": "orders were not collected",
        "customMessageProperties": {"severity": "high"},
    }
)
class ServiceBusMessageSerializer(serializers.Serializer):
    namespace = serializers.CharField(max_length=253, help_text="The name of the namespace.")
    transportType = serializers.ChoiceField(
        service_bus.TRANSPORT_TYPES, required=False, help_text="The protocol; messages are always sent over HTTPS."
    )
    message = serializers.CharField(
        required=False, max_length=previous.MESSAGE_LIMIT, help_text="The text of the message."
    )
    authentication = ServiceBusAuthenticationSerializer(
        required=False, allow_null=True, help_text="With what the message is sent; null: with nothing."
    )
    brokeredMessageProperties = BrokeredMessagePropertiesSerializer(
        required=False, help_text="Properties of Service Bus."
    )
    customMessageProperties = serializers.DictField(
        child=serializers.CharField(), required=False, help_text="Properties of the caller's."
    )


@with_example({"queueName": "orders"})
class ServiceBusQueueMessageSerializer(ServiceBusMessageSerializer):
    queueName = serializers.CharField(max_length=260, help_text="The name of the queue.")


@with_example({"topicPath": "alarms"})
class ServiceBusTopicMessageSerializer(ServiceBusMessageSerializer):
    topicPath = serializers.CharField(max_length=260, help_text="The path of the topic.")


TASK_NAMES = registry.names()  # all apps have registered theirs when the URLs are read


@with_example({"name": "MINT.EMAIL_NOTIFICATION", "arguments": {"kind": "weekly"}})
class TaskSerializer(serializers.Serializer):
    """A callable of the installation.  An addition of ours."""

    name = serializers.ChoiceField(TASK_NAMES, help_text="Those that this installation has registered.")
    arguments = serializers.DictField(
        required=False, help_text=f"What it is called with: at most {task.ARGUMENTS_LIMIT} characters of JSON."
    )


class RetriedSerializer(serializers.Serializer):
    retryPolicy = RetryPolicySerializer(required=False, help_text="When a failed attempt is made again.")


@with_example({"template": True})
class TemplateSerializer(RetriedSerializer):
    template = serializers.BooleanField(
        required=False,
        default=False,
        help_text="An addition of ours: fill in the placeholders "
        + ", ".join(f"`{{{{ {name} }}}}`" for name in templates.NAMES)
        + ' in uri (behind the host), headers, body and message.  `{{ "{{" }}` stands for two opening braces.',
    )


@with_example({"type": "Https", "follow": True, "followLimit": "PT2H"})
class HttpErrorActionSerializer(TemplateSerializer):
    """Sends an HTTP request."""

    type = serializers.ChoiceField(documents.FOLLOWING, help_text="The kind of action.")
    request = HttpRequestSerializer(help_text="The request that is sent.")
    follow = serializers.BooleanField(
        required=False,
        default=False,
        help_text="An addition of ours: a 202, or the answer to a PUT or PATCH whose"
        " `provisioningState` has not ended, begins an operation, which is polled until it ends.  The attempt succeeds"
        " or fails with it.",
    )
    followLimit = serializers.CharField(
        required=False,
        help_text="With `follow`: for how long at most, 1 second to 24 hours, as `PT2H`.  Without one: an hour.",
    )


@with_example({"type": "StorageQueue"})
class StorageQueueErrorActionSerializer(TemplateSerializer):
    """Puts a message into an Azure Storage queue."""

    type = serializers.ChoiceField(["StorageQueue"], help_text="The kind of action.")
    queueMessage = StorageQueueMessageSerializer(help_text="The message, and the queue that it is put into.")


@with_example({"type": "ServiceBusQueue"})
class ServiceBusQueueErrorActionSerializer(TemplateSerializer):
    """Sends a message to a Service Bus queue."""

    type = serializers.ChoiceField(["ServiceBusQueue"], help_text="The kind of action.")
    serviceBusQueueMessage = ServiceBusQueueMessageSerializer(help_text="The message, and the queue that it goes to.")


@with_example({"type": "ServiceBusTopic"})
class ServiceBusTopicErrorActionSerializer(TemplateSerializer):
    """Sends a message to a Service Bus topic."""

    type = serializers.ChoiceField(["ServiceBusTopic"], help_text="The kind of action.")
    serviceBusTopicMessage = ServiceBusTopicMessageSerializer(help_text="The message, and the topic that it goes to.")


@with_example({"type": "Task"})
class TaskErrorActionSerializer(RetriedSerializer):
    """Calls a callable of the installation.  An addition of ours."""

    type = serializers.ChoiceField(["Task"], help_text="The kind of action.")
    task = TaskSerializer(help_text="What is called.")


ERROR_ACTIONS: dict[str, type[RetriedSerializer]] = {
    "Http": HttpErrorActionSerializer,
    "Https": HttpErrorActionSerializer,
    "StorageQueue": StorageQueueErrorActionSerializer,
    "ServiceBusQueue": ServiceBusQueueErrorActionSerializer,
    "ServiceBusTopic": ServiceBusTopicErrorActionSerializer,
    "Task": TaskErrorActionSerializer,
}


@extend_schema_field(PolymorphicProxySerializer("ErrorAction", ERROR_ACTIONS, resource_type_field_name="type"))
class ErrorActionField(serializers.JSONField):
    """The action that runs after the last attempt has failed.  `type` names its kind."""


@with_example(
    {
        "errorAction": {
            "type": "StorageQueue",
            "queueMessage": {
                "storageAccount": "exampleaccount",
                "queueName": "failed",
                "message": "orders were not collected",
            },
        }
    }
)
class ErrorActionMember(serializers.Serializer):
    errorAction = ErrorActionField(
        required=False,
        allow_null=True,
        help_text="Runs after the last attempt has failed; without a retry policy of its own it has the main action's.",
    )


class HttpActionSerializer(ErrorActionMember, HttpErrorActionSerializer):
    """Sends an HTTP request."""


class StorageQueueActionSerializer(ErrorActionMember, StorageQueueErrorActionSerializer):
    """Puts a message into an Azure Storage queue."""


class ServiceBusQueueActionSerializer(ErrorActionMember, ServiceBusQueueErrorActionSerializer):
    """Sends a message to a Service Bus queue."""


class ServiceBusTopicActionSerializer(ErrorActionMember, ServiceBusTopicErrorActionSerializer):
    """Sends a message to a Service Bus topic."""


class TaskActionSerializer(ErrorActionMember, TaskErrorActionSerializer):
    """Calls a callable of the installation.  An addition of ours."""


ACTIONS: dict[str, type[RetriedSerializer]] = {
    "Http": HttpActionSerializer,
    "Https": HttpActionSerializer,
    "StorageQueue": StorageQueueActionSerializer,
    "ServiceBusQueue": ServiceBusQueueActionSerializer,
    "ServiceBusTopic": ServiceBusTopicActionSerializer,
    "Task": TaskActionSerializer,
}


@with_example({"day": "Friday", "Occurrence": -1})
class MonthlyOccurrenceSerializer(serializers.Serializer):
    day = serializers.ChoiceField(azure.WEEKDAYS, help_text="The day of the week.")
    Occurrence = serializers.IntegerField(
        required=False, min_value=-5, max_value=5, help_text="-1 is the last; without it every such day of the month."
    )


@with_example({"minutes": [0, 30], "hours": [9], "weekDays": ["Monday", "Wednesday"], "monthDays": [1, -1]})
@extend_schema_serializer(component_name="RecurrenceSchedule")
class ScheduleSerializer(serializers.Serializer):
    minutes = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=59), required=False, help_text="Minutes of the hour."
    )
    hours = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=23), required=False, help_text="Hours of the day, in UTC."
    )
    weekDays = serializers.ListField(
        child=serializers.ChoiceField(azure.WEEKDAYS), required=False, help_text="With frequency Week."
    )
    monthDays = serializers.ListField(
        child=serializers.IntegerField(min_value=-31, max_value=31),
        required=False,
        help_text="With frequency Month; -1 is the last day.",
    )
    monthlyOccurrences = MonthlyOccurrenceSerializer(many=True, required=False, help_text="With frequency Month.")


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
        required=False, min_value=1, max_value=1000, help_text="Every so many units.  Without one: every single one."
    )
    count = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=azure.LARGEST_COUNT,
        help_text="How often it runs in all.  Without one: no limit.",
    )
    endTime = serializers.DateTimeField(
        required=False, help_text="When it ends; a run at this instant is the last one.  Without one: never."
    )
    schedule = ScheduleSerializer(required=False, help_text="At which times of its days, weeks or months it runs.")


def known_members(serializer: type[serializers.Serializer], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that an object in an action may have.

    The value of each is the members that it may have itself, or None if it has none or the caller chooses their names.
    """
    return {name: _known_below(field, document.get(name)) for name, field in serializer().fields.items()}


def known_members_of_kind(
    kinds: Mapping[str, type[serializers.Serializer]], document: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the members that an object of one of several kinds may have.

    If the type of the object is unknown, return the members of all kinds.
    """
    kind = of_type(kinds, document)
    known = [known_members(each, document) for each in ([kind] if kind else kinds.values())]
    return {name: members for each in known for name, members in each.items()}


def known_members_of_action(
    kinds: Mapping[str, type[RetriedSerializer]], document: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the members that an action or error action may have.

    They include the switches of other kinds: those may be present if they are off, and a patch that changes the type
    removes them.
    """
    return dict.fromkeys(("template", "follow", "followLimit")) | known_members_of_kind(kinds, document)


def of_type(kinds: Mapping[str, T], document: Mapping[str, Any]) -> T | None:
    """Return the entry of `kinds` for the type of an object, in any letter case; None if the type is unknown."""
    kind = str(document.get("type")).lower()
    return next((each for name, each in kinds.items() if name.lower() == kind), None)


def _known_below(field: serializers.Field, value: object) -> dict[str, Any] | None:
    document = value if isinstance(value, Mapping) else {}
    if isinstance(field, serializers.Serializer):
        return known_members(type(field), document)
    if isinstance(field, ErrorActionField):
        return known_members_of_action(ERROR_ACTIONS, document)
    if isinstance(field, HttpAuthenticationField):
        return known_members_of_kind(AUTHENTICATIONS | dict.fromkeys(authentication.NONE, NoAuthentication), document)
    return None


@extend_schema_field(PolymorphicProxySerializer("Action", ACTIONS, resource_type_field_name="type"))
class ActionField(SharedField):
    """An action's document.  It is passed on unchanged when written, and answered without its secrets."""

    refusals = (JobError,)

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
