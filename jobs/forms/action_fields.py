"""The form fields of an action, one for each member that its document may have."""

from collections.abc import Mapping
from typing import Any

from django import forms

from jobs import registry
from jobs.forms.action_members import AUTHENTICATIONS, METHODS, RETRIES, TRANSPORTS, TYPES
from jobs.forms.fields import (
    CODE,
    FIELDS,
    JSON,
    AddressField,
    ArgumentsField,
    HeadersField,
    JSONDocumentField,
    MomentField,
    NamesField,
    NumbersField,
    PairsField,
    PFXField,
    ScalarField,
    SecretField,
    TextField,
)


def _choices(labels: Mapping[str, str]) -> list[tuple[str, str]]:
    return list(labels.items())


def _lines(rows: int, **attributes: Any) -> forms.Textarea:
    return forms.Textarea(attrs={**CODE, "rows": rows, **attributes})


def _code(**attributes: Any) -> forms.TextInput:
    return forms.TextInput(attrs={**CODE, **attributes})


class ErrorActionField(JSONDocumentField):
    """An error action: an address, to which a POST is sent, or an action as JSON."""

    widget = _lines(3)

    def write(self, value: Mapping) -> str:
        uri = (value.get("request") or {}).get("uri", "")
        return uri if value == _post_action(uri) else super().write(value)

    def read(self, text: str) -> dict[str, Any]:
        return _post_action(text) if text and not text.startswith("{") else super().read(text)


def _post_action(uri: str) -> dict[str, Any]:
    is_secure = uri.lower().startswith("https:")
    return {"type": "Https" if is_secure else "Http", "request": {"method": "POST", "uri": uri}}


class ActionFields(forms.Form):
    """The fields of an action. None is required here; `action_members.visible_fields` decides which of them count."""

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
    uri = AddressField(label="Address", required=False, widget=_code())
    headers = HeadersField(label="Headers", required=False, help_text="One a line, Name: value.")
    secret_headers = NamesField(
        label="Secret header names",
        required=False,
        widget=_code(),
        help_text="Separated by commas. Their values are encrypted and never shown again. Values of"
        " tokens, passwords, keys and cookies always are.",
    )
    secret_query = NamesField(
        label="Secret parameter names",
        required=False,
        widget=_code(),
        help_text="Of the address, separated by commas: user for ?user=ada.",
    )
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


WHAT_FIELDS = tuple(name for name in ActionFields.base_fields if name != "what")
MARKS = {"secret_headers": "headers", "secret_query": "uri"}  # fields that name secrets, and the fields with the values
SECRETS = {name for name, field in ActionFields.base_fields.items() if isinstance(field, SecretField)}
SWITCHES = {name for name, field in ActionFields.base_fields.items() if isinstance(field, forms.BooleanField)}
