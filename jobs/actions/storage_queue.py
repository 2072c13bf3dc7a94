"""Actions of the type StorageQueue: a message for a storage queue, in the member `queueMessage`.

Source: the queue service's Put Message (REST), and for `messageFormat` Xml the envelope in which the original sent its
messages.  Additions of ours: `messageFormat` and `messageEncoding`, since clients of the service differ in whether they
expect base64.
"""

import base64
import re
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from django.conf import settings
from yarl import URL

from jobs.actions import templates
from jobs.actions.echoes import spellings
from jobs.actions.http import Call
from jobs.actions.outcome import Context, Refused
from jobs.actions.stored import MESSAGE_LIMIT, Stored, keep_secret, present
from jobs.encryption import Secrets
from jobs.locations import display_name
from jobs.members import Members
from jobs.names import NAME_LENGTH

FORMATS = ("Text", "Xml")
ENCODINGS = ("None", "Base64")
SIZE_LIMIT = 65_536  # bytes of a message as the service holds it
API_VERSION = "2023-11-03"
QUEUE = r"[a-z0-9](-?[a-z0-9])*"
SAS_TOKEN = re.compile(r"\??(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})+")  # of a query, RFC 3986
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, production 2

DECLARATION = '<?xml version="1.0" encoding="utf-16"?>\n'  # what it was serialized from, not what it is sent in
NAMESPACES = {
    "xmlns:xsd": "http://www.w3.org/2001/XMLSchema",
    "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
}

LATEST = datetime.max.replace(tzinfo=UTC)
NAME = "x" * NAME_LENGTH
LONGEST = Context(uuid.UUID(int=0), 99, LATEST, LATEST, NAME, NAME, NAME)  # what makes a message longest


def parse(members: Members, stored: Stored, secrets: Secrets, is_template: bool) -> dict[str, Any]:
    account = members.required_text("storageAccount", 24, r"[a-z0-9]{3,24}", "3 to 24 lower case letters and digits")
    keep_secret(members, "sasToken", {"storageAccount": account}, stored, secrets)
    if not SAS_TOKEN.fullmatch(secrets[stored.place_of("sasToken")]):
        members.refuse("sasToken", "must be written in the characters of a query", "malformed")
    message = present(
        storageAccount=account,
        queueName=_queue(members),
        message=members.required_text("message", MESSAGE_LIMIT),
        messageFormat=members.choice("messageFormat", FORMATS),
        messageEncoding=members.choice("messageEncoding", ENCODINGS),
    )
    if is_template:
        templates.check(members, "message", message["message"])
    try:
        _held(message, LONGEST, templates.filler(LONGEST) if is_template else templates.as_it_is)
    except Unfit as error:
        members.refuse("message", str(error), error.code)
    return message


def prepare(message: Mapping[str, Any], secrets: Mapping[str, str], context: Context, fill: templates.Fill) -> Call:
    try:
        text = _held(message, context, fill)
    except Unfit as error:
        raise Refused(f"The message {error}.") from None
    token = secrets.get("sasToken", "").removeprefix("?")
    address = settings.STORAGE_QUEUE_URL.replace("{account}", message["storageAccount"])
    return Call(
        method="POST",
        url=URL(f"{address}/{message['queueName']}/messages?{token}", encoded=True),
        headers={
            "Content-Type": "application/xml",
            "x-ms-version": API_VERSION,
            "x-ms-client-request-id": _request_id(context),
        },
        body=f"<QueueMessage><MessageText>{_without_returns(escape(text))}</MessageText></QueueMessage>",
        hidden=_hidden(token),
    )


class Unfit(ValueError):
    """The service cannot hold a message; says what it must be, to follow a name."""

    def __init__(self, message: str, code: str):
        super().__init__(message)
        self.code = code


def _queue(members: Members) -> str:
    expected = "3 to 63 lower case letters, digits and single hyphens, with no hyphen at either end"
    name = members.required_text("queueName", 63, QUEUE, expected)
    if len(name) < 3:
        members.refuse("queueName", f"must be {expected}, not {name!r}", "malformed")
    return name


def _held(message: Mapping[str, Any], context: Context, fill: templates.Fill) -> str:
    """The text that the queue is to hold.  Raises Unfit."""
    is_xml, is_base64 = message.get("messageFormat") == "Xml", message.get("messageEncoding") == "Base64"
    text = fill(message["message"], lambda value: value)
    if is_xml:
        text = _envelope(text, context)
    if (is_xml or not is_base64) and (found := NOT_XML.search(text)):
        remedy = "" if is_xml else "; with the messageEncoding Base64 it may"
        raise Unfit(f"must not contain {found[0]!a}, which XML cannot hold{remedy}", "malformed")
    data = base64.b64encode(text.encode()) if is_base64 else text.encode()
    if len(data) > SIZE_LIMIT:
        raise Unfit(f"must have at most {SIZE_LIMIT} bytes as it is sent, not {len(data)}", "too_long")
    return data.decode()


def _envelope(text: str, context: Context) -> str:
    """The message as the original wrapped it.  The tag stays the same for all attempts at a run."""
    root = ElementTree.Element("StorageQueueMessage", NAMESPACES)
    for name, value in {
        "ExecutionTag": context.run_id.hex,
        "ClientRequestId": _request_id(context),
        "ExpectedExecutionTime": f"{context.fire_at:%Y-%m-%dT%H:%M:%S}",
        "SchedulerJobId": context.job_name,
        "SchedulerJobCollectionId": context.collection_name,
        "Region": display_name(context.region),
        "Message": text,
    }.items():
        ElementTree.SubElement(root, name).text = value
    ElementTree.indent(root)
    return DECLARATION + _without_returns(ElementTree.tostring(root, "unicode"))


def _request_id(context: Context) -> str:
    """Another one for each attempt at a run, by which the service's own logs tell them apart."""
    return str(uuid.uuid5(context.run_id, str(context.attempt)))


def _without_returns(xml: str) -> str:
    """A parser reads CR LF, and CR, as LF unless it is written as a reference."""
    return xml.replace("\r", "&#13;")


def _hidden(token: str) -> tuple[str, ...]:
    """The token, and its signature apart, which an answer may repeat alone."""
    found = re.search(r"(?:^|&)sig=([^&]*)", token)
    if not found:
        return spellings(token)
    return spellings(token, found[1], unquote(found[1]))
