"""Actions of the type StorageQueue: a message for a storage queue, in the member `queueMessage`.

Source: the queue service's Put Message (REST), and for `messageFormat` Xml the envelope in which the original sent its
messages.  Our additions: `messageFormat` and `messageEncoding`, because some clients of the service expect base64 and
others do not.
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

from api.json_object import JsonObject
from jobs.actions import templates
from jobs.actions.http import Call
from jobs.actions.previous import PreviousAction, keep_secret
from jobs.actions.queue_members import QUEUE_MESSAGE
from jobs.actions.result import CallRefused, Context
from jobs.actions.secret_variants import search_forms
from jobs.azure_regions import display_name
from jobs.encryption import Secrets
from jobs.names import NAME_LENGTH

SIZE_LIMIT = 65_536  # bytes of a message as the service stores it
API_VERSION = "2023-11-03"
SAS_TOKEN = re.compile(r"\??(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})+")  # characters of a query, RFC 3986
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, production 2

DECLARATION = '<?xml version="1.0" encoding="utf-16"?>\n'  # as the original serialized it; sent as UTF-8
NAMESPACES = {
    "xmlns:xsd": "http://www.w3.org/2001/XMLSchema",
    "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
}

LATEST = datetime.max.replace(tzinfo=UTC)
NAME = "x" * NAME_LENGTH
LONGEST = Context(uuid.UUID(int=0), 99, LATEST, LATEST, NAME, NAME, NAME)  # the values that make a message longest


def parse(members: JsonObject, previous: PreviousAction, secrets: Secrets, is_template: bool) -> dict[str, Any]:
    message = QUEUE_MESSAGE.read(members)
    keep_secret(members, "sasToken", {"storageAccount": message.get("storageAccount")}, previous, secrets)
    token = secrets.get(previous.path_of("sasToken"))
    if token is not None and not SAS_TOKEN.fullmatch(token):
        members.fault("sasToken", "must be written in the characters of a query", "malformed")
    if "message" in message:
        _refuse_invalid(members, message, is_template)
    return message


def prepare(message: Mapping[str, Any], secrets: Mapping[str, str], context: Context, fill: templates.Fill) -> Call:
    try:
        text = _stored_text(message, context, fill)
    except InvalidQueueMessage as error:
        raise CallRefused(f"The message {error}.") from None
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


class InvalidQueueMessage(ValueError):
    """The service cannot store a message.  The text states the requirement, to be written after a name."""

    def __init__(self, message: str, code: str):
        super().__init__(message)
        self.code = code


def _refuse_invalid(members: JsonObject, message: Mapping[str, Any], is_template: bool) -> None:
    if is_template:
        templates.check(members, "message", message["message"])
    if "message" in members.refused:
        return
    try:
        _stored_text(message, LONGEST, templates.filler(LONGEST) if is_template else templates.keep_text)
    except InvalidQueueMessage as error:
        members.fault("message", str(error), error.code)


def _stored_text(message: Mapping[str, Any], context: Context, fill: templates.Fill) -> str:
    """Return the text for the queue.  Raises InvalidQueueMessage."""
    is_xml, is_base64 = message.get("messageFormat") == "Xml", message.get("messageEncoding") == "Base64"
    text = fill(message["message"], lambda value: value)
    if is_xml:
        text = _envelope(text, context)
    if (is_xml or not is_base64) and (found := NOT_XML.search(text)):
        hint = "" if is_xml else "; with the messageEncoding Base64 it may"
        raise InvalidQueueMessage(f"must not contain {found[0]!a}, which XML cannot hold{hint}", "malformed")
    data = base64.b64encode(text.encode()) if is_base64 else text.encode()
    if len(data) > SIZE_LIMIT:
        raise InvalidQueueMessage(f"must have at most {SIZE_LIMIT} bytes as it is sent, not {len(data)}", "too_long")
    return data.decode()


def _envelope(text: str, context: Context) -> str:
    """Return the message in the envelope of the original service.  The tag is equal for all attempts of a run."""
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
    """Return an id that differs for each attempt of a run, so that the logs of the service distinguish them."""
    return str(uuid.uuid5(context.run_id, str(context.attempt)))


def _without_returns(xml: str) -> str:
    """Write each CR as a reference: a parser reads CR LF, and CR, as LF otherwise."""
    return xml.replace("\r", "&#13;")


def _hidden(token: str) -> tuple[str, ...]:
    """Return the forms of the token and of its signature, because a response may repeat the signature alone."""
    found = re.search(r"(?:^|&)sig=([^&]*)", token)
    if not found:
        return search_forms(token)
    return search_forms(token, found[1], unquote(found[1]))
