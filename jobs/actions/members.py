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
        .described(
            "The type of retry policy. `Exponential`, an extension to Azure Scheduler, doubles the interval after"
            " each failure and subtracts a random part of up to one half."
        )
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
        .described(
            "The time between two attempts, 15 seconds to 18 months, such as `PT30S` or `00:00:30`. Default: 30"
            " seconds.",
            "PT30S",
        )
        .in_form(
            "retry_interval",
            "Retry interval",
            "Such as PT30S or 00:00:30; 15 s or more, 30 s if empty.",
            only_with=RETRYING,
        ),
        Number("retryCount", 0, 20)
        .described("The maximum number of retries. Default: 4.", 6)
        .in_form("retry_count", "Number of retries", "Up to 20; 4 if empty.", only_with=RETRYING),
        Duration("maximumRetryInterval", *RETRY_INTERVAL)
        .described(
            "The maximum interval: the limit of the exponential backoff, and of the wait that a `Retry-After`"
            " header of the target can request. Default: 1 day. An extension to Azure Scheduler.",
            "PT1H",
        )
        .in_form(
            "retry_most",
            "Maximum interval",
            "The longest wait between two attempts, even if the target asks for a longer one. One day if empty.",
            only_with=RETRYING,
        ),
    ),
)

# Authentication of requests


def _authentication_type(*types: str) -> Choice:
    return (
        Choice("type", types, required=True)
        .described("The type of authentication.")
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
    "HTTP basic authentication. Responses never contain secrets.\n\nA secret that is omitted or sent as"
    " `********` keeps its stored value, as long as user and host stay the same.",
)
CLIENT_CERTIFICATE = ObjectType(
    "ClientCertificateAuthentication",
    (
        _authentication_type("ClientCertificate"),
        PfxFile("pfx", required=True)
        .described("The client certificate: a PKCS #12 file in Base64.")
        .in_form("pfx", "Or the file as Base64 text", is_code=True),
        Secret("password").described("The password of the file.").in_form("pfx_password", "Password of the file"),
        ReadOnly("certificateThumbprint").described(
            "The SHA-1 thumbprint of the certificate, in upper-case hexadecimal digits.",
            "2AAE6C35C94FCFB415DBE95F408B9CE91EE846ED",
        ),
        ReadOnly("certificateSubjectName").described("The subject of the certificate.", "CN=quando"),
        ReadOnly("certificateExpirationDate", is_instant=True).described(
            "The time at which the certificate expires, in UTC.", "2030-01-01T00:00:00Z"
        ),
        ReadOnly("certificateExpiration", is_instant=True).described(
            "The same as `certificateExpirationDate`.", "2030-01-01T00:00:00Z"
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
        .described("The audience (resource) for which the token is issued.", "https://machines.example.com/")
        .in_form("audience", "Audience", "The default audience if empty."),
        Text("clientId", pattern=PRINTABLE_TEXT, required=True)
        .described("The id of the client.", "11111111-2222-3333-4444-555555555555")
        .in_form("client_id", "Client id"),
        Text("authority", URI_LIMIT)
        .described(
            "The https address of the authority that issues the tokens. Default: the authority that is"
            " configured for this installation. An extension to Azure Scheduler.",
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
).described("The authentication of the request; null: the request is not authenticated.")

# Requests

SUCCESS = ObjectType(
    "Success",
    (
        StatusCodes("statusCodes", CODES_LIMIT)
        .described(
            "The status codes that count as success: numbers and ranges such as `200-299`. Default: 2xx.",
            ["200-299", 304],
        )
        .in_form("status_codes", "Status codes", "Such as 200, 202, 300-399. 2xx if empty."),
        Text("bodyContains", TEXT_LIMIT, ANY_TEXT)
        .described("A text that the response body must contain.", "warm")
        .in_form("body_contains", "Text in the body", "The response body must contain exactly this text.", strip=False),
        Text("bodyPath", 256)
        .described(
            "A path of names and indexes into a JSON response body, such as `$.items[0].state` (RFC 9535). The"
            " path must exist in the body.",
            "$.state",
        )
        .in_form("body_path", "JSON path", "Such as $.state or $.items[0].id.", is_code=True),
        Scalar("bodyValue", TEXT_LIMIT)
        .described("The value that the response body must have at `bodyPath`.", "warm")
        .in_form("body_value", "Value at that path", 'Such as done, 3 or true; "3" is a text.', is_code=True),
    ),
    "The conditions under which a response counts as success. All conditions that are given must be met. An"
    " extension to Azure Scheduler.",
)
REQUEST = ObjectType(
    "HttpRequest",
    (
        Address("uri", URI_LIMIT, required=True)
        .described(
            "The URL of the request: http or https, without user information. Keys in the query are returned as"
            " `********`. A key that is sent as `********` keeps its stored value.",
            "https://shop.example.com/orders/collect",
        )
        .in_form("uri", "Address", is_code=True),
        Names("secretQuery", "uri", QUERY_MEMBERS)
        .described(
            "The names of further query parameters of `uri` whose values are secrets. Parameters with names"
            " such as `token` or `password` are always treated as secrets. If omitted, the stored names are"
            " kept. An extension to Azure Scheduler.",
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
            "The names and values of the headers. Secret values are returned as `********`. A value that is"
            " sent as `********` keeps its stored value.",
            {"Content-Type": "application/json"},
        )
        .in_form("headers", "Headers", "One per line, as Name: value."),
        Names("secretHeaders", "headers", HEADER_NAMES)
        .described(
            "The names of further headers whose values are secrets. Headers with names that indicate a secret,"
            " such as `Authorization`, are always treated as secrets. If omitted, the stored names are kept. An"
            " extension to Azure Scheduler.",
            ["X-Shop"],
        )
        .in_form(
            "secret_headers",
            "Secret header names",
            "Separated by commas. The values of these headers are encrypted and never shown again. This always"
            " applies to the values of tokens, passwords, keys and cookies.",
            is_code=True,
        ),
        Text("body", 8192)
        .described("The request body, sent in UTF-8.", '{"collect": true}')
        .in_form("body", "Body", rows=4, strip=False),
        AUTHENTICATION,
        Flag("followRedirects")
        .described(
            "Whether redirects are followed. Each redirect target is checked like the first address, and"
            " credentials are sent to their own host only. An extension to Azure Scheduler."
        )
        .in_form(
            "follow_redirects",
            "Follow redirects",
            "Up to five. Each address is checked; credentials stay with the first host.",
        ),
        Text("certificateAuthority", 16_384)
        .described(
            "Certificates in PEM that are trusted for the target in addition to the standard certificate"
            " authorities. An extension to Azure Scheduler.",
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
            "The conditions under which a response counts as success. By default every 2xx response does. An"
            " extension to Azure Scheduler."
        ),
    ),
)

# Tasks

TASK = ObjectType(
    "Task",
    (
        TaskName("name", registry.NAME_LIMIT, required=True)
        .described(
            "The name of the task, one of the tasks that this installation has registered.", "MINT.EMAIL_NOTIFICATION"
        )
        .in_form("task_name", "Task"),
        JsonValues("arguments", ARGUMENTS_LIMIT)
        .described(f"The arguments of the task: at most {ARGUMENTS_LIMIT} characters of JSON.", {"kind": "weekly"})
        .in_form("task_arguments", "Arguments, as JSON", "None if empty."),
    ),
    "A Python task that this installation has registered. An extension to Azure Scheduler.",
)

# Actions

TEMPLATE = (
    Flag("template")
    .described(
        "Whether these placeholders are replaced: "
        + ", ".join(f"`{{{{ {name} }}}}`" for name in templates.NAMES)
        + (
            " in uri (after the host), headers, body and message."
            ' `{{ "{{" }}` produces two literal opening braces. An extension to Azure Scheduler.'
        )
    )
    .in_form(
        "template",
        "Fill in placeholders",
        "Replaces {{ fire_time }}, {{ attempt }}, {{ run_id }}, {{ job.name }} and {{ collection.name }} in the"
        " address, headers, body and message.",
    )
)
FOLLOW = (
    Flag("follow")
    .described(
        "Whether long-running operations are followed: after a 202 response, or after a response to PUT or"
        " PATCH with an unfinished `provisioningState`, the operation is polled until it ends. The attempt"
        " succeeds or fails with the operation. An extension to Azure Scheduler."
    )
    .in_form(
        "follow",
        "Follow long-running operations",
        "A 202 response does not count as success yet. The operation is polled until it succeeds or fails.",
    )
)
FOLLOW_LIMIT = (
    Duration("followLimit", timedelta(seconds=1), timedelta(hours=24), "1 second to 24 hours")
    .described(
        "The maximum time for which an operation is followed, 1 second to 24 hours, such as `PT2H`. Used only with"
        " `follow`. Default: 1 hour.",
        "PT2H",
    )
    .in_form("follow_limit", "Follow for at most", "Such as PT2H or 02:00:00; up to a day, an hour if empty.")
)
RETRIES = Object("retryPolicy", RETRY_POLICY).described("The rules for further attempts after a failed attempt.")
ERROR_ACTION = (
    ErrorAction("errorAction")
    .described(
        "The action that runs after the last attempt has failed. Without a retry policy of its own it uses the"
        " retry policy of the main action.",
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
        "A URL to which a POST request is sent, or an action as JSON. A secret that you omit keeps its stored value.",
        rows=3,
    )
)


def _action_type(*types: str) -> Choice:
    return (
        Choice("type", types, required=True)
        .described("The type of action.")
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
        Object("queueMessage", QUEUE_MESSAGE, required=True).described("The message and its queue."),
    ),
    "ServiceBusQueue": _action(
        ("ServiceBusQueue",),
        "Sends a message to a Service Bus queue.",
        Object("serviceBusQueueMessage", BUS_QUEUE_MESSAGE, required=True).described("The message and its queue."),
    ),
    "ServiceBusTopic": _action(
        ("ServiceBusTopic",),
        "Sends a message to a Service Bus topic.",
        Object("serviceBusTopicMessage", BUS_TOPIC_MESSAGE, required=True).described("The message and its topic."),
    ),
    "Task": _action(
        ("Task",),
        "Calls a registered Python task of this installation. An extension to Azure Scheduler.",
        Object("task", TASK, required=True).described("The task and its arguments."),
    ),
}
ACTIONS = {name: _with_error_action(action) for name, action in ERROR_ACTIONS.items()}
ACTION_TYPES = tuple(ACTIONS)
