"""What a job does, as fields: every member of an action's document has one, and the choices say which of them count.

The form starts from the stored document and changes in it what was changed in the fields, so that nothing is lost on
the way, whatever put it there.  Secrets are written here and never shown.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any

from django import forms
from django.utils.text import capfirst

from jobs import registry
from jobs.actions import documents
from jobs.credentials import date_in_words
from jobs.descriptions import MESSAGES
from jobs.encryption import MASK
from jobs.models import Action
from jobs.notations import (
    CODE,
    FIELDS,
    JSON,
    ArgumentsField,
    HeadersField,
    JSONDocumentField,
    MomentField,
    NumbersField,
    PairsField,
    PFXField,
    ScalarField,
    SecretField,
    TextField,
    moment_of,
    nearest,
    survives,
)

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
TYPES = {
    "Http": "HTTP request",
    "Https": "HTTPS request",
    "StorageQueue": "Message to a storage queue",
    "ServiceBusQueue": "Message to a service bus queue",
    "ServiceBusTopic": "Message to a service bus topic",
    "Task": "Task of this installation",
}
AUTHENTICATIONS = {
    "": "None",
    "Basic": "User name and password",
    "ClientCertificate": "Client certificate",
    "ActiveDirectoryOAuth": "OAuth, client credentials",
}
RETRIES = {
    "": "4 times, 30 s apart",
    "None": "None",
    "Fixed": "Always the same time apart",
    "Exponential": "Each time twice as far apart",
}
TRANSPORTS = ("NotSpecified", "NetMessaging", "AMQP")

# Fields and the members that they write: those of every action, and those that go with a choice

COMMON = {
    "type": "type",
    "template": "template",
    "retry": "retryPolicy.retryType",
    "error_action": "errorAction",
}
RETRYING = {
    "retry_count": "retryPolicy.retryCount",
    "retry_interval": "retryPolicy.retryInterval",
    "retry_most": "retryPolicy.maximumRetryInterval",
}
REQUEST = {
    "method": "request.method",
    "uri": "request.uri",
    "headers": "request.headers",
    "body": "request.body",
    "follow_redirects": "request.followRedirects",
    "certificate_authority": "request.certificateAuthority",
    "status_codes": "request.success.statusCodes",
    "body_contains": "request.success.bodyContains",
    "body_path": "request.success.bodyPath",
    "body_value": "request.success.bodyValue",
    "authentication": "request.authentication.type",
}
FOLLOWING = {"follow": "follow", "follow_limit": "followLimit"}
AUTHENTICATION = {
    "Basic": {
        "username": "request.authentication.username",
        "password": "request.authentication.password",
    },
    "ClientCertificate": {
        "pfx": "request.authentication.pfx",
        "pfx_password": "request.authentication.password",
    },
    "ActiveDirectoryOAuth": {
        "tenant": "request.authentication.tenant",
        "client_id": "request.authentication.clientId",
        "client_secret": "request.authentication.secret",
        "audience": "request.authentication.audience",
        "authority": "request.authentication.authority",
    },
}
STORAGE_QUEUE = {
    "storage_account": "queueMessage.storageAccount",
    "storage_queue": "queueMessage.queueName",
    "sas_token": "queueMessage.sasToken",
    "queue_message": "queueMessage.message",
    "message_format": "queueMessage.messageFormat",
    "message_encoding": "queueMessage.messageEncoding",
}
# below serviceBusQueueMessage or serviceBusTopicMessage
BUS = {
    "namespace": "namespace",
    "bus_message": "message",
    "transport": "transportType",
    "custom_properties": "customMessageProperties",
    "content_type": "brokeredMessageProperties.contentType",
    "time_to_live": "brokeredMessageProperties.timeToLive",
    "enqueue_at": "brokeredMessageProperties.scheduledEnqueueTimeUtc",
    "label": "brokeredMessageProperties.label",
    "message_id": "brokeredMessageProperties.messageId",
    "correlation_id": "brokeredMessageProperties.correlationId",
    "session_id": "brokeredMessageProperties.sessionId",
    "reply_to": "brokeredMessageProperties.replyTo",
    "reply_to_session_id": "brokeredMessageProperties.replyToSessionId",
    "to": "brokeredMessageProperties.to",
    "partition_key": "brokeredMessageProperties.partitionKey",
    "via_partition_key": "brokeredMessageProperties.viaPartitionKey",
    "force_persistence": "brokeredMessageProperties.forcePersistence",
    "bus_authentication": "authentication.type",
}
TASK = {"task_name": "task.name", "task_arguments": "task.arguments"}
BUS_KEY = {"sas_key_name": "authentication.sasKeyName", "sas_key": "authentication.sasKey"}
BUS_TARGETS = {
    "ServiceBusQueue": ("serviceBusQueueMessage", {"bus_queue": "queueName"}),
    "ServiceBusTopic": ("serviceBusTopicMessage", {"bus_topic": "topicPath"}),
}
HEADERS = "request.headers."
CHOICES = {"authentication": "request.authentication", "retry": "retryPolicy"}  # what a new choice begins afresh
DESCRIBED = ("certificateThumbprint", "certificateSubjectName", "certificateExpirationDate", "certificateExpiration")


def _choices(words_of: Mapping[str, str]) -> list[tuple[str, str]]:
    return list(words_of.items())


def _lines(rows: int, **attributes: Any) -> forms.Textarea:
    return forms.Textarea(attrs={**CODE, "rows": rows, **attributes})


def _code(**attributes: Any) -> forms.TextInput:
    return forms.TextInput(attrs={**CODE, **attributes})


class ErrorActionField(JSONDocumentField):
    """An address that is sent a POST, or an action as JSON."""

    widget = _lines(3)

    def write(self, value: Mapping) -> str:
        uri = (value.get("request") or {}).get("uri", "")
        return uri if value == _post_to(uri) else super().write(value)

    def read(self, text: str) -> dict[str, Any]:
        return _post_to(text) if text and not text.startswith("{") else super().read(text)


class ActionForm(forms.Form):
    """The fields of an action.  `action` is the stored one to begin with, None for a new one."""

    fields: dict[str, Any]  # each of its own class
    stored: Action | None = None

    type = forms.ChoiceField(label="Type", required=False, choices=_choices(TYPES), initial="Http")
    template = forms.BooleanField(
        label="Fill in placeholders",
        required=False,
        help_text="{{ fire_time }}, {{ attempt }}, {{ run_id }}, {{ job.name }} and {{ collection.name }} in address,"
        " headers, body and message.",
    )

    method = forms.ChoiceField(
        label="Method", required=False, choices=[(name, name) for name in METHODS], initial="POST"
    )
    uri = TextField(label="Address", required=False, widget=_code())
    headers = HeadersField(label="Headers", required=False, help_text="One a line, Name: value.")
    body = TextField(label="Body", required=False, strip=False, widget=_lines(4))
    follow_redirects = forms.BooleanField(
        label="Follow redirects",
        required=False,
        help_text="Up to five. Each address is checked; credentials stay with the first host.",
    )
    certificate_authority = TextField(
        label="Certificate authority",
        required=False,
        widget=_lines(3, placeholder="-----BEGIN CERTIFICATE-----"),
        help_text="PEM. Trusted besides the usual ones, for a target with a certificate of its own making.",
    )
    status_codes = NumbersField(
        label="Status codes", required=False, help_text="Such as 200, 202, 300-399. 2xx if empty."
    )
    body_contains = TextField(
        label="Text in the body", required=False, strip=False, help_text="It must be there, letter by letter."
    )
    body_path = TextField(
        label="JSON path", required=False, widget=_code(), help_text="Such as $.state or $.items[0].id."
    )
    body_value = ScalarField(
        label="Value at that path", required=False, widget=_code(), help_text='Such as done, 3 or true; "3" is a text.'
    )

    follow = forms.BooleanField(
        label="Follow what it begins",
        required=False,
        help_text="An answer of 202 is no success yet: its operation is polled until it succeeds or fails.",
    )
    follow_limit = TextField(
        label="For at most", required=False, help_text="Such as PT2H or 02:00:00; up to a day, an hour if empty."
    )

    authentication = forms.ChoiceField(label="Authentication", required=False, choices=_choices(AUTHENTICATIONS))
    username = TextField(label="User name", required=False)
    password = SecretField(label="Password")
    pfx_file = PFXField(label="PFX file", required=False, help_text="A certificate with its private key.")
    pfx = SecretField(label="Or the file as text", widget=forms.PasswordInput(attrs={**CODE, "autocomplete": "off"}))
    pfx_password = SecretField(label="Password of the file")
    tenant = TextField(label="Tenant", required=False, help_text="A domain name or a GUID.")
    client_id = TextField(label="Client id", required=False)
    client_secret = SecretField(label="Client secret")
    audience = TextField(label="Audience", required=False, help_text="The usual one if empty.")
    authority = TextField(
        label="Authority", required=False, help_text="The https address that issues tokens; this server's own if empty."
    )

    storage_account = TextField(label="Storage account", required=False)
    storage_queue = TextField(label="Queue", required=False)
    sas_token = SecretField(label="SAS token")
    queue_message = TextField(label="Message", required=False, strip=False, widget=_lines(4))
    message_format = forms.ChoiceField(
        label="Format",
        required=False,
        choices=[("Text", "The message alone"), ("Xml", "In the XML of the original service")],
        initial="Text",
    )
    message_encoding = forms.ChoiceField(
        label="Encoding", required=False, choices=[("None", "As it is"), ("Base64", "Base64")], initial="None"
    )

    namespace = TextField(label="Namespace", required=False, help_text="Its name or its whole host name.")
    bus_queue = TextField(label="Queue", required=False)
    bus_topic = TextField(label="Topic", required=False)
    bus_authentication = forms.ChoiceField(
        label="Authentication",
        required=False,
        choices=[("SharedAccessKey", "Shared access key"), ("", "None")],
        initial="SharedAccessKey",
    )
    sas_key_name = TextField(label="Key name", required=False)
    sas_key = SecretField(label="Key")
    bus_message = TextField(label="Message", required=False, strip=False, widget=_lines(4))
    content_type = TextField(label="Content type", required=False)
    time_to_live = TextField(label="Time to live", required=False, help_text="Such as PT1H or 01:00:00.")
    enqueue_at = MomentField(
        label="Enqueue at, in UTC", required=False, help_text="The queue keeps it back until then."
    )
    custom_properties = PairsField(label="Custom properties", required=False, help_text="One a line, Name: value.")
    label = TextField(label="Label", required=False)
    message_id = TextField(label="Message id", required=False)
    correlation_id = TextField(label="Correlation id", required=False)
    session_id = TextField(label="Session id", required=False)
    to = TextField(label="To", required=False)
    reply_to = TextField(label="Reply to", required=False)
    reply_to_session_id = TextField(label="Reply to session id", required=False)
    partition_key = TextField(label="Partition key", required=False)
    via_partition_key = TextField(label="Via partition key", required=False)
    force_persistence = forms.TypedChoiceField(
        label="Force persistence",
        required=False,
        choices=[("", "Not said"), ("true", "Yes"), ("false", "No")],
        coerce=lambda text: text == "true",
        empty_value=None,
    )
    transport = forms.ChoiceField(
        label="Transport",
        required=False,
        choices=[("", "Not said"), *((name, name) for name in TRANSPORTS)],
        help_text="Kept for clients of the original; messages go over https.",
    )

    retry = forms.ChoiceField(label="Retries", required=False, choices=_choices(RETRIES))
    retry_count = NumbersField(label="How many", required=False, help_text="Up to 20; 4 if empty.")
    retry_interval = TextField(
        label="How far apart", required=False, help_text="Such as PT30S or 00:00:30; 15 s or more, 30 s if empty."
    )
    retry_most = TextField(
        label="At most",
        required=False,
        help_text="The longest wait, also of one that the target asks for. A day if empty.",
    )
    error_action = ErrorActionField(
        label="When every attempt failed",
        required=False,
        help_text="An address, which is sent a POST, or an action as JSON; a secret that is left out is kept.",
    )

    task_name = forms.ChoiceField(
        label="Task", required=False, choices=lambda: [(name, name) for name in registry.names()]
    )
    task_arguments = ArgumentsField(label="Arguments, as JSON", required=False, help_text="None if empty.")

    what = forms.ChoiceField(choices=[(FIELDS, FIELDS), (JSON, JSON)], initial=FIELDS, widget=forms.HiddenInput)
    action_json = JSONDocumentField(
        label="Action as JSON",
        required=False,
        help_text="Secrets are never shown; one that is left out here is kept.",
    )

    def clean(self) -> None:
        """Errors of fields that do not count are nobody's."""
        super().clean()
        counting = self.counting_fields()
        for name in set(WHAT_FIELDS) - counting:
            self.errors.pop(name, None)
        if "retry_count" in counting and len(self.cleaned_data.get("retry_count") or []) > 1:
            self.add_error("retry_count", "Write one number")
        if "pfx" in counting and self.cleaned_data.get("pfx_file"):
            if self.cleaned_data.get("pfx"):
                self.add_error("pfx", "There is a file as well: take one of the two")
            self.cleaned_data["pfx"] = self.cleaned_data["pfx_file"]

    def counting_fields(self) -> set[str]:
        """The fields that go with the way of writing and with the chosen type, authentication and retries."""
        if self["what"].value() == JSON:
            return {"action_json"}
        names = set(self._places())
        return names | {"pfx_file"} if "pfx" in names else names

    def action(self) -> dict[str, Any]:
        """The action that the form describes: the stored one, with what was changed in the fields."""
        if self.cleaned_data["what"] == JSON:
            return self.cleaned_data["action_json"]
        stored = self._stored_document()
        return changed_action(stored if fields_do(stored) else {}, self.cleaned_data, set(self.changed_data))

    def place_in_action(self, path: str) -> tuple[str | None, str]:
        """The field that writes the member `path`, or one that holds it, and the path from there on."""
        name, rest = nearest({place: name for name, place in self._places().items()}, path.removeprefix("action."))
        return ("pfx_file" if name == "pfx" and not self["pfx"].data else name), rest

    @property
    def rewritten(self) -> list[str]:
        """The labels of fields whose secrets were written and do not come back to the page."""
        return [
            str(self[name].label)
            for name in self.fields
            if name in self.counting_fields() and self[name].data and _hides(self[name])
        ]

    @property
    def opened(self) -> set[str]:
        """Which of the parts that usually stay closed have something to show."""
        return {part for part, names in PARTS.items() if any(self[name].value() or self[name].errors for name in names)}

    @property
    def stored_authentication(self) -> Mapping[str, Any]:
        return lookup(self._stored_document(), "request.authentication") or {}

    def _places(self) -> dict[str, str]:
        return places_of({name: self[name].value() for name in CHOOSING})

    def _stored_document(self) -> dict[str, Any]:
        return documents.render(self.stored) if self.stored else {}

    def say_what_is_set(self, now: datetime) -> None:
        """Beside each secret that is stored, since when."""
        if not self.stored:
            return
        set_on = {
            place: f"set on {date_in_words(datetime.fromisoformat(text), now)}"
            for place, text in self.stored.secrets_set_at.items()
        }
        for name, place in places_of(action_fields(self._stored_document())).items():
            if name in SECRETS and (place in set_on or name in ALWAYS_SET):
                shown_at = "pfx_file" if name == "pfx" else name
                self.fields[shown_at].help_text = capfirst(f"{set_on.get(place, 'set')}. Empty keeps it.")
        headers = [
            f"{place.removeprefix(HEADERS)} {since}" for place, since in set_on.items() if place.startswith(HEADERS)
        ]
        if headers:
            self.fields["headers"].help_text += f" {MASK} keeps what is stored: {', '.join(headers)}."


def _hides(field: forms.BoundField) -> bool:
    shown = field.field.prepare_value(field.data)
    return isinstance(field.field, SecretField | PFXField) or (isinstance(field.data, str) and shown != field.data)


WHAT_FIELDS = tuple(name for name in ActionForm.base_fields if name != "what")
CHOOSING: dict[str, Collection[str]] = {
    "type": TYPES,
    "authentication": AUTHENTICATIONS,
    "bus_authentication": ("", "SharedAccessKey"),
    "retry": RETRIES,
}
PARTS = {
    "success": ("status_codes", "body_contains", "body_path", "body_value"),
    "following": ("follow", "follow_limit"),
    "connection": ("follow_redirects", "certificate_authority"),
    "properties": (
        *("label", "message_id", "correlation_id", "session_id", "to", "reply_to", "reply_to_session_id"),
        *("partition_key", "via_partition_key", "force_persistence", "transport"),
    ),
}
# what an action of their kind cannot be stored without
ALWAYS_SET = {"password", "pfx", "client_secret", "sas_token", "sas_key"}


def places_of(values: Mapping[str, Any]) -> dict[str, str]:
    """The fields that count where these are chosen, with the members that they write."""
    places = dict(COMMON)
    if values.get("retry") in ("Fixed", "Exponential"):
        places |= RETRYING
    if (kind := values.get("type")) in BUS_TARGETS:
        message, target = BUS_TARGETS[kind]
        below = BUS | target | (BUS_KEY if values.get("bus_authentication") else {})
        return places | {name: f"{message}.{place}" for name, place in below.items()}
    if kind == "StorageQueue":
        return places | STORAGE_QUEUE
    if kind == "Task":
        return places | TASK
    return places | REQUEST | FOLLOWING | AUTHENTICATION.get(values.get("authentication") or "", {})


def action_fields(action: Mapping[str, Any]) -> dict[str, Any]:
    """What the fields show of an action, also of one that nobody has checked yet."""
    kind = _spelled(action.get("type", "Http"), TYPES)
    values = {name: ActionForm.base_fields[name].initial for name in WHAT_FIELDS if name != "action_json"}
    values["type"] = kind
    values["authentication"] = _spelled(lookup(action, "request.authentication.type") or "", AUTHENTICATIONS)
    values["retry"] = _spelled(
        lookup(action, "retryPolicy.retryType") or ("Fixed" if action.get("retryPolicy") else ""), RETRIES
    )
    if kind in BUS_TARGETS:
        key = lookup(action, f"{BUS_TARGETS[kind][0]}.authentication.type") or ""
        values["bus_authentication"] = _spelled(key, ("SharedAccessKey",))
    for name, place in places_of(values).items():
        member = lookup(action, place)
        if name not in CHOOSING and member is not None:
            values[name] = _shown(name, member)
    return values


def fields_do(action: Mapping[str, Any]) -> bool:
    """Whether the fields can show the action whole: each member has one, and comes out of it as it went in."""
    values = action_fields(action)
    if any(values[name] not in known for name, known in CHOOSING.items()):
        return False
    fields = {place: name for name, place in places_of(values).items()}
    for place in _leaves(action, fields):
        name = fields.get(place)
        if name is None and place.rpartition(".")[2] not in DESCRIBED:
            return False
        if name and name not in SECRETS and not _survives(name, values[name]):
            return False
    return True


def changed_action(document: dict[str, Any], values: Mapping[str, Any], changed: set[str]) -> dict[str, Any]:
    """`document`, changed in place: with the values of those fields, without what another choice has left behind."""
    before, places = places_of(action_fields(document)), places_of(values)
    for name in set(FOLLOWING) - set(places):
        document.pop(FOLLOWING[name], None)
    is_new = not document
    for name in changed & set(CHOICES):
        put(document, CHOICES[name], None)
        before = {field: place for field, place in before.items() if not place.startswith(CHOICES[name])}
    for message in MESSAGES:
        if not any(place.startswith(f"{message}.") for place in places.values()):
            document.pop(message, None)
    for name, place in places.items():
        if is_new or name in changed or before.get(name) != place:
            put(document, place, _sent(name, values.get(name)))
    return document


def lookup(document: object, place: str) -> Any:
    """The member at a path; None where there is none."""
    for name in place.split("."):
        if not isinstance(document, Mapping):
            return None
        document = document.get(name)
    return document


def put(document: dict[str, Any], place: str, value: object) -> None:
    """Write the member at a path.  None takes it away, and with it the objects that are empty then."""
    name, _, rest = place.partition(".")
    if rest and (value is not None or isinstance(document.get(name), dict)):
        inner = document.get(name)
        document[name] = inner if isinstance(inner, dict) else {}
        put(document[name], rest, value)
        if value is None and not document[name]:
            del document[name]
    elif not rest and value is None:
        document.pop(name, None)
    elif not rest:
        document[name] = value


def _shown(name: str, value: Any) -> Any:
    if name == "body_value":
        return None if value is None or isinstance(value, list | dict) else ScalarField.write(value)
    if name == "retry_count":
        return None if value is None else [value]
    if name == "force_persistence" and isinstance(value, bool):
        return str(value).lower()
    if name == "enqueue_at":
        return moment_of(value)
    if name == "method" and isinstance(value, str):
        return value.upper()
    return None if name in SECRETS else value


def _sent(name: str, value: Any) -> Any:
    if name == "retry_count":
        return value[0] if value else None
    if name == "enqueue_at":
        return f"{value:%Y-%m-%dT%H:%M:%SZ}" if value else None
    if name in SWITCHES:
        return value or None
    return None if value in ("", [], {}) else value


SECRETS = {name for name, field in ActionForm.base_fields.items() if isinstance(field, SecretField)}
SWITCHES = {name for name, field in ActionForm.base_fields.items() if isinstance(field, forms.BooleanField)}


def _survives(name: str, value: Any) -> bool:
    return value is not None and survives(ActionForm.base_fields[name], value)


def _leaves(value: Mapping[str, Any], known: Mapping[str, str], path: str = "") -> Iterator[str]:
    """The paths of members that hold something, none deeper than the known ones."""
    for name, member in value.items():
        place = f"{path}.{name}" if path else name
        if isinstance(member, Mapping) and place not in known:
            yield from _leaves(member, known, place)
        elif member is not None:
            yield place


def _spelled(text: Any, known: Mapping[str, str] | tuple[str, ...]) -> Any:
    """The text as it is spelled among the known ones, which the wire takes in any case."""
    return next((name for name in known if name.lower() == str(text).lower()), text)


def _post_to(uri: str) -> dict[str, Any]:
    secure = uri.lower().startswith("https:")
    return {"type": "Https" if secure else "Http", "request": {"method": "POST", "uri": uri}}
