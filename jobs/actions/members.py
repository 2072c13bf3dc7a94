"""The members of an action's document, each declared once.

The parsers of this package, the OpenAPI description (`jobs.api.schemas`) and the form (`jobs.forms`) are derived from
these declarations.  Rules across several members are in the modules of the kinds of actions.
"""

import re
from collections.abc import Sequence
from datetime import timedelta
from functools import cache

from jobs import registry
from jobs.actions import templates
from jobs.actions.headers import HEADER_NAME
from jobs.actions.member_types import (
    NO_AUTHENTICATION,
    PRINTABLE_TEXT,
    Address,
    Choice,
    Duration,
    ErrorAction,
    Flag,
    Headers,
    JsonValues,
    Member,
    Names,
    Number,
    Object,
    ObjectType,
    OneOf,
    Pattern,
    PfxFile,
    ReadOnly,
    Scalar,
    Secret,
    StatusCodes,
    TaskName,
    Text,
)
from jobs.actions.previous import NAME_OF_HOST
from jobs.actions.queue_members import BUS_QUEUE_MESSAGE, BUS_TOPIC_MESSAGE, QUEUE_MESSAGE

METHODS = ("GET", "PUT", "POST", "DELETE", "PATCH", "HEAD", "OPTIONS")
RETRY_TYPES = ("None", "Fixed", "Exponential")
FOLLOWING = ("Http", "Https")  # types of actions that can begin an operation

# Limits; of texts in characters
URI_LIMIT = 2048
MARKS_LIMIT = 50  # names that a job marks as secret
CODES_LIMIT = 50
TEXT_LIMIT = 1024  # of a text in the body of a response
ARGUMENTS_LIMIT = 8192
RETRY_INTERVAL = (timedelta(seconds=15), timedelta(days=548), "15 seconds to 18 months")

ANY_TEXT = Pattern(re.compile(r"(?s).+"), "a text of at least one character")
USER_NAME = Pattern(re.compile(r"[^\x00-\x1f\x7f:]*"), "printable, without colons")
TENANT = Pattern(re.compile(NAME_OF_HOST), "a domain name or a GUID")
QUERY_MEMBERS = Pattern(re.compile(r"[!-~]{1,256}"), "names of query members")
HEADER_NAMES = Pattern(HEADER_NAME, "names of headers")
RETRYING = {"retry": ("Fixed", "Exponential")}
RETRY_POLICY = ObjectType(
    "RetryPolicy",
    (
        Choice("retryType", RETRY_TYPES, "Fixed")
        .described("`Exponential`, an addition of ours, doubles the interval with each failure, less up to half of it.")
        .in_form(
            "retry",
            "Retries",
            choices={
                "": "4 times, 30 s apart",
                "None": "None",
                "Fixed": "Fixed interval",
                "Exponential": "Exponential backoff",
            },
            decides=True,
        ),
        Duration("retryInterval", *RETRY_INTERVAL)
        .described("15 seconds to 18 months, as `PT30S` or `00:00:30`.  Without one: 30 seconds.", "PT30S")
        .in_form(
            "retry_interval",
            "Retry interval",
            "Such as PT30S or 00:00:30; 15 s or more, 30 s if empty.",
            only_with=RETRYING,
        ),
        Number("retryCount", 0, 20)
        .described("Without one: 4.", 6)
        .in_form("retry_count", "Number of retries", "Up to 20; 4 if empty.", only_with=RETRYING),
        Duration("maximumRetryInterval", *RETRY_INTERVAL)
        .described(
            "An addition of ours: where doubling ends, and the most that a target's `Retry-After` can ask for."
            "  Without one: a day.",
            "PT1H",
        )
        .in_form(
            "retry_most",
            "Maximum interval",
            "The longest wait, also if the target asks for a longer one. A day if empty.",
            only_with=RETRYING,
        ),
    ),
)

# Authentication of requests


def _authentication_type(*types: str) -> Choice:
    return (
        Choice("type", types, required=True)
        .described("The kind of authentication.")
        .in_form(
            "authentication",
            "Authentication",
            choices={
                "": "None",
                "Basic": "User name and password",
                "ClientCertificate": "Client certificate",
                "ActiveDirectoryOAuth": "OAuth, client credentials",
            },
            initial="",
            decides=True,
        )
    )


BASIC = ObjectType(
    "BasicAuthentication",
    (
        _authentication_type("Basic"),
        Text("username", pattern=USER_NAME, required=True)
        .described("The user name.", "quando")
        .in_form("username", "User name"),
        Secret("password", required=True).described("The password.").in_form("password", "Password"),
    ),
    "Answers never contain secrets.\n\nA secret that is left out or sent as `********` keeps its stored value, as long"
    " as user and host stay the same.",
)
CLIENT_CERTIFICATE = ObjectType(
    "ClientCertificateAuthentication",
    (
        _authentication_type("ClientCertificate"),
        PfxFile("pfx", required=True)
        .described("Base64 of a PKCS #12 file.")
        .in_form("pfx", "Or the file as Base64 text", is_code=True),
        Secret("password").described("The password of the file.").in_form("pfx_password", "Password of the file"),
        ReadOnly("certificateThumbprint").described(
            "SHA-1, in upper-case hexadecimal digits.", "2AAE6C35C94FCFB415DBE95F408B9CE91EE846ED"
        ),
        ReadOnly("certificateSubjectName").described("The subject of the certificate.", "CN=quando"),
        ReadOnly("certificateExpirationDate", is_instant=True).described(
            "When the certificate expires.", "2030-01-01T00:00:00Z"
        ),
        ReadOnly("certificateExpiration", is_instant=True).described(
            "The same, by its other name.", "2030-01-01T00:00:00Z"
        ),
    ),
)
OAUTH = ObjectType(
    "OAuthAuthentication",
    (
        _authentication_type("ActiveDirectoryOAuth"),
        Text("tenant", pattern=TENANT, required=True)
        .described("The tenant that issues the token.", "example.onmicrosoft.com")
        .in_form("tenant", "Tenant", "A domain name or a GUID."),
        Text("audience", URI_LIMIT, PRINTABLE_TEXT)
        .described("What the token is for.", "https://machines.example.com/")
        .in_form("audience", "Audience", "The default audience if empty."),
        Text("clientId", pattern=PRINTABLE_TEXT, required=True)
        .described("The id of the client.", "11111111-2222-3333-4444-555555555555")
        .in_form("client_id", "Client id"),
        Text("authority", URI_LIMIT)
        .described(
            "An addition of ours: the https address of who issues the tokens.  Without one: the installation's.",
            "https://login.example.com",
        )
        .in_form(
            "authority", "Authority", "The https address that issues tokens; the default of this server if empty."
        ),
        Secret("secret", required=True)
        .described("The secret of the client.")
        .in_form("client_secret", "Client secret"),
    ),
)
AUTHENTICATIONS = {"Basic": BASIC, "ClientCertificate": CLIENT_CERTIFICATE, "ActiveDirectoryOAuth": OAUTH}
AUTHENTICATION = OneOf(
    "authentication", AUTHENTICATIONS, _authentication_type(*NO_AUTHENTICATION, *AUTHENTICATIONS)
).described("With what the request proves who sends it; null: with nothing.")

# Requests

SUCCESS = ObjectType(
    "Success",
    (
        StatusCodes("statusCodes", CODES_LIMIT)
        .described("Numbers and ranges such as `200-299`.  Without them: 2xx.", ["200-299", 304])
        .in_form("status_codes", "Status codes", "Such as 200, 202, 300-399. 2xx if empty."),
        Text("bodyContains", TEXT_LIMIT, ANY_TEXT)
        .described("A text that stands somewhere in the body.", "warm")
        .in_form("body_contains", "Text in the body", "The response body must contain exactly this text.", strip=False),
        Text("bodyPath", 256)
        .described(
            "A path of names and indexes into a JSON body, such as `$.items[0].state` (RFC 9535): it must lead"
            " somewhere.",
            "$.state",
        )
        .in_form("body_path", "JSON path", "Such as $.state or $.items[0].id.", is_code=True),
        Scalar("bodyValue", TEXT_LIMIT)
        .described("What must stand at `bodyPath`.", "warm")
        .in_form("body_value", "Value at that path", 'Such as done, 3 or true; "3" is a text.', is_code=True),
    ),
    "Which answers count as success: all conditions that are given must hold.  An addition of ours.",
)
REQUEST = ObjectType(
    "HttpRequest",
    (
        Address("uri", URI_LIMIT, required=True)
        .described(
            "http or https, without user information.  Keys in its query are answered as `********`, which keeps them"
            " when it is sent back.",
            "https://shop.example.com/orders/collect",
        )
        .in_form("uri", "Address", is_code=True),
        Names("secretQuery", "uri", QUERY_MEMBERS)
        .described(
            "An addition of ours: names of query parameters of `uri` whose values are secrets, in addition to those"
            " whose names say so.  Left out, stored names stay.",
            ["site"],
        )
        .in_form(
            "secret_query",
            "Secret parameter names",
            "Of the address, separated by commas: user for ?user=ada.",
            is_code=True,
        ),
        Choice("method", METHODS, required=True)
        .described("The HTTP method.", "POST")
        .in_form(
            "method",
            "Method",
            choices={name: name for name in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")},
            initial="POST",
        ),
        Headers("headers")
        .described(
            "Headers and their values.  Those that are secrets are answered as `********`, which keeps them.",
            {"Content-Type": "application/json"},
        )
        .in_form("headers", "Headers", "One per line, as Name: value."),
        Names("secretHeaders", "headers", HEADER_NAMES)
        .described(
            "An addition of ours: names of headers whose values are secrets, in addition to those whose names say so."
            "  Left out, stored names stay.",
            ["X-Shop"],
        )
        .in_form(
            "secret_headers",
            "Secret header names",
            "Separated by commas. Their values are encrypted and never shown again. Values of tokens, passwords, keys"
            " and cookies always are.",
            is_code=True,
        ),
        Text("body", 8192)
        .described("The body, sent in UTF-8.", '{"collect": true}')
        .in_form("body", "Body", rows=4, strip=False),
        AUTHENTICATION,
        Flag("followRedirects")
        .described("An addition of ours.  Each hop is checked like the first; credentials stay with their host.")
        .in_form(
            "follow_redirects",
            "Follow redirects",
            "Up to five. Each address is checked; credentials stay with the first host.",
        ),
        Text("certificateAuthority", 16_384)
        .described(
            "An addition of ours: certificates (PEM) that the target's may come from besides the usual ones.",
            "-----BEGIN CERTIFICATE-----\n...\n-----END CERTIFICATE-----\n",
        )
        .in_form(
            "certificate_authority",
            "Certificate authority",
            "PEM. Trusted in addition to the usual ones, for a target with a private or self-signed certificate.",
            rows=3,
            attributes={"placeholder": "-----BEGIN CERTIFICATE-----"},
        ),
        Object("success", SUCCESS).described(
            "Which answers count as success.  An addition of ours; without it: those with 2xx."
        ),
    ),
)

# Tasks

TASK = ObjectType(
    "Task",
    (
        TaskName("name", registry.NAME_LIMIT, required=True)
        .described("Those that this installation has registered.", "MINT.EMAIL_NOTIFICATION")
        .in_form("task_name", "Task"),
        JsonValues("arguments", ARGUMENTS_LIMIT)
        .described(f"What it is called with: at most {ARGUMENTS_LIMIT} characters of JSON.", {"kind": "weekly"})
        .in_form("task_arguments", "Arguments, as JSON", "None if empty."),
    ),
    "A callable of the installation.  An addition of ours.",
)

# Actions

TEMPLATE = (
    Flag("template")
    .described(
        "An addition of ours: fill in the placeholders "
        + ", ".join(f"`{{{{ {name} }}}}`" for name in templates.NAMES)
        + ' in uri (behind the host), headers, body and message.  `{{ "{{" }}` stands for two opening braces.'
    )
    .in_form(
        "template",
        "Fill in placeholders",
        "{{ fire_time }}, {{ attempt }}, {{ run_id }}, {{ job.name }} and {{ collection.name }} in address, headers,"
        " body and message.",
    )
)
FOLLOW = (
    Flag("follow")
    .described(
        "An addition of ours: a 202, or the answer to a PUT or PATCH whose `provisioningState` has not ended, begins an"
        " operation, which is polled until it ends.  The attempt succeeds or fails with it."
    )
    .in_form(
        "follow",
        "Follow long-running operations",
        "A 202 response is not yet a success: the operation is polled until it succeeds or fails.",
    )
)
FOLLOW_LIMIT = (
    Duration("followLimit", timedelta(seconds=1), timedelta(hours=24), "1 second to 24 hours")
    .described("With `follow`: for how long at most, 1 second to 24 hours, as `PT2H`.  Without one: an hour.", "PT2H")
    .in_form("follow_limit", "Follow for at most", "Such as PT2H or 02:00:00; up to a day, an hour if empty.")
)
RETRIES = Object("retryPolicy", RETRY_POLICY).described("When a failed attempt is made again.")
ERROR_ACTION = (
    ErrorAction("errorAction")
    .described(
        "Runs after the last attempt has failed; without a retry policy of its own it has the main action's.",
        {
            "type": "StorageQueue",
            "queueMessage": {
                "storageAccount": "exampleaccount",
                "queueName": "failed",
                "message": "orders were not collected",
            },
        },
    )
    .in_form(
        "error_action",
        "Error action",
        "An address to which a POST is sent, or an action as JSON. A secret that you leave out keeps its stored value.",
        rows=3,
    )
)


def _action_type(*types: str) -> Choice:
    return (
        Choice("type", types, required=True)
        .described("The kind of action.")
        .in_form(
            "type",
            "Type",
            choices={
                "Http": "HTTP request",
                "Https": "HTTPS request",
                "StorageQueue": "Message to a storage queue",
                "ServiceBusQueue": "Message to a service bus queue",
                "ServiceBusTopic": "Message to a service bus topic",
                "Task": "Task of this installation",
            },
            initial="Http",
            decides=True,
        )
    )


def _action(types: Sequence[str], description: str, *members: Member) -> ObjectType:
    """Return an action of one of `types`, as it is in an error action.  A task has no template."""
    common = (RETRIES,) if types == ("Task",) else (RETRIES, TEMPLATE)
    return ObjectType(f"{types[0]}ErrorAction", (*common, _action_type(*types), *members), description)


@cache
def _with_error_action(action: ObjectType) -> ObjectType:
    return ObjectType(action.name.replace("Error", ""), (ERROR_ACTION, *action.members), action.description)


HTTP = _action(
    FOLLOWING,
    "Sends an HTTP request.",
    Object("request", REQUEST, required=True).described("The request that is sent."),
    FOLLOW,
    FOLLOW_LIMIT,
)
ERROR_ACTIONS = {
    "Http": HTTP,
    "Https": HTTP,
    "StorageQueue": _action(
        ("StorageQueue",),
        "Puts a message into an Azure Storage queue.",
        Object("queueMessage", QUEUE_MESSAGE, required=True).described(
            "The message, and the queue that it is put into."
        ),
    ),
    "ServiceBusQueue": _action(
        ("ServiceBusQueue",),
        "Sends a message to a Service Bus queue.",
        Object("serviceBusQueueMessage", BUS_QUEUE_MESSAGE, required=True).described(
            "The message, and the queue that it goes to."
        ),
    ),
    "ServiceBusTopic": _action(
        ("ServiceBusTopic",),
        "Sends a message to a Service Bus topic.",
        Object("serviceBusTopicMessage", BUS_TOPIC_MESSAGE, required=True).described(
            "The message, and the topic that it goes to."
        ),
    ),
    "Task": _action(
        ("Task",),
        "Calls a callable of the installation.  An addition of ours.",
        Object("task", TASK, required=True).described("What is called."),
    ),
}
ACTIONS = {name: _with_error_action(action) for name, action in ERROR_ACTIONS.items()}
ACTION_TYPES = tuple(ACTIONS)
